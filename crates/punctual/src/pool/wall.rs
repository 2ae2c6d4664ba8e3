//! The time on the wall for runs that go by ticks, without a reading for each.
//!
//! In: both clocks, read when something has come due. Out: the wall's time at a tick shortly after that. A run tells when it
//! began by the wall, and its plan does not depend on it; a crowd of them asks within a millisecond, and a reading costs as
//! much as a small task. Whoever comes later, or by a clock that is moved by hand, reads for himself.

use crate::sync::unmodelled::{AtomicU64, Relaxed};
use crate::time::{Clock, Now, Tick};
use std::time::{Duration, SystemTime};

/// For how long a reading will do.
const FRESH: Tick = 2_000_000;

/// See the module's header. Two words that need not fit: a newer difference is only better.
pub(super) struct Wall {
    /// When it was read last; the end of time: never.
    read: AtomicU64,
    /// What the wall was ahead of the ticks, in nanoseconds.
    ahead: AtomicU64,
}

impl Wall {
    pub(super) fn new() -> Self {
        Wall {
            read: AtomicU64::new(Tick::MAX),
            ahead: AtomicU64::new(0),
        }
    }

    /// Something has come due at `now`: others will ask.
    pub(super) fn read(&self, now: Tick, clock: &Clock) {
        if clock.is_manual() || self.is_fresh(now) {
            return;
        }
        let Now { tick, wall } = Now::by(clock);
        let wall = wall.duration_since(SystemTime::UNIX_EPOCH);
        let ahead = wall
            .ok()
            .and_then(|wall| Tick::try_from(wall.as_nanos()).ok()?.checked_sub(tick));
        if let Some(ahead) = ahead {
            self.ahead.store(ahead, Relaxed);
            self.read.store(tick, Relaxed);
        }
    }

    /// Both clocks at `tick`, which was read a moment ago; or now, if the wall has to be read: the two must be of one moment.
    pub(super) fn at(&self, tick: Tick, clock: &Clock) -> Now {
        if clock.is_manual() || !self.is_fresh(tick) {
            return Now::by(clock);
        }
        let nanos = tick.saturating_add(self.ahead.load(Relaxed));
        let wall = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
        Now { tick, wall }
    }

    fn is_fresh(&self, now: Tick) -> bool {
        now.checked_sub(self.read.load(Relaxed))
            .is_some_and(|age| age <= FRESH)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_reading_is_carried_on_and_an_old_one_is_not() {
        let (wall, clock) = (Wall::new(), Clock::system());
        wall.read(clock.tick(), &clock);
        let before = SystemTime::now();
        let now = wall.at(clock.tick(), &clock);
        let apart = now
            .wall
            .duration_since(before)
            .unwrap_or_else(|early| early.duration());
        // The two readings are made one after the other; a machine may be busy in between.
        assert!(apart < Duration::from_secs(10), "{apart:?}");
        // Not always: the thread may be held up for longer than a reading will do.
        wall.ahead.store(1, Relaxed);
        let is_carried_on = (0..10_000).any(|_| {
            wall.read.store(clock.tick(), Relaxed);
            let now = wall.at(clock.tick(), &clock);
            now.wall == SystemTime::UNIX_EPOCH + Duration::from_nanos(now.tick + 1)
        });
        assert!(is_carried_on);
        wall.read.store(clock.tick().saturating_sub(2 * FRESH), Relaxed);
        assert!(wall.at(clock.tick(), &clock).wall >= before);
    }

    #[test]
    fn a_clock_that_is_moved_by_hand_is_always_read() {
        let (wall, by_hand) = (Wall::new(), Clock::manual());
        let clock = Clock::from(&by_hand);
        wall.read(clock.tick(), &clock);
        by_hand.jump_wall(clock.now() + Duration::from_secs(5));
        assert_eq!(wall.at(clock.tick(), &clock).wall, clock.now());
    }
}
