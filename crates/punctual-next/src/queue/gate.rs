//! Acceptance: whether a task may come in, and whether a thread is to be started for it.
//!
//! Plain numbers under the tail lock of the queue. That lock is the one point in time at which a pool is open or closed, full or
//! not, and has so many threads; a closed gate never opens again. Pure arithmetic: it calls nothing.

/// Why a task comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A new task: refused when the pool is full or closed.
    New,
    /// A new task for which a thread was started before: refused when the pool is full or closed.
    Started,
}

/// What the gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Verdict {
    Go,
    /// The task is in; a place among the threads is reserved, and the caller starts one.
    GoAndStart,
    /// No thread is there: a place is reserved, the caller starts one and comes again.
    StartFirst,
    Full,
    Closed,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) is_closed: bool,
    pub(crate) capacity: usize,
    /// Live threads and those that are being started.
    pub(crate) threads: usize,
    pub(crate) core: usize,
}

impl Gate {
    pub(crate) fn new(threads: usize, capacity: usize) -> Self {
        Gate {
            is_closed: false,
            capacity,
            threads: 0,
            core: threads,
        }
    }

    /// Asked with the number of tasks that wait.
    #[inline]
    pub(crate) fn admit(&mut self, entry: Entry, queued: usize) -> Verdict {
        if self.threads >= self.core {
            return match () {
                () if self.is_closed => Verdict::Closed,
                () if queued >= self.capacity => Verdict::Full,
                () => Verdict::Go,
            };
        }
        self.admit_short(entry, queued)
    }

    /// Fewer threads than the pool is meant to have.
    #[cold]
    fn admit_short(&mut self, entry: Entry, queued: usize) -> Verdict {
        if self.is_closed {
            return Verdict::Closed;
        }
        if self.threads == 0 {
            self.threads = 1;
            return Verdict::StartFirst;
        }
        if queued >= self.capacity {
            return Verdict::Full;
        }
        match entry {
            Entry::Started => Verdict::Go,
            Entry::New => {
                self.threads += 1;
                Verdict::GoAndStart
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Entry, Gate, Verdict};

    #[test]
    fn threads_are_started_up_to_the_core_size() {
        let mut gate = Gate::new(2, usize::MAX);
        assert_eq!(gate.admit(Entry::New, 0), Verdict::StartFirst);
        assert_eq!(gate.admit(Entry::Started, 0), Verdict::Go);
        assert_eq!(gate.admit(Entry::New, 1), Verdict::GoAndStart);
        assert_eq!(gate.admit(Entry::New, 2), Verdict::Go);
        assert_eq!(gate.threads, 2);
    }

    #[test]
    fn a_full_queue_and_a_closed_pool_refuse() {
        let mut gate = Gate::new(1, 1);
        assert_eq!(gate.admit(Entry::New, 0), Verdict::StartFirst);
        assert_eq!(gate.admit(Entry::Started, 0), Verdict::Go);
        assert_eq!(gate.admit(Entry::New, 1), Verdict::Full);
        gate.is_closed = true;
        assert_eq!(gate.admit(Entry::New, 0), Verdict::Closed);
    }
}
