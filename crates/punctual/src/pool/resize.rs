//! Changing a pool while it runs: its size, its patience, its room, whether it takes tasks at all.
//!
//! In: new settings. Out: all of them in force at once, or an error and nothing changed. Each change is made under the
//! producers' lock, beside the facts it is about; then whoever it concerns is told: workers that may have to leave,
//! tasks that wait for a worker, submissions that wait for room.

use super::crew::{Crew, Growth};
use super::engine::{Attention, Engine};
use super::reject::Reject;
use super::state::State;
use super::{MAX_THREADS, Size};
use crate::queue::Capacity;
use crate::queue::producers::Producers;
use crate::sync::Arc;
use crate::sync::unmodelled::Relaxed;
use crate::task::contain;
use crate::{ConfigError, Reason};
use std::time::Duration;

impl Size {
    /// A core and a max that a pool may have.
    pub(super) fn checked(core: usize, max: usize) -> Result<Size, ConfigError> {
        if max == 0 {
            return Err(ConfigError::new(
                "max_threads",
                0,
                "a pool needs at least one thread",
                "set max_threads to 1 or more",
            ));
        }
        if max > MAX_THREADS {
            return Err(ConfigError::new(
                "max_threads",
                max,
                format!("a pool has at most {MAX_THREADS} threads"),
                "set a smaller number; more tasks than threads can wait in the queue",
            ));
        }
        if core > max {
            return Err(ConfigError::new(
                "core_threads",
                core,
                format!("core_threads is at most max_threads, which is {max}"),
                "raise max_threads or lower core_threads",
            ));
        }
        Ok(Size { core, max })
    }

    /// Threads beyond core start when the queue is full; an unbounded one never is.
    pub(super) fn check_reachable(self, capacity: Capacity, growth: Growth) -> Result<(), ConfigError> {
        if self.max > self.core.max(1) && capacity == Capacity::Unbounded && growth == Growth::QueueFirst {
            return Err(ConfigError::new(
                "max_threads",
                self.max,
                format!(
                    "with an unbounded queue no more than core_threads ({}) would ever start",
                    self.core.max(1)
                ),
                "raise core_threads, bound the queue, or use Growth::ThreadsFirst",
            ));
        }
        Ok(())
    }

    pub(super) fn to_bits(self) -> u64 {
        (self.core as u64) << 32 | self.max as u64
    }

    fn from_bits(bits: u64) -> Self {
        Size {
            core: (bits >> 32) as usize,
            max: (bits & u64::from(u32::MAX)) as usize,
        }
    }
}

/// Idle threads that time out at once would never do any work between two tasks.
pub(super) fn check_keep_alive(keep_alive: Duration, core_timeout: bool) -> Result<(), ConfigError> {
    if core_timeout && keep_alive.is_zero() {
        return Err(ConfigError::new(
            "keep_alive",
            "0s",
            "core threads that time out need a keep-alive time above zero",
            "set keep_alive first, or leave core_timeout off",
        ));
    }
    Ok(())
}

impl Engine {
    /// The configured threads; reads no lock.
    pub(crate) fn size(&self) -> Size {
        Size::from_bits(self.size.load(Relaxed))
    }

    pub(super) fn check_here(&self) -> Result<(), ConfigError> {
        if self.is_forked() {
            return Err(ConfigError::new(
                "pool",
                format!("{:?}", self.name),
                "this process was forked from the one that made the pool, and has none of its threads",
                "make a new pool in the child",
            ));
        }
        Ok(())
    }

    /// Makes a change under both locks of the room, and keeps workers from taking while there are more of them than there may be:
    /// nothing is taken after this before so many have left. (Each looks whether it is one too many before it takes: `Worker::may_take`.)
    /// The one place in which that is decided.
    pub(crate) fn bar_takers<R>(&self, change: impl FnOnce(&mut Producers<Crew>) -> R) -> R {
        let (answer, has_surplus) = self.room.attend(|producers| {
            let answer = change(producers);
            let has_surplus = producers.gate.has_surplus();
            producers.bar(has_surplus);
            self.timers.due.attend(|due| due.bar(has_surplus));
            self.attention.set(Attention::SURPLUS, has_surplus);
            (answer, has_surplus)
        });
        if has_surplus {
            self.room.settle();
            // If all others are idle, one of them is the one too many.
            self.idle.notify();
        }
        answer
    }

    /// Changes settings under the producers' lock.
    fn change<R>(
        &self,
        f: impl FnOnce(&mut Producers<Crew>) -> Result<R, ConfigError>,
    ) -> Result<R, ConfigError> {
        self.check_here()?;
        self.bar_takers(|producers| {
            let answer = f(producers)?;
            producers.shut();
            Ok(answer)
        })
    }

    /// Both sizes at once; gives the old ones.
    pub(crate) fn resize(self: &Arc<Self>, core: usize, max: usize) -> Result<Size, ConfigError> {
        let new = self.check_resize(core, max)?;
        let old = self.change(|producers| {
            new.check_reachable(producers.capacity(), producers.gate.growth)?;
            self.size.store(new.to_bits(), Relaxed);
            Ok(producers.gate.resized(new))
        })?;
        if let Some(recording) = &self.recording {
            recording.resized(self.clock.tick(), old, new);
        }
        if new.core < old.core || new.max < old.max {
            self.idle.wake_all();
        }
        self.staff_up(false);
        self.offer_room();
        self.look_after_waits();
        Ok(old)
    }

    /// What can be said without a look at the pool as it is.
    pub(super) fn check_resize(&self, core: usize, max: usize) -> Result<Size, ConfigError> {
        if let Some(reason) = self.config.sealed {
            return Err(ConfigError::new(
                "core_threads, max_threads",
                format!("{core}, {max}"),
                reason,
                "build a pool with Pool::builder if it is to change its size",
            ));
        }
        Size::checked(core, max)
    }

    pub(crate) fn set_keep_alive(&self, keep_alive: Duration) -> Result<(), ConfigError> {
        self.change(|producers| {
            check_keep_alive(keep_alive, producers.gate.core_timeout)?;
            producers.gate.keep_alive = keep_alive;
            Ok(())
        })?;
        // Those who sleep with the old time in mind look again.
        self.idle.wake_all();
        for annex in self.annexes.all() {
            annex.set_keep_alive(self.keep_alive_of_annexes())?;
        }
        Ok(())
    }

    pub(crate) fn set_core_timeout(&self, on: bool) -> Result<(), ConfigError> {
        self.change(|producers| {
            check_keep_alive(producers.gate.keep_alive, on)?;
            producers.gate.core_timeout = on;
            self.core_leaves.store(on, Relaxed);
            Ok(())
        })?;
        self.idle.wake_all();
        Ok(())
    }

    pub(crate) fn set_capacity(&self, capacity: Capacity) -> Result<(), ConfigError> {
        self.change(|producers| {
            let crew = &producers.gate;
            crew.size.check_reachable(capacity, crew.growth)?;
            producers.set_capacity(capacity);
            Ok(())
        })?;
        self.offer_room();
        Ok(())
    }

    pub(crate) fn set_reject(&self, reject: Reject) {
        if !self.is_forked() {
            let old = std::mem::replace(&mut *self.reject.lock(), reject);
            // Outside the lock: a rule of the user's own has a drop of its own.
            contain(|| drop(old));
        }
    }

    pub(crate) fn reject(&self) -> Reject {
        if self.is_forked() {
            return Reject::default();
        }
        self.reject.lock().clone()
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        if self.is_forked() {
            return self.config.keep_alive;
        }
        self.room.producers().gate.keep_alive
    }

    pub(crate) fn core_timeout(&self) -> bool {
        if self.is_forked() {
            return self.config.core_timeout;
        }
        self.room.producers().gate.core_timeout
    }

    pub(crate) fn pause(&self) {
        if !self.is_forked() && self.pause_all(true).is_some() {
            self.clock.hint();
        }
    }

    pub(crate) fn resume(self: &Arc<Self>) {
        if !self.is_forked()
            && let Some(annexes) = self.pause_all(false)
        {
            self.take_up_work();
            for annex in annexes {
                annex.take_up_work();
            }
        }
    }

    /// From now on nothing is taken, or everything again; says whether it changed. Both rooms in one section: of a pause
    /// and a resume at once, the later one counts for both.
    pub(super) fn set_paused(&self, paused: bool) -> bool {
        self.room.set_paused(paused, || {
            self.timers.due.set_paused(paused, || ());
        })
    }

    /// It is not paused any more.
    fn take_up_work(self: &Arc<Self>) {
        self.attention.set(Attention::DUE, true);
        self.room.look(|producers, _| producers.gate.take_put_off());
        self.idle.wake_all();
        self.staff_up(false);
        self.serve_line();
    }

    /// Starts one core thread, if one is missing. False: none is, or it could not be started.
    pub(crate) fn prestart_one(self: &Arc<Self>) -> bool {
        self.hire_if(|producers, _| producers.gate.workers() < producers.gate.size.core) == Hired::Started
    }
}

/// Answer of [`Engine::hire_if`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hired {
    Started,
    Failed,
    NotWanted,
}

impl Engine {
    /// Starts a worker if `wants` says so under the producers' lock. The number is that of tasks that wait and for which
    /// nobody is free.
    pub(super) fn hire_if(self: &Arc<Self>, wants: impl FnOnce(&Producers<Crew>, u64) -> bool) -> Hired {
        let hired = self.hire_untold_if(wants);
        if hired == Hired::Failed {
            self.tell_waits();
        }
        hired
    }

    /// The same for a caller that looks after the waits itself: those that counted on the worker are not told if it cannot start.
    fn hire_untold_if(self: &Arc<Self>, wants: impl FnOnce(&Producers<Crew>, u64) -> bool) -> Hired {
        if self.is_forked() {
            return Hired::NotWanted;
        }
        {
            let mut producers = self.room.producers();
            // A closed pool still needs hands while it has tasks; once its last worker has left it is over.
            let is_over = producers.is_closed() && producers.gate.workers() == 0 && self.timers.looks_over();
            if is_over || self.state() >= State::Tidying {
                return Hired::NotWanted;
            }
            let hands = producers.gate.fresh() + self.idle.read().idle() as u64;
            let queued = producers.held(&self.room) + producers.woken_waiting(&self.room);
            // What a worker keeps waits for it, unless there is another.
            let waiting = queued + self.room.glance_at_yields() + self.timers.due.glance().1;
            let unserved = waiting.saturating_sub(hands);
            if !wants(&producers, unserved) {
                return Hired::NotWanted;
            }
            producers.gate.hire();
            producers.shut();
            let _ = self.run_state.hire();
        }
        let is_started = self.start_hired();
        // Those in line could not count on a worker that was only being started.
        self.serve_line();
        if is_started { Hired::Started } else { Hired::Failed }
    }

    /// Whether all core threads are there, one of them is free, and none of them will leave. False also if that is not
    /// seen at a glance.
    pub(super) fn has_one_to_stay(&self) -> bool {
        let core = self.size().core;
        let reading = self.run_state.read();
        if reading.state() >= State::Shutdown {
            return false;
        }
        let workers = reading.workers().saturating_sub(self.keepers());
        core > 0 && workers == core && !self.core_leaves.load(Relaxed) && self.idle.read().idle() > 0
    }

    /// How many workers may be started while nobody is free, without a lock.
    pub(super) fn ceiling(&self) -> usize {
        match self.config.growth {
            Growth::QueueFirst => self.size().core,
            Growth::ThreadsFirst => self.size().max,
        }
    }

    /// Tasks have come due: where threads come first, each gets one.
    pub(super) fn start_for_due(&self) {
        if self.config.growth == Growth::ThreadsFirst
            && let Some(me) = self.me.upgrade()
        {
            me.call_another();
        }
    }

    /// Whether there are more tasks than workers. Exact: a worker that has ended its task counts as free, also before it
    /// says so.
    fn is_short_of_hands(&self, producers: &Producers<Crew>) -> bool {
        let kept = producers.kept(&self.room) + self.timers.due.kept();
        kept.saturating_sub(self.ended_tasks()) > producers.gate.workers() as u64
    }

    /// A worker that was free has taken a task, and more wait: whoever brought them may have counted on it instead of
    /// starting one of those that come beyond core.
    pub(crate) fn call_another(self: &Arc<Self>) {
        let wants = |producers: &Producers<Crew>, _| {
            let crew = &producers.gate;
            let may_start = crew.workers() < crew.ceiling() && crew.ceiling() > crew.size.core.max(1);
            may_start && !crew.backs_off(|| self.clock.tick()) && self.is_short_of_hands(producers)
        };
        while self.hire_if(wants) == Hired::Started {}
    }

    /// As a submission does: starts a core thread if one is missing. `Err`: nobody is alive.
    pub(crate) fn ensure_worker(self: &Arc<Self>) -> Result<(), Reason> {
        loop {
            let mut is_all_starting = false;
            let mut is_alone = true;
            let hired = self.hire_if(|producers, _| {
                let crew = &producers.gate;
                is_alone = crew.workers() == 0;
                is_all_starting = crew.is_all_starting() && !is_alone;
                // Where threads come first somebody is there for the clock while others are at work.
                let is_short = crew.workers() < crew.wanted()
                    || (crew.workers() < crew.ceiling()
                        && self.idle.read().idle() == 0
                        && self.needs_successor());
                is_short && (is_alone || !crew.backs_off(|| self.clock.tick()))
            });
            match hired {
                Hired::Failed if is_alone => return Err(Reason::NoThread),
                Hired::NotWanted if is_all_starting => crate::sync::yield_now(),
                _ => return Ok(()),
            }
        }
    }

    /// Starts the thread of a worker that was hired. False: the system refused, and the crew has been told.
    pub(super) fn start_hired(self: &Arc<Self>) -> bool {
        let started = self.start_worker();
        let has_surplus = {
            let mut producers = self.room.producers();
            producers.shut();
            if started {
                producers.gate.started();
            } else {
                producers.gate.start_failed(self.clock.tick());
                let _ = self.run_state.leave();
            }
            self.attention.set(Attention::RETRY, !started);
            producers.gate.has_surplus()
        };
        if has_surplus {
            // The pool was made smaller meanwhile.
            self.bar_takers(|_| ());
        }
        if !started {
            self.try_terminate();
        }
        started
    }

    /// Starts workers while tasks wait, nobody is free and the size allows it: after a resize, after a start that
    /// failed, and when a worker's task begins to wait.
    /// `urgent`: also shortly after a start that failed; the caller looks after the waits that counted on it
    /// ([`Engine::tell_waits`]), because its own may be one of them.
    /// Says whether it did.
    pub(crate) fn staff_up(self: &Arc<Self>, urgent: bool) -> bool {
        let mut is_started = false;
        loop {
            let hired = self.hire_untold_if(|producers, unserved| {
                let crew = &producers.gate;
                // Somebody must also be there to watch the clock.
                let is_unled = self.idle.read().idle() == 0 && self.needs_successor();
                let is_unserved =
                    unserved > 0 && (crew.workers() < crew.wanted() || self.is_short_of_hands(producers));
                let is_wanted = crew.workers() < crew.ceiling() && (is_unserved || is_unled);
                if !is_wanted {
                    self.attention.set(Attention::RETRY, false);
                }
                is_wanted && (urgent || !crew.backs_off(|| self.clock.tick()))
            });
            if hired == Hired::Failed && !urgent {
                self.tell_waits();
            }
            if hired != Hired::Started {
                return is_started;
            }
            is_started = true;
        }
    }
}
