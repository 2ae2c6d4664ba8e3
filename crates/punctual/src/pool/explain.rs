//! Why a task waits.
//!
//! In: a task of this pool that has not ended. Out: an [`Explanation`], from counters that are there anyway. Nothing is
//! walked through but the few views that the task is in, and the first thousand of a line.

use super::engine::Engine;
use crate::observe::{Explanation, Place, Stats};
use crate::sync::Arc;
use crate::task::block::Header;
use crate::task::view::View;
use std::time::Duration;

impl Engine {
    /// The caller holds a share of the block.
    pub(super) fn explain_task(&self, task: &Header, remaining: Option<Duration>) -> Explanation {
        let seen = task.state.load();
        let stats = self.stats();
        let place = if seen.is_claimed() {
            Place::Running
        } else if seen.is_delayed() {
            Place::Delayed(remaining.unwrap_or_default())
        } else if let Some(view) = self.held_by(task) {
            let reading = view.read();
            Place::Line {
                view: self.name_of_view(&view),
                queued: reading.queued,
                active: reading.active,
            }
        } else if stats.paused {
            Place::Paused
        } else {
            Place::Queue
        };
        let waits = !matches!(place, Place::Running | Place::Delayed(_));
        let level = self.room.is_levelled().then(|| self.room.level_of_task(task));
        let at_most_before = waits.then(|| {
            let others = match level {
                // Of what is less urgent nothing goes first.
                Some(level) if self.is_strict() => {
                    stats.levels[..=level].iter().map(|level| level.queued).sum()
                }
                _ => stats.queued,
            };
            usize::saturating_sub(others, 1)
        });
        let expected_start = at_most_before.filter(|_| !stats.paused).and_then(|before| {
            // Those that run now are half done, on average.
            let turns = before as f64 + 0.5 * stats.active as f64;
            let hands = stats.threads.max(1) as f64;
            Some(stats.run.mean()?.mul_f64(turns / hands))
        });
        Explanation {
            place,
            level,
            effective_level: level.and_then(|level| self.effective_level(level, &stats)),
            at_most_before,
            expected_start,
            active: stats.active,
            threads: stats.threads,
            ignores_priority: level.is_none() && task.class.is_given(),
        }
    }

    /// The view in whose line a task stands.
    fn held_by(&self, task: &Header) -> Option<Arc<View>> {
        if !task.state.load().is_parked() {
            return None;
        }
        let own = task.view()?;
        let seen = || own.chain().map(|view| (view, view.has_in_line(task)));
        let certain = seen().find(|(_, is_here)| *is_here == Some(true));
        // Otherwise far behind in a long line, most likely of the innermost that has one.
        let (view, _) = certain.or_else(|| seen().find(|(_, is_here)| is_here.is_none()))?;
        Some(view.clone())
    }

    fn is_strict(&self) -> bool {
        let discipline = self.config.discipline.as_ref();
        discipline.is_some_and(|discipline| discipline.is_strict())
    }

    /// Where waiting counts, the ages of single tasks are known to their queue alone; but if the oldest of a level has not
    /// risen, none has.
    fn effective_level(&self, level: usize, stats: &Stats) -> Option<usize> {
        let discipline = self.config.discipline.as_ref()?;
        let is_risen = discipline.step().is_some_and(|step| {
            stats.levels[level]
                .oldest_wait
                .is_none_or(|oldest| oldest >= step)
        });
        (!is_risen).then_some(level)
    }
}
