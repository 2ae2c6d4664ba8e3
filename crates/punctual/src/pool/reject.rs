//! What a full pool answers.
//!
//! In: a task for which there is no room, and the pool's [`Reject`]. Out: one of five things: it comes back, runs on
//! the submitting thread, is thrown away, takes the place of the oldest, or waits for room. Policies answer a full pool
//! only: after shutdown, and when no thread can be had, the task comes back under every policy. Whatever happens, its
//! handle resolves, and it is counted once.

#![allow(unsafe_code)]

use super::admit::Refused;
use super::engine::Engine;
use super::line::Permit;
use crate::sync::Arc;
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use crate::task::home::Home;
use crate::task::record::{Payload, Slot};
use crate::task::state::End;
use crate::task::{Class, Outcome, TaskInfo, contain};
use crate::{Reason, RejectCounts};
use std::fmt;
use std::time::Duration;

/// What happens to a task that finds the queue full and all threads at work.
///
/// ```
/// use punctual::{Pool, Queue, Reject};
///
/// let pool = Pool::builder("mail")
///     .core_threads(1)
///     .queue(Queue::bounded(100))
///     .on_full(Reject::CallerRuns) // slows the submitter down, loses nothing
///     .build()?;
/// for n in 0..1_000 {
///     pool.execute(move || drop(n))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Default)]
pub enum Reject {
    /// The task comes back in the error. The default.
    #[default]
    Abort,
    /// The submitting thread runs it, with the same hooks, token and decoration as a worker would.
    CallerRuns,
    /// It is dropped. `submit` gives a handle that says [`is_rejected`](crate::JoinError::is_rejected); `execute` says
    /// `Ok`; it is counted as [`discarded`](RejectCounts::discarded).
    Discard,
    /// The task that has waited longest, of the least urgent level if there are levels, is thrown out for it; that one's
    /// handle says [`is_evicted`](crate::JoinError::is_evicted).
    DiscardOldest,
    /// The task that has waited longest in the least urgent level is thrown out for it, if that level is less urgent than its
    /// own; otherwise it comes back. For a queue with levels; on another it is [`Reject::Abort`].
    ///
    /// ```
    /// use punctual::{Pool, Priority, Queue, Reject};
    ///
    /// let pool = Pool::builder("orders")
    ///     .core_threads(1)
    ///     .queue(Queue::priority(1))
    ///     .on_full(Reject::EvictLower)
    ///     .build()?;
    /// pool.pause(); // nothing is taken meanwhile
    /// let report = pool.task(|| "report").priority(Priority::LOW).submit()?;
    /// let payment = pool.task(|| "payment").priority(Priority::URGENT).submit()?;
    /// assert!(report.join().unwrap_err().is_evicted());
    /// assert!(pool.task(|| "another report").priority(Priority::LOW).submit().is_err());
    /// pool.resume();
    /// assert_eq!(payment.join()?, "payment");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    EvictLower,
    /// The submitter waits for room, at most this long, first come first served; then the task comes back. From a
    /// worker of the same pool it comes back at once, as [`Reason::WouldDeadlock`].
    Block(Duration),
    /// Asks this function; see [`Reject::custom`].
    Custom(Arc<dyn Fn(&Refusal<'_>) -> Answer + Send + Sync>),
}

impl Reject {
    /// A rule of your own. It sees the task's facts and answers; it never holds the closure. If it panics the task
    /// comes back.
    ///
    /// ```
    /// use punctual::{Answer, Reject};
    /// use std::time::Duration;
    ///
    /// let rule = Reject::custom(|refusal| match refusal.task.name {
    ///     Some("report") => Answer::Discard,
    ///     _ => Answer::Wait(Duration::from_millis(10)),
    /// });
    /// ```
    pub fn custom(f: impl Fn(&Refusal<'_>) -> Answer + Send + Sync + 'static) -> Self {
        Reject::Custom(Arc::new(f))
    }
}

impl fmt::Debug for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reject::Abort => f.write_str("Abort"),
            Reject::CallerRuns => f.write_str("CallerRuns"),
            Reject::Discard => f.write_str("Discard"),
            Reject::DiscardOldest => f.write_str("DiscardOldest"),
            Reject::EvictLower => f.write_str("EvictLower"),
            Reject::Block(limit) => write!(f, "Block({limit:?})"),
            Reject::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// A refused task as a custom [`Reject`] sees it.
#[non_exhaustive]
#[derive(Debug)]
pub struct Refusal<'a> {
    /// The task's facts.
    pub task: &'a TaskInfo<'a>,
    /// Why it was refused.
    pub reason: &'a Reason,
}

/// What a custom [`Reject`] wants done.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// As [`Reject::Abort`].
    Abort,
    /// As [`Reject::CallerRuns`].
    CallerRuns,
    /// As [`Reject::Discard`].
    Discard,
    /// As [`Reject::DiscardOldest`].
    DiscardOldest,
    /// As [`Reject::Block`].
    Wait(Duration),
}

/// Tasks that were not accepted.
#[derive(Debug, Default)]
pub(crate) struct Rejections {
    full: AtomicU64,
    shutdown: AtomicU64,
    no_thread: AtomicU64,
    would_deadlock: AtomicU64,
    caller_ran: AtomicU64,
    /// How long, in nanoseconds.
    caller_ran_for: AtomicU64,
    discarded: AtomicU64,
    /// Of those that were full: after a wait for room.
    waited: AtomicU64,
    /// Let in, and the oldest was thrown out for it.
    displaced: AtomicU64,
}

impl Rejections {
    /// Tasks that go back to the submitter.
    pub(crate) fn count(&self, reason: &Reason, tasks: usize) {
        let counter = match reason {
            Reason::ShutDown => &self.shutdown,
            Reason::Full { .. } => &self.full,
            Reason::NoThread => &self.no_thread,
            Reason::WouldDeadlock => &self.would_deadlock,
            _ => return,
        };
        counter.fetch_add(tasks as u64, Relaxed);
    }

    pub(super) fn caller_ran_for(&self) -> Duration {
        Duration::from_nanos(self.caller_ran_for.load(Relaxed))
    }

    pub(super) fn read(&self) -> RejectCounts {
        RejectCounts {
            full: self.full.load(Relaxed),
            shutdown: self.shutdown.load(Relaxed),
            no_thread: self.no_thread.load(Relaxed),
            would_deadlock: self.would_deadlock.load(Relaxed),
            caller_ran: self.caller_ran.load(Relaxed),
            discarded: self.discarded.load(Relaxed),
            waited: self.waited.load(Relaxed),
            displaced: self.displaced.load(Relaxed),
        }
    }
}

/// How often `DiscardOldest` looks for somebody to throw out while all places are only promised.
const MAX_TRIES: usize = 64;

/// How long a submission is willing to wait for room.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// The pool's [`Reject`] says.
    Policy,
    /// At most this long, whatever the policy.
    Within(Duration),
    /// At most this long, whatever the policy; from a worker of this pool the submitter runs the task instead.
    OrHere(Option<Duration>),
}

impl Engine {
    /// Counts tasks that go back to the submitter.
    pub(crate) fn count_refused(&self, reason: &Reason, tasks: usize) {
        self.rejections.count(reason, tasks);
    }

    /// Lets a task in, or does with it what the pool's policy says. `Ok(true)`: a sleeping worker had to be woken.
    /// `Err`: it goes back to the submitter, and has been counted.
    #[inline]
    pub(crate) fn admit_or_answer<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
        patience: Patience,
    ) -> Result<bool, Refused<P>> {
        match self.admit_any(class, payload) {
            Ok(woke) => Ok(woke),
            Err(refused) => self.answer(class, refused, patience),
        }
    }

    /// What the policy says to a task that [`Engine::admit`] refused.
    #[cold]
    pub(crate) fn answer<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        refused: Refused<P>,
        patience: Patience,
    ) -> Result<bool, Refused<P>> {
        if class.is_viewed() && !class.is_timed() {
            let answered = self.answer_of_view(class, refused, patience);
            return self.told(class, answered);
        }
        let answered = match (&refused.reason, patience) {
            (Reason::Full { .. }, Patience::Policy) => self.answer_by_policy(class, refused),
            (Reason::Full { .. }, Patience::Within(limit)) => self.noting(class, refused, |refused| {
                self.admit_within(class, refused, Some(limit))
            }),
            (Reason::Full { .. }, Patience::OrHere(_)) if self.is_own_thread() => {
                Ok(self.run_for_caller(class, refused))
            }
            (Reason::Full { .. }, Patience::OrHere(limit)) => {
                self.noting(class, refused, |refused| self.admit_within(class, refused, limit))
            }
            _ => Err(refused),
        };
        self.told(class, answered)
    }

    /// Tells the recorder of a task that is let in after all. Its facts are read before: afterwards it may be gone.
    fn noting<P: Payload>(
        &self,
        class: Class,
        refused: Refused<P>,
        admit: impl FnOnce(Refused<P>) -> Result<bool, Refused<P>>,
    ) -> Result<bool, Refused<P>> {
        let Some(recording) = &self.recording else {
            return admit(refused);
        };
        let Refused { payload, reason } = refused;
        let slot = Slot::holding(class, payload);
        let level = self.room.is_levelled().then(|| self.room.level_of(class));
        let subject = match slot.peek_entry() {
            Some(entry) => recording.subject_of_block(entry.header(), level),
            None => recording.subject(slot.label(), 0, None, level),
        };
        // SAFETY: put in above, as this type.
        let payload = unsafe { slot.into_payload() };
        let at = self.clock.tick();
        let admitted = admit(Refused { payload, reason })?;
        recording.submitted(subject, at);
        Ok(admitted)
    }

    /// Counts and notes what goes back to the submitter.
    fn told<P: Payload>(&self, class: Class, answered: Result<bool, Refused<P>>) -> Result<bool, Refused<P>> {
        answered.map_err(|refused| {
            self.rejections.count(&refused.reason, 1);
            let Refused { payload, reason } = refused;
            let slot = Slot::holding(class, payload);
            self.note_refusal(class, &reason, "refused", &slot);
            // SAFETY: put in above, as this type.
            let payload = unsafe { slot.into_payload() };
            Refused { payload, reason }
        })
    }

    /// The same for a task of a view: nobody but a worker runs it, and a lane that is full or closed says so under every
    /// policy. What must not be refused (`all`, `any`, a scope) does not mind the lane's own bound.
    fn answer_of_view<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        refused: Refused<P>,
        patience: Patience,
    ) -> Result<bool, Refused<P>> {
        if !matches!(refused.reason, Reason::Full { .. }) {
            return Err(refused);
        }
        let slot = Slot::holding(class, refused.payload);
        let is_barred = slot
            .peek_entry()
            .is_some_and(|entry| self.is_barred(entry.header()));
        let refused = Refused {
            // SAFETY: put in above, as this type.
            payload: unsafe { slot.into_payload() },
            reason: refused.reason,
        };
        match patience {
            Patience::OrHere(limit) => self.noting(class, refused, |refused| {
                self.admit_when_there_is_room(class, refused, limit, Permit::beyond_lanes)
            }),
            _ if is_barred => Err(refused),
            Patience::Within(limit) => self.noting(class, refused, |refused| {
                self.admit_within(class, refused, Some(limit))
            }),
            Patience::Policy => self.answer_by_policy(class, refused),
        }
    }

    fn answer_by_policy<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        refused: Refused<P>,
    ) -> Result<bool, Refused<P>> {
        let reject = self.top().reject.lock().clone();
        let answer = match reject {
            Reject::Abort => Answer::Abort,
            Reject::CallerRuns => Answer::CallerRuns,
            Reject::Discard => Answer::Discard,
            Reject::DiscardOldest => Answer::DiscardOldest,
            Reject::EvictLower => {
                return self.noting(class, refused, |refused| self.admit_for_lower(class, refused));
            }
            Reject::Block(limit) => Answer::Wait(limit),
            Reject::Custom(rule) => {
                let mut answer = Answer::Abort;
                let slot = Slot::holding(class, refused.payload);
                self.hooks.call(|| {
                    answer = rule(&Refusal {
                        task: &slot.info(),
                        reason: &refused.reason,
                    });
                });
                contain(|| drop(rule));
                let refused = Refused {
                    // SAFETY: put in above, as this type.
                    payload: unsafe { slot.into_payload() },
                    reason: refused.reason,
                };
                return self.follow(class, refused, answer);
            }
        };
        self.follow(class, refused, answer)
    }

    fn follow<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        refused: Refused<P>,
        answer: Answer,
    ) -> Result<bool, Refused<P>> {
        match answer {
            Answer::Abort => Err(refused),
            // It would run before its time, or past its view's limit; or it is a future, which may take any time.
            Answer::CallerRuns if class.is_apart() || class.is_future() => Err(refused),
            Answer::CallerRuns => Ok(self.run_for_caller(class, refused)),
            Answer::Discard => {
                self.rejections.discarded.fetch_add(1, Relaxed);
                let slot = Slot::holding(class, refused.payload);
                self.note_refusal(class, &refused.reason, "discarded", &slot);
                // Never accepted, so no hook hears of its end.
                slot.end_unrun(End::Rejected, None);
                Ok(false)
            }
            Answer::DiscardOldest => {
                self.noting(class, refused, |refused| self.admit_for_oldest(class, refused))
            }
            Answer::Wait(limit) => self.noting(class, refused, |refused| {
                self.admit_within(class, refused, Some(limit))
            }),
        }
    }

    /// Runs a task that was not accepted on the thread that brought it. (False, for "woke nobody".)
    fn run_for_caller<P: Payload>(self: &Arc<Self>, class: Class, refused: Refused<P>) -> bool {
        self.rejections.caller_ran.fetch_add(1, Relaxed);
        let mut slot = Slot::holding(class, refused.payload);
        if let Some(entry) = slot.peek_entry() {
            // Nobody else has the block yet.
            let _ = entry.header().state.claim();
        }
        self.note_refusal(class, &refused.reason, "caller_ran", &slot);
        let begin = self.clock.tick();
        self.run_as_guest(&mut slot);
        let took = self.clock.tick().saturating_sub(begin);
        self.rejections.caller_ran_for.fetch_add(took, Relaxed);
        false
    }

    /// Throws the oldest waiting task out and takes its place.
    fn admit_for_oldest<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        mut refused: Refused<P>,
    ) -> Result<bool, Refused<P>> {
        let places = self.places_of(class);
        let mut tries = 0;
        loop {
            let Reason::Full { capacity, .. } = refused.reason else {
                return Err(refused);
            };
            // What lies in the queue of a handoff pool has its worker already.
            if capacity == 0 || tries == MAX_TRIES {
                return Err(refused);
            }
            if let Some(slot) = places.evict_for_its_place(None) {
                self.rejections.displaced.fetch_add(1, Relaxed);
                places.tell_evicted(slot);
                return self.publish(class, refused.payload, true, Permit::of_plan());
            }
            // A worker was faster; or there are only promised places, of submissions that are on their way.
            tries += 1;
            crate::sync::yield_now();
            match self.admit_any(class, refused.payload) {
                Ok(woke) => return Ok(woke),
                Err(again) => refused = again,
            }
        }
    }

    /// Whose places a task of this class takes: a delayed task of an annex takes one of its pool's.
    fn places_of(self: &Arc<Self>, class: Class) -> &Arc<Engine> {
        self.root.as_ref().filter(|_| class.is_timed()).unwrap_or(self)
    }

    /// Throws the oldest task of the least urgent level out and takes its place, if that level is less urgent.
    fn admit_for_lower<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        refused: Refused<P>,
    ) -> Result<bool, Refused<P>> {
        let places = self.places_of(class);
        let level = places.room.level_of(class);
        let Reason::Full { capacity: 1.., .. } = refused.reason else {
            return Err(refused);
        };
        match places.evict_for_its_place(Some(level)) {
            Some(slot) => {
                places.tell_evicted(slot);
                self.publish(class, refused.payload, true, Permit::of_plan())
            }
            // Nothing that is less urgent; but perhaps a worker was faster.
            None => self.admit_any(class, refused.payload),
        }
    }

    /// The end of a task that was thrown out.
    fn tell_evicted(&self, slot: Slot) {
        if let Some(entry) = slot.peek_entry() {
            self.no_longer_expires(entry.header());
            self.gone_from_view(entry.header());
        }
        let told: &dyn Fn(&TaskInfo<'_>) = &|task| self.hooks.after(task, Outcome::Evicted);
        slot.end_unrun(End::Evicted, self.is_told_of_ends().then_some(told));
        self.task_removed();
    }

    /// Waits for room and lets the task in.
    fn admit_within<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        refused: Refused<P>,
        limit: Option<Duration>,
    ) -> Result<bool, Refused<P>> {
        self.admit_when_there_is_room(class, refused, limit, |permit| permit)
    }

    fn admit_when_there_is_room<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        mut refused: Refused<P>,
        limit: Option<Duration>,
        with: impl FnOnce(Permit) -> Permit,
    ) -> Result<bool, Refused<P>> {
        if self.is_own_thread() {
            refused.reason = Reason::WouldDeadlock;
            return Err(refused);
        }
        match self.places_of(class).wait_for_room(limit) {
            Ok(permit) => self.publish(class, refused.payload, true, with(permit)),
            Err(None) => {
                self.rejections.waited.fetch_add(1, Relaxed);
                Err(refused)
            }
            Err(Some(reason)) => {
                refused.reason = reason;
                Err(refused)
            }
        }
    }
}
