//! The last tasks that were not accepted, and how the pool was at that moment.
//!
//! In: a refusal. Out: the last hundred of them, for whoever asks "why was it refused". Always on: a refusal is rare, or if it
//! is not, most of its kind within a millisecond are only counted, so that a storm of them costs each a look at the
//! clock. Not here: what a full pool answers ([`reject`](super::reject)).

use super::engine::Engine;
use crate::Reason;
use crate::observe::{RejectedTask, site_in_words};
use crate::sync::Lock;
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use crate::task::record::Slot;
use crate::task::{Class, Priority};
use crate::time::Tick;
use std::collections::VecDeque;
use std::time::Duration;

/// How many are kept.
const KEPT: usize = 100;

/// After one that was looked at closely, others are only counted for so long.
const CLOSELY: Duration = Duration::from_millis(1);

/// See the module's header.
#[derive(Debug)]
pub(super) struct Refusals {
    last: Lock<VecDeque<RejectedTask>>,
    /// Not looked at closely before this time, on the clock that is only roughly right.
    next: AtomicU64,
    /// Refused since the last that was.
    uncounted: AtomicU64,
}

impl Refusals {
    pub(super) fn new() -> Self {
        Refusals {
            last: Lock::new(VecDeque::new()),
            next: AtomicU64::new(0),
            uncounted: AtomicU64::new(0),
        }
    }

    pub(super) fn read(&self) -> Vec<RejectedTask> {
        let mut last: Vec<RejectedTask> = self.last.lock().iter().cloned().collect();
        // Those that came after the last one, and were only counted.
        if let Some(last) = last.last_mut() {
            last.like_it += self.uncounted.load(Relaxed);
        }
        last
    }

    /// Whether this one is looked at closely.
    fn is_looked_at(&self, now: Tick) -> bool {
        let next = self.next.load(Relaxed);
        let then = now + CLOSELY.as_nanos() as Tick;
        let is_first = now >= next && self.next.compare_exchange(next, then, Relaxed, Relaxed).is_ok();
        if !is_first {
            self.uncounted.fetch_add(1, Relaxed);
        }
        is_first
    }

    fn keep(&self, refused: RejectedTask) {
        let mut last = self.last.lock();
        let uncounted = self.uncounted.swap(0, Relaxed);
        if let Some(before) = last.back_mut() {
            before.like_it += uncounted;
        }
        if last.len() == KEPT {
            last.pop_front();
        }
        last.push_back(refused);
    }
}

impl Engine {
    /// A task goes back to its submitter, is dropped, or is run by it: keeps the facts.
    #[cold]
    pub(super) fn note_refusal(&self, class: Class, reason: &Reason, answer: &'static str, slot: &Slot) {
        if self.is_forked() {
            return;
        }
        let top = self.top();
        let now = self.clock.rough_tick();
        let is_looked_at = top.refusals.is_looked_at(now);
        if !is_looked_at && self.recording.is_none() {
            return;
        }
        let task = slot.info();
        let level = self.room.is_levelled().then(|| self.room.level_of(class));
        if let Some(recording) = &self.recording {
            let subject = recording.subject_of(&task, level);
            recording.rejected(subject, self.clock.tick());
        }
        // The recorder is told of each; here it has been counted already.
        if !is_looked_at {
            return;
        }
        let stats = top.stats();
        top.refusals.keep(RejectedTask {
            at: self.clock.now(),
            part: self.name.clone(),
            reason: reason.to_string(),
            answer,
            task: task.name.map(str::to_owned),
            type_name: task.type_name,
            site: slot
                .peek_entry()
                .and_then(|entry| entry.header().side()?.site)
                .map(site_in_words),
            priority: Priority::number(task.priority),
            level,
            queued: stats.queued,
            capacity: stats.capacity,
            threads: stats.threads,
            size: stats.size,
            active: stats.active,
            oldest_wait: stats.oldest_wait,
            like_it: 0,
        });
    }
}
