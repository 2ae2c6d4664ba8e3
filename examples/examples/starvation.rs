//! Starvation, and two ways out of it, as a chart: a second of urgent tasks without a break, and forty of low priority.
//!
//! `cargo run -p punctual-examples --example starvation -- starvation.svg`

use punctual::{Pool, Priority, PriorityQueue, Queue};
use punctual_examples::chart::Chart;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
const FLOOD: Duration = Duration::from_millis(1_000);
const WORK: Duration = Duration::from_micros(500);
const LOW: usize = 40;

fn main() -> Outcome<()> {
    let path = std::env::args().nth(1).map(Into::into);
    let path = path.unwrap_or_else(|| std::env::temp_dir().join("starvation.svg"));
    let (queue, step) = (|| Queue::priority(256), Duration::from_millis(100));
    let mut chart = Chart::new(
        "low tasks that have run, while urgent ones keep coming",
        FLOOD,
        LOW,
    );
    for (name, queue) in [
        ("strict", queue().strict()),
        ("aging(100 ms)", queue().aging(step)),
        ("shares(50, 30, 15, 5)", queue().shares([50, 30, 15, 5])),
    ] {
        let ran = flooded(queue)?;
        let early = ran.iter().filter(|when| **when < FLOOD).count();
        println!("{name}: {early} of {LOW} ran during the flood");
        assert_eq!(early == 0, name == "strict", "starved, or rescued");
        chart.add(name, &ran);
    }
    println!("how many have run, over time: {}", path.display());
    Ok(std::fs::write(&path, chart.svg())?)
}

/// When each task of low priority ran.
fn flooded(queue: PriorityQueue) -> Outcome<Vec<Duration>> {
    let pool = Pool::builder("flooded").core_threads(1).queue(queue).build()?;
    let [urgent, low] = [Priority::URGENT, Priority::LOW].map(|level| pool.at_priority(level));
    let ran: Arc<Mutex<Vec<Duration>>> = Arc::default();
    pool.pause(); // until both kinds are there
    urgent.execute_all([|| std::thread::sleep(WORK); 100])?;
    let begin = Instant::now();
    for ran in vec![ran.clone(); LOW] {
        low.execute(move || ran.lock().unwrap().push(begin.elapsed()))?;
    }
    pool.resume();
    while begin.elapsed() < FLOOD {
        // Refused while the queue is full, which is how it stays nearly full.
        if urgent.execute(|| std::thread::sleep(WORK)).is_err() {
            std::thread::sleep(WORK);
        }
    }
    let _ = pool.close();
    Ok(Arc::into_inner(ran).expect("all have ended").into_inner()?)
}
