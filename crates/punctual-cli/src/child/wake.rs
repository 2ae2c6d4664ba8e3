//! [`Wake`]: a token that can be polled: a descriptor that becomes readable when the token fires.

use punctual::task::Token;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

/// Readable from the moment its token fires.
pub(crate) struct Wake {
    bell: Arc<Bell>,
    /// As long as this is there, the token knows the bell.
    _fires: Pin<Box<dyn Future<Output = ()> + Send>>,
}

struct Bell(OwnedFd);

impl std::task::Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A counter of eight bytes. It cannot be full, and nobody could do anything about it.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl Wake {
    pub(crate) fn of(token: &Token) -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = Arc::new(Bell(eventfd(0, flags)?));
        let mut fires: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(token.cancelled());
        let waker = Waker::from(bell.clone());
        if fires.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            waker.wake();
        }
        Ok(Wake { bell, _fires: fires })
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.0.as_fd()
    }
}
