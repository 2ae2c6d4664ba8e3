//! The near timers: in exact order of time, and of submission where times are equal.
//!
//! What comes in order (a crowd of one instant does) is appended to a *run* and costs nothing to sort; what comes out
//! of order goes to a heap. The first of both is the first. A removed timer stays as a dead item until it is at the
//! front or too many are dead; the two fronts are always live, so that the next time is exact.

use super::blocks::Blocks;
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
    run: Blocks<Exact>,
    /// Items of the run's first block that are gone.
    begun: usize,
    /// The last item of the run, if it has any.
    last: Option<Exact>,
    heap: BinaryHeap<Reverse<Exact>>,
    live: usize,
    dead: usize,
}

impl Near {
    pub(super) const fn new() -> Self {
        Near {
            run: Blocks::new(),
            begun: 0,
            last: None,
            heap: BinaryHeap::new(),
            live: 0,
            dead: 0,
        }
    }

    pub(super) fn push(&mut self, item: Exact) {
        self.live += 1;
        self.sort_in(item);
    }

    pub(super) fn first(&self) -> Option<Exact> {
        let heaped = self.heap.peek().map(|item| item.0);
        match (self.first_of_run(), heaped) {
            (Some(run), Some(heaped)) => Some(run.min(heaped)),
            (run, heaped) => run.or(heaped),
        }
    }

    /// Removes the first item, which is live. `is_live` answers for all others.
    pub(super) fn pop(&mut self, is_live: impl Fn(Exact) -> bool) {
        if let Some(item) = self.first() {
            self.live -= 1;
            if self.first_of_run() == Some(item) {
                self.pop_run();
            } else {
                self.heap.pop();
            }
            self.show_live_fronts(is_live);
        }
    }

    /// Counts the removal of an item, for which `is_live` now says no.
    pub(super) fn removed(&mut self, is_live: impl Fn(Exact) -> bool) {
        self.live -= 1;
        self.dead += 1;
        if self.dead > 2 * self.live + 64 {
            self.rebuild(is_live);
        } else {
            self.show_live_fronts(is_live);
        }
    }

    fn sort_in(&mut self, item: Exact) {
        if self.last.is_none_or(|last| last < item) {
            self.run.push(item);
            self.last = Some(item);
        } else {
            self.heap.push(Reverse(item));
        }
    }

    fn show_live_fronts(&mut self, is_live: impl Fn(Exact) -> bool) {
        while self.first_of_run().is_some_and(|item| !is_live(item)) {
            self.pop_run();
            self.dead -= 1;
        }
        while self.heap.peek().is_some_and(|item| !is_live(item.0)) {
            self.heap.pop();
            self.dead -= 1;
        }
        if self.heap.is_empty() && self.heap.capacity() > 1024 {
            self.heap = BinaryHeap::new();
        }
    }

    /// Keeps the live ones only. Its cost is borne by the removals since the last time.
    fn rebuild(&mut self, is_live: impl Fn(Exact) -> bool) {
        let mut run = std::mem::replace(&mut self.run, Blocks::new());
        let heap = std::mem::take(&mut self.heap);
        let begun = std::mem::take(&mut self.begun);
        self.last = None;
        self.dead = 0;
        let mut skip = begun;
        while let Some(block) = run.take_first() {
            for item in block.into_iter().skip(std::mem::take(&mut skip)) {
                if is_live(item) {
                    self.sort_in(item);
                }
            }
        }
        self.heap = heap.into_iter().filter(|item| is_live(item.0)).collect();
        self.heap.shrink_to(self.heap.len() * 2);
    }

    fn first_of_run(&self) -> Option<Exact> {
        self.run.first().map(|block| block[self.begun])
    }

    fn pop_run(&mut self) {
        self.begun += 1;
        if self.run.first().is_some_and(|block| block.len() == self.begun) {
            self.begun = 0;
            self.run.take_first();
            if self.run.first().is_none() {
                self.last = None;
            }
        }
    }

    /// How many came out of order.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn heaped(&self) -> usize {
        self.heap.len()
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn footprint(&self) -> usize {
        self.run.footprint() + self.heap.capacity() * size_of::<Exact>()
    }
}
