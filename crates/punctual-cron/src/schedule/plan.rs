//! [`Plan`]: where a running schedule stands: which tick is next, which were missed, which skipped.
//!
//! In: the schedule and the moments at which its runs begin and end. Out: when the next run is due, and the counts. Pure:
//! the caller reads the clocks. A *tick* is a time at which the schedule wants to run; those of a fixed rate lie on the
//! monotonic clock, those of a calendar on the wall ([`Axis`]). Fixed rates and cron have a *grid*: their ticks are known
//! beforehand, whatever the runs do; the others know their next tick when a run has ended.
//!
//! `passed` is the last tick that has been dealt with: by a run, by being left out, or by being *owed*, that is noted to
//! be made up for. What lies between it and now has come due. Ticks that came due during a run are the [`Overlap`]
//! policy's: they are dealt with when the run ends. Those that came due before a late run began are the [`Missed`]
//! policy's, and dealt with when it begins. Owed ticks come before others, and are never taken for missed ones.

#[cfg(test)]
mod tests;

use super::{Kind, LastRun, Missed, Overlap, Schedule, Start};
#[cfg(feature = "cron")]
use crate::axis::wall_time;
use crate::axis::{Axis, tick_after, wall_tick};
use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock, in nanoseconds.
    pub tick: u64,
    /// The wall clock.
    pub wall: SystemTime,
}

/// When a run is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// By which clock.
    pub axis: Axis,
    /// The tick of that clock.
    pub at: u64,
}

/// Where a running schedule stands. The engine tells it when runs begin and end, and asks when the next one is due.
///
/// ```
/// use punctual_cron::Schedule;
/// use punctual_cron::engine::{Axis, Due, Now, Plan};
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let schedule: Schedule = Schedule::every(Duration::from_nanos(10));
/// let at = |tick| Now { tick, wall: UNIX_EPOCH + Duration::from_nanos(tick) };
/// let mut plan = Plan::new(&schedule, &at(100));
/// assert_eq!(plan.next(), Some(Due { axis: Axis::Ticks, at: 100 }));
///
/// // Its first run begins 25 ns late: the ticks at 110 and 120 have come due, and this run makes up for them.
/// let begun = plan.begin(&schedule, &at(125), Duration::ZERO);
/// assert_eq!((begun.runs, begun.missed), (true, 2));
/// plan.end(&schedule, &Default::default(), &at(127), Duration::ZERO, None);
/// assert_eq!(plan.next(), Some(Due { axis: Axis::Ticks, at: 130 }));
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    next: Option<Due>,
    passed: Option<u64>,
    owed: VecDeque<Range>,
}

/// Ticks to be made up for: those of the grid after the first and up to the second, at least one.
#[derive(Debug, Clone, Copy)]
struct Range(u64, u64);

/// A backlog with more gaps than this is taken for one without the last ones.
const RANGES: usize = 1024;

/// What a run that is about to begin is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// False: its time has passed and it is left out.
    pub runs: bool,
    /// How many further ticks had come due before it, and are made up for by this run; of a run that is left out, itself too.
    pub missed: u64,
    /// When it was due.
    pub scheduled: SystemTime,
}

/// Ticks are counted one by one where they do not lie at equal distances; more than these have "at least" as many.
const COUNTED: u64 = 1_000_000;

impl Now {
    fn on(&self, axis: Axis) -> u64 {
        match axis {
            Axis::Ticks => self.tick,
            Axis::Wall => wall_tick(self.wall),
        }
    }

    /// The time on the wall at a tick of either clock, as the wall stands now.
    #[must_use]
    pub fn wall_at(&self, due: Due) -> SystemTime {
        let now = self.on(due.axis);
        let shifted = match now.checked_sub(due.at) {
            Some(past) => self.wall.checked_sub(Duration::from_nanos(past)),
            None => self.wall.checked_add(Duration::from_nanos(due.at - now)),
        };
        shifted.unwrap_or(self.wall)
    }
}

impl<R> Schedule<R> {
    /// The clock its ticks lie on.
    pub(super) fn axis(&self) -> Axis {
        match self.kind {
            Kind::Every(_) | Kind::Delay(_) => Axis::Ticks,
            _ => Axis::Wall,
        }
    }

    /// The tick of the grid after `tick`; `None` also where there is no grid.
    fn grid_after(&self, tick: u64) -> Option<u64> {
        match &self.kind {
            Kind::Every(period) => tick_after(tick, *period),
            #[cfg(feature = "cron")]
            Kind::Cron(cron) => Some(wall_tick(cron.next(wall_time(tick)?)?)),
            _ => None,
        }
    }

    /// How many ticks of the grid lie after `from` and not after `to`, and the last of them, or `from`.
    fn grid_between(&self, from: u64, to: u64) -> (u64, u64) {
        if let Kind::Every(period) = self.kind {
            let Ok(period) = u64::try_from(period.as_nanos()) else {
                return (0, from);
            };
            let count = to.saturating_sub(from) / period.max(1);
            return (count, from + count * period);
        }
        let mut last = from;
        for count in 0..COUNTED {
            match self.grid_after(last) {
                Some(tick) if tick <= to => last = tick,
                _ => return (count, last),
            }
        }
        (COUNTED, to)
    }

    /// Whether the tick after this one of the grid is still to come. False where that is not seen at a glance: the usual run of a
    /// fixed rate need not divide anything.
    fn is_before_the_tick_after(&self, tick: u64, now: &Now) -> bool {
        match self.kind {
            Kind::Every(period) => tick_after(tick, period).is_none_or(|next| now.tick < next),
            _ => false,
        }
    }

    fn has_grid(&self) -> bool {
        match self.kind {
            Kind::Every(_) => true,
            #[cfg(feature = "cron")]
            Kind::Cron(_) => true,
            _ => false,
        }
    }

    fn is_in_time(&self, due: Due, now: &Now) -> bool {
        self.until.is_none_or(|end| now.wall_at(due) <= end)
    }
}

impl Plan {
    /// A schedule that begins now.
    #[must_use]
    pub fn new<R>(schedule: &Schedule<R>, now: &Now) -> Self {
        let next = match (&schedule.kind, schedule.start) {
            (Kind::Every(_) | Kind::Delay(_), Start::Now) => Some(Due {
                axis: Axis::Ticks,
                at: now.tick,
            }),
            (Kind::Every(_) | Kind::Delay(_), Start::In(delay)) => {
                tick_after(now.tick, delay).map(|at| Due {
                    axis: Axis::Ticks,
                    at,
                })
            }
            // What is given as an instant goes by the wall until it has come.
            _ => schedule.first(now.wall).map(|first| Due {
                axis: Axis::Wall,
                at: wall_tick(first),
            }),
        };
        Plan {
            next: next.filter(|next| schedule.is_in_time(*next, now)),
            passed: None,
            owed: VecDeque::new(),
        }
    }

    /// When the next run is due; `None` while that depends on a run in progress, and after the last.
    #[must_use]
    pub fn next(&self) -> Option<Due> {
        self.next
    }

    /// A run for the next tick is about to begin, so much later than it would have because of its jitter.
    pub fn begin<R>(&mut self, schedule: &Schedule<R>, now: &Now, jitter: Duration) -> Begun {
        let axis = schedule.axis();
        let due = self.next.take().unwrap_or(Due {
            axis,
            at: now.on(axis),
        });
        let mut begun = Begun {
            runs: true,
            missed: 0,
            scheduled: now.wall_at(due),
        };
        if !schedule.has_grid() {
            return begun;
        }
        let is_new = due.axis == axis && self.passed.is_none_or(|passed| passed < due.at);
        if is_new && schedule.is_before_the_tick_after(due.at, now) {
            self.passed = Some(due.at);
            return begun;
        }
        let tick = rebase(due, axis, now);
        let present = back(now.on(axis), jitter);
        let is_owed = self.passed.is_some_and(|passed| tick <= passed);
        let passed = if is_owed {
            self.make_up(schedule, tick);
            self.passed.unwrap_or(tick)
        } else {
            tick
        };
        let (missed, last) = schedule.grid_between(passed, present);
        self.passed = Some(last);
        match schedule.missed {
            Missed::Burst => self.owe(Range(passed, last)),
            Missed::Skip if missed > 0 && !is_owed => {
                begun.runs = false;
                begun.missed = missed + 1;
            }
            Missed::Delay if missed > 0 && matches!(schedule.kind, Kind::Every(_)) => {
                begun.missed = missed;
                self.passed = Some(present);
            }
            _ => begun.missed = missed,
        }
        begun
    }

    /// Nothing has come due since the last tick that was dealt with.
    fn is_before_the_tick_after_the_last<R>(&self, schedule: &Schedule<R>, now: &Now) -> bool {
        self.passed
            .is_some_and(|passed| schedule.is_before_the_tick_after(passed, now))
    }

    /// Finds the tick after the one that began, for runs that may overlap or were left out.
    pub fn go_on<R>(&mut self, schedule: &Schedule<R>, now: &Now) {
        let after = self.owed.front().map(|range| range.0).or(self.passed);
        if let Some(after) = after {
            self.set_next(schedule, now, schedule.grid_after(after));
        }
    }

    /// A run has ended, so much later than it would have because of its jitter; `last` includes it. With a pause, nothing
    /// is due before it is over. Finds the next tick, and says how many were left out.
    pub fn end<R>(
        &mut self,
        schedule: &Schedule<R>,
        last: &LastRun,
        now: &Now,
        jitter: Duration,
        pause: Option<Duration>,
    ) -> u64 {
        let axis = schedule.axis();
        let resumed = pause.map(|pause| tick_after(now.on(axis), pause).unwrap_or(u64::MAX));
        if !schedule.has_grid() {
            let next = match &schedule.kind {
                Kind::Delay(delay) => tick_after(now.tick, *delay),
                _ => schedule.next(last, now.wall).map(wall_tick),
            };
            let next = next.map(|next| next.max(resumed.unwrap_or(0)));
            self.set_next(schedule, now, next);
            return 0;
        }
        let skipped = match resumed {
            None if self.is_before_the_tick_after_the_last(schedule, now) => 0,
            Some(resumed) => self.forgive(schedule) + self.skip_to(schedule, now, resumed.saturating_sub(1)),
            None => self.overlapped(schedule, now, jitter),
        };
        self.go_on(schedule, now);
        skipped
    }

    /// A run beside the plan has ended. What came due meanwhile is treated as during any other run.
    pub fn end_beside<R>(&mut self, schedule: &Schedule<R>, now: &Now) -> u64 {
        let Some(next) = self.next else {
            return self.look_past(schedule, now, Duration::ZERO);
        };
        if let Kind::Delay(delay) = &schedule.kind {
            self.set_next(schedule, now, tick_after(now.tick, *delay));
            return 0;
        }
        let tick = rebase(next, schedule.axis(), now);
        let is_owed = self.passed.is_some_and(|passed| tick <= passed);
        if !schedule.has_grid() || next.at > now.on(next.axis) || is_owed {
            return 0;
        }
        // It has come due, and was not dealt with yet.
        self.passed = Some(tick);
        let skipped = self.overlapped(schedule, now, Duration::ZERO);
        match schedule.overlap {
            Overlap::Skip => {
                self.go_on(schedule, now);
                skipped + 1
            }
            // It runs next, and then those that are owed.
            Overlap::Queue => 0,
        }
    }

    /// As [`Plan::end`] would, for a look while a run is in progress: ticks that came due meanwhile are passed over if
    /// they will be. Says how many. Nothing happens where the next tick depends on the run's end.
    pub fn look_past<R>(&mut self, schedule: &Schedule<R>, now: &Now, jitter: Duration) -> u64 {
        if !schedule.has_grid() || self.next.is_some() || self.passed.is_none() {
            return 0;
        }
        let skipped = self.overlapped(schedule, now, jitter);
        self.go_on(schedule, now);
        skipped
    }

    /// After a pause by its owner: what came due meanwhile is forgotten.
    pub fn resume<R>(&mut self, schedule: &Schedule<R>, now: &Now) {
        let Some(next) = self.next.filter(|next| next.at <= now.on(next.axis)) else {
            return;
        };
        if let Kind::Delay(delay) = &schedule.kind {
            self.set_next(schedule, now, tick_after(now.tick, *delay));
        } else if schedule.has_grid() {
            self.owed.clear();
            self.passed = self.passed.max(Some(rebase(next, schedule.axis(), now)));
            self.skip_to(schedule, now, now.on(schedule.axis()));
            self.go_on(schedule, now);
        }
    }

    /// Deals with the ticks that came due during a run; says how many are left out.
    fn overlapped<R>(&mut self, schedule: &Schedule<R>, now: &Now, jitter: Duration) -> u64 {
        let present = back(now.on(schedule.axis()), jitter);
        let passed = self.passed.unwrap_or(present);
        match schedule.overlap {
            Overlap::Skip => self.skip_to(schedule, now, present),
            Overlap::Queue => {
                let (_, last) = schedule.grid_between(passed, present);
                self.passed = Some(last);
                self.owe(Range(passed, last));
                0
            }
        }
    }

    fn skip_to<R>(&mut self, schedule: &Schedule<R>, now: &Now, to: u64) -> u64 {
        let passed = self.passed.unwrap_or_else(|| now.on(schedule.axis()));
        let (skipped, last) = schedule.grid_between(passed, to);
        self.passed = Some(last);
        skipped
    }

    /// Notes ticks that are to be made up for.
    fn owe(&mut self, range: Range) {
        if range.0 == range.1 {
            return;
        }
        let is_full = self.owed.len() == RANGES;
        match self.owed.back_mut() {
            Some(last) if last.1 == range.0 || is_full => last.1 = range.1,
            _ => self.owed.push_back(range),
        }
    }

    /// One of those begins.
    fn make_up<R>(&mut self, schedule: &Schedule<R>, tick: u64) {
        let Some(first) = self.owed.front_mut() else {
            return;
        };
        first.0 = tick;
        if schedule.grid_after(tick).is_none_or(|next| next > first.1) {
            self.owed.pop_front();
        }
    }

    /// They are not made up for; says how many they were.
    fn forgive<R>(&mut self, schedule: &Schedule<R>) -> u64 {
        let owed = std::mem::take(&mut self.owed);
        owed.iter()
            .map(|range| schedule.grid_between(range.0, range.1).0)
            .sum()
    }

    fn set_next<R>(&mut self, schedule: &Schedule<R>, now: &Now, at: Option<u64>) {
        let axis = schedule.axis();
        self.next = at
            .map(|at| Due { axis, at })
            .filter(|due| schedule.is_in_time(*due, now));
    }
}

/// The tick on the schedule's own clock: a start that was given as an instant is the first of a fixed rate's grid.
fn rebase(due: Due, axis: Axis, now: &Now) -> u64 {
    if due.axis == axis {
        return due.at;
    }
    let late = now.on(due.axis).saturating_sub(due.at);
    now.on(axis).saturating_sub(late)
}

fn back(at: u64, jitter: Duration) -> u64 {
    at.saturating_sub(jitter.as_nanos() as u64)
}
