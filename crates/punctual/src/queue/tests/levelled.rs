//! A room with levels against a list of all that waits, from which the next is chosen by the rule's own words: pushes,
//! takes, cancels, moves, evictions, sweeps and drains in random order. A failure names its seed.

use super::{Log, cancel, push_to, reference_to, run, with_ballast};
use crate::Priority;
use crate::queue::room::Room;
use crate::queue::rules::{Aging, Rule, Shares};
use crate::queue::{Capacity, Discipline, kind};
use crate::sync::Arc;
use crate::task::Class;
use crate::task::block::{Entry, Origin, Reference};
use crate::task::home::{Destination, Removal};
use crate::task::record::{Inline, Slot};
use crate::task::state::{Claim, End};
use crate::time::{Clock, ManualClock, Tick};
use std::time::Duration;

const STEP: Tick = 1_000;

/// A task that waits, as the list knows it.
struct Known {
    number: u64,
    level: usize,
    /// When it came to its level; how many came before it.
    came: Tick,
    order: u64,
    is_at_front: bool,
    /// None of a plain closure, which nobody can reach.
    task: Option<Arc<Reference>>,
}

/// The rules in their own words, over all tasks.
enum Plain {
    Strict,
    Aging,
    /// Of each level what it costs and how much it has used.
    Shares(Vec<(Option<u64>, u64)>, u64),
}

impl Plain {
    fn kind(&self) -> u8 {
        match self {
            Plain::Strict => kind::STRICT,
            Plain::Aging => kind::AGING,
            Plain::Shares(..) => kind::SHARES,
        }
    }

    /// Where the next one stands in the list.
    fn next(&self, waiting: &[Known], now: Tick) -> Option<usize> {
        let by = |key: &dyn Fn(&Known) -> (u64, u64)| {
            let places = 0..waiting.len();
            places.min_by_key(|place| key(&waiting[*place]))
        };
        if waiting.iter().any(|task| task.is_at_front) {
            return by(&|task| (u64::from(!task.is_at_front), task.order));
        }
        match self {
            Plain::Strict => by(&|task| (task.level as u64, task.order)),
            Plain::Aging => by(&|task| {
                let steps = (now - task.came) / STEP;
                ((task.level as u64).saturating_sub(steps), task.order)
            }),
            Plain::Shares(levels, latest) => {
                let used = |task: &Known| {
                    let (cost, used) = levels[task.level];
                    // Without a weight: after all others.
                    cost.map_or(u64::MAX, |_| used.max(*latest))
                };
                let best = waiting
                    .iter()
                    .map(|task| (used(task), task.level))
                    .min()
                    .map(|(_, level)| level);
                by(&|task| (u64::from(Some(task.level) != best), task.order))
            }
        }
    }

    fn took(&mut self, level: usize) {
        if let Plain::Shares(levels, latest) = self {
            let (cost, used) = &mut levels[level];
            *latest = (*latest).max(*used);
            *used = *latest + cost.unwrap_or(0);
        }
    }
}

/// What left a level, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Left {
    queued: u64,
    taken: u64,
    cancelled: u64,
    evicted: u64,
    returned: u64,
}

struct History {
    random: u64,
    room: Room<()>,
    clock: ManualClock,
    /// The same, as the room takes it.
    time: Clock,
    levels: usize,
    rule: Plain,
    waiting: Vec<Known>,
    /// Tasks that have ended: nothing can be done with them any more.
    over: Vec<Arc<Reference>>,
    left: Vec<Left>,
    orders: u64,
    log: Log,
    expected: Vec<u64>,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let levels = 1 + roll(&mut random, 8) as usize;
        let (rule, plain) = match seed % 3 {
            0 => (Rule::Strict, Plain::Strict),
            1 => (
                Rule::Aging(Aging::new(Duration::from_nanos(STEP)).unwrap()),
                Plain::Aging,
            ),
            _ => {
                // Of 840 each is a part; the first has a weight.
                let weights: Vec<u32> = (0..levels)
                    .map(|level| {
                        [1, 2, 3, 5, 8, 0][roll(&mut random, if level == 0 { 5 } else { 6 }) as usize]
                    })
                    .collect();
                let cost = |weight: &u32| (*weight > 0).then(|| 840 / u64::from(*weight));
                (
                    Rule::Shares(Shares::new(&weights, levels).unwrap()),
                    Plain::Shares(weights.iter().map(|weight| (cost(weight), 0)).collect(), 0),
                )
            }
        };
        let discipline = Discipline {
            levels,
            rule,
            targets: Vec::new(),
        };
        let clock = Clock::manual();
        let time = Clock::from(&clock);
        History {
            random,
            room: Room::with(Capacity::Unbounded, Some(&discipline), false, &time, ()),
            time,
            clock,
            levels,
            rule: plain,
            waiting: Vec::new(),
            over: Vec::new(),
            left: vec![Left::default(); levels],
            orders: 0,
            log: Log::default(),
            expected: Vec::new(),
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        roll(&mut self.random, limit)
    }

    /// Also beyond the last level, which means that one.
    fn priority(&mut self) -> Priority {
        let levels = self.levels as u64;
        Priority::level(self.below(levels + 1) as u8)
    }

    fn level_of(&self, priority: Priority) -> usize {
        usize::from(priority.number()).min(self.levels - 1)
    }

    fn push(&mut self, number: u64) {
        let priority = self.priority();
        let class = Class::ROOT.with_priority(priority);
        let log = self.log.clone();
        let note = move || log.lock().unwrap().push(number);
        let mut task = None;
        match self.below(4) {
            0 => push_to(&self.room, class, Inline::new(note), &self.time),
            1 => push_to(
                &self.room,
                class,
                Inline::new(with_ballast(note, [number; 3])),
                &self.time,
            ),
            _ => {
                let origin = Origin {
                    class,
                    fork: 0,
                    home: std::ptr::null(),
                };
                let entry = Entry::new(origin, false, None, note);
                task = Some(reference_to(&entry));
                push_to(&self.room, class, entry, &self.time);
            }
        }
        let level = self.level_of(priority);
        self.arrived(Known {
            number,
            level,
            came: 0,
            order: 0,
            is_at_front: false,
            task,
        });
        self.left[level].queued += 1;
    }

    /// A new place in the list, with the time and the order of now.
    fn arrived(&mut self, task: Known) {
        self.orders += 1;
        self.waiting.push(Known {
            came: self.time.tick(),
            order: self.orders,
            ..task
        });
    }

    /// Somebody in the list who can be reached.
    fn reachable(&mut self) -> Option<usize> {
        let place = self.below(self.waiting.len().max(1) as u64) as usize;
        self.waiting.get(place)?.task.as_ref()?;
        Some(place)
    }

    fn cancel(&mut self) {
        let Some(place) = self.reachable() else { return };
        let task = self.waiting.remove(place);
        let reference = task.task.unwrap();
        if cancel(&self.room, reference.pointer(), task.level) {
            self.room.sweep();
        }
        self.left[task.level].queued -= 1;
        self.left[task.level].cancelled += 1;
        self.over.push(reference);
    }

    fn relocate(&mut self, to_front: bool) {
        let priority = self.priority();
        let to = if to_front {
            Destination::Front
        } else {
            Destination::Level(priority)
        };
        let ended = self.below(self.over.len().max(8) as u64) as usize;
        if let Some(over) = self.over.get(ended) {
            assert_eq!(self.room.relocate(over, to, &self.time), None, "it is over");
        }
        let Some(place) = self.reachable() else { return };
        let task = self.waiting.remove(place);
        let reference = task.task.as_ref().unwrap();
        let moved = self.room.relocate(reference, to, &self.time);
        if moved.expect("it waits") {
            self.room.sweep();
        }
        let level = if to_front {
            task.level
        } else {
            self.level_of(priority)
        };
        self.left[task.level].queued -= 1;
        self.left[level].queued += 1;
        self.arrived(Known {
            level,
            is_at_front: to_front,
            ..task
        });
    }

    fn evict(&mut self) {
        let limit = self.below(self.levels as u64 + 1) as usize;
        let below = (limit < self.levels).then_some(limit);
        let in_levels = (0..self.waiting.len()).filter(|place| !self.waiting[*place].is_at_front);
        let lowest = in_levels.min_by_key(|place| {
            let task = &self.waiting[*place];
            (self.levels - task.level, task.order)
        });
        let oldest_at_front = || self.rule.next(&self.waiting, self.time.tick());
        let expected = match (lowest, below) {
            (Some(place), None) => Some(place),
            (Some(place), Some(below)) => (self.waiting[place].level > below).then_some(place),
            (None, None) => oldest_at_front(),
            (None, Some(_)) => None,
        };
        let evicted = self.room.evict_for_its_place(below, &self.time);
        assert_eq!(evicted.is_some(), expected.is_some(), "below {below:?}");
        let (Some(slot), Some(place)) = (evicted, expected) else {
            return;
        };
        self.room.producers().unreserve();
        let task = self.waiting.remove(place);
        let is_it = match (&task.task, slot.peek_entry()) {
            (Some(task), Some(entry)) => task.pointer() == entry.pointer(),
            (task, entry) => task.is_none() && entry.is_none(),
        };
        assert!(
            is_it,
            "the oldest of the least urgent level is number {}",
            task.number
        );
        slot.end_unrun(End::Evicted, None);
        self.left[task.level].queued -= 1;
        self.left[task.level].evicted += 1;
        self.over.extend(task.task);
    }

    /// As a worker takes; `first`: as its first task.
    fn take(&mut self, first: bool) {
        let next = self.rule.next(&self.waiting, self.time.tick());
        let mut slot = Slot::empty();
        let found = if first {
            self.room
                .pop_first(&mut slot, |()| ())
                .expect("nothing is reserved")
        } else {
            self.room.take_one_of(self.rule.kind(), &mut slot)
        };
        assert_eq!(found, next.is_some(), "{} wait", self.waiting.len());
        let Some(place) = next else { return };
        let task = self.waiting.remove(place);
        run(&mut slot);
        assert_eq!(self.log.lock().unwrap().last(), Some(&task.number));
        if !task.is_at_front {
            self.rule.took(task.level);
        }
        self.left[task.level].queued -= 1;
        self.left[task.level].taken += 1;
        self.expected.push(task.number);
        self.over.extend(task.task);
    }

    /// Everything, the front first, then level by level.
    fn drain(&mut self) {
        self.waiting.sort_by_key(|task| {
            let level = if task.is_at_front { 0 } else { 1 + task.level };
            (level, task.order)
        });
        let mut tasks = std::mem::take(&mut self.waiting).into_iter();
        for mut slot in self.room.drain() {
            if slot.is_dead() {
                slot.let_go();
                continue;
            }
            if let Some(entry) = slot.peek_entry() {
                assert_eq!(entry.header().state.claim_to_remove(), Claim::Won);
            }
            let task = tasks.next().expect("no more than wait");
            run(&mut slot);
            assert_eq!(self.log.lock().unwrap().last(), Some(&task.number));
            let _ = self.room.remove(Removal::Returned, task.level);
            self.left[task.level].queued -= 1;
            self.left[task.level].returned += 1;
            self.expected.push(task.number);
            self.over.extend(task.task);
        }
        assert!(tasks.next().is_none(), "no fewer than wait");
    }

    fn step(&mut self, number: u64) {
        match self.below(100) {
            0..=34 => self.push(number),
            35..=44 => self.cancel(),
            45..=56 => self.relocate(false),
            57..=62 => self.relocate(true),
            63..=67 => self.evict(),
            68..=75 => {
                let pass = self.below(STEP);
                self.clock.advance(Duration::from_nanos(pass));
            }
            76..=78 => self.room.sweep(),
            79 if self.below(10) == 0 => self.drain(),
            80..=84 => self.take(true),
            _ => self.take(false),
        }
    }

    /// What the room counts, against the list.
    fn compare(&self) {
        let (tally, (), ()) = self.room.tally(|| (), |()| ());
        let counted: Vec<Left> = tally
            .levels()
            .iter()
            .map(|level| Left {
                queued: level.waiting(),
                taken: level.taken,
                cancelled: level.cancelled,
                evicted: level.evicted,
                returned: level.returned,
            })
            .collect();
        assert_eq!(counted, self.left);
        assert_eq!(tally.waiting(), self.waiting.len() as u64);
        // What nobody looks at under a lock may name dead ones, and never misses a live one.
        let urgency = self.room.urgency();
        for task in &self.waiting {
            let own = if task.is_at_front { 0 } else { 1 + task.level };
            assert!(urgency.is_some_and(|urgency| urgency <= own), "{urgency:?}");
        }
    }
}

fn roll(random: &mut u64, limit: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    (*random >> 11) % limit
}

#[test]
fn a_room_with_levels_agrees_with_a_list_of_all_that_waits() {
    for seed in 1..=3_000 {
        if let Err(failure) = std::panic::catch_unwind(|| live_through(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(failure);
        }
    }
}

fn live_through(seed: u64) {
    let mut history = History::new(seed);
    // Mostly short; some are long enough for several segments in a level.
    let steps = if seed % 150 < 3 { 3_000 } else { 120 };
    for number in 0..steps {
        history.step(number);
        if steps == 120 || number % 16 == 0 {
            history.compare();
        }
    }
    while !history.waiting.is_empty() {
        history.take(false);
    }
    history.take(false);
    history.compare();
    assert_eq!(*history.log.lock().unwrap(), history.expected);
}
