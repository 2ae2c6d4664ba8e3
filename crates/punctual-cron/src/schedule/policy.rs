//! What a schedule does about runs that overlap, come late, or fail.
//!
//! Plain values; [`plan`](super::plan) and the engine act on them.

use std::time::Duration;

/// What becomes of a tick that comes due while a run of the same schedule is still in progress.
///
/// ```
/// use punctual::{Clock, Overlap, Pool, Schedule, task};
/// use std::time::Duration;
///
/// let clock = Clock::manual();
/// let pool = Pool::builder("p").clock(&clock).build()?;
/// let every = Schedule::every(Duration::from_secs(10));
/// let skips = pool.schedule(every.clone(), |_| task::sleep(Duration::from_secs(25)).unwrap_or(()))?;
/// let queues = pool.schedule(every.overlap(Overlap::Queue), |_| task::sleep(Duration::from_secs(25)).unwrap_or(()))?;
/// clock.advance(Duration::from_secs(60));
/// // Begun at 0 s, 30 s and 60 s; at 0 s, 25 s and 50 s.
/// assert_eq!((skips.stats().runs, skips.stats().skipped), (3, 4));
/// assert_eq!((queues.stats().runs, queues.stats().skipped), (3, 0));
/// # skips.cancel();
/// # queues.cancel();
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It is left out, and counted as skipped. The default.
    #[default]
    Skip,
    /// It is made up for when the run has ended, one run per tick.
    Queue,
}

/// What becomes of ticks that came due while no run was in progress, but could not start: the pool was busy or paused, or
/// the machine was. A tick that is only late, with the next one still to come, always runs.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// One run makes up for all of them, then it goes on as planned. The default.
    #[default]
    Once,
    /// None of them runs; the next one is the next that comes due.
    Skip,
    /// One run, and the plan begins anew with it: the next tick is a whole period later. A calendar cannot be moved:
    /// there it is as [`Missed::Once`].
    Delay,
    /// Each of them runs, one after the other, until it has caught up.
    Burst,
}

/// What becomes of a schedule whose run failed: it panicked, or returned `Err`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// It goes on as if nothing had happened; the failure is counted and told. The default.
    #[default]
    Continue,
    /// It ends.
    Stop,
    /// It ends with the so-manieth failure in a row.
    StopAfter(u32),
    /// It pauses: for `first` after the first failure, twice as long after each further one in a row, up to `max`. Ticks
    /// that come due meanwhile are skipped. A pause never brings a run forward.
    Backoff {
        /// After the first failure.
        first: Duration,
        /// The longest pause.
        max: Duration,
    },
}

/// What a schedule makes of its latest failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as planned.
    GoOn,
    /// Not before this much after the run's end.
    Pause(Duration),
    /// It ends.
    End,
}

impl Verdict {
    /// What the policy says after so many failures in a row.
    #[must_use]
    pub fn after(failures: u32, policy: OnFailure) -> Self {
        match policy {
            _ if failures == 0 => Verdict::GoOn,
            OnFailure::Continue => Verdict::GoOn,
            OnFailure::Stop => Verdict::End,
            OnFailure::StopAfter(most) if failures >= most => Verdict::End,
            OnFailure::StopAfter(_) => Verdict::GoOn,
            OnFailure::Backoff { first, max } => {
                let times = 1_u32.checked_shl(failures - 1).unwrap_or(u32::MAX);
                Verdict::Pause(first.checked_mul(times).unwrap_or(max).min(max))
            }
        }
    }

    /// The pause, if there is one.
    #[must_use]
    pub fn pause(self) -> Option<Duration> {
        match self {
            Verdict::Pause(pause) => Some(pause),
            Verdict::GoOn | Verdict::End => None,
        }
    }
}
