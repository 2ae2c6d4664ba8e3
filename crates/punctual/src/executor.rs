//! [`Executor`]: every verb, once.
//!
//! In: closures. Out: accepted, with or without a handle, or given back. A pool derefs to this type, and functions
//! take it as their argument: a place to run work. Beside this file: what has a time ([`timed`]), what has options
//! ([`task_builder`]), what has threads of its own ([`apart`]). Not here: what a pool alone can do (closing, statistics).

#![allow(unsafe_code)]

mod adapter;
mod apart;
mod keyed;
#[cfg(feature = "tracing")]
mod spans;
mod spawn;
mod task_builder;
mod timed;
mod views;
mod weak;

use crate::handle::TaskHandle;
use crate::pool::admit::Refused;
use crate::pool::engine::Engine;
use crate::pool::fork;
use crate::pool::keys::Key;
use crate::pool::line::Permit;
use crate::pool::owner::{Owner, Share};
use crate::pool::reject::Patience;
use crate::sync::Arc;
use crate::task::block::{Entry, Options, Origin};
use crate::task::home::HomeRef;
use crate::task::record::{Arrival, Boxed, Inline, Payload, fits_inline};
use crate::task::view::View;
use crate::task::watch::Limits;
use crate::task::{Class, Priority, budget, here};
use crate::time::Tick;
use crate::{Reason, Rejected};
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::time::Duration;

pub use crate::worker::section::blocking_section;
pub use task_builder::TaskBuilder;
pub use weak::WeakExecutor;

/// A place to run work. Clones share it, and each keeps the pool open.
///
/// ```
/// use punctual::{Executor, Pool};
///
/// fn resize_images(on: &Executor) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     on.execute(|| println!("small"))?;
///     on.execute(|| println!("large"))?;
///     Ok(())
/// }
///
/// let pool = Pool::fixed(2)?;
/// resize_images(&pool)?;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Executor {
    share: Share,
    /// The rule its tasks are under; `None` for the pool itself. With one, or with a key, `class` says so.
    view: Option<Arc<View>>,
    /// The key of its tasks inside that view; see [`keyed`].
    key: Option<Key>,
    /// What its tasks are, unless they say otherwise.
    class: Class,
    /// The process generation in which a submission needs no more than the common way; none for a view, whose tasks
    /// are always blocks, and go through its gate.
    plain_generation: u32,
}

impl Executor {
    pub(crate) fn of(owner: Arc<Owner>) -> Self {
        Executor::part(owner.engine.clone(), owner)
    }

    /// A part of a pool, its own threads or an annex, that this owner keeps open.
    fn part(engine: Arc<Engine>, owner: Arc<Owner>) -> Self {
        let mut class = Class::ROOT;
        if engine.room.is_levelled() {
            class = class.levelled();
        }
        if engine.room.locals().is_some() {
            class = class.local();
        }
        Executor {
            view: None,
            key: None,
            class,
            plain_generation: engine.plain_generation(),
            share: Share::new(engine, owner),
        }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        self.share.engine()
    }

    /// Runs `f` some time soon, and forgets it. If it panics, the pool's failure sink is told.
    #[inline]
    pub fn execute<F>(&self, f: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        if const { fits_inline::<F>() } {
            match self
                .engine()
                .admit_plain(self.is_special(), self.class, Inline::new(f))
            {
                Ok(_) => Ok(()),
                Err(refused) => self.execute_otherwise(refused, Inline::into_inner),
            }
        } else {
            // Boxed before anything is locked.
            match self
                .engine()
                .admit_plain(self.is_special(), self.class, Boxed(Box::new(f)))
            {
                Ok(_) => Ok(()),
                Err(refused) => self.execute_otherwise(refused, |boxed| *boxed.0),
            }
        }
    }

    /// A task that needs more than the common way, or what the pool's policy says to one that was not let in.
    #[cold]
    #[inline(never)]
    fn execute_otherwise<F, P: Payload>(
        &self,
        refused: Refused<P>,
        unwrap: impl FnOnce(P) -> F,
    ) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        if self.is_special() && !self.is_only_recorded() {
            let f = unwrap(refused.payload);
            return if self.engine().is_special() {
                self.execute_with(Options::default(), f)
            } else {
                self.execute_in_view(f)
            };
        }
        let refused = if self.is_special() {
            let at = self.engine().record_tick();
            let Err(refused) = self.engine().admit(self.class, refused.payload) else {
                self.note_submitted::<F>(self.class, None, at);
                return Ok(());
            };
            refused
        } else {
            refused
        };
        match self.engine().answer(self.class, refused, Patience::Policy) {
            Ok(_) => Ok(()),
            Err(refused) => Err(rejected(refused, unwrap)),
        }
    }

    /// Whether the recorder is all that makes it special.
    fn is_only_recorded(&self) -> bool {
        self.engine().is_only_recorded() && !self.class.is_viewed()
    }

    /// Runs all of them, in order. Accepts the prefix that fits, many under one lock; for each of the others it asks the
    /// pool's policy. What is refused comes back, with all that follows, for which the iterator is run to its end. `Ok`:
    /// how many there were.
    pub fn execute_all<F, I>(&self, jobs: I) -> Result<usize, Rejected<Vec<F>>>
    where
        I: IntoIterator<Item = F>,
        F: FnOnce() + Send + 'static,
    {
        let mut jobs = jobs.into_iter();
        let mut accepted = 0;
        loop {
            // A piece at a time: what is accepted does not have to be in memory twice as a whole.
            let piece: Vec<F> = jobs.by_ref().take(PIECE).collect();
            if piece.is_empty() {
                return Ok(accepted);
            }
            accepted += piece.len();
            if let Err(refused) = self.execute_piece(piece) {
                let refused = refused.map(|mut rest| {
                    rest.extend(jobs);
                    rest
                });
                // The first was counted where it was refused.
                let others = refused.task().len() - 1;
                self.engine().count_refused(refused.reason(), others);
                return Err(refused);
            }
        }
    }

    fn execute_piece<F>(&self, piece: Vec<F>) -> Result<(), Rejected<Vec<F>>>
    where
        F: FnOnce() + Send + 'static,
    {
        if self.is_special() {
            let mut piece = piece.into_iter();
            while let Some(f) = piece.next() {
                self.execute_with(Options::default(), f).map_err(|refused| {
                    refused.map(|first| std::iter::once(first).chain(piece.by_ref()).collect())
                })?;
            }
            Ok(())
        } else if const { fits_inline::<F>() } {
            self.admit_piece(piece, Inline::new, Inline::into_inner)
        } else {
            self.admit_piece(piece, |f| Boxed(Box::new(f)), |boxed| *boxed.0)
        }
    }

    fn admit_piece<F, P: Payload>(
        &self,
        piece: Vec<F>,
        wrap: impl FnMut(F) -> P,
        mut unwrap: impl FnMut(P) -> F,
    ) -> Result<(), Rejected<Vec<F>>> {
        let mut payloads = piece.into_iter().map(wrap).collect::<Vec<_>>().into_iter();
        loop {
            let Err(refused) = self.engine().admit_many(self.class, &mut payloads) else {
                return Ok(());
            };
            if let Err(refused) = self.engine().answer(self.class, refused, Patience::Policy) {
                let rest = |first| std::iter::once(first).chain(payloads).map(&mut unwrap).collect();
                return Err(rejected(refused, rest));
            }
        }
    }

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
                // SAFETY: as in `submit_with`.
                Ok(unsafe { TaskHandle::new(block, woke) })
            }
            Err(refused) => {
                self.engine().count_refused(&refused.reason, 1);
                // SAFETY: as in `submit_with`.
                Err(rejected(refused, |entry| unsafe { entry.unmake::<(), F, T>() }))
            }
        }
    }

    /// The same place at another priority: every task of it that names none has this one. In a queue without levels it
    /// changes nothing but what hooks are told.
    ///
    /// ```
    /// use punctual::{Pool, Priority, Queue};
    /// let pool = Pool::builder("orders").core_threads(1).queue(Queue::priority(1_000)).build()?;
    /// let reports = pool.at_priority(Priority::LOW);
    /// let seen = reports.submit(|| punctual::task::current().unwrap().priority())?;
    /// assert_eq!(seen.join()?, Priority::LOW);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn at_priority(&self, priority: Priority) -> Executor {
        Executor {
            class: self.class.with_priority(priority),
            ..self.clone()
        }
    }

    /// What a task submitted here is: of its own priority, or this executor's, or where the pool says so its parent's.
    pub(crate) fn class_of(&self, own: Option<Priority>) -> Class {
        if let Some(priority) = own {
            return self.class.with_priority(priority);
        }
        if !self.class.is_given() && self.engine().config.inherits_priority {
            let engine = self.engine();
            // One of the same pool, whatever part of it.
            let is_ours =
                |home: &HomeRef| std::ptr::eq(home, &raw const engine.home) || engine.part_at(home).is_some();
            let parent = here(|here| here.class_in(is_ours));
            if let Some(parent) = parent {
                return self.class.inheriting(parent.priority());
            }
        }
        self.class
    }

    /// As [`Executor::class_of`], of a task with options.
    fn class_with(&self, options: &Options) -> Class {
        let class = self.class_of(options.priority);
        if options.is_shared { class.shared() } else { class }
    }

    /// A task with options: a name, a token.
    #[track_caller]
    pub fn task<F>(&self, f: F) -> TaskBuilder<'_, F> {
        TaskBuilder::new(self, f)
    }

    /// A reference that does not keep the pool open.
    #[must_use]
    pub fn downgrade(&self) -> WeakExecutor {
        WeakExecutor {
            engine: Arc::downgrade(self.engine()),
            owner: Arc::downgrade(self.share.owner()),
            view: self.view.clone(),
            key: self.key,
            class: self.class,
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

    /// A closure with options but without a handle: a block whose handle is gone from the start.
    fn execute_with<F, T>(&self, options: Options, f: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let options = match self.prepare(options) {
            Ok(options) => options,
            Err(reason) => return Err(Rejected::new(f, reason)),
        };
        self.execute_block(self.class_with(&options), Some(options), f)
    }

    /// As [`Executor::execute_with`] for a view, without options.
    #[inline]
    fn execute_in_view<F>(&self, f: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        let (_, admitted) = self.enter_view(false, f);
        match admitted {
            Ok(_) => Ok(()),
            Err(refused) => {
                let answered = self.engine().answer(self.class, refused, Patience::Policy);
                // SAFETY: as in `submit_with`.
                answered
                    .map(drop)
                    .map_err(|refused| rejected(refused, |entry| unsafe { entry.unmake::<(), F, ()>() }))
            }
        }
    }

    fn execute_block<F, T>(&self, class: Class, options: Option<Options>, f: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let name = options.as_ref().and_then(|options| self.name_for_record(options));
        let entry = self.entry(class, false, options, f);
        let at = self.engine().record_tick();
        let admitted = match self.engine().admit_any(class, entry) {
            Ok(_) => {
                self.note_submitted::<F>(class, name.as_deref(), at);
                Ok(false)
            }
            Err(refused) => self.engine().answer(class, refused, Patience::Policy),
        };
        // SAFETY: as in `submit_with`.
        admitted
            .map(drop)
            .map_err(|refused| rejected(refused, |entry| unsafe { entry.unmake::<(), F, T>() }))
    }

    /// A copy of the task's name, where the recorder will want it.
    pub(crate) fn name_for_record(&self, options: &Options) -> Option<Cow<'static, str>> {
        self.engine().recording.as_ref()?;
        options.name.clone()
    }

    /// Where the pool records: a task of this type was accepted, which was brought at that time.
    pub(crate) fn note_submitted<F>(&self, class: Class, name: Option<&str>, at: Option<Tick>) {
        self.engine().note_submitted(at, |recording| {
            let room = &self.engine().room;
            let level = room.is_levelled().then(|| room.level_of(class));
            recording.subject(std::any::type_name::<F>(), 0, name, level)
        });
    }

    /// What a submission needs beyond the common way: in a forked child it is refused; waiters go by a manual clock;
    /// decorators capture their context.
    #[cold]
    pub(crate) fn prepare(&self, mut options: Options) -> Result<Options, Reason> {
        if self.engine().is_forked() {
            return Err(Reason::Forked);
        }
        let engine = self.engine();
        let has_limits = options.expires_in.is_some() || options.limits != Limits::default();
        if has_limits && engine.is_adapter() {
            return Err(Reason::NoTimer);
        }
        if engine.clock.is_manual() {
            options.clock = Some(engine.clock.clone());
        }
        if !engine.hooks.decorators.is_empty() {
            options.contexts = Some(engine.hooks.decorators.capture());
        }
        Ok(options)
    }

    #[inline]
    fn entry<F, T>(&self, class: Class, with_handle: bool, options: Option<Options>, f: F) -> Entry
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Entry::new(self.origin(class), with_handle, self.measured(class, options), f)
    }

    /// Whether a submission needs more than the common way: this process is a fork, tasks are decorated, waiters go by a
    /// manual clock, children inherit, or this is a view. One comparison for all.
    #[inline]
    fn is_special(&self) -> bool {
        self.plain_generation != u32::from(fork::generation())
    }

    /// Where a task made now belongs: for one task, which it must become.
    #[inline]
    pub(crate) fn origin(&self, class: Class) -> Origin {
        let origin = self.engine().origin(class);
        match self.own_view() {
            None => origin,
            Some(view) => Origin {
                home: View::lend(view.into_owned()),
                ..origin
            },
        }
    }

    /// Notes when a task of a listed view came, for a sample of them.
    #[inline]
    pub(crate) fn measured(&self, class: Class, options: Option<Options>) -> Option<Options> {
        match &self.view {
            Some(view) if view.is_measured() && !class.is_timed() => self.sampled(view, options),
            _ => options,
        }
    }

    #[inline(never)]
    fn sampled(&self, view: &Arc<View>, mut options: Option<Options>) -> Option<Options> {
        let listed = view.chain().find(|view| view.shown.is_some());
        if let Some(weight) = listed.and_then(|view| view.sample()) {
            let tick = self.engine().clock.tick();
            options.get_or_insert_default().arrival = Some(Arrival { tick, weight });
        }
        options
    }
}

/// How many closures `execute_all` takes from its iterator at a time.
const PIECE: usize = 256;

#[cold]
fn rejected<P, F>(refused: Refused<P>, unwrap: impl FnOnce(P) -> F) -> Rejected<F> {
    Rejected::new(unwrap(refused.payload), refused.reason)
}

/// The whole pool in one line; never waits for a lock.
impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executor of {:?}", self.engine())
    }
}

/// The executor that runs the calling task: the pool, or the view it was submitted to. `None` outside a task, and when the
/// pool has no owner any more. For a task of an [`Executor::reserve`] of which no executor is left: the pool.
///
/// ```
/// let pool = punctual::Pool::fixed(1)?;
/// let child = pool.submit(|| punctual::task::current_executor().unwrap().submit(|| 7).unwrap())?;
/// assert_eq!(child.join()?.join()?, 7);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use]
pub fn current_executor() -> Option<Executor> {
    let home: Arc<dyn Any + Send + Sync> = here(|here| here.home()?.upgrade())?;
    let engine = home.downcast::<Engine>().ok()?;
    let Some(owner) = engine.owner.upgrade() else {
        return engine.root.as_ref()?.owner.upgrade().map(Executor::of);
    };
    let part = Executor::part(engine, owner);
    Some(match here(|here| here.view()) {
        Some(view) => part.in_view(view),
        None => part,
    })
}
