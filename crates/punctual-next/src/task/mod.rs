//! One task, from submit to freed.

pub(crate) mod cell;
pub(crate) mod context;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod reference;
pub(crate) mod runnable;
pub(crate) mod slab;
pub(crate) mod state;
