//! The plan against a reference that walks from tick to tick.

use super::{Axis, Due, LastRun, Missed, Now, Overlap, Plan, wall_tick};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// No engine runs it.
type Schedule = super::Schedule<()>;

/// Random numbers from a seed that is printed.
struct Dice(u64);

impl Dice {
    fn new(test: &str) -> Self {
        let seed = std::env::var("PUNCTUAL_SEED").map_or_else(
            |_| RandomState::new().hash_one(test),
            |seed| seed.parse().expect("PUNCTUAL_SEED is a number"),
        );
        println!("{test}: PUNCTUAL_SEED={seed}");
        Dice(seed | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.below(sides) == 0
    }
}

/// What should happen, by the words of the policies: every tick that comes due is run, missed or skipped, and which of
/// them is decided by what the schedule was doing at that tick.
struct Reference {
    period: u64,
    overlap: Overlap,
    missed: Missed,
    /// A fixed rate begins anew after a delay, a calendar cannot.
    can_move: bool,
    /// Came due, and will run.
    owed: VecDeque<u64>,
    /// The first that has not come due yet, or was not looked at since.
    next: u64,
}

impl Reference {
    /// The ticks from the next one up to `present`, which are passed over.
    fn pass(&mut self, present: u64) -> Vec<u64> {
        let mut passed = Vec::new();
        while self.next <= present {
            passed.push(self.next);
            self.next += self.period;
        }
        passed
    }

    fn due(&self) -> u64 {
        self.owed.front().copied().unwrap_or(self.next)
    }

    /// Whether it runs, for which tick, and how many it makes up for.
    fn begin(&mut self, present: u64) -> (bool, u64, u64) {
        let was_owed = !self.owed.is_empty();
        let tick = self.owed.pop_front().unwrap_or_else(|| {
            let tick = self.next;
            self.next += self.period;
            tick
        });
        // Nothing was in progress when these came due, and they have not started.
        let idle = self.pass(present);
        match self.missed {
            Missed::Burst => {
                self.owed.extend(&idle);
                (true, tick, 0)
            }
            Missed::Skip if !idle.is_empty() && !was_owed => (false, tick, idle.len() as u64 + 1),
            Missed::Delay if !idle.is_empty() && self.can_move => {
                self.next = present + self.period;
                (true, tick, idle.len() as u64)
            }
            _ => (true, tick, idle.len() as u64),
        }
    }

    /// How many are left out.
    fn end(&mut self, present: u64, resumed: Option<u64>) -> u64 {
        if let Some(resumed) = resumed {
            let owed = self.owed.drain(..).count();
            return (owed + self.pass(resumed - 1).len()) as u64;
        }
        let meanwhile = self.pass(present);
        match self.overlap {
            Overlap::Skip => meanwhile.len() as u64,
            Overlap::Queue => {
                self.owed.extend(&meanwhile);
                0
            }
        }
    }

    fn resume(&mut self, now: u64) {
        if self.due() <= now {
            self.owed.clear();
            self.pass(now);
        }
    }
}

/// A schedule whose ticks lie at equal distances, and when it began.
struct Grid {
    schedule: Schedule,
    axis: Axis,
    first: u64,
    period: u64,
    begun: u64,
}

const SECOND: u64 = 1_000_000_000;
const OVERLAPS: [Overlap; 2] = [Overlap::Skip, Overlap::Queue];
const MISSED: [Missed; 4] = [Missed::Once, Missed::Skip, Missed::Delay, Missed::Burst];

fn rate(dice: &mut Dice) -> Grid {
    let period = 1 + dice.below(20);
    let begun = 1 + dice.below(1_000);
    let wait = dice.below(30);
    Grid {
        schedule: Schedule::every(Duration::from_nanos(period)).starting_in(Duration::from_nanos(wait)),
        axis: Axis::Ticks,
        first: begun + wait,
        period,
        begun,
    }
}

#[cfg(feature = "cron")]
fn calendar(dice: &mut Dice) -> Grid {
    let seconds = [1, 2, 5, 10, 30][dice.below(5) as usize];
    let period = seconds * SECOND;
    let begun = SECOND * (1 + dice.below(1_000));
    Grid {
        schedule: Schedule::cron(&format!("*/{seconds} * * * * *")).expect("a cron text"),
        axis: Axis::Wall,
        first: (begun / period + 1) * period,
        period,
        begun,
    }
}

/// A time as the clock of that axis counts it.
fn on(axis: Axis, tick: u64) -> u64 {
    match axis {
        Axis::Ticks => tick,
        Axis::Wall => wall_tick(at(tick)),
    }
}

fn at(tick: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(tick)
}

/// Both clocks show the same: the plan's own difference is tested apart.
fn now(tick: u64) -> Now {
    Now { tick, wall: at(tick) }
}

/// Random runs of one random schedule under given policies.
fn walk(dice: &mut Dice, grid: &Grid, overlap: Overlap, missed: Missed, steps: u64) {
    // The same for all runs: what came due when is then beyond dispute.
    let jitter = dice.below(2) * dice.below(2 * grid.period);
    let schedule = grid.schedule.clone().overlap(overlap).missed(missed);
    let mut plan = Plan::new(&schedule, &now(grid.begun));
    let mut reference = Reference {
        period: grid.period,
        overlap,
        missed,
        can_move: grid.axis == Axis::Ticks,
        owed: VecDeque::new(),
        next: grid.first,
    };
    let mut clock = grid.begun;
    let unit = grid.period.div_ceil(20);
    let mut history = Vec::new();
    for _ in 0..steps {
        let due = reference.due();
        let expected = Some(Due {
            axis: grid.axis,
            at: on(grid.axis, due),
        });
        assert_eq!(
            plan.next(),
            expected,
            "{overlap:?} {missed:?} {schedule}: {history:#?}"
        );
        if dice.one_in(20) && clock < due {
            // Its owner pauses it for a while.
            clock += dice.below(100) * unit;
            plan.resume(&schedule, &now(clock));
            reference.resume(clock);
            history.push(format!("resumed at {clock}"));
            continue;
        }
        if dice.one_in(20) && clock < due {
            // A run beside the plan.
            clock += dice.below(100) * unit;
            let skipped = plan.end_beside(&schedule, &now(clock));
            history.push(format!("beside until {clock}"));
            assert_eq!(skipped, reference.end(clock, None), "{history:#?}");
            continue;
        }
        let late = if dice.one_in(3) { dice.below(100) * unit } else { 0 };
        clock = clock.max(due + jitter) + late;
        history.push(format!("begins {due} at {clock}, jitter {jitter}"));
        let moved = Duration::from_nanos(jitter);
        let begun = plan.begin(&schedule, &now(clock), moved);
        let expected = reference.begin(clock - jitter);
        assert_eq!(
            (begun.runs, begun.scheduled, begun.missed),
            (expected.0, at(expected.1), expected.2),
            "{overlap:?} {missed:?} {schedule}: {history:#?}"
        );
        if !begun.runs {
            plan.go_on(&schedule, &now(clock));
            continue;
        }
        let last = LastRun {
            scheduled: Some(begun.scheduled),
            actual: Some(at(clock)),
            completed: Some(at(clock)),
        };
        clock += if dice.one_in(2) { dice.below(100) * unit } else { 0 };
        let pause = dice.one_in(10).then(|| (1 + dice.below(60)) * unit);
        history.push(format!("ends at {clock}, pause {pause:?}"));
        let mut looked = plan.clone();
        let seen = looked.look_past(&schedule, &now(clock), moved);
        let skipped = plan.end(
            &schedule,
            &last,
            &now(clock),
            moved,
            pause.map(Duration::from_nanos),
        );
        if pause.is_none() {
            assert_eq!(
                (seen, looked.next()),
                (skipped, plan.next()),
                "a look sees what the end does"
            );
        }
        let expected = reference.end(clock - jitter, pause.map(|pause| clock + pause));
        assert_eq!(
            skipped, expected,
            "{overlap:?} {missed:?} {schedule}: {history:#?}"
        );
        if history.len() > 30 {
            history.drain(..20);
        }
    }
}

/// 12 500 steps; 200 000 with all policies, by rate and by calendar.
fn walk_many(test: &str, grid: fn(&mut Dice) -> Grid, overlap: Overlap, missed: Missed) {
    let mut dice = Dice::new(test);
    for _ in 0..250 {
        let grid = grid(&mut dice);
        walk(&mut dice, &grid, overlap, missed, 50);
    }
}

macro_rules! models {
    ($($name:ident: $overlap:ident, $missed:ident;)*) => {$(
        #[test]
        fn $name() {
            let name = stringify!($name);
            walk_many(name, rate, Overlap::$overlap, Missed::$missed);
            #[cfg(feature = "cron")]
            walk_many(name, calendar, Overlap::$overlap, Missed::$missed);
        }
    )*};
}

// One test per pair of policies, so that a failure names them.
models! {
    plan_model_skip_once: Skip, Once;
    plan_model_skip_skip: Skip, Skip;
    plan_model_skip_delay: Skip, Delay;
    plan_model_skip_burst: Skip, Burst;
    plan_model_queue_once: Queue, Once;
    plan_model_queue_skip: Queue, Skip;
    plan_model_queue_delay: Queue, Delay;
    plan_model_queue_burst: Queue, Burst;
}

#[test]
fn runs_that_overlap_take_tick_after_tick_and_miss_those_that_could_not_start() {
    let mut dice = Dice::new("overlapping");
    for missed in MISSED {
        for _ in 0..100 {
            let grid = rate(&mut dice);
            let schedule = grid.schedule.clone().missed(missed);
            let mut plan = Plan::new(&schedule, &now(grid.begun));
            let mut reference = Reference {
                period: grid.period,
                overlap: Overlap::Skip,
                missed,
                can_move: true,
                owed: VecDeque::new(),
                next: grid.first,
            };
            let mut clock = grid.begun;
            for _ in 0..50 {
                assert_eq!(plan.next().map(|due| due.at), Some(reference.due()));
                clock = clock.max(reference.due()) + dice.below(2) * dice.below(50);
                let begun = plan.begin(&schedule, &now(clock), Duration::ZERO);
                let expected = reference.begin(clock);
                assert_eq!(
                    (begun.runs, begun.scheduled, begun.missed),
                    (expected.0, at(expected.1), expected.2),
                    "{missed:?}"
                );
                plan.go_on(&schedule, &now(clock));
            }
        }
    }
}

/// What a clock that was put leaves of the two axes: a rate does not notice, a calendar follows.
#[test]
fn a_wall_that_was_put_moves_the_calendar_and_not_the_rate() {
    let hour = Duration::from_secs(3_600);
    let begin = Now {
        tick: 5,
        wall: UNIX_EPOCH + hour,
    };
    let later = Now {
        tick: 5 + 10 * SECOND,
        wall: UNIX_EPOCH + 3 * hour,
    };
    let every = Schedule::every(Duration::from_secs(10));
    let mut plan = Plan::new(&every, &begin);
    plan.begin(&every, &begin, Duration::ZERO);
    plan.end(&every, &LastRun::default(), &begin, Duration::ZERO, None);
    let due = plan.next().expect("a rate goes on");
    assert_eq!((due.axis, due.at), (Axis::Ticks, 5 + 10 * SECOND));
    assert_eq!(
        plan.begin(&every, &later, Duration::ZERO).scheduled,
        UNIX_EPOCH + 3 * hour,
        "told in the terms of the wall as it stands now"
    );
}

#[cfg(feature = "cron")]
#[test]
fn a_calendar_that_was_put_forward_has_missed_what_lies_between() {
    let begin = now(100 * SECOND);
    let cron = Schedule::cron("*/10 * * * * *").expect("a cron text");
    let mut plan = Plan::new(&cron, &begin);
    assert_eq!(plan.next().map(|due| due.at), Some(on(Axis::Wall, 110 * SECOND)));
    let put = Now {
        tick: 101 * SECOND,
        wall: at(145 * SECOND),
    };
    let begun = plan.begin(&cron, &put, Duration::ZERO);
    assert_eq!((begun.runs, begun.missed), (true, 3));
    assert_eq!(begun.scheduled, at(110 * SECOND));
    plan.end(&cron, &LastRun::default(), &put, Duration::ZERO, None);
    assert_eq!(plan.next().map(|due| due.at), Some(on(Axis::Wall, 150 * SECOND)));
}

#[test]
fn a_rate_that_starts_at_an_instant_has_its_grid_there() {
    let begin = now(100 * SECOND);
    let every = Schedule::every(Duration::from_secs(10)).starting_at(at(103 * SECOND));
    let mut plan = Plan::new(&every, &begin);
    let first = plan.next().expect("it starts");
    assert_eq!((first.axis, first.at), (Axis::Wall, on(Axis::Wall, 103 * SECOND)));
    // Two seconds late, and the wall is a minute off by then.
    let late = Now {
        tick: 165 * SECOND,
        wall: at(105 * SECOND),
    };
    plan.begin(&every, &late, Duration::ZERO);
    plan.end(&every, &LastRun::default(), &late, Duration::ZERO, None);
    let second = plan.next().expect("a rate goes on");
    assert_eq!((second.axis, second.at), (Axis::Ticks, 173 * SECOND));
}

#[test]
fn nothing_is_due_after_the_end() {
    for kind in [
        Schedule::every(Duration::from_nanos(10)),
        Schedule::with_delay(Duration::from_nanos(10)),
    ] {
        let until = kind.clone().until(at(120));
        let mut plan = Plan::new(&until, &now(100));
        let mut runs = 0;
        while let Some(due) = plan.next() {
            runs += 1;
            plan.begin(&until, &now(due.at), Duration::ZERO);
            plan.end(&until, &LastRun::default(), &now(due.at), Duration::ZERO, None);
        }
        assert_eq!(runs, 3, "{until}: at 100, 110 and 120");
        assert_eq!(Plan::new(&until, &now(121)).next(), None, "{until}");
    }
}

#[test]
fn a_period_beyond_the_clocks_horizon_has_one_tick() {
    for huge in [
        Duration::MAX,
        Duration::from_nanos(u64::MAX),
        Duration::from_secs(u64::MAX),
    ] {
        for overlap in OVERLAPS {
            let every = Schedule::every(huge).overlap(overlap);
            let mut plan = Plan::new(&every, &now(100));
            assert!(plan.begin(&every, &now(200), Duration::ZERO).runs);
            assert_eq!(
                plan.end(&every, &LastRun::default(), &now(300), Duration::ZERO, None),
                0
            );
            assert_eq!(plan.next(), None, "{huge:?}");
        }
    }
}
