//! Visits that meet the end of what is visited, and those that are refused.

#![allow(unsafe_code)]

use super::{Slots, Visit};
use crate::sync::Arc;
use crate::{Cancel, Pool};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// What an engine holds: it says whether it was freed too early.
struct Inside {
    is_left: Arc<AtomicBool>,
    too_early: Arc<AtomicBool>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.too_early.store(!self.is_left.load(SeqCst), SeqCst);
    }
}

#[test]
fn an_engine_is_not_freed_under_a_visitor() {
    let flag = || Arc::new(AtomicBool::new(false));
    let (is_left, too_early) = (flag(), flag());
    let inside = Inside {
        is_left: is_left.clone(),
        too_early: too_early.clone(),
    };
    let (tell, told) = channel();
    let pool = Pool::builder("visited")
        .core_threads(1)
        .before_task(move |_| _ = &inside)
        .on_terminated(move || tell.send(()).unwrap())
        .build()
        .unwrap();
    let task = pool.after(HOUR, || ()).unwrap();
    let shared = task.task_ref();
    // SAFETY: the reference holds a share.
    let block = unsafe { task.share().as_ref() };
    // SAFETY: no view's; nothing that could end a pool runs on this thread from here on.
    let visit = unsafe { Visit::begin(block) }.expect("it is in the store");
    let ending = std::thread::spawn(move || {
        assert_eq!(task.cancel(), Cancel::Removed);
        drop(task);
        assert!(pool.close().terminated);
    });
    told.recv().unwrap();
    // The last owner lets go of it about now: time enough to free it.
    (0..1000).for_each(|_| std::thread::yield_now());
    assert!(visit.is_stopping(), "it is there to be asked");
    is_left.store(true, SeqCst);
    drop(visit);
    ending.join().unwrap();
    while Arc::strong_count(&too_early) > 1 {
        std::thread::yield_now();
    }
    assert!(!too_early.load(SeqCst), "freed under a visitor");
    drop(shared);
}

#[test]
fn a_visit_inside_a_visit_and_one_to_a_claimed_task_are_refused() {
    let pool = Pool::fixed(1).unwrap();
    let tasks = [0, 1].map(|_| pool.after(HOUR, || ()).unwrap());
    // SAFETY: the handles hold shares.
    let [first, second] = [0, 1].map(|task: usize| unsafe { tasks[task].share().as_ref() });
    // SAFETY: no view's tasks; nothing runs meanwhile.
    unsafe {
        let visit = Visit::begin(first).expect("it is in the store");
        assert!(Visit::begin(second).is_none(), "this thread is visiting");
        drop(visit);
        assert!(Visit::begin(second).is_some());
    }
    assert_eq!(tasks[0].cancel(), Cancel::Removed);
    // SAFETY: as above.
    assert!(unsafe { Visit::begin(first) }.is_none(), "it is claimed");
}

#[test]
fn slots_are_used_again_and_a_forked_child_forgets_who_visited() {
    // What is in a list stays for ever, so the list does.
    static SLOTS: Slots = Slots::new();
    let slots = &SLOTS;
    let first = slots.take();
    first.give_back();
    assert!(std::ptr::eq(first, slots.take()), "a thread has left it");
    let second = slots.take();
    assert!(!std::ptr::eq(first, second));
    assert_eq!(slots.iter().count(), 2);
    assert!(second.enter(4, || true) && !second.enter(8, || true));
    assert!(!first.enter(4, || false), "nobody keeps it");
    // Their threads are gone: nobody would ever clear them.
    slots.clear();
    assert!(slots.wait_until_left(4));
}
