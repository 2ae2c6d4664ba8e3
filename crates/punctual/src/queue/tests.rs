//! The room against a plain `VecDeque`: order, counts and sweeping, with records of every length.

#![allow(unsafe_code)]

mod levelled;

use super::Capacity;
use super::room::Room;
use crate::sync::Arc;
use crate::task::Class;
use crate::task::block::{Entry, Header, Origin, Reference};
use crate::task::home::Removal;
use crate::task::record::{Inline, Payload, Slot};
use crate::task::state::{Claim, End};
use crate::time::Clock;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Mutex;

type Log = Arc<Mutex<Vec<u64>>>;

/// A closure of one to six words that notes its number.
fn push_closure(room: &Room<()>, log: &Log, number: u64, words: u64) {
    let log = log.clone();
    let note = move || log.lock().unwrap().push(number);
    let pushed = match words {
        0 | 1 => room.push(Inline::new(note)),
        2 | 3 => room.push(Inline::new(with_ballast(note, [number; 1]))),
        4 | 5 => room.push(Inline::new(with_ballast(note, [number; 3]))),
        _ => room.push(Inline::new(with_ballast(note, [number; 4]))),
    };
    pushed.unwrap();
}

fn with_ballast<const N: usize>(note: impl FnOnce() + Send, ballast: [u64; N]) -> impl FnOnce() + Send {
    move || {
        assert!(
            ballast.iter().all(|word| *word == ballast[0]),
            "a record was torn"
        );
        note();
    }
}

/// An entry without a handle or a home; the test plays both.
fn push_entry(room: &Room<()>, log: &Log, number: u64) -> NonNull<Header> {
    let log = log.clone();
    let note = move || log.lock().unwrap().push(number);
    let entry = Entry::new(
        Origin {
            class: Class::ROOT,
            fork: 0,
            home: std::ptr::null(),
        },
        false,
        None,
        note,
    );
    let pointer = entry.pointer();
    room.push(entry).unwrap();
    pointer
}

/// A reference to a task that is about to be pushed.
fn reference_to(entry: &Entry) -> Arc<Reference> {
    // SAFETY: the entry is a share.
    unsafe { Reference::of(entry.pointer()) }
}

/// Writes a record of this class, whatever the room holds.
fn push_to<P: Payload>(room: &Room<()>, class: Class, payload: P, clock: &Clock) {
    let mut next = Some(payload);
    while let Some(payload) = next.take() {
        next = room.producers().push(room, class, payload, true, clock).err();
        if next.is_some() {
            room.bring();
        }
    }
}

/// Cancels a waiting entry of this level as a canceller would.
fn cancel(room: &Room<()>, block: NonNull<Header>, level: usize) -> bool {
    // SAFETY: the entry waits in the room, so its share is held there.
    let header = unsafe { block.as_ref() };
    assert_eq!(header.state.claim_to_remove(), Claim::Won);
    // SAFETY: the claim is won, and this is the closure's end.
    unsafe { Header::drop_closure(block) };
    let _ = header.state.resolve(End::Cancelled, false);
    room.remove(Removal::Cancelled, level)
}

fn run(slot: &mut Slot) {
    match slot.take_entry() {
        None => slot.run(),
        Some(entry) => {
            // SAFETY: `pop` claimed it, and this is its one run.
            assert_eq!(unsafe { entry.run() }, End::Finished);
            let _ = entry.header().state.resolve(End::Finished, false);
            entry.let_go();
        }
    }
}

#[test]
fn agrees_with_a_vec_deque_through_sweeps_and_drains() {
    for seed in 1..=40_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = move |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let room = Room::new(Capacity::Unbounded, ());
        let log = Log::default();
        let mut model: VecDeque<(u64, Option<NonNull<Header>>)> = VecDeque::new();
        let mut expected = Vec::new();
        let mut slot = Slot::empty();
        for number in 0..4_000 {
            match next(100) {
                0..=34 => {
                    push_closure(&room, &log, number, next(8));
                    model.push_back((number, None));
                }
                35..=69 => {
                    let block = push_entry(&room, &log, number);
                    model.push_back((number, Some(block)));
                }
                70..=84 => {
                    let index = next(model.len().max(1) as u64) as usize;
                    if let Some((_, Some(block))) = model.get(index).copied() {
                        let _ = cancel(&room, block, 0);
                        model.remove(index);
                    }
                }
                85..=88 => room.sweep(),
                89 if next(10) == 0 => {
                    for mut slot in room.drain() {
                        if slot
                            .peek_entry()
                            .is_some_and(|entry| entry.header().state.load().is_claimed())
                        {
                            slot.take_entry().unwrap().let_go();
                            continue;
                        }
                        if let Some(entry) = slot.peek_entry() {
                            assert_eq!(entry.header().state.claim_to_remove(), Claim::Won);
                        }
                        run(&mut slot);
                        let _ = room.remove(Removal::Returned, 0);
                        expected.push(model.pop_front().unwrap().0);
                    }
                    assert!(model.is_empty());
                }
                _ => {
                    let popped = room.take_one(&mut slot);
                    assert_eq!(popped, !model.is_empty(), "seed {seed}, step {number}");
                    if let Some((number, _)) = model.pop_front() {
                        run(&mut slot);
                        expected.push(number);
                    }
                }
            }
            let (tally, (), ()) = room.tally(|| (), |()| ());
            assert_eq!(tally.waiting(), model.len() as u64, "seed {seed}, step {number}");
        }
        while room.take_one(&mut slot) {
            run(&mut slot);
            expected.push(model.pop_front().unwrap().0);
        }
        assert!(model.is_empty() && room.is_empty());
        assert_eq!(*log.lock().unwrap(), expected, "seed {seed}");
    }
}

#[test]
fn dead_entries_ask_for_a_sweep_at_their_bound() {
    let room = Room::new(Capacity::Unbounded, ());
    let log = Log::default();
    push_closure(&room, &log, 0, 1);
    let blocks: Vec<_> = (1..=1_100)
        .map(|number| push_entry(&room, &log, number))
        .collect();
    let asked: Vec<usize> = blocks
        .into_iter()
        .enumerate()
        .filter_map(|(index, block)| cancel(&room, block, 0).then_some(index + 1))
        .collect();
    // With dead > live + 1024, where one closure and the entries not yet cancelled are alive.
    assert_eq!(asked.first(), Some(&1_063));
    room.sweep();
    assert!(!room.is_empty(), "the closure is still there");
    let mut slot = Slot::empty();
    assert!(room.take_one(&mut slot));
    slot.run();
    assert!(!room.take_one(&mut slot));
}

#[test]
fn sides_do_not_share_lines() {
    const LINES: usize = 128;
    let [producers, pushed, consumers, popped] = Room::<()>::field_offsets();
    let ends = [producers, pushed, consumers, popped, popped + LINES];
    for pair in ends.windows(2) {
        assert_eq!(pair[0] % LINES, 0, "{ends:?}");
        assert!(pair[1] - pair[0] >= LINES, "{ends:?}");
    }
}
