//! Loom models of the lines: a thief that meets the worker whose line it is, and readings meanwhile. Who is called for what lies in
//! a line is modelled with those who sleep, in `worker/models.rs`.

use super::{OwnYields, Yields};
use crate::models::model;
use crate::queue::Capacity;
use crate::queue::room::Room;
use crate::sync::Arc;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{Acquire, Release};
use crate::task::Class;
use crate::task::block::{Entry, Origin};
use crate::task::record::Slot;
use crate::task::state::{Claim, End};
use loom::thread;

/// Something to keep. Nothing here polls it.
pub(crate) fn entry() -> Entry {
    let origin = Origin {
        class: Class::ROOT,
        fork: 0,
        home: std::ptr::null(),
    };
    let entry = Entry::new(origin, false, None, || ());
    assert_eq!(entry.header().state.claim(), Claim::Won);
    entry
}

/// Its end, once: loom fails a model in which one is left, or freed twice.
pub(crate) fn end(entry: Entry) {
    let _ = entry.header().state.resolve(End::Finished, false);
    entry.let_go();
}

fn room() -> Arc<Room<()>> {
    Arc::new(Room::new(Capacity::Unbounded, ()))
}

/// A line of so many.
fn line(room: &Room<()>, futures: usize) -> Arc<OwnYields> {
    let own = OwnYields::new();
    (0..futures).for_each(|_| room.keep_yielded(&own, entry(), || 0));
    own
}

fn yields(room: &Room<()>) -> &Yields {
    room.yields.as_deref().expect("a plain room")
}

/// What the slot holds and what lies in the line: all of it ends here.
fn end_all(own: &OwnYields, slot: &mut Slot) -> usize {
    let all = own.take_all().into_iter().map(|each| each.entry);
    all.chain(slot.take_entry()).map(end).count()
}

/// A worker polls one of its three, which yields again, while another takes half of what lies there: each is somewhere, once.
#[test]
fn a_thief_meets_a_worker_that_takes_and_puts() {
    model(4, || {
        let room = room();
        let own = line(&room, 3);
        let other = room.clone();
        let thief = thread::spawn(move || {
            let (mine, mut slot) = (OwnYields::new(), Slot::empty());
            let is_taken = other.take_any_yielded(&mine, &mut slot);
            (is_taken, end_all(&mine, &mut slot))
        });
        let mut slot = Slot::empty();
        if room.take_yielded(&own, &mut slot) {
            let again = slot.take_entry().expect("it was taken");
            room.keep_yielded(&own, again, || 0);
        }
        let (is_taken, stolen) = thief.join().unwrap();
        assert_eq!(is_taken, stolen > 0);
        let here = own.has_some();
        let kept = end_all(&own, &mut slot);
        assert_eq!((here, kept + stolen), (kept > 0, 3));
    });
}

/// Two workers and three futures: one worker ends what it polls and takes the next from its line, the other, without any, takes half
/// of that line. A reading never shows more at work than there are workers, nor more in the lines than have not ended.
#[test]
fn a_reading_meets_a_take_and_a_theft() {
    model(3, || {
        let (room, ended) = (room(), Arc::new(AtomicU64::new(0)));
        let own = line(&room, 2);
        let count = |ended: &AtomicU64| {
            ended.store(ended.load(Acquire) + 1, Release);
        };
        let worker = {
            let (room, own, ended) = (room.clone(), own.clone(), ended.clone());
            thread::spawn(move || {
                let mut slot = Slot::empty();
                // What it polls first never lay in a line.
                count(&ended);
                if room.take_yielded(&own, &mut slot) {
                    slot.take_entry().into_iter().for_each(end);
                    count(&ended);
                }
            })
        };
        let thief = {
            let room = room.clone();
            thread::spawn(move || {
                let (mine, mut slot) = (OwnYields::new(), Slot::empty());
                let _ = room.take_any_yielded(&mine, &mut slot);
                (mine, slot)
            })
        };
        let (over, waiting) = yields(&room).read(|| ended.load(Acquire));
        let at_work = 3_u64.checked_sub(over + waiting);
        assert!(at_work.is_some_and(|at_work| at_work <= 2), "{over} {waiting}");
        worker.join().unwrap();
        let (mine, mut slot) = thief.join().unwrap();
        end_all(&mine, &mut slot);
        end_all(&own, &mut Slot::empty());
    });
}
