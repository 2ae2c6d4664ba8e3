//! Regressions where two features meet: each test was red once, and names the promise that was broken.

/// Both branches of `join`, scopes and lanes that are disposed of around them.
mod branches;
/// Decorators that do not run what they are put round.
mod decorated;
/// Time limits of `all` and `any`, future time-outs, idle waiters, covered delays.
mod limits;
/// References to tasks and futures that have ended, and what they keep.
mod references;
/// Workers that are started, kept, replaced and retired.
mod threads;
/// Waits inside of tasks that must end or be told.
mod waits;
