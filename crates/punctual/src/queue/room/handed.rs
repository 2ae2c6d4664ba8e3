//! Tasks that got their place in the queue from another task of their view, as that one ended.
//!
//! In: a task that stood in a view's line, and how many had been accepted before it. Out: the task, in its turn. Whoever ends a
//! task is a consumer. Were the next in line written at the tail, each end of a view's task would take the lock, and the
//! memory, that the producers are busy with; so it is put here, under the consumers' own lock.
//!
//! **Order.** The log is read a chain at a time, and a chain is all that was accepted before a moment: its *bound*. A task that
//! was accepted before the bound of the chain at the head goes after that chain and before the next; one that was accepted
//! later goes after the next chain, which takes in all there is. So it overtakes nobody who was accepted before it, and of
//! those behind it at most the rest of one chain goes first. (At the tail all that waits would.)
//!
//! **Counts.** Such a task never has a record: it stays one of those *aside*, of which `handed` came here and `gone` have left
//! again, taken or dead. A room with levels has no such line: there the tail of its level is the place.

use super::{Consumers, Room, Taken};
use crate::queue::deque::in_one_order;
use crate::queue::producers::{Gate, Producers};
use crate::queue::segment::SAMPLE_EVERY;
use crate::sync::Guard;
use crate::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use crate::task::block::Entry;
use crate::task::record::{Arrival, Dead, Slot};
use crate::time::{MEASURES, Tick};
use std::collections::VecDeque;

/// A task that has its slots.
pub(crate) struct Handed {
    pub(crate) entry: Entry,
    /// Tasks that had been accepted before it.
    pub(crate) number: u64,
    pub(crate) arrived: Tick,
}

/// Under the consumers' lock.
#[derive(Default)]
pub(super) struct Returns {
    /// What was accepted with a number below this is in the chain at the head, or was.
    bound: u64,
    /// To be taken after the chain at the head, and after the one behind it.
    now: VecDeque<Handed>,
    later: VecDeque<Handed>,
}

impl Returns {
    /// Whether something is to be taken before the next chain.
    #[inline(always)]
    pub(super) fn has_now(&self) -> bool {
        !self.now.is_empty()
    }

    /// Whether something is to be taken after the next chain.
    #[inline(always)]
    pub(super) fn has_later(&self) -> bool {
        !self.later.is_empty()
    }

    fn len(&self) -> usize {
        self.now.len() + self.later.len()
    }

    /// The head has taken all that was accepted so far.
    pub(super) fn next_chain(&mut self, accepted: u64) {
        self.bound = accepted;
        debug_assert!(self.now.is_empty(), "a chain was taken before its turn");
        std::mem::swap(&mut self.now, &mut self.later);
    }

    /// When the first of them arrived.
    pub(super) fn arrived(&self) -> Option<Tick> {
        self.now.front().or(self.later.front()).map(|first| first.arrived)
    }

    /// Those after the chain at the head, and those after the next.
    pub(super) fn entries(&self) -> [impl Iterator<Item = &Entry>; 2] {
        [&self.now, &self.later].map(|list| list.iter().map(|each| &each.entry))
    }
}

fn slot_of(handed: Handed) -> Slot {
    Slot::holding(handed.entry.header().class, handed.entry)
}

impl<G: Gate> Room<G> {
    /// Takes in what `next` gives, if anything; in the same section, so that nobody who empties the room misses it. `Err` is
    /// passed on.
    pub(crate) fn take_in<E>(&self, next: impl FnOnce() -> Result<Handed, E>) -> Result<(), E> {
        debug_assert!(!self.is_levelled(), "a level's place is its tail");
        let mut consumers = self.consumers.lock();
        let handed = next()?;
        let returns = &mut consumers.returns;
        if handed.number < returns.bound {
            returns.now.push_back(handed);
        } else {
            returns.later.push_back(handed);
        }
        // In one order with the look of whoever lies down: step 5 of the essay on sleep.
        let count = self.popped.handed.load(Acquire);
        self.popped.handed.store(count + 1, SeqCst);
        in_one_order();
        Ok(())
    }

    /// As [`Room::take`], where the chain has ended and these come next.
    #[cold]
    #[inline(never)]
    pub(super) fn take_handed(&self, mut consumers: Guard<'_, Consumers>, slot: &mut Slot) -> Taken {
        let won = self.take_first_handed(&mut consumers, slot);
        drop(consumers);
        match won {
            None => Taken::Nothing,
            Some(true) => Taken::Task,
            Some(false) => {
                slot.let_go();
                Taken::Dead
            }
        }
    }

    /// Moves the next one into the slot and claims it. False: it was dead.
    pub(super) fn take_first_handed(&self, consumers: &mut Consumers, slot: &mut Slot) -> Option<bool> {
        let handed = consumers.returns.now.pop_front()?;
        let tick = handed.arrived;
        *slot = slot_of(handed);
        // As of the records of the log: each sample speaks for those up to the next.
        if MEASURES && self.popped.gone.load(Acquire).is_multiple_of(SAMPLE_EVERY) {
            let weight = SAMPLE_EVERY;
            slot.arrival = Some(Arrival { tick, weight });
        }
        let won = slot.claim();
        consumers.taken += u64::from(won);
        self.popped.publish(consumers.popped, consumers.taken);
        self.count_gone(1);
        Some(won)
    }

    /// Moves the next one into the slot, for somebody who throws it out.
    pub(super) fn take_handed_out(&self, consumers: &mut Consumers, slot: &mut Slot) -> bool {
        let Some(handed) = consumers.returns.now.pop_front() else {
            return false;
        };
        *slot = slot_of(handed);
        self.count_gone(1);
        true
    }

    /// After what became of them was counted.
    fn count_gone(&self, tasks: u64) {
        let gone = self.popped.gone.load(Acquire);
        self.popped.gone.store(gone + tasks, Release);
    }

    /// Those that are here. In one order with [`Room::take_in`].
    pub(super) fn waiting_handed(&self) -> u64 {
        in_one_order();
        let gone = self.popped.gone.load(Acquire);
        self.popped.handed.load(SeqCst).saturating_sub(gone)
    }

    /// Gives the tail's chain to the dry head.
    #[inline(always)]
    pub(super) fn refill(&self, consumers: &mut Consumers, producers: &mut Producers<G>) {
        consumers.returns.next_chain(producers.accepted_so_far());
        if !producers.tail.is_empty() {
            consumers.head.refill(&mut producers.tail);
        }
    }

    /// Takes the dead ones out.
    pub(super) fn sweep_handed(&self, consumers: &mut Consumers, dead: &mut Vec<Dead>) {
        let returns = &mut consumers.returns;
        let before = returns.len();
        for list in [&mut returns.now, &mut returns.later] {
            let (gone, stay) = std::mem::take(list)
                .into_iter()
                .partition::<VecDeque<_>, _>(|each| each.entry.header().state.load().is_claimed());
            *list = stay;
            dead.extend(gone.into_iter().filter_map(|each| slot_of(each).take_dead()));
        }
        let gone = before - consumers.returns.len();
        self.count_gone(gone as u64);
    }

    /// Takes all of them out: those after the first chain, and those after the second.
    pub(super) fn drain_handed(&self, consumers: &mut Consumers) -> [std::vec::IntoIter<Slot>; 2] {
        let returns = &mut consumers.returns;
        self.count_gone(returns.len() as u64);
        [&mut returns.now, &mut returns.later].map(|list| {
            let slots: Vec<Slot> = std::mem::take(list).into_iter().map(slot_of).collect();
            slots.into_iter()
        })
    }
}
