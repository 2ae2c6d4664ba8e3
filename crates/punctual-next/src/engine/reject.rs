//! What a full pool answers: its policy, and how the answer is followed.
//!
//! A policy sees facts and never the closure; the submitter's thread follows the answer with no lock held. A pool that is shut down,
//! or that has no thread, gives the task back under every policy.

use super::Engine;
use crate::base::errors::Reason;
use crate::queue::gate::Entry;
use crate::sync::Arc;
use crate::sync::parker::Parker;
use crate::task::runnable::Runnable;
use crate::task::state::End;
use std::fmt;
use std::time::{Duration, Instant};

/// How often a submitter evicts for one task, while others take the room that it makes.
const EVICTIONS: usize = 64;

/// What happens to a task that a full pool cannot take.
#[non_exhaustive]
#[derive(Clone, Default)]
pub enum Reject {
    /// The closure comes back in the error. The default.
    #[default]
    Abort,
    /// The submitter's thread runs it.
    CallerRuns,
    /// It is dropped; its handle says [`is_rejected`](crate::JoinError::is_rejected).
    Discard,
    /// The oldest task that waits is dropped for it, and its handle says [`is_evicted`](crate::JoinError::is_evicted).
    DiscardOldest,
    /// The submitter waits for room, at most so long.
    Block(Duration),
    /// A rule decides.
    Custom(Arc<dyn Fn(&Refusal<'_>) -> Answer + Send + Sync>),
}

impl Reject {
    /// A rule that decides for each task.
    pub fn custom(rule: impl Fn(&Refusal<'_>) -> Answer + Send + Sync + 'static) -> Self {
        Reject::Custom(Arc::new(rule))
    }

    fn answer(&self, reason: &Reason) -> Answer {
        match self {
            Reject::Abort => Answer::Abort,
            Reject::CallerRuns => Answer::CallerRuns,
            Reject::Discard => Answer::Discard,
            Reject::DiscardOldest => Answer::DiscardOldest,
            Reject::Block(limit) => Answer::Wait(*limit),
            Reject::Custom(rule) => rule(&Refusal { reason }),
        }
    }
}

impl fmt::Debug for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reject::Abort => f.write_str("Abort"),
            Reject::CallerRuns => f.write_str("CallerRuns"),
            Reject::Discard => f.write_str("Discard"),
            Reject::DiscardOldest => f.write_str("DiscardOldest"),
            Reject::Block(limit) => f.debug_tuple("Block").field(limit).finish(),
            Reject::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// What a rule is told.
#[non_exhaustive]
#[derive(Debug)]
pub struct Refusal<'a> {
    /// Why the pool cannot take the task.
    pub reason: &'a Reason,
}

/// What a rule answers.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// As [`Reject::Abort`].
    Abort,
    /// As [`Reject::CallerRuns`].
    CallerRuns,
    /// As [`Reject::Discard`].
    Discard,
    /// As [`Reject::DiscardOldest`].
    DiscardOldest,
    /// As [`Reject::Block`].
    Wait(Duration),
}

impl Engine {
    /// A full pool: asks the policy once, and follows its answer.
    pub(super) fn follow_policy(
        self: &Arc<Self>,
        task: Runnable,
        reason: Reason,
    ) -> Result<(), (Runnable, Reason)> {
        let policy = self.lifecycle.reject();
        match policy.answer(&reason) {
            Answer::Abort => Err((task, reason)),
            Answer::CallerRuns => {
                self.counters.caller_ran.add_one();
                task.run(|_| ()).publish();
                Ok(())
            }
            Answer::Discard => {
                task.end(End::Rejected);
                Ok(())
            }
            Answer::DiscardOldest => self.evict_for(task, reason),
            Answer::Wait(limit) => self.wait_for_room(task, reason, limit),
        }
    }

    fn evict_for(self: &Arc<Self>, mut task: Runnable, reason: Reason) -> Result<(), (Runnable, Reason)> {
        for _ in 0..EVICTIONS {
            let Some(oldest) = self.queue.take_oldest() else {
                break;
            };
            oldest.end(End::Evicted);
            match self.enter(task, Entry::New) {
                Err((back, Reason::Full { .. })) => task = back,
                other => return other,
            }
        }
        Err((task, reason))
    }

    /// In line with the other submitters that wait. A grant that comes with the end of the limit is used.
    fn wait_for_room(
        self: &Arc<Self>,
        task: Runnable,
        reason: Reason,
        limit: Duration,
    ) -> Result<(), (Runnable, Reason)> {
        let parker = Arc::new(Parker::new());
        // Beyond what an `Instant` can hold there is no end.
        let end = Instant::now().checked_add(limit);
        self.queue.join_line(&parker);
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if parker.park(left) || self.queue.leave_line(&parker) {
            return self.enter(task, Entry::Granted);
        }
        Err((task, reason))
    }
}
