//! The engine: everything a pool shares between its owners, its workers and its tasks.
//!
//! In: a checked [`Config`]. Out: one [`Engine`] behind an `Arc`. Who holds it: owners ([`Pool`](crate::Pool),
//! [`Executor`](crate::Executor)) and workers; and the engine itself, until it has terminated, so that a task that is
//! still unsettled always finds it. Handles, tasks and weak executors do not hold it. What it does is in the files
//! beside this one: admission, staff, life.

use super::builder::Config;
use super::fork;
use super::owner::Owner;
use super::staff::Staff;
use super::state::{RunState, State};
use crate::observe::{LevelStats, Recorder, RejectCounts, Stats};
use crate::queue::Room;
use crate::sync::atomic::AtomicUsize;
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use crate::sync::{Arc, Lock, ThreadId, WaitWord, Weak};
use crate::task::home::{Home, HomeRef};
use crate::task::hooks::Hooks;
use crate::task::state::End;
use crate::task::{Class, Outcome, TaskInfo, recycle};
use crate::time::{Attached, Clock};
use crate::worker::idle::Idle;
use std::fmt;
use std::time::Duration;

/// See the module's header.
pub(crate) struct Engine {
    pub(crate) name: Arc<str>,
    pub(crate) room: Room<Crew>,
    pub(crate) idle: Idle,
    pub(crate) clock: Clock,
    pub(crate) config: Config,
    pub(crate) hooks: Arc<Hooks>,
    /// Whether each task is described to hooks, or to a manual clock that may have to name it.
    pub(crate) watched: bool,
    pub(crate) run_state: RunState,
    pub(super) staff: Lock<Staff>,
    pub(super) life: Life,
    pub(crate) home: HomeRef,
    pub(crate) observed: Observed,
    pub(crate) generation: u16,
    /// For `task::current_executor`.
    pub(crate) owner: Weak<Owner>,
}

/// What the pool keeps under the producers' lock: whether a submission must start a worker first.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) core: usize,
    /// Alive, or being started.
    pub(crate) workers: usize,
    /// Being started: nobody may count on these yet.
    pub(crate) starting: usize,
}

/// The end of a pool, and those who wait for it or for quiet.
pub(super) struct Life {
    /// Counts the moments at which a waiter should look again.
    pub(super) moments: WaitWord,
    /// Threads that wait for the pool to be idle: workers about to sleep look here.
    pub(super) idle_watchers: AtomicUsize,
    /// Taken out by whoever ends the pool, and run without the lock.
    pub(super) on_terminated: Lock<Option<Box<dyn FnOnce() + Send>>>,
    /// Who runs that hook now: it ends the pool after it, so it must not wait for the end inside it.
    pub(super) tidying: Lock<Option<ThreadId>>,
    /// The engine's hold on itself.
    pub(super) anchor: Lock<Option<Arc<Engine>>>,
}

/// Counts that are not the workers'.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) wait: Recorder,
    pub(crate) run: Recorder,
    pub(crate) rejected_full: AtomicU64,
    pub(crate) rejected_shutdown: AtomicU64,
    pub(crate) rejected_no_thread: AtomicU64,
}

impl Engine {
    pub(super) fn start(
        config: Config,
        hooks: Hooks,
        on_terminated: Option<Box<dyn FnOnce() + Send>>,
    ) -> Arc<Owner> {
        fork::watch();
        Arc::new_cyclic(|owner: &Weak<Owner>| {
            let engine = Arc::new_cyclic(|me: &Weak<Engine>| {
                let clock = config.clock.clone();
                Engine {
                    name: config.name.clone(),
                    room: Room::new(
                        config.queue.capacity(),
                        Crew {
                            core: config.size.core,
                            workers: 0,
                            starting: 0,
                        },
                    ),
                    idle: Idle::new(),
                    watched: hooks.watch_tasks() || clock.is_manual(),
                    clock,
                    hooks: Arc::new(hooks),
                    run_state: RunState::new(),
                    staff: Lock::new(Staff::default()),
                    life: Life {
                        moments: WaitWord::new(0),
                        idle_watchers: AtomicUsize::new(0),
                        on_terminated: Lock::new(on_terminated),
                        tidying: Lock::new(None),
                        anchor: Lock::new(None),
                    },
                    home: HomeRef::new(me.clone()),
                    observed: Observed {
                        wait: Recorder::new(),
                        run: Recorder::new(),
                        rejected_full: AtomicU64::new(0),
                        rejected_shutdown: AtomicU64::new(0),
                        rejected_no_thread: AtomicU64::new(0),
                    },
                    generation: fork::generation(),
                    owner: owner.clone(),
                    config,
                }
            });
            *engine.life.anchor.lock() = Some(engine.clone());
            let attached: Weak<Engine> = Arc::downgrade(&engine);
            engine.clock.attach(attached.clone());
            if !engine.clock.is_manual() {
                recycle::register(attached);
            }
            Owner::new(engine)
        })
    }

    /// Whether this process is a fork of the one that made the pool.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != fork::generation()
    }

    /// Tells one engine from another.
    pub(crate) fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(crate) fn state(&self) -> State {
        self.run_state.read().state()
    }

    pub(crate) fn stats(&self) -> Stats {
        if self.is_forked() {
            // Whoever held a lock when the process was copied holds it here for ever: none is taken.
            return Stats::of_nothing(self.state(), self.config.size, self.config.queue.capacity());
        }
        let now = self.clock.tick();
        // Inside the consumers' lock no task is taken, so what has ended is part of what was taken.
        let (tally, staff) = self.room.tally(|| self.staff.lock().read());
        let active = tally.taken - staff.totals.ended();
        let wait = self.observed.wait.snapshot();
        let queued = tally.waiting() as usize;
        let oldest_wait = self.room.oldest().filter(|_| queued > 0);
        let oldest_wait = oldest_wait.map(|arrived| Duration::from_nanos(now.saturating_sub(arrived)));
        Stats {
            state: self.state(),
            size: self.config.size,
            threads: staff.threads,
            active: active as usize,
            idle: staff.threads.saturating_sub(active as usize),
            largest: staff.largest,
            queued,
            capacity: tally.capacity,
            oldest_wait,
            submitted: tally.pushed,
            taken: tally.taken,
            finished: staff.totals.finished(),
            panicked: staff.totals.panicked,
            cancelled: tally.cancelled + staff.totals.signalled(),
            expired: 0,
            evicted: 0,
            returned: tally.returned,
            rejected: RejectCounts {
                full: self.observed.rejected_full.load(Relaxed),
                shutdown: self.observed.rejected_shutdown.load(Relaxed),
                no_thread: self.observed.rejected_no_thread.load(Relaxed),
            },
            threads_started: staff.started,
            threads_stopped: staff.stopped,
            parks: staff.totals.parks,
            hook_panics: self.hooks.panics.load(Relaxed),
            wait: wait.clone(),
            run: self.observed.run.snapshot(),
            levels: vec![LevelStats {
                queued,
                oldest_wait,
                taken: tally.taken,
                wait,
            }],
        }
    }
}

impl Home for Engine {
    fn remove(&self, _class: Class, end: End) {
        if self.room.remove(end) {
            self.room.sweep();
        }
    }

    fn is_told_of_ends(&self) -> bool {
        self.hooks.after.is_some()
    }

    fn tell_removed(&self, task: &TaskInfo<'_>) {
        self.hooks.after(task, Outcome::Cancelled);
    }

    fn removed(&self) {
        self.task_removed();
    }

    fn is_stopping(&self) -> bool {
        self.state() >= State::Stop
    }
}

impl Attached for Engine {
    fn identity(&self) -> usize {
        Engine::identity(self)
    }

    fn unparked(&self) -> usize {
        // Sleepers first: one that gets up between the two readings counts as unparked.
        let sleepers = self.idle.read().sleepers();
        let reading = self.run_state.read();
        // A worker that lies down is asleep before its last look at the queue, which may get it up again.
        let stirring = usize::from(sleepers > 0 && !self.room.looks_empty());
        // The last worker of a closed pool has left, and ends the pool after that.
        let is_ending = (State::Shutdown..State::Terminated).contains(&reading.state());
        let ending = usize::from(is_ending && reading.workers() == 0);
        reading.workers().saturating_sub(sleepers) + stirring + ending
    }

    fn running(&self) -> Vec<String> {
        self.staff.lock().labels()
    }
}

impl recycle::Janitor for Engine {
    fn rouse(&self) -> bool {
        !self.is_forked() && self.idle.notify()
    }
}

/// The whole pool in one line, without ever waiting for a lock.
impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (submitted, queued) = self.room.glance();
        let reading = self.run_state.read();
        write!(
            f,
            "Pool({:?}, {:?}, {} of {} threads, {:?}, {queued} queued, {submitted} submitted)",
            self.name,
            reading.state(),
            reading.workers(),
            self.config.size.max,
            self.idle.read(),
        )
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The blocks of a pool that is gone have no worker left to trim them.
        if recycle::excess().is_some() {
            recycle::trim();
        }
    }
}
