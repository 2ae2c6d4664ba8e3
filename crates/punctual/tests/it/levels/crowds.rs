//! Many tasks on two workers, counted: PRI-04, PRI-06, fault 20.

use super::{NAMED, STEP};
use crate::support::{LONG, Random, env_number, until};
use punctual::{Clock, ManualClock, OnDrop, Pool, Priority, Queue};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// A task as the script knows it. Times are those of a clock that stands while tasks are taken.
#[derive(Debug, Clone, Copy)]
struct Known {
    level: usize,
    came: Duration,
}

/// Two workers in step: the tasks they have in hand wait for each other, so each pair is taken before the next.
struct Pairs {
    state: Mutex<(Option<usize>, Vec<[usize; 2]>)>,
    met: Condvar,
    limit: AtomicUsize,
}

impl Pairs {
    fn meet(&self, number: usize, pool: &Pool) {
        let mut state = self.state.lock().unwrap();
        let pairs = state.1.len();
        let Some(partner) = state.0.take() else {
            state.0 = Some(number);
            let waited = self
                .met
                .wait_timeout_while(state, LONG, |state| state.1.len() == pairs);
            assert!(!waited.unwrap().1.timed_out(), "the other worker takes nothing");
            return;
        };
        state.1.push([partner, number]);
        if state.1.len() == self.limit.load(SeqCst) {
            pool.pause();
        }
        self.met.notify_one();
    }
}

/// A pool for many scripts, one after the other.
fn aging_pool() -> (Pool, ManualClock) {
    let clock = Clock::manual();
    let pool = Pool::builder("levels")
        .core_threads(2)
        .queue(Queue::priority(100_000).aging(STEP))
        .clock(&clock)
        .on_drop(OnDrop::Stop)
        .build()
        .unwrap();
    (pool, clock)
}

/// Submits a batch, lets some time pass, lets the workers take some; and so on, for so many rounds. What comes back: each
/// task, and the pairs in the order in which they were taken, with the time.
fn script(
    (pool, clock): &(Pool, ManualClock),
    seed: u64,
    rounds: usize,
) -> (Vec<Known>, Vec<([usize; 2], Duration)>) {
    let mut random = Random::from_seed(seed);
    pool.pause();
    let (mut known, mut now) = (Vec::new(), Duration::ZERO);
    let pairs = Arc::new(Pairs {
        state: Mutex::default(),
        met: Condvar::new(),
        limit: AtomicUsize::new(0),
    });
    let mut times = Vec::new();
    for round in 0..rounds {
        // Mostly urgent ones: the others must grow old to be taken. An even number of them.
        for _ in 0..2 * random.below(7) {
            let level = if random.below(3) == 0 { random.below(4) } else { 0 } as usize;
            let (number, pairs, own) = (known.len(), pairs.clone(), pool.clone());
            known.push(Known { level, came: now });
            pool.at_priority(Priority::level(level as u8))
                .execute(move || pairs.meet(number, &own))
                .unwrap();
        }
        let pass = STEP * random.below(200) as u32 / 100;
        clock.advance(pass);
        now += pass;
        let waiting = known.len() / 2 - times.len();
        // In the end all of them.
        let more = if round == rounds - 1 {
            waiting
        } else {
            waiting.min(random.below(5) as usize)
        };
        if more > 0 {
            pairs.limit.store(times.len() + more, SeqCst);
            pool.resume();
            until("so many were taken", || {
                let taken = pairs.state.lock().unwrap().1.len();
                taken == times.len() + more && pool.stats().active == 0
            });
        }
        times.resize(times.len() + more, now);
    }
    let taken = pairs.state.lock().unwrap().1.iter().copied().zip(times).collect();
    (known, taken)
}

/// Once a task of level l has waited for l steps, nothing submitted after it is taken before it.
#[test]
fn pri_04_and_fault_20_on_two_workers_no_aged_task_is_overtaken_in_any_script() {
    let scripts = env_number("PUNCTUAL_SCRIPTS").unwrap_or(400);
    let pool = aging_pool();
    for seed in 1..=scripts {
        // Mostly short ones, of which there can be many; some in which tasks grow very old.
        let (known, taken) = script(&pool, seed, if seed % 40 == 0 { 60 } else { 6 });
        assert_eq!(known.len(), 2 * taken.len(), "seed {seed}: every task runs");
        for (place, (pair, _)) in taken.iter().enumerate() {
            for number in pair {
                let task = known[*number];
                let aged = task.came + STEP * task.level as u32;
                let before = taken[..place].iter().filter(|(_, when)| *when >= aged);
                let overtakings = before
                    .flat_map(|(pair, _)| pair)
                    .filter(|other| *other > number)
                    .count();
                assert_eq!(
                    overtakings, 0,
                    "seed {seed}: {task:?} was overtaken when it was aged"
                );
            }
        }
    }
}

/// Which levels were picked, one after the other, by two workers from a queue that held so many tasks of each level.
fn picks(weights: [u32; 4], tasks: [usize; 4]) -> Vec<usize> {
    let pool = Pool::builder("levels")
        .core_threads(2)
        .queue(Queue::priority(1_000_000).shares(weights))
        .build()
        .unwrap();
    pool.pause();
    let log: Arc<Mutex<Vec<usize>>> = Arc::default();
    for (level, count) in tasks.into_iter().enumerate() {
        let log = log.clone();
        let bodies = (0..count).map(|_| {
            let log = log.clone();
            move || log.lock().unwrap().push(level)
        });
        pool.at_priority(NAMED[level]).execute_all(bodies).unwrap();
    }
    pool.resume();
    let _ = pool.close();
    let log = log.lock().unwrap();
    log.clone()
}

/// In every stretch of 1000 picks each level has its share, give or take five percent of the picks.
fn assert_shares(picks: &[usize], shares: [f64; 4]) {
    assert!(picks.len() >= 1_000);
    for (begin, window) in picks.windows(1_000).enumerate() {
        for (level, share) in shares.into_iter().enumerate() {
            let count = window.iter().filter(|pick| **pick == level).count();
            let error = (count as f64 / 1_000.0 - share).abs();
            assert!(
                error <= 0.05,
                "level {level} has {count} of the 1000 picks from {begin}"
            );
        }
    }
}

#[test]
fn pri_06_and_fault_20_on_two_workers_each_level_has_its_share_of_any_1000_picks() {
    let picks = picks([50, 30, 15, 5], [10_000, 6_000, 3_000, 1_000]);
    assert_eq!(picks.len(), 20_000);
    // Until one of them is nearly empty.
    assert_shares(&picks[..19_000], [0.5, 0.3, 0.15, 0.05]);
}

#[test]
fn pri_06_on_two_workers_an_unused_share_goes_to_the_others_in_proportion() {
    // Nothing is urgent: 30, 15 and 5 are all there is.
    let of_three = picks([50, 30, 15, 5], [0, 6_000, 3_000, 1_000]);
    assert_shares(&of_three[..9_000], [0.0, 0.6, 0.3, 0.1]);
    // The urgent ones end on the way: after that the others share what is left.
    let picks = picks([50, 30, 15, 5], [2_000, 6_000, 3_000, 1_000]);
    // Of the last ones each worker may note one late, when it was not let run for a while.
    let mut urgent = (0..picks.len()).filter(|place| picks[*place] == 0);
    let last = urgent.nth(1_990).unwrap();
    assert_shares(&picks[..last], [0.5, 0.3, 0.15, 0.05]);
    assert_shares(&picks[last + 40..10_000], [0.0, 0.6, 0.3, 0.1]);
}

#[test]
fn pri_06_a_level_of_weight_zero_is_served_when_no_other_holds_a_task() {
    let picks = picks([3, 1, 0, 0], [300, 100, 50, 50]);
    assert!(picks[395..].iter().filter(|pick| **pick < 2).count() <= 5 + 2);
    let rest: Vec<usize> = picks.iter().copied().filter(|pick| *pick >= 2).collect();
    assert!(
        rest[..45].iter().filter(|pick| **pick == 3).count() <= 2,
        "the more urgent one first"
    );
}

/// Producers that never let the urgent level run dry, on a real clock: what is less urgent still runs.
#[test]
fn fault_20_under_a_flood_of_urgent_tasks_every_low_one_runs() {
    const PLACES: usize = 4_096;
    let rules = [
        Queue::priority(PLACES).aging(Duration::from_millis(2)),
        Queue::priority(PLACES).shares([50, 30, 15, 5]),
    ];
    for rule in rules {
        let pool = Pool::builder("levels")
            .core_threads(2)
            .queue(rule.clone())
            .build()
            .unwrap();
        let urgent = pool.at_priority(Priority::URGENT);
        let flood = Arc::new(AtomicU64::new(0));
        let low: Vec<_> = (0..100)
            .map(|number| {
                pool.task(move || number)
                    .priority(Priority::LOW)
                    .submit()
                    .unwrap()
            })
            .collect();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let (urgent, flood, is_over) = (&urgent, &flood, &is_over);
                scope.spawn(move || {
                    while !is_over.load(SeqCst) {
                        let flood = flood.clone();
                        // Refused when the queue is full of them, which is as it should be.
                        let _ = urgent.execute(move || {
                            flood.fetch_add(1, SeqCst);
                        });
                    }
                });
            }
            let begin = Instant::now();
            let low: u64 = low.into_iter().map(|task| task.join().unwrap()).sum();
            let waited = begin.elapsed();
            is_over.store(true, SeqCst);
            assert_eq!(low, 99 * 100 / 2);
            // The documented bound, with what a task took here, the time included for which the system ran something else.
            let mean_run = waited * 2 / (flood.load(SeqCst) + 100) as u32;
            let bound = rule.wait_bound(Priority::LOW, PLACES, mean_run, 2).unwrap();
            let ratio = waited.as_secs_f64() / bound.as_secs_f64();
            println!("the last waited {waited:?}, {ratio:.3} of the bound");
            assert!(ratio < 2.0, "{waited:?} are far beyond {bound:?}");
        });
    }
}
