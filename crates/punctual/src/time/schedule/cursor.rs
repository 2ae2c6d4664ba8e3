//! Where a running schedule stands: which tick is next, which were missed, which skipped.
//!
//! In: the schedule and the moments at which its runs begin and end. Out: when the next run is due, and the counts. Pure:
//! the caller reads the clocks. A *tick* is a time at which the schedule wants to run; those of a fixed rate lie on the
//! monotonic clock, those of a calendar on the wall ([`Axis`]). Fixed rates and cron have a *grid*: their ticks are known
//! beforehand, whatever the runs do; the others know their next tick when a run has ended.
//!
//! `passed` is the last tick that has been dealt with, by a run or by being left out; what lies between it and now has
//! come due. Ticks that came due during a run are the [`Overlap`] policy's: they are dealt with when the run ends. Those
//! that came due before a late run began are the [`Missed`] policy's, and dealt with when it begins. Ticks that the first
//! policy wants made up for (up to `owed`) are never taken for missed ones.

use super::{Kind, LastRun, Missed, Overlap, Schedule, Start};
use crate::time::{Axis, Tick, deadline_after, on_the_wall};
use std::time::{Duration, SystemTime};

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) tick: Tick,
    pub(crate) wall: SystemTime,
}

/// When a run is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) axis: Axis,
    pub(crate) at: Tick,
}

/// See the module's header.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    next: Option<Due>,
    passed: Option<Tick>,
    owed: Option<Tick>,
}

/// What a run that is about to begin is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    /// False: its time has passed and it is left out.
    pub(crate) runs: bool,
    pub(crate) missed: u64,
    pub(crate) scheduled: SystemTime,
}

/// Ticks are counted one by one where they do not lie at equal distances; more than these have "at least" as many.
const COUNTED: u64 = 1_000_000;

impl Now {
    fn on(&self, axis: Axis) -> Tick {
        match axis {
            Axis::Ticks => self.tick,
            Axis::Wall => on_the_wall(self.wall),
        }
    }

    /// The time on the wall at a tick of either clock, as the wall stands now.
    pub(crate) fn wall_at(&self, due: Due) -> SystemTime {
        let now = self.on(due.axis);
        let shifted = match now.checked_sub(due.at) {
            Some(past) => self.wall.checked_sub(Duration::from_nanos(past)),
            None => self.wall.checked_add(Duration::from_nanos(due.at - now)),
        };
        shifted.unwrap_or(self.wall)
    }
}

impl Schedule {
    /// The clock its ticks lie on.
    fn axis(&self) -> Axis {
        match self.kind {
            Kind::Every(_) | Kind::Delay(_) => Axis::Ticks,
            _ => Axis::Wall,
        }
    }

    /// The tick of the grid after `tick`; `None` also where there is no grid.
    fn grid_after(&self, tick: Tick) -> Option<Tick> {
        match &self.kind {
            Kind::Every(period) => deadline_after(tick, *period),
            #[cfg(feature = "cron")]
            Kind::Cron(cron) => {
                let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(tick))?;
                Some(on_the_wall(cron.next(at)?))
            }
            _ => None,
        }
    }

    /// How many ticks of the grid lie after `from` and not after `to`, and the last of them, or `from`.
    fn grid_between(&self, from: Tick, to: Tick) -> (u64, Tick) {
        if let Kind::Every(period) = self.kind {
            let Ok(period) = Tick::try_from(period.as_nanos()) else {
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

impl Cursor {
    /// A schedule that begins now.
    pub(crate) fn new(schedule: &Schedule, now: &Now) -> Self {
        let next = match (&schedule.kind, schedule.start) {
            (Kind::Every(_) | Kind::Delay(_), Start::Now) => Some(Due {
                axis: Axis::Ticks,
                at: now.tick,
            }),
            (Kind::Every(_) | Kind::Delay(_), Start::In(delay)) => {
                deadline_after(now.tick, delay).map(|at| Due {
                    axis: Axis::Ticks,
                    at,
                })
            }
            // What is given as an instant goes by the wall until it has come.
            _ => schedule.first(now.wall).map(|first| Due {
                axis: Axis::Wall,
                at: on_the_wall(first),
            }),
        };
        Cursor {
            next: next.filter(|next| schedule.is_in_time(*next, now)),
            passed: None,
            owed: None,
        }
    }

    pub(crate) fn next(&self) -> Option<Due> {
        self.next
    }

    /// A run for the next tick is about to begin, so much later than it would have because of its jitter.
    pub(crate) fn begin(&mut self, schedule: &Schedule, now: &Now, jitter: Duration) -> Begun {
        let due = self.next.take().unwrap_or(Due {
            axis: schedule.axis(),
            at: now.on(schedule.axis()),
        });
        let scheduled = now.wall_at(due);
        let mut begun = Begun {
            runs: true,
            missed: 0,
            scheduled,
        };
        if !schedule.has_grid() {
            return begun;
        }
        let tick = rebase(due, schedule.axis(), now);
        let present = back(now.on(schedule.axis()), jitter);
        self.passed = Some(tick);
        // The last of those that are owed, or none is: what came due after it was missed.
        let is_owed = schedule
            .grid_after(tick)
            .is_some_and(|next| self.owed.is_some_and(|owed| next <= owed));
        if !is_owed && schedule.missed != Missed::Burst {
            let (missed, last) = schedule.grid_between(tick, present);
            begun.missed = missed;
            self.passed = Some(last);
            match schedule.missed {
                Missed::Skip if missed > 0 => {
                    begun.runs = false;
                    begun.missed += 1;
                }
                Missed::Delay if missed > 0 && matches!(schedule.kind, Kind::Every(_)) => {
                    self.passed = Some(present);
                }
                _ => {}
            }
        }
        begun
    }

    /// Finds the tick after the one that began, for runs that may overlap or were left out.
    pub(crate) fn go_on(&mut self, schedule: &Schedule, now: &Now) {
        if let Some(passed) = self.passed {
            self.set_next(schedule, now, schedule.grid_after(passed));
        }
    }

    /// A run has ended, so much later than it would have because of its jitter; `last` includes it. With a pause, nothing
    /// is due before it is over. Finds the next tick, and says how many were left out.
    pub(crate) fn end(
        &mut self,
        schedule: &Schedule,
        last: &LastRun,
        now: &Now,
        jitter: Duration,
        pause: Option<Duration>,
    ) -> u64 {
        let resumed = pause.map(|pause| deadline_after(now.on(schedule.axis()), pause).unwrap_or(Tick::MAX));
        if !schedule.has_grid() {
            let next = match &schedule.kind {
                Kind::Delay(delay) => deadline_after(now.tick, *delay),
                _ => schedule.next(last, now.wall).map(on_the_wall),
            };
            let next = next.map(|next| next.max(resumed.unwrap_or(0)));
            self.set_next(schedule, now, next);
            return 0;
        }
        let passed = self.passed.unwrap_or_else(|| now.on(schedule.axis()));
        let present = back(now.on(schedule.axis()), jitter);
        let skipped = match (schedule.overlap, resumed) {
            (_, Some(resumed)) => self.skip_to(schedule, passed, resumed.saturating_sub(1)),
            (Overlap::Skip, None) => self.skip_to(schedule, passed, present),
            (Overlap::Queue, None) => {
                self.owed = Some(present);
                self.passed = Some(passed);
                0
            }
        };
        self.go_on(schedule, now);
        skipped
    }

    /// A run beside the plan has ended. What came due meanwhile is treated as during any other run.
    pub(crate) fn end_beside(&mut self, schedule: &Schedule, now: &Now) -> u64 {
        let Some(next) = self.next else {
            return self.look_past(schedule, now, Duration::ZERO);
        };
        match &schedule.kind {
            Kind::Delay(delay) => self.set_next(schedule, now, deadline_after(now.tick, *delay)),
            _ if schedule.has_grid() && schedule.overlap == Overlap::Skip && next.at <= now.on(next.axis) => {
                let tick = rebase(next, schedule.axis(), now);
                let skipped = self.skip_to(schedule, tick, now.on(schedule.axis()));
                self.go_on(schedule, now);
                return skipped + 1;
            }
            _ => {}
        }
        0
    }

    fn skip_to(&mut self, schedule: &Schedule, passed: Tick, to: Tick) -> u64 {
        let (skipped, last) = schedule.grid_between(passed, to);
        self.passed = Some(last);
        self.owed = None;
        skipped
    }

    /// As [`Cursor::end`] would, for a look while a run is in progress: ticks that came due meanwhile are passed over if
    /// they will be. Says how many. Nothing happens where the next tick depends on the run's end.
    pub(crate) fn look_past(&mut self, schedule: &Schedule, now: &Now, jitter: Duration) -> u64 {
        match self.passed {
            Some(passed) if schedule.has_grid() && self.next.is_none() => {
                let present = back(now.on(schedule.axis()), jitter);
                let skipped = match schedule.overlap {
                    Overlap::Skip => self.skip_to(schedule, passed, present),
                    Overlap::Queue => 0,
                };
                self.go_on(schedule, now);
                skipped
            }
            _ => 0,
        }
    }

    /// After a pause by its owner: what came due meanwhile is forgotten.
    pub(crate) fn resume(&mut self, schedule: &Schedule, now: &Now) {
        let Some(next) = self.next else { return };
        let present = now.on(next.axis);
        if next.at > present {
            return;
        }
        match &schedule.kind {
            Kind::Delay(delay) => self.set_next(schedule, now, deadline_after(now.tick, *delay)),
            _ if schedule.has_grid() => {
                let tick = rebase(next, schedule.axis(), now);
                let (_, last) = schedule.grid_between(tick, now.on(schedule.axis()));
                self.passed = Some(last);
                self.owed = None;
                self.go_on(schedule, now);
            }
            _ => {}
        }
    }

    fn set_next(&mut self, schedule: &Schedule, now: &Now, at: Option<Tick>) {
        let axis = schedule.axis();
        self.next = at
            .map(|at| Due { axis, at })
            .filter(|due| schedule.is_in_time(*due, now));
    }
}

/// The tick on the schedule's own clock: a start that was given as an instant is the first of a fixed rate's grid.
fn rebase(due: Due, axis: Axis, now: &Now) -> Tick {
    if due.axis == axis {
        return due.at;
    }
    let late = now.on(due.axis).saturating_sub(due.at);
    now.on(axis).saturating_sub(late)
}

fn back(at: Tick, jitter: Duration) -> Tick {
    at.saturating_sub(jitter.as_nanos() as Tick)
}
