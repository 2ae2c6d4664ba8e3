//! The engine: everything a pool shares between its owners, its workers and its tasks.
//!
//! In: a checked [`Config`]. Out: one [`Engine`] behind an `Arc`. Who holds it: owners ([`Pool`](crate::Pool),
//! [`Executor`](crate::Executor)) and workers; and the engine itself, until it has terminated, so that a task that is
//! still unsettled always finds it. Handles, tasks and weak executors do not hold it. What it does is in the files
//! beside this one: admission, staff, life.

use super::annex::Annexes;
use super::builder::Config;
use super::crew::{Crew, CrewReading, Spares};
use super::fork;
use super::futures::Suspended;
use super::keys::Keys;
use super::life::Watchers;
use super::owner::Owner;
use super::refusals::Refusals;
use super::reject::{Reject, Rejections};
use super::repeating::Repeating;
use super::staff::{self, Staff};
use super::state::{RunState, State};
use super::timers::{self, Timers};
use crate::observe::counters::Totals;
use crate::observe::flight::{Flight, Recording};
use crate::observe::lately::Lately;
use crate::observe::named::ByName;
use crate::observe::split::Split;
use crate::observe::unbroken::Unbroken;
use crate::observe::{Explanation, LevelStats, Recorder, RunCounts, Stats};
use crate::queue::locals::Locals;
use crate::queue::{Discipline, LEVELS, LevelTally, Room, Tally, kind};
use crate::sync::atomic::AtomicUsize;
use crate::sync::unmodelled::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Relaxed};
use crate::sync::{Arc, Lock, ThreadId, WaitWord, Weak, asymmetric};
use crate::task::alarm::Alarm;
use crate::task::block::{Entry, Header, Origin, Reference};
use crate::task::home::{Destination, Forgotten, Home, HomeRef, Removal, Removed};
use crate::task::hooks::Hooks;
use crate::task::view::{Crowd, Leaving, View};
use crate::task::watch::Visible;
use crate::task::{Class, Outcome, TaskInfo, recycle};
use crate::time::{Attached, Clock, Tick};
use crate::worker::idle::Idle;
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::time::Duration;

/// See [`Engine::counts`].
pub(super) struct Counts {
    /// Of the queue alone.
    pub(super) queue: Tally,
    pub(super) timed: timers::Reading,
    staff: staff::Reading,
    pub(super) crew: CrewReading,
    /// Futures that workers keep: taken, and not at work.
    yielded: u64,
}

impl Counts {
    /// Tasks that run.
    pub(super) fn active(&self) -> usize {
        let tally = self.queue.with(&self.timed.due);
        (tally.taken + tally.joined + tally.resumed - self.staff.totals().left() - self.yielded) as usize
    }
}

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
    /// What a worker should look at before its next task; see [`Attention`].
    pub(crate) attention: Attention,
    pub(super) staff: Lock<Staff>,
    /// Of tasks that run on threads which are no workers of this pool.
    pub(crate) guests: Visible,
    pub(super) reject: Lock<Reject>,
    pub(super) rejections: Rejections,
    /// The last of them. (An annex's own stays empty.)
    pub(super) refusals: Refusals,
    /// Since when tasks have waited without a break, as far as somebody looked.
    unbroken: Unbroken,
    /// What each level got in the last minute, as far as somebody looked.
    pub(super) lately: Lately,
    /// Since when nothing has ended although all workers are busy, as far as somebody looked.
    pub(super) stall: Lock<Option<(u64, Tick)>>,
    /// Where events go, if they are kept.
    pub(crate) recording: Option<Recording>,
    /// Whether that is the only reason why a submission needs more than the common way.
    is_only_recorded: bool,
    pub(crate) timers: Timers,
    /// Views that have somebody in line.
    pub(crate) crowd: Crowd,
    /// Futures that may rest.
    pub(super) suspended: Suspended,
    /// Views by key.
    pub(crate) keys: Keys,
    /// Views that are listed in the statistics.
    pub(super) shown_views: Lock<Vec<Weak<View>>>,
    /// Delayed tasks that a shutdown dropped.
    pub(super) dropped_delayed: AtomicUsize,
    /// Schedules that a shutdown dropped.
    pub(super) dropped_repeating: AtomicUsize,
    /// Those that have not ended, by their number.
    pub(super) schedules: Lock<BTreeMap<u64, Arc<Repeating>>>,
    next_schedule: AtomicU64,
    pub(super) life: Life,
    pub(crate) home: HomeRef,
    pub(crate) observed: Observed,
    pub(crate) generation: u16,
    /// The generation in which a submission needs no more than the common way; none for a pool with decorators, with
    /// inherited priorities, with a recorder, or with a manual clock.
    plain_generation: u32,
    /// Mirror of the crew's size, core in the upper half.
    pub(super) size: AtomicU64,
    /// Mirror of whether core threads leave when they are idle.
    pub(super) core_leaves: AtomicBool,
    /// For whoever has only a reference and must start a worker.
    pub(super) me: Weak<Engine>,
    /// For `task::current_executor`.
    pub(crate) owner: Weak<Owner>,
    /// Of an annex: the pool under whose roof it is.
    pub(crate) root: Option<Arc<Engine>>,
    /// Of a pool.
    pub(super) annexes: Annexes,
}

/// The end of a pool, and those who wait for it or for quiet.
pub(super) struct Life {
    /// Counts the moments at which a waiter should look again.
    pub(super) moments: WaitWord,
    /// Threads that wait for the pool to be idle.
    pub(super) watchers: Lock<Watchers>,
    /// Mirror of how many there are: workers about to sleep look here.
    pub(super) idle_watchers: AtomicUsize,
    /// Threads of other parts of the pool that run a task of this one in place.
    pub(super) visitors: AtomicUsize,
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
    /// The same for each level.
    pub(crate) levels: Vec<Recorder>,
    pub(crate) run: Recorder,
    /// The same for each name. (An annex's own stays empty.)
    pub(crate) names: ByName,
    /// What those runs did with their time.
    pub(crate) split: Split,
    /// From a wake to the poll it asked for.
    pub(crate) wake: Recorder,
    pub(crate) lateness: Recorder,
    /// The niceness that the worker started last was granted; [`i64::MIN`]: none yet.
    pub(crate) nice: AtomicI64,
    /// Waits of tasks on workers that should not block.
    pub(crate) blocking_waits: AtomicU64,
    /// Runs of schedules that were taken, in the order of [`RunCounts`].
    pub(crate) runs: [AtomicU64; 4],
    /// Ticks of schedules.
    pub(crate) missed: AtomicU64,
    pub(crate) skipped: AtomicU64,
}

impl Observed {
    fn run_counts(&self, due: u64) -> RunCounts {
        let [fixed_rate, fixed_delay, cron, other] = self.runs.each_ref().map(|count| count.load(Relaxed));
        RunCounts {
            due,
            fixed_rate,
            fixed_delay,
            cron,
            other,
        }
    }
}

/// Hints for workers, written under the producers' lock and looked at before each task; what they mean is decided under
/// that lock again.
#[derive(Debug)]
pub(crate) struct Attention(AtomicU32);

impl Attention {
    /// Tasks whose time has come wait.
    pub(crate) const DUE: u32 = 4;
    /// Delayed tasks are pending and nobody sleeps until their time: look at the clock.
    pub(crate) const CLOCK: u32 = 8;
    /// There are more workers than there may be.
    pub(crate) const SURPLUS: u32 = 1;
    /// A thread could not be started; somebody should try again.
    pub(crate) const RETRY: u32 = 2;

    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    pub(crate) fn has(&self, bit: u32) -> bool {
        self.0.load(Relaxed) & bit != 0
    }

    pub(crate) fn set(&self, bit: u32, on: bool) {
        if on {
            self.0.fetch_or(bit, Relaxed);
        } else {
            self.0.fetch_and(!bit, Relaxed);
        }
    }
}

impl Engine {
    pub(super) fn start(
        mut config: Config,
        hooks: Hooks,
        on_terminated: Option<Box<dyn FnOnce() + Send>>,
    ) -> Arc<Owner> {
        fork::watch();
        asymmetric::prepare();
        // Not kept in two places: the rule may hold what its drop lets go.
        let reject = std::mem::take(&mut config.reject);
        let spares = Arc::new(Spares::new(config.spare_threads));
        Arc::new_cyclic(|owner: &Weak<Owner>| {
            let engine = Engine::make(config, Arc::new(hooks), spares, owner.clone(), None);
            *engine.reject.lock() = reject;
            *engine.life.on_terminated.lock() = on_terminated;
            Owner::new(engine)
        })
    }

    /// An engine that holds itself until it has terminated: a pool's, or, with a root, one of its annexes.
    pub(super) fn make(
        config: Config,
        hooks: Arc<Hooks>,
        spares: Arc<Spares>,
        owner: Weak<Owner>,
        root: Option<Arc<Engine>>,
    ) -> Arc<Engine> {
        let engine = Arc::new_cyclic(|me: &Weak<Engine>| {
            let clock = config.clock.clone();
            let levels = config
                .discipline
                .as_ref()
                .map_or(0, |discipline| discipline.levels);
            // A generation has sixteen bits: no process has the other one.
            let is_plain = hooks.decorators.is_empty()
                && !clock.is_manual()
                && !config.inherits_priority
                && config.foreign.is_none();
            let flight = match &root {
                Some(root) => root.recording.as_ref().map(|recording| recording.flight.clone()),
                None => config.recorder.map(|events| Flight::new(events, clock.tick())),
            };
            let recording = flight.map(|flight| flight.recording(&config.name));
            let plain_generation = if is_plain && recording.is_none() {
                u32::from(fork::generation())
            } else {
                u32::MAX
            };
            Engine {
                name: config.name.clone(),
                room: Room::with(
                    config.queue.capacity(),
                    config.discipline.as_ref(),
                    config.queue.steals(),
                    &clock,
                    Crew::new(
                        config.size,
                        config.growth,
                        config.keep_alive,
                        config.core_timeout,
                        spares,
                    ),
                ),
                idle: Idle::new(),
                watched: hooks.watch_tasks() || clock.is_manual(),
                hooks,
                run_state: RunState::new(),
                attention: Attention(AtomicU32::new(0)),
                staff: Lock::new(Staff::default()),
                guests: Visible::new(),
                reject: Lock::new(Reject::default()),
                rejections: Rejections::default(),
                refusals: Refusals::new(),
                stall: Lock::new(None),
                unbroken: Unbroken::default(),
                lately: Lately::default(),
                is_only_recorded: is_plain && recording.is_some(),
                recording,
                timers: Timers::new(&clock, &config),
                crowd: Crowd::new(),
                suspended: Suspended::new(),
                keys: Keys::new(),
                shown_views: Lock::new(Vec::new()),
                dropped_delayed: AtomicUsize::new(0),
                dropped_repeating: AtomicUsize::new(0),
                schedules: Lock::new(BTreeMap::new()),
                next_schedule: AtomicU64::new(1),
                life: Life {
                    moments: WaitWord::new(0),
                    watchers: Lock::new(Watchers::default()),
                    idle_watchers: AtomicUsize::new(0),
                    visitors: AtomicUsize::new(0),
                    on_terminated: Lock::new(None),
                    tidying: Lock::new(None),
                    anchor: Lock::new(None),
                },
                clock,
                home: HomeRef::new(me.clone()),
                me: me.clone(),
                observed: Observed {
                    wait: Recorder::new(),
                    levels: (0..levels).map(|_| Recorder::new()).collect(),
                    run: Recorder::new(),
                    names: ByName::new(levels),
                    split: Split::default(),
                    wake: Recorder::new(),
                    lateness: Recorder::new(),
                    nice: AtomicI64::new(i64::MIN),
                    blocking_waits: AtomicU64::new(0),
                    runs: Default::default(),
                    missed: AtomicU64::new(0),
                    skipped: AtomicU64::new(0),
                },
                generation: fork::generation(),
                plain_generation,
                size: AtomicU64::new(config.size.to_bits()),
                core_leaves: AtomicBool::new(config.core_timeout),
                owner,
                root,
                annexes: Annexes::new(),
                config,
            }
        });
        *engine.life.anchor.lock() = Some(engine.clone());
        let attached: Weak<Engine> = Arc::downgrade(&engine);
        engine.clock.attach(attached.clone());
        if !engine.clock.is_manual() {
            recycle::register(attached);
        }
        engine
    }

    /// Whether this process is a fork of the one that made the pool.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != fork::generation()
    }

    /// Whether a submission needs more than the common way: this process is a fork, tasks are decorated or inherit a
    /// priority, or waiters go by a manual clock. One comparison for all.
    #[inline]
    pub(crate) fn is_special(&self) -> bool {
        self.plain_generation != u32::from(fork::generation())
    }

    /// Whether a submission here needs no more than the common way, and a note.
    pub(crate) fn is_only_recorded(&self) -> bool {
        self.is_only_recorded && !self.is_forked()
    }

    /// See the field.
    pub(crate) fn plain_generation(&self) -> u32 {
        self.plain_generation
    }

    /// A task left the queue without being taken.
    pub(crate) fn remove_queued(&self, how: Removal, level: usize, is_aside: bool) {
        if is_aside {
            self.room.remove_aside(how, level);
            if self.room.waiting_aside() == 0 {
                self.stays_for_nothing();
            }
        } else if self.room.remove(how, level) {
            self.sweep();
        }
        self.permit_came_back();
    }

    /// Sweeps the dead entries out of the queue; what lies in deques goes to the shared one.
    fn sweep(&self) {
        if self.room.sweep_deques(&self.clock) {
            self.idle.notify();
        }
        self.room.sweep();
    }

    pub(super) fn next_schedule(&self) -> u64 {
        self.next_schedule.fetch_add(1, Relaxed)
    }

    /// Where a task made now belongs.
    #[inline]
    pub(crate) fn origin(&self, class: Class) -> Origin {
        Origin {
            class,
            fork: self.generation,
            home: &raw const self.home,
        }
    }

    /// Tells one engine from another.
    pub(crate) fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// That of the engine a task belongs to. The home is not followed: it may be gone with the task's end.
    pub(crate) fn identity_of_home(block: &Header) -> usize {
        match block.view() {
            Some(view) => view.home().identity(),
            None => block
                .home()
                .addr()
                .wrapping_sub(std::mem::offset_of!(Engine, home)),
        }
    }

    pub(crate) fn state(&self) -> State {
        self.run_state.read().state()
    }

    /// Running tasks that were found to be slow. A function of its own: the guard must be gone before another lock is taken.
    fn slow_tasks(&self) -> usize {
        let staff = self.staff.lock();
        staff.visible().map(Visible::slow).sum()
    }

    /// What waits, runs and has ended, at one moment.
    pub(super) fn counts(&self) -> Counts {
        // Inside the consumers' lock no task is taken, so what has ended is part of what was taken.
        let settled = || {
            let settled = || self.timers.tally(|| self.staff.lock().read());
            self.room.count_yielded(settled)
        };
        let (queue, ((timed, staff), yielded), crew) = self.room.tally(settled, Crew::read);
        Counts {
            queue,
            timed,
            staff,
            crew,
            yielded,
        }
    }

    /// Of these threads alone; see [`Engine::stats`].
    pub(super) fn own_stats(&self) -> Stats {
        if self.is_forked() {
            // Whoever held a lock when the process was copied holds it here for ever: none is taken.
            return Stats::of_nothing(self.state(), self.size(), self.config.queue.capacity());
        }
        let now = self.clock.tick();
        let counts = self.counts();
        let active = counts.active();
        let Counts {
            queue,
            timed,
            staff,
            crew,
            yielded,
        } = counts;
        let tally = queue.with(&timed.due);
        let delayed = timed.counts;
        let totals = staff.totals();
        let busy = (tally.taken + tally.resumed - staff.own_ends() - yielded) as usize;
        let queued = tally.waiting() as usize;
        let in_lines = self.oldest_in_lines();
        let oldest = in_lines.into_iter().chain([self.room.oldest()]).flatten().min();
        let oldest_wait = oldest.filter(|_| queued > 0);
        let oldest_wait = oldest_wait.map(|arrived| waited(arrived, now));
        let oldest_in_line = in_lines.into_iter().flatten().min();
        // Before the rest: a guard inside the value below would be held to its end.
        let schedules = self.schedules.lock().len();
        let thefts = self.room.locals().map(Locals::counts).unwrap_or_default();
        // What leaves a deque may leave nothing behind, and nobody says so.
        let breaks = thefts.taken + thefts.joined;
        Stats {
            state: self.state(),
            size: crew.size,
            threads: crew.threads,
            active,
            suspended: (totals.suspended.saturating_sub(tally.resumed) + yielded) as usize,
            idle: crew.threads.saturating_sub(busy),
            spare: crew.spare,
            largest: crew.largest,
            largest_since_resize: crew.largest_since_resize,
            paused: tally.paused,
            queued,
            capacity: tally.capacity,
            occupied: tally.occupied as usize,
            oldest_wait,
            oldest_in_line: oldest_in_line.map(|arrived| waited(arrived, now)),
            submitted: queue.accepted() + delayed.accepted,
            submitted_delayed: delayed.accepted,
            submitted_runs: self.observed.run_counts(delayed.fired),
            taken: tally.taken + tally.joined,
            finished: totals.finished(),
            panicked: totals.panicked,
            cancelled: tally.cancelled + delayed.cancelled + totals.signalled(),
            cancelled_delayed: delayed.cancelled,
            expired: tally.expired,
            evicted: tally.evicted,
            returned: tally.returned + delayed.returned,
            returned_delayed: delayed.returned,
            rejected: self.rejections.read(),
            caller_ran_for: self.rejections.caller_ran_for(),
            computed: self.observed.split.read().computing,
            slow: self.slow_tasks(),
            threads_started: crew.starts,
            threads_stopped: crew.stops.sum(),
            stops: crew.stops,
            starts: crew.starts_by_reason,
            failed_starts: crew.failed_starts,
            parks: totals.parks,
            spurious_wakeups: totals.in_vain,
            polls: totals.polls,
            wakes: tally.woken + totals.yielded,
            wake: self.observed.wake.snapshot(),
            queued_local: queued.min(self.room.depth_of_deques() as usize),
            steals: thefts.stolen,
            failed_steals: thefts.in_vain,
            pending_timers: timed.pending,
            schedules,
            missed: self.observed.missed.load(Relaxed),
            skipped: self.observed.skipped.load(Relaxed),
            keepers: self.keepers(),
            lateness: self.observed.lateness.snapshot(),
            hook_panics: self.hooks.panics.load(Relaxed),
            wait: self.observed.wait.snapshot(),
            run: self.observed.run.snapshot(),
            levels: self.level_stats((&queue, &tally), (&totals, breaks), &in_lines, now),
            views: self.view_stats(now),
            nice: i32::try_from(self.observed.nice.load(Relaxed)).ok(),
            blocking_waits: self.observed.blocking_waits.load(Relaxed),
        }
    }
}

impl Engine {
    /// What a worker's loop is compiled for.
    pub(crate) fn queue_kind(&self) -> u8 {
        let discipline = self.config.discipline.as_ref();
        discipline.map_or(kind::PLAIN, Discipline::kind)
    }

    /// Of each level; nothing where there are none.
    fn level_stats(
        &self,
        (queue, tally): (&Tally, &Tally),
        (totals, breaks): (&Totals, u64),
        in_lines: &[Option<Tick>; LEVELS],
        now: Tick,
    ) -> Vec<LevelStats> {
        let oldest = self.room.oldest_of_levels();
        let due = self.timers.due.oldest_of_levels();
        let targets = self
            .config
            .discipline
            .as_ref()
            .map_or(&[][..], |discipline| &discipline.targets);
        let taken = |level: &LevelTally| level.taken + level.joined;
        let all: u64 = tally.levels().iter().map(taken).sum();
        let of = |(number, level): (usize, &LevelTally)| {
            let arrived = [oldest[number], due[number], in_lines[number]];
            let arrived = arrived.into_iter().flatten().min();
            let target = targets.get(number).copied();
            let is_waiting = level.waiting() > 0;
            let oldest_wait = arrived.filter(|_| is_waiting).map(|arrived| waited(arrived, now));
            let breaks = breaks + level.drained;
            let [finished, panicked, signalled] = totals.of_level(number, tally.levels().len());
            LevelStats {
                queued: level.waiting() as usize,
                oldest_wait,
                nonempty_for: self.unbroken.look(number, breaks, oldest_wait, is_waiting, now),
                submitted: queue.levels()[number].accepted(),
                finished,
                panicked,
                cancelled: level.cancelled + signalled,
                returned: level.returned,
                taken: taken(level),
                promoted: level.promoted,
                expired: level.expired,
                evicted: level.evicted,
                share_target: target,
                share_actual: target
                    .filter(|_| all > 0)
                    .map(|_| taken(level) as f64 / all as f64),
                share_lately: None,
                wait: self.observed.levels[number].snapshot(),
            }
        };
        tally.levels().iter().enumerate().map(of).collect()
    }
}

fn waited(arrived: Tick, now: Tick) -> Duration {
    Duration::from_nanos(now.saturating_sub(arrived))
}

impl Home for Engine {
    fn remove(&self, task: NonNull<Header>, class: Class, how: Removal) -> Removed {
        self.remove_task(task, class, how)
    }

    fn forget(&self, task: NonNull<Header>) -> Option<Forgotten> {
        self.forget_delayed(task)
    }

    fn is_told_of_ends(&self) -> bool {
        self.hooks.after.is_some()
    }

    fn tell_removed(&self, task: &TaskInfo<'_>, outcome: Outcome<'_>) {
        self.hooks.after(task, outcome);
    }

    fn forget_expiry(&self, task: &Header) {
        self.no_longer_expires(task);
    }

    fn relocate(&self, task: &Arc<Reference>, to: Destination) -> bool {
        let room_swept = if task.header().class.is_timed() {
            let due = &self.timers.due;
            due.relocate(task, to, &self.clock)
                .map(|sweep| sweep.then(|| due.sweep()))
        } else {
            self.room
                .relocate(task, to, &self.clock)
                .map(|sweep| sweep.then(|| self.sweep()))
        };
        room_swept.is_some()
    }

    fn look_at(&self, when: Tick) {
        self.look_at_running(when);
    }

    fn removed(&self, was_delayed: bool) {
        if was_delayed {
            self.delayed_task_removed();
        } else {
            self.task_removed();
        }
    }

    fn is_stopping(&self) -> bool {
        self.state() >= State::Stop
    }

    fn leave_view(&self, view: &Arc<View>, had_slots: bool) {
        if had_slots {
            self.release_slots(view, Leaving::Ran);
        } else {
            self.leave_without_slots(view, true);
        }
    }

    fn forget_view(&self, view: &View) {
        self.crowd.remove(view);
    }

    fn pause_in_view(&self, view: &Arc<View>) {
        self.release_slots(view, Leaving::Suspended);
    }

    fn woken(&self, entry: Entry) {
        self.queue_woken(entry, false);
    }

    fn still_woken(&self, entry: Entry) {
        self.queue_woken(entry, true);
    }

    fn set_alarm(&self, alarm: &Arc<Alarm>) {
        self.keep_alarm(alarm);
    }

    fn clear_alarm(&self, alarm: &Arc<Alarm>) {
        self.drop_alarm(alarm);
    }

    fn list(&self, task: NonNull<Header>) -> bool {
        self.list_future(task)
    }

    fn unlist(&self, task: NonNull<Header>) {
        self.unlist_future(task);
    }

    fn explain(&self, task: &Header, remaining: Option<Duration>, with_names: bool) -> Explanation {
        self.explain_task(task, remaining, with_names)
    }

    fn view_name(&self, view: &Arc<View>) -> Arc<str> {
        self.name_of_view(view)
    }
}

impl Attached for Engine {
    fn identity(&self) -> usize {
        Engine::identity(self)
    }

    fn hands(&self) -> usize {
        let sleepers = self.idle.read().sleepers();
        let reading = self.run_state.read();
        // A task lies there, and whoever brought it is about to wake somebody.
        let has_local = !self.room.is_paused() && !self.room.are_deques_empty();
        let has_work = !self.room.looks_empty() || has_local || !self.timers.due.looks_empty();
        let stirring = usize::from(sleepers > 0 && has_work);
        // The last worker of a closed pool has left, and ends the pool after that; unless it is left to a thread that runs one of
        // its tasks in place, which may wait for this clock.
        let is_ending = reading.state() >= State::Shutdown
            && reading.workers() == 0
            && self.visitors() == 0
            && !self.annexes.look_occupied();
        // It lets itself go when everybody has been told.
        let ending = usize::from(is_ending && self.life.anchor.lock().is_some());
        reading.workers() + stirring + ending
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
            reading.workers() - self.keepers().min(reading.workers()),
            self.size().max,
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
