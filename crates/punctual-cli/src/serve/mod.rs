//! `punctual serve FILE`: the schedules of a file, until it is told to end.
//!
//! Two processes. The outer one, [`guard`], is what the user started: it starts the inner one and waits for it, passes
//! signals on, and ends everything that is left when the inner one is gone. The inner one, [`engine`], does the work; it
//! holds the reading end of a pipe whose other end the guard has, so it knows when the guard is gone, however it went, and
//! ends everything below. Each is also given the orphans of its children. So whichever of the two is killed, the other
//! one leaves no process behind; who kills both in the same instant can have leftovers.
//!
//! [`state`] is what is in force, [`change`] what differs between two files, [`history`] what ran, [`watch`] tells when
//! the file changes.

mod change;
mod engine;
mod guard;
mod history;
mod job;
mod state;
mod watch;

pub(crate) use engine::run as inside;
pub(crate) use guard::run;
