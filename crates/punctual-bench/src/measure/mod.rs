//! The scenarios themselves, once for every Rust pool. In: a scenario, a peer, sizes. Out: named numbers. Not here:
//! rounds, statistics, and which numbers are compared: a child process runs one scenario with one peer and ends.

pub(crate) mod elastic;
mod futures;
mod idle;
mod keyed;
mod levels;
mod memory;
mod ping;
#[cfg(test)]
mod tests;
pub(crate) mod throughput;
mod timers;
pub(crate) mod work;

use punctual::{Capacity, PriorityQueue, Queue};
use std::time::Duration;

use crate::{
    catalog::{Peer, Scenario, Sizes},
    contend::{
        AsyncExecutor, CallerRuns, Contender, Crossbeam, Futures, Levelled, Ours, OursLanes, OursNext, Rayon,
        RustyPool, Threadpool, Tokio, TokioBlocking, WORKERS,
    },
};

/// Numbers by the names the catalogue gives to the metrics.
pub(crate) type Figures = Vec<(&'static str, f64)>;

/// "Bounded with room": above every size of the catalogue, so that nothing is ever refused.
const ROOM: usize = 4 << 20;

/// The rules of the variants with levels: a step that passes during a run, and the usual weights.
const STEP: Duration = Duration::from_millis(1);
const WEIGHTS: [u32; 4] = [50, 30, 15, 5];

fn strict() -> PriorityQueue {
    Queue::priority(Capacity::Unbounded).strict()
}

fn aging() -> PriorityQueue {
    Queue::priority(Capacity::Unbounded).aging(STEP)
}

fn shares() -> PriorityQueue {
    Queue::priority(Capacity::Unbounded).shares(WEIGHTS)
}

/// The capacity of scenario F.
const OVERLOADED: usize = 1024;

/// Runs one scenario with one Rust peer; the error says what does not go together.
pub(crate) fn run(scenario: Scenario, peer: Peer, sizes: Sizes) -> Result<Figures, String> {
    if scenario.is_timed() {
        return timers::run(scenario, peer, sizes);
    }
    if scenario.is_levelled() {
        return levels::run(scenario, peer, sizes);
    }
    if matches!(scenario, Scenario::N3 | Scenario::N3Bytes) {
        return futures::run(scenario, peer, sizes);
    }
    if scenario.is_elastic() {
        return elastic::run(scenario, peer, sizes);
    }
    if scenario == Scenario::N4 {
        return keyed::run(peer, sizes);
    }
    if scenario == Scenario::F {
        return match peer {
            Peer::Ours | Peer::OursAgain => Ok(overload(Ours::caller_runs(OVERLOADED), sizes)),
            Peer::Crossbeam => Ok(overload(Crossbeam::bounded(OVERLOADED), sizes)),
            _ => Err(format!("{} has no caller-runs form in scenario F", peer.name())),
        };
    }
    Ok(match peer {
        Peer::Ours | Peer::OursAgain => with(Ours::open(Queue::unbounded()), scenario, sizes),
        Peer::OursBounded => with(Ours::open(Queue::bounded(ROOM)), scenario, sizes),
        Peer::OursStealing => with(Ours::open(Queue::stealing(Capacity::Unbounded)), scenario, sizes),
        Peer::OursNext => with(OursNext::open(), scenario, sizes),
        Peer::OursLanes => with(OursLanes::open(WORKERS), scenario, sizes),
        Peer::OursStrict => with(Levelled::open(strict()), scenario, sizes),
        Peer::OursAging => with(Levelled::open(aging()), scenario, sizes),
        Peer::OursShares => with(Levelled::open(shares()), scenario, sizes),
        Peer::Rayon => with(Rayon::open(), scenario, sizes),
        Peer::Tokio => with(Tokio::open(), scenario, sizes),
        Peer::TokioBlocking => with(TokioBlocking::open(), scenario, sizes),
        Peer::AsyncExecutor => with(AsyncExecutor::open(), scenario, sizes),
        Peer::Futures => with(Futures::open(), scenario, sizes),
        Peer::Threadpool => with(Threadpool::open(), scenario, sizes),
        Peer::RustyPool => with(RustyPool::open(), scenario, sizes),
        Peer::Crossbeam => with(Crossbeam::unbounded(), scenario, sizes),
        _ => {
            return Err(format!(
                "{} does not take part in scenario {}, or runs in a JVM and not in this process",
                peer.name(),
                scenario.id()
            ));
        }
    })
}

fn with<P: Contender>(pool: P, scenario: Scenario, sizes: Sizes) -> Figures {
    let pool = pool.leak();
    let Sizes { count, repeat } = sizes;
    match scenario {
        Scenario::A => throughput::passes(repeat, count, || throughput::fire(pool, count)),
        Scenario::A2 => throughput::passes(repeat, count, || throughput::fire_in_window(pool, count)),
        Scenario::B => throughput::passes(repeat, count, || throughput::fire_from_four(pool, count)),
        Scenario::C => throughput::submit_passes(pool, repeat, count),
        Scenario::D => {
            let depth = throughput::depth_for(count);
            throughput::passes(repeat, throughput::nodes(depth), || {
                throughput::fork_tree(pool, depth)
            })
        }
        Scenario::E => ping::run(pool, count, repeat),
        Scenario::K => idle::run(pool, count),
        Scenario::LExecute => memory::execute(pool, count),
        Scenario::LSubmit => memory::submit(pool, count),
        other => unreachable!("scenario {} does not take a plain pool, see `run`", other.id()),
    }
}

fn overload<P: CallerRuns>(pool: P, sizes: Sizes) -> Figures {
    let pool = pool.leak();
    throughput::passes(sizes.repeat, sizes.count, || {
        throughput::overload(pool, sizes.count)
    })
}
