//! A look at what waits in a room.
//!
//! In: how many at most. Out: references to the first tasks with a handle, in the order in which they would be taken if
//! nothing else came. Under both locks of the room, for as long as it takes to look at a few thousand records at most; no
//! task is moved or claimed by it. Not here: tasks in a view's line, and those in workers' deques, which others take
//! without a lock.

use super::Room;
use crate::queue::chain::Waiting;
use crate::queue::producers::Gate;
use crate::sync::Arc;
use crate::task::block::{Entry, Reference};

/// Records of a level that are looked at, at most: those without a handle are not listed, and there may be millions.
const LOOKS: u64 = 8_192;

impl<G: Gate> Room<G> {
    pub(crate) fn list(&self, most: usize) -> Vec<Arc<Reference>> {
        let consumers = self.consumers.lock();
        let producers = self.producers.lock();
        let mut listed = consumers.front.list(most);
        let left = most - listed.len();
        let rest = match (&consumers.levels, &producers.levels) {
            (Some(heads), Some(tails)) => heads.list(tails, left, LOOKS),
            _ => {
                let mut rest = Vec::new();
                let [now, later] = consumers.returns.entries();
                let looks = consumers.head.list(0, left, LOOKS, &mut rest);
                list_handed(now, left, &mut rest);
                producers.tail.list(0, left, looks, &mut rest);
                list_handed(later, left, &mut rest);
                rest
            }
        };
        listed.extend(rest.into_iter().map(|waiting| waiting.task));
        listed
    }
}

fn list_handed<'a>(entries: impl Iterator<Item = &'a Entry>, most: usize, to: &mut Vec<Waiting>) {
    let waiting = entries.filter(|entry| !entry.header().state.load().is_claimed());
    let tasks = waiting.filter_map(Entry::refer).take(most - to.len());
    to.extend(tasks.map(|task| Waiting { task, age: (0, 0) }));
}
