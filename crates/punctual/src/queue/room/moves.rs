//! A waiting task that is moved: to the end of another level, or to the front.
//!
//! In: a reference to a task. Out: its new record, which counts from now on; the one it had stays where it is, outdated,
//! and is dropped by whoever comes across it. The move is one step on the task's word, made under both locks of the room:
//! whoever claimed the task before has it, and whoever claims it later sees which level it is in.
//!
//! The front is a line of its own before all levels: first come, first served. It is under the consumers' lock, so a plain room
//! that has nothing there spends nothing on it.

use super::{Consumers, FRONT, Room, Taken};
use crate::queue::producers::Gate;
use crate::sync::{Arc, Guard};
use crate::task::block::{Entry, Reference};
use crate::task::home::{Destination, Removal};
use crate::task::record::{Dead, Moved, Slot};
use crate::time::Clock;
use std::collections::VecDeque;

/// What waits before everything else.
#[derive(Default)]
pub(super) struct Front(VecDeque<Slot>);

/// How a try to move a task went.
enum Try {
    Done,
    NotWaiting,
    /// There was no memory for the record; it is brought outside the locks.
    Again,
}

impl Front {
    /// The first of them that wait still, and do not borrow.
    pub(super) fn list(&self, most: usize) -> Vec<Arc<Reference>> {
        let waiting = self.0.iter().filter(|slot| !slot.is_dead());
        let entries = waiting.filter_map(Slot::peek_entry);
        entries.filter_map(Entry::refer).take(most).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The first of them, dead ones too.
    pub(super) fn first(&self, most: usize) -> impl Iterator<Item = &Slot> {
        self.0.iter().take(most)
    }
}

impl Consumers {
    /// Moves the first of the front into the slot.
    pub(super) fn take_front(&mut self, slot: &mut Slot) {
        if let Some(first) = self.front.0.pop_front() {
            *slot = first;
        }
        if self.front.0.is_empty() {
            self.heed &= !FRONT;
        }
    }
}

impl<G: Gate> Room<G> {
    /// Gives a waiting task of this room another place. False: it does not wait here (any more), or there are no levels.
    /// Whether the dead entries need a sweep comes along.
    #[must_use]
    pub(crate) fn relocate(&self, task: &Arc<Reference>, to: Destination, clock: &Clock) -> Option<bool> {
        if matches!(to, Destination::Level(_)) && !self.is_levelled() {
            return None;
        }
        loop {
            match self.try_to_relocate(task, to, clock) {
                Try::Done => return Some(self.needs_sweep()),
                Try::NotWaiting => return None,
                Try::Again => self.bring_for(to),
            }
        }
    }

    /// From now on no task of this room is given another place: it is about to be emptied for good.
    pub(crate) fn refuse_moves(&self) {
        self.producers.lock().refuse_moves();
    }

    fn try_to_relocate(&self, task: &Arc<Reference>, to: Destination, clock: &Clock) -> Try {
        let mut consumers = self.consumers.lock();
        let mut producers = self.producers.lock();
        if producers.refuses_moves() {
            return Try::NotWaiting;
        }
        let header = task.header();
        let before = self.level_of_task(header);
        let (class, level) = match to {
            Destination::Level(priority) => {
                let class = header.class.inheriting(priority);
                (class, Some(self.level_of(class)))
            }
            Destination::Front => (header.class.inheriting(header.priority()), None),
        };
        // First the memory: once the task has moved there is no way back.
        let has_memory = match to {
            Destination::Level(_) => producers
                .levels
                .as_mut()
                .is_some_and(|tails| tails.has_room_for::<Moved>(class)),
            Destination::Front => consumers.front.0.len() < consumers.front.0.capacity(),
        };
        if !has_memory {
            return Try::Again;
        }
        if !header.state.relocate(level) {
            return Try::NotWaiting;
        }
        let record = task.leave_to_record();
        match to {
            Destination::Level(_) => {
                if producers.push(self, class, record, true, clock).is_err() {
                    unreachable!("there was room a moment ago, and the lock is held");
                }
            }
            Destination::Front => {
                consumers.front.0.push_back(Slot::holding(class, record));
                consumers.heed |= FRONT;
                self.set_front(true);
                producers.count_moved(self, before);
            }
        }
        // The old record gives its permit back, the new one has brought its own.
        self.removed.count(Removal::Moved, before);
        Try::Done
    }

    /// Makes sure that the next try finds memory.
    fn bring_for(&self, to: Destination) {
        if matches!(to, Destination::Level(_)) {
            self.bring();
            return;
        }
        let needed = 2 * self.consumers.lock().front.0.len().max(8);
        let mut larger = VecDeque::with_capacity(needed);
        let mut consumers = self.consumers.lock();
        if consumers.front.0.capacity() < needed {
            larger.append(&mut consumers.front.0);
            std::mem::swap(&mut consumers.front.0, &mut larger);
        }
        drop(consumers);
    }

    /// As [`Room::take`], where something waits at the front.
    #[cold]
    pub(super) fn take_from_front(&self, mut consumers: Guard<'_, Consumers>, slot: &mut Slot) -> Taken {
        let won = self.take_front(&mut consumers, slot);
        drop(consumers);
        if won {
            return Taken::Task;
        }
        slot.let_go();
        Taken::Dead
    }

    /// Moves the first of the front into the slot and claims it; false: it was dead.
    pub(super) fn take_front(&self, consumers: &mut Consumers, slot: &mut Slot) -> bool {
        consumers.take_front(slot);
        self.set_front(consumers.heed & FRONT != 0);
        let won = self.claim(consumers, slot);
        let level = self.level_in(slot);
        if won && let Some(heads) = &mut consumers.levels {
            heads.took_front(level);
        }
        won
    }

    /// Takes the dead records out of the front.
    pub(super) fn sweep_front(&self, consumers: &mut Consumers, dead: &mut Vec<Dead>) {
        for _ in 0..consumers.front.0.len() {
            let Some(mut slot) = consumers.front.0.pop_front() else {
                break;
            };
            if slot.is_dead() {
                dead.extend(slot.take_dead());
            } else {
                consumers.front.0.push_back(slot);
            }
        }
        self.note_front(consumers);
    }

    /// Takes everything out of the front.
    pub(super) fn drain_front(&self, consumers: &mut Consumers) -> VecDeque<Slot> {
        let front = std::mem::take(&mut consumers.front.0);
        self.note_front(consumers);
        front
    }

    fn note_front(&self, consumers: &mut Consumers) {
        if consumers.front.0.is_empty() {
            consumers.heed &= !FRONT;
        }
        self.set_front(consumers.heed & FRONT != 0);
    }
}
