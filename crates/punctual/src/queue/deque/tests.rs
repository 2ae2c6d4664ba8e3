//! A deque against a plain one, and between threads.

#![allow(unsafe_code)]

use super::*;
use crate::queue::locals::{Locals, Victims};
use crate::sync::atomic::AtomicUsize;
use crate::task::Class;
use crate::task::record::Inline;
use std::collections::VecDeque;
use std::sync::Mutex;

fn run(slot: &mut Slot) {
    slot.run();
}

#[test]
fn the_owner_takes_the_newest_and_a_thief_the_oldest() {
    let locals = Locals::new(0);
    let (owner, thief) = (locals.join(0), locals.join(0));
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..4 {
        let order = order.clone();
        owner.push(
            Class::ROOT,
            Inline::new(move || order.lock().unwrap().push(number)),
            || 1,
        );
    }
    let mut slot = Slot::empty();
    assert_eq!(owner.pop(&locals.heed, &mut slot), Taken::Task);
    run(&mut slot);
    assert_eq!(owner.deque().steal(&thief, &locals.heed, &mut slot), Taken::Task);
    run(&mut slot);
    assert_eq!(owner.pop(&locals.heed, &mut slot), Taken::Task);
    run(&mut slot);
    assert_eq!(owner.deque().steal(&thief, &locals.heed, &mut slot), Taken::Task);
    run(&mut slot);
    assert_eq!(owner.pop(&locals.heed, &mut slot), Taken::Nothing);
    assert_eq!(*order.lock().unwrap(), [3, 0, 2, 1]);
    let counts = locals.counts();
    assert_eq!((counts.pushed, counts.taken, counts.stolen), (4, 4, 2));
}

#[test]
fn a_ring_grows_and_its_memory_goes_back_when_it_is_empty() {
    let locals = Locals::new(0);
    let owner = locals.join(0);
    let mut model = VecDeque::new();
    let sum = Arc::new(AtomicUsize::new(0));
    for number in 0..10_000_usize {
        let sum = sum.clone();
        let task = Inline::new(move || {
            sum.fetch_add(number, Relaxed);
        });
        owner.push(Class::ROOT, task, || 1);
        model.push_back(number);
    }
    owner.shrink();
    assert!(owner.ring.get().len() >= 10_000, "not while something lies in it");
    let mut slot = Slot::empty();
    let mut expected = 0;
    while let Some(number) = model.pop_back() {
        assert_eq!(owner.pop(&locals.heed, &mut slot), Taken::Task);
        run(&mut slot);
        expected += number;
        assert_eq!(sum.load(Relaxed), expected);
    }
    assert!(owner.ring.get().len() >= 10_000);
    owner.shrink();
    assert_eq!(owner.ring.get().len(), FIRST_RING as u64);
}

#[test]
fn kot_08_a_producer_and_six_thieves_take_every_record_exactly_once() {
    const RECORDS: usize = 100_000;
    let locals = Arc::new(Locals::new(0));
    let seen: Arc<Vec<AtomicUsize>> = Arc::new((0..RECORDS).map(|_| AtomicUsize::new(0)).collect());
    let is_done = Arc::new(AtomicUsize::new(0));
    let owner = locals.join(0);
    let thieves: Vec<_> = (0..6)
        .map(|_| {
            let (locals, is_done) = (locals.clone(), is_done.clone());
            std::thread::spawn(move || {
                let me = locals.join(0);
                let mut victims = Victims::default();
                let mut slot = Slot::empty();
                loop {
                    let is_last = is_done.load(Acquire) == 1;
                    locals.look(&me, &mut victims);
                    for victim in victims.deques() {
                        while victim.steal(&me, &locals.heed, &mut slot) == Taken::Task {
                            run(&mut slot);
                        }
                    }
                    if is_last {
                        locals.leave(&me);
                        return;
                    }
                    crate::sync::yield_now();
                }
            })
        })
        .collect();
    let mut slot = Slot::empty();
    for number in 0..RECORDS {
        let seen = seen.clone();
        let task = Inline::new(move || {
            seen[number].fetch_add(1, Relaxed);
        });
        owner.push(Class::ROOT, task, || 1);
        if number % 3 == 0 && owner.pop(&locals.heed, &mut slot) == Taken::Task {
            run(&mut slot);
        }
    }
    while owner.pop(&locals.heed, &mut slot) == Taken::Task {
        run(&mut slot);
    }
    is_done.store(1, Release);
    for thief in thieves {
        thief.join().unwrap();
    }
    assert!(seen.iter().all(|times| times.load(Relaxed) == 1));
    let counts = locals.counts();
    assert_eq!((counts.pushed, counts.taken), (RECORDS as u64, RECORDS as u64));
}

#[test]
fn what_was_just_put_in_can_be_taken_back() {
    let locals = Locals::new(0);
    let (owner, thief) = (locals.join(0), locals.join(0));
    fn task() {}
    owner.push(Class::ROOT, Inline::new(task as fn()), || 1);
    // SAFETY: the last push was of this type.
    assert!(unsafe { owner.take_back::<Inline<fn()>>() }.is_some());
    assert_eq!(locals.counts().pushed, 0);
    owner.push(Class::ROOT, Inline::new(task as fn()), || 1);
    let mut slot = Slot::empty();
    assert_eq!(owner.deque().steal(&thief, &locals.heed, &mut slot), Taken::Task);
    // SAFETY: as above.
    assert!(unsafe { owner.take_back::<Inline<fn()>>() }.is_none());
    assert_eq!(locals.counts().pushed, 1);
    run(&mut slot);
}
