//! The time, to a part of a step.
//!
//! In: a clock, and how exact a reading must be. Out: the same reading again for as long as the processor's count says that it
//! is fresh enough, which takes a fraction of the time that a reading takes; then a new one. Where that count is not to be
//! trusted, or the clock is a manual one, every reading is new.
//!
//! How fast the count goes is learned from the readings. Between two of them it has grown by at least the difference of what
//! it was *before* the later and *after* the earlier, however long the thread was held up there: so the largest such quotient
//! is still no more than the truth, and a reading is never used for too long.

use crate::sync::{are_cycles_trusted, cycles};
use crate::time::{Clock, Tick};
use std::time::Duration;

/// A reading is used for such a part of a step.
const PARTS: u64 = 128;

/// So many readings are learned from.
const LESSONS: u32 = 64;

/// Readings that are further apart teach nothing: their quotient might not fit.
const FAR: Tick = 1 << 30;

/// The count as somebody came, if it was read then: 0 says that it was not. Who is held up after that, before he has the lock, goes by
/// a time that is past: in his own choice, of one task.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Came {
    count: u64,
    was_asked: bool,
}

impl Came {
    #[inline(always)]
    pub(crate) fn now() -> Self {
        Came {
            count: cycles(),
            was_asked: false,
        }
    }

    /// Of one who was held up since.
    #[inline]
    pub(super) fn again(self) -> Self {
        if self.count == 0 { self } else { Came::now() }
    }

    /// What was read, or the count of this moment.
    #[inline(always)]
    pub(super) fn count(self) -> u64 {
        if self.count == 0 { cycles() } else { self.count }
    }

    /// The same, noted for [`Came::was_asked`].
    #[inline(always)]
    pub(super) fn asked(&mut self) -> u64 {
        self.was_asked = true;
        self.count()
    }

    #[inline(always)]
    pub(super) fn was_asked(self) -> bool {
        self.was_asked
    }
}

/// The last reading.
#[derive(Debug)]
pub(super) struct Recent {
    at: Tick,
    /// The count before that reading.
    read_at: u64,
    /// For how many of them it is used.
    grain: u64,
    /// How old it may be then, at most; 0: each reading is new.
    part: Tick,
    /// By the system's last tick, some milliseconds ago at most, where each reading is new.
    is_rough: bool,
    lessons: u32,
    /// The count after the last reading that is learned from, and what was read.
    after: (u64, Tick),
    /// How much it grows in 2^20 nanoseconds, at least.
    rate: u64,
}

impl Recent {
    /// Readings that are at most a 128th of a step old.
    pub(super) fn new(step: Duration, clock: &Clock) -> Self {
        let is_trusted = are_cycles_trusted() && !clock.is_manual();
        Recent::of(if is_trusted { step } else { Duration::ZERO })
    }

    fn of(step: Duration) -> Self {
        let part = step.as_nanos() / u128::from(PARTS);
        Recent {
            at: 0,
            read_at: 0,
            grain: 0,
            part: Tick::try_from(part).unwrap_or(Tick::MAX),
            is_rough: false,
            lessons: 0,
            after: (0, 0),
            rate: 0,
        }
    }

    /// The same; but where each reading would be new, and `is_enough`, by the system's last tick.
    pub(super) fn or_rough(mut self, is_enough: bool) -> Self {
        self.is_rough = is_enough && self.part == 0;
        self
    }

    /// The time, or what it was a moment ago. Never less than before.
    #[inline(always)]
    pub(super) fn tick(&mut self, clock: &Clock) -> Tick {
        self.tick_at(cycles(), clock)
    }

    /// As [`Recent::tick`], by the count of a moment ago: whoever comes for a lock reads it before, not while others wait.
    #[inline(always)]
    pub(super) fn tick_at(&mut self, count: u64, clock: &Clock) -> Tick {
        if !self.is_fresh(count) {
            self.read(count, clock);
        }
        self.at
    }

    /// A time that is not earlier than the present, or than that count, and at most a 128th of a step later.
    #[inline]
    pub(super) fn tick_ahead(&mut self, count: u64, clock: &Clock) -> Tick {
        self.tick_at(count, clock).saturating_add(self.part)
    }

    #[inline(always)]
    fn is_fresh(&self, count: u64) -> bool {
        // One that has gone back, whatever that may mean, is far ahead this way.
        count.wrapping_sub(self.read_at) < self.grain
    }

    #[inline(never)]
    fn read(&mut self, count: u64, clock: &Clock) {
        let now = if self.is_rough {
            clock.rough_tick()
        } else {
            clock.tick()
        };
        // The count from before the reading: a thread that was held up between the two made it older, not younger.
        self.read_at = count;
        self.at = self.at.max(now);
        if self.lessons < LESSONS && self.part > 0 {
            self.learn(count, now, cycles());
        }
    }

    /// Of a reading of `now` between these two counts.
    #[cold]
    fn learn(&mut self, before: u64, now: Tick, after: u64) {
        let (earlier, then) = std::mem::replace(&mut self.after, (after, now));
        let (grown, passed) = (before.saturating_sub(earlier), now.saturating_sub(then));
        if earlier == 0 || passed == 0 || passed > FAR || grown > 1 << 40 {
            return;
        }
        self.lessons += 1;
        self.rate = self.rate.max((grown << 20) / passed);
        let grain = (u128::from(self.part) * u128::from(self.rate)) >> 20;
        self.grain = u64::try_from(grain).unwrap_or(u64::MAX);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A reading may be a microsecond old.
    const STEP: Duration = Duration::from_micros(128);

    impl Recent {
        fn read_as(&mut self, count: u64, now: Tick) -> Tick {
            if !self.is_fresh(count) {
                let clock = crate::Clock::manual();
                clock.advance(Duration::from_nanos(now - Clock::from(&clock).tick()));
                self.read(count, &Clock::from(&clock));
                // What the machine's own count said there was no part of this.
                self.after = (0, 0);
            }
            self.at
        }
    }

    fn fast() -> Recent {
        let mut recent = Recent::of(STEP);
        // Three in a nanosecond, both times held up for a while.
        recent.learn(1_000, 10_000, 4_000);
        recent.learn(304_000, 110_100, 310_000);
        recent
    }

    #[test]
    fn the_count_is_learned_and_never_taken_for_faster_than_it_is() {
        let recent = fast();
        assert!(
            recent.rate <= 3 << 20 && recent.rate > (3 << 20) * 99 / 100,
            "{recent:?}"
        );
        assert!((2_970..=3_000).contains(&recent.grain), "{recent:?}");
        let mut slower = fast();
        slower.learn(310_300, 210_100, 310_400);
        assert_eq!(
            slower.grain, recent.grain,
            "a thread that was held up teaches nothing new"
        );
    }

    #[test]
    fn a_reading_is_used_for_a_part_of_a_step_and_not_longer() {
        let mut recent = fast();
        let grain = recent.grain;
        assert_eq!(recent.read_as(500_000, 70), 70);
        assert_eq!(recent.read_as(500_000 + grain - 1, 71), 70);
        assert_eq!(recent.read_as(500_000 + grain, 72), 72);
        assert_eq!(recent.read_as(500_000 + 2 * grain - 1, 73), 72);
    }

    #[test]
    fn a_count_that_goes_back_is_not_trusted_and_the_time_does_not_go_back() {
        let mut recent = fast();
        assert_eq!(recent.read_as(500_000, 70), 70);
        assert_eq!(recent.read_as(499_999, 75), 75);
        assert_eq!(recent.read_as(900_000, 60), 75);
    }

    #[test]
    fn a_time_ahead_is_not_before_the_present_and_not_far_beyond_it() {
        let mut recent = fast();
        let (mut now, mut count) = (10_000, 500_000);
        for step in 0..10_000_u64 {
            now += step % 37;
            count += step % 37 * 3;
            let behind = recent.read_as(count, now);
            let ahead = behind + recent.part;
            assert!(behind <= now && now <= ahead, "{behind} {now} {ahead}");
            assert!(ahead - now <= 1_000, "{ahead} at {now}");
        }
    }

    #[test]
    fn on_a_manual_clock_and_with_the_shortest_steps_each_reading_is_new() {
        let manual = crate::Clock::manual();
        let clock = Clock::from(&manual);
        let short = Duration::from_nanos(127);
        for mut recent in [
            Recent::new(STEP, &clock),
            Recent::of(short),
            Recent::of(short).or_rough(true),
        ] {
            for _ in 0..3 {
                let now = clock.tick();
                assert_eq!(recent.tick(&clock), now);
                assert_eq!(recent.tick_ahead(cycles(), &clock), now);
                manual.advance(Duration::from_nanos(1));
            }
        }
    }

    #[test]
    fn the_systems_time_is_told_to_a_part_of_a_step() {
        let clock = Clock::system();
        let step = Duration::from_millis(128);
        let mut recent = Recent::new(step, &clock);
        for _ in 0..20_000 {
            let before = clock.tick();
            let (behind, ahead) = (recent.tick(&clock), recent.tick_ahead(cycles(), &clock));
            let after = clock.tick();
            assert!(
                behind <= after && before <= ahead,
                "{before} {behind} {ahead} {after}"
            );
            assert!(before.saturating_sub(behind) <= 1_000_000, "{before} {behind}");
        }
    }

    #[test]
    fn a_step_beyond_all_time_is_no_trouble() {
        let mut recent = Recent::of(Duration::MAX);
        assert_eq!(recent.read_as(1_000, 5), 5);
        recent.learn(1_000, 10_000, 4_000);
        recent.learn(304_000, 110_000, 310_000);
        assert_eq!(recent.grain, u64::MAX);
        assert_eq!(recent.read_as(1 << 61, 6), 5);
    }
}
