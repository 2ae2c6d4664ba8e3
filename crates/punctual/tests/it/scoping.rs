//! Scopes: closures that borrow are gone when the brace is reached.

/// Borrowed data, results, nesting, sizes.
mod borrowing;
/// When closures and values are dropped.
mod dropping;
/// A panic waits for the others, then goes on.
mod panicking;
/// Full, closed, paused, stopping and foreign pools.
mod placing;
/// Random scopes on several threads.
mod randomly;
/// Tokens, clocks, hooks and decorators round scoped tasks.
mod watching;

use punctual::{Pool, PoolBuilder, Queue};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `threads` workers without spares, room for `places` tasks.
fn narrow(threads: usize, places: usize) -> Pool {
    builder(threads)
        .queue(Queue::bounded(places))
        .build()
        .expect("valid settings")
}

/// `threads` workers without spares, unbounded.
fn builder(threads: usize) -> PoolBuilder {
    Pool::builder("scoping")
        .core_threads(threads)
        .spare_threads(0)
        .queue(Queue::unbounded())
}

/// The text of the panic that `f` ends with.
fn panic_of(f: impl FnOnce()) -> String {
    text_of(catch_unwind(AssertUnwindSafe(f)).expect_err("it panics"))
}

fn text_of(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<&'static str>() {
        Ok(text) => (*text).to_owned(),
        Err(payload) => *payload.downcast::<String>().expect("a text"),
    }
}
