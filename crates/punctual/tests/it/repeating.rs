//! Schedules that run: `STPE-..`, `REA-11`, `REA-12`, and what the policies say.
//!
//! Time is a manual clock that begins at a whole minute; runs are noted in seconds since then.

/// Hooks, decorators, names, and bodies that hold their pool: STPE-24, HOOK-07.
mod around;
/// The snapshot never contradicts itself, whatever happens.
mod counting;
/// Shutdown, stop, the last owner: STPE-25 to STPE-31.
mod ending;
/// Runs that panic or return an error: STPE-16, REA-11.
mod failing;
/// What a handle can do: STPE-15, STPE-18, STPE-19.
mod handling;
/// Ticks that come due during a run, or could not start: STPE-05.
mod late;
/// Runs beside each other.
mod overlapping;
/// The kinds of schedules, their starts and ends.
mod planning;
/// Pausing, running now, rescheduling.
mod steering;
/// When the runs are: STPE-03 to STPE-07.
mod timing;

pub(crate) use crate::delaying::{NANO, Notes, SECOND, at, books, builder, pool, seconds};
use punctual::{Run, task};
use std::time::Duration;

/// A run: when it was due, when it began, what it makes up for.
pub(crate) type Noted = (u64, u64, u64);

/// As a schedule's body notes them.
pub(crate) fn noted(run: &Run) -> Noted {
    (seconds(run.scheduled), seconds(run.actual), run.missed)
}

/// A body that notes its runs.
pub(crate) fn noting(notes: &Notes<Noted>) -> impl FnMut(&Run) + Send + 'static + use<> {
    let notes = notes.clone();
    move |run| notes.add(noted(run))
}

/// A body that notes its runs and takes so many seconds.
pub(crate) fn taking(notes: &Notes<Noted>, seconds: u64) -> impl FnMut(&Run) + Send + 'static + use<> {
    let notes = notes.clone();
    move |run| {
        notes.add(noted(run));
        nap(seconds);
    }
}

/// A body that notes its runs, of which only the first takes time.
pub(crate) fn slow_at_first(notes: &Notes<Noted>, seconds: u64) -> impl FnMut(&Run) + Send + 'static + use<> {
    let (notes, mut first) = (notes.clone(), true);
    move |run| {
        notes.add(noted(run));
        if std::mem::take(&mut first) {
            nap(seconds);
        }
    }
}

/// Passes time inside a task; a stop ends it early.
pub(crate) fn nap(seconds: u64) {
    task::sleep(Duration::from_secs(seconds)).unwrap_or(());
}

/// Runs that began when they were due.
pub(crate) fn prompt(times: impl IntoIterator<Item = u64>) -> Vec<Noted> {
    times.into_iter().map(|time| (time, time, 0)).collect()
}
