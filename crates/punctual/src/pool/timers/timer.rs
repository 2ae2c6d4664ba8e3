//! What lies in a timer store, in one word.
//!
//! In: a delayed task, the end of a task's patience, an alarm, or a moment to look around. Out: the same, once, when it leaves the
//! store. The word is an address: of a task's block, where its [`Delay`] lies behind the header, or of a box that begins
//! with a [`Delay`]; which of them is in the lowest bits. A word in a store stands for the task's share of the block, or
//! for the box, so what it leads to is there as long as it is in the store.

#![allow(unsafe_code)]

use crate::sync::{Arc, prefetch};
use crate::task::alarm::Alarm;
use crate::task::block::{Delay, Entry, Header, Reference};
use crate::time::{Tick, Timed, TimerKey};
use std::ptr::NonNull;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::pool) struct Timer(NonNull<Header>);

// SAFETY: a share of a block, or a box with a reference to one, may be moved to another thread: see `Entry` and
// `Reference`.
unsafe impl Send for Timer {}

/// A timer that has left its store, once.
pub(in crate::pool) enum Due {
    Task(Entry),
    Expiry(Arc<Reference>),
    Alarm(Arc<Alarm>),
    Look,
}

/// The end of a queued task's patience.
#[repr(C)]
struct Expiring {
    delay: Delay,
    task: Arc<Reference>,
}

const KIND: usize = 3;
const EXPIRY: usize = 1;
const LOOK: usize = 2;
const ALARM: usize = 3;

impl Timer {
    /// A delayed task: its share of the block.
    pub(super) fn task(entry: Entry) -> Self {
        Timer(entry.into_raw())
    }

    /// The end of a queued task's patience.
    pub(in crate::pool) fn expiry(when: Tick, task: Arc<Reference>) -> Self {
        let delay = Delay::until(when);
        let pointer = NonNull::from(Box::leak(Box::new(Expiring { delay, task })));
        Timer(pointer.cast().map_addr(|address| address | EXPIRY))
    }

    /// The expiry that the store knows by this.
    pub(in crate::pool) fn of_expiry(delay: NonNull<Delay>) -> Self {
        Timer(delay.cast().map_addr(|address| address | EXPIRY))
    }

    /// A moment at which running and late tasks are looked at.
    pub(in crate::pool) fn look(when: Tick) -> Self {
        let pointer = NonNull::from(Box::leak(Box::new(Delay::until(when))));
        Timer(pointer.cast().map_addr(|address| address | LOOK))
    }

    /// Somebody's alarm: a share of it.
    pub(in crate::pool) fn alarm(alarm: Arc<Alarm>) -> Self {
        let timer = Timer::of_alarm(&alarm);
        std::mem::forget(alarm);
        timer
    }

    /// The alarm that the store knows by this.
    pub(in crate::pool) fn of_alarm(alarm: &Arc<Alarm>) -> Self {
        let pointer = Arc::as_ptr(alarm).cast_mut();
        let pointer = NonNull::new(pointer).expect("an `Arc` leads somewhere");
        Timer(pointer.cast().map_addr(|address| address | ALARM))
    }

    fn kind(self) -> usize {
        self.0.addr().get() & KIND
    }

    fn pointer(self) -> *mut Header {
        self.0.as_ptr().map_addr(|address| address & !KIND)
    }

    /// Of something that is no task: what the store knows it by.
    pub(in crate::pool) fn name(self) -> Option<NonNull<Delay>> {
        NonNull::new(self.pointer().cast()).filter(|_| self.kind() != 0)
    }

    /// What it is; the caller has taken it out of its store.
    pub(in crate::pool) fn open(self) -> Due {
        match self.kind() {
            // SAFETY: put into the store by `task`, and each value leaves the store once.
            0 => Due::Task(unsafe { Entry::from_raw(self.0) }),
            EXPIRY => {
                // SAFETY: put into the store by `expiry`, and each value leaves the store once.
                let expiring = unsafe { Box::from_raw(self.pointer().cast::<Expiring>()) };
                Due::Expiry(expiring.task)
            }
            ALARM => {
                // SAFETY: put into the store by `alarm`, which forgot a share, and each value leaves the store once.
                Due::Alarm(unsafe { Arc::from_raw(self.pointer().cast::<Alarm>()) })
            }
            _ => {
                // SAFETY: put into the store by `look`, and each value leaves the store once.
                drop(unsafe { Box::from_raw(self.pointer().cast::<Delay>()) });
                Due::Look
            }
        }
    }

    /// A delayed task, with all of its block in reach.
    pub(in crate::pool) fn task_pointer(&self) -> Option<NonNull<Header>> {
        (self.kind() == 0).then_some(self.0)
    }

    /// A delayed task that stays where it is.
    pub(super) fn header(&self) -> Option<&Header> {
        if self.kind() != 0 {
            return None;
        }
        // SAFETY: made by `task`, so the address is a header's; the store holds the share.
        Some(unsafe { self.0.as_ref() })
    }

    /// The timer of a delayed task that is in a store.
    pub(super) fn of_task(task: NonNull<Header>) -> Self {
        Timer(task)
    }

    #[inline]
    fn delay(self) -> *mut Delay {
        if self.kind() == 0 {
            // SAFETY: a delayed task's block, of which the store holds a share.
            unsafe { Header::delay(self.0) }
        } else {
            self.pointer().cast()
        }
    }
}

// The fields one by one, by their addresses: a task's time may be read by others meanwhile.
impl Timed for Timer {
    #[inline]
    fn when(self) -> Tick {
        // SAFETY: what it leads to is there while it is in a store.
        unsafe { (&raw const (*self.delay()).when).read() }
    }

    #[inline]
    fn sequence(self) -> u64 {
        // SAFETY: as above; under the store's lock.
        unsafe { (&raw const (*self.delay()).sequence).read() }
    }

    #[inline]
    fn set_sequence(self, sequence: u64) {
        // SAFETY: as above; under the store's lock.
        unsafe { (&raw mut (*self.delay()).sequence).write(sequence) };
    }

    #[inline]
    fn key(self) -> TimerKey {
        // SAFETY: as above; under the store's lock.
        unsafe { (&raw const (*self.delay()).timer_key).read() }
    }

    #[inline]
    fn set_key(self, key: TimerKey) {
        // SAFETY: as above; under the store's lock.
        unsafe { (&raw mut (*self.delay()).timer_key).write(key) };
    }

    #[inline]
    fn prepare(self) {
        prefetch(self.pointer().cast());
    }
}
