//! What a pool shows: statistics, lines for people, names, clocks, and which of its types may be shared.

/// The clock that is moved by hand.
mod clock;
/// `Debug` is one line and waits for nobody.
mod lines;
/// Names, numbers, and what code inside a task can ask.
mod names;
/// The fields of a snapshot.
mod numbers;
/// `Send`, `Sync` and sizes, checked by the compiler.
mod types;
