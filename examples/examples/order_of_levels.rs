//! How far stealing bends the order of levels: how many usual tasks begin between the submission of an urgent one and its
//! start. Two workers, each with a backlog in its deque; the urgent ones are submitted from inside, every tenth by a usual task,
//! or from outside, at any moment of one.

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

impl Seen {
    /// An urgent task that notes how many usual ones have begun since this call.
    fn urgent(&self) -> impl FnOnce() + Send + 'static + use<> {
        let (then, seen) = (self.begun.load(SeqCst), self.clone());
        move || {
            let overtaken = seen.begun.load(SeqCst).saturating_sub(then);
            seen.overtaken.lock().unwrap().push(overtaken);
        }
    }
}

/// One usual task; it submits the next one, and every tenth an urgent one before that, if these come from inside.
fn step(left: usize, from_inside: bool, seen: Seen) {
    seen.begun.fetch_add(1, SeqCst);
    let begin = Instant::now();
    while begin.elapsed() < WORK {
        std::hint::spin_loop();
    }
    let Some(pool) = task::current_executor().filter(|_| left > 0) else {
        return;
    };
    if from_inside && left.is_multiple_of(10) {
        let urgent = pool.task(seen.urgent()).priority(Priority::URGENT);
        urgent.execute().unwrap();
    }
    pool.execute(move || step(left - 1, from_inside, seen)).unwrap();
}

fn measure(name: &str, from_inside: bool, queue: PriorityQueue) -> Result<(), punctual::ConfigError> {
    let pool = Pool::builder("levels")
        .core_threads(WORKERS)
        .queue(queue)
        .build()?;
    let seen = Seen::default();
    for _ in 0..WORKERS {
        let (own, seen) = (pool.clone(), seen.clone());
        let begin = move || {
            (0..100).for_each(|_| own.execute(|| ()).unwrap());
            step(STEPS, from_inside, seen);
        };
        pool.execute(begin).unwrap();
    }
    // While they are at work; the pause is what makes each come at another moment.
    while !from_inside && seen.begun.load(SeqCst) < WORKERS * STEPS {
        pool.task(seen.urgent())
            .priority(Priority::URGENT)
            .execute()
            .unwrap();
        std::thread::sleep(Duration::from_micros(50));
    }
    assert!(pool.wait_idle(Duration::from_secs(60)));
    let mut overtaken = seen.overtaken.lock().unwrap().clone();
    overtaken.sort_unstable();
    let part =
        |most: usize| 100.0 * overtaken.partition_point(|each| *each <= most) as f64 / overtaken.len() as f64;
    let at = |quantile: f64| overtaken[((overtaken.len() - 1) as f64 * quantile) as usize];
    println!(
        "{name:9} {:8} {} urgent tasks; overtaken by none {:.1} %, at most 1 {:.2} %, at most 2 {:.2} %; 99.9 % by {} or less, all by {}",
        if from_inside { "inside" } else { "outside" },
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
    let queue = || Queue::priority(Capacity::Unbounded).strict();
    for from_inside in [true, false] {
        measure("shared", from_inside, queue())?;
        measure("stealing", from_inside, queue().stealing())?;
    }
    Ok(())
}
