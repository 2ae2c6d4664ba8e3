//! The pool from outside: one binary, a module per promise.

/// Every mix of panic, cancel, drop, await and stop.
mod combinations;
/// Faults that must be survived, by their number.
mod faults;
/// Handles: join, await, cancel, detach: `FUT-..`.
mod fut;
/// Accepted = finished + panicked + cancelled + returned, under stress.
mod ledger;
/// Closing, stopping, draining, dropping: `LIFE-..`.
mod life;
/// Statistics, `Debug`, names, clocks.
mod observing;
/// Order, capacity, batches, settings.
mod queueing;
/// What several modules need.
mod support;
