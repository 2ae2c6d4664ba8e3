//! The program as a user starts it: real processes, exit codes, output, signals.

#![cfg(target_os = "linux")]

/// `check`, `cron`, `completions`, and what is wrong with arguments.
mod answers;
/// Whatever is wrong in a file.
mod bad_input;
/// Batches from a file.
mod batch;
/// Ctrl-C, once and twice; timeouts that reach grandchildren.
mod ending;
/// Commands for items of standard input.
mod items;
/// The page and /metrics.
mod page;
/// Schedules, reloads, and that nothing outlives it.
mod serve;
/// What the others need.
mod support;
/// The tour.
mod tour;
