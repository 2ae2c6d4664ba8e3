//! Random steps, against a sorted map.

use super::{Dice, Item, YEAR, plain, rounds};
use crate::Tick;
use crate::TimerQueue;
use std::collections::BTreeMap;

/// The queue and what it should hold.
struct Model {
    queue: TimerQueue<Item>,
    expected: BTreeMap<(Tick, u64), Item>,
    items: Vec<(Tick, u64, Item)>,
    now: Tick,
    inserted: u64,
}

impl Model {
    fn new(now: Tick) -> Self {
        Model {
            queue: TimerQueue::new(now),
            expected: BTreeMap::new(),
            items: Vec::new(),
            now,
            inserted: 0,
        }
    }

    fn insert(&mut self, when: Tick) {
        self.inserted += 1;
        let item = self.queue.add(when, self.inserted);
        self.expected.insert((when, self.inserted), item);
        self.items.push((when, self.inserted, item));
    }

    /// Removes any that is still there; gives it.
    fn remove(&mut self, dice: &mut Dice) -> Option<Item> {
        if self.items.is_empty() {
            return None;
        }
        let place = dice.below(self.items.len() as u64) as usize;
        let (when, number, item) = self.items.swap_remove(place);
        self.expected.remove(&(when, number))?;
        self.queue.remove(item);
        Some(item)
    }

    /// Gives one that is still there another time: it comes after those that were there for that instant.
    fn reschedule(&mut self, dice: &mut Dice, when: Tick) {
        if let Some(item) = self.remove(dice) {
            self.inserted += 1;
            item.note(|note| (note.when, note.value) = (when, self.inserted));
            self.queue.insert(item);
            self.expected.insert((when, self.inserted), item);
            self.items.push((when, self.inserted, item));
        }
    }

    fn take(&mut self, now: Tick, at_most: usize) {
        let mut out = Vec::new();
        let more = self.queue.take_due(now, at_most, &mut out);
        assert!(out.len() <= at_most);
        for taken in &plain(&out) {
            assert!(taken.0 <= now, "early");
            let (first, _) = self.expected.pop_first().expect("nothing is left to take");
            assert_eq!(*taken, first);
        }
        if !more {
            let left = self.expected.first_key_value();
            assert!(
                left.is_none_or(|(first, _)| first.0 > now),
                "forgot one that is due"
            );
        }
    }

    fn check(&self) {
        assert_eq!(self.queue.len(), self.expected.len());
        let first = self.expected.first_key_value().map(|(first, _)| first.0);
        let look = self.queue.next_check();
        assert_eq!(look.is_some(), first.is_some());
        assert!(look <= first, "asks to be looked at too late");
    }

    fn end(mut self) {
        let rest: Vec<_> = self.expected.into_keys().collect();
        assert_eq!(self.queue.drained(), rest);
        assert_eq!((self.queue.len(), self.queue.next_check()), (0, None));
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
            let when = match dice.below(20) {
                0 => model.now.saturating_sub(dice.span(40)),
                1 => Tick::MAX - dice.below(3),
                2 => model.now,
                _ if crowd => ((model.now >> 24) + 1) << 24,
                3..10 => model.now.saturating_add(dice.span(24)),
                _ => model.now.saturating_add(dice.span(62)),
            };
            match dice.below(100) {
                roll if roll < growth => model.insert(when),
                roll if roll < 90 && dice.below(3) == 0 => model.reschedule(&mut dice, when),
                roll if roll < 90 => _ = model.remove(&mut dice),
                roll if roll < 92 => {
                    model.now = model.queue.next_check().unwrap_or(model.now).max(model.now);
                }
                roll if roll < 95 => model.now = model.now.saturating_add(dice.span(28)),
                95 if dice.below(10) == 0 => model.now = model.now.saturating_add(dice.span(58)),
                _ => {}
            }
            if dice.below(4) == 0 {
                let at_most = dice.below(40) as usize;
                // Readings of the clock may arrive out of order: now and then an older one.
                let age = if dice.below(20) == 0 { dice.span(40) } else { 0 };
                model.take(model.now.saturating_sub(age), at_most);
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
