//! Loom models of a future in a block: wake, poll, end, cancel, and who frees.
//!
//! Each runs the product's own `Entry`, `Waking`, `Runner`, `TaskHandle` and wakers; the queue is a list behind a lock. The
//! future holds a loom `Arc`, so loom fails a model in which it is dropped twice or never; it lies in a loom cell, so loom
//! fails when two poll it at once.

use super::Class;
use super::block::{Entry, Origin};
use super::models::{Books, work, work_woken};
use crate::handle::{Cancel, TaskHandle};
use crate::models::model;
use crate::task::hooks::Hooks;
use loom::sync::Arc as Counted;
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A future that is ready once the flag is up, and leaves its waker here.
struct Bell {
    flag: AtomicBool,
    /// Not modelled: one thread fills it, and others look when that has ended.
    waker: Mutex<Option<Waker>>,
}

/// A future that was polled once.
fn resting(home: &Arc<Books>) -> (Arc<Bell>, TaskHandle<u32>) {
    let (bell, entry, handle) = new(home);
    work(home, entry, Hooks::default());
    (bell, handle)
}

fn new(home: &Arc<Books>) -> (Arc<Bell>, Entry, TaskHandle<u32>) {
    let bell = Arc::new(Bell {
        flag: AtomicBool::new(false),
        waker: Mutex::new(None),
    });
    let (on, held) = (bell.clone(), Counted::new(()));
    let future = poll_fn(move |context| {
        let _ = &held;
        if on.flag.load(Relaxed) {
            return Poll::Ready(7);
        }
        let mut waker = on.waker.lock().unwrap();
        if waker.is_none() {
            *waker = Some(context.waker().clone());
        }
        Poll::Pending
    });
    let origin = Origin {
        class: Class::ROOT.future(),
        fork: 0,
        home: home.home(),
    };
    let entry = Entry::future(origin, true, None, (), future);
    let handle = handle_of(&entry);
    (bell, entry, handle)
}

#[allow(unsafe_code)]
fn handle_of(entry: &Entry) -> TaskHandle<u32> {
    // SAFETY: made with a handle's share, for a future that gives a `u32`.
    unsafe { TaskHandle::new(entry.pointer(), true) }
}

fn waker_of(bell: &Bell) -> Waker {
    bell.waker.lock().unwrap().take().expect("it was polled")
}

/// A wake that comes while the future is polled, at the end of the poll or after it leads to a poll that sees what was
/// done before the wake.
#[test]
fn a_wake_is_seen() {
    model(3, || {
        let home = Books::new();
        let (bell, handle) = resting(&home);
        let waker = waker_of(&bell);
        // Its next poll is under way when the other wakes it.
        waker.wake_by_ref();
        let worker = {
            let home = home.clone();
            thread::spawn(move || work_woken(&home))
        };
        bell.flag.store(true, Relaxed);
        waker.wake();
        worker.join().unwrap();
        work_woken(&home);
        assert_eq!(handle.join().expect("a wake was lost"), 7);
    });
}

/// A poll sees what the one before did, on another thread, though nothing but the wake lies between them.
#[test]
fn a_poll_sees_the_one_before() {
    model(3, || {
        let home = Books::new();
        let (bell, handle) = resting(&home);
        let waker = waker_of(&bell);
        waker.wake_by_ref();
        let worker = {
            let home = home.clone();
            thread::spawn(move || work_woken(&home))
        };
        bell.flag.store(true, Relaxed);
        waker.wake();
        // As another worker: the first may just have ended its poll.
        work_woken(&home);
        worker.join().unwrap();
        work_woken(&home);
        assert_eq!(handle.join().expect("a wake was lost"), 7);
    });
}

/// Two wakes at once give it one record.
#[test]
fn one_wake_gives_a_record() {
    model(3, || {
        let home = Books::new();
        let (bell, handle) = resting(&home);
        let waker = waker_of(&bell);
        let other = waker.clone();
        let thread = thread::spawn(move || other.wake());
        waker.wake();
        thread.join().unwrap();
        assert_eq!(home.waiting(), 1);
        bell.flag.store(true, Relaxed);
        work_woken(&home);
        assert_eq!(handle.join().unwrap(), 7);
    });
}

/// A cancel and a wake: the future ends once, on the worker, and the handle has an answer.
#[test]
fn a_cancel_meets_a_wake() {
    model(3, || {
        let home = Books::new();
        let (bell, handle) = resting(&home);
        let waker = waker_of(&bell);
        let worker = {
            let home = home.clone();
            thread::spawn(move || {
                waker.wake();
                work_woken(&home);
            })
        };
        handle.cancel();
        worker.join().unwrap();
        work_woken(&home);
        assert!(handle.join().unwrap_err().is_cancelled());
        assert_eq!(home.waiting(), 0);
    });
}

/// The handle and the last waker go at once: one of them gives it a record, and the worker drops it.
#[test]
fn the_last_two_go_together() {
    model(3, || {
        let home = Books::new();
        let (bell, handle) = resting(&home);
        let waker = waker_of(&bell);
        let thread = thread::spawn(move || drop(waker));
        drop(handle);
        thread.join().unwrap();
        assert_eq!(home.waiting(), 1, "one record, so that it can be dropped");
        work_woken(&home);
        assert_eq!(home.waiting(), 0);
        assert_eq!(Arc::strong_count(&bell), 1, "the future is gone");
    });
}

/// The end of the future meets a waker that is cloned, called and dropped, and a handle that is dropped: the block is freed
/// once, by the last.
#[test]
fn the_end_meets_a_waker() {
    model(3, || {
        let home = Books::new();
        let (bell, handle) = resting(&home);
        let waker = waker_of(&bell);
        bell.flag.store(true, Relaxed);
        waker.wake_by_ref();
        let worker = {
            let home = home.clone();
            thread::spawn(move || work_woken(&home))
        };
        let other = waker.clone();
        drop(handle);
        waker.wake();
        drop(other);
        worker.join().unwrap();
        work_woken(&home);
        assert_eq!(Arc::strong_count(&bell), 1, "the future is gone");
    });
}

/// A cancel meets the poll that gives the value: one of the two has the last word, and the handle says which.
#[test]
fn a_cancel_meets_a_poll_that_is_ready() {
    model(3, || {
        let home = Books::new();
        let (bell, handle) = resting(&home);
        let waker = waker_of(&bell);
        bell.flag.store(true, Relaxed);
        let worker = {
            let home = home.clone();
            thread::spawn(move || {
                waker.wake();
                work_woken(&home);
            })
        };
        let cancel = handle.cancel();
        worker.join().unwrap();
        work_woken(&home);
        let result = handle.join();
        match cancel {
            Cancel::TooLate => assert_eq!(result.unwrap(), 7),
            Cancel::Signalled => assert!(result.unwrap_err().is_cancelled()),
            Cancel::Removed => unreachable!("it has begun"),
        }
        assert_eq!(home.waiting(), 0);
        assert_eq!(Arc::strong_count(&bell), 1, "the future is gone");
    });
}

/// A cancel meets the first poll: the future is removed, or polled and then dropped by a worker.
#[test]
fn a_cancel_meets_the_first_poll() {
    model(3, || {
        let home = Books::new();
        let (bell, entry, handle) = new(&home);
        let worker = {
            let home = home.clone();
            thread::spawn(move || work(&home, entry, Hooks::default()))
        };
        let cancel = handle.cancel();
        worker.join().unwrap();
        work_woken(&home);
        assert_ne!(cancel, Cancel::TooLate);
        assert!(handle.join().unwrap_err().is_cancelled());
        let waker = bell.waker.lock().unwrap().take();
        assert!(waker.is_none() || cancel == Cancel::Signalled, "it was polled");
        drop(waker);
        assert_eq!(home.waiting(), 0);
        assert_eq!(Arc::strong_count(&bell), 1, "the future is gone");
    });
}

/// A cancel, the last waker and the handle: whoever of them is last, the future gets one record and one end.
#[test]
fn a_cancel_meets_the_last_who_go() {
    model(2, || {
        let home = Books::new();
        let (bell, handle) = resting(&home);
        let waker = waker_of(&bell);
        let other = handle.task_ref();
        let dropper = thread::spawn(move || drop(waker));
        let canceller = thread::spawn(move || other.cancel());
        drop(handle);
        dropper.join().unwrap();
        canceller.join().unwrap();
        assert_eq!(home.waiting(), 1, "one record, so that it can be dropped");
        work_woken(&home);
        assert_eq!(home.waiting(), 0);
        assert_eq!(Arc::strong_count(&bell), 1, "the future is gone");
    });
}
