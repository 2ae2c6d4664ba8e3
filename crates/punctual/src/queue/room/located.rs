//! Where in a room a task lies, and what is before it there.
//!
//! In: a task that somebody holds a share of. Out: how many records come before its own, and when it came, if it lies among the
//! first thousand at either end of its level. Under both locks of the room, for as long as it takes to step over those; of other
//! tasks nothing is read but their place. Not here: tasks in a view's line, and those in workers' deques.

use super::Room;
use crate::queue::LEVELS;
use crate::queue::producers::Gate;
use crate::task::block::{Entry, Header};
use crate::time::Tick;

/// So many records are stepped over at each end, at most.
const LOOKS: u64 = 1024;

/// A look for a task.
#[derive(Debug, Default)]
pub(crate) struct Located {
    /// `None`: it lies elsewhere, or far behind.
    pub(crate) place: Option<Place>,
    /// Of each level, tasks at the front, before the task if it is there too. Never too few.
    pub(crate) front: [usize; LEVELS],
}

/// Where a task was found.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) is_front: bool,
    /// Records before it in its level, or in a plain log; none at the front. Never too few.
    pub(crate) ahead: usize,
    /// When it came, where records have an age.
    pub(crate) arrived: Option<Tick>,
}

impl<G: Gate> Room<G> {
    /// Looks for a task. The caller holds a share of it.
    pub(crate) fn locate(&self, task: &Header) -> Located {
        let consumers = self.consumers.lock();
        let producers = self.producers.lock();
        let mut located = Located::default();
        for slot in consumers.front.first(LOOKS as usize) {
            let is_it = |entry: &Entry| std::ptr::eq(entry.header(), task);
            if slot.peek_entry().is_some_and(is_it) && !slot.is_dead() {
                located.place = Some(Place {
                    is_front: true,
                    ahead: 0,
                    arrived: None,
                });
                return located;
            }
            located.front[self.level_in(slot)] += usize::from(!slot.is_dead());
        }
        let level = self.level_of_task(task);
        located.front[level] += consumers.front.len().saturating_sub(LOOKS as usize);
        let found = match (&consumers.levels, &producers.levels) {
            (Some(heads), Some(tails)) => heads.find(level, tails, LOOKS, task),
            _ => {
                let head = &consumers.head;
                let left = head.left() as usize;
                let [mut now, _] = consumers.returns.entries();
                let place = now
                    .by_ref()
                    .take(LOOKS as usize)
                    .position(|entry| std::ptr::eq(entry.header(), task));
                let in_returns = place.map(|place| (left + place, None));
                head.find(0, LOOKS, task).or(in_returns).or_else(|| {
                    let (ahead, _) = producers.tail.find(0, LOOKS, task)?;
                    // What stands aside may come between the two chains, if it came before this one.
                    let aside = self.waiting_aside() + self.waiting_handed();
                    Some((left + ahead + aside as usize, None))
                })
            }
        };
        located.place = found.map(|(ahead, arrived)| Place {
            is_front: false,
            ahead,
            arrived,
        });
        located
    }
}
