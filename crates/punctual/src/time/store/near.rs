//! The near timers: in exact order of time, and of submission where times are equal.
//!
//! Three ways in, and the first of their three fronts is the first. What comes in order is appended to the *line* and
//! costs nothing to sort. What comes out of order goes to a *heap*. A crowd from one bucket of the wheel is sorted piece
//! by piece and merged as it is taken (`crowd`): a heap of a million is slow, and one sort of a million would keep
//! everybody waiting. A removed timer stays as a dead item until it is at a front or too many are dead; the fronts are
//! always live, so that the next time is exact.

use super::blocks::Blocks;
use super::crowd::Crowd;
use crate::time::Tick;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The order of the fields is the order of the timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Exact {
    pub(super) when: Tick,
    pub(super) sequence: u64,
    pub(super) index: u32,
}

#[derive(Debug)]
pub(super) struct Near {
    line: Blocks<Exact>,
    /// Items of the line's first block that are gone.
    begun: usize,
    /// The last item of the line, if it has any.
    last: Option<Exact>,
    heap: BinaryHeap<Reverse<Exact>>,
    crowd: Crowd,
    /// The first of the three.
    front: Option<Exact>,
    live: usize,
    dead: usize,
}

impl Near {
    pub(super) const fn new() -> Self {
        Near {
            line: Blocks::new(),
            begun: 0,
            last: None,
            heap: BinaryHeap::new(),
            crowd: Crowd::new(),
            front: None,
            live: 0,
            dead: 0,
        }
    }

    pub(super) fn push(&mut self, item: Exact) {
        self.live += 1;
        self.sort_in(item);
        if self.front.is_none_or(|front| item < front) {
            self.front = Some(item);
        }
    }

    /// One of those that come from a bucket; they are seen after [`Near::gathered`].
    pub(super) fn gather(&mut self, item: Exact) {
        self.live += 1;
        self.crowd.gather(item);
    }

    /// The bucket is empty.
    pub(super) fn gathered(&mut self, is_live: impl Fn(Exact) -> bool) {
        for item in self.crowd.settle() {
            self.sort_in(item);
        }
        // Some may have been removed since they were gathered.
        self.show_live_fronts(is_live);
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Exact> {
        self.front
    }

    /// Removes the first item, which is live. `is_live` answers for all others.
    pub(super) fn pop(&mut self, is_live: impl Fn(Exact) -> bool) {
        let Some(first) = self.front else { return };
        self.live -= 1;
        // Only the way it came by has a new front, which may be dead.
        if self.crowd.first() == Some(first) {
            self.crowd.pop();
            self.clean_crowd(is_live);
        } else if self.first_in_line() == Some(first) {
            self.pop_line();
            self.clean_line(is_live);
        } else {
            self.heap.pop();
            self.clean_heap(is_live);
        }
        self.front = self.look_for_front();
    }

    /// Counts the removal of an item, for which `is_live` now says no.
    pub(super) fn removed(&mut self, is_live: impl Fn(Exact) -> bool) {
        self.live -= 1;
        self.dead += 1;
        if self.dead > 2 * self.live + 64 {
            self.rebuild(is_live);
            self.front = self.look_for_front();
        } else {
            self.show_live_fronts(is_live);
        }
    }

    fn sort_in(&mut self, item: Exact) {
        if self.last.is_none_or(|last| last < item) {
            self.line.push(item);
            self.last = Some(item);
        } else {
            self.heap.push(Reverse(item));
        }
    }

    fn look_for_front(&self) -> Option<Exact> {
        let heaped = self.heap.peek().map(|item| item.0);
        let fronts = [self.first_in_line(), heaped, self.crowd.first()];
        fronts.into_iter().flatten().min()
    }

    fn show_live_fronts(&mut self, is_live: impl Fn(Exact) -> bool) {
        self.clean_line(&is_live);
        self.clean_heap(&is_live);
        self.clean_crowd(&is_live);
        self.front = self.look_for_front();
    }

    fn clean_line(&mut self, is_live: impl Fn(Exact) -> bool) {
        while self.first_in_line().is_some_and(|item| !is_live(item)) {
            self.pop_line();
            self.dead -= 1;
        }
    }

    fn clean_heap(&mut self, is_live: impl Fn(Exact) -> bool) {
        while self.heap.peek().is_some_and(|item| !is_live(item.0)) {
            self.heap.pop();
            self.dead -= 1;
        }
        if self.heap.is_empty() && self.heap.capacity() > 1024 {
            self.heap = BinaryHeap::new();
        }
    }

    fn clean_crowd(&mut self, is_live: impl Fn(Exact) -> bool) {
        while self.crowd.first().is_some_and(|item| !is_live(item)) {
            self.crowd.pop();
            self.dead -= 1;
        }
    }

    /// Keeps the live ones only. Its cost is borne by the removals since the last time.
    fn rebuild(&mut self, is_live: impl Fn(Exact) -> bool) {
        let mut line = std::mem::replace(&mut self.line, Blocks::new());
        let heap = std::mem::take(&mut self.heap);
        let begun = std::mem::take(&mut self.begun);
        self.last = None;
        self.dead = 0;
        let mut skip = begun;
        while let Some(block) = line.take_first() {
            for item in block.into_iter().skip(std::mem::take(&mut skip)) {
                if is_live(item) {
                    self.sort_in(item);
                }
            }
        }
        self.heap = heap.into_iter().filter(|item| is_live(item.0)).collect();
        self.heap.shrink_to(self.heap.len() * 2);
        self.crowd.retain(is_live);
    }

    fn first_in_line(&self) -> Option<Exact> {
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
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn heaped(&self) -> usize {
        self.heap.len()
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn footprint(&self) -> usize {
        self.line.footprint() + self.heap.capacity() * size_of::<Exact>() + self.crowd.footprint()
    }
}
