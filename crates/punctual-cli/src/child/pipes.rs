//! The two pipes of a child: standard output and standard error, read when there is something.

use super::Sink;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStderr, ChildStdout};

/// As large as a pipe.
const PIECE: usize = 64 << 10;

/// The ends of it that are open.
pub(super) struct Pipes {
    out: Option<ChildStdout>,
    error: Option<ChildStderr>,
    buffer: Vec<u8>,
}

impl Pipes {
    pub(super) fn of(child: &mut Child) -> Self {
        Pipes {
            out: child.stdout.take(),
            error: child.stderr.take(),
            buffer: Vec::new(),
        }
    }

    /// What to poll for output; where there is none, something that is polled for nothing.
    pub(super) fn out<'a>(&'a self, instead: &'a impl AsFd) -> BorrowedFd<'a> {
        self.out.as_ref().map_or(instead.as_fd(), AsFd::as_fd)
    }

    pub(super) fn error<'a>(&'a self, instead: &'a impl AsFd) -> BorrowedFd<'a> {
        self.error.as_ref().map_or(instead.as_fd(), AsFd::as_fd)
    }

    pub(super) fn out_flags(&self) -> PollFlags {
        flags(self.out.is_some())
    }

    pub(super) fn error_flags(&self) -> PollFlags {
        flags(self.error.is_some())
    }

    /// Reads once from each that has something. A pipe that has ended, or cannot be read, is closed.
    pub(super) fn read(&mut self, out: bool, error: bool, sink: &mut dyn Sink) {
        if out && self.out.is_some() {
            piece(&mut self.out, &mut self.buffer, false, sink);
        }
        if error && self.error.is_some() {
            piece(&mut self.error, &mut self.buffer, true, sink);
        }
    }

    /// Reads what is there now, and not more than two pipes hold: whoever still writes is not waited for.
    pub(super) fn drain(&mut self, sink: &mut dyn Sink) {
        for _ in 0..2 {
            let out = self.out.as_ref().is_some_and(has_something);
            let error = self.error.as_ref().is_some_and(has_something);
            if !out && !error {
                return;
            }
            self.read(out, error, sink);
        }
    }
}

fn flags(is_open: bool) -> PollFlags {
    if is_open {
        PollFlags::IN
    } else {
        PollFlags::empty()
    }
}

fn has_something(pipe: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(pipe, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

fn piece<R: Read>(pipe: &mut Option<R>, buffer: &mut Vec<u8>, is_error: bool, sink: &mut dyn Sink) {
    let Some(reader) = pipe else {
        return;
    };
    // Most commands say nothing, and need no buffer.
    if buffer.is_empty() {
        buffer.resize(PIECE, 0);
    }
    match reader.read(buffer) {
        Ok(0) => *pipe = None,
        Ok(length) => sink.take(&buffer[..length], is_error),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
        Err(_) => *pipe = None,
    }
}
