//! The crew: how many workers there are, how many there may be, and who waits for room.
//!
//! In: facts, under the producers' lock: workers hired, started, blocked, gone; sizes set. Out: the rules that admission,
//! growth and retirement ask. Nothing here acts, and nothing here is user code.
//!
//! **Fresh workers.** A new worker never carries a task: the task is queued, and the worker takes the head. Until its
//! first look at the queue a worker is *fresh*, and the queue may hold one task more for it, so that "two running, three
//! queued, the next one refused" is exact at every moment.
//!
//! **Spares.** While a worker's task waits inside the library (a join, a group, a scope) the pool has a hand less. For
//! each such worker, up to `spare_threads`, both sizes are one larger: every rule below then lets a spare thread stand
//! in, and sends one home when the wait is over. A pool and its annexes share their [`Spares`].

use super::Size;
use super::line::Waiter;
use super::staff::Departure;
use crate::observe::{StartCounts, StopCounts};
use crate::queue::producers::Gate;
use crate::sync::Arc;
use crate::sync::unmodelled::{AtomicI64, Relaxed};
use crate::time::{Tick, deadline_after};
use std::collections::VecDeque;
use std::time::Duration;

/// Which fills first when all core threads are at work: the queue, or the threads.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Growth {
    /// Threads beyond `core_threads` start when the queue is full. The default.
    #[default]
    QueueFirst,
    /// Threads up to `max_threads` start when none is free; the queue fills when all are at work.
    ThreadsFirst,
}

/// What the pool keeps under the producers' lock.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(super) size: Size,
    pub(super) growth: Growth,
    pub(super) keep_alive: Duration,
    pub(super) core_timeout: bool,
    spares: Arc<Spares>,
    /// Alive, or being started.
    workers: usize,
    /// Being started: nobody may count on these yet.
    starting: usize,
    /// Hired, and have not begun.
    unbegun: usize,
    /// Hired, and have not looked into the queue yet.
    fresh: usize,
    /// Workers whose task waits inside the library.
    blocked: usize,
    /// Those among them that wait without a limit for tasks: each has a note among the [waits](super::waits).
    pub(super) noted: usize,
    /// Spares that this crew has taken for the blocked ones.
    standing_in: usize,
    /// A spare thread watches the clock.
    has_keeper: bool,
    /// Workers so far.
    hired: u64,
    largest: usize,
    largest_since_resize: usize,
    /// A worker sleeps without a limit although idle workers leave: somebody relied on it.
    is_put_off: bool,
    /// Submissions that wait for room, in order.
    pub(super) line: VecDeque<Arc<Waiter>>,
    /// Of an annex: places in its pool's queue that its waiting tasks hold. `None` for a pool, whose places are its own.
    pub(super) lent: Option<u64>,
    /// Of a pool: submissions to its annexes wait for a place in its queue.
    pub(super) is_awaited_elsewhere: bool,
    /// Of the annex behind `blocking()`: threads that it does without, for tasks that block elsewhere.
    given_up: usize,
    /// Of a pool: threads that it has instead.
    gained: usize,
    starts: Starts,
    stops: StopCounts,
}

/// Threads beyond the sizes that are still to be had, by a pool and its annexes. Each crew counts what it took under its
/// own lock, so the number itself needs no order. Below zero: some were taken [regardless](Crew::stand_in_regardless).
#[derive(Debug)]
pub(crate) struct Spares(AtomicI64);

impl Spares {
    pub(crate) fn new(threads: usize) -> Self {
        Spares(AtomicI64::new(threads as i64))
    }

    fn take(&self) -> bool {
        self.0
            .fetch_update(Relaxed, Relaxed, |left| (left > 0).then(|| left - 1))
            .is_ok()
    }

    fn take_regardless(&self) {
        self.0.fetch_sub(1, Relaxed);
    }

    fn give(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// How starting threads went lately.
#[derive(Debug, Default)]
struct Starts {
    made: u64,
    by_reason: StartCounts,
    failed: u64,
    failed_in_a_row: u32,
    not_before: Tick,
}

/// After a start that failed the next one is tried this much later, twice as much after the next failure, and so on.
const FIRST_BACK_OFF: Duration = Duration::from_millis(1);
const DOUBLINGS: u32 = 10;

impl Gate for Crew {
    fn is_waited_for(&self) -> bool {
        // Of an annex always: what its workers take gives a place of its pool back.
        !self.line.is_empty() || self.is_awaited_elsewhere || self.lent.is_some()
    }
}

/// A reading for statistics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrewReading {
    pub(crate) size: Size,
    pub(crate) threads: usize,
    pub(crate) spare: usize,
    pub(crate) largest: usize,
    pub(crate) largest_since_resize: usize,
    pub(crate) starts: u64,
    pub(crate) starts_by_reason: StartCounts,
    pub(crate) failed_starts: u64,
    pub(crate) stops: StopCounts,
}

impl Crew {
    pub(crate) fn new(
        size: Size,
        growth: Growth,
        keep_alive: Duration,
        core_timeout: bool,
        spares: Arc<Spares>,
    ) -> Self {
        Crew {
            size,
            growth,
            keep_alive,
            core_timeout,
            spares,
            workers: 0,
            starting: 0,
            unbegun: 0,
            fresh: 0,
            blocked: 0,
            noted: 0,
            standing_in: 0,
            has_keeper: false,
            hired: 0,
            largest: 0,
            largest_since_resize: 0,
            is_put_off: false,
            line: VecDeque::new(),
            lent: None,
            is_awaited_elsewhere: false,
            given_up: 0,
            gained: 0,
            starts: Starts::default(),
            stops: StopCounts::default(),
        }
    }

    pub(crate) fn spares(&self) -> &Arc<Spares> {
        &self.spares
    }

    /// Takes spares for blocked workers, as far as there are some. Says whether it took one.
    pub(crate) fn stand_in(&mut self) -> bool {
        let before = self.standing_in;
        while self.standing_in < self.blocked && self.spares.take() {
            self.standing_in += 1;
        }
        self.standing_in > before
    }

    /// Takes one for a blocked worker that has none, although none is left.
    pub(crate) fn stand_in_regardless(&mut self) {
        if self.standing_in < self.blocked {
            self.spares.take_regardless();
            self.standing_in += 1;
        }
    }

    /// Gives back what is not needed any more. Says whether it did:
    /// [`Engine::offer_spare`](super::engine::Engine::offer_spare) is to follow.
    fn step_back(&mut self) -> bool {
        let is_one_too_many = self.standing_in > self.blocked;
        if is_one_too_many {
            self.standing_in -= 1;
            self.spares.give();
        }
        is_one_too_many
    }

    /// A spare thread for the clock, if one is left.
    pub(crate) fn take_keeper(&mut self) -> bool {
        // A spare that is to leave is still there.
        let is_left = !self.has_keeper && !self.has_surplus() && self.spares.take();
        self.has_keeper |= is_left;
        is_left
    }

    /// [`Engine::offer_spare`](super::engine::Engine::offer_spare) is to follow.
    pub(crate) fn give_keeper_back(&mut self) {
        self.has_keeper = false;
        self.spares.give();
    }

    /// Workers that there should be while tasks wait.
    pub(crate) fn wanted(&self) -> usize {
        self.size.core.max(1) + self.standing_in + self.gained
    }

    /// Workers that may be started while tasks wait and nobody is free.
    pub(crate) fn ceiling(&self) -> usize {
        match self.growth {
            Growth::QueueFirst => self.wanted(),
            Growth::ThreadsFirst => self.max(),
        }
    }

    /// Workers that stay.
    pub(crate) fn core(&self) -> usize {
        self.size.core + self.standing_in + self.gained
    }

    /// The most workers.
    pub(crate) fn max(&self) -> usize {
        self.size.max + self.standing_in + self.gained - self.given_up
    }

    /// Alive, or being started.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Workers that are known to run: their starter has said so, or they have begun.
    pub(crate) fn live(&self) -> usize {
        self.workers - self.starting.min(self.unbegun)
    }

    /// Places in the queue beyond its capacity: a fresh worker will take one task at once.
    pub(crate) fn fresh(&self) -> u64 {
        self.fresh as u64
    }

    /// Fewer than stay, or none at all: the next task starts one, whatever the queue looks like. A spare is started only
    /// if more wait than are free for them.
    pub(crate) fn is_short(&self, waiting: u64, idle: usize) -> bool {
        let is_unserved = waiting >= self.fresh() + idle as u64;
        self.workers < self.size.core || self.workers == 0 || (self.workers < self.wanted() && is_unserved)
    }

    /// All there are have only been asked for: a task that relied on one of these could be stranded.
    pub(crate) fn is_all_starting(&self) -> bool {
        self.live() == 0
    }

    /// Of those that are known to run: nobody may rely on the others.
    pub(crate) fn has_surplus(&self) -> bool {
        self.live() > self.max()
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        self.keep_alive
    }

    /// Whether an idle worker leaves after the keep-alive time.
    pub(crate) fn is_timed(&self) -> bool {
        self.core_timeout || self.workers > self.core()
    }

    /// After failures, whether it is too early to start a thread again. With nobody alive it never is: the answer then
    /// decides whether the task is accepted.
    pub(crate) fn backs_off(&self, now: impl FnOnce() -> Tick) -> bool {
        self.starts.failed_in_a_row > 0 && self.live() > 0 && now() < self.starts.not_before
    }

    pub(crate) fn hire(&mut self) {
        self.hired += 1;
        self.workers += 1;
        self.starting += 1;
        self.unbegun += 1;
        self.fresh += 1;
    }

    /// A worker is there, and about to come for its first task. Like all that raises [`Crew::live`] or lowers [`Crew::max`] this
    /// may leave a surplus: [`Engine::bar_takers`](super::engine::Engine::bar_takers) is to follow then.
    pub(crate) fn begin(&mut self) {
        self.unbegun -= 1;
    }

    pub(crate) fn started(&mut self) {
        self.starting -= 1;
        self.starts.made += 1;
        // Those that were started may have left before their starters say so: in a pool that is closed meanwhile all of them.
        let live = self.workers.saturating_sub(self.starting);
        let reasons = &mut self.starts.by_reason;
        *(if live <= self.size.core {
            &mut reasons.core
        } else if live <= self.size.max {
            &mut reasons.burst
        } else {
            &mut reasons.spare
        }) += 1;
        self.starts.failed_in_a_row = 0;
        self.note_largest();
    }

    pub(crate) fn start_failed(&mut self, now: Tick) {
        self.workers -= 1;
        self.starting -= 1;
        self.unbegun -= 1;
        self.fresh -= 1;
        let doublings = self.starts.failed_in_a_row.min(DOUBLINGS);
        self.starts.failed_in_a_row += 1;
        self.starts.failed += 1;
        self.starts.not_before = deadline_after(now, FIRST_BACK_OFF * (1 << doublings)).unwrap_or(Tick::MAX);
    }

    pub(crate) fn warm(&mut self) {
        self.fresh -= 1;
    }

    /// A worker is no longer counted on, and leaves for this reason.
    pub(crate) fn leave(&mut self, departure: Departure) {
        self.workers -= 1;
        let counter = match departure {
            Departure::Closed => &mut self.stops.closed,
            Departure::Idle => &mut self.stops.idle,
            Departure::Surplus => &mut self.stops.surplus,
        };
        *counter += 1;
    }

    /// A worker sleeps longer than its time because somebody relies on it.
    pub(crate) fn put_off(&mut self) {
        self.is_put_off = true;
    }

    /// Whether somebody must be told that nobody relies on him any more.
    pub(crate) fn take_put_off(&mut self) -> bool {
        std::mem::take(&mut self.is_put_off)
    }

    fn note_largest(&mut self) {
        self.largest = self.largest.max(self.live());
        self.largest_since_resize = self.largest_since_resize.max(self.live());
    }

    pub(crate) fn resized(&mut self, size: Size) -> Size {
        let old = std::mem::replace(&mut self.size, size);
        self.largest_since_resize = self.live();
        old
    }

    /// One thread less from now on, for a task that blocks elsewhere. False: it would be the last.
    pub(crate) fn cede(&mut self) -> bool {
        let is_enough = self.given_up + 1 < self.size.max;
        self.given_up += usize::from(is_enough);
        is_enough
    }

    pub(crate) fn has_given_up(&self) -> bool {
        self.given_up > 0
    }

    /// That task goes on.
    pub(crate) fn reclaim(&mut self) {
        self.given_up -= 1;
    }

    /// Threads that were given up and are no longer there.
    pub(crate) fn ceded(&self) -> usize {
        let most = self.size.max + self.standing_in;
        self.given_up.min(most.saturating_sub(self.workers))
    }

    /// How many threads others have given up for this crew; the number from before.
    pub(crate) fn set_gained(&mut self, gained: usize) -> usize {
        std::mem::replace(&mut self.gained, gained)
    }

    /// A worker's task begins to wait.
    pub(crate) fn block(&mut self) {
        self.blocked += 1;
        self.stand_in();
    }

    /// The wait is over. Says whether a spare is to be had again.
    pub(crate) fn unblock(&mut self) -> bool {
        self.blocked -= 1;
        self.step_back()
    }

    /// How many workers there ever were, started or not.
    pub(crate) fn hired(&self) -> u64 {
        self.hired
    }

    /// Whether the system refused the last thread.
    pub(crate) fn is_refused(&self) -> bool {
        self.starts.failed_in_a_row > 0
    }

    pub(crate) fn read(&self) -> CrewReading {
        CrewReading {
            size: self.size,
            threads: self.live(),
            spare: self
                .live()
                .saturating_sub(self.size.max)
                .min(self.standing_in + self.gained),
            largest: self.largest,
            largest_since_resize: self.largest_since_resize,
            starts: self.starts.made,
            starts_by_reason: self.starts.by_reason,
            failed_starts: self.starts.failed,
            stops: self.stops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crew(core: usize, max: usize, spare: usize) -> Crew {
        let mut crew = Crew::new(
            Size { core, max },
            Growth::QueueFirst,
            Duration::ZERO,
            false,
            Arc::new(Spares::new(spare)),
        );
        for _ in 0..core {
            crew.hire();
            crew.started();
        }
        crew
    }

    #[test]
    fn a_blocked_worker_makes_room_for_one_spare() {
        let mut crew = crew(2, 2, 1);
        crew.fresh = 0;
        assert!(!crew.is_short(1, 0));
        crew.block();
        assert!(crew.is_short(0, 0), "a spare may stand in");
        assert!(!crew.is_short(0, 1), "but somebody is free");
        assert!(crew.is_short(1, 1), "and has something to do");
        crew.hire();
        crew.started();
        crew.block();
        assert!(!crew.is_short(9, 0), "there is only one");
        assert!(!crew.unblock(), "the other one still needs it");
        assert!(crew.unblock());
        assert!(crew.has_surplus(), "and it is sent home");
    }

    #[test]
    fn whoever_left_before_its_start_was_told_of_is_counted_all_the_same() {
        let mut crew = crew(0, 2, 0);
        for _ in 0..2 {
            crew.hire();
        }
        for _ in 0..2 {
            crew.begin();
            crew.warm();
            crew.leave(Departure::Closed);
        }
        for _ in 0..2 {
            crew.started();
        }
        let reading = crew.read();
        assert_eq!((reading.starts, reading.threads), (2, 0));
    }

    #[test]
    fn the_back_off_doubles_up_to_a_second_and_ends_with_a_success() {
        let mut crew = crew(1, 2, 0);
        let mut last = 0;
        for _ in 0..20 {
            crew.hire();
            crew.start_failed(0);
            last = crew.starts.not_before;
            assert!(crew.backs_off(|| last - 1));
        }
        assert_eq!(last, 1_024_000_000);
        assert!(!crew.backs_off(|| last));
        crew.hire();
        crew.started();
        assert!(!crew.backs_off(|| 0));
    }
}
