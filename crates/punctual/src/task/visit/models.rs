//! Loom models of a visit and of whoever frees what is visited.

#![allow(unsafe_code)]

use super::{Slot, Slots};
use crate::models::model_with_fences;
use crate::sync::atomic::AtomicBool;
use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::sync::{Arc, Cell, Lock};
use loom::thread;

/// What a visit needs of an engine: a task that may be claimed, how many are left, under a lock, and memory.
struct Place {
    is_claimed: AtomicBool,
    tasks: Lock<u32>,
    memory: Cell<u32>,
}

impl Place {
    fn new() -> Arc<Self> {
        Arc::new(Place {
            is_claimed: AtomicBool::new(false),
            tasks: Lock::new(1),
            memory: Cell::new(0),
        })
    }

    fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// Any step of a visitor.
    fn touch(&self) {
        // SAFETY: the point of the model: nobody writes while this is read.
        self.memory
            .with(|memory| unsafe { assert_eq!(*memory, 0, "freed") });
    }

    /// Takes the task out, if it is there, by a visit.
    fn visit(self: &Arc<Self>, slot: &Slot) {
        if slot.enter(self.address(), || !self.is_claimed.load(Acquire)) {
            self.touch();
            self.claim();
            self.touch();
            slot.leave();
        }
    }

    /// Takes the task out, if it is there.
    fn claim(&self) {
        let mut tasks = self.tasks.lock();
        if !self.is_claimed.swap(true, AcqRel) {
            *tasks -= 1;
        }
    }

    /// Frees the place if nothing is left in it.
    fn end(self: &Arc<Self>, slots: &Slots) {
        let is_over = *self.tasks.lock() == 0;
        if is_over {
            assert!(slots.wait_until_left(self.address()));
            // SAFETY: as above.
            self.memory.with_mut(|memory| unsafe { *memory = 1 });
        }
    }
}

/// A visitor comes, whose slot is made meanwhile, and somebody else takes the task and ends the place.
#[test]
fn a_place_is_not_freed_under_a_visitor() {
    model_with_fences(3, || {
        let slots = Arc::new(Slots::new());
        let place = Place::new();
        let visitor = {
            let (slots, place) = (slots.clone(), place.clone());
            thread::spawn(move || place.visit(slots.take()))
        };
        place.claim();
        place.end(&slots);
        visitor.join().unwrap();
    });
}

/// The visitor itself takes the task out, and goes on to another place: who waits for the end of the first visit may read what
/// came later.
#[test]
fn a_later_visit_is_the_end_of_an_earlier_one() {
    model_with_fences(3, || {
        let slots = Arc::new(Slots::new());
        let (first, second) = (Place::new(), Place::new());
        let visitor = {
            let (slots, first, second) = (slots.clone(), first.clone(), second.clone());
            thread::spawn(move || {
                let slot = slots.take();
                first.visit(slot);
                second.visit(slot);
                slot.give_back();
            })
        };
        first.end(&slots);
        second.end(&slots);
        visitor.join().unwrap();
    });
}

/// A slot goes from a thread that ends to another.
#[test]
fn a_slot_has_one_thread_at_a_time() {
    model_with_fences(2, || {
        let slots = Arc::new(Slots::new());
        let place = Place::new();
        let visit = |slots: &Slots, place: &Arc<Place>| {
            let slot = slots.take();
            place.visit(slot);
            slot.give_back();
        };
        let visitor = {
            let (slots, place) = (slots.clone(), place.clone());
            thread::spawn(move || visit(&slots, &place))
        };
        visit(&slots, &place);
        place.end(&slots);
        visitor.join().unwrap();
        assert!(slots.iter().count() <= 2);
    });
}
