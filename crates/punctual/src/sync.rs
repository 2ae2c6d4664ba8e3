//! The one door to threads, atomics and locks.
//!
//! In: the standard library, or [loom] under `--cfg loom`, or [shuttle] under `--cfg shuttle`. Out: the same names
//! for all three, so that the models run the product's own modules and never a copy. Nothing outside this folder
//! names `std::sync` or `std::thread`. Reference counts ([`Arc`], [`Weak`]) are the standard library's everywhere:
//! loom has no weak reference, and the protocols under test hand memory over by words and locks, not by counts.
//!
//! [loom]: https://docs.rs/loom
//! [shuttle]: https://docs.rs/shuttle

pub(crate) mod asymmetric;
pub(crate) mod futex;
pub(crate) mod lock;
mod patience;
mod prefetch;
pub(crate) mod process;
pub(crate) mod thread;
pub(crate) mod wait;

pub(crate) use futex::sleep_exactly;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use futex::{monotonic, rough_monotonic};
pub(crate) use lock::{Guard, Lock};
pub(crate) use patience::Regular;
pub(crate) use prefetch::{prefetch, prefetch_to_write};
pub(crate) use std::sync::{Arc, Weak};
pub(crate) use wait::WaitWord;

#[cfg(not(any(loom, shuttle)))]
mod door {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic;
    pub(crate) use std::thread::{JoinHandle, ThreadId, yield_now};
    pub(crate) fn this_thread() -> ThreadId {
        std::thread::current().id()
    }
    pub(crate) fn parallelism() -> usize {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    }
}

#[cfg(loom)]
mod door {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic;
    pub(crate) use loom::thread::{JoinHandle, ThreadId, yield_now};
    pub(crate) fn this_thread() -> ThreadId {
        loom::thread::current().id()
    }
    pub(crate) fn parallelism() -> usize {
        2
    }
}

#[cfg(shuttle)]
mod door {
    pub(crate) use shuttle::hint::spin_loop;
    pub(crate) use shuttle::sync::atomic;
    pub(crate) use shuttle::thread::{JoinHandle, ThreadId, yield_now};
    pub(crate) fn this_thread() -> ThreadId {
        shuttle::thread::current().id()
    }
    pub(crate) fn parallelism() -> usize {
        2
    }
}

pub(crate) use door::*;

/// As [`yield_now`], and to threads that are less urgent to the system, too: those a yield is not for.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
fn stand_back() {
    #[cfg(not(any(loom, shuttle)))]
    std::thread::sleep(std::time::Duration::from_micros(50));
    #[cfg(any(loom, shuttle))]
    yield_now();
}

/// Waits while something is so that another thread ends within some instructions, unless it has lost its processor.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn wait_while(is_so: impl Fn() -> bool) {
    const SPINS: u32 = if cfg!(loom) { 0 } else { 64 };
    const YIELDS: u32 = 16;
    let mut looks = 0;
    while is_so() {
        looks += 1;
        if looks < SPINS {
            spin_loop();
        } else if looks < SPINS + YIELDS {
            yield_now();
        } else {
            stand_back();
        }
    }
}

/// Whether two threads can run at once: on one core, a spin only keeps the awaited thread from running. In the models
/// it would only multiply the schedules.
pub(crate) fn is_multi_core() -> bool {
    #[cfg(not(any(loom, shuttle)))]
    {
        static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *ANSWER.get_or_init(|| parallelism() > 1)
    }
    #[cfg(any(loom, shuttle))]
    {
        false
    }
}

/// Starts an operating-system thread; the only place that does.
pub(crate) fn start_thread(
    name: String,
    stack_size: Option<usize>,
    body: impl FnOnce() + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    #[cfg(not(any(loom, shuttle)))]
    let builder = {
        let builder = std::thread::Builder::new().name(name);
        match stack_size {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        }
    };
    #[cfg(loom)]
    let builder = {
        let _ = stack_size;
        loom::thread::Builder::new().name(name)
    };
    #[cfg(shuttle)]
    let builder = {
        let _ = stack_size;
        shuttle::thread::Builder::new().name(name)
    };
    builder.spawn(body)
}

/// `thread_local!` of the active door. The plain build takes a `const` initialiser: no lazy check on access.
#[cfg(not(any(loom, shuttle)))]
macro_rules! local {
    ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
        std::thread_local! { $(#[$meta])* static $name: $type = const { $value }; }
    };
}
#[cfg(loom)]
macro_rules! local {
    ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
        loom::thread_local! { $(#[$meta])* static $name: $type = $value; }
    };
}
#[cfg(shuttle)]
macro_rules! local {
    ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
        shuttle::thread_local! { $(#[$meta])* static $name: $type = $value; }
    };
}
pub(crate) use local;

/// An `UnsafeCell` reached through closures, so that loom can see two sides touch it at once.
#[cfg(not(loom))]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Cell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> Cell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Cell(std::cell::UnsafeCell::new(value))
    }
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }
    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell as Cell;

/// Atomics that no protocol depends on (process-wide counters, hints); the models need not search their orders, and
/// statics of the models' own types could not be constants.
pub(crate) mod unmodelled {
    pub(crate) use std::sync::OnceLock;
    pub(crate) use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU16, AtomicU32, AtomicU64, AtomicUsize};
}

/// A value on cache lines of its own: two, because processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
