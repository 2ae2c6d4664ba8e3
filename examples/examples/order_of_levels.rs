//! How far stealing bends the order of levels: how many usual tasks begin between the submission of an urgent one and its
//! start. Two workers, each with a backlog in its deque; everything is submitted from inside.

use punctual::{Capacity, Pool, Priority, PriorityQueue, Queue, task};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
const STEPS: usize = 50_000;

/// Each usual task computes for about this long, so that both workers are in the middle of one most of the time.
const WORK: Duration = Duration::from_micros(5);

#[derive(Clone, Default)]
struct Seen {
    begun: Arc<AtomicUsize>,
    overtaken: Arc<Mutex<Vec<usize>>>,
}

/// One usual task; it submits the next one, and every tenth an urgent one before that.
fn step(left: usize, seen: Seen) {
    seen.begun.fetch_add(1, SeqCst);
    let begin = Instant::now();
    while begin.elapsed() < WORK {
        std::hint::spin_loop();
    }
    let Some(pool) = task::current_executor().filter(|_| left > 0) else {
        return;
    };
    if left.is_multiple_of(10) {
        let (then, of_urgent) = (seen.begun.load(SeqCst), seen.clone());
        let urgent = move || {
            let overtaken = of_urgent.begun.load(SeqCst) - then;
            of_urgent.overtaken.lock().unwrap().push(overtaken);
        };
        pool.task(urgent).priority(Priority::URGENT).execute().unwrap();
    }
    pool.execute(move || step(left - 1, seen)).unwrap();
}

fn measure(name: &str, queue: PriorityQueue) -> Result<(), punctual::ConfigError> {
    let pool = Pool::builder("levels")
        .core_threads(WORKERS)
        .queue(queue)
        .build()?;
    let seen = Seen::default();
    for _ in 0..WORKERS {
        let (own, seen) = (pool.clone(), seen.clone());
        let begin = move || {
            (0..100).for_each(|_| own.execute(|| ()).unwrap());
            step(STEPS, seen);
        };
        pool.execute(begin).unwrap();
    }
    assert!(pool.wait_idle(Duration::from_secs(60)));
    let mut overtaken = seen.overtaken.lock().unwrap().clone();
    overtaken.sort_unstable();
    let part =
        |most: usize| 100.0 * overtaken.partition_point(|each| *each <= most) as f64 / overtaken.len() as f64;
    let at = |quantile: f64| overtaken[((overtaken.len() - 1) as f64 * quantile) as usize];
    println!(
        "{name:9} {} urgent tasks; overtaken by none {:.1} %, at most 1 {:.2} %, at most 2 {:.2} %; 99.9 % by {} or less, all by {}",
        overtaken.len(),
        part(0),
        part(1),
        part(2),
        at(0.999),
        at(1.0)
    );
    Ok(())
}

fn main() -> Result<(), punctual::ConfigError> {
    measure("shared", Queue::priority(Capacity::Unbounded).strict())?;
    measure(
        "stealing",
        Queue::priority(Capacity::Unbounded).strict().stealing(),
    )
}
