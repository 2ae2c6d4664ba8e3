//! Models of the cell's state word: runner, handle, canceller and waker on one task.

use super::cell::{Scheduler, SchedulerRef, TaskHeader};
use super::reference::{Cancel, PinnedCell};
use super::runnable::{Runnable, make_joinable};
use super::state::End;
use crate::sync::mutex::{Mutex, Rank};
use crate::sync::{Arc, Weak};
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::task::{Wake, Waker};

/// A place for one task, which a runner or a canceller takes out.
struct OnePlace {
    anchor: Weak<dyn Scheduler>,
    task: Mutex<Option<Runnable>>,
    ended: AtomicUsize,
}

impl OnePlace {
    fn new() -> Arc<Self> {
        Arc::new_cyclic(|me: &Weak<OnePlace>| OnePlace {
            anchor: me.clone(),
            task: Mutex::new(Rank::Tail, None),
            ended: AtomicUsize::new(0),
        })
    }

    fn take(&self) -> Option<Runnable> {
        self.task.lock().take()
    }
}

impl Scheduler for OnePlace {
    fn remove(&self, _: &PinnedCell) -> Option<Runnable> {
        self.take()
    }

    fn before_end(&self, _: &TaskHeader, _: End) {
        self.ended.fetch_add(1, Relaxed);
    }
}

/// Counts its drops: every closure and every output is dropped once.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

struct Flag(AtomicUsize);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn the_last_reference_frees() {
    loom::model(|| {
        let place = OnePlace::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let output = Counted(drops.clone());
        let (task, receipt) = make_joinable(SchedulerRef::new(&place.anchor), move || output);
        let handle = receipt.accepted();
        let runner = loom::thread::spawn(move || task.run(|_| ()).publish());
        // Detached before, during or after the run.
        drop(handle);
        runner.join().unwrap();
        assert_eq!(drops.load(SeqCst), 1);
    });
}

#[test]
fn a_pin_holds_the_end_off() {
    loom::model(|| {
        let place = OnePlace::new();
        let (task, receipt) = make_joinable(SchedulerRef::new(&place.anchor), || 7);
        let mut handle = receipt.accepted();
        *place.task.lock() = Some(task);
        let worker = place.clone();
        let runner = loom::thread::spawn(move || {
            // The runner's is the last strong reference: it goes after the end, so a pinned canceller still has it.
            if let Some(task) = worker.take() {
                task.run(|_| ()).publish();
            }
        });
        drop(place);
        let cancel = handle.reference().cancel();
        runner.join().unwrap();
        match cancel {
            Cancel::TooLate => assert!(matches!(handle.take(), Ok(7))),
            Cancel::Removed | Cancel::Signalled => assert!(handle.take().is_err()),
        }
    });
}

#[test]
fn a_cancelled_output_is_dropped_once() {
    loom::model(|| {
        let place = OnePlace::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let output = Counted(drops.clone());
        let (task, receipt) = make_joinable(SchedulerRef::new(&place.anchor), move || output);
        let handle = receipt.accepted();
        let runner = loom::thread::spawn(move || task.run(|_| ()).publish());
        let _ = handle.reference().cancel();
        runner.join().unwrap();
        drop(handle);
        assert_eq!(drops.load(SeqCst), 1);
    });
}

#[test]
fn a_waker_is_called() {
    loom::model(|| {
        let place = OnePlace::new();
        let (task, receipt) = make_joinable(SchedulerRef::new(&place.anchor), || ());
        let mut handle = receipt.accepted();
        let runner = loom::thread::spawn(move || task.run(|_| ()).publish());
        let flag = Arc::new(Flag(AtomicUsize::new(0)));
        let is_left = handle.set_waker(&Waker::from(flag.clone()));
        runner.join().unwrap();
        assert!(handle.state().load().is_resolved());
        if is_left {
            assert_eq!(flag.0.load(SeqCst), 1);
        }
        assert!(handle.take().is_ok());
    });
}

#[test]
fn a_sleeper_is_woken() {
    loom::model(|| {
        let place = OnePlace::new();
        let (task, receipt) = make_joinable(SchedulerRef::new(&place.anchor), || 7);
        let mut handle = receipt.accepted();
        let runner = loom::thread::spawn(move || task.run(|_| ()).publish());
        loop {
            let seen = handle.state().announce_sleeper();
            if seen.is_resolved() {
                break;
            }
            handle.state().sleep(seen, None);
        }
        assert!(matches!(handle.take(), Ok(7)));
        runner.join().unwrap();
    });
}
