//! Loom models of a deque: push, pop, steal, grow, pause, and the way in that is shut.
//!
//! A ring has two places in the models, so the third record makes it grow. Each place has a witness cell: loom fails the
//! model if two sides ever touch one at once.

#![allow(unsafe_code)]

use super::*;
use crate::models::model;
use crate::queue::locals::Locals;
use crate::task::record::Inline;
use loom::sync::atomic::AtomicUsize;
use loom::thread;

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
            others.heed.set(Heed::PAUSED);
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
