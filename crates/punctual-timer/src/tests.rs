//! The store at its edges; what its other tests share.

mod cost;
mod model;

use super::{Seat, Store, Taken, Tick, Timed};
use std::cell::RefCell;
use std::num::NonZeroU64;

const SECOND: Tick = 1_000_000_000;
const YEAR: Tick = 365 * 24 * 3600 * SECOND;

/// Far fewer rounds where nothing is optimised, unless `PUNCTUAL_FULL_SIZE` is set.
fn rounds(full: usize) -> usize {
    if cfg!(debug_assertions) && std::env::var_os("PUNCTUAL_FULL_SIZE").is_none() {
        full / 20
    } else {
        full
    }
}

/// A small generator (xorshift with a multiplication): the same numbers for the same seed, everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.roll() >> 11) % limit
    }

    /// A span whose order of magnitude is as likely as any other, up to 2^`bits`.
    fn span(&mut self, bits: u64) -> u64 {
        let bits = self.below(bits);
        self.below(1 << bits) + (1 << bits)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// A timer of these tests: the number of its note, a word as the pool's are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item(NonZeroU64);

struct Note {
    when: Tick,
    value: u64,
    sequence: u64,
    seat: Seat,
}

thread_local! {
    static NOTES: RefCell<Vec<Note>> = const { RefCell::new(Vec::new()) };
}

impl Item {
    fn new(when: Tick, value: u64) -> Self {
        NOTES.with_borrow_mut(|notes| {
            notes.push(Note {
                when,
                value,
                sequence: 0,
                seat: Seat::NOWHERE,
            });
            Item(NonZeroU64::new(notes.len() as u64).expect("there is one"))
        })
    }

    fn note<R>(self, f: impl FnOnce(&mut Note) -> R) -> R {
        NOTES.with_borrow_mut(|notes| f(&mut notes[self.0.get() as usize - 1]))
    }

    fn value(self) -> u64 {
        self.note(|note| note.value)
    }
}

impl Timed for Item {
    fn when(self) -> Tick {
        self.note(|note| note.when)
    }
    fn sequence(self) -> u64 {
        self.note(|note| note.sequence)
    }
    fn set_sequence(self, sequence: u64) {
        self.note(|note| note.sequence = sequence);
    }
    fn seat(self) -> Seat {
        self.note(|note| note.seat)
    }
    fn set_seat(self, seat: Seat) {
        self.note(|note| note.seat = seat);
    }
}

impl Store<Item> {
    fn add(&mut self, when: Tick, value: u64) -> Item {
        let item = Item::new(when, value);
        self.insert(item);
        item
    }

    fn drained(&mut self) -> Vec<(Tick, u64)> {
        let all = self.drain();
        all.into_iter().map(|item| (item.when(), item.value())).collect()
    }
}

/// Takes until the store says there is no more.
fn take_all(store: &mut Store<Item>, now: Tick) -> Vec<(Tick, u64)> {
    let mut out = Vec::new();
    while store.take_due(now, 256, &mut out) {}
    plain(&out)
}

fn plain(taken: &[Taken<Item>]) -> Vec<(Tick, u64)> {
    let plain = |each: &Taken<Item>| (each.when, each.value.value());
    taken.iter().map(plain).collect()
}

#[test]
fn a_crowd_of_one_instant_is_taken_in_order_of_submission() {
    for when in [0, 5, 1 << 20, 90 * SECOND, 3 * YEAR, Tick::MAX] {
        let mut store = Store::new(7);
        for value in 0..100_000 {
            store.add(when, value);
        }
        if when > 7 {
            assert_eq!(take_all(&mut store, when - 1), []);
        }
        let taken = take_all(&mut store, when);
        let expected: Vec<_> = (0..100_000).map(|value| (when, value)).collect();
        assert!(taken == expected, "a crowd at {when} is out of order");
        assert_eq!(store.len(), 0);
    }
}

/// The places of the last few that were removed are emptied later: nobody may find them there.
#[test]
fn what_was_just_removed_is_found_nowhere() {
    for removed in [1, 2, 7, 8, 9, 20] {
        let fill = |store: &mut Store<Item>| -> Vec<Item> {
            // Two buckets, so that one call empties places of both.
            let when = |value| 90 * SECOND + value % 2 * 200 * SECOND;
            (0..100).map(|value| store.add(when(value), value)).collect()
        };
        let left = |mut values: Vec<u64>| {
            values.sort_unstable();
            assert_eq!(values, (removed as u64..100).collect::<Vec<_>>());
        };
        let mut store = Store::new(0);
        for item in fill(&mut store).drain(..removed) {
            store.remove(item);
        }
        left(store.values().map(Item::value).collect());
        let mut store = Store::new(0);
        for item in fill(&mut store).drain(..removed) {
            store.remove(item);
        }
        let taken = take_all(&mut store, YEAR);
        left(taken.into_iter().map(|(_, value)| value).collect());
        let mut store = Store::new(0);
        for item in fill(&mut store).drain(..removed) {
            store.remove(item);
        }
        left(store.drained().into_iter().map(|(_, value)| value).collect());
    }
}

#[test]
fn a_timer_added_while_its_instant_is_being_taken_comes_last() {
    let mut store = Store::new(0);
    let when = 3_600 * SECOND;
    for value in 0..10_000 {
        store.add(when, value);
    }
    let mut out = Vec::new();
    let mut value = 10_000;
    while store.take_due(when, 100, &mut out) {
        if value < 10_050 {
            store.add(when, value);
            value += 1;
        }
    }
    let expected: Vec<_> = (0..10_050).map(|value| (when, value)).collect();
    assert!(plain(&out) == expected);
}

#[test]
fn the_past_is_due_at_once_and_the_end_of_time_at_the_end() {
    let mut store = Store::new(50 * SECOND);
    store.add(Tick::MAX, 1);
    store.add(0, 2);
    store.add(3, 3);
    store.add(50 * SECOND, 4);
    assert_eq!(store.next_look(), Some(0));
    let expected = [(0, 2), (3, 3), (50 * SECOND, 4)];
    assert_eq!(take_all(&mut store, 50 * SECOND), expected);
    assert_eq!(store.next_look(), Some(Tick::MAX));
    assert_eq!(take_all(&mut store, Tick::MAX - 1), []);
    assert_eq!(take_all(&mut store, Tick::MAX), [(Tick::MAX, 1)]);
    store.add(9, 5);
    assert_eq!(take_all(&mut store, Tick::MAX), [(9, 5)]);
}

#[test]
fn a_near_timer_that_was_removed_is_not_taken_for_a_later_one_with_its_number() {
    let mut store = Store::new(SECOND);
    store.add(5, 0);
    let old = store.add(7, 1);
    let number = old.seat();
    store.remove(old);
    // Its item is still there, behind the first.
    let new = store.add(9, 2);
    assert_ne!(new.seat(), number);
    assert_eq!(take_all(&mut store, 5), [(5, 0)]);
    // Now it has left.
    assert_eq!(store.add(8, 3).seat(), number);
    assert_eq!(take_all(&mut store, SECOND), [(8, 3), (9, 2)]);
    assert_eq!(store.len(), 0);
}

#[test]
fn crowds_that_are_too_far_apart_to_be_one_keep_the_order() {
    // A bucket whose timers were inserted an age apart: their sequences do not fit into one crowd.
    let mut store = Store::new(0);
    let mut expected = Vec::new();
    for value in 0..300 {
        if value % 100 == 0 {
            store.count_from(value << 40);
        }
        let when = SECOND + (value * 7919) % 500;
        store.add(when, value);
        expected.push((when, value));
    }
    expected.sort_unstable();
    assert_eq!(take_all(&mut store, 2 * SECOND), expected);
}

#[test]
fn sequences_beyond_32_bits_keep_the_order() {
    let mut store = Store::new(0);
    store.sequence = u64::from(u32::MAX) - 500;
    for value in 0..1_000 {
        store.add(SECOND, value);
    }
    let expected: Vec<_> = (0..1_000).map(|value| (SECOND, value)).collect();
    assert_eq!(take_all(&mut store, SECOND), expected);
}

#[test]
fn draining_gives_everything_in_order_also_from_a_half_emptied_bucket() {
    let mut dice = Dice(47);
    let mut store = Store::new(0);
    let mut expected: Vec<_> = (0..5_000)
        .map(|value| (YEAR + dice.below(SECOND), value))
        .collect();
    for (when, value) in &expected {
        store.add(*when, *value);
    }
    let mut out = Vec::new();
    assert!(store.take_due(2 * YEAR, 0, &mut out));
    assert!(store.open.is_some() && out.is_empty());
    expected.sort_unstable();
    assert_eq!(store.drained(), expected);
    assert_eq!(
        (store.len(), store.next_look(), store.drained()),
        (0, None, vec![])
    );
    store.add(YEAR, 1);
    assert_eq!(take_all(&mut store, 2 * YEAR), [(YEAR, 1)]);
}

#[test]
fn a_half_emptied_bucket_whose_timers_are_all_removed_is_closed() {
    let mut store = Store::new(0);
    let keys: Vec<_> = (0..5_000).map(|value| store.add(YEAR + value, value)).collect();
    assert!(store.take_due(2 * YEAR, 0, &mut Vec::new()));
    assert!(store.open.is_some());
    for key in keys {
        store.remove(key);
    }
    assert!(store.open.is_none());
    assert_eq!((store.len(), store.next_look()), (0, None));
}
