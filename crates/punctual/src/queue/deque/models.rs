//! Loom models of a deque: push, pop from both ends, steal, grow, shrink, join, pause, and the way in that is shut.
//!
//! A ring has two places in the models, so the third record makes it grow. Each place has a witness cell: loom fails the
//! model if two sides ever touch one at once.

#![allow(unsafe_code)]

use super::*;
use crate::models::model;
use crate::queue::locals::Locals;
use crate::task::Class;
use crate::task::block::{Entry, Header, Origin, Reference};
use crate::task::record::Inline;
use crate::task::state::{Claim, End};
use loom::sync::atomic::AtomicUsize;
use loom::thread;
use std::ptr::null;

type Count = Arc<AtomicUsize>;

fn push(owner: &Local, ran: &Count) {
    let ran = ran.clone();
    let task = Inline::new(move || {
        ran.fetch_add(1, SeqCst);
    });
    owner.push(Class::ROOT, task, || 0);
}

fn pop(owner: &Local, locals: &Locals) -> bool {
    let mut slot = Slot::empty();
    let is_taken = owner.pop(&locals.heed, &mut slot) == Taken::Task;
    slot.run();
    is_taken
}

fn steal(deque: &Deque, thief: &Local, locals: &Locals) -> bool {
    let mut slot = Slot::empty();
    let is_taken = deque.steal(thief, &locals.heed, &mut slot) == Taken::Task;
    slot.run();
    is_taken
}

#[test]
fn of_two_who_want_the_last_record_one_gets_it() {
    model(4, || {
        let (locals, ran) = (Arc::new(Locals::new(0)), Count::default());
        let owner = locals.join(0);
        let (deque, others) = (owner.deque().clone(), locals.clone());
        let thief = thread::spawn(move || {
            let me = others.join(0);
            usize::from(steal(&deque, &me, &others))
        });
        push(&owner, &ran);
        let mine = usize::from(pop(&owner, &locals));
        let theirs = thief.join().unwrap();
        let rest = usize::from(pop(&owner, &locals));
        assert_eq!((mine + theirs + rest, ran.load(SeqCst)), (1, 1));
        assert_eq!(locals.counts().taken, 1);
    });
}

#[test]
fn a_deque_grows_while_others_steal() {
    model(3, || {
        let (locals, ran) = (Arc::new(Locals::new(0)), Count::default());
        let owner = locals.join(0);
        push(&owner, &ran);
        let (deque, others) = (owner.deque().clone(), locals.clone());
        let thief = thread::spawn(move || {
            let me = others.join(0);
            usize::from(steal(&deque, &me, &others)) + usize::from(steal(&deque, &me, &others))
        });
        push(&owner, &ran);
        push(&owner, &ran);
        let mut taken = usize::from(pop(&owner, &locals));
        taken += thief.join().unwrap();
        while pop(&owner, &locals) {
            taken += 1;
        }
        assert_eq!((taken, ran.load(SeqCst)), (3, 3));
    });
}

#[test]
fn two_thieves_and_the_owner_share_two_records() {
    model(3, || {
        let (locals, ran) = (Arc::new(Locals::new(0)), Count::default());
        let owner = locals.join(0);
        push(&owner, &ran);
        push(&owner, &ran);
        let thief = || {
            let (deque, others) = (owner.deque().clone(), locals.clone());
            thread::spawn(move || {
                let me = others.join(0);
                usize::from(steal(&deque, &me, &others))
            })
        };
        let thieves = [thief(), thief()];
        let mut taken = usize::from(pop(&owner, &locals));
        for thief in thieves {
            taken += thief.join().unwrap();
        }
        while pop(&owner, &locals) {
            taken += 1;
        }
        assert_eq!((taken, ran.load(SeqCst)), (2, 2));
    });
}

/// A drain and a submitter: the record is drained, or the submitter sees the way shut and has it back.
#[test]
fn a_push_meets_a_stop() {
    model(4, || {
        let locals = Arc::new(Locals::new(0));
        let owner = locals.join(0);
        locals.way_in.set(true);
        let (deque, others) = (owner.deque().clone(), locals.clone());
        let stopper = thread::spawn(move || {
            others.way_in.set(false);
            in_one_order();
            let mut drained = 0;
            deque.drain(|_| drained += 1);
            drained
        });
        let mut kept = 0;
        if locals.way_in.is_open() {
            owner.push(Class::ROOT, Inline::new((|| ()) as fn()), || 0);
            if !locals.way_in.is_still_open() {
                // SAFETY: the last push was of this type.
                kept += usize::from(unsafe { owner.take_back::<Inline<fn()>>() }.is_some());
            }
        } else {
            kept = 1;
        }
        let drained = stopper.join().unwrap();
        assert_eq!(
            kept + drained,
            1,
            "neither lost nor in two hands, and none is left"
        );
        assert!(owner.deque().is_empty());
    });
}

/// Once a pause has returned nothing more is taken, and what was taken is counted.
#[test]
fn a_pause_meets_an_owner_and_a_thief() {
    model(3, || {
        let (locals, ran) = (Arc::new(Locals::new(0)), Count::default());
        let owner = locals.join(0);
        push(&owner, &ran);
        push(&owner, &ran);
        let others = locals.clone();
        let pauser = thread::spawn(move || {
            others.heed.set(Heed::BARRED);
            others.settle();
            others.counts().taken
        });
        let (deque, others) = (owner.deque().clone(), locals.clone());
        let thief = thread::spawn(move || {
            let me = others.join(0);
            steal(&deque, &me, &others);
        });
        pop(&owner, &locals);
        let taken = pauser.join().unwrap();
        thief.join().unwrap();
        // A thief that came to the list after the pauser's look has seen the pause.
        assert_eq!(locals.counts().taken, taken);
    });
}

/// The owner takes its oldest while a thief wants the same, and another record lies above it.
#[test]
fn an_owner_that_takes_its_oldest_meets_a_thief() {
    model(3, || {
        let (locals, ran) = (Arc::new(Locals::new(0)), Count::default());
        let owner = locals.join(0);
        push(&owner, &ran);
        push(&owner, &ran);
        let (deque, others) = (owner.deque().clone(), locals.clone());
        let thief = thread::spawn(move || {
            let me = others.join(0);
            usize::from(steal(&deque, &me, &others))
        });
        let mut slot = Slot::empty();
        let mut taken = usize::from(owner.pop_oldest(&locals.heed, &mut slot) == Taken::Task);
        slot.run();
        taken += usize::from(pop(&owner, &locals));
        let stolen = thief.join().unwrap();
        while pop(&owner, &locals) {
            taken += 1;
        }
        assert_eq!((taken + stolen, ran.load(SeqCst)), (2, 2));
        let counts = locals.counts();
        assert_eq!((counts.taken, counts.stolen), (2, stolen as u64));
    });
}

/// A ring that grew is given back while a thief looks, and used again.
#[test]
fn a_deque_shrinks_while_another_steals() {
    model(3, || {
        let (locals, ran) = (Arc::new(Locals::new(0)), Count::default());
        let owner = locals.join(0);
        for _ in 0..3 {
            push(&owner, &ran);
        }
        let (deque, others) = (owner.deque().clone(), locals.clone());
        let thief = thread::spawn(move || {
            let me = others.join(0);
            usize::from(steal(&deque, &me, &others)) + usize::from(steal(&deque, &me, &others))
        });
        let mut taken = 0;
        while pop(&owner, &locals) {
            taken += 1;
        }
        owner.shrink();
        push(&owner, &ran);
        taken += thief.join().unwrap();
        while pop(&owner, &locals) {
            taken += 1;
        }
        owner.shrink();
        assert_eq!((taken, ran.load(SeqCst)), (4, 4));
        assert_eq!(owner.ring.get().len(), FIRST_RING as u64);
    });
}

/// A task with a reference in the deque of its owner.
fn push_entry(owner: &Local, ran: &Count) -> Arc<Reference> {
    let ran = ran.clone();
    let origin = Origin {
        class: Class::ROOT,
        fork: 0,
        home: null(),
    };
    let entry = Entry::new(origin, false, None, move || {
        ran.fetch_add(1, SeqCst);
    });
    // SAFETY: the entry is a share.
    let task = unsafe { Reference::of(entry.pointer()) };
    owner.push(Class::ROOT, entry, || 0);
    task
}

/// Runs a claimed task, as a worker does.
fn run_entry(entry: Entry) {
    // SAFETY: whoever gave it claimed it, and this is its one run.
    assert_eq!(unsafe { entry.run() }, End::Finished);
    let _ = entry.header().state.resolve(End::Finished, false);
    entry.let_go();
}

/// Steals an entry and runs it, or lets go of a dead one.
fn steal_entry(deque: &Deque, thief: &Local, locals: &Locals) -> Taken {
    let mut slot = Slot::empty();
    let taken = deque.steal(thief, &locals.heed, &mut slot);
    match taken {
        Taken::Task => run_entry(slot.take_entry().expect("nothing else was pushed")),
        Taken::Dead => slot.let_go(),
        Taken::Nothing | Taken::Busy => {}
    }
    taken
}

/// The owner joins its newest task while a thief wants it: one of them runs it.
#[test]
fn a_join_meets_a_thief() {
    model(4, || {
        let (locals, ran) = (Arc::new(Locals::new(0)), Count::default());
        let owner = locals.join(0);
        let task = push_entry(&owner, &ran);
        let (deque, others) = (owner.deque().clone(), locals.clone());
        let thief = thread::spawn(move || {
            let me = others.join(0);
            steal_entry(&deque, &me, &others)
        });
        let mut joined = 0;
        if let Some(entry) = owner.take_to_join(task.pointer(), &locals.heed) {
            run_entry(entry);
            joined = 1;
        }
        let stolen = usize::from(thief.join().unwrap() == Taken::Task);
        assert_eq!((joined + stolen, ran.load(SeqCst)), (1, 1));
        let counts = locals.counts();
        assert_eq!((counts.joined, counts.taken), (joined as u64, stolen as u64));
        assert!(owner.deque().is_empty());
    });
}

/// A canceller claims the task that its owner joins and a thief wants: a dead record goes back, and somebody lets go of it, once.
#[test]
fn a_join_meets_a_cancel_and_a_thief() {
    model(3, || {
        let (locals, ran) = (Arc::new(Locals::new(0)), Count::default());
        let owner = locals.join(0);
        let task = push_entry(&owner, &ran);
        let other = task.clone();
        let canceller = thread::spawn(move || {
            let state = &other.header().state;
            if state.claim_to_remove() == Claim::Lost {
                return 0;
            }
            // SAFETY: the claim is won, and this is the closure's end.
            unsafe { Header::drop_closure(other.pointer()) };
            let _ = state.resolve(End::Cancelled, false);
            1
        });
        let (deque, others) = (owner.deque().clone(), locals.clone());
        let thief = thread::spawn(move || {
            let me = others.join(0);
            steal_entry(&deque, &me, &others)
        });
        let mut joined = 0;
        if let Some(entry) = owner.take_to_join(task.pointer(), &locals.heed) {
            run_entry(entry);
            joined = 1;
        }
        let cancelled = canceller.join().unwrap();
        let theirs = thief.join().unwrap();
        let stolen = usize::from(theirs == Taken::Task);
        assert_eq!(cancelled + stolen + joined, 1);
        assert_eq!(ran.load(SeqCst), stolen + joined);
        let mut slot = Slot::empty();
        let mut dead = usize::from(theirs == Taken::Dead);
        if owner.pop(&locals.heed, &mut slot) == Taken::Dead {
            slot.let_go();
            dead += 1;
        }
        assert_eq!(dead, cancelled, "a dead record is let go of by somebody");
        assert!(owner.deque().is_empty(), "no record is left behind");
    });
}
