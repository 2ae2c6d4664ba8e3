//! The pool from outside: one binary, a module per promise.

/// Executors round somebody else's threads: `REA-04`, `REA-18`.
mod adapting;
/// Lints, advice, niceness.
mod advising;
/// Threads of their own: `KOT-..`, `PRI-10`, traps 55 to 60.
mod apart;
/// Work by the wall clock, and a wall clock that is put: `STPE-..`, fault 12.
mod calendar;
/// Every mix of panic, cancel, drop, await and stop.
mod combinations;
/// Schedules as values, and cron: `CRON-..`.
#[cfg(feature = "cron")]
mod cron;
/// Delayed tasks: `STPE-..`, `DQ-..`.
mod delaying;
/// Lanes: `REA-..`, traps 45 to 54.
mod elastic;
/// Faults that must be survived, by their number.
mod faults;
/// Handles: join, await, cancel, detach: `FUT-..`.
mod fut;
/// Building, growing, shrinking, counting: `TPE-..`, `EXE-..`.
mod growing;
/// Workers that must not block: `REA-20`.
mod guarding;
/// Hooks and decorators: `HOOK-..`.
mod hooking;
/// Joining from a worker: in place, spare threads, deadlocks that are told.
mod joining;
/// Accepted = finished + panicked + cancelled + returned, under stress.
mod ledger;
/// Queues with levels: `PRI-..`, traps F65 to F67, fault 20.
mod levels;
/// Closing, stopping, draining, dropping: `LIFE-..`.
mod life;
/// Many at once: `INV-..`, `ECS-..`.
mod many;
/// Statistics, `Debug`, names, clocks.
mod observing;
/// Order, capacity, batches, settings.
mod queueing;
/// A full pool: policies and the line before it: `REJ-..`.
mod rejecting;
/// Schedules that run: `STPE-..`, `REA-11`.
mod repeating;
/// Closures that borrow.
mod scoping;
/// Regressions: safe code that once led to undefined behaviour, a hang or a wrong answer where two features meet.
mod sound;
/// Spring's task scheduler: `SPR-..`.
mod spring;
/// Workers with deques that steal: `FJP-..`, `KOT-01` to `KOT-09`, `KOT-20`, `KOT-21`; fork and join.
mod stealing;
/// What several modules need.
mod support;
/// Limits, keys and lanes over the same threads: `KOT-..`.
mod viewing;
/// Expiries, limits on running tasks, late ones, and who keeps the clock for them.
mod watching;
