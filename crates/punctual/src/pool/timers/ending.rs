//! How delayed work ends with its pool: dropped, run, or given back.
//!
//! In: a pool that is shut down or stopped, and its policies. Out: the stores empty of what will not run. What is due by
//! then is no longer delayed, whether somebody has looked or not.

use super::{Counts, Due, Timers};
use crate::handle::Unrun;
use crate::pool::engine::Engine;
use crate::pool::watch::patience_of;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::task::block::Entry;
use crate::task::home::Home;
use crate::task::record::Slot;
use crate::task::state::{Claim, End};
use crate::task::{Class, Outcome, TaskInfo};
use crate::time::Axis;

/// What happens to delayed or repeating work when its pool is shut down.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtShutdown {
    /// It is cancelled, and counted in the report. The default.
    #[default]
    Drop,
    /// The pool stays until it has run: a delayed task once, a schedule until it ends or is cancelled.
    Run,
}

/// How far the end has come, and what it does.
pub(super) struct Closing {
    pub(super) is_closed: bool,
    is_stopped: bool,
    delayed: AtShutdown,
    repeating: AtShutdown,
}

impl Closing {
    pub(super) fn new(delayed: AtShutdown, repeating: AtShutdown) -> Self {
        Closing {
            is_closed: false,
            is_stopped: false,
            delayed,
            repeating,
        }
    }

    /// Whether a task of this class may still be given a time.
    pub(super) fn is_open_for(&self, class: Class) -> bool {
        let goes_on = class.is_repeated() && self.repeating == AtShutdown::Run;
        !self.is_closed || (goes_on && !self.is_stopped)
    }
}

impl Timers {
    /// What happens at the end to delayed tasks, and to schedules.
    pub(in crate::pool) fn at_shutdown(&self) -> (AtShutdown, AtShutdown) {
        let book = self.book.lock();
        (book.closing.delayed, book.closing.repeating)
    }

    pub(in crate::pool) fn set_at_shutdown(&self, delayed: AtShutdown, repeating: AtShutdown) {
        let mut book = self.book.lock();
        book.closing.delayed = delayed;
        book.closing.repeating = repeating;
    }
}

impl Engine {
    /// No delayed task is accepted any more, and those there are are dropped if that is the policy.
    pub(in crate::pool) fn close_timers(&self) {
        let (drops_delayed, drops_repeating) = {
            let book = self.timers.book.lock();
            let closing = &book.closing;
            (
                closing.delayed == AtShutdown::Drop,
                closing.repeating == AtShutdown::Drop,
            )
        };
        if drops_repeating {
            self.drop_repeating();
        }
        if drops_delayed {
            self.drop_delayed();
        }
    }

    pub(in crate::pool) fn set_delayed_at_shutdown(&self, policy: AtShutdown) {
        if self.is_forked() {
            return;
        }
        let is_closed = {
            let mut book = self.timers.book.lock();
            book.closing.delayed = policy;
            book.closing.is_closed
        };
        if is_closed && policy == AtShutdown::Drop {
            self.drop_delayed();
        }
    }

    pub(in crate::pool) fn set_repeating_at_shutdown(&self, policy: AtShutdown) {
        if self.is_forked() {
            return;
        }
        let is_closed = {
            let mut book = self.timers.book.lock();
            book.closing.repeating = policy;
            book.closing.is_closed
        };
        if is_closed && policy == AtShutdown::Drop {
            self.drop_repeating();
        }
    }

    /// How many delayed tasks a shutdown has dropped.
    pub(in crate::pool) fn dropped_delayed(&self) -> usize {
        self.dropped_delayed.load(Acquire)
    }

    /// How many schedules a shutdown has ended.
    pub(in crate::pool) fn dropped_repeating(&self) -> usize {
        self.dropped_repeating.load(Acquire)
    }

    /// Cancels every delayed task whose time has not come.
    pub(in crate::pool) fn drop_delayed(&self) {
        // What is due by now is no longer delayed, whether somebody has looked or not.
        self.fire_all();
        let entries = self.take_delayed(|counts| &mut counts.cancelled, &self.dropped_delayed);
        self.uncover(entries.len());
        for entry in entries {
            let told: &dyn Fn(&TaskInfo<'_>) = &|task| self.tell_removed(task, Outcome::Cancelled);
            let told = self.is_told_of_ends().then_some(told);
            Slot::holding(entry.header().class, entry).end_unrun(End::Cancelled, told);
        }
        self.task_removed();
    }

    /// Takes every delayed task out that nobody else has claimed, and counts it, twice. Runs of schedules stay.
    fn take_delayed(&self, count: impl Fn(&mut Counts) -> &mut u64, also: &AtomicUsize) -> Vec<Entry> {
        let mut book = self.timers.book.lock();
        let mut taken = Vec::new();
        for axis in [Axis::Ticks, Axis::Wall] {
            for timer in book.store(axis).drain() {
                let header = timer.header();
                let is_mine = header.is_some_and(|header| {
                    // A lost claim: a canceller is on its way, and takes it out itself.
                    header.class.is_delayed() && header.state.claim_to_remove() == Claim::Won
                });
                if is_mine && let Due::Task(entry) = timer.open() {
                    entry.header().state.mark_due();
                    if patience_of(entry.header()).is_some() {
                        book.watch.expiring -= 1;
                    }
                    *count(&mut book.counts) += 1;
                    // Before they are gone: a pool that ends then has them in its report.
                    also.fetch_add(1, AcqRel);
                    self.timers.left(1);
                    self.timers.mirror(&book);
                    taken.push(entry);
                } else {
                    book.store(axis).insert(timer);
                }
            }
        }
        taken
    }

    /// Gives the delayed tasks back, for a pool that stops.
    pub(in crate::pool) fn return_delayed(&self) -> Vec<Unrun> {
        self.fire_all();
        {
            let mut book = self.timers.book.lock();
            book.closing.is_stopped = true;
        }
        self.drop_repeating();
        let entries = self.take_delayed(|counts| &mut counts.returned, &AtomicUsize::new(0));
        self.uncover(entries.len());
        entries
            .into_iter()
            .map(|entry| self.taken_out(Unrun::entry(entry)))
            .collect()
    }
}
