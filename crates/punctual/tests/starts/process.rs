//! A process of its own, in which threads can be made to fail: each worker's stack is so large that the limit of the
//! address space says how many more can start. The stacks are never touched, so they cost nothing.

#![allow(unsafe_code)]

use crate::second;
use crate::support::LONG;
use punctual::{Pool, PoolBuilder};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The stack of each worker here.
pub(crate) const STACK: usize = 256 << 20;

/// What everything else may allocate while the limit is low; less than a stack.
const SLACK: usize = STACK / 2;

/// Runs `body`, the whole of a test, in a process of its own.
pub(crate) fn alone<F: FnOnce()>(body: F) {
    // A little more than the test's own patience, which ends with a message; and a test has several loads.
    let limit = LONG + LONG / 4 + 10 * lasts(Duration::ZERO);
    // Otherwise each thread of the child reserves address space for a heap of its own.
    let prepare = |command: &mut Command| _ = command.env("MALLOC_ARENA_MAX", "1");
    second::in_second_process(limit, prepare, body, |_| ());
}

/// How long a test of a load lasts: `PUNCTUAL_OVERLOAD_SECONDS`, or this.
pub(crate) fn lasts(default: Duration) -> Duration {
    crate::support::env_number("PUNCTUAL_OVERLOAD_SECONDS").map_or(default, Duration::from_secs)
}

/// From now on so many more stacks fit into the address space, and no more.
pub(crate) fn room_for(stacks: usize) {
    room_for_all();
    // The C library keeps the stack of a thread that nobody joined for the next one, until a larger one is given back.
    let larger = std::thread::Builder::new().stack_size(STACK + SLACK).spawn(|| ());
    larger.expect("no limit").join().expect("no panic");
    let pages = std::fs::read_to_string("/proc/self/statm").expect("this is Linux");
    let pages: usize = pages
        .split(' ')
        .next()
        .unwrap_or_default()
        .parse()
        .expect("a number");
    // SAFETY: asks for a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    set_limit((pages * page + stacks * STACK + SLACK) as libc::rlim_t);
}

/// From now on nothing is limited any more.
pub(crate) fn room_for_all() {
    set_limit(libc::RLIM_INFINITY);
}

/// Takes the place of one stack until it is dropped; `None` if there is none. Other than a lower limit it leaves alone
/// whatever else a thread needs that has just got its stack.
pub(crate) fn occupy() -> Option<Occupied> {
    // SAFETY: a new mapping that nobody may touch.
    let place = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        libc::mmap(std::ptr::null_mut(), STACK, libc::PROT_NONE, flags, -1, 0)
    };
    (place != libc::MAP_FAILED).then_some(Occupied { place })
}

pub(crate) struct Occupied {
    place: *mut libc::c_void,
}

impl Drop for Occupied {
    fn drop(&mut self) {
        // SAFETY: mapped by `occupy`, and nobody has the address.
        unsafe { libc::munmap(self.place, STACK) };
    }
}

fn set_limit(bytes: libc::rlim_t) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: reads and writes the structure it is given. Only the soft limit moves, so that it can go up again.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &raw mut limit), 0);
        limit.rlim_cur = bytes.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
    }
}

/// A pool whose threads [`room_for`] can keep from starting.
pub(crate) fn large(name: &str) -> PoolBuilder {
    Pool::builder(name.to_owned()).stack_size(STACK)
}

/// The threads of this process.
pub(crate) fn threads() -> usize {
    std::fs::read_dir("/proc/self/task")
        .expect("this is Linux")
        .count()
}

/// Holds any number of tasks until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn pass(&self) {
        let is_open = self.0.0.lock().expect("nobody panics here");
        drop(self.0.1.wait_while(is_open, |is_open| !*is_open));
    }

    pub(crate) fn open(&self) {
        *self.0.0.lock().expect("nobody panics here") = true;
        self.0.1.notify_all();
    }
}
