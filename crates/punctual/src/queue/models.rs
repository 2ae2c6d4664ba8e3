//! Loom models of the room: push, pop, refill, close, drain, and permits.
//!
//! Segments have eight words in the models, so three records of two words cross from one to the next. Each segment
//! has a witness cell that both ends touch: loom fails the model if they ever do so at once.

/// A task that is moved while others reach for it.
mod moves;

use super::Capacity;
use super::producers::Refusal;
use super::room::Room;
use crate::models::model;
use crate::sync::Arc;
use crate::task::home::Removal;
use crate::task::record::{Inline, Slot};
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::thread;

type Log = std::sync::Mutex<Vec<usize>>;

fn push(room: &Room<()>, ran: &Arc<Log>, number: usize) -> Result<(), Refusal> {
    let ran = ran.clone();
    room.push(Inline::new(move || ran.lock().unwrap().push(number)))
}

fn run_all(room: &Room<()>) -> usize {
    let mut slot = Slot::empty();
    let mut count = 0;
    while room.take_one(&mut slot) {
        slot.run();
        count += 1;
    }
    count
}

#[test]
fn every_record_is_taken_once_and_in_order() {
    model(4, || {
        let (room, ran) = (
            Arc::new(Room::new(Capacity::Unbounded, ())),
            Arc::new(Log::default()),
        );
        let (other, log) = (room.clone(), ran.clone());
        let producer = thread::spawn(move || {
            for number in 0..3 {
                push(&other, &log, number).unwrap();
            }
        });
        run_all(&room);
        producer.join().unwrap();
        run_all(&room);
        assert_eq!(*ran.lock().unwrap(), [0, 1, 2]);
    });
}

#[test]
fn two_consumers_share_without_loss() {
    model(4, || {
        let (room, ran) = (
            Arc::new(Room::new(Capacity::Unbounded, ())),
            Arc::new(Log::default()),
        );
        push(&room, &ran, 0).unwrap();
        let (other, log) = (room.clone(), ran.clone());
        let consumer = thread::spawn(move || {
            push(&other, &log, 1).unwrap();
            run_all(&other)
        });
        let mine = run_all(&room);
        assert_eq!(mine + consumer.join().unwrap(), 2);
    });
}

#[test]
fn a_closed_room_lets_nobody_in_and_loses_nobody() {
    model(4, || {
        let (room, ran) = (
            Arc::new(Room::new(Capacity::Unbounded, ())),
            Arc::new(Log::default()),
        );
        let (other, log) = (room.clone(), ran.clone());
        let producer = thread::spawn(move || push(&other, &log, 1));
        room.producers().close();
        let taken = run_all(&room);
        let accepted = producer.join().unwrap().is_ok();
        // Closed before this look: whatever was accepted is in the room by now.
        assert_eq!(usize::from(accepted), taken + run_all(&room));
        assert!(room.look(|producers, is_empty| is_empty && producers.is_closed()));
    });
}

#[test]
fn permits_are_never_overdrawn() {
    model(4, || {
        let (room, ran) = (
            Arc::new(Room::new(Capacity::Bounded(1), ())),
            Arc::new(Log::default()),
        );
        let inside = Arc::new(AtomicUsize::new(0));
        let (other, log, count) = (room.clone(), ran.clone(), inside.clone());
        let producer = thread::spawn(move || {
            if push(&other, &log, 1).is_ok() {
                assert!(count.fetch_add(1, SeqCst) < 2);
            }
        });
        let first = push(&room, &ran, 0);
        let mut slot = Slot::empty();
        let popped = room.take_one(&mut slot);
        if popped {
            slot.run();
        }
        producer.join().unwrap();
        let accepted = inside.load(SeqCst) + usize::from(first.is_ok());
        assert!(accepted <= 1 + usize::from(popped));
        run_all(&room);
        assert_eq!(push(&room, &ran, 2), Ok(()), "every permit came back");
        run_all(&room);
    });
}

#[test]
fn drain_and_pop_share_without_loss() {
    model(4, || {
        let (room, ran) = (
            Arc::new(Room::new(Capacity::Bounded(2), ())),
            Arc::new(Log::default()),
        );
        push(&room, &ran, 0).unwrap();
        push(&room, &ran, 1).unwrap();
        let other = room.clone();
        let consumer = thread::spawn(move || run_all(&other));
        let mut drained = 0;
        for mut slot in room.drain() {
            slot.run();
            let _ = room.remove(Removal::Returned, 0);
            drained += 1;
        }
        assert_eq!(drained + consumer.join().unwrap(), 2);
        let (tally, (), ()) = room.tally(|| (), |()| ());
        assert_eq!(tally.waiting(), 0);
    });
}
