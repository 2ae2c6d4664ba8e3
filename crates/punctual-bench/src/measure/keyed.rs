//! Scenario N4: nanoseconds per task, submitted and run, where tasks of one key keep their order. In: a peer, how many
//! tasks. Out: the first pass (cold) and the last (warm). One producer outside, at most 8192 in flight, keys at random.
//!
//! Each task looks whether one of its key that came later has run, also in the pool that promises nothing, so that all do
//! the same work. Whoever promises an order and breaks it ends the child.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use punctual::Queue;

use super::{Figures, throughput};
use crate::{
    catalog::{Peer, Scenario, Sizes},
    contend::{Keyed, MapInFront, Ours, OursKeyed},
    count::ran,
};

const KEYS: usize = 10_000;

/// The number of the last task of each key, from 1.
static LAST: [AtomicU64; KEYS] = [const { AtomicU64::new(0) }; KEYS];
static DISORDER: AtomicU64 = AtomicU64::new(0);

pub(crate) fn run(peer: Peer, sizes: Sizes) -> Result<Figures, String> {
    Ok(match peer {
        Peer::OursKeyed | Peer::OursAgain => keyed(OursKeyed::open(), sizes),
        Peer::OursUnordered => keyed(Ours::open(Queue::unbounded()), sizes),
        Peer::MapInFront => keyed(MapInFront::open(), sizes),
        _ => {
            let scenario = Scenario::N4.id();
            return Err(format!(
                "{} does not take part in scenario {scenario}",
                peer.name()
            ));
        }
    })
}

fn keyed<P: Keyed>(pool: P, sizes: Sizes) -> Figures {
    let pool: &'static P = Box::leak(Box::new(pool));
    throughput::passes(sizes.repeat, sizes.count, || {
        LAST.iter().for_each(|last| last.store(0, Relaxed));
        DISORDER.store(0, Relaxed);
        let time = throughput::in_window(sizes.count, |i| {
            pool.execute_keyed(key_of(i) as u64, move || note(i));
        });
        let disorder = DISORDER.load(Relaxed);
        assert!(
            !P::ORDERED || disorder == 0,
            "{disorder} tasks ran after one of their key that came later"
        );
        time
    })
}

/// Only one thread at a time writes the place of a key, where there is an order.
fn note(number: u64) {
    let last = &LAST[key_of(number)];
    if last.load(Relaxed) > number {
        DISORDER.fetch_add(1, Relaxed);
    }
    last.store(number + 1, Relaxed);
    ran(number);
}

/// As if at random, and the same in every process (the finisher of splitmix64).
fn key_of(number: u64) -> usize {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) % KEYS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_many_and_some_meet_in_a_window() {
        let mut seen = vec![0u32; KEYS];
        (0..8192).for_each(|number| seen[key_of(number)] += 1);
        let several = seen.iter().filter(|count| **count > 1).count();
        assert!((1000..3000).contains(&several), "{several}");
    }
}
