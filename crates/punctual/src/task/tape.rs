//! What a worker notes of the tasks it runs, where the pool records.
//!
//! In: a task that begins, and how its body ended. Out: one record for each, written before the end is counted or told: who
//! has joined a task, or waited until the pool was idle, finds it recorded. Not here: where records go
//! ([`flight`](crate::observe::flight)).

use crate::observe::Ending;
use crate::observe::flight::{Recording, Subject};
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use crate::time::{Clock, Tick};
use std::cell::Cell;

/// See the module's header.
pub(crate) struct Tape<'a> {
    recording: &'a Recording,
    clock: &'a Clock,
    worker: usize,
    /// When the task that it is at began; 0 if there is none.
    began: &'a AtomicU64,
    current: Cell<Option<(Subject, Tick)>>,
    /// When the last one ended, if the worker has not rested since.
    ended: Cell<Option<Tick>>,
}

impl<'a> Tape<'a> {
    /// Of the worker of this number, which shows there since when it has been at a task.
    pub(crate) fn new(
        recording: &'a Recording,
        clock: &'a Clock,
        worker: usize,
        began: &'a AtomicU64,
    ) -> Self {
        Tape {
            recording,
            clock,
            worker,
            began,
            current: Cell::new(None),
            ended: Cell::new(None),
        }
    }

    /// The present, for a task that is about to begin: one reading for the end of a run and the beginning of the next.
    pub(crate) fn now(&self) -> Tick {
        self.ended.take().unwrap_or_else(|| self.clock.tick())
    }

    /// The worker is about to wait.
    pub(crate) fn rest(&self) {
        self.ended.set(None);
    }

    pub(crate) fn begin(&self, subject: Subject, at: Tick) {
        self.began.store(at, Relaxed);
        self.current.set(Some((subject, at)));
    }

    /// The body has ended, or its poll.
    pub(crate) fn end(&self, ending: Ending) {
        let Some((subject, began)) = self.current.take() else {
            return;
        };
        let now = self.clock.tick();
        self.recording.ran(self.worker, subject, began, now, ending);
        self.began.store(0, Relaxed);
        self.ended.set(Some(now));
    }
}
