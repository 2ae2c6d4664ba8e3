//! Why a task waits.
//!
//! In: a task of this pool that has not ended. Out: an [`Explanation`]. It is made of the counts of one moment, for which each
//! worker's counters are read; of a look for the task among the first thousand records at each end of its level, or of a line;
//! and of a look at a few workers. Nothing here grows with what waits, nor with the number of views.

use super::engine::{Counts, Engine};
use crate::observe::{Explanation, Place};
use crate::queue::{Located, Tally};
use crate::sync::Arc;
use crate::task::block::Header;
use crate::task::view::{InLine, View};
use std::time::Duration;

/// Running tasks that are named, and workers that are looked at for them: a look holds its worker up if the task ends just then.
const NAMED: usize = 4;
const LOOKED_AT: usize = 8;

/// The line that a task stands in.
struct Held {
    view: Arc<View>,
    /// Those before it there; `None`: far behind.
    ahead: Option<usize>,
}

impl Engine {
    /// The caller holds a share of the block.
    pub(super) fn explain_task(
        &self,
        task: &Header,
        remaining: Option<Duration>,
        with_names: bool,
    ) -> Explanation {
        let seen = task.state.load();
        let level = self.room.is_levelled().then(|| self.room.level_of_task(task));
        let why = |place| Explanation {
            level,
            ignores_priority: level.is_none() && task.class.is_given(),
            ..Explanation::of(place)
        };
        if seen.is_claimed() {
            return why(Place::Running);
        }
        if seen.is_delayed() {
            return Explanation {
                effective_level: level,
                ..why(Place::Delayed(remaining.unwrap_or_default()))
            };
        }
        let counts = self.counts();
        let held = self.held_by(task);
        let is_due = task.class.is_timed();
        let located = match &held {
            Some(_) => Located::default(),
            None if is_due => self.timers.due.locate(task),
            None => self.room.locate(task),
        };
        let place = match &held {
            Some(held) => {
                let reading = held.view.read();
                Place::Line {
                    view: self.name_of_view(&held.view),
                    queued: reading.queued,
                    active: reading.active,
                }
            }
            None if counts.queue.paused => Place::Paused,
            None => Place::Queue,
        };
        let before = match &held {
            Some(held) => before_in_line(held, self.room.is_levelled(), &counts),
            None if is_due => usize::MAX,
            None => self.before_in_queue(level, &located, &counts),
        };
        let others = waiting(&counts.queue) + waiting(&counts.timed.due);
        let before = before.min(others.saturating_sub(1));
        let effective_level = match held {
            // In a line nobody ages.
            Some(_) => level,
            None => level.and_then(|level| self.effective_level(level, is_due, &located)),
        };
        Explanation {
            effective_level,
            at_most_before: Some(before),
            expected_start: self.expected_start(before, held.as_ref(), &counts),
            active: counts.active(),
            threads: counts.crew.threads,
            running: if with_names {
                self.names_of_running()
            } else {
                Vec::new()
            },
            ..why(place)
        }
    }

    /// The line in which a task stands.
    fn held_by(&self, task: &Header) -> Option<Held> {
        if !task.state.load().is_parked() {
            return None;
        }
        let own = task.view()?;
        let mut beyond = None;
        for view in own.chain() {
            match view.find_in_line(task) {
                InLine::At(ahead) => {
                    let (view, ahead) = (view.clone(), Some(ahead));
                    return Some(Held { view, ahead });
                }
                // Most likely it is the innermost whose line is that long.
                InLine::Beyond if beyond.is_none() => beyond = Some(view.clone()),
                InLine::Beyond | InLine::Absent => {}
            }
        }
        beyond.map(|view| Held { view, ahead: None })
    }

    /// Of those that wait now, how many may start before a task that lies in the queue; perhaps more than there are.
    fn before_in_queue(&self, level: Option<usize>, located: &Located, counts: &Counts) -> usize {
        let front: usize = located.front.iter().sum();
        let due = waiting(&counts.timed.due);
        // What is due goes first, and so may what lies in deques.
        let beside = due + self.room.depth_of_deques() as usize;
        let ahead = located.place.as_ref().map(|place| place.ahead);
        if located.place.as_ref().is_some_and(|place| place.is_front) {
            return beside + front;
        }
        let (Some(level), Some(discipline)) = (level, &self.config.discipline) else {
            return ahead.map_or(usize::MAX, |ahead| beside + front + ahead);
        };
        let of_level = |level: usize| counts.queue.levels()[level].waiting() as usize;
        let more_urgent: usize = (0..level).map(of_level).sum();
        let less_urgent = level + 1..counts.queue.levels().len();
        // Without its place: all of its level but itself, and then those at the front are counted among them.
        let own = match ahead {
            Some(ahead) => ahead + located.front[level],
            None => of_level(level).saturating_sub(1),
        };
        if discipline.is_strict() {
            // Of what is less urgent nothing goes first, but what was moved to the front.
            let raised: usize = located.front[less_urgent].iter().sum();
            return beside + more_urgent + own + raised;
        }
        let by_counts = beside + more_urgent + own + less_urgent.map(of_level).sum::<usize>();
        let picks = ahead.and_then(|ahead| discipline.rule.picks_before(level, ahead));
        match picks.and_then(|picks| usize::try_from(picks).ok()) {
            Some(picks) => by_counts.min(beside.saturating_add(front).saturating_add(picks)),
            None => by_counts,
        }
    }

    /// If those before it take as long as tasks took on average; those that run now are half done.
    fn expected_start(&self, before: usize, held: Option<&Held>, counts: &Counts) -> Option<Duration> {
        if counts.queue.paused {
            return None;
        }
        let hands = counts.crew.threads.max(1);
        let turns = (before as f64 + 0.5 * counts.active() as f64) / hands as f64;
        // A view goes on no faster than its limit allows.
        let in_line = held.and_then(|held| {
            let hands = hands.min(held.view.limit() as usize) as f64;
            Some((held.ahead? as f64 + 0.5 * held.view.read().active as f64) / hands)
        });
        let turns = in_line.map_or(turns, |in_line| turns.max(in_line));
        Some(self.observed.run.snapshot().mean()?.mul_f64(turns))
    }

    /// Where waiting counts, by the age of its record; if that was not found: when the oldest of a level has not risen, none has.
    fn effective_level(&self, level: usize, is_due: bool, located: &Located) -> Option<usize> {
        let discipline = self.config.discipline.as_ref()?;
        if discipline.step().is_none() {
            return Some(level);
        }
        let now = self.clock.tick();
        let counts_as = |arrived| discipline.rule.effective_level(level, arrived, now);
        if let Some(place) = &located.place {
            // At the front age counts for nothing.
            return Some(place.arrived.map_or(level, counts_as));
        }
        let oldest = if is_due {
            self.timers.due.oldest_of_levels()
        } else {
            self.room.oldest_of_levels()
        };
        oldest[level].map(counts_as).filter(|oldest| *oldest == level)
    }

    /// What some of the workers run.
    fn names_of_running(&self) -> Vec<Arc<str>> {
        let posts: Vec<_> = {
            let staff = self.staff.lock();
            staff.posts().iter().take(LOOKED_AT).cloned().collect()
        };
        let mut names = Vec::new();
        for post in posts {
            let outermost = post.visible.stage.look().into_iter().next();
            names.extend(outermost.map(|sight| {
                let task = sight.task.as_ref().map(|task| task.header());
                let name = task.and_then(|task| task.side()?.name.as_deref());
                Arc::from(name.unwrap_or(sight.type_name))
            }));
            if names.len() == NAMED {
                break;
            }
        }
        names
    }
}

fn waiting(tally: &Tally) -> usize {
    tally.waiting() as usize
}

/// Of those that wait now, how many may start before a task that stands in a line; perhaps more than there are. Who has a slot
/// waits for its turn in the queue, whatever its level: what is in the queue may all come before whoever stands behind it.
fn before_in_line(held: &Held, is_levelled: bool, counts: &Counts) -> usize {
    let view = &held.view;
    // With several slots one from behind may be quicker: by its level, by its time, or since it was accepted earlier, and stood
    // in a line further in.
    let is_in_order = view.limit() == 1 || !(is_levelled || view.is_mixed());
    let Some(ahead) = held.ahead.filter(|_| is_in_order) else {
        return usize::MAX;
    };
    // Those of the view that are neither before it in line nor have a slot are behind it.
    let of_view = view.read().queued;
    let others = (waiting(&counts.queue) + waiting(&counts.timed.due)).saturating_sub(of_view);
    others + of_view.min(view.limit() as usize) + ahead
}
