//! The share that owners hold: when the last of them goes, the pool does what it was told to do.
//!
//! In: the drop of the last [`Pool`](crate::Pool) or [`Executor`](crate::Executor). Out: closed and waited for,
//! stopped, or left to finish alone. It never waits on its own worker (that would wait for itself), nor while the
//! thread is panicking (a test that fails should say so, not hang), nor in a forked child (there is nobody to wait
//! for).

use super::engine::Engine;
use crate::sync::Arc;

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
            let _ = engine.await_termination(None, None);
            engine.join_threads();
        }
    }
}
