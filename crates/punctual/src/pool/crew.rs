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
//! in, and sends one home when the wait is over.

use super::Size;
use super::line::Waiter;
use crate::queue::room::Gate;
use crate::sync::{Arc, Lock};
use crate::task::Token;
use crate::time::{Tick, deadline_after};
use std::collections::{HashSet, VecDeque};
use std::fmt;
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
    pub(super) spare_threads: usize,
    /// Alive, or being started.
    workers: usize,
    /// Being started: nobody may count on these yet.
    starting: usize,
    /// Hired, and have not looked into the queue yet.
    fresh: usize,
    /// Workers whose task waits inside the library.
    blocked: usize,
    /// Those among them that wait, without a limit, for a task of this pool.
    waits: Vec<WaitNote>,
    largest: usize,
    largest_since_resize: usize,
    /// A worker sleeps without a limit although idle workers leave: somebody relied on it.
    is_put_off: bool,
    /// Submissions that wait for room, in order.
    pub(super) line: VecDeque<Arc<Waiter>>,
    starts: Starts,
}

/// A worker's wait, without a limit, for tasks of its own pool.
#[derive(Debug)]
pub(crate) struct WaitNote {
    /// Tells one note from another.
    pub(crate) number: usize,
    /// The tasks, by address, that the waiting thread is in the middle of.
    pub(crate) running: Vec<usize>,
    pub(crate) awaits: Awaits,
    /// Whether the wait goes on: nothing has happened yet that ends it. Called under the producers' lock, under which
    /// the note is taken out before what this looks at may go.
    pub(crate) goes_on: GoesOn,
    /// Fired when nobody could ever end the wait; `None` for one that must be waited all the same.
    pub(crate) alarm: Option<Token>,
}

/// What a worker waits for, by address.
#[derive(Debug)]
pub(crate) enum Awaits {
    /// Any one of these.
    OneOf(Vec<usize>),
    /// All of these, of which some may end meanwhile.
    All(Arc<Lock<HashSet<usize>>>),
    /// Tasks that are not known here.
    Unknown,
}

impl Awaits {
    /// Whether none of it can come as long as the tasks for which `never_ends` holds do not end.
    fn is_hopeless(&self, never_ends: impl Fn(&usize) -> bool) -> bool {
        match self {
            Awaits::OneOf(tasks) => !tasks.is_empty() && tasks.iter().all(never_ends),
            Awaits::All(tasks) => tasks.lock().iter().any(never_ends),
            Awaits::Unknown => false,
        }
    }
}

/// See [`WaitNote::goes_on`].
pub(crate) struct GoesOn(pub(crate) Box<dyn Fn() -> bool + Send>);

impl fmt::Debug for GoesOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", (self.0)())
    }
}

impl WaitNote {
    fn goes_on(&self) -> bool {
        (self.goes_on.0)()
    }
}

/// Nobody could ever end the wait.
#[derive(Debug)]
pub(crate) struct Stuck;

/// How starting threads went lately.
#[derive(Debug, Default)]
struct Starts {
    made: u64,
    failed: u64,
    failed_in_a_row: u32,
    not_before: Tick,
}

/// After a start that failed the next one is tried this much later, twice as much after the next failure, and so on.
const FIRST_BACK_OFF: Duration = Duration::from_millis(1);
const DOUBLINGS: u32 = 10;

impl Gate for Crew {
    fn is_waited_for(&self) -> bool {
        !self.line.is_empty()
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
    pub(crate) failed_starts: u64,
}

impl Crew {
    pub(crate) fn new(
        size: Size,
        growth: Growth,
        keep_alive: Duration,
        core_timeout: bool,
        spare: usize,
    ) -> Self {
        Crew {
            size,
            growth,
            keep_alive,
            core_timeout,
            spare_threads: spare,
            workers: 0,
            starting: 0,
            fresh: 0,
            blocked: 0,
            waits: Vec::new(),
            largest: 0,
            largest_since_resize: 0,
            is_put_off: false,
            line: VecDeque::new(),
            starts: Starts::default(),
        }
    }

    /// How many threads may stand in for blocked ones now.
    fn standing_in(&self) -> usize {
        self.blocked.min(self.spare_threads)
    }

    /// Workers that there should be while tasks wait.
    pub(crate) fn wanted(&self) -> usize {
        self.size.core.max(1) + self.standing_in()
    }

    /// Workers that stay.
    pub(crate) fn core(&self) -> usize {
        self.size.core + self.standing_in()
    }

    /// The most workers.
    pub(crate) fn max(&self) -> usize {
        self.size.max + self.standing_in()
    }

    /// Alive, or being started.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Workers that are known to run. (One may have left again before its starter could say that it had started.)
    pub(crate) fn live(&self) -> usize {
        self.workers.saturating_sub(self.starting)
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
        self.workers <= self.starting
    }

    /// Of those that are known to run: nobody may rely on the others.
    pub(crate) fn has_surplus(&self) -> bool {
        self.live() > self.max()
    }

    /// Whether there will be too many even when one has left.
    pub(crate) fn has_excess_beyond_one(&self) -> bool {
        self.live() > self.max() + 1
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
        self.workers += 1;
        self.starting += 1;
        self.fresh += 1;
    }

    pub(crate) fn started(&mut self) {
        self.starting -= 1;
        self.starts.made += 1;
        self.starts.failed_in_a_row = 0;
        self.note_largest();
    }

    pub(crate) fn start_failed(&mut self, now: Tick) {
        self.unhire();
        let doublings = self.starts.failed_in_a_row.min(DOUBLINGS);
        self.starts.failed_in_a_row += 1;
        self.starts.failed += 1;
        self.starts.not_before = deadline_after(now, FIRST_BACK_OFF * (1 << doublings)).unwrap_or(Tick::MAX);
    }

    /// A worker that was hired and will not be started after all.
    pub(crate) fn unhire(&mut self) {
        self.workers -= 1;
        self.starting -= 1;
        self.fresh -= 1;
    }

    pub(crate) fn warm(&mut self) {
        self.fresh -= 1;
    }

    pub(crate) fn leave(&mut self) {
        self.workers -= 1;
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

    /// A worker's task begins to wait. With a note: without a limit, for tasks of this pool. The answer is an alarm to be
    /// fired, if nobody could ever end that wait: the new note's own, or, if that one must wait all the same, that of
    /// another in the same trouble. `Err`: the wait is not begun.
    pub(crate) fn block(&mut self, note: Option<WaitNote>) -> Result<Option<Token>, Stuck> {
        self.blocked += 1;
        let Some(note) = note else { return Ok(None) };
        let must_wait = note.alarm.is_none();
        self.waits.push(note);
        let no_spare = self.workers >= self.size.max + self.standing_in();
        let alarm = self
            .hopeless_wait()
            .or_else(|| self.stuck_wait().filter(|_| no_spare));
        match alarm {
            None => Ok(None),
            Some(_) if !must_wait => {
                self.waits.pop();
                self.blocked -= 1;
                Err(Stuck)
            }
            // The new wait is part of it, or it would have been found before; somebody else must give up.
            Some(alarm) => Ok(alarm),
        }
    }

    /// The wait is over.
    pub(crate) fn unblock(&mut self, note: Option<usize>) {
        self.blocked -= 1;
        if let Some(number) = note {
            let index = self.waits.iter().position(|each| each.number == number);
            self.waits.swap_remove(index.expect("a wait that ends was noted"));
        }
    }

    /// Workers whose wait for a task of this pool goes on.
    fn waiting(&self) -> usize {
        self.waits.iter().filter(|each| each.goes_on()).count()
    }

    /// If every worker waits for a task of this pool, none will ever end: the alarm of one that can be called off.
    pub(crate) fn stuck_wait(&self) -> Option<Option<Token>> {
        (self.waiting() == self.workers).then(|| self.waits.iter().rev().find_map(|each| each.alarm.clone()))
    }

    /// Waits that can only be ended by each other, with the newest among them: the alarm of one that can be called off.
    ///
    /// Begins with all waits that go on as suspects, and acquits, until nothing changes, those that wait for something
    /// which does not depend on a suspect.
    fn hopeless_wait(&self) -> Option<Option<Token>> {
        let mut suspects: Vec<&WaitNote> = self.waits.iter().filter(|each| each.goes_on()).collect();
        loop {
            let before = suspects.len();
            let guilty: Vec<&WaitNote> = suspects
                .iter()
                .filter(|each| {
                    let never_ends = |task: &usize| suspects.iter().any(|other| other.running.contains(task));
                    each.awaits.is_hopeless(never_ends)
                })
                .copied()
                .collect();
            suspects = guilty;
            if suspects.len() == before {
                break;
            }
        }
        let newest = self.waits.last().map(|each| each.number);
        let is_concerned = suspects.iter().any(|each| Some(each.number) == newest);
        is_concerned.then(|| suspects.iter().rev().find_map(|each| each.alarm.clone()))
    }

    pub(crate) fn read(&self) -> CrewReading {
        CrewReading {
            size: self.size,
            threads: self.live(),
            spare: self.live().saturating_sub(self.size.max).min(self.standing_in()),
            largest: self.largest,
            largest_since_resize: self.largest_since_resize,
            starts: self.starts.made,
            failed_starts: self.starts.failed,
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
            spare,
        );
        for _ in 0..core {
            crew.hire();
            crew.started();
        }
        crew
    }

    /// A wait that goes on for ever, named after the task that waits.
    fn note(running: usize, target: usize) -> Option<WaitNote> {
        Some(WaitNote {
            number: running,
            running: vec![running],
            awaits: if target == 0 {
                Awaits::Unknown
            } else {
                Awaits::OneOf(vec![target])
            },
            goes_on: GoesOn(Box::new(|| true)),
            alarm: Some(Token::new()),
        })
    }

    #[test]
    fn a_circle_is_seen_by_whoever_would_close_it() {
        let mut crew = crew(4, 4, 4);
        assert!(crew.block(note(1, 2)).is_ok());
        assert!(crew.block(note(2, 3)).is_ok());
        assert!(crew.block(note(3, 1)).is_err(), "1 waits for 2, 2 for 3");
        assert!(crew.block(note(3, 4)).is_ok());
        crew.unblock(Some(2));
        assert!(crew.block(note(4, 1)).is_ok(), "2 goes on, so 1 will");
    }

    #[test]
    fn a_circle_leads_through_one_of_several_only_if_all_of_them_do() {
        let mut crew = crew(5, 5, 5);
        let mut group = note(1, 2).unwrap();
        group.awaits = Awaits::OneOf(vec![2, 3]);
        assert!(crew.block(Some(group)).is_ok());
        assert!(crew.block(note(2, 1)).is_ok(), "3 may end");
        assert!(crew.block(note(3, 1)).is_err(), "neither will");
    }

    #[test]
    fn a_wait_that_cannot_be_called_off_makes_another_give_up() {
        let mut crew = crew(3, 3, 3);
        let child = note(2, 1).unwrap();
        let alarm = child.alarm.clone().unwrap();
        assert!(crew.block(Some(child)).is_ok());
        let mut brace = note(1, 2).unwrap();
        brace.awaits = Awaits::All(Arc::new(Lock::new(HashSet::from([2, 9]))));
        brace.alarm = None;
        let told = crew
            .block(Some(brace))
            .unwrap()
            .expect("the child waits for its parent");
        assert!(told.is_same(&alarm));
    }

    #[test]
    fn the_last_worker_may_not_wait_when_no_spare_is_left() {
        let mut crew = crew(2, 2, 0);
        assert!(crew.block(note(1, 0)).is_ok());
        assert!(crew.block(note(2, 0)).is_err());
        assert!(crew.block(None).is_ok(), "a wait with a limit ends by itself");
    }

    #[test]
    fn a_blocked_worker_makes_room_for_one_spare() {
        let mut crew = crew(2, 2, 1);
        crew.fresh = 0;
        assert!(!crew.is_short(1, 0));
        assert!(crew.block(None).is_ok());
        assert!(crew.is_short(0, 0), "a spare may stand in");
        assert!(!crew.is_short(0, 1), "but somebody is free");
        assert!(crew.is_short(1, 1), "and has something to do");
        crew.hire();
        crew.started();
        assert!(crew.block(None).is_ok());
        assert!(!crew.is_short(9, 0), "there is only one");
        crew.unblock(None);
        crew.unblock(None);
        assert!(crew.has_surplus(), "and it is sent home");
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
