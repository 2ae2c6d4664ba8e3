//! The pool from outside: one binary, a module per promise.

/// Closing, stopping, draining, dropping: `LIFE-..`.
mod life;
/// Handles: join, await, cancel, detach: `FUT-..`.
mod fut;
/// Faults that must be survived, by their number.
mod faults;
/// Accepted = finished + panicked + cancelled + returned, under stress.
mod ledger;
/// Every mix of panic, cancel, drop, await and stop.
mod combinations;
/// Order, capacity, batches, settings.
mod queueing;
/// Statistics, `Debug`, names, clocks.
mod observing;
/// What several modules need.
mod support;
