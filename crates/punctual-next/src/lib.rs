//! The second edition of the engine, in the shape that `ARCHITECTURE.md` describes; beside the first until it carries every test.
//!
//! A task is one cell. At any moment a cell is in exactly one place. A place is one module that owns its locks and its rules. A
//! file imports only from folders to the left: `sync`, `base`, `observe`, `task`, `queue`, `engine`, `worker`, `api`.

mod api;
mod base;
mod engine;
mod observe;
mod queue;
mod sync;
mod task;
mod worker;

pub use api::builder::PoolBuilder;
pub use api::handle::TaskHandle;
pub use api::pool::Pool;
pub use api::unrun::Unrun;
pub use base::errors::{ConfigError, JoinError, Reason, Rejected};
pub use base::settings::{Capacity, Growth};
pub use engine::reject::{Answer, Refusal, Reject};
pub use task::reference::Cancel;
