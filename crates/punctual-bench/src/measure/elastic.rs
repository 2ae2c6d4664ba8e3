//! Scenario O: work that blocks. In: threads for it, how many tasks. Out: O1 how long a burst of tasks takes that sleep 10 ms,
//! and on how many threads; O2 how long a task waits on average when some before it sleep; O3 nanoseconds per task over many
//! lanes, each of which keeps its order.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use punctual::{Lane, Queue};

use super::{Figures, throughput};
use crate::{
    catalog::{Peer, Scenario, Sizes},
    contend::{Blocking, Contender, Elastic, Ours, OursLanes, OursPinned, TokioElastic, WORKERS},
    count::{Tally, ran},
};

/// O1: the most threads, and for how long each task sleeps.
pub(crate) const CAP: usize = 64;
const NAP: Duration = Duration::from_millis(10);

/// O2: threads; a task each `APART`, of which one in `LONG_EVERY` sleeps.
const FEW: usize = 4;
const APART: Duration = Duration::from_micros(500);
const LONG_EVERY: u64 = 32;

/// O3: tasks of each lane; `STRIDE` is coprime to every number of lanes of the catalogue, so that all get their turn.
const TASKS_PER_LANE: u64 = 10;
const STRIDE: u64 = 7_919;

pub(crate) fn run(scenario: Scenario, peer: Peer, sizes: Sizes) -> Result<Figures, String> {
    let Sizes { count, repeat } = sizes;
    Ok(match (scenario, peer) {
        (Scenario::O1, Peer::OursLanes | Peer::OursAgain) => burst(OursLanes::open(CAP), count, repeat),
        (Scenario::O1, Peer::TokioBlocking) => burst(TokioElastic::open(CAP), count, repeat),
        (Scenario::O1, Peer::Blocking) => burst(Blocking, count, repeat),
        (Scenario::O2, Peer::OursLanes | Peer::OursAgain) => waits(OursLanes::open(FEW), count),
        (Scenario::O2, Peer::OursPinned) => waits(OursPinned::open(FEW), count),
        (Scenario::O3, Peer::OursLanes | Peer::OursAgain) => in_lanes(OursLanes::open(WORKERS), sizes),
        (Scenario::O3, Peer::OursUnordered) => unordered(sizes),
        _ => {
            let (peer, scenario) = (peer.name(), scenario.id());
            return Err(format!("{peer} does not take part in scenario {scenario}"));
        }
    })
}

/// Threads that ran a task, each counted once.
static THREADS: AtomicU64 = AtomicU64::new(0);
thread_local!(static IS_COUNTED: Cell<bool> = const { Cell::new(false) });

fn count_this_thread() {
    if !IS_COUNTED.replace(true) {
        THREADS.fetch_add(1, Relaxed);
    }
}

fn burst<P: Elastic>(pool: P, tasks: u64, repeat: u64) -> Figures {
    let pool = pool.leak();
    THREADS.store(0, Relaxed);
    let times: Vec<f64> = (0..repeat.max(1))
        .map(|_| {
            let (tally, start) = (Tally::start(), Instant::now());
            for i in 0..tasks {
                pool.execute_blocking(move || {
                    count_this_thread();
                    thread::sleep(NAP);
                    ran(i);
                });
            }
            tally.wait_for(tasks);
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    vec![
        ("burst_cold", times[0]),
        ("burst_warm", times[times.len() - 1]),
        ("threads", THREADS.load(Relaxed) as f64),
    ]
}

fn waits<P: Elastic>(pool: P, tasks: u64) -> Figures {
    let pool = pool.leak();
    let waited = Arc::new(AtomicU64::new(0));
    let (tally, start) = (Tally::start(), Instant::now());
    for i in 0..tasks {
        // At fixed instants: a submitter that slips does not make the load lighter.
        let due = start + APART * i as u32;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let (submitted, waited) = (Instant::now(), waited.clone());
        pool.execute_blocking(move || {
            waited.fetch_add(submitted.elapsed().as_nanos() as u64, Relaxed);
            if i % LONG_EVERY == 0 {
                thread::sleep(NAP);
            }
            ran(i);
        });
    }
    tally.wait_for(tasks);
    vec![("mean_wait", waited.load(Relaxed) as f64 / tasks as f64 / 1000.0)]
}

/// A task of O3, the same in every pool: looks whether it comes next in its lane, and counts.
struct Turn {
    next: &'static AtomicU64,
    number: u64,
}

impl Turn {
    fn take(self, is_ordered: bool) {
        let before = self.next.fetch_add(1, Relaxed);
        let is_next = before == self.number;
        assert!(
            is_next || !is_ordered,
            "task {} of a lane ran as its {before}th",
            self.number
        );
        ran(self.number);
    }
}

/// Two tasks for a lane, two for one far from it, and so on, until each lane has had all of its tasks.
fn place_of(i: u64, lanes: u64) -> (usize, u64) {
    let (pair, second) = (i / 2, i % 2);
    ((pair * STRIDE % lanes) as usize, pair / lanes * 2 + second)
}

fn over_lanes(sizes: Sizes, submit: impl Fn(usize, Turn)) -> Figures {
    let lanes = lanes_of(sizes);
    let next: &'static [AtomicU64] = Vec::leak((0..lanes).map(|_| AtomicU64::new(0)).collect());
    throughput::passes(sizes.repeat, lanes * TASKS_PER_LANE, || {
        next.iter().for_each(|next| next.store(0, Relaxed));
        throughput::in_window(lanes * TASKS_PER_LANE, |i| {
            let (lane, number) = place_of(i, lanes);
            let next = &next[lane];
            submit(lane, Turn { next, number });
        })
    })
}

fn lanes_of(sizes: Sizes) -> u64 {
    (sizes.count / TASKS_PER_LANE).max(1)
}

fn in_lanes(pool: OursLanes, sizes: Sizes) -> Figures {
    let lanes: Vec<Lane> = (0..lanes_of(sizes)).map(|_| pool.0.lane()).collect();
    over_lanes(sizes, |lane, turn| {
        let accepted = lanes[lane].execute(move || turn.take(true));
        accepted.expect("the lane has room and the pool is open");
    })
}

fn unordered(sizes: Sizes) -> Figures {
    let pool = Ours::open(Queue::unbounded()).leak();
    over_lanes(sizes, |_, turn| pool.execute(move || turn.take(false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_gets_all_of_its_tasks_in_order() {
        for lanes in [1, 20, 100_000] {
            let mut next = vec![0; lanes as usize];
            for i in 0..lanes * TASKS_PER_LANE {
                let (lane, number) = place_of(i, lanes);
                assert_eq!(next[lane], number, "task {i} of {lanes} lanes");
                next[lane] += 1;
            }
            assert!(next.iter().all(|count| *count == TASKS_PER_LANE));
        }
    }
}
