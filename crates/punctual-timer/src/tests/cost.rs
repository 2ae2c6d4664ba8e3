//! What the queue costs: memory, entries moved by one call, looks that find nothing.

use super::{Dice, SECOND, YEAR, plain, rounds, take_all};
use crate::Tick;
use crate::entries::BLOCK;
use crate::{PIECES, Timed, TimerQueue};

#[test]
fn memory_goes_back_when_timers_are_removed_in_any_order() {
    let count = rounds(1_000_000);
    let mut dice = Dice(42);
    let mut queue = TimerQueue::new(0);
    let mut keys: Vec<_> = (0..count as u64)
        .map(|value| queue.add(SECOND + dice.below(599 * SECOND), value))
        .collect();
    let full = queue.footprint();
    assert!(full < 9 * count + 400_000, "{full} bytes for {count} timers");
    dice.shuffle(&mut keys);
    let few = count / 1000;
    for key in keys.drain(few..) {
        queue.remove(key);
    }
    // The buckets hold little more than the survivors.
    assert!(
        queue.wheel.footprint() < 200_000,
        "{} bytes of buckets",
        queue.wheel.footprint()
    );
    for key in keys {
        queue.remove(key);
    }
    let empty = queue.footprint();
    assert!(empty < 250_000, "{empty} bytes for no timer");
}

#[test]
fn memory_stays_bounded_while_timers_come_and_go() {
    let mut dice = Dice(43);
    let mut queue = TimerQueue::new(0);
    let mut keys: Vec<_> = (0..10_000)
        .map(|value| queue.add(SECOND + dice.below(599 * SECOND), value))
        .collect();
    for value in 0..rounds(1_000_000) as u64 {
        let place = dice.below(10_000) as usize;
        queue.remove(keys[place]);
        keys[place] = queue.add(SECOND + dice.below(599 * SECOND), value);
    }
    let bytes = queue.footprint();
    // A word for each, and at most four that are gaps.
    assert!(bytes < 10_000 * 5 * 8 + 250_000, "{bytes} bytes");
}

#[test]
fn near_timers_that_are_removed_leave_no_memory_behind() {
    let mut dice = Dice(44);
    let mut queue = TimerQueue::new(SECOND);
    let mut keys: Vec<_> = (0..20_000)
        .map(|value| queue.add(dice.below(SECOND), value))
        .collect();
    dice.shuffle(&mut keys);
    for key in keys.drain(100..) {
        queue.remove(key);
    }
    assert!(
        queue.near.footprint() < 20_000,
        "{} bytes",
        queue.near.footprint()
    );
    let mut expected: Vec<_> = keys.iter().map(|key| (key.when(), key.value())).collect();
    expected.sort_unstable();
    assert_eq!(take_all(&mut queue, SECOND), expected);
    assert!(queue.near.footprint() < 20_000);
}

#[test]
fn a_crowd_is_moved_in_pieces_and_no_call_moves_more_than_one() {
    let count = rounds(1_000_000);
    let mut dice = Dice(45);
    let mut queue = TimerQueue::new(0);
    let mut keys: Vec<_> = (0..count as u64)
        .map(|value| queue.add(YEAR + dice.below(60 * SECOND), value))
        .collect();
    assert_eq!(queue.wheel.looked, 0, "inserting moves nothing");
    dice.shuffle(&mut keys);
    let mut out = Vec::new();
    let mut is_gone = vec![false; count];
    let mut inserted = 0;
    loop {
        let before = queue.wheel.looked;
        let taken = out.len();
        let more = queue.take_due(YEAR + 60 * SECOND, 256, &mut out);
        assert!(out.len() - taken <= 256);
        for each in &out[taken..] {
            is_gone[each.value.value() as usize] = true;
        }
        assert!(queue.wheel.looked - before <= PIECES * BLOCK);
        let before = queue.wheel.looked;
        if inserted < 1_000 {
            inserted += 1;
            queue.add(YEAR + 61 * SECOND + inserted, 0);
        }
        assert_eq!(queue.wheel.looked, before, "inserting moves nothing");
        if let Some(key) = keys.pop().filter(|key| !is_gone[key.value() as usize]) {
            queue.remove(key);
            assert!(queue.wheel.looked - before <= BLOCK);
        }
        if !more {
            break;
        }
    }
    assert!(out.is_sorted_by_key(|taken| taken.when));
    assert_eq!(queue.len() as u64, inserted);
    // Each level moves a timer once.
    assert!(queue.wheel.looked <= 6 * count, "{} looks", queue.wheel.looked);
}

#[test]
fn removing_from_a_crowd_sweeps_a_block_at_most_and_two_entries_on_average() {
    let count = rounds(1_000_000);
    let mut dice = Dice(46);
    let mut queue = TimerQueue::new(0);
    let mut keys: Vec<_> = (0..count as u64)
        .map(|value| queue.add(YEAR + value % 60, value))
        .collect();
    dice.shuffle(&mut keys);
    for key in keys {
        let before = queue.wheel.looked;
        queue.remove(key);
        assert!(queue.wheel.looked - before <= BLOCK);
    }
    assert!(queue.wheel.looked <= 2 * count, "{} looks", queue.wheel.looked);
}

#[test]
fn a_far_timer_needs_one_look_and_with_removed_neighbours_one_per_level() {
    for when in [SECOND, 3_600 * SECOND, 40 * YEAR, 500 * YEAR] {
        let mut queue = TimerQueue::new(0);
        queue.add(when, 1);
        assert_eq!(queue.next_check(), Some(when));

        let mut dice = Dice(when);
        let mut neighbours = Vec::new();
        for value in 0..5_000 {
            neighbours.push(queue.add(when - dice.span(60).min(when), value));
        }
        for key in neighbours {
            queue.remove(key);
        }
        let mut looks = 0;
        while let Some(look) = queue.next_check().filter(|look| *look < when) {
            assert_eq!(take_all(&mut queue, look), []);
            looks += 1;
        }
        assert!(looks <= 6, "{looks} looks");
        assert_eq!(take_all(&mut queue, when), [(when, 1)]);
    }
}

#[test]
fn a_jump_of_centuries_moves_only_what_is_there() {
    let mut queue = TimerQueue::new(0);
    queue.add(400 * YEAR, 1);
    queue.add(400 * YEAR + 1, 2);
    queue.add(550 * YEAR, 3);
    let mut out = Vec::new();
    assert!(!queue.take_due(400 * YEAR, 9, &mut out));
    assert_eq!(plain(&out), [(400 * YEAR, 1)]);
    assert!(!queue.take_due(Tick::MAX, 9, &mut out));
    assert_eq!(out.len(), 3);
    assert!(queue.wheel.looked <= 6, "{} looks", queue.wheel.looked);
}

#[test]
fn a_crowd_that_comes_in_order_is_not_sorted() {
    let mut queue = TimerQueue::new(0);
    for value in 0..10_000 {
        queue.add(90 * SECOND, value);
    }
    let mut out = Vec::new();
    while out.is_empty() {
        queue.take_due(90 * SECOND, 1, &mut out);
    }
    assert_eq!((queue.len(), queue.near.heaped()), (9_999, 0));
}

#[test]
fn numbers_of_near_timers_are_given_out_again_and_go_back() {
    let mut queue = TimerQueue::new(2 * SECOND);
    for round in 0..10 {
        for value in 0..10_000 {
            queue.add(SECOND + value % 7, round);
        }
        let full = queue.near.footprint();
        assert!(full < 10_000 * 64, "{full} bytes in round {round}");
        assert_eq!(take_all(&mut queue, 2 * SECOND).len(), 10_000);
    }
    assert!(
        queue.near.footprint() < 50_000,
        "{} bytes",
        queue.near.footprint()
    );
}
