//! The verbs for futures: spawn, block on.
//!
//! In: futures. Out: accepted, with a handle, or given back. A future comes in as a closure does: once, with a permit, by the
//! pool's policy. From then on it needs none: see [`pool::futures`](crate::pool). Not here: what runs inside a future
//! ([`crate::future`]).

#![allow(unsafe_code)]

use super::{Executor, rejected};
use crate::handle::TaskHandle;
use crate::pool::admit::Refused;
use crate::pool::engine::Engine;
use crate::pool::reject::Patience;
use crate::task::block::{Entry, Options};
use crate::task::parker::{WOKEN, drive_with};
use crate::task::{Class, here};
use crate::time::{Wait, Waked};
use crate::worker::spare::{self, Awaits, Sleep};
use crate::{JoinError, Rejected};
use std::future::Future;
use std::pin::pin;
use std::task::Context;

impl Executor {
    /// Runs a future on these threads: it is polled by a worker, and again each time somebody wakes it. The handle gives its
    /// output, here or in another future.
    ///
    /// It comes in as a closure does: it takes a place in the queue until its first poll, and a full pool answers by its policy
    /// (where that is [`Reject::CallerRuns`](crate::Reject::CallerRuns), the future comes back instead). A future that was woken needs no place
    /// and cannot be refused; it waits at the end of its level, or of its view's line. In a view the rule holds for each
    /// poll: a suspended future frees its slot.
    ///
    /// Cancelling a future that has begun drops it, on a worker, at once if it is suspended or after the poll in progress;
    /// [`Pool::stop`](crate::Pool::stop) does the same to all of them. [`Pool::close`](crate::Pool::close) waits for them. One that nobody can
    /// wake any more, whose handle and references are gone too, is dropped and counted as cancelled.
    ///
    /// ```
    /// use punctual::{Pool, future};
    /// use std::time::Duration;
    ///
    /// let pool = Pool::fixed(2)?;
    /// let sum = pool.spawn(async {
    ///     future::sleep(Duration::from_millis(1)).await; // no thread waits for this
    ///     2 + 2
    /// })?;
    /// assert_eq!(sum.join()?, 4);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[inline]
    pub fn spawn<Fut>(&self, fut: Fut) -> Result<TaskHandle<Fut::Output>, Rejected<Fut>>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        if self.is_special() {
            return self.spawn_with(Options::default(), fut);
        }
        let class = self.class.future();
        let entry = Entry::future(self.engine().origin(class), true, None, (), fut);
        self.spawn_entry(class, entry, |engine, class, entry| engine.admit(class, entry))
    }

    /// Drives a future on the calling thread, which sleeps while it is not ready; what sleeps inside of it goes by this
    /// executor's clock. On a worker a spare thread stands in meanwhile, as for a join. `Err`: the task that calls was asked to
    /// stop ([`is_interrupted`](crate::JoinError::is_interrupted)), its worker must not block
    /// ([`is_blocking`](crate::JoinError::is_blocking)), or this process is a fork of the pool's.
    ///
    /// ```
    /// use punctual::{Pool, future};
    /// use std::time::Duration;
    /// let pool = Pool::fixed(1)?;
    /// let task = pool.submit(|| 20)?;
    /// let sum = pool.block_on(async {
    ///     future::sleep(Duration::from_millis(1)).await;
    ///     task.await.map(|twenty| twenty + 1)
    /// })??;
    /// assert_eq!(sum, 21);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn block_on<Fut: Future>(&self, fut: Fut) -> Result<Fut::Output, JoinError> {
        if self.engine().is_forked() {
            return Err(JoinError::forked());
        }
        let clock = &self.engine().clock;
        let mut fut = pin!(fut);
        let token = here(|here| here.token());
        let mut may_block = None;
        let poll = |context: &mut Context<'_>| fut.as_mut().poll(context);
        let output = drive_with(clock, poll, |word, deadline| {
            if !*may_block.get_or_insert_with(|| here(spare::may_block)) {
                return false;
            }
            let wait = Wait {
                word,
                mask: WOKEN,
                expected: 0,
                interrupt: token.as_ref(),
                deadline,
            };
            here(|here| {
                let sleep = Sleep {
                    part: None,
                    awaits: Awaits::Unknown,
                    wait: &wait,
                    over: 0,
                    taken: None,
                    alarm: None,
                };
                let _lent = spare::lend(here, sleep);
                clock.wait(&wait, here.place()) != Waked::Interrupted
            })
        });
        output.ok_or_else(|| match may_block {
            Some(false) => JoinError::blocking(),
            _ => JoinError::interrupted(),
        })
    }

    #[inline(never)]
    pub(super) fn spawn_with<Fut>(
        &self,
        options: Options,
        fut: Fut,
    ) -> Result<TaskHandle<Fut::Output>, Rejected<Fut>>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let patience = options.expires_in;
        let options = match self.prepare(options) {
            Ok(options) => options,
            Err(reason) => return Err(Rejected::new(fut, reason)),
        };
        let class = self.class_of(options.priority).future();
        let name = self.name_for_record(&options);
        let options = self.measured(class, Some(options));
        let entry = Entry::future(self.origin(class), true, options, (), fut);
        let handle = self.spawn_entry(class, entry, |engine, class, entry| {
            let at = engine.record_tick();
            let admitted = engine.admit_any(class, entry)?;
            self.note_submitted::<Fut>(class, name.as_deref(), at);
            Ok(admitted)
        })?;
        if let Some(limit) = patience {
            self.engine().expire_in(handle.task_ref().reference(), limit);
        }
        Ok(handle)
    }

    /// Gets a block in that was made for this future, with a handle.
    #[inline]
    fn spawn_entry<Fut>(
        &self,
        class: Class,
        entry: Entry,
        admit: impl FnOnce(&crate::sync::Arc<Engine>, Class, Entry) -> Result<bool, Refused<Entry>>,
    ) -> Result<TaskHandle<Fut::Output>, Rejected<Fut>>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let block = entry.pointer();
        let admitted = match admit(self.engine(), class, entry) {
            Ok(woke) => Ok(woke),
            Err(refused) => self.engine().answer(class, refused, Patience::Policy),
        };
        match admitted {
            // SAFETY: the block was made with a handle's share for this output, and this is that handle.
            Ok(woke) => Ok(unsafe { TaskHandle::new(block, woke) }),
            // SAFETY: refused, so it was never published; the types are those it was made with.
            Err(refused) => Err(rejected(refused, |entry| unsafe {
                entry.unmake_future::<(), Fut>()
            })),
        }
    }
}
