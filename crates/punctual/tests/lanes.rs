//! What views cost. A binary of its own, because it counts every byte that the process allocates.

/// The allocator that counts.
#[path = "starts/counting.rs"]
mod counting;

use counting::live;
use punctual::{Cancel, Pool, Queue};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One test at a time: they look at the same counter.
static ALONE: Mutex<()> = Mutex::new(());

const LONG: Duration = Duration::from_secs(60);

fn pool() -> Pool {
    let builder = Pool::builder("lanes").core_threads(2).queue(Queue::unbounded());
    builder.build().unwrap()
}

/// The bytes that each of so many things takes.
fn each<T>(many: usize, make: impl Fn(usize) -> T) -> (Vec<T>, i64) {
    let mut all = Vec::with_capacity(many);
    let before = live();
    all.extend((0..many).map(make));
    let bytes = (live() - before) / many as i64;
    (all, bytes)
}

#[test]
fn an_idle_lane_takes_at_most_two_hundred_bytes_also_after_it_has_worked() {
    const LANES: usize = 100_000;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = pool();
    pool.submit(|| ()).unwrap().join().unwrap();
    let before = live();
    let (lanes, fresh) = each(LANES, |_| pool.lane());
    let with_handle = fresh + size_of_val(&lanes[0]) as i64;
    assert!(
        with_handle <= 200,
        "{with_handle} bytes, {fresh} of them behind the handle"
    );
    // A few at a time: the memory of tasks is kept for reuse, and would be counted too.
    for some in lanes.chunks(500) {
        for lane in some {
            for _ in 0..3 {
                lane.execute(|| ()).unwrap();
            }
        }
        assert!(pool.wait_idle(LONG));
    }
    // The worker may be about to let go of the last task.
    assert!(lanes.iter().all(|lane| lane.close_timeout(LONG)));
    // Whoever looks finds those without a line, some thousands at a time; so does a worker after some seconds of quiet.
    (0..LANES / 10_000).for_each(|_| drop(pool.stats()));
    let worked = (live() - before - (LANES * size_of_val(&lanes[0])) as i64) / LANES as i64;
    assert!(worked <= fresh + 4, "{worked} bytes after work, {fresh} before");
    println!("{fresh} bytes behind each lane, {worked} after work");
    drop(lanes);
    drop(pool);
}

#[test]
fn a_key_without_tasks_takes_nothing() {
    const KEYS: u32 = 200_000;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = pool();
    // A few at a time: the memory of tasks is kept for reuse, and how much of it is a matter of timing.
    let run = |keys: std::ops::Range<u32>| {
        for key in keys {
            pool.keyed(key).execute(|| ()).unwrap();
            if key % 500 == 0 {
                assert!(pool.wait_idle(LONG));
            }
        }
        assert!(pool.wait_idle(LONG));
    };
    run(0..KEYS);
    let before = live();
    // Others than before: what the first ones took serves these.
    run(KEYS..2 * KEYS);
    let more = live() - before;
    assert!(more < 1 << 20, "{more} bytes more after as many new keys");
}

#[test]
fn cancelling_behind_a_busy_lane_keeps_memory_flat() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = pool();
    let lane = pool.lane();
    let (open, gate) = channel::<()>();
    lane.execute(move || _ = gate.recv()).unwrap();
    let kept = lane.submit(|| 7).unwrap();
    let base = live();
    let mut most = 0;
    for _ in 0..200_000 {
        assert_eq!(lane.submit(|| ()).unwrap().cancel(), Cancel::Removed);
        most = most.max(live() - base);
    }
    assert!(most < 2 << 20, "{most} bytes more than at the beginning");
    drop(open);
    assert_eq!(kept.join().unwrap(), 7);
}
