//! [`Clock`]: monotonic ticks for the engine, wall-clock readings for people.
//!
//! In: nothing, or a [`ManualClock`]. Out: ticks (nanoseconds since the clock's birth, never backwards) and
//! [`SystemTime`]. Ticks saturate: five hundred and eighty-four years after its birth a clock stands still.

use super::manual::{Manual, ManualClock};
use crate::sync::Arc;
use punctual_cron::engine::{Axis, Now, wall_tick};
use punctual_timer::Tick;
use std::fmt;
use std::time::{Duration, SystemTime};

/// When a wait of `limit` that begins at `now` ends; `None` = beyond the clock's horizon, that is never.
pub(crate) fn deadline_after(now: Tick, limit: Duration) -> Option<Tick> {
    let limit = u64::try_from(limit.as_nanos()).ok()?;
    now.checked_add(limit)
}

/// Where a pool's time comes from: the system's clocks, or one that a test moves by hand.
///
/// ```
/// use punctual::{Clock, Pool};
/// use std::time::Duration;
///
/// let clock = Clock::manual();
/// let pool = Pool::builder("tests").core_threads(1).clock(&clock).build()?;
/// let task = pool.submit(|| punctual::task::sleep(Duration::from_secs(3600)))?;
/// clock.advance(Duration::from_secs(3600)); // an hour passes at once
/// assert!(task.join()?.is_ok());
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Clock {
    pub(super) kind: Kind,
}

#[derive(Clone)]
pub(super) enum Kind {
    System,
    Manual(Arc<Manual>),
}

impl Clock {
    /// The system's monotonic clock for delays, its wall clock for dates. The default of every pool.
    #[must_use]
    pub fn system() -> Clock {
        Clock { kind: Kind::System }
    }

    /// A clock that stands still until [`ManualClock::advance`] moves it, beginning at the system's present time.
    #[must_use]
    pub fn manual() -> ManualClock {
        Clock::manual_at(SystemTime::now())
    }

    /// A manual clock that begins at `start`.
    #[must_use]
    pub fn manual_at(start: SystemTime) -> ManualClock {
        ManualClock::starting(start)
    }

    /// The time on this clock's wall.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        match &self.kind {
            Kind::System => SystemTime::now(),
            Kind::Manual(manual) => manual.wall(),
        }
    }

    /// The monotonic reading.
    #[inline]
    pub(crate) fn tick(&self) -> Tick {
        match &self.kind {
            Kind::System => system_tick(),
            Kind::Manual(manual) => manual.tick(),
        }
    }

    /// [`Clock::tick`] of some milliseconds ago at most, where that is cheaper to have: for what is shown, or compared with
    /// times that are much longer.
    #[inline]
    pub(crate) fn rough_tick(&self) -> Tick {
        match &self.kind {
            Kind::System => rough_system_tick(),
            Kind::Manual(manual) => manual.tick(),
        }
    }

    /// The reading of either clock; the wall's as [`wall_tick`] has it.
    pub(crate) fn on(&self, axis: Axis) -> Tick {
        match axis {
            Axis::Ticks => self.tick(),
            Axis::Wall => wall_tick(self.now()),
        }
    }

    /// Both clocks at one moment. The wall first: a thread that is held up between the two readings is late by as much. The
    /// other way round it would be early, and with it every tick of a grid that begins here.
    pub(crate) fn both(&self) -> Now {
        let wall = self.now();
        let tick = self.tick();
        Now { tick, wall }
    }

    pub(crate) fn is_manual(&self) -> bool {
        matches!(self.kind, Kind::Manual(_))
    }
}

/// The real monotonic clock, whatever the pool's clock is: for bounding spins, which are no part of anybody's time.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(super) fn system_tick() -> Tick {
    use std::sync::OnceLock;
    use std::time::Instant;
    // Directly where that is known: the standard library's difference of two readings takes four times as long.
    if let Some(now) = crate::sync::monotonic() {
        return now + 1;
    }
    static BIRTH: OnceLock<Instant> = OnceLock::new();
    let birth = BIRTH.get_or_init(Instant::now);
    // Five hundred years of nanoseconds fit. Never 0, which means "not noted" where arrivals are kept.
    birth.elapsed().as_nanos() as Tick + 1
}

/// As [`system_tick`], of the last tick of the system's own.
#[cfg(not(any(loom, shuttle)))]
#[inline]
fn rough_system_tick() -> Tick {
    crate::sync::rough_monotonic().map_or_else(system_tick, |now| now + 1)
}

#[cfg(any(loom, shuttle))]
fn rough_system_tick() -> Tick {
    system_tick()
}

/// The models have no time of their own.
#[cfg(any(loom, shuttle))]
pub(super) fn system_tick() -> Tick {
    0
}

impl Default for Clock {
    fn default() -> Self {
        Clock::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::System => f.write_str("Clock(system)"),
            Kind::Manual(manual) => write!(f, "Clock(manual, +{:?})", manual.passed()),
        }
    }
}
