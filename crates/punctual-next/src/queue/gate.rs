//! Acceptance: whether a task may come in, and whether a thread is to be started for it.
//!
//! Plain numbers under the tail lock of the queue. That lock is the one point in time at which a pool is open or closed, full or
//! not, and has so many threads; a closed gate never opens again. Pure arithmetic: it calls nothing.
//!
//! **Exact bounds.** A thread that was started for a task takes one task from the queue when it begins, so the queue may hold as many
//! more as threads are *starting*. A pool takes `capacity` tasks and one for each thread, no more and no fewer, however its
//! submitters and its new threads race.
//!
//! **In flight.** Where a rule asks for a free thread (handing over, threads first), the gate counts the accepted tasks that have not
//! left the pool. A thread is free if there are fewer of them than threads. Other pools do not count.
//!
//! **Submitters that wait for room** stand in line here. Room that becomes free is granted to the first of them, which then holds a
//! place until it comes with [`Entry::Granted`]. A new task does not overtake the line.

use crate::base::settings::{Capacity, Growth, Size};
use crate::sync::Arc;
use crate::sync::parker::Parker;
use std::collections::VecDeque;

/// Why a task comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A new task: refused when the pool is full or closed.
    New,
    /// A new task for which a thread was started before: refused when the pool is full or closed.
    Started,
    /// A task whose submitter was granted a place: refused when the pool is closed.
    Granted,
}

/// What the gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Verdict {
    Go,
    /// The task is in; a place among the threads is reserved, and the caller starts one.
    GoAndStart,
    /// A place among the threads is reserved; the caller starts one and comes again.
    StartFirst,
    Full,
    Closed,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) is_closed: bool,
    pub(crate) size: Size,
    /// The bound of the queue as a number.
    pub(crate) room: usize,
    counts_in_flight: bool,
    /// Live threads and those that are being started.
    pub(crate) threads: usize,
    /// Threads that have not taken a task yet.
    starting: usize,
    in_flight: usize,
    /// Places that are granted and not used yet.
    granted: usize,
    /// The parkers of the submitters that wait for room.
    line: VecDeque<Arc<Parker>>,
}

impl Gate {
    pub(crate) fn new(size: Size) -> Self {
        Gate {
            is_closed: false,
            size,
            room: match size.capacity {
                Capacity::Unbounded => usize::MAX,
                Capacity::Bounded(tasks) => tasks,
                Capacity::Handoff => 0,
            },
            counts_in_flight: size.capacity == Capacity::Handoff || size.growth == Growth::ThreadsFirst,
            threads: 0,
            starting: 0,
            in_flight: 0,
            granted: 0,
            line: VecDeque::new(),
        }
    }

    /// Asked with the number of tasks that wait.
    #[inline]
    pub(crate) fn admit(&mut self, entry: Entry, queued: usize) -> Verdict {
        let is_settled = self.threads >= self.size.core.max(1) && !self.is_closed && !self.counts_in_flight;
        if is_settled && queued < self.room && self.line.is_empty() && entry != Entry::Granted {
            return Verdict::Go;
        }
        self.admit_slowly(entry, queued)
    }

    #[cold]
    fn admit_slowly(&mut self, entry: Entry, queued: usize) -> Verdict {
        if entry == Entry::Granted {
            self.granted -= 1;
        }
        if self.is_closed {
            return Verdict::Closed;
        }
        if self.threads == 0 {
            return self.reserve_thread(entry);
        }
        let has_place = entry == Entry::Granted || (self.has_room(queued) && self.line.is_empty());
        let wants_thread = entry == Entry::New && self.threads < self.size.core
            || self.size.growth == Growth::ThreadsFirst
                && self.in_flight >= self.threads
                && self.has_spare_size();
        match (has_place, wants_thread) {
            (true, true) => {
                self.reserve();
                self.accept();
                Verdict::GoAndStart
            }
            (true, false) => {
                self.accept();
                Verdict::Go
            }
            // Below core, and where the queue is full, a thread brings its own place.
            (false, true) => self.reserve_thread(entry),
            (false, false) if entry != Entry::Granted && self.has_spare_size() => self.reserve_thread(entry),
            (false, false) => Verdict::Full,
        }
    }

    fn reserve_thread(&mut self, entry: Entry) -> Verdict {
        if entry == Entry::Granted {
            // Its place stays granted while the caller starts a thread.
            self.granted += 1;
        }
        self.reserve();
        Verdict::StartFirst
    }

    fn reserve(&mut self) {
        self.threads += 1;
        self.starting += 1;
    }

    fn has_spare_size(&self) -> bool {
        self.threads < self.size.max
    }

    fn accept(&mut self) {
        if self.counts_in_flight {
            self.in_flight += 1;
        }
    }

    /// Whether one more task has a place, beside those that are granted.
    pub(crate) fn has_room(&self, queued: usize) -> bool {
        match self.size.capacity {
            Capacity::Handoff => self.in_flight + self.granted < self.threads,
            _ => queued.saturating_add(self.granted) < self.room.saturating_add(self.starting),
        }
    }

    /// Whether [`Gate::left`] is to be told of each task that leaves the pool.
    #[inline]
    pub(crate) fn counts_in_flight(&self) -> bool {
        self.counts_in_flight
    }

    /// So many tasks have ended, or were taken out.
    pub(crate) fn left(&mut self, tasks: usize) {
        if self.counts_in_flight {
            self.in_flight -= tasks;
        }
    }

    /// A reserved thread has taken its first task, or leaves without one.
    pub(crate) fn begun(&mut self) {
        self.starting -= 1;
    }

    /// A reserved thread could not be started.
    pub(crate) fn start_failed(&mut self) {
        self.starting -= 1;
        self.threads -= 1;
    }

    /// A submitter does not use the place that it was granted.
    pub(crate) fn give_place_back(&mut self) {
        self.granted -= 1;
    }

    /// Reserves a thread for tasks that wait, below the core size.
    pub(crate) fn reserve_core(&mut self) -> bool {
        let may_start = !self.is_closed && self.threads < self.size.core;
        if may_start {
            self.reserve();
        }
        may_start
    }

    /// New bounds for threads. The capacity stays.
    pub(crate) fn resize(&mut self, core: usize, max: usize) {
        self.size.core = core;
        self.size.max = max;
    }

    /// Joins the line. Under the locks of both ends, after [`Gate::has_room`] said no.
    pub(crate) fn join_line(&mut self, parker: Arc<Parker>) {
        self.line.push_back(parker);
    }

    pub(crate) fn line_len(&self) -> usize {
        self.line.len()
    }

    pub(crate) fn has_line(&self) -> bool {
        !self.line.is_empty()
    }

    /// Grants what is free to the first in line. A closed gate sends all of them away, without a place.
    pub(crate) fn grant(&mut self, queued: usize, woken: &mut Vec<Arc<Parker>>) {
        while self.is_closed || self.has_room(queued) {
            let Some(first) = self.line.pop_front() else {
                return;
            };
            self.granted += 1;
            woken.push(first);
        }
    }

    /// A submitter leaves the line. True: it had left it already, with a place.
    pub(crate) fn leave_line(&mut self, parker: &Arc<Parker>) -> bool {
        let found = self.line.iter().position(|each| Arc::ptr_eq(each, parker));
        found.and_then(|index| self.line.remove(index)).is_none()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Arc, Capacity, Entry, Gate, Growth, Parker, Size, Verdict};

    fn fixed(threads: usize, capacity: Capacity) -> Gate {
        Gate::new(Size::fixed(threads, capacity))
    }

    #[test]
    fn threads_are_started_up_to_the_core_size() {
        let mut gate = fixed(2, Capacity::Unbounded);
        assert_eq!(gate.admit(Entry::New, 0), Verdict::StartFirst);
        assert_eq!(gate.admit(Entry::Started, 0), Verdict::Go);
        assert_eq!(gate.admit(Entry::New, 1), Verdict::GoAndStart);
        assert_eq!(gate.admit(Entry::New, 2), Verdict::Go);
        assert_eq!(gate.threads, 2);
    }

    #[test]
    fn a_full_queue_and_a_closed_pool_refuse() {
        let mut gate = fixed(1, Capacity::Bounded(1));
        assert_eq!(gate.admit(Entry::New, 0), Verdict::StartFirst);
        assert_eq!(gate.admit(Entry::Started, 0), Verdict::Go);
        // The thread has not begun: it will take the first.
        assert_eq!(gate.admit(Entry::New, 1), Verdict::Go);
        assert_eq!(gate.admit(Entry::New, 2), Verdict::Full);
        gate.begun();
        assert_eq!(gate.admit(Entry::New, 1), Verdict::Full);
        gate.is_closed = true;
        assert_eq!(gate.admit(Entry::New, 0), Verdict::Closed);
    }

    #[test]
    fn a_full_queue_starts_threads_up_to_max() {
        let size = Size {
            core: 1,
            max: 2,
            capacity: Capacity::Bounded(1),
            growth: Growth::QueueFirst,
        };
        let mut gate = Gate::new(size);
        assert_eq!(gate.admit(Entry::New, 0), Verdict::StartFirst);
        assert_eq!(gate.admit(Entry::Started, 0), Verdict::Go);
        gate.begun();
        assert_eq!(gate.admit(Entry::New, 0), Verdict::Go);
        assert_eq!(gate.admit(Entry::New, 1), Verdict::StartFirst);
        assert_eq!(gate.admit(Entry::Started, 1), Verdict::Go);
        assert_eq!(gate.admit(Entry::New, 2), Verdict::Full);
        gate.start_failed();
        assert_eq!(gate.threads, 1);
    }

    #[test]
    fn a_task_is_handed_to_a_free_thread_only() {
        let size = Size {
            core: 0,
            max: 2,
            capacity: Capacity::Handoff,
            growth: Growth::QueueFirst,
        };
        let mut gate = Gate::new(size);
        for _ in 0..2 {
            assert_eq!(gate.admit(Entry::New, 0), Verdict::StartFirst);
            assert_eq!(gate.admit(Entry::Started, 0), Verdict::Go);
        }
        assert_eq!(gate.admit(Entry::New, 0), Verdict::Full);
        gate.left(1);
        assert_eq!(gate.admit(Entry::New, 0), Verdict::Go);
    }

    #[test]
    fn room_goes_to_the_first_in_line_and_no_other_overtakes() {
        let mut gate = fixed(1, Capacity::Bounded(1));
        assert_eq!(gate.admit(Entry::New, 0), Verdict::StartFirst);
        assert_eq!(gate.admit(Entry::Started, 0), Verdict::Go);
        gate.begun();
        let (first, second) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        gate.join_line(first.clone());
        gate.join_line(second.clone());
        let mut woken = Vec::new();
        gate.grant(1, &mut woken);
        assert!(woken.is_empty());
        assert_eq!(gate.admit(Entry::New, 0), Verdict::Full);
        gate.grant(0, &mut woken);
        assert!(woken.len() == 1 && Arc::ptr_eq(&woken[0], &first));
        assert_eq!(gate.admit(Entry::New, 0), Verdict::Full);
        assert_eq!(gate.admit(Entry::Granted, 0), Verdict::Go);
        assert!(!gate.leave_line(&second));
        assert!(!gate.has_line());
    }
}
