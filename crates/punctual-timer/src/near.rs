//! The near timers: in exact order of time, and of submission where times are equal.
//!
//! Three ways in, and the first of their three fronts is the first. What comes in order is appended to the *line* and
//! costs nothing to sort. What comes out of order goes to a *heap*. A crowd from one bucket of the wheel is sorted piece
//! by piece and merged as it is taken (`crowd`): a heap of a million is slow, and one sort of a million would hold
//! the owner's lock for too long. A removed timer stays as a dead item until it is at a front or too many are dead (`numbers` knows which
//! are); the fronts are always live, so that the next time is exact.

use super::blocks::Blocks;
use super::crowd::Crowd;
use super::numbers::Numbers;
use crate::Tick;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A near timer: ordered by time, then by sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exact<V> {
    pub(super) when: Tick,
    pub(super) sequence: u64,
    pub(super) value: V,
    pub(super) number: u32,
}

#[derive(Debug)]
pub(super) struct Near<V> {
    line: Blocks<Exact<V>>,
    /// Items of the line's first block that are gone.
    begun: usize,
    /// The time and sequence of the last item of the line, if it has any.
    last: Option<(Tick, u64)>,
    heap: BinaryHeap<Reverse<Exact<V>>>,
    crowd: Crowd<V>,
    numbers: Numbers,
    /// The first of the three.
    front: Option<Exact<V>>,
    live: usize,
    dead: usize,
}

impl<V: Copy> Near<V> {
    pub(super) const fn new() -> Self {
        Near {
            line: Blocks::new(),
            begun: 0,
            last: None,
            heap: BinaryHeap::new(),
            crowd: Crowd::new(),
            numbers: Numbers::new(),
            front: None,
            live: 0,
            dead: 0,
        }
    }

    /// Says by which number it can be removed.
    pub(super) fn push(&mut self, when: Tick, sequence: u64, value: V) -> u32 {
        let item = self.numbered(when, sequence, value);
        self.sort_in(item);
        if self.front.is_none_or(|front| item < front) {
            self.front = Some(item);
        }
        item.number
    }

    /// As [`Near::push`], one of those that come from a bucket; they are seen after [`Near::gathered`].
    #[inline]
    pub(super) fn gather(&mut self, when: Tick, sequence: u64, value: V) -> u32 {
        let item = self.numbered(when, sequence, value);
        if let Err(item) = self.crowd.gather(item) {
            self.sort_in(item);
        }
        item.number
    }

    /// The bucket is empty.
    pub(super) fn gathered(&mut self) {
        let mut crowd = std::mem::replace(&mut self.crowd, Crowd::new());
        crowd.settle(|item| self.sort_in(item));
        self.crowd = crowd;
        // Some may have been removed since they were gathered.
        self.show_live_fronts();
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Exact<V>> {
        self.front.as_ref()
    }

    /// Takes those that are due in order, at most so many.
    pub(super) fn take_due(&mut self, now: Tick, at_most: usize, mut take: impl FnMut(Exact<V>)) -> usize {
        let mut taken = 0;
        while let Some(front) = self.front.filter(|front| front.when <= now && taken < at_most) {
            let is_of_crowd = self.crowd.first().is_some_and(|first| first == front);
            let Near { crowd, numbers, .. } = self;
            if is_of_crowd {
                let heaped = self.heap.peek().map(|item| item.0);
                let begun = self.begun;
                let lined = self.line.first().map(|block| block[begun]);
                let rival = heaped.into_iter().chain(lined).min();
                let (live, dead) = (&mut self.live, &mut self.dead);
                crowd.take_while(|item| {
                    let is_gone = numbers.is_gone(item.number);
                    // What is dead leaves anyway: the front is to be live.
                    if !is_gone {
                        let is_next = item.when <= now && rival.is_none_or(|rival| *item < rival);
                        if !is_next || taken == at_most {
                            return false;
                        }
                        taken += 1;
                        *live -= 1;
                        take(*item);
                    } else {
                        *dead -= 1;
                    }
                    numbers.give_back(item.number);
                    true
                });
            } else {
                taken += 1;
                self.live -= 1;
                take(front);
                self.numbers.give_back(front.number);
                if self.first_in_line().is_some_and(|first| first == front) {
                    self.pop_line();
                    self.clean_line();
                } else {
                    self.heap.pop();
                    self.clean_heap();
                }
            }
            self.front = self.look_for_front();
        }
        taken
    }

    /// Removes the one with this number. Others may get new ones: they are told.
    pub(super) fn remove(&mut self, number: u32, tell: impl FnMut(V, u32)) {
        self.numbers.remove(number);
        self.live -= 1;
        self.dead += 1;
        if self.dead > 2 * self.live + 64 {
            self.rebuild(tell);
            self.front = self.look_for_front();
        } else {
            self.show_live_fronts();
        }
    }

    /// Everything in it, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = V> {
        let lined = self.line.iter().skip(self.begun);
        let heaped = self.heap.iter().map(|item| &item.0);
        let others = lined.chain(heaped).map(|item| (item.value, item.number));
        let all = others.chain(self.crowd.iter());
        all.filter(|(_, number)| !self.numbers.is_gone(*number))
            .map(|(value, _)| value)
    }

    fn numbered(&mut self, when: Tick, sequence: u64, value: V) -> Exact<V> {
        self.live += 1;
        Exact {
            when,
            sequence,
            value,
            number: self.numbers.take(),
        }
    }

    fn sort_in(&mut self, item: Exact<V>) {
        let place = (item.when, item.sequence);
        if self.last.is_none_or(|last| last < place) {
            self.line.push(item);
            self.last = Some(place);
        } else {
            self.heap.push(Reverse(item));
        }
    }

    fn look_for_front(&self) -> Option<Exact<V>> {
        let heaped = self.heap.peek().map(|item| item.0);
        let fronts = [self.first_in_line(), heaped, self.crowd.first()];
        fronts.into_iter().flatten().min()
    }

    fn show_live_fronts(&mut self) {
        self.clean_line();
        self.clean_heap();
        let Near {
            crowd, numbers, dead, ..
        } = self;
        crowd.take_while(|item| is_over(item, numbers, dead));
        self.front = self.look_for_front();
    }

    fn clean_line(&mut self) {
        while let Some(item) = self.first_in_line() {
            if !is_over(&item, &mut self.numbers, &mut self.dead) {
                return;
            }
            self.pop_line();
        }
    }

    fn clean_heap(&mut self) {
        while let Some(item) = self.heap.peek() {
            if !is_over(&item.0, &mut self.numbers, &mut self.dead) {
                return;
            }
            self.heap.pop();
        }
        if self.heap.capacity() > 1024 {
            self.heap = BinaryHeap::new();
        }
    }

    /// Keeps the live ones only. Its cost is borne by the removals since the last time.
    fn rebuild(&mut self, mut tell: impl FnMut(V, u32)) {
        let mut line = std::mem::replace(&mut self.line, Blocks::new());
        let heap = std::mem::take(&mut self.heap);
        let mut skip = std::mem::take(&mut self.begun);
        let old = std::mem::replace(&mut self.numbers, Numbers::new());
        let mut numbers = Numbers::new();
        let mut keep = |value: V, number: &mut u32| {
            let lives = !old.is_gone(*number);
            if lives {
                *number = numbers.take();
                tell(value, *number);
            }
            lives
        };
        self.last = None;
        while let Some(block) = line.take_first() {
            for mut item in block.into_iter().skip(std::mem::take(&mut skip)) {
                if keep(item.value, &mut item.number) {
                    self.sort_in(item);
                }
            }
        }
        let heap = heap.into_iter().map(|item| item.0);
        let kept = heap.filter_map(|mut item| keep(item.value, &mut item.number).then_some(Reverse(item)));
        self.heap = kept.collect();
        self.heap.shrink_to(self.heap.len() * 2);
        self.crowd.retain(keep);
        self.numbers = numbers;
        self.dead = 0;
    }

    fn first_in_line(&self) -> Option<Exact<V>> {
        self.line.first().map(|block| block[self.begun])
    }

    fn pop_line(&mut self) {
        self.begun += 1;
        if self.line.first().is_some_and(|block| block.len() == self.begun) {
            self.begun = 0;
            self.line.take_first();
            if self.line.first().is_none() {
                self.last = None;
            }
        }
    }

    /// How many came out of order, one by one.
    #[cfg(test)]
    pub(super) fn heaped(&self) -> usize {
        self.heap.len()
    }

    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        self.line.footprint()
            + self.heap.capacity() * size_of::<Exact<V>>()
            + self.crowd.footprint()
            + self.numbers.footprint()
    }
}

/// Whether an item stands for nothing; it must then leave: its number is given back.
fn is_over<V>(item: &Exact<V>, numbers: &mut Numbers, dead: &mut usize) -> bool {
    let is_gone = numbers.is_gone(item.number);
    if is_gone {
        numbers.give_back(item.number);
        *dead -= 1;
    }
    is_gone
}

impl<V> PartialEq for Exact<V> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<V> Eq for Exact<V> {}

impl<V> PartialOrd for Exact<V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<V> Ord for Exact<V> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (self.when, self.sequence).cmp(&(other.when, other.sequence))
    }
}
