//! Faults that need a process of their own: threads that cannot be started (6 and 7, `TPE-35` to `TPE-38`), memory under
//! a load that does not fit (18), and a processor that belongs to others (26), also to those who measure; a niceness that is
//! refused.
//!
//! Each test runs this binary again for itself alone, and there lowers the limits. Nothing here needs a privilege.

#![cfg(target_os = "linux")]

/// The allocator that counts.
mod counting;
/// Memory under a load that does not fit.
mod flat;
/// What a pool says of itself where the system grants it little.
mod granted;
/// Growing again: the back-off, the retry, the permits.
mod growing;
/// Submissions that wait in line, and starts that fail at random.
mod lines;
/// A process of its own, with room for so many stacks.
mod process;
/// Every verb and every policy when no thread can be had.
mod refused;
/// This binary again, for one test alone.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "../shared/second.rs"]
mod second;
/// Spare threads that cannot be had.
mod spares;
/// Too little processor.
mod starved;
/// What the other binary's tests need, too.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "../it/support.rs"]
mod support;
/// The next start fails, after every number of starts, for every shape of pool.
mod sweep;
