//! The door to threads, atomics and locks: the standard library, loom under `--cfg loom`, shuttle under `--cfg shuttle`.
//!
//! All three appear under the same names, so the models run the modules of the product and never a copy. No file outside this
//! folder names `std::sync::atomic` or `std::thread`. `Arc` and `Weak` are the standard library's in every build: loom has no
//! weak reference, and the protocols under test hand memory over by words and locks, not by these counts.

pub(crate) mod futex;
pub(crate) mod mutex;
pub(crate) mod parker;
pub(crate) mod wait_word;

pub(crate) use std::sync::{Arc, Weak};

#[cfg(not(any(loom, shuttle)))]
mod door {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic;
    pub(crate) use std::thread::{JoinHandle, yield_now};
}

#[cfg(loom)]
mod door {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic;
    pub(crate) use loom::thread::{JoinHandle, yield_now};
}

#[cfg(shuttle)]
mod door {
    pub(crate) use shuttle::hint::spin_loop;
    pub(crate) use shuttle::sync::atomic;
    pub(crate) use shuttle::thread::{JoinHandle, yield_now};
}

pub(crate) use door::*;

/// Whether two threads can run at once. On one core a spin only keeps the awaited thread from running; in the models it would
/// multiply the schedules.
pub(crate) fn is_multi_core() -> bool {
    #[cfg(not(any(loom, shuttle)))]
    {
        static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *ANSWER.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get) > 1)
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

/// An `UnsafeCell` reached through closures, so that loom sees two threads touch it at once.
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

/// Atomics that no protocol depends on: counters and hints. Statics of the models' own types could not be constants.
pub(crate) mod unmodelled {
    pub(crate) use std::sync::atomic::Ordering::Relaxed;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64};
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

/// Asks for the cache line at an address before it is written. Any address is allowed. A prefetch for reading would leave the line
/// shared with the core that freed the cell, and the first locked instruction after the write would wait for it. There is no
/// intrinsic that emits this instruction without a target feature.
#[inline(always)]
#[allow(unsafe_code)]
#[cfg(not(any(loom, shuttle, punctual_system_alloc)))]
pub(crate) fn prefetch_for_write<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch writes nothing that the program can see, and never faults.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Asks for the cache line at an address before it is read. Any address is allowed.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    // SAFETY: a prefetch reads nothing that the program can see, and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    let _ = address;
}
