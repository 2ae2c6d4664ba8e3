//! The store against a sorted map, at its edges, and what it costs: memory, moved entries, needless looks.

use super::blocks::BLOCK;
use super::{Key, PIECES, Store, Tick};
use std::collections::BTreeMap;

const SECOND: Tick = 1_000_000_000;
const YEAR: Tick = 365 * 24 * 3600 * SECOND;

/// Far fewer rounds where nothing is optimised.
const fn rounds(release: usize) -> usize {
    if cfg!(debug_assertions) {
        release / 20
    } else {
        release
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

/// Takes until the store says there is no more.
fn take_all(store: &mut Store<u64>, now: Tick) -> Vec<(Tick, u64)> {
    let mut out = Vec::new();
    while store.take_due(now, 256, &mut out) {}
    out
}

/// The store and what it should hold.
struct Model {
    store: Store<u64>,
    expected: BTreeMap<(Tick, u64), Key>,
    keys: Vec<(Tick, u64, Key)>,
    now: Tick,
    inserted: u64,
}

impl Model {
    fn new(now: Tick) -> Self {
        Model {
            store: Store::new(now),
            expected: BTreeMap::new(),
            keys: Vec::new(),
            now,
            inserted: 0,
        }
    }

    fn insert(&mut self, when: Tick) {
        self.inserted += 1;
        let key = self.store.insert(when, self.inserted);
        self.expected.insert((when, self.inserted), key);
        self.keys.push((when, self.inserted, key));
    }

    /// Removes by any key, old ones too.
    fn remove(&mut self, dice: &mut Dice) {
        if self.keys.is_empty() {
            return;
        }
        let place = dice.below(self.keys.len() as u64) as usize;
        let (when, value, key) = self.keys[place];
        if dice.below(4) > 0 {
            self.keys.swap_remove(place);
        }
        let lives = self.expected.remove(&(when, value)).is_some();
        assert_eq!(self.store.when(key), lives.then_some(when));
        assert_eq!(self.store.remove(key), lives.then_some(value));
        assert_eq!(self.store.when(key), None);
    }

    fn take(&mut self, at_most: usize) {
        let mut out = Vec::new();
        let more = self.store.take_due(self.now, at_most, &mut out);
        assert!(out.len() <= at_most);
        for taken in &out {
            assert!(taken.0 <= self.now, "early");
            let (first, _) = self.expected.pop_first().expect("nothing is left to take");
            assert_eq!(*taken, first);
        }
        if !more {
            let left = self.expected.first_key_value();
            assert!(
                left.is_none_or(|(first, _)| first.0 > self.now),
                "forgot one that is due"
            );
        }
    }

    fn check(&self) {
        assert_eq!(self.store.len(), self.expected.len());
        let first = self.expected.first_key_value().map(|(first, _)| first.0);
        let look = self.store.next_look();
        assert_eq!(look.is_some(), first.is_some());
        assert!(look <= first, "asks to be looked at too late");
    }

    fn end(mut self) {
        let rest: Vec<_> = self.expected.into_keys().collect();
        assert_eq!(self.store.drain(), rest);
        assert_eq!((self.store.len(), self.store.next_look()), (0, None));
    }
}

#[test]
fn random_steps_agree_with_a_sorted_map() {
    let mut ends = 0;
    for seed in 1..=4 {
        let mut dice = Dice(seed << 32 | 0x9E37_79B9);
        let mut model = Model::new(dice.span(40));
        // Phases that grow, that shrink, and that crowd at few instants.
        let (mut growth, mut crowd) = (50, false);
        for step in 0..rounds(250_000) {
            if step % 5_000 == 0 {
                growth = 20 + dice.below(70);
                crowd = dice.below(4) == 0;
            }
            match dice.below(100) {
                roll if roll < growth => {
                    let when = match dice.below(20) {
                        0 => model.now.saturating_sub(dice.span(40)),
                        1 => Tick::MAX - dice.below(3),
                        2 => model.now,
                        _ if crowd => ((model.now >> 24) + 1) << 24,
                        3..10 => model.now.saturating_add(dice.span(24)),
                        _ => model.now.saturating_add(dice.span(62)),
                    };
                    model.insert(when);
                }
                roll if roll < 90 => model.remove(&mut dice),
                roll if roll < 92 => {
                    model.now = model.store.next_look().unwrap_or(model.now).max(model.now);
                }
                roll if roll < 95 => model.now = model.now.saturating_add(dice.span(28)),
                95 if dice.below(10) == 0 => model.now = model.now.saturating_add(dice.span(58)),
                _ => {}
            }
            if dice.below(4) == 0 {
                let at_most = dice.below(40) as usize;
                model.take(at_most);
            }
            model.check();
            if model.now > 550 * YEAR {
                // Time has an end: begin again.
                let old = std::mem::replace(&mut model, Model::new(dice.span(40)));
                old.end();
                ends += 1;
            }
        }
        model.end();
    }
    assert!(ends > 0, "no jump was large");
}

#[test]
fn a_crowd_of_one_instant_is_taken_in_order_of_submission() {
    for when in [0, 5, 1 << 20, 90 * SECOND, 3 * YEAR, Tick::MAX] {
        let mut store = Store::new(7);
        for value in 0..100_000 {
            store.insert(when, value);
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

#[test]
fn a_timer_added_while_its_instant_is_being_taken_comes_last() {
    let mut store = Store::new(0);
    let when = 3_600 * SECOND;
    for value in 0..10_000 {
        store.insert(when, value);
    }
    let mut out = Vec::new();
    let mut value = 10_000;
    while store.take_due(when, 100, &mut out) {
        if value < 10_050 {
            store.insert(when, value);
            value += 1;
        }
    }
    let expected: Vec<_> = (0..10_050).map(|value| (when, value)).collect();
    assert!(out == expected);
}

#[test]
fn the_past_is_due_at_once_and_the_end_of_time_at_the_end() {
    let mut store = Store::new(50 * SECOND);
    let last = store.insert(Tick::MAX, 1);
    store.insert(0, 2);
    store.insert(3, 3);
    store.insert(50 * SECOND, 4);
    assert_eq!(store.next_look(), Some(0));
    let expected = [(0, 2), (3, 3), (50 * SECOND, 4)];
    assert_eq!(take_all(&mut store, 50 * SECOND), expected);
    assert_eq!(store.next_look(), Some(Tick::MAX));
    assert_eq!(store.when(last), Some(Tick::MAX));
    assert_eq!(take_all(&mut store, Tick::MAX - 1), []);
    assert_eq!(take_all(&mut store, Tick::MAX), [(Tick::MAX, 1)]);
    assert_eq!(store.remove(last), None);
    store.insert(9, 5);
    assert_eq!(take_all(&mut store, Tick::MAX), [(9, 5)]);
}

#[test]
fn an_entry_left_behind_is_not_taken_for_a_later_node_with_the_same_low_sequence() {
    let mut store = Store::new(0);
    let when = 70 * SECOND;
    let keeper = store.insert(when + 1, 0);
    let old = store.insert(when, 1);
    assert_eq!(store.remove(old), Some(1));
    // As if 2^32 timers had come and gone meanwhile: same index, same bucket, same low half.
    store.sequence += (1 << 32) - 1;
    let new = store.insert(when, 2);
    assert_eq!((new.index, new.sequence as u32), (old.index, old.sequence as u32));
    assert_eq!(store.remove(old), None);
    store.insert(when, 3);
    let expected = [(when, 2), (when, 3), (when + 1, 0)];
    assert_eq!(take_all(&mut store, when + 1), expected);
    assert_eq!((store.len(), store.when(keeper)), (0, None));
}

#[test]
fn sequences_beyond_32_bits_keep_the_order() {
    let mut store = Store::new(0);
    store.sequence = u64::from(u32::MAX) - 500;
    for value in 0..1_000 {
        store.insert(SECOND, value);
    }
    let expected: Vec<_> = (0..1_000).map(|value| (SECOND, value)).collect();
    assert_eq!(take_all(&mut store, SECOND), expected);
}

#[test]
fn memory_goes_back_when_timers_are_removed_in_any_order() {
    let count = rounds(1_000_000);
    let mut dice = Dice(42);
    let mut store = Store::new(0);
    let mut keys: Vec<_> = (0..count as u64)
        .map(|value| store.insert(SECOND + dice.below(599 * SECOND), value))
        .collect();
    let full = store.footprint();
    assert!(full < 44 * count + 400_000, "{full} bytes for {count} timers");
    dice.shuffle(&mut keys);
    let few = count / 1000;
    for key in keys.drain(few..) {
        assert!(store.remove(key).is_some());
    }
    // The survivors hold a chunk each at worst; the buckets hold little more than the survivors.
    assert!(
        store.wheel.footprint() < 200_000,
        "{} bytes of buckets",
        store.wheel.footprint()
    );
    for key in keys {
        assert!(store.remove(key).is_some());
    }
    let empty = store.footprint();
    assert!(empty < 250_000, "{empty} bytes for no timer");
}

#[test]
fn memory_stays_bounded_while_timers_come_and_go() {
    let mut dice = Dice(43);
    let mut store = Store::new(0);
    let mut keys: Vec<_> = (0..10_000)
        .map(|value| store.insert(SECOND + dice.below(599 * SECOND), value))
        .collect();
    for value in 0..rounds(1_000_000) as u64 {
        let place = dice.below(10_000) as usize;
        assert!(store.remove(keys[place]).is_some());
        keys[place] = store.insert(SECOND + dice.below(599 * SECOND), value);
    }
    let bytes = store.footprint();
    assert!(bytes < 10_000 * 100 + 250_000, "{bytes} bytes");
}

#[test]
fn near_timers_that_are_removed_leave_no_memory_behind() {
    let mut dice = Dice(44);
    let mut store = Store::new(SECOND);
    let mut keys: Vec<_> = (0..20_000)
        .map(|value| store.insert(dice.below(SECOND), value))
        .collect();
    dice.shuffle(&mut keys);
    for key in keys.drain(100..) {
        assert!(store.remove(key).is_some());
    }
    assert!(
        store.near.footprint() < 20_000,
        "{} bytes",
        store.near.footprint()
    );
    let mut expected: Vec<_> = keys.iter().map(|key| (store.when(*key), key.sequence)).collect();
    expected.sort_unstable();
    let taken = take_all(&mut store, SECOND);
    let taken: Vec<_> = taken
        .iter()
        .map(|(when, value)| (Some(*when), value + 1))
        .collect();
    assert_eq!(taken, expected);
    assert!(store.near.footprint() < 20_000);
}

#[test]
fn a_crowd_is_moved_in_pieces_and_nobody_waits_for_more_than_one() {
    let count = rounds(1_000_000);
    let mut dice = Dice(45);
    let mut store = Store::new(0);
    let mut keys: Vec<_> = (0..count as u64)
        .map(|value| store.insert(YEAR + dice.below(60 * SECOND), value))
        .collect();
    assert_eq!(store.wheel.looked, 0, "inserting moves nothing");
    dice.shuffle(&mut keys);
    let mut out = Vec::new();
    let mut inserted = 0;
    loop {
        let before = store.wheel.looked;
        let taken = out.len();
        let more = store.take_due(YEAR + 60 * SECOND, 256, &mut out);
        assert!(out.len() - taken <= 256);
        assert!(store.wheel.looked - before <= PIECES * BLOCK);
        let before = store.wheel.looked;
        if inserted < 1_000 {
            inserted += 1;
            store.insert(YEAR + 61 * SECOND + inserted, 0);
        }
        assert_eq!(store.wheel.looked, before, "inserting moves nothing");
        if let Some(key) = keys.pop() {
            store.remove(key);
            assert!(store.wheel.looked - before <= BLOCK);
        }
        if !more {
            break;
        }
    }
    assert!(out.is_sorted_by_key(|taken| taken.0));
    assert_eq!(store.len() as u64, inserted);
    // Each level moves a timer once.
    assert!(store.wheel.looked <= 6 * count, "{} looks", store.wheel.looked);
}

#[test]
fn removing_from_a_crowd_sweeps_a_block_at_most_and_two_entries_on_average() {
    let count = rounds(1_000_000);
    let mut dice = Dice(46);
    let mut store = Store::new(0);
    let mut keys: Vec<_> = (0..count as u64)
        .map(|value| store.insert(YEAR + value % 60, value))
        .collect();
    dice.shuffle(&mut keys);
    for key in keys {
        let before = store.wheel.looked;
        assert!(store.remove(key).is_some());
        assert!(store.wheel.looked - before <= BLOCK);
    }
    assert!(store.wheel.looked <= 2 * count, "{} looks", store.wheel.looked);
}

#[test]
fn a_far_timer_needs_one_look_and_with_removed_neighbours_one_per_level() {
    for when in [SECOND, 3_600 * SECOND, 40 * YEAR, 500 * YEAR] {
        let mut store = Store::new(0);
        store.insert(when, 1);
        assert_eq!(store.next_look(), Some(when));

        let mut dice = Dice(when);
        let mut neighbours = Vec::new();
        for value in 0..5_000 {
            neighbours.push(store.insert(when - dice.span(60).min(when), value));
        }
        for key in neighbours {
            store.remove(key);
        }
        let mut looks = 0;
        while let Some(look) = store.next_look().filter(|look| *look < when) {
            assert_eq!(take_all(&mut store, look), []);
            looks += 1;
        }
        assert!(looks <= 6, "{looks} looks");
        assert_eq!(take_all(&mut store, when), [(when, 1)]);
    }
}

#[test]
fn a_jump_of_centuries_moves_only_what_is_there() {
    let mut store = Store::new(0);
    store.insert(400 * YEAR, 1);
    store.insert(400 * YEAR + 1, 2);
    store.insert(550 * YEAR, 3);
    let mut out = Vec::new();
    assert!(!store.take_due(400 * YEAR, 9, &mut out));
    assert_eq!(out, [(400 * YEAR, 1)]);
    assert!(!store.take_due(Tick::MAX, 9, &mut out));
    assert_eq!(out.len(), 3);
    assert!(store.wheel.looked <= 6, "{} looks", store.wheel.looked);
}

#[test]
fn draining_gives_everything_in_order_also_from_a_half_emptied_bucket() {
    let mut dice = Dice(47);
    let mut store = Store::new(0);
    let mut expected: Vec<_> = (0..5_000)
        .map(|value| (YEAR + dice.below(SECOND), value))
        .collect();
    for (when, value) in &expected {
        store.insert(*when, *value);
    }
    let mut out = Vec::new();
    assert!(store.take_due(2 * YEAR, 0, &mut out));
    assert!(store.open.is_some() && out.is_empty());
    expected.sort_unstable();
    assert_eq!(store.drain(), expected);
    assert_eq!((store.len(), store.next_look(), store.drain()), (0, None, vec![]));
    store.insert(YEAR, 1);
    assert_eq!(take_all(&mut store, 2 * YEAR), [(YEAR, 1)]);
}
