//! Faults that must be survived, by their number in the fault table: one test or more for each.

/// 19: somebody blocks.
mod blocked;
/// 3 and 5: user code in `Drop`.
mod drops;
/// 8: the last owner goes where it hurts.
mod ending;
/// 17: the longest and the shortest durations.
mod limits;
/// 18 and 10: more than fits, and a stop in the middle of it.
mod overload;
/// 1 and 2: tasks, hooks and wakers that panic.
mod panics;
/// 10: submissions race the end.
mod racing;
/// 23: every verb from every place where user code runs.
mod reentering;
/// 11 and 22: cancel races, and what it leaves behind.
mod removing;
/// 10 and 11 with timers: the end, and cancels, against delayed and expiring tasks.
mod timed_races;
/// 17 and 22 with timers: any time, and what a cancelled timer leaves behind.
mod timers;
