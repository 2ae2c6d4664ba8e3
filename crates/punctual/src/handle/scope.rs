//! [`Scope`]: tasks that borrow from the code around them.
//!
//! In: closures that live as long as `'scope`. Out: `scope` returns when every one of them has been *dropped*, run or
//! not, and every value nobody took too. That, and not the handles, is what makes the borrows sound.
//!
//! How: a scoped task is a [`Work`]: closure, packet for the value, and a [`Pending`] that counts it. Whatever happens to
//! the task (run, panicked, cancelled, stopped, never accepted), its `Work` is consumed or dropped exactly once, in the
//! order closure, value, count. (With a task that a lane's disposal meets in the hands of a worker this is kept by
//! [`handle::cancel`](mod@super::cancel).) The brace waits for the count. The block a task lies in may outlive the scope (a dead
//! entry in the queue, a reference), but by then it holds nothing that borrows: its own result is `()`. `stop` and
//! `drain` cancel scoped tasks instead of giving them out, because an `Unrun` could outlive the scope.

#![allow(unsafe_code)]

use super::task_handle::TaskHandle;
use super::task_ref::TaskRef;
use crate::pool::reject::Patience;
use crate::sync::atomic::Ordering::AcqRel;
use crate::sync::unmodelled::{AtomicUsize, Relaxed};
use crate::sync::wait::NUDGE;
use crate::sync::{Arc, Lock, WaitWord};
use crate::task::block::{Entry, Header, Options};
use crate::task::record::Slot;
use crate::task::side::next_id;
use crate::task::state::Claim;
use crate::task::{Here, here, panic_text};
use crate::time::Wait;
use crate::worker::spare::{self, Awaits, Sleep};
use crate::{Executor, JoinError};
use std::any::Any;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

/// The brace's bit in [`Shared::pending`]: it sleeps there.
const SLEEPS: u32 = 1 << 30;
/// A scope that has so many tasks runs further ones where they are submitted. Half of what the count has room for: the rest is
/// for threads that look at the count at the same time.
const MOST_PENDING: u32 = SLEEPS / 2;

/// What a scope and its tasks share.
struct Shared {
    /// Tasks whose closure lives, and whether the brace sleeps.
    pending: WaitWord,
    /// The first panic that nobody joined.
    panic: Lock<Option<Box<dyn Any + Send>>>,
    /// What tasks with a handle panicked with, as text, until they are joined: all that is left if the handle was leaked.
    texts: Lock<BTreeMap<u64, String>>,
    /// Handles that were dropped before their task ended, by its number; and those of tasks without a handle that panicked.
    unjoined: Lock<Vec<(Option<u64>, TaskHandle<()>)>>,
    /// Where the brace is on a worker of the tasks' pool, and may have to run them itself.
    family: Option<Family>,
}

/// What a brace on a worker knows of its tasks.
struct Family {
    /// Those it may have to run, in the order of submission.
    children: Lock<VecDeque<TaskRef>>,
    /// All whose closures live, by address: what it waits for.
    live: Arc<Lock<HashSet<usize>>>,
}

impl Family {
    fn new() -> Self {
        Family {
            children: Lock::new(VecDeque::new()),
            live: Arc::new(Lock::new(HashSet::new())),
        }
    }
}

impl Shared {
    fn count(&self) -> u32 {
        self.pending.load() & !(NUDGE | SLEEPS)
    }

    /// A task that the brace may have to run itself.
    fn add_child(&self, child: Option<TaskRef>) {
        if let (Some(family), Some(child)) = (&self.family, child) {
            family.children.lock().push_back(child);
            // The brace may have gone to sleep without it; another word, and it looks again. (It looks once more after it
            // has set the bit.)
            if self.pending.0.fetch_and(!SLEEPS, AcqRel) & SLEEPS != 0 {
                self.pending.wake_all();
            }
        }
    }

    fn keep_panic(&self, payload: Box<dyn Any + Send>) {
        let mut panic = self.panic.lock();
        if panic.is_none() {
            *panic = Some(payload);
        } else {
            drop(panic);
            crate::task::discard(payload);
        }
    }
}

/// Counts one task's closure as alive.
struct Pending {
    shared: Arc<Shared>,
    /// The address of the task's block, once there is one; only for a brace on a worker.
    block: Option<Arc<AtomicUsize>>,
}

impl Pending {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.pending.0.fetch_add(1, AcqRel);
        Pending {
            shared: shared.clone(),
            block: shared.family.as_ref().map(|_| Arc::new(AtomicUsize::new(0))),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let (Some(family), Some(block)) = (&self.shared.family, &self.block) {
            family.live.lock().remove(&block.load(Relaxed));
        }
        // Release: what the closure did comes before the brace's return. The last touch of anything borrowed was before.
        let before = self.shared.pending.0.fetch_sub(1, AcqRel);
        if before & SLEEPS != 0 {
            self.shared.pending.wake_all();
        }
    }
}

/// Where a scoped task leaves its value; one that was run without the pool, what it panicked with, too.
struct Packet<T>(Lock<Option<Result<T, Box<dyn Any + Send>>>>);

/// A scoped task. Dropped unrun, its fields go in this order.
struct Work<F, T> {
    closure: F,
    packet: Arc<Packet<T>>,
    pending: Pending,
}

impl<F: FnOnce() -> T, T> Work<F, T> {
    fn run(self) {
        // Unwinding drops these from the last to the first.
        let pending = self.pending;
        let packet = self.packet;
        let value = (self.closure)();
        *packet.0.lock() = Some(Ok(value));
        drop(packet);
        drop(pending);
    }

    /// Here and now, and without the pool.
    fn run_plainly(self) {
        let packet = self.packet.clone();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run())) {
            *packet.0.lock() = Some(Err(panic));
        }
    }
}

/// Where closures that borrow are submitted; made by [`Executor::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    executor: Executor,
    shared: Arc<Shared>,
    /// Invariant, as in `std::thread::scope`: otherwise `'scope` could be made shorter than the tasks live.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl Executor {
    /// Runs `f`, which may submit closures that borrow from the code around it, and returns when all of them have been
    /// dropped. Waits for room; from a worker of a full pool, and after shutdown, the submitter runs them. A panic of a
    /// task that was not joined goes on here, with its payload; of several the one that was seen first. A task that is asked to
    /// stop while it runs ([`Lane::dispose`](crate::Lane::dispose), [`Pool::stop`](crate::Pool::stop)) is waited for, and
    /// its outcome is its own.
    ///
    /// In a forked child, where none of the pool's threads are, each closure runs where it is submitted, at once, without hooks
    /// and without the rules of a view.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(2)?;
    /// let words = vec!["on", "time"];
    /// let mut total = 0;
    /// let longest = pool.scope(|s| {
    ///     s.execute(|| total = words.iter().map(|word| word.len()).sum());
    ///     s.submit(|| words.iter().max_by_key(|word| word.len())).join()
    /// })?;
    /// assert_eq!((total, longest), (6, Some(&"time")));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn scope<'env, F, T>(&self, f: F) -> T
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    {
        let shared = Arc::new(Shared {
            pending: WaitWord::new(0),
            panic: Lock::new(None),
            texts: Lock::new(BTreeMap::new()),
            unjoined: Lock::new(Vec::new()),
            family: self.engine().is_own_thread().then(Family::new),
        });
        let scope = Scope {
            executor: self.clone(),
            shared,
            scope: PhantomData,
            env: PhantomData,
        };
        let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
        scope.await_all();
        match (result, scope.first_panic()) {
            (Ok(value), None) => value,
            (Ok(_), Some(panic)) | (Err(panic), None) => resume_unwind(panic),
            (Err(panic), Some(other)) => {
                crate::task::discard(other);
                resume_unwind(panic)
            }
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Runs `f` on the pool; the handle gives its result. Dropping the handle detaches it only as far as the brace.
    pub fn submit<F, T>(&'scope self, f: F) -> ScopedHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let packet = Arc::new(Packet(Lock::new(None)));
        let number = next_id();
        let shared = self.shared.clone();
        let f = move || match catch_unwind(AssertUnwindSafe(f)) {
            Ok(value) => value,
            Err(panic) => {
                // The text is for the brace, if the handle is leaked; the payload goes the usual way.
                shared.texts.lock().insert(number, panic_text(&*panic).to_owned());
                resume_unwind(panic)
            }
        };
        let admitted = if self.is_forked() {
            self.work(f, packet.clone()).run_plainly();
            None
        } else {
            Some(self.admit(true, self.work(f, packet.clone())))
        };
        ScopedHandle {
            // SAFETY: the block was made with a handle's share for a closure that returns `()`.
            task: admitted.map(|(block, woke)| unsafe { TaskHandle::new(block, woke) }),
            number,
            packet,
            shared: self.shared.clone(),
            scope: PhantomData,
        }
    }

    /// Runs `f` on the pool. If it panics, the panic goes on at the brace; hooks and the failure sink are told as usual, the sink
    /// when the brace is reached.
    pub fn execute<F>(&'scope self, f: F)
    where
        F: FnOnce() + Send + 'scope,
    {
        if self.is_forked() {
            return drop(self.submit(f));
        }
        let shared = self.shared.clone();
        let f = move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
                // For the brace, which takes the payload when the hooks have seen it.
                // SAFETY: this is the body of a task that was made by `admit` without a handle, for a closure that returns `()`.
                let task = here(|here| unsafe { TaskHandle::of_running(here) });
                shared.unjoined.lock().extend(task.map(|task| (None, task)));
                resume_unwind(panic)
            }
        };
        self.admit(false, self.work(f, Arc::new(Packet(Lock::new(None)))));
    }

    /// The pool's threads are those of another process, and its locks may be held for ever.
    fn is_forked(&self) -> bool {
        self.executor.engine().is_forked()
    }

    fn work<F, T>(&self, closure: F, packet: Arc<Packet<T>>) -> Work<F, T> {
        Work {
            closure,
            packet,
            pending: Pending::new(&self.shared),
        }
    }

    /// Gets a task in, or runs it here. The answer's block is good for a handle, if one was asked for.
    fn admit<F, T>(&'scope self, with_handle: bool, work: Work<F, T>) -> (NonNull<Header>, bool)
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let engine = self.executor.engine();
        let options = self.executor.prepare(Options::default()).ok();
        let class = self.executor.class_of(None);
        let is_refused = options.is_none() || self.shared.count() > MOST_PENDING;
        let address = work.pending.block.clone();
        let task = move || work.run();
        let options = self.executor.measured(class, options);
        let origin = self.executor.origin(class);
        // SAFETY: the closure owns a `Pending`, so `scope` does not return before it has been dropped, and `'scope` is
        // longer than that call. Its value is `()`.
        let entry = unsafe { Entry::scoped(origin, with_handle, options, task) };
        let block = entry.pointer();
        let child = address.zip(self.shared.family.as_ref()).map(|(address, family)| {
            address.store(block.addr().get(), Relaxed);
            family.live.lock().insert(block.addr().get());
            // SAFETY: the entry is a share.
            unsafe { TaskRef::new(block) }
        });
        let refused = if is_refused {
            entry
        } else {
            match engine.admit_or_answer(class, entry, Patience::OrHere(None)) {
                Ok(woke) => {
                    // Only now: the brace may take it at once.
                    self.shared.add_child(child);
                    return (block, woke);
                }
                Err(refused) => refused.payload,
            }
        };
        let view = refused.header().view().map(|view| view.clone());
        if let Some(view) = &view {
            engine.enter_as_guest(view, refused.header());
        }
        let claim = refused.header().state.claim();
        debug_assert_eq!(claim, Claim::Won, "a refused task was seen by somebody");
        engine.run_as_guest(&mut Slot::holding(class, refused));
        (block, false)
    }

    /// A task that the brace may run itself: the one that its worker would take next.
    fn next_child(&self) -> Option<TaskRef> {
        let mut children = self.shared.family.as_ref()?.children.lock();
        if self.executor.engine().room.locals().is_some() {
            children.pop_back()
        } else {
            children.pop_front()
        }
    }

    /// Waits until no closure of this scope is left. Nothing ends this wait early: the borrows end with it.
    fn await_all(&self) {
        // Nothing here panics; if it did, whoever borrows would outlive what is borrowed.
        let guard = AbortOnUnwind;
        here(|here| {
            let mut is_noted = false;
            while self.shared.count() > 0 {
                match self.next_child() {
                    // SAFETY: the reference is a share.
                    Some(child) => _ = unsafe { spare::run_child_in_place(here, child.pointer()) },
                    None => {
                        if !std::mem::replace(&mut is_noted, true) {
                            spare::note_blocking(here);
                        }
                        self.sleep(here);
                    }
                }
            }
        });
        std::mem::forget(guard);
    }

    /// Sleeps until something changes.
    fn sleep(&self, here: Here<'_>) {
        let shared = &self.shared;
        let engine = self.executor.engine();
        let seen = shared.pending.0.fetch_or(SLEEPS, AcqRel) | SLEEPS;
        // A child that was added before the bit was set did not wake anybody.
        let is_news = shared
            .family
            .as_ref()
            .is_some_and(|family| !family.children.lock().is_empty());
        if is_news || seen & !(NUDGE | SLEEPS) == 0 {
            return;
        }
        let wait = Wait {
            word: &shared.pending,
            mask: !NUDGE,
            expected: seen & !NUDGE,
            interrupt: None,
            deadline: None,
        };
        // Where nobody could end the wait it must be waited all the same, and somebody else is told.
        let _lent = spare::lend(
            here,
            Sleep {
                part: Some(engine.identity()),
                awaits: match &shared.family {
                    Some(family) => Awaits::All(family.live.clone(), self.executor.passages()),
                    None => Awaits::Unknown,
                },
                wait: &wait,
                over: 0,
                taken: None,
                alarm: None,
            },
        );
        let _ = engine.clock.wait(&wait, here.place());
    }

    /// The first panic that nobody joined.
    fn first_panic(&self) -> Option<Box<dyn Any + Send>> {
        let unjoined = std::mem::take(&mut *self.shared.unjoined.lock());
        for (number, task) in unjoined {
            // Its closure is gone, so its outcome is fixed, or will be in a moment.
            let panic = match number {
                None => task.take_failure(),
                Some(number) => {
                    self.shared.texts.lock().remove(&number);
                    task.join_uninterrupted()
                        .err()
                        .and_then(|error| error.into_panic().ok())
                }
            };
            if let Some(panic) = panic {
                self.shared.keep_panic(panic);
            }
        }
        let panic = self.shared.panic.lock().take();
        // Of tasks whose handle was leaked.
        panic.or_else(|| {
            let (_, text) = self.shared.texts.lock().pop_first()?;
            Some(Box::new(text))
        })
    }
}

/// Ends the process rather than a wait that borrows depend on.
pub(super) struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({} pending)", self.shared.count())
    }
}

/// The receipt for a scoped task's value.
#[must_use = "a scoped task that nobody joins is waited for at the brace"]
pub struct ScopedHandle<'scope, T> {
    /// `None` once joined, and of a task that was run without the pool.
    task: Option<TaskHandle<()>>,
    number: u64,
    packet: Arc<Packet<T>>,
    shared: Arc<Shared>,
    scope: PhantomData<&'scope mut T>,
}

impl<T> ScopedHandle<'_, T> {
    /// Waits for the task and takes its value; as [`TaskHandle::join`]. A panic that is returned here does not go on at
    /// the brace.
    pub fn join(mut self) -> Result<T, JoinError> {
        let Some(mut task) = self.task.take() else {
            self.shared.texts.lock().remove(&self.number);
            return self.take();
        };
        match task.wait_and_take() {
            Ok(()) => self.take(),
            Err(error) => {
                let is_of_the_wait = error.is_interrupted() || error.is_would_deadlock();
                if is_of_the_wait || error.is_forked() || error.is_blocking() {
                    // Not the task's end but the wait's: the task goes on, to the brace.
                    self.task = Some(task);
                } else {
                    self.shared.texts.lock().remove(&self.number);
                }
                Err(error)
            }
        }
    }

    /// What a task that has ended has left.
    fn take(&self) -> Result<T, JoinError> {
        let left = self.packet.0.lock().take();
        left.expect("a task that finished has left its value")
            .map_err(JoinError::panicked)
    }

    /// Whether the outcome is there.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(TaskHandle::is_finished)
    }
}

impl<T> Drop for ScopedHandle<'_, T> {
    fn drop(&mut self) {
        let Some(task) = self.task.take() else {
            // Joined, or run without the pool: then nothing else keeps what it panicked with.
            let left = self.packet.0.lock().take();
            if let Some(Err(panic)) = left {
                self.shared.texts.lock().remove(&self.number);
                self.shared.keep_panic(panic);
            }
            return;
        };
        if !task.is_settled() {
            self.shared.unjoined.lock().push((Some(self.number), task));
        }
    }
}

impl<T> fmt::Debug for ScopedHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopedHandle({:?})", self.task)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Pool;

    /// Beyond that the count would run into the bit beside it, and the brace would be reached too early.
    #[test]
    fn a_scope_with_as_many_tasks_as_it_can_count_runs_further_ones_where_they_are_submitted() {
        let pool = Pool::fixed(1).unwrap();
        let thread = crate::sync::this_thread;
        pool.scope(|s| {
            s.shared.pending.0.fetch_add(MOST_PENDING, AcqRel);
            let ran_on: Vec<_> = (0..3).map(|_| s.submit(thread).join().unwrap()).collect();
            // Before any assertion: the brace waits for the count.
            s.shared.pending.0.fetch_sub(MOST_PENDING, AcqRel);
            assert_eq!(ran_on, [thread(); 3]);
            assert_ne!(s.submit(thread).join().unwrap(), thread(), "there is room again");
        });
    }
}
