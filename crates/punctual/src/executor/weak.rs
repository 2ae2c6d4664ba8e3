//! [`WeakExecutor`]: a reference that does not keep a pool open.

use super::Executor;
use crate::pool::engine::Engine;
use crate::pool::keys::Key;
use crate::pool::owner::Owner;
use crate::sync::{Arc, Weak};
use crate::task::Class;
use crate::task::view::View;
use std::fmt;

/// A reference to an executor that does not keep its pool open.
///
/// ```
/// let pool = punctual::Pool::fixed(1)?;
/// let weak = pool.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(pool); // the last owner: the pool closes
/// assert!(weak.upgrade().is_none());
/// # Ok::<(), punctual::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct WeakExecutor {
    pub(super) engine: Weak<Engine>,
    pub(super) owner: Weak<Owner>,
    /// It does not keep the pool open either.
    pub(super) view: Option<Arc<View>>,
    pub(super) key: Option<Key>,
    pub(super) class: Class,
}

impl WeakExecutor {
    /// The executor, if its pool still has an owner.
    #[must_use]
    pub fn upgrade(&self) -> Option<Executor> {
        let part = Executor::part(self.engine.upgrade()?, self.owner.upgrade()?);
        let part = if self.class.is_viewed() {
            part.under(self.view.clone(), self.key)
        } else {
            part
        };
        Some(Executor {
            class: self.class,
            ..part
        })
    }
}

impl fmt::Debug for WeakExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.owner.strong_count() > 0 {
            "WeakExecutor(open)"
        } else {
            "WeakExecutor(gone)"
        })
    }
}
