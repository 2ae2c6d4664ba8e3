//! Scenarios G to K, as far as they know time, once for every Rust peer. In: a scenario, a peer, sizes. Out: named
//! numbers, or what does not go together.
//!
//! Ours is held to "never early" and "never lost" while it is measured: a broken promise ends the child and so the row.

mod bytes;
mod churn;
mod insert;
mod instant;
mod lateness;
mod periodic;

use std::{thread, time::Instant};

use punctual::Queue;

use super::{Figures, idle, memory};
use crate::{
    catalog::{Kind, Peer, Scenario, Sizes},
    contend::{
        Contender, Ours,
        timers::{
            AsyncIo, Bare, Firing, Insertion, Repeating, SchedTp, TokioDelayQueue, TokioSleep, TokioTasks,
            leak,
        },
    },
    count::Tally,
};

pub(crate) fn run(scenario: Scenario, peer: Peer, sizes: Sizes) -> Result<Figures, String> {
    let unfit = || format!("{} does not take part in scenario {}", peer.name(), scenario.id());
    if scenario == Scenario::H
        && let Some(bare) = bare(peer)
    {
        return Ok(lateness::limit(bare, sizes.count));
    }
    let strict = matches!(peer.kind(), Kind::Ours | Kind::Control);
    if scenario == Scenario::J {
        return Ok(match peer {
            Peer::Ours | Peer::OursAgain => repeating(Ours::open(Queue::unbounded()).leak(), sizes, strict),
            Peer::SchedTp => repeating(SchedTp::open(), sizes, strict),
            Peer::TokioInterval => repeating(TokioTasks::open(), sizes, strict),
            Peer::AsyncIo => repeating(AsyncIo::open(), sizes, strict),
            _ => return Err(unfit()),
        });
    }
    if scenario == Scenario::KCalendar {
        return match peer {
            Peer::Ours | Peer::OursAgain => {
                let pool = Ours::open(Queue::unbounded()).leak();
                Ok(idle::with_calendar(pool, sizes.count))
            }
            _ => Err(unfit()),
        };
    }
    Ok(match (peer, scenario.is_insertion()) {
        (Peer::Ours | Peer::OursAgain, _) => {
            let pool = Ours::open(Queue::unbounded()).leak();
            match scenario {
                Scenario::GBytes => bytes::of_ours(pool, sizes.count),
                _ if scenario.is_insertion() => insertion(pool, scenario, sizes),
                _ => firing(pool, scenario, sizes, strict),
            }
        }
        (Peer::SchedTp, true) => insertion(SchedTp::open(), scenario, sizes),
        (Peer::SchedTp, false) => firing(SchedTp::open(), scenario, sizes, strict),
        (Peer::TokioSleep, true) => insertion(TokioSleep::open(), scenario, sizes),
        (Peer::TokioSpawnSleep, true) => insertion(TokioTasks::open(), scenario, sizes),
        (Peer::TokioSpawnSleep, false) => firing(TokioTasks::open(), scenario, sizes, strict),
        (Peer::TokioDelayQueue, true) => insertion(TokioDelayQueue::open(), scenario, sizes),
        (Peer::TokioDelayQueue, false) => firing(TokioDelayQueue::open(), scenario, sizes, strict),
        (Peer::AsyncIo, true) => insertion(AsyncIo::open(), scenario, sizes),
        (Peer::AsyncIo, false) => firing(AsyncIo::open(), scenario, sizes, strict),
        _ => return Err(unfit()),
    })
}

fn bare(peer: Peer) -> Option<Bare> {
    let (on_futex, least_slack) = match peer {
        Peer::BareNanosleep => (false, false),
        Peer::BareNanosleepSlack1 => (false, true),
        Peer::BareFutex => (true, false),
        Peer::BareFutexSlack1 => (true, true),
        _ => return None,
    };
    Some(Bare {
        on_futex,
        least_slack,
    })
}

fn insertion<T: Insertion>(timers: T, scenario: Scenario, sizes: Sizes) -> Figures {
    let timers = leak(timers);
    match scenario {
        Scenario::GInsert => insert::run(timers, sizes.count, sizes.repeat),
        Scenario::GBytes => bytes::run(timers, sizes.count),
        Scenario::GChurn => churn::run(timers, sizes.count, sizes.repeat),
        Scenario::GGrowth => churn::growth(timers, sizes.count, sizes.repeat),
        other => unreachable!("{} does not only put timers in", other.id()),
    }
}

fn firing<T: Firing>(timers: T, scenario: Scenario, sizes: Sizes, strict: bool) -> Figures {
    let timers = leak(timers);
    match scenario {
        Scenario::H => lateness::run(timers, sizes.count, strict),
        Scenario::ISame => instant::same(timers, sizes.count, strict),
        Scenario::ISpread => instant::spread(timers, sizes.count, strict),
        Scenario::KTimers => idle::with_timers(timers, sizes.count),
        other => unreachable!("{} has nothing that comes due once", other.id()),
    }
}

fn repeating<T: Repeating>(timers: T, sizes: Sizes, strict: bool) -> Figures {
    periodic::run(leak(timers), sizes.count, sizes.repeat, strict)
}

/// Sleeps until `last`, so as not to be in the numbers, and then looks often until `tasks` have run.
fn wait_out(tally: &Tally, tasks: u64, last: Instant) {
    thread::sleep(last.saturating_duration_since(Instant::now()));
    tally.wait_for(tasks);
}
