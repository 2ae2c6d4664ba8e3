//! [`TimerQueue`]: any number of timers, taken in exact order of time, with cancellation; no clock and no thread.
//!
//! In: values that know their time. Out: the due values, in order of time, and of insertion where times are equal. A
//! plain data structure: the owner reads the clock, holds the lock if there is one, and acts on what it takes. What the
//! queue has to remember about a timer (its sequence, its key) lies in the value itself ([`Timed`]), so that a removal
//! touches the value and one word here.
//!
//! Two parts. The *wheel* keeps far timers, unsorted, in buckets by the bits of their time. The *near* part keeps in exact
//! order the timers at or before the wheel's position; sorting moves its items, so a bitmap beside them, by number, says
//! which are removed. An insertion goes into one bucket; a timer moves to a finer bucket or to the near part when its
//! bucket is opened, at most once per level. Most timers are removed before that and never move.
//!
//! - Never early, never out of order: nothing is taken while a bucket is half emptied, and the position never passes
//!   an occupied bucket, so every near timer comes before every timer of the wheel.
//! - No ticking: a bucket knows its earliest time, and [`TimerQueue::next_check`] asks for a check then (a little before,
//!   if the bucket is crowded). Such a check finds nothing due only where the earliest timer was removed; it then
//!   empties that bucket into finer ones.
//! - No stalls: a bucket is emptied in pieces, a few blocks per call, and a bucket of mostly removed timers is swept one
//!   block per removal. Only a removal from a large crowd within one millisecond can cost more, and rarely does.
//! - Bounded memory: a removed timer leaves a gap of one word. A bucket is swept while its gaps are more than four times its
//!   timers (and more than a few), and the near part is rebuilt when its removed items are more than twice its timers.

#![forbid(unsafe_code)]

mod blocks;
mod crowd;
mod entries;
mod near;
mod numbers;
#[cfg(test)]
mod tests;
mod wheel;

use self::entries::{Piece, Spot};
use self::near::Near;
use self::wheel::{NEAR, Wheel};

/// A reading of the owner's clock in nanoseconds, from any beginning. The queue only compares and subtracts.
pub type Tick = u64;

/// Blocks of a bucket that one call moves at most: the longest section under the owner's lock.
const PIECES: usize = 4;

/// A bucket with more timers than this is opened before its time, so that its first timer is not late: by about as long
/// as moving them takes (`MOVING` each), and by `AHEAD` at most.
const CROWD: u64 = 1024;
const MOVING: Tick = 200;
const AHEAD: Tick = 250_000_000;

/// A timer that was due, as [`TimerQueue::take_due`] gives it out. The order of the fields is the order of the timers, also
/// across two queues that share their sequence ([`TimerQueue::count_from`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueTimer<V> {
    /// The time it was inserted for.
    pub when: Tick,
    /// Its number in the order of insertion.
    pub sequence: u64,
    /// The value.
    pub value: V,
}

/// A value that carries what a queue has to remember about it: usually a pointer to, or an index of, a larger record.
///
/// The queue calls these methods only while the value is in it, and [`Timed::set_sequence`] and [`Timed::set_key`] before
/// the getters.
pub trait Timed: Copy {
    /// The time of the timer. Must not change while the value is in a queue.
    fn when(self) -> Tick;
    /// The sequence that was set last.
    fn sequence(self) -> u64;
    /// Stores the number of this timer in the order of insertion.
    fn set_sequence(self, sequence: u64);
    /// The key that was set last.
    fn key(self) -> TimerKey;
    /// Stores where the timer lies in the queue.
    fn set_key(self, key: TimerKey);
    /// A hint: the queue or its owner will read the record soon. An implementation may prefetch it.
    #[inline]
    fn prepare(self) {}
}

/// Where a timer lies in its queue: a bucket of the wheel and a spot in it, or the near part and a number there. Opaque to
/// the owner, which only keeps it ([`Timed::set_key`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerKey {
    block: u32,
    offset: u16,
    bucket: u16,
}

impl TimerKey {
    /// The initial key of a value that is in no queue yet.
    pub const UNSET: TimerKey = TimerKey::near(0);

    #[inline]
    const fn of(bucket: u16, Spot { block, offset }: Spot) -> Self {
        TimerKey {
            block,
            offset,
            bucket,
        }
    }

    #[inline]
    const fn near(index: u32) -> Self {
        TimerKey {
            block: index,
            offset: 0,
            bucket: NEAR,
        }
    }
}

/// A queue of timers: insertion and removal in constant time, due timers in exact order.
///
/// ```
/// use punctual_timer::{Tick, Timed, TimerKey, TimerQueue};
/// use std::cell::Cell;
///
/// struct Alarm {
///     name: &'static str,
///     when: Tick,
///     sequence: Cell<u64>,
///     key: Cell<TimerKey>,
/// }
///
/// impl Alarm {
///     fn new(name: &'static str, when: Tick) -> Self {
///         Alarm { name, when, sequence: Cell::new(0), key: Cell::new(TimerKey::UNSET) }
///     }
/// }
///
/// impl Timed for &Alarm {
///     fn when(self) -> Tick { self.when }
///     fn sequence(self) -> u64 { self.sequence.get() }
///     fn set_sequence(self, sequence: u64) { self.sequence.set(sequence) }
///     fn key(self) -> TimerKey { self.key.get() }
///     fn set_key(self, key: TimerKey) { self.key.set(key) }
/// }
///
/// let [tea, eggs, cake] = [Alarm::new("tea", 300), Alarm::new("eggs", 180), Alarm::new("cake", 240)];
/// let mut queue = TimerQueue::new(0);
/// for alarm in [&tea, &eggs, &cake] {
///     queue.insert(alarm);
/// }
/// queue.remove(&cake); // cancelled
/// assert_eq!(queue.next_check(), Some(180));
///
/// let mut due = Vec::new();
/// while queue.take_due(300, 64, &mut due) {}
/// let names: Vec<_> = due.iter().map(|timer| timer.value.name).collect();
/// assert_eq!(names, ["eggs", "tea"]);
/// assert!(queue.is_empty());
/// ```
#[derive(Debug)]
pub struct TimerQueue<V> {
    wheel: Wheel<V>,
    near: Near<V>,
    len: usize,
    /// The sequence of the timer that was inserted last.
    sequence: u64,
    /// When a bucket that has just become crowded has to be opened; see [`TimerQueue::take_earlier_check`].
    crowded: Option<Tick>,
    /// The bucket that is being emptied. Until it is, a timer in it may be earlier than any near one.
    open: Option<u16>,
}

impl<V: Timed> TimerQueue<V> {
    /// An empty queue. Times up to `now` count as near; any time may be inserted.
    #[must_use]
    pub fn new(now: Tick) -> Self {
        TimerQueue {
            wheel: Wheel::new(now),
            near: Near::new(),
            len: 0,
            sequence: 0,
            crowded: None,
            open: None,
        }
    }

    /// Inserts a timer for any time, also a past one. Timers of equal times keep the order of insertion.
    ///
    /// The value must not be in a queue.
    pub fn insert(&mut self, value: V) {
        self.sequence += 1;
        value.set_sequence(self.sequence);
        self.len += 1;
        let when = value.when();
        let bucket = self.wheel.bucket_of(when);
        if bucket == NEAR {
            let number = self.near.push(when, self.sequence, value);
            value.set_key(TimerKey::near(number));
            return;
        }
        let crowd = u64::from(self.wheel.push(bucket, when, value));
        if crowd > CROWD && crowd.is_power_of_two() {
            self.crowded = Some(self.opening(bucket));
        }
    }

    /// Removes a timer. The value must be in this queue, that is neither removed nor taken since its insertion: its key
    /// would name the place of another timer. In debug builds most such calls panic.
    #[inline(always)]
    pub fn remove(&mut self, value: V) {
        self.len -= 1;
        let TimerKey {
            block,
            offset,
            bucket,
        } = value.key();
        if bucket == NEAR {
            self.near
                .remove(block, |value, number| value.set_key(TimerKey::near(number)));
        } else if self.wheel.remove(bucket, Spot { block, offset }) && self.open == Some(bucket) {
            self.emptied();
        }
    }

    /// A check that the last insertion has made necessary, before the inserted time: its bucket has become crowded. `None`:
    /// the inserted time itself is early enough.
    pub fn take_earlier_check(&mut self) -> Option<Tick> {
        self.crowded.take()
    }

    /// The sequence of the timer that was inserted last, for [`TimerQueue::count_from`] of another queue.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.sequence
    }

    /// Continues the sequence of another queue, so that timers taken from both can be sorted by time and sequence.
    pub fn count_from(&mut self, sequence: u64) {
        self.sequence = self.sequence.max(sequence);
    }

    /// All values, in no order.
    pub fn values(&self) -> impl Iterator<Item = V> {
        self.wheel.values().chain(self.near.values())
    }

    /// The number of timers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no timer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// When to call [`TimerQueue::take_due`] next: at the time of the earliest timer, or before it if an earlier timer of its
    /// bucket was removed or the bucket is crowded.
    #[must_use]
    pub fn next_check(&self) -> Option<Tick> {
        let near = self.near.first().map(|item| item.when);
        if let Some(bucket) = self.open {
            let earliest = self.wheel.earliest(bucket);
            return Some(near.map_or(earliest, |near| near.min(earliest)));
        }
        near.or_else(|| self.wheel.first().map(|bucket| self.opening(bucket)))
    }

    /// When the first bucket is opened: at its first time, or before if moving its timers takes long.
    fn opening(&self, bucket: u16) -> Tick {
        let crowd = self.wheel.live(bucket);
        let ahead = if crowd > CROWD {
            (crowd * MOVING).min(AHEAD)
        } else {
            0
        };
        self.wheel.earliest(bucket).saturating_sub(ahead)
    }

    /// Moves at most `at_most` due timers to `out`, in order. Returns whether to call again now: more timers may be due, or
    /// this call has used up its bounded share of work.
    pub fn take_due(&mut self, now: Tick, at_most: usize, out: &mut Vec<DueTimer<V>>) -> bool {
        let mut pieces = PIECES;
        let mut room = at_most;
        loop {
            while let Some(bucket) = self.open {
                if pieces == 0 {
                    return true;
                }
                pieces -= 1;
                self.move_block(bucket);
            }
            let taken = self.near.take_due(now, room, |item| {
                item.value.prepare();
                out.push(DueTimer {
                    when: item.when,
                    sequence: item.sequence,
                    value: item.value,
                });
            });
            self.len -= taken;
            room -= taken;
            if let Some(first) = self.near.first() {
                // If it is later, every timer of the wheel is later still.
                return first.when <= now;
            }
            let first = self.wheel.first();
            match first {
                Some(bucket) if self.opening(bucket) <= now => {
                    self.wheel.open(bucket);
                    self.open = Some(bucket);
                }
                _ => {
                    self.wheel.turn_before(now, first);
                    return false;
                }
            }
        }
    }

    /// Removes all timers and returns them in order.
    pub fn drain(&mut self) -> Vec<V> {
        let wheel = self.wheel.emptied();
        let wheel = std::mem::replace(&mut self.wheel, wheel);
        let near = std::mem::replace(&mut self.near, Near::new());
        self.open = None;
        self.len = 0;
        let mut values: Vec<_> = wheel.values().chain(near.values()).collect();
        values.sort_unstable_by_key(|value| (value.when(), value.sequence()));
        values
    }

    /// Moves one block of the open bucket to finer buckets and to the near part.
    fn move_block(&mut self, bucket: u16) {
        let block = self.wheel.take_block(bucket);
        let mut live = 0;
        block.iter().flat_map(Piece::live).for_each(V::prepare);
        for value in block.iter().flat_map(Piece::live) {
            live += 1;
            let when = value.when();
            let finer = self.wheel.bucket_of(when);
            debug_assert_ne!(finer, bucket, "an open bucket is where the wheel stands");
            if finer == NEAR {
                let number = self.near.gather(when, value.sequence(), value);
                value.set_key(TimerKey::near(number));
            } else {
                self.wheel.push(finer, when, value);
            }
        }
        let all = block.map_or(0, |block| block.len());
        if self.wheel.moved(bucket, live, all - live) {
            self.emptied();
        }
    }

    /// The open bucket has been emptied.
    fn emptied(&mut self) {
        self.open = None;
        self.near.gathered();
    }

    /// Bytes it holds on the heap.
    #[cfg(test)]
    fn footprint(&self) -> usize {
        self.wheel.footprint() + self.near.footprint()
    }
}
