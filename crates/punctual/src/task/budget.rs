//! How long a future may go on in one poll.
//!
//! In: a step of one of this library's own futures (a handle, a sleep, a timeout, a token that has fired, a submission that may wait)
//! that would be ready at once. Out: it may go on; or it has had its share, is woken, and is asked to come again. A future that awaits things which are always ready would
//! otherwise never end its poll, and hold its worker for ever. Only steps that go through here are counted: a loop that awaits
//! nothing of this library is not seen.
//!
//! A step is put off once at most: beside a branch that uses up every poll, what is ready would never be seen otherwise. A loop
//! ends its poll all the same, since each of its steps is a new one, which was not put off before.

use crate::sync::local;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::task::{Context, Poll};

/// Steps in one poll.
const STEPS: u32 = 128;

local! {
    /// Steps left. Outside of a poll there is no end.
    static LEFT: Cell<u32> = Cell::new(u32::MAX);
}

/// Polls with a share of its own.
pub(crate) fn with_a_new_one<R>(poll: impl FnOnce() -> R) -> R {
    struct Restore(u32);
    impl Drop for Restore {
        fn drop(&mut self) {
            LEFT.with(|left| left.set(self.0));
        }
    }
    let _restore = Restore(LEFT.with(|left| left.replace(STEPS)));
    poll()
}

/// A step that is ready. `Pending`: not in this poll; the context's waker has been called, and `was_put_off`, which is the
/// step's own, says so the next time.
pub(crate) fn step(context: &Context<'_>, was_put_off: &mut bool) -> Poll<()> {
    let may_go_on = LEFT.with(|left| match left.get() {
        u32::MAX => true,
        0 => *was_put_off,
        some => {
            left.set(some - 1);
            true
        }
    });
    if may_go_on {
        return Poll::Ready(());
    }
    *was_put_off = true;
    context.waker().wake_by_ref();
    Poll::Pending
}

/// A step before something that cannot be put off once it is ready: a value that somebody must get, a place that was given.
pub(crate) fn turn() -> impl Future<Output = ()> + Send {
    let mut was_put_off = false;
    poll_fn(move |context| step(context, &mut was_put_off))
}
