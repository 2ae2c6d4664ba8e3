//! A waker that is called at a time: what a future waits for that sleeps.
//!
//! In: a time and a waker. Out: the waker called, once, when whoever keeps the time says so: the pool's timer store, or, on a
//! thread that drives a future itself, its [`Board`]. Not here: who says so.

#![allow(unsafe_code)]

use super::block::Delay;
use crate::sync::unmodelled::{AtomicBool, Relaxed};
use crate::sync::{Arc, Lock, local};
use crate::task::contain;
use crate::time::{Clock, Tick};
use std::cell::{RefCell, UnsafeCell};
use std::mem::ManuallyDrop;
use std::task::Waker;

/// See the module's header.
#[repr(C)]
pub(crate) struct Alarm {
    /// First: what the timer store knows about it, and touches under its lock; nobody else does.
    delay: UnsafeCell<Delay>,
    when: Tick,
    /// Whether it is in the store; changes under the store's lock.
    is_kept: AtomicBool,
    ring: Lock<Ring>,
}

// SAFETY: the delay is touched by the timer store alone, under its lock; everything else is made for sharing.
unsafe impl Sync for Alarm {}
// SAFETY: as above, and it is made of numbers and a waker.
unsafe impl Send for Alarm {}

#[derive(Default)]
struct Ring {
    is_over: bool,
    waker: Option<Waker>,
}

impl Alarm {
    pub(crate) fn at(when: Tick) -> Arc<Self> {
        Arc::new(Alarm {
            delay: UnsafeCell::new(Delay::until(when)),
            when,
            is_kept: AtomicBool::new(false),
            ring: Lock::new(Ring::default()),
        })
    }

    pub(crate) fn when(&self) -> Tick {
        self.when
    }

    /// Its time has come.
    pub(crate) fn ring(&self) {
        let waker = {
            let mut ring = self.ring.lock();
            ring.is_over = true;
            ring.waker.take()
        };
        if let Some(waker) = waker {
            contain(|| waker.wake());
        }
    }

    /// Leaves a waker. False: it has rung.
    pub(crate) fn listen(&self, waker: &Waker) -> bool {
        let mut new = None;
        loop {
            let replaced = {
                let mut ring = self.ring.lock();
                if ring.is_over {
                    return false;
                }
                if ring.waker.as_ref().is_some_and(|mine| mine.will_wake(waker)) {
                    return true;
                }
                // Cloned outside of the lock, in the round before.
                match new.take() {
                    Some(new) => ring.waker.replace(new),
                    None => {
                        drop(ring);
                        new = Some(waker.clone());
                        continue;
                    }
                }
            };
            contain(|| drop(replaced));
            return true;
        }
    }

    /// Nobody waits for it any more.
    pub(crate) fn forget(&self) {
        let waker = {
            let mut ring = self.ring.lock();
            ring.is_over = true;
            ring.waker.take()
        };
        contain(|| drop(waker));
    }

    fn is_over(&self) -> bool {
        self.ring.lock().is_over
    }
}

/// The alarms of a thread that drives a future itself.
pub(crate) struct Board {
    number: u64,
    clock: Clock,
    alarms: Vec<Arc<Alarm>>,
}

local! {
    /// Empty when no [`Keeping`] is there, so there is nothing to drop with the thread; and without a destructor it is there as long
    /// as the thread is, for those of other thread-locals.
    static BOARD: ManuallyDrop<RefCell<Option<Board>>> = ManuallyDrop::new(RefCell::new(None));
}

/// While this lives, the thread keeps its own time.
pub(crate) struct Keeping {
    outer: Option<Board>,
}

impl Keeping {
    pub(crate) fn begin(clock: &Clock) -> Self {
        let board = Board {
            number: super::side::next_id(),
            clock: clock.clone(),
            alarms: Vec::new(),
        };
        Keeping {
            outer: BOARD.with(|mine| mine.borrow_mut().replace(board)),
        }
    }

    /// Rings what is due; when the next one is.
    pub(crate) fn look(&self) -> Option<Tick> {
        let (due, next) = BOARD.with(|mine| {
            let mut mine = mine.borrow_mut();
            let board = mine.as_mut()?;
            board.alarms.retain(|alarm| !alarm.is_over());
            let now = board.clock.tick();
            let due: Vec<_> = board.alarms.extract_if(.., |alarm| alarm.when() <= now).collect();
            Some((due, board.alarms.iter().map(|alarm| alarm.when()).min()))
        })?;
        due.iter().for_each(|alarm| alarm.ring());
        next
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        let outer = self.outer.take();
        let board = BOARD.with(|mine| std::mem::replace(&mut *mine.borrow_mut(), outer));
        drop(board);
    }
}

/// The number and the clock of the calling thread's board, if it keeps its own time.
pub(crate) fn board() -> Option<(u64, Clock)> {
    BOARD.with(|mine| {
        mine.borrow()
            .as_ref()
            .map(|board| (board.number, board.clock.clone()))
    })
}

/// Its number alone.
pub(crate) fn board_number() -> Option<u64> {
    BOARD.with(|mine| mine.borrow().as_ref().map(|board| board.number))
}

/// Puts an alarm on the calling thread's board.
pub(crate) fn keep(alarm: &Arc<Alarm>) {
    BOARD.with(|mine| {
        if let Some(board) = mine.borrow_mut().as_mut() {
            board.alarms.push(alarm.clone());
        }
    });
}

impl Alarm {
    /// Whether it is in the timer store. Under the store's lock.
    pub(crate) fn set_kept(&self, on: bool) -> bool {
        let was = self.is_kept.load(Relaxed);
        self.is_kept.store(on, Relaxed);
        was
    }
}
