//! A worker that has a deque: its loop, and what it takes from others.
//!
//! In: the deques of its pool ([`queue::locals`](crate::queue::locals)) beside the shared queue. Out: the next task, in this
//! order: what waits at the front and more urgent levels; at every [`FAIR_EVERY`]th turn the shared queue, and half-way between
//! two of these its own oldest; its own newest; the shared queue; the oldest of another, beginning with a random one. Due tasks
//! go before all of them, as in every pool.

use super::{Worker, search};
use crate::pool::engine::Engine;
use crate::pool::staff::Departure;
use crate::queue::deque::{Local, Taken};
use crate::queue::kind;
use crate::queue::locals::{Locals, Victims};
use crate::sync::yield_now;
use crate::task::record::Slot;
use crate::task::run::Runner;

/// The shared queue is looked at first at every so many turns: what comes from outside waits for no more of its own tasks.
/// As often it takes the oldest of its own: a task that submits itself again and again would keep them for ever. The two have
/// turns of their own, so neither waits for the other, however many come.
pub(crate) const FAIR_EVERY: u32 = 64;

/// A worker's own deque, and its way to the others.
#[derive(Debug)]
pub(super) struct Thief<'a> {
    local: &'a Local,
    victims: Victims,
    turn: u32,
    /// Where the next look begins; never 0.
    random: u32,
}

impl<'a> Thief<'a> {
    pub(super) fn new(local: &'a Local) -> Self {
        Thief {
            local,
            victims: Victims::default(),
            turn: 0,
            // Any number, another for each: the address of its deque, spread over all bits.
            random: (std::ptr::from_ref(local).addr() as u32).wrapping_mul(0x9e37_79b9) | 1,
        }
    }

    /// Gives the memory of a burst back.
    pub(super) fn shrink(&self) {
        self.local.shrink();
    }

    /// Whether something lies in another's deque; two loads each.
    pub(super) fn sees_prey(&mut self, engine: &Engine) -> bool {
        let Some(locals) = engine.room.locals() else {
            return false;
        };
        locals.look(self.local, &mut self.victims);
        let has_some = self.victims.deques().iter().any(|each| !each.is_empty());
        has_some && !engine.room.is_paused()
    }

    /// A number below `n`, by Marsaglia's xorshift.
    fn below(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        (self.random as usize) % n
    }

    /// Takes the oldest task of another.
    fn steal(&mut self, engine: &Engine, locals: &Locals, slot: &mut Slot) -> bool {
        locals.look(self.local, &mut self.victims);
        let count = self.victims.deques().len();
        if count == 0 {
            return false;
        }
        let first = self.below(count);
        let mut is_busy = false;
        for index in 0..count {
            let victim = &self.victims.deques()[(first + index) % count];
            loop {
                match victim.steal(self.local, &locals.heed, slot) {
                    Taken::Task => {
                        make_room_known(engine, locals);
                        slot.stolen = true;
                        return true;
                    }
                    Taken::Dead => let_go(engine, slot),
                    Taken::Nothing => break,
                    Taken::Busy => {
                        is_busy = true;
                        break;
                    }
                }
            }
        }
        self.local.count_in_vain();
        if is_busy {
            // What it sees, and does not get, keeps it from sleeping: whoever is at it gets on with it.
            yield_now();
        }
        false
    }
}

/// A task was taken from a deque: somebody may wait for its place.
#[inline]
fn make_room_known(engine: &Engine, locals: &Locals) {
    if locals.heed.is_awaited() {
        engine.offer_room();
    }
}

#[cold]
fn let_go(engine: &Engine, slot: &mut Slot) {
    engine.room.count_from_deques(1);
    slot.let_go();
}

impl Worker<'_> {
    /// As [`Worker::work`], with a deque.
    #[inline(never)]
    pub(super) fn work_and_steal<const KIND: u8>(
        &mut self,
        runner: &Runner<'_>,
        slot: &mut Slot,
    ) -> Option<Departure> {
        loop {
            if self.engine.is_forked() {
                return None;
            }
            if let Err(departure) = self.next_or_steal::<KIND>(slot) {
                return Some(departure);
            }
            self.run::<KIND>(runner, slot);
        }
    }

    #[inline(always)]
    fn next_or_steal<const KIND: u8>(&mut self, slot: &mut Slot) -> Result<(), Departure> {
        if self.engine.attention.is_wanted() && self.attend(slot)? {
            return Ok(());
        }
        let engine = self.engine;
        let (Some(thief), Some(locals)) = (&mut self.thief, engine.room.locals()) else {
            unreachable!("this loop is for workers with deques")
        };
        thief.turn = thief.turn.wrapping_add(1);
        let is_fair = thief.turn.is_multiple_of(FAIR_EVERY / 2);
        let is_their_turn = is_fair && thief.turn.is_multiple_of(FAIR_EVERY);
        let is_urgent =
            locals.heed.has_front() || (KIND != kind::PLAIN && engine.room.has_more_urgent(locals.level()));
        if (is_their_turn || is_urgent) && search::search(engine, slot, &mut self.taker) {
            self.lives_by_the_clock = false;
            return Ok(());
        }
        if is_fair && !is_their_turn && take_own_oldest(engine, locals, thief.local, slot) {
            self.lives_by_the_clock = false;
            return Ok(());
        }
        if take_own(engine, locals, thief.local, slot)
            || search::search_as::<KIND>(engine, slot, &mut self.taker)
        {
            self.lives_by_the_clock = false;
            return Ok(());
        }
        self.next_when_dry(slot)
    }

    /// Looks at its own deque, the shared queue and the others' deques, once.
    pub(super) fn look_everywhere(&mut self, slot: &mut Slot) -> bool {
        let engine = self.engine;
        let (Some(thief), Some(locals)) = (&mut self.thief, engine.room.locals()) else {
            return false;
        };
        // What waits for nothing but a worker's first look is taken by `search::first`.
        take_own_apart(engine, locals, thief.local, slot)
            || (!self.is_fresh && search::search(engine, slot, &mut self.taker))
            || thief.steal(engine, locals, slot)
    }

    /// Whether something lies in its own deque.
    pub(super) fn has_own(&self) -> bool {
        self.thief
            .as_ref()
            .is_some_and(|thief| !thief.local.deque().is_empty())
    }

    /// It leaves: what lies in its deque goes to the shared queue. Nothing is put in any more.
    pub(super) fn leave_deque(&mut self) {
        let Some(thief) = &self.thief else { return };
        if self.engine.room.hand_over(thief.local, &self.engine.clock) {
            self.engine.idle.notify();
        }
    }
}

/// As [`take_own`], where speed does not matter.
#[cold]
#[inline(never)]
fn take_own_apart(engine: &Engine, locals: &Locals, local: &Local, slot: &mut Slot) -> bool {
    take_own(engine, locals, local, slot)
}

/// Takes the newest task of the worker's own deque.
#[inline(always)]
fn take_own(engine: &Engine, locals: &Locals, local: &Local, slot: &mut Slot) -> bool {
    take_from::<false>(engine, locals, local, slot)
}

/// Takes the oldest, if no thief is at it: that one takes it then.
#[cold]
#[inline(never)]
fn take_own_oldest(engine: &Engine, locals: &Locals, local: &Local, slot: &mut Slot) -> bool {
    take_from::<true>(engine, locals, local, slot)
}

/// Takes a task of the worker's own deque, from either end. (A parameter, not a closure: that would not be inlined.)
#[inline(always)]
fn take_from<const OLDEST: bool>(engine: &Engine, locals: &Locals, local: &Local, slot: &mut Slot) -> bool {
    loop {
        let taken = if OLDEST {
            local.pop_oldest(&locals.heed, slot)
        } else {
            local.pop(&locals.heed, slot)
        };
        match taken {
            Taken::Task => {
                make_room_known(engine, locals);
                return true;
            }
            Taken::Dead => let_go(engine, slot),
            Taken::Nothing | Taken::Busy => return false,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Whoever has the same number of victims begins with each of them equally often.
    #[test]
    fn kot_08_the_first_victim_is_any_of_them_equally_often() {
        const LOOKS: usize = 120_000;
        let locals = Locals::new(0);
        for victims in 2..=12 {
            let local = locals.join(0);
            let mut thief = Thief::new(&local);
            let mut chosen = vec![0_usize; victims];
            (0..LOOKS).for_each(|_| chosen[thief.below(victims)] += 1);
            let fair = LOOKS / victims;
            let is_fair = |count: &usize| count.abs_diff(fair) * 10 <= fair;
            assert!(chosen.iter().all(is_fair), "{chosen:?}");
        }
    }
}
