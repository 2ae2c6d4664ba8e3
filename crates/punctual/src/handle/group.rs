//! [`Group`]: tasks in the order in which they end.
//!
//! In: closures with results of one type. Out: each task and its outcome, the first to end first. Each handle gets a
//! waker that puts its number into a list; the group sleeps on the list's word.

#![allow(unsafe_code)]

use super::task_handle::TaskHandle;
use super::task_ref::TaskRef;
use crate::pool::reject::Patience;
use crate::sync::atomic::Ordering::AcqRel;
use crate::sync::wait::NUDGE;
use crate::sync::{Arc, Lock, WaitWord};
use crate::task::block::Options;
use crate::task::{Token, here};
use crate::time::{Tick, Wait, Waked, deadline_after};
use crate::worker::spare::{self, Awaited, Awaits, Sleep, Stuck};
use crate::{Executor, JoinError, Rejected, Timeout};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::task::{Wake, Waker};
use std::time::Duration;

/// Tasks whose outcomes are read in the order in which they come. Dropping it cancels what is left: waiting tasks are
/// removed, running ones asked to stop.
///
/// ```
/// let pool = punctual::Pool::fixed(2)?;
/// let mut group = pool.group();
/// for n in 1..=3 {
///     group.submit(move || n * n)?;
/// }
/// let mut sum = 0;
/// while let Some((_task, square)) = group.next() {
///     sum += square?;
/// }
/// assert_eq!(sum, 14);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use = "dropping a group cancels its tasks"]
pub struct Group<T> {
    executor: Executor,
    ended: Arc<Ended>,
    /// By number, so in the order of submission.
    tasks: BTreeMap<u64, TaskHandle<T>>,
    next_number: u64,
}

/// The numbers of the tasks that have ended and were not read yet.
struct Ended {
    numbers: Lock<VecDeque<u64>>,
    /// Counts the ends.
    word: WaitWord,
}

impl Ended {
    fn add(&self, number: u64) {
        self.numbers.lock().push_back(number);
        self.word.0.fetch_add(1, AcqRel);
        self.word.wake_all();
    }
}

/// The waker of one task.
struct Bell {
    number: u64,
    ended: Arc<Ended>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ended.add(self.number);
    }
}

/// Why a wait for the next end gave none.
enum Idle {
    Empty,
    TimedOut,
    Interrupted,
    WouldDeadlock,
    /// The calling task's worker must not block.
    Blocking,
}

impl Idle {
    /// What `next` answers instead of a task that has ended. `None`: there is nothing to answer.
    fn error(self) -> Option<JoinError> {
        match self {
            Idle::Interrupted => Some(JoinError::interrupted()),
            Idle::WouldDeadlock => Some(JoinError::would_deadlock()),
            Idle::Blocking => Some(JoinError::blocking()),
            Idle::Empty | Idle::TimedOut => None,
        }
    }
}

impl<T: Send + 'static> Group<T> {
    pub(super) fn new(executor: Executor) -> Self {
        Group {
            executor,
            ended: Arc::new(Ended {
                numbers: Lock::new(VecDeque::new()),
                word: WaitWord::new(0),
            }),
            tasks: BTreeMap::new(),
            next_number: 0,
        }
    }

    /// Submits a task to the group's executor, by the pool's policy.
    pub fn submit<F>(&mut self, f: F) -> Result<TaskRef, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        self.submit_with(Patience::Policy, f)
    }

    pub(super) fn submit_with<F>(&mut self, patience: Patience, f: F) -> Result<TaskRef, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        let task = self.executor.submit_with(Options::default(), patience, f)?;
        let reference = task.task_ref();
        let number = self.next_number;
        self.next_number += 1;
        let bell = Bell {
            number,
            ended: self.ended.clone(),
        };
        if !task.watch(&Waker::from(Arc::new(bell))) {
            self.ended.add(number);
        }
        self.tasks.insert(number, task);
        Ok(reference)
    }

    /// Waits for the next task to end; `None` when all have been read. From inside a task of the same pool, tasks of the
    /// group that still wait are run here. If that task is asked to stop, if the wait could never end, or if its worker must
    /// not block ([`PoolBuilder::on_blocking`](crate::PoolBuilder::on_blocking)), the answer is an error
    /// ([`JoinError::is_interrupted`], [`JoinError::is_would_deadlock`], [`JoinError::is_blocking`]) with a task that has not
    /// ended, and stays in the group.
    #[allow(
        clippy::should_implement_trait,
        reason = "it waits, and the group can be filled between two calls"
    )]
    pub fn next(&mut self) -> Option<(TaskRef, Result<T, JoinError>)> {
        match self.await_end(None) {
            Ok(number) => self.read(number),
            Err(idle) => self.unended(idle.error()?),
        }
    }

    /// As [`Group::next`], for at most `limit` on the pool's clock.
    #[allow(clippy::type_complexity, reason = "the two layers of `next`, and the limit")]
    pub fn next_timeout(
        &mut self,
        limit: Duration,
    ) -> Result<Option<(TaskRef, Result<T, JoinError>)>, Timeout> {
        let deadline = deadline_after(self.executor.engine().clock.tick(), limit).unwrap_or(Tick::MAX);
        match self.await_end(Some(deadline)) {
            Ok(number) => Ok(self.read(number)),
            Err(Idle::TimedOut) => Err(Timeout),
            Err(idle) => Ok(idle.error().and_then(|error| self.unended(error))),
        }
    }

    /// A task that has ended already, if there is one.
    pub(super) fn next_ended(&mut self) -> Option<Result<T, JoinError>> {
        let number = self.ended.numbers.lock().pop_front()?;
        self.read(number).map(|(_, outcome)| outcome)
    }

    /// Cancels all that have not ended; [`Group::next`] then gives them as cancelled.
    pub fn cancel(&mut self) {
        cancel_all(self.tasks.values());
    }

    /// Tasks that have not been read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether all have been read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    fn read(&mut self, number: u64) -> Option<(TaskRef, Result<T, JoinError>)> {
        let task = self.tasks.remove(&number)?;
        Some((task.task_ref(), task.join()))
    }

    fn unended(&self, error: JoinError) -> Option<(TaskRef, Result<T, JoinError>)> {
        let first = self.tasks.values().next()?;
        Some((first.task_ref(), Err(error)))
    }

    /// What a wait for the next end waits for. A large group is not looked through: most of it would have to be stuck.
    fn awaits(&self) -> Awaits {
        if self.tasks.len() > 64 {
            return Awaits::Unknown;
        }
        // SAFETY: the handle is a share.
        let awaited = |task: &TaskHandle<T>| Awaited::task(unsafe { task.share().as_ref() });
        Awaits::OneOf(self.tasks.values().map(awaited).collect())
    }

    /// The number of the next task to end.
    fn await_end(&mut self, deadline: Option<Tick>) -> Result<u64, Idle> {
        let engine = self.executor.engine();
        here(|here| {
            let mut may_block = None;
            loop {
                let seen = self.ended.word.load() & !NUDGE;
                if let Some(number) = self.ended.numbers.lock().pop_front() {
                    return Ok(number);
                }
                if self.tasks.is_empty() {
                    return Err(Idle::Empty);
                }
                // SAFETY: the handles are shares, and stay in the map meanwhile.
                let run = |task: &TaskHandle<T>| unsafe { spare::run_in_place(here, task.share()) };
                if deadline.is_none() && self.tasks.values().any(run) {
                    continue;
                }
                if deadline.is_some_and(|deadline| deadline <= engine.clock.tick()) {
                    return Err(Idle::TimedOut);
                }
                // Once: what follows is one wait, however often it is woken.
                if !*may_block.get_or_insert_with(|| spare::may_block(here)) {
                    return Err(Idle::Blocking);
                }
                let token = here.token();
                let alarm = token
                    .as_ref()
                    .filter(|_| spare::is_worker(here))
                    .map(Token::child);
                let wait = Wait {
                    word: &self.ended.word,
                    mask: !NUDGE,
                    expected: seen,
                    interrupt: alarm.as_ref().or(token.as_ref()),
                    deadline,
                };
                let sleep = Sleep {
                    part: Some(engine.identity()),
                    awaits: self.awaits(),
                    wait: &wait,
                    over: 0,
                    taken: None,
                    alarm: alarm.clone(),
                };
                let waked = spare::lend(here, sleep).map(|_lent| engine.clock.wait(&wait, here.place()));
                match waked {
                    Ok(Waked::Ready) => {}
                    Ok(Waked::TimedOut) => return Err(Idle::TimedOut),
                    Ok(Waked::Interrupted) if token.is_some_and(|token| token.is_cancelled()) => {
                        return Err(Idle::Interrupted);
                    }
                    Ok(Waked::Interrupted) | Err(Stuck) => {
                        // SAFETY: as above.
                        let run = |task: &TaskHandle<T>| unsafe {
                            spare::run_strangers_in_place(here, task.share())
                        };
                        if !self.tasks.values().any(run) {
                            return Err(Idle::WouldDeadlock);
                        }
                    }
                }
            }
        })
    }
}

impl<T> Drop for Group<T> {
    fn drop(&mut self) {
        cancel_all(self.tasks.values());
    }
}

/// From the newest on: a running one that ends because of it must not make room for a waiting one.
pub(super) fn cancel_all<'a, T: 'a>(tasks: impl DoubleEndedIterator<Item = &'a TaskHandle<T>>) {
    for task in tasks.rev() {
        let _ = task.cancel();
    }
}

impl<T> fmt::Debug for Group<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = self.tasks.values().filter(|task| task.is_finished()).count();
        write!(f, "Group({ended} of {} ended)", self.tasks.len())
    }
}
