//! Scenarios M and N: pools that tell urgent work from other. In: a scenario, a peer, sizes. Out: named numbers, or what
//! does not go together. Not here: what the levels cost where nobody asks for them, see `ir`.

mod circle;
mod delay;
mod error;

use punctual::{PriorityQueue, Queue};

use super::{Figures, aging, shares, strict};
use crate::{
    catalog::{Peer, Scenario, Sizes},
    contend::{Contender, HeapPool, Levelled, Levels, Ours, Tokio, WORKERS},
};

/// Of the pools in M: push and pop by one thread, without anybody to wait for.
const ALONE: usize = 1;

/// The least urgent level.
const LOW: usize = 3;

pub(crate) fn run(scenario: Scenario, peer: Peer, sizes: Sizes) -> Result<Figures, String> {
    let unfit = || format!("{} does not take part in scenario {}", peer.name(), scenario.id());
    let peer = if peer == Peer::OursAgain {
        scenario.controlled()
    } else {
        peer
    };
    let workers = if scenario == Scenario::M { ALONE } else { WORKERS };
    Ok(match (scenario, peer) {
        (Scenario::M | Scenario::N1, Peer::HeapPool) => {
            circulate(HeapPool::open(workers), scenario, workers, sizes)
        }
        (Scenario::M | Scenario::N1, _) => {
            let queue = queue_of(peer).ok_or_else(unfit)?;
            circulate(Levelled::of(workers, queue), scenario, workers, sizes)
        }
        (Scenario::N2, Peer::OursStrict) => delay::run(Levelled::open(strict()).leak(), sizes.count),
        (Scenario::N2, Peer::OursFifo) => delay::run(Ours::open(Queue::unbounded()).leak(), sizes.count),
        (Scenario::N2, Peer::Tokio) => delay::run(Tokio::open().leak(), sizes.count),
        (Scenario::N5, Peer::OursShares) => error::run(Levelled::open(shares()).leak(), sizes.count),
        _ => return Err(unfit()),
    })
}

fn queue_of(peer: Peer) -> Option<PriorityQueue> {
    match peer {
        Peer::OursStrict => Some(strict()),
        Peer::OursAging => Some(aging()),
        Peer::OursShares => Some(shares()),
        _ => None,
    }
}

fn circulate<P: Levels>(pool: P, scenario: Scenario, workers: usize, sizes: Sizes) -> Figures {
    let pool = pool.leak();
    let mut figures = Figures::new();
    if scenario == Scenario::N1 {
        figures.push(("outside", circle::from_outside(pool, sizes)));
    }
    figures.extend(circle::beside_backlogs(pool, workers, sizes));
    figures
}
