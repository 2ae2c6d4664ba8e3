//! What views tell of themselves.
//!
//! In: a view. Out: its name and its numbers; for those with a limit or a name also in the pool's statistics.

use super::engine::Engine;
use super::views::LINES_SEEN;
use crate::observe::{LaneCounts, Recorder, ViewStats};
use crate::queue::LEVELS;
use crate::sync::{Arc, Weak};
use crate::task::view::{Kind, View};
use crate::time::Tick;
use std::time::Duration;

impl Engine {
    /// Lists a view for as long as it is there.
    pub(crate) fn show_view(&self, view: &Arc<View>) {
        let mut shown = self.shown_views.lock();
        if shown.len() == shown.capacity() {
            // Before the list grows: there may be room where views have gone.
            shown.retain(|each| each.strong_count() > 0);
        }
        shown.push(Arc::downgrade(view));
    }

    /// When the first in line arrived, for each level, in the lines of all views; or of many, if there are more.
    pub(super) fn oldest_in_lines(&self) -> [Option<Tick>; LEVELS] {
        let mut oldest = [None; LEVELS];
        for view in self.crowd.some(LINES_SEEN) {
            if let Some((arrived, level)) = view.first_in_line(|task| self.room.level_of_task(task)) {
                let of_level: &mut Option<Tick> = &mut oldest[level];
                *of_level = Some(of_level.map_or(arrived, |other| other.min(arrived)));
            }
        }
        oldest
    }

    /// Those that are listed, in the order in which they were made.
    pub(super) fn view_stats(&self, now: Tick) -> Vec<ViewStats> {
        // The last share of a view must not be dropped under the lock.
        let shown: Vec<Arc<View>> = self.shown_views.lock().iter().filter_map(Weak::upgrade).collect();
        shown.iter().map(|view| self.stats_of_view(view, now)).collect()
    }

    pub(crate) fn stats_of_view(&self, view: &Arc<View>, now: Tick) -> ViewStats {
        let name = self.name_of_view(view);
        if self.is_forked() {
            return ViewStats {
                name,
                queued: 0,
                active: 0,
                oldest_wait: None,
                taken: 0,
                wait: Recorder::new().snapshot(),
            };
        }
        let reading = view.read();
        // What has its slots arrived before what stands in line; not before the oldest of the queue, nor before somebody of the
        // view has waited at every moment.
        let in_queue = reading.is_in_queue.then(|| self.room.oldest()).flatten();
        let in_queue = in_queue.map(|oldest| reading.since.map_or(oldest, |since| since.max(oldest)));
        let oldest = in_queue.into_iter().chain(reading.oldest).min();
        let oldest = oldest.filter(|_| reading.queued > 0);
        ViewStats {
            name,
            queued: reading.queued,
            active: reading.active,
            oldest_wait: oldest.map(|arrived| Duration::from_nanos(now.saturating_sub(arrived))),
            taken: reading.taken,
            wait: match &view.shown {
                Some(shown) => shown.wait.snapshot(),
                None => Recorder::new().snapshot(),
            },
        }
    }

    /// Lanes that have something to do: those that workers are at, and those with somebody in line.
    pub(super) fn lane_counts(&self) -> LaneCounts {
        let posts = self.staff.lock().posts().to_vec();
        let mut running: Vec<usize> = Vec::new();
        for task in posts
            .iter()
            .flat_map(|post| post.visible.stage.look())
            .filter_map(|seen| seen.task)
        {
            let view = task.header().view().map(|view| Arc::clone(&view));
            let lanes = view
                .iter()
                .flat_map(|view| view.chain())
                .filter(|view| is_lane(view.kind));
            running.extend(lanes.map(|view| view.identity()));
        }
        running.sort_unstable();
        running.dedup();
        let in_line = self.crowd.some(LINES_SEEN);
        LaneCounts {
            running: running.len(),
            waiting: in_line.iter().filter(|view| is_lane(view.kind)).count(),
        }
    }

    pub(crate) fn name_of_view(&self, view: &Arc<View>) -> Arc<str> {
        let unnamed: Vec<_> = view.chain().take_while(|view| view.shown.is_none()).collect();
        let outer = view.chain().find_map(|view| view.shown.as_ref());
        let outer = outer.map_or(&self.name, |shown| &shown.name);
        if unnamed.is_empty() {
            return outer.clone();
        }
        let mut name = outer.to_string();
        for view in unnamed.into_iter().rev() {
            name += match view.kind {
                Kind::Sequential => "/sequential",
                Kind::Keyed => "/keyed",
                Kind::Lane => "/lane",
                Kind::Limit | Kind::Named => unreachable!("these have names of their own"),
            };
        }
        name.into()
    }
}

fn is_lane(kind: Kind) -> bool {
    matches!(kind, Kind::Sequential | Kind::Keyed | Kind::Lane)
}
