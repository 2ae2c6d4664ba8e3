//! The verbs that give a handle: `submit`, and those that wait for room.
//!
//! In: closures. Out: accepted, with a handle, or given back. Each is a block, made before it is let in and unmade if it is
//! refused. Not here: what the options of a task are ([`task_builder`](super::task_builder)).

#![allow(unsafe_code)]

use super::{Executor, rejected};
use crate::Rejected;
use crate::handle::TaskHandle;
use crate::pool::admit::Refused;
use crate::pool::engine::Engine;
use crate::pool::line::Permit;
use crate::pool::reject::Patience;
use crate::sync::Arc;
use crate::task::block::{Entry, Options};
use crate::task::{Class, budget};
use std::future::Future;
use std::time::Duration;

impl Executor {
    /// Runs `f` some time soon; the handle gives its result.
    #[inline]
    pub fn submit<F, T>(&self, f: F) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if self.is_special() {
            return self.submit_specially(f);
        }
        // No view and no options, so there is nothing to choose.
        let entry = Entry::new(self.engine().origin(self.class), true, None, f);
        // A closure and not the function's name: that would be called through a copy of its own.
        let admit = |engine: &Arc<Engine>, class, entry| engine.admit(class, entry);
        self.submit_entry(self.class, entry, Patience::Policy, admit)
    }

    #[inline(never)]
    fn submit_specially<F, T>(&self, f: F) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if self.is_only_recorded() {
            let entry = Entry::new(self.engine().origin(self.class), true, None, f);
            return self.submit_entry(self.class, entry, Patience::Policy, |engine, class, entry| {
                let at = engine.record_tick();
                let admitted = engine.admit(class, entry)?;
                self.note_submitted::<F>(class, None, at);
                Ok(admitted)
            });
        }
        if self.engine().is_special() {
            return self.submit_with(Options::default(), Patience::Policy, f);
        }
        // A view, and nothing else.
        let (block, admitted) = self.enter_view(true, f);
        let woke = match admitted {
            Ok(woke) => woke,
            Err(refused) => self.answer_entry::<F, T>(self.class, refused, Patience::Policy)?,
        };
        // SAFETY: as in `submit_entry`.
        Ok(unsafe { TaskHandle::new(block, woke) })
    }

    /// As [`Executor::submit`], but waits for room, at most `limit` on the pool's clock, whatever the pool's policy; then
    /// `f` comes back. Those who wait are served in order.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = punctual::Pool::builder("p").core_threads(1).queue(punctual::Queue::bounded(1)).build()?;
    /// for _ in 0..100 {
    ///     drop(pool.submit_timeout(Duration::from_secs(10), || 1 + 1)?); // never more than one waits
    /// }
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn submit_timeout<F, T>(&self, limit: Duration, f: F) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.submit_with(Options::default(), Patience::Within(limit), f)
    }

    /// As [`Executor::submit`], as a future that waits for room instead of being refused. It does nothing until it is
    /// polled; from then on it stands in line with those of [`Executor::submit_timeout`]. Dropping it gives the place up.
    pub fn submit_async<F, T>(
        &self,
        f: F,
    ) -> impl Future<Output = Result<TaskHandle<T>, Rejected<F>>> + Send + use<F, T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let executor = self.clone();
        // Captured here, in the submitter's context; the future may be polled elsewhere.
        let prepared = self.prepare(Options::default());
        let class = self.class_of(None);
        async move {
            budget::turn().await;
            let options = match prepared {
                Ok(options) => options,
                Err(reason) => return Err(Rejected::new(f, reason)),
            };
            if executor.engine().is_adapter() {
                // There is no line: whoever runs its tasks takes this one, or gives it back.
                let entry = executor.entry(class, true, Some(options), f);
                return executor.submit_entry(class, entry, Patience::Policy, Engine::admit_any);
            }
            match executor.engine().wait_in_line().await {
                Ok(permit) => executor.submit_granted(class, options, permit, f),
                Err(reason) => {
                    executor.engine().count_refused(&reason, 1);
                    Err(Rejected::new(f, reason))
                }
            }
        }
    }

    /// Publishes a task with a permit that the line gave out.
    fn submit_granted<F, T>(
        &self,
        class: Class,
        options: Options,
        permit: Permit,
        f: F,
    ) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let entry = self.entry(class, true, Some(options), f);
        let block = entry.pointer();
        let at = self.engine().record_tick();
        match self.engine().publish(class, entry, true, permit) {
            Ok(woke) => {
                self.note_submitted::<F>(class, None, at);
                // SAFETY: as in `submit_entry`.
                Ok(unsafe { TaskHandle::new(block, woke) })
            }
            Err(refused) => {
                self.engine().count_refused(&refused.reason, 1);
                // SAFETY: as in `answer_entry`.
                Err(rejected(refused, |entry| unsafe { entry.unmake::<(), F, T>() }))
            }
        }
    }

    pub(crate) fn submit_with<F, T>(
        &self,
        options: Options,
        patience: Patience,
        f: F,
    ) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let patience_in_queue = options.expires_in;
        let options = match self.prepare(options) {
            Ok(options) => options,
            Err(reason) => return Err(Rejected::new(f, reason)),
        };
        let class = self.class_with(&options);
        let name = self.name_for_record(&options);
        let entry = self.entry(class, true, Some(options), f);
        let handle = self.submit_entry(class, entry, patience, |engine, class, entry| {
            let at = engine.record_tick();
            let admitted = engine.admit_any(class, entry)?;
            self.note_submitted::<F>(class, name.as_deref(), at);
            Ok(admitted)
        })?;
        if let Some(limit) = patience_in_queue {
            self.engine().expire_in(handle.task_ref().reference(), limit);
        }
        Ok(handle)
    }

    /// Gets a block in that was made for an `F` with a handle.
    #[inline]
    fn submit_entry<F, T>(
        &self,
        class: Class,
        entry: Entry,
        patience: Patience,
        admit: impl FnOnce(&Arc<Engine>, Class, Entry) -> Result<bool, Refused<Entry>>,
    ) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let block = entry.pointer();
        let woke = match admit(self.engine(), class, entry) {
            Ok(woke) => woke,
            Err(refused) => self.answer_entry::<F, T>(class, refused, patience)?,
        };
        // SAFETY: the block was made with a handle's share for an `FnOnce() -> T`, and this is that handle.
        Ok(unsafe { TaskHandle::new(block, woke) })
    }

    /// What the pool's policy says to a block that was not let in.
    #[cold]
    #[inline(never)]
    fn answer_entry<F, T>(
        &self,
        class: Class,
        refused: Refused<Entry>,
        patience: Patience,
    ) -> Result<bool, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let answer = self.engine().answer(class, refused, patience);
        // SAFETY: refused, so it was never published; the types are those it was made with.
        answer.map_err(|refused| rejected(refused, |entry| unsafe { entry.unmake::<(), F, T>() }))
    }
}
