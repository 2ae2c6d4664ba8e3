//! The share that owners hold: when the last of them goes, the pool does what it was told to do.
//!
//! In: the drop of the last [`Pool`](crate::Pool) or [`Executor`](crate::Executor). Out: closed and waited for,
//! stopped, or left to finish alone. The drop never waits on a worker of its own pool (it would wait for itself), nor in a task of
//! another pool for which a task of its own pool waits, nor while the thread is panicking (a test that fails should say so, not
//! hang), nor in a forked child (the pool's threads are not there).

#![allow(unsafe_code)]

use super::engine::Engine;
use super::life::Waited;
use crate::sync::Arc;
use std::mem::ManuallyDrop;

/// What happens when the last owner of a pool is dropped.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDrop {
    /// Shut down and wait for what was accepted: nothing is lost. The default.
    #[default]
    Close,
    /// Stop and wait for the running tasks; the waiting ones are dropped, their handles say cancelled.
    Stop,
    /// Shut down and let the workers finish alone.
    Detach,
}

/// See the module's header.
pub(crate) struct Owner {
    pub(crate) engine: Arc<Engine>,
    /// Of an annex: its pool's, which it keeps open.
    pool: Option<Arc<Owner>>,
}

impl Owner {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Owner { engine, pool: None }
    }

    pub(super) fn of_annex(engine: Arc<Engine>, pool: Arc<Owner>) -> Self {
        Owner {
            engine,
            pool: Some(pool),
        }
    }

    /// What keeps the pool open.
    pub(crate) fn of_pool(self: &Arc<Self>) -> &Arc<Owner> {
        self.pool.as_ref().unwrap_or(self)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let engine = &self.engine;
        if engine.is_forked() {
            return;
        }
        if let Some(pool) = &self.pool {
            // The pool is what is waited for, by whoever drops its last owner.
            engine.retire(&pool.engine);
            return;
        }
        match engine.config.on_drop {
            OnDrop::Close | OnDrop::Detach => engine.shutdown(),
            OnDrop::Stop => drop(engine.stop()),
        }
        let waits = engine.config.on_drop != OnDrop::Detach && !std::thread::panicking();
        if waits && !engine.is_own_thread() {
            // Not interrupted by the token of the task that drops: an owner that returned early would leave work
            // running behind the back of whoever relies on the drop.
            // In a task of another pool, for which a task of this one waits, it could not end; the workers finish alone then.
            if engine.await_termination(None, None) == Waited::Reached {
                engine.join_threads();
            }
        }
    }
}

/// What an executor holds: the engine its tasks go to, and the owner that keeps the pool open. The engine is mostly the owner's,
/// and then counted there only: an executor is made and dropped for a single task (`pool.keyed(k).execute(..)`), and
/// every count is a step that waits for all writes before it.
pub(crate) struct Share {
    /// Beside the owner's own, so that a submission follows one pointer and not two.
    engine: ManuallyDrop<Arc<Engine>>,
    owner: Arc<Owner>,
}

impl Share {
    pub(crate) fn new(engine: Arc<Engine>, owner: Arc<Owner>) -> Self {
        let is_owners = Arc::ptr_eq(&engine, &owner.engine);
        let engine = if is_owners { uncounted(&owner) } else { engine };
        Share {
            engine: ManuallyDrop::new(engine),
            owner,
        }
    }

    /// Whether the engine is a count of its own: an annex's.
    fn is_counted(&self) -> bool {
        !Arc::ptr_eq(&self.engine, &self.owner.engine)
    }

    #[inline]
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

/// The owner's engine, without a count of its own: not to be dropped, and only there while the owner is.
fn uncounted(owner: &Arc<Owner>) -> Arc<Engine> {
    // SAFETY: it came from `as_ptr` of one that the owner keeps. It lies in a `ManuallyDrop` beside that owner from here on and is
    // not given out by value, so it is neither dropped nor used after it.
    unsafe { Arc::from_raw(Arc::as_ptr(&owner.engine)) }
}

impl Clone for Share {
    fn clone(&self) -> Self {
        let owner = self.owner.clone();
        let engine = if self.is_counted() {
            ManuallyDrop::clone(&self.engine)
        } else {
            ManuallyDrop::new(uncounted(&owner))
        };
        Share { engine, owner }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.is_counted() {
            // SAFETY: its own count, and its end.
            unsafe { ManuallyDrop::drop(&mut self.engine) };
        }
    }
}
