//! The verbs that have a time: `after`, `at`, `schedule`.
//!
//! In: a closure and when. Out: a handle, or the closure back. They wait outside the queue, in the pool's own timers.

#![allow(unsafe_code)]

use super::Executor;
use crate::handle::TaskHandle;
use crate::pool::State;
use crate::pool::repeating::{
    Alone, Body, MOST_CONTEXTS, Place, Repeating, RunFuture, ScheduleHandle, Spawning,
};
use crate::sync::Arc;
use crate::task::block::{Appointment, Delay, Entry, Options, Timer};
use crate::task::decorate::Contexts;
use crate::time::{Axis, Run, RunResult, Schedule, ScheduleExt, Tick, deadline_after, wall_tick};
use crate::{ConfigError, Reason, Rejected};
use std::borrow::Cow;
use std::future::Future;
use std::time::{Duration, SystemTime};

impl Executor {
    /// Runs `f` when `delay` has passed on the pool's clock, never before; the handle gives its result. It waits outside
    /// the queue and cannot be refused there once it was accepted. A delay beyond the clock's horizon never passes.
    ///
    /// ```
    /// use punctual::{Clock, Pool};
    /// use std::time::Duration;
    ///
    /// let clock = Clock::manual();
    /// let pool = Pool::builder("reminders").clock(&clock).build()?;
    /// let tea = pool.after(Duration::from_secs(180), || "ready")?;
    /// clock.advance(Duration::from_secs(179));
    /// assert!(!tea.is_finished());
    /// clock.advance(Duration::from_secs(1));
    /// assert_eq!(tea.join()?, "ready");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn after<F, T>(&self, delay: Duration, f: F) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.after_with(None, delay, f)
    }

    /// Runs `f` when the pool's wall clock shows `when`, never before; one that has passed means at once. It follows that
    /// clock: if it is put forward or back meanwhile, that is noticed within 30 seconds.
    ///
    /// ```
    /// use punctual::{Clock, Pool};
    /// use std::time::{Duration, SystemTime};
    ///
    /// let clock = Clock::manual_at(SystemTime::UNIX_EPOCH);
    /// let pool = Pool::builder("reminders").clock(&clock).build()?;
    /// let day = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
    /// let newspaper = pool.at(day, || "here")?;
    /// clock.jump_wall(day); // somebody puts the clock
    /// clock.advance(Duration::from_secs(30));
    /// assert_eq!(newspaper.join()?, "here");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn at<F, T>(&self, when: SystemTime, f: F) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.at_with(None, when, f)
    }

    pub(super) fn after_with<F, T>(
        &self,
        options: Option<Options>,
        delay: Duration,
        f: F,
    ) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let when = deadline_after(self.engine().clock.tick(), delay).unwrap_or(Tick::MAX);
        self.keep(options, (Axis::Ticks, when), Delay::until(when), f)
    }

    pub(super) fn at_with<F, T>(
        &self,
        options: Option<Options>,
        when: SystemTime,
        f: F,
    ) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let when = wall_tick(when);
        self.keep(options, (Axis::Wall, when), Appointment::at(when), f)
    }

    /// Keeps a task until its time; mostly without options, and then without a look at any.
    fn keep<K: Timer, F, T>(
        &self,
        mut options: Option<Options>,
        (axis, when): (Axis, Tick),
        timer: K,
        f: F,
    ) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let priority = options.as_ref().and_then(|options| options.priority);
        if self.engine().is_adapter() {
            self.engine().count_refused(&Reason::NoTimer, 1);
            return Err(Rejected::new(f, Reason::NoTimer));
        }
        if options.is_some() || self.engine().is_special() {
            options = match self.prepare(options.unwrap_or_default()) {
                Ok(options) => Some(options),
                Err(reason) => return Err(Rejected::new(f, reason)),
            };
        }
        let class = self.class_of(priority);
        let engine = self.engine();
        let entry = Entry::delayed(self.origin(class.timed()), options, timer, f);
        let block = entry.pointer();
        match engine.submit_delayed(axis, when, entry) {
            // SAFETY: the block was made with a handle's share for an `FnOnce() -> T`, and this is that handle.
            Ok(()) => Ok(unsafe { TaskHandle::new(block, false) }),
            Err((entry, reason)) => {
                // SAFETY: it left the store, nobody else has seen it, and the types are those it was made with.
                Err(Rejected::new(unsafe { entry.unmake::<K, F, T>() }, reason))
            }
        }
    }

    /// Runs `f` whenever the schedule says, one run at a time, until it ends or is cancelled. A run that panics or returns
    /// `Err` is counted and told, and the next one comes all the same unless the schedule says otherwise
    /// ([`Schedule::on_failure`]).
    ///
    /// ```
    /// use punctual::{Clock, Pool, Schedule};
    /// use std::time::Duration;
    ///
    /// let clock = Clock::manual();
    /// let pool = Pool::builder("cache").clock(&clock).build()?;
    /// let mut flushed = 0;
    /// let flush = pool.schedule(Schedule::every(Duration::from_secs(5)).named("flush"), move |_run| {
    ///     flushed += 1;
    ///     if flushed == 2 { Err("disk full") } else { Ok(()) }
    /// })?;
    /// clock.advance(Duration::from_secs(15)); // at 0 s, 5 s, 10 s, 15 s
    /// let stats = flush.stats();
    /// assert_eq!((stats.runs, stats.failures), (4, 1));
    /// assert_eq!(stats.last_error.as_deref(), Some("disk full"));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn schedule<F, R>(&self, when: Schedule, mut f: F) -> Result<ScheduleHandle, Rejected<F>>
    where
        F: FnMut(&Run) -> R + Send + 'static,
        R: RunResult,
    {
        if let Err(reason) = self.check_schedule(&when) {
            return Err(Rejected::new(f, reason));
        }
        let body = Body::Alone(Some(Alone {
            run: Box::new(move |run| f(run).failure()),
            contexts: self.contexts(1).pop(),
        }));
        Ok(self.start(when, 1, body))
    }

    /// As [`Executor::schedule`], but up to `n` runs may be in progress at once: a tick that comes due while fewer are
    /// starts another. Decorators capture a context for each run that may be in progress, up to 64.
    pub fn schedule_overlapping<F, R>(
        &self,
        when: Schedule,
        n: usize,
        f: F,
    ) -> Result<ScheduleHandle, Rejected<F>>
    where
        F: Fn(&Run) -> R + Send + Sync + 'static,
        R: RunResult,
    {
        if n == 0 {
            let error = ConfigError::new(
                "schedule_overlapping",
                0,
                "a schedule needs at least one run at a time",
                "give 1 or more",
            );
            self.engine().count_refused(&Reason::Invalid(error.clone()), 1);
            return Err(Rejected::new(f, Reason::Invalid(error)));
        }
        if let Err(reason) = self.check_schedule(&when) {
            return Err(Rejected::new(f, reason));
        }
        let contexts = self.contexts(n.min(MOST_CONTEXTS));
        let body = Body::Shared(Arc::new(move |run: &Run| f(run).failure()), contexts);
        Ok(self.start(when, n, body))
    }

    /// As [`Executor::schedule`], with runs that are futures: a run is in progress until its future has ended, and holds no
    /// thread while that is suspended. One run at a time.
    ///
    /// ```
    /// use punctual::{Clock, Pool, Schedule, future};
    /// use std::time::Duration;
    ///
    /// let clock = Clock::manual();
    /// let pool = Pool::builder("sync").core_threads(1).clock(&clock).build()?;
    /// let sync = pool.schedule_future(Schedule::with_delay(Duration::from_secs(10)), |_run| async {
    ///     future::sleep(Duration::from_secs(5)).await;
    /// })?;
    /// clock.advance(Duration::from_secs(20)); // from 0 s to 5 s, and from 15 s to 20 s
    /// assert_eq!(sync.stats().runs, 2);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn schedule_future<F, Fut>(&self, when: Schedule, mut f: F) -> Result<ScheduleHandle, Rejected<F>>
    where
        F: FnMut(Run) -> Fut + Send + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: RunResult,
    {
        if let Err(reason) = self.check_schedule(&when) {
            return Err(Rejected::new(f, reason));
        }
        let make = move |run| -> RunFuture {
            let future = f(run);
            Box::pin(async move { future.await.failure() })
        };
        let body = Body::Spawning(Some(Box::new(Spawning {
            make: Box::new(make),
            contexts: self.contexts(1).pop(),
        })));
        Ok(self.start(when, 1, body))
    }

    /// What the decorators capture here, so many times; nothing where there are none.
    fn contexts(&self, n: usize) -> Vec<Contexts> {
        let decorators = &self.engine().hooks.decorators;
        let n = if decorators.is_empty() { 0 } else { n };
        (0..n).map(|_| decorators.capture()).collect()
    }

    /// Whether a schedule can be put on this pool now.
    fn check_schedule(&self, when: &Schedule) -> Result<(), Reason> {
        let engine = self.engine();
        let checked = if engine.is_forked() {
            Err(Reason::Forked)
        } else if engine.is_adapter() {
            Err(Reason::NoTimer)
        } else if let Err(error) = when.check() {
            Err(Reason::Invalid(error.into()))
        } else if engine.state() >= State::Shutdown || self.own_view().is_some_and(|view| view.is_closed()) {
            Err(Reason::ShutDown)
        } else {
            engine.ensure_worker()
        };
        checked.inspect_err(|reason| engine.count_refused(reason, 1))
    }

    fn start(&self, when: Schedule, at_once: usize, body: Body) -> ScheduleHandle {
        let class = self.class_of(None);
        let place = Place {
            class: if matches!(body, Body::Spawning(_)) {
                class.future()
            } else {
                class
            },
            view: self.own_view().map(Cow::into_owned),
        };
        let handle = Repeating::start(self.engine(), when, at_once, place, body);
        // Idle workers may have left since they were counted on; the next submission tries again if this fails.
        let _ = self.engine().ensure_worker();
        handle
    }
}
