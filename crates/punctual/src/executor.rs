//! [`Executor`]: a place to run work. Its verbs stand in the files beside this one, each once.
//!
//! In: closures and futures. Out: accepted, with or without a handle, or given back. A pool derefs to this type, and functions
//! take it as their argument. Beside this file: what is forgotten ([`execute`]), what has a handle ([`submit`]), what is a future
//! ([`spawn`]), what has a time ([`timed`]), what has options ([`task_builder`]), what has threads of its own ([`apart`]), what
//! keeps to a rule ([`views`]); and what they all ask first ([`prepare`]). Not here: what a pool alone can do (closing,
//! statistics).

mod adapter;
mod apart;
mod execute;
mod keyed;
mod prepare;
#[cfg(feature = "tracing")]
mod spans;
mod spawn;
mod submit;
mod task_builder;
mod timed;
mod views;
mod weak;

use crate::Rejected;
use crate::pool::admit::Refused;
use crate::pool::engine::Engine;
use crate::pool::fork;
use crate::pool::keys::Key;
use crate::pool::owner::{Owner, Share};
use crate::sync::Arc;
use crate::task::view::View;
use crate::task::{Class, Priority, here};
use std::any::Any;
use std::fmt;

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

    /// Whether the recorder is all that makes it special.
    fn is_only_recorded(&self) -> bool {
        self.engine().is_only_recorded() && !self.class.is_viewed()
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

    /// Whether a submission needs more than the common way: this process is a fork, tasks are decorated, waiters go by a
    /// manual clock, children inherit, or this is a view. One comparison for all.
    #[inline]
    fn is_special(&self) -> bool {
        self.plain_generation != u32::from(fork::generation())
    }
}

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
