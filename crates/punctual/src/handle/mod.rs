//! Receipts: what a submitter gets, and what it can do with it.
//!
//! In: a block that was accepted. Out: [`TaskHandle`] (join, await, cancel, drop), [`TaskRef`] (all but the value),
//! [`Unrun`] (a task that `stop` or `drain` took out). [`cancel`](mod@cancel) is the one way to cancel, whoever asks; [`wait`] the
//! one way to wait. Many at once: [`Group`] (in the order in which they end), [`many`] (all, any), [`Scope`] (closures
//! that borrow), [`fork`] (two closures).

mod cancel;
mod fork;
mod group;
mod many;
mod scope;
mod task_handle;
mod task_ref;
mod unrun;
mod wait;

pub use cancel::Cancel;
pub(crate) use cancel::{cancel, end_waiting, remove};
pub use group::Group;
pub use scope::{Scope, ScopedHandle};
pub use task_handle::TaskHandle;
pub use task_ref::{Status, TaskRef};
pub use unrun::Unrun;
