//! Ready tasks: one file for each kind of queue, and the gate that all of them ask.

pub(crate) mod fifo;
pub(crate) mod gate;
#[cfg(all(test, loom))]
mod models;
