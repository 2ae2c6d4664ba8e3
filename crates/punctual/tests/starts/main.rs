//! Faults that need a process of their own: threads that cannot be started (6 and 7, `TPE-35` to `TPE-38`), memory under
//! a load that does not fit (18), and a processor that belongs to others (26).
//!
//! Each test runs this binary again for itself alone, and there lowers the limits. Nothing here needs a privilege.

#![cfg_attr(not(target_os = "linux"), allow(unused))]

/// The allocator that counts.
#[cfg(target_os = "linux")]
mod counting;
/// Memory under a load that does not fit.
#[cfg(target_os = "linux")]
mod flat;
/// Growing again: the back-off, the retry, the permits.
#[cfg(target_os = "linux")]
mod growing;
/// Submissions that wait in line, and starts that fail at random.
#[cfg(target_os = "linux")]
mod lines;
/// A process of its own, with room for so many stacks.
#[cfg(target_os = "linux")]
mod process;
/// Every verb and every policy when no thread can be had.
#[cfg(target_os = "linux")]
mod refused;
/// Spare threads that cannot be had.
#[cfg(target_os = "linux")]
mod spares;
/// Too little processor.
#[cfg(target_os = "linux")]
mod starved;
/// What the other binary's tests need, too.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "../it/support.rs"]
mod support;
/// The next start fails, after every number of starts, for every shape of pool.
#[cfg(target_os = "linux")]
mod sweep;

#[cfg(not(target_os = "linux"))]
#[test]
fn starts_that_fail_are_tried_on_linux_only() {
    println!("skipped: here the address space cannot be limited so that only the next stack does not fit");
}
