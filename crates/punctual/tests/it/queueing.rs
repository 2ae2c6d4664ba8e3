//! Order, capacity, batches, shapes of closures, settings, and the wake-ups behind all of them.

/// Large closures without a handle.
mod large;
/// First in, first out.
mod order;
/// Capacity, refusals, batches.
mod room;
/// What a builder refuses, and how it says so.
mod settings;
/// Closures and results of every size and alignment.
mod shapes;
/// Nobody sleeps beside a waiting task.
mod waking;
