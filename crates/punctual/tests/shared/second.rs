//! A test in a process of its own: this binary again, asked for that test only, or a fork of this process. Four
//! binaries have it: `clocks`, `fork`, `global` and `starts`.

#![allow(unsafe_code)]

use crate::support::LONG;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const MARK: &str = "PUNCTUAL_TEST_ALONE";

/// What a second process prints when it wants something done to it.
const READY: &str = "ready for the other process";

/// A forked child that has not ended by then hangs.
const FORK_LIMIT: Duration = Duration::from_secs(20);

/// A test's second process, as the first sees it.
pub(crate) struct Other {
    child: Child,
    /// What it prints, up to its end.
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Other {
    pub(crate) fn pid(&self) -> libc::pid_t {
        self.child.id() as libc::pid_t
    }

    /// Waits until the other process calls [`say_ready`].
    pub(crate) fn await_ready(&mut self) {
        loop {
            match self.lines.recv_timeout(LONG) {
                Ok(line) if line.ends_with(READY) => return,
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("{error}; it said {:?}", self.seen),
            }
        }
    }

    /// Reads what it prints until it prints no more; says whether that came in time.
    fn read_to_the_end(&mut self, limit: Duration) -> bool {
        let begin = Instant::now();
        loop {
            match self.lines.recv_timeout(limit.saturating_sub(begin.elapsed())) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }
}

/// Tells the first process that this one is where it should be.
pub(crate) fn say_ready() {
    println!("{READY}");
}

/// Runs `body`, the whole of a test, in a process of its own: this binary, asked for that test only, and killed after
/// `limit`. `prepare` can change how it is started; `meanwhile` is what this process does.
pub(crate) fn in_second_process<F: FnOnce()>(
    limit: Duration,
    prepare: impl FnOnce(&mut Command),
    body: F,
    meanwhile: impl FnOnce(&mut Other),
) {
    // "clocks::wall::the_test::{{closure}}"
    let name = std::any::type_name::<F>();
    let name = name.strip_suffix("::{{closure}}").expect("a closure in the test");
    let (_, name) = name.split_once("::").expect("a test in a module");
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().expect("this binary has a path"));
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(MARK, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    prepare(&mut command);
    let mut child = command.spawn().expect("a second process");
    let (tell, lines) = channel();
    let out = each_line(child.stdout.take().expect("piped"), move |line| {
        // An error means that the test has ended.
        let _ = tell.send(line);
    });
    let err = each_line(child.stderr.take().expect("piped"), |line| eprintln!("{line}"));
    let mut other = Other {
        child,
        lines,
        seen: Vec::new(),
    };
    meanwhile(&mut other);
    let has_ended = other.read_to_the_end(limit);
    if !has_ended {
        other.child.kill().expect("our own child");
    }
    let status = other.child.wait().expect("our own child");
    out.join().expect("read");
    err.join().expect("read");
    println!("{}", other.seen.join("\n"));
    assert!(has_ended, "it hangs: no end within {limit:?}");
    assert!(status.success(), "{status}: see above");
    assert!(
        other.seen.iter().any(|line| line.contains("1 passed")),
        "{name} is not what the test is called; it did not run"
    );
}

fn each_line(
    from: impl Read + Send + 'static,
    mut tell: impl FnMut(String) + Send + 'static,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n') {
            tell(String::from_utf8_lossy(&line.expect("a pipe")).into_owned());
        }
    })
}

/// Runs `child` in a fork of this process and gives its exit code: 99 if it panicked, 98 if it was killed, `None` if it
/// hung. Nothing may be printed there: the parent's lock on standard output may have been copied in a held state.
pub(crate) fn in_fork(child: impl FnOnce() -> i32) -> Option<i32> {
    match fork() {
        Some(forked) => forked.await_end(),
        None => {
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(99);
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(code) }
        }
    }
}

/// A child of this process.
pub(crate) struct Forked {
    pid: libc::pid_t,
    /// Closed when the child has ended, however that comes about.
    end: std::io::PipeReader,
}

/// Forks; `None`: this is the child. It may leave, or let its thread end: no exit handler of the parent runs.
pub(crate) fn fork() -> Option<Forked> {
    extern "C" fn leave() {
        // SAFETY: it only ends the process.
        unsafe { libc::_exit(0) }
    }
    let (end, held_by_the_child) = std::io::pipe().expect("a pipe");
    // SAFETY: the child only uses this library, the allocator (whose locks the C library resets in the child) and
    // atomics; its first exit handler is the one registered last.
    let pid = match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            std::mem::forget(held_by_the_child);
            // SAFETY: a function of the right kind.
            unsafe { libc::atexit(leave) };
            return None;
        }
        pid => pid,
    };
    Some(Forked { pid, end })
}

impl Forked {
    /// Its exit code, or 98; `None`: it hung, and was killed.
    pub(crate) fn await_end(self) -> Option<i32> {
        let mut end_of_pipe = libc::pollfd {
            fd: self.end.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one record, which is writable, with a descriptor that is open.
        let has_ended = unsafe { libc::poll(&raw mut end_of_pipe, 1, FORK_LIMIT.as_millis() as i32) } == 1;
        let mut status = 0;
        // SAFETY: our own child, which has not been waited for, and `status` is writable.
        unsafe {
            if !has_ended {
                libc::kill(self.pid, libc::SIGKILL);
            }
            assert_eq!(libc::waitpid(self.pid, &raw mut status, 0), self.pid);
        }
        match has_ended {
            false => None,
            true if libc::WIFEXITED(status) => Some(libc::WEXITSTATUS(status)),
            true => Some(98),
        }
    }
}
