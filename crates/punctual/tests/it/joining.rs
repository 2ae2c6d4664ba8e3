//! Joining from a worker: the task is run in place, a spare stands in, or the deadlock is told.
