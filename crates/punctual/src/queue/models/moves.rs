//! Loom models of a task that is moved inside its room while others reach for it: whatever comes between, one record
//! counts, the task has one end, its memory is freed once, and the counts of both levels agree.

#![allow(unsafe_code)]

use super::Log;
use crate::Priority;
use crate::models::model;
use crate::queue::room::{Drawn, Room};
use crate::queue::rules::Rule;
use crate::queue::{Capacity, Discipline};
use crate::sync::Arc;
use crate::task::Class;
use crate::task::block::{Entry, Header, Origin, Reference};
use crate::task::home::{Destination, Removal};
use crate::task::record::Slot;
use crate::task::state::{Claim, End};
use crate::time::Clock;
use loom::thread;

const URGENT: Destination = Destination::Level(Priority::URGENT);

/// Two levels, and a task in the second. Nobody holds a handle.
struct Scene {
    room: Arc<Room<()>>,
    ran: Arc<Log>,
    task: Arc<Reference>,
}

impl Scene {
    fn new() -> Self {
        let discipline = Discipline {
            levels: 2,
            rule: Rule::Strict,
            targets: Vec::new(),
        };
        let clock = Clock::system();
        let room = Arc::new(Room::with(
            Capacity::Unbounded,
            Some(&discipline),
            false,
            &clock,
            (),
        ));
        let ran = Arc::new(Log::default());
        let log = ran.clone();
        let class = Class::ROOT.with_priority(Priority::LOW);
        let origin = Origin {
            class,
            fork: 0,
            home: std::ptr::null(),
        };
        let entry = Entry::new(origin, false, None, move || log.lock().unwrap().push(1));
        // SAFETY: the entry is a share.
        let task = unsafe { Reference::of(entry.pointer()) };
        if room.producers().push(&room, class, entry, true, &clock).is_err() {
            unreachable!("an empty segment has room for one");
        }
        Scene { room, ran, task }
    }

    /// Moves the task on a thread of its own; says whether it was moved.
    fn moving(&self, to: Destination) -> thread::JoinHandle<bool> {
        let (room, task) = (self.room.clone(), self.task.clone());
        thread::spawn(move || room.relocate(&task, to, &Clock::system()).is_some())
    }

    /// Takes and runs all that can be taken.
    fn take_all(&self) -> usize {
        let mut slot = Slot::empty();
        let mut taken = 0;
        while self.room.take_one(&mut slot) {
            let entry = slot.take_entry().expect("nothing else was pushed");
            // SAFETY: `pop` claimed it, and this is its one run.
            assert_eq!(unsafe { entry.run() }, End::Finished);
            let _ = entry.header().state.resolve(End::Finished, false);
            entry.let_go();
            taken += 1;
        }
        taken
    }

    /// As a canceller; whether it was the first to claim it.
    fn cancel(&self) -> bool {
        let header = self.task.header();
        if header.state.claim_to_remove() == Claim::Lost {
            return false;
        }
        // SAFETY: the claim is won, and this is the closure's end.
        unsafe { Header::drop_closure(self.task.pointer()) };
        let _ = header.state.resolve(End::Cancelled, false);
        let _ = self
            .room
            .remove(Removal::Cancelled, self.room.level_of_task(header));
        true
    }

    /// In the end: it ran so often, was taken from the level that it was in, and nothing waits.
    fn assert_over(&self, runs: usize, moved_to: Option<usize>) {
        assert_eq!(self.ran.lock().unwrap().len(), runs);
        let (tally, (), ()) = self.room.tally(|| (), |()| ());
        let taken: Vec<u64> = tally.levels().iter().map(|level| level.taken).collect();
        let mut expected = vec![0; 2];
        expected[moved_to.unwrap_or(1)] = runs as u64;
        assert_eq!((taken, tally.waiting()), (expected, 0));
        assert_eq!(self.take_all(), 0);
        assert!(self.room.is_empty(), "no record is left behind");
    }
}

#[test]
fn a_move_meets_a_take() {
    model(3, || {
        let scene = Scene::new();
        let mover = scene.moving(URGENT);
        let taken = scene.take_all();
        let moved = mover.join().unwrap();
        assert_eq!(taken + scene.take_all(), 1);
        scene.assert_over(1, moved.then_some(0));
    });
}

#[test]
fn a_move_to_the_front_meets_a_take() {
    model(3, || {
        let scene = Scene::new();
        let mover = scene.moving(Destination::Front);
        let taken = scene.take_all();
        mover.join().unwrap();
        assert_eq!(taken + scene.take_all(), 1);
        // Its level is the same wherever it stands.
        scene.assert_over(1, None);
    });
}

#[test]
fn a_move_meets_a_cancel() {
    model(3, || {
        let scene = Scene::new();
        let mover = scene.moving(URGENT);
        assert!(scene.cancel(), "a move claims nothing");
        mover.join().unwrap();
        assert_eq!(scene.take_all(), 0);
        scene.assert_over(0, None);
    });
}

#[test]
fn two_moves_and_a_take_meet() {
    model(2, || {
        let scene = Scene::new();
        let mover = scene.moving(URGENT);
        let other = scene.moving(Destination::Front);
        let taken = scene.take_all();
        let moved = mover.join().unwrap();
        other.join().unwrap();
        assert_eq!(taken + scene.take_all(), 1);
        scene.assert_over(1, moved.then_some(0));
    });
}

#[test]
fn a_move_a_take_and_a_cancel_meet() {
    model(2, || {
        let scene = Arc::new(Scene::new());
        let mover = scene.moving(URGENT);
        let other = scene.clone();
        let canceller = thread::spawn(move || other.cancel());
        let taken = scene.take_all();
        let moved = mover.join().unwrap();
        let cancelled = canceller.join().unwrap();
        let runs = taken + scene.take_all();
        assert_eq!(runs + usize::from(cancelled), 1);
        scene.assert_over(runs, moved.then_some(0));
    });
}

#[test]
fn a_move_meets_an_eviction_of_what_is_less_urgent() {
    model(3, || {
        let scene = Scene::new();
        let mover = scene.moving(URGENT);
        let evicted = scene.room.evict_for_its_place(Some(0), &Clock::system());
        let moved = mover.join().unwrap();
        assert_eq!(
            evicted.is_some(),
            !moved,
            "it is as urgent once it has been moved"
        );
        let runs = usize::from(moved);
        if let Some(slot) = evicted {
            scene.room.producers().unreserve();
            slot.end_unrun(End::Evicted, None);
        }
        assert_eq!(scene.take_all(), runs);
        scene.assert_over(runs, Some(0));
    });
}

#[test]
fn a_move_meets_a_drain() {
    model(3, || {
        let scene = Scene::new();
        let mover = scene.moving(URGENT);
        let mut returned = 0;
        for mut slot in scene.room.drain() {
            if scene.room.claim_drained(&slot) != Drawn::Claimed {
                slot.let_go();
                continue;
            }
            let entry = slot.peek_entry().expect("nothing else was pushed");
            let level = scene.room.level_of_task(entry.header());
            slot.end_unrun(End::Returned, None);
            let _ = scene.room.remove(Removal::Returned, level);
            returned += 1;
        }
        let moved = mover.join().unwrap();
        // It may have been moved out of the drain's way: then it waits still.
        let taken = scene.take_all();
        assert_eq!(returned + taken, 1);
        scene.assert_over(taken, moved.then_some(0));
    });
}
