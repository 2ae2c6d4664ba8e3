//! Scenario K, the child's half: a pool that has worked once and then has nothing to do. The parent watches from
//! outside (`/proc` of the child), so that the watching is not in the numbers; this side only says when it is ready
//! and then waits, itself asleep, until its standard input ends.

use std::{
    io::{self, Read, Write},
    time::{Duration, Instant, SystemTime},
};

use super::Figures;
use crate::{
    child,
    contend::{Contender, Ours, timers::Firing},
    count::ran,
};

/// From the first to the last of the far timers: none comes due while somebody looks, and each has a time of its own.
const FAR: Duration = Duration::from_secs(600);
const APART: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn run<P: Contender>(pool: &'static P, tasks: u64) -> Figures {
    super::throughput::fire(pool, tasks);
    stay_idle()
}

/// The same with timers that are far away.
pub(crate) fn with_timers<T: Firing>(timers: &mut T, count: u64) -> Figures {
    let first = Instant::now() + FAR;
    for i in 0..count {
        timers.arm(first + APART * i as u32, i, ran);
    }
    timers.armed(ran);
    stay_idle()
}

/// The same with work for instants of the calendar, which has to follow the wall clock wherever it is set.
pub(crate) fn with_calendar(pool: &'static Ours, count: u64) -> Figures {
    let now = SystemTime::now();
    for i in 0..count {
        pool.at_wall(now + DAY * (i as u32 + 1), move || ran(i));
    }
    stay_idle()
}

fn stay_idle() -> Figures {
    // Both can only fail when the parent is gone, and then nobody waits for an answer.
    let _ = writeln!(io::stdout(), "{}", child::READY);
    let _ = io::stdout().flush();
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Figures::new()
}
