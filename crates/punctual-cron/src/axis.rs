//! The two clocks a schedule goes by, as numbers: monotonic ticks, and instants of the wall clock.
//!
//! In: a [`SystemTime`], a span. Out: nanoseconds that can be ordered and subtracted. Saturates at the ends.

use std::time::{Duration, SystemTime};

/// Which of the two clocks a time belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// The monotonic clock: delays and fixed rates.
    Ticks,
    /// The wall clock: an instant, wherever that clock is set. Its numbers are those of [`wall_tick`].
    Wall,
}

/// Where 1970 lies on the axis of the wall clock: the axis reaches from 1823 to 2408, and instants beyond lie at its ends.
const EPOCH: u64 = 1 << 62;

/// An instant of the wall clock as nanoseconds, so that a timer queue can order it.
#[must_use]
pub fn wall_tick(when: SystemTime) -> u64 {
    let nanos = |part: Duration| u64::try_from(part.as_nanos()).unwrap_or(u64::MAX);
    match when.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => EPOCH.saturating_add(nanos(since)),
        Err(before) => EPOCH.saturating_sub(nanos(before.duration())),
    }
}

/// The instant of a number of [`wall_tick`].
#[cfg(feature = "cron")]
pub(crate) fn wall_time(at: u64) -> Option<SystemTime> {
    match at.checked_sub(EPOCH) {
        Some(since) => SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(since)),
        None => SystemTime::UNIX_EPOCH.checked_sub(Duration::from_nanos(EPOCH - at)),
    }
}

/// The tick `span` after `tick`; `None` = beyond the clock's horizon, that is never.
#[inline]
pub(crate) fn tick_after(tick: u64, span: Duration) -> Option<u64> {
    let span = u64::try_from(span.as_nanos()).ok()?;
    tick.checked_add(span)
}
