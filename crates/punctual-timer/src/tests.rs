//! The queue at its edges; what its other tests share.

mod cost;
mod model;

use super::{DueTimer, Tick, Timed, TimerKey, TimerQueue};
use std::cell::RefCell;
use std::num::NonZeroU64;

const SECOND: Tick = 1_000_000_000;
const YEAR: Tick = 365 * 24 * 3600 * SECOND;

/// Far fewer rounds where nothing is optimised, unless `PUNCTUAL_FULL_SIZE` is set; its value `gate` is for other tests.
fn rounds(full: usize) -> usize {
    let is_full = std::env::var_os("PUNCTUAL_FULL_SIZE").is_some_and(|value| value != "gate");
    if cfg!(debug_assertions) && !is_full {
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
    key: TimerKey,
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
                key: TimerKey::UNSET,
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
    fn key(self) -> TimerKey {
        self.note(|note| note.key)
    }
    fn set_key(self, key: TimerKey) {
        self.note(|note| note.key = key);
    }
}

impl TimerQueue<Item> {
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

/// Takes until the queue says there is no more.
fn take_all(queue: &mut TimerQueue<Item>, now: Tick) -> Vec<(Tick, u64)> {
    let mut out = Vec::new();
    while queue.take_due(now, 256, &mut out) {}
    plain(&out)
}

fn plain(taken: &[DueTimer<Item>]) -> Vec<(Tick, u64)> {
    let plain = |each: &DueTimer<Item>| (each.when, each.value.value());
    taken.iter().map(plain).collect()
}

#[test]
fn a_crowd_of_one_instant_is_taken_in_order_of_submission() {
    for when in [0, 5, 1 << 20, 90 * SECOND, 3 * YEAR, Tick::MAX] {
        let mut queue = TimerQueue::new(7);
        for value in 0..100_000 {
            queue.add(when, value);
        }
        if when > 7 {
            assert_eq!(take_all(&mut queue, when - 1), []);
        }
        let taken = take_all(&mut queue, when);
        let expected: Vec<_> = (0..100_000).map(|value| (when, value)).collect();
        assert!(taken == expected, "a crowd at {when} is out of order");
        assert_eq!(queue.len(), 0);
    }
}

/// The places of the last few that were removed are emptied later: no call may find them there.
#[test]
fn what_was_just_removed_is_found_nowhere() {
    for removed in [1, 2, 7, 8, 9, 20] {
        let fill = |queue: &mut TimerQueue<Item>| -> Vec<Item> {
            // Two buckets, so that one call empties places of both.
            let when = |value| 90 * SECOND + value % 2 * 200 * SECOND;
            (0..100).map(|value| queue.add(when(value), value)).collect()
        };
        let left = |mut values: Vec<u64>| {
            values.sort_unstable();
            assert_eq!(values, (removed as u64..100).collect::<Vec<_>>());
        };
        let mut queue = TimerQueue::new(0);
        for item in fill(&mut queue).drain(..removed) {
            queue.remove(item);
        }
        left(queue.values().map(Item::value).collect());
        let mut queue = TimerQueue::new(0);
        for item in fill(&mut queue).drain(..removed) {
            queue.remove(item);
        }
        let taken = take_all(&mut queue, YEAR);
        left(taken.into_iter().map(|(_, value)| value).collect());
        let mut queue = TimerQueue::new(0);
        for item in fill(&mut queue).drain(..removed) {
            queue.remove(item);
        }
        left(queue.drained().into_iter().map(|(_, value)| value).collect());
    }
}

#[test]
fn a_timer_added_while_its_instant_is_being_taken_comes_last() {
    let mut queue = TimerQueue::new(0);
    let when = 3_600 * SECOND;
    for value in 0..10_000 {
        queue.add(when, value);
    }
    let mut out = Vec::new();
    let mut value = 10_000;
    while queue.take_due(when, 100, &mut out) {
        if value < 10_050 {
            queue.add(when, value);
            value += 1;
        }
    }
    let expected: Vec<_> = (0..10_050).map(|value| (when, value)).collect();
    assert!(plain(&out) == expected);
}

#[test]
fn the_past_is_due_at_once_and_the_end_of_time_at_the_end() {
    let mut queue = TimerQueue::new(50 * SECOND);
    queue.add(Tick::MAX, 1);
    queue.add(0, 2);
    queue.add(3, 3);
    queue.add(50 * SECOND, 4);
    assert_eq!(queue.next_check(), Some(0));
    let expected = [(0, 2), (3, 3), (50 * SECOND, 4)];
    assert_eq!(take_all(&mut queue, 50 * SECOND), expected);
    assert_eq!(queue.next_check(), Some(Tick::MAX));
    assert_eq!(take_all(&mut queue, Tick::MAX - 1), []);
    assert_eq!(take_all(&mut queue, Tick::MAX), [(Tick::MAX, 1)]);
    queue.add(9, 5);
    assert_eq!(take_all(&mut queue, Tick::MAX), [(9, 5)]);
}

#[test]
fn a_near_timer_that_was_removed_is_not_taken_for_a_later_one_with_its_number() {
    let mut queue = TimerQueue::new(SECOND);
    queue.add(5, 0);
    let old = queue.add(7, 1);
    let number = old.key();
    queue.remove(old);
    // Its item is still there, behind the first.
    let new = queue.add(9, 2);
    assert_ne!(new.key(), number);
    assert_eq!(take_all(&mut queue, 5), [(5, 0)]);
    // Now it has left.
    assert_eq!(queue.add(8, 3).key(), number);
    assert_eq!(take_all(&mut queue, SECOND), [(8, 3), (9, 2)]);
    assert_eq!(queue.len(), 0);
}

#[test]
fn crowds_that_are_too_far_apart_to_be_one_keep_the_order() {
    // A bucket whose timers were inserted an age apart: their sequences do not fit into one crowd.
    let mut queue = TimerQueue::new(0);
    let mut expected = Vec::new();
    for value in 0..300 {
        if value % 100 == 0 {
            queue.count_from(value << 40);
        }
        let when = SECOND + (value * 7919) % 500;
        queue.add(when, value);
        expected.push((when, value));
    }
    expected.sort_unstable();
    assert_eq!(take_all(&mut queue, 2 * SECOND), expected);
}

#[test]
fn sequences_beyond_32_bits_keep_the_order() {
    let mut queue = TimerQueue::new(0);
    queue.sequence = u64::from(u32::MAX) - 500;
    for value in 0..1_000 {
        queue.add(SECOND, value);
    }
    let expected: Vec<_> = (0..1_000).map(|value| (SECOND, value)).collect();
    assert_eq!(take_all(&mut queue, SECOND), expected);
}

#[test]
fn draining_gives_everything_in_order_also_from_a_half_emptied_bucket() {
    let mut dice = Dice(47);
    let mut queue = TimerQueue::new(0);
    let mut expected: Vec<_> = (0..5_000)
        .map(|value| (YEAR + dice.below(SECOND), value))
        .collect();
    for (when, value) in &expected {
        queue.add(*when, *value);
    }
    let mut out = Vec::new();
    assert!(queue.take_due(2 * YEAR, 0, &mut out));
    assert!(queue.open.is_some() && out.is_empty());
    expected.sort_unstable();
    assert_eq!(queue.drained(), expected);
    assert_eq!(
        (queue.len(), queue.next_check(), queue.drained()),
        (0, None, vec![])
    );
    queue.add(YEAR, 1);
    assert_eq!(take_all(&mut queue, 2 * YEAR), [(YEAR, 1)]);
}

#[test]
fn a_half_emptied_bucket_whose_timers_are_all_removed_is_closed() {
    let mut queue = TimerQueue::new(0);
    let keys: Vec<_> = (0..5_000).map(|value| queue.add(YEAR + value, value)).collect();
    assert!(queue.take_due(2 * YEAR, 0, &mut Vec::new()));
    assert!(queue.open.is_some());
    for key in keys {
        queue.remove(key);
    }
    assert!(queue.open.is_none());
    assert_eq!((queue.len(), queue.next_check()), (0, None));
}
