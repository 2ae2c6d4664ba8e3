//! Scenario N3: futures. In: an executor, how many. Out: nanoseconds for a future that is spawned, ready at its first poll and
//! joined; for a wake from outside and the poll that follows; for a future that wakes itself and is polled again; and bytes per
//! suspended future whose handle is kept.

use std::{
    future::{Future, poll_fn},
    hint::black_box,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    task::{Poll, Waker},
    thread,
    time::Instant,
};

use punctual::Queue;

use super::{Figures, memory::Reading, throughput::touched_places};
use crate::{
    catalog::{Peer, Scenario, Sizes},
    contend::{AsyncExecutor, Futures, Ours, Spawns, Tokio},
};

/// Futures that are woken, or wake themselves, in turn.
const MANY: u64 = 1_000;

pub(crate) fn run(scenario: Scenario, peer: Peer, sizes: Sizes) -> Result<Figures, String> {
    Ok(match peer {
        Peer::Ours | Peer::OursAgain => with(Ours::open(Queue::unbounded()), scenario, sizes),
        Peer::Tokio => with(Tokio::open(), scenario, sizes),
        Peer::AsyncExecutor => with(AsyncExecutor::open(), scenario, sizes),
        Peer::Futures => with(Futures::open(), scenario, sizes),
        _ => {
            let (peer, scenario) = (peer.name(), scenario.id());
            return Err(format!("{peer} does not take part in scenario {scenario}"));
        }
    })
}

fn with<P: Spawns>(pool: P, scenario: Scenario, sizes: Sizes) -> Figures {
    let pool = pool.leak();
    let Sizes { count, repeat } = sizes;
    if scenario == Scenario::N3Bytes {
        return suspended(pool, count);
    }
    let mut figures = vec![("spawn", 0.0), ("wake", 0.0), ("yield", 0.0)];
    // The last pass counts: the others warm up.
    for _ in 0..repeat {
        figures[0].1 = spawn(pool, count);
        figures[1].1 = wake(pool, count);
        figures[2].1 = yields(pool, count);
    }
    figures
}

fn per(began: Instant, count: u64) -> f64 {
    began.elapsed().as_nanos() as f64 / count as f64
}

fn spawn<P: Spawns>(pool: &'static P, count: u64) -> f64 {
    let mut tasks = touched_places::<P::Task>(count);
    let began = Instant::now();
    for (number, place) in (0..count).zip(&mut tasks) {
        *place = Some(pool.spawn(async move { black_box(number) }));
    }
    let sum: u64 = tasks.into_iter().flatten().map(P::output).sum();
    let time = per(began, count);
    assert_eq!(sum, count * (count - 1) / 2);
    time
}

/// A future that rests until it was polled so often, and leaves its waker each time.
fn resting(place: &'static Place, polls: u64) -> impl Future<Output = u64> + Send + 'static {
    let mut polled = 0;
    poll_fn(move |context| {
        if polled == polls {
            return Poll::Ready(polled);
        }
        polled += 1;
        let mut waker = place.waker.lock().expect("nothing panics under it");
        if !waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()))
        {
            *waker = Some(context.waker().clone());
        }
        drop(waker);
        place.polled.fetch_add(1, SeqCst);
        Poll::Pending
    })
}

#[derive(Default)]
struct Place {
    waker: Mutex<Option<Waker>>,
    polled: AtomicU64,
}

fn wake<P: Spawns>(pool: &'static P, count: u64) -> f64 {
    let rounds = (count / MANY).max(1);
    let places: &'static [Place] = Vec::leak((0..MANY).map(|_| Place::default()).collect());
    let tasks: Vec<_> = places
        .iter()
        .map(|place| pool.spawn(resting(place, rounds)))
        .collect();
    let began = Instant::now();
    for round in 1..=rounds {
        for place in places {
            while place.polled.load(SeqCst) < round {
                thread::yield_now();
            }
            let waker = place.waker.lock().expect("nothing panics under it").clone();
            waker.expect("it was polled").wake();
        }
    }
    tasks.into_iter().for_each(|task| {
        P::output(task);
    });
    per(began, rounds * MANY)
}

fn yields<P: Spawns>(pool: &'static P, count: u64) -> f64 {
    let each = (count / MANY).max(1);
    let began = Instant::now();
    let tasks: Vec<_> = (0..MANY)
        .map(|_| {
            let mut left = each;
            pool.spawn(poll_fn(move |context| {
                if left == 0 {
                    return Poll::Ready(0);
                }
                left -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            }))
        })
        .collect();
    tasks.into_iter().for_each(|task| {
        P::output(task);
    });
    per(began, each * MANY)
}

fn suspended<P: Spawns>(pool: &'static P, count: u64) -> Figures {
    let mut tasks = touched_places::<P::Task>(count);
    let polled = Arc::new(AtomicU64::new(0));
    let before = Reading::take();
    for place in &mut tasks {
        let polled = polled.clone();
        *place = Some(pool.spawn(async move {
            polled.fetch_add(1, SeqCst);
            std::future::pending::<()>().await;
            0
        }));
    }
    while polled.load(SeqCst) < count {
        thread::yield_now();
    }
    let figures = before.growth("suspended", "suspended_heap", count);
    // Nobody wakes them: the process ends with them.
    std::mem::forget(tasks);
    figures
}
