//! What a task has captured: gone when the task has ended, whichever way.

use crate::life::listening;
use crate::support::{Dropped, LONG, hold, quiet_panic, single};
use punctual::{Cancel, TaskHandle};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};

/// A closure that keeps something alive, and the means to see whether it still does.
fn keeping<R>(body: impl FnOnce() -> R) -> (impl FnOnce() -> R, Weak<()>) {
    let kept = Arc::new(());
    let seen = Arc::downgrade(&kept);
    let closure = move || {
        let _kept = kept;
        body()
    };
    (closure, seen)
}

#[test]
fn fut_20_the_closure_is_gone_once_the_task_has_ended() {
    let pool = single();
    let (closure, kept) = keeping(|| 1);
    let finished = pool.submit(closure).unwrap();
    finished.wait();
    assert!(kept.upgrade().is_none(), "finished");

    let (closure, kept) = keeping(|| quiet_panic("no luck"));
    let failed = pool.submit(closure).unwrap();
    let _: &TaskHandle<()> = &failed;
    failed.wait();
    assert!(kept.upgrade().is_none(), "panicked");
    assert_eq!(finished.join().unwrap(), 1, "the handles lived on");
    assert!(failed.join().unwrap_err().is_panic());
}

#[test]
fn fut_20_the_closure_is_gone_when_cancel_returns() {
    let pool = single();
    let held = hold(&pool);
    let (closure, kept) = keeping(|| ());
    let task = pool.submit(closure).unwrap();
    assert!(kept.upgrade().is_some(), "it waits");
    assert_eq!(task.cancel(), Cancel::Removed);
    assert!(
        kept.upgrade().is_none(),
        "although its place in the queue and its handle are still there"
    );
    drop(held);
}

#[test]
fn fut_20_the_closure_of_a_signalled_task_is_gone_when_its_body_ends() {
    let pool = single();
    let drops = Arc::new(AtomicUsize::new(0));
    let (begun, has_begun) = channel();
    let value = Dropped(drops.clone());
    let (closure, kept) = keeping(move || {
        begun.send(()).expect("the test waits for this");
        let _ = punctual::task::sleep(LONG);
        value
    });
    let task = pool.submit(closure).unwrap();
    has_begun.recv().unwrap();
    assert_eq!(task.cancel(), Cancel::Signalled);
    assert!(pool.close().terminated);
    assert!(kept.upgrade().is_none());
    assert_eq!(
        drops.load(Ordering::SeqCst),
        1,
        "and so is the value nobody can take"
    );
    assert!(task.join().unwrap_err().is_cancelled());
}

#[test]
fn fut_20_a_returned_task_keeps_its_closure_until_it_is_run_or_dropped() {
    let pool = single();
    let busy = listening(&pool);
    let (closure, kept) = keeping(|| ());
    let (other, also_kept) = keeping(|| ());
    let (task, second) = (pool.submit(closure).unwrap(), pool.submit(other).unwrap());
    let mut unrun = pool.stop();
    assert!(task.is_finished() && second.is_finished());
    assert!(
        kept.upgrade().is_some() && also_kept.upgrade().is_some(),
        "there to be run"
    );
    drop(unrun.pop());
    assert!(also_kept.upgrade().is_none(), "dropped");
    unrun.pop().unwrap().run().unwrap();
    assert!(kept.upgrade().is_none(), "run");
    busy.wait();
}
