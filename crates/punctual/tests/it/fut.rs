//! Handles, seen from outside: one outcome, told to everybody who waits, and a value taken once (`FUT-..`).
//!
//! Where a test speaks of time, or of threads that are blocked, it uses a manual clock: see the note in `life`.

/// Who may cancel what, when, and what that does: FUT-04 to FUT-08, FUT-14.
mod cancelling;
/// When the closure is gone: FUT-20.
mod closures;
/// Values and failures: FUT-01 to FUT-03, FUT-13, FUT-17, FUT-19.
mod outcomes;
/// Waiting with and without a limit, and being called away from it: FUT-08 to FUT-11.
mod waiting;
