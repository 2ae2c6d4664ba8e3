//! A pool with random settings: sizes, every queue, every policy, growth, hooks, decorators, recorder, either clock.

use crate::ledger::Own;
use fastrand::Rng;
use punctual::{
    Answer, AtShutdown, Capacity, Clock, Growth, ManualClock, OnBlocking, OnDrop, Pool, PoolBuilder, Queue,
    Reject,
};
use std::panic::panic_any;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What the end of a round must know of the settings.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) clock: Option<ManualClock>,
    /// The pool stays open for delayed or repeating work after a shutdown.
    pub(crate) stays: bool,
    /// Delayed tasks have places in the queue.
    pub(crate) covers: bool,
    /// The builder, as it prints itself.
    pub(crate) text: String,
}

pub(crate) fn micros(rng: &mut Rng, most: u64) -> Duration {
    Duration::from_micros(rng.u64(0..=most))
}

pub(crate) fn capacity(rng: &mut Rng) -> Capacity {
    match rng.u8(0..3) {
        0 => Capacity::Unbounded,
        1 => Capacity::Bounded(rng.usize(1..4)),
        _ => Capacity::Bounded(rng.usize(4..80)),
    }
}

fn queue(rng: &mut Rng) -> Queue {
    match rng.u8(0..8) {
        0 => Queue::handoff(),
        1 | 2 => Queue::stealing(capacity(rng)),
        3 => Queue::unbounded(),
        4 | 5 => {
            let queue = Queue::priority(capacity(rng));
            let queue = match rng.u8(0..4) {
                0 => queue.strict(),
                1 => queue.aging(Duration::from_micros(rng.u64(1..2_000))),
                2 => queue.shares([50, 30, 15, 5]),
                _ => queue,
            };
            if rng.u8(0..3) == 0 {
                queue.stealing().into()
            } else {
                queue.into()
            }
        }
        _ => Queue::bounded(rng.usize(1..64)),
    }
}

pub(crate) fn reject(rng: &mut Rng) -> Reject {
    match rng.u8(0..8) {
        0 => Reject::CallerRuns,
        1 => Reject::Discard,
        2 => Reject::DiscardOldest,
        3 => Reject::Block(micros(rng, 2_000)),
        4 => Reject::EvictLower,
        5 => {
            let turn = AtomicU64::new(rng.u64(..));
            Reject::custom(move |_| match turn.fetch_add(1, Relaxed) % 7 {
                0 => Answer::CallerRuns,
                1 => Answer::Discard,
                2 => Answer::DiscardOldest,
                3 => Answer::Wait(Duration::from_micros(300)),
                4 => panic_any(Own),
                _ => Answer::Abort,
            })
        }
        _ => Reject::Abort,
    }
}

/// Every `n`th call panics.
fn now_and_then(rng: &mut Rng, n: u64) -> impl Fn() + Send + Sync + 'static {
    let turn = AtomicU64::new(rng.u64(0..n));
    move || {
        if turn.fetch_add(1, Relaxed).is_multiple_of(n) {
            panic_any(Own);
        }
    }
}

fn hooks(rng: &mut Rng, mut pool: PoolBuilder) -> PoolBuilder {
    if rng.u8(0..4) == 0 {
        let (before, after) = (now_and_then(rng, 97), now_and_then(rng, 89));
        pool = pool
            .before_task(move |_| before())
            .after_task(move |_, _| after());
    }
    if rng.u8(0..4) == 0 {
        let told = now_and_then(rng, 13);
        pool = pool.on_failure(move |_, _| told());
    }
    if rng.u8(0..5) == 0 {
        let turn = AtomicU64::new(rng.u64(..));
        pool = pool.decorate(
            || (),
            move |(), run| match turn.fetch_add(1, Relaxed) % 61 {
                0 => {}
                1 => panic_any(Own),
                2 => {
                    run();
                    panic_any(Own);
                }
                3 => {
                    run();
                    run();
                }
                _ => run(),
            },
        );
    }
    if rng.u8(0..5) == 0 {
        let (slow, late) = (now_and_then(rng, 31), now_and_then(rng, 37));
        pool = pool
            .on_slow(move |_, _| slow())
            .on_late(micros(rng, 1_000), move |_, _| late());
    }
    if rng.u8(0..6) == 0 {
        pool = pool
            .on_thread_start(now_and_then(rng, 7))
            .on_thread_stop(now_and_then(rng, 7));
    }
    if rng.u8(0..8) == 0 {
        pool = pool.enter(|| Box::new(0u8)).on_terminated(|| panic_any(Own));
    }
    pool
}

fn threads(rng: &mut Rng, pool: PoolBuilder) -> PoolBuilder {
    let core = rng.usize(0..=3);
    let pool = pool
        .core_threads(core)
        .max_threads((core + rng.usize(0..=2)).max(1))
        .keep_alive(Duration::from_micros(rng.u64(1..20_000)))
        .core_timeout(rng.u8(0..4) == 0)
        .prestart(rng.bool())
        .spare_threads(rng.usize(0..=2));
    let pool = if rng.bool() {
        pool.blocking_threads(rng.usize(1..=3))
    } else {
        pool
    };
    match rng.u8(0..4) {
        0 => pool.growth(Growth::ThreadsFirst),
        _ => pool,
    }
}

/// A builder with random settings, and the same in words.
fn draw(rng: &mut Rng) -> (PoolBuilder, Settings) {
    let pool = threads(rng, Pool::builder("chaos"))
        .queue(queue(rng))
        .on_full(reject(rng));
    let covers = rng.u8(0..3) == 0;
    let mut pool = hooks(rng, pool)
        .capacity_covers_delayed(covers)
        .inherit_priority(rng.u8(0..4) == 0);
    if rng.u8(0..5) == 0 {
        pool = pool.time_limit(micros(rng, 3_000) + Duration::from_micros(50));
    }
    if rng.u8(0..5) == 0 {
        pool = pool.slow_after(micros(rng, 3_000) + Duration::from_micros(50));
    }
    if rng.u8(0..3) == 0 {
        pool = pool.recorder(rng.usize(1..2_000));
    }
    if rng.u8(0..8) == 0 {
        pool = pool.on_blocking(OnBlocking::Error);
    }
    let on_drop = [OnDrop::Close, OnDrop::Stop, OnDrop::Detach][rng.usize(0..3)];
    pool = pool.on_drop(on_drop);
    let stays = rng.u8(0..4) == 0;
    if stays {
        pool = pool
            .delayed_at_shutdown(AtShutdown::Run)
            .repeating_at_shutdown(AtShutdown::Run);
    }
    let clock = (rng.u8(0..3) == 0).then(Clock::manual);
    if let Some(clock) = &clock {
        pool = pool.clock(clock);
    }
    let text = format!("{pool:?}");
    let settings = Settings {
        clock,
        stays,
        covers,
        text,
    };
    (pool, settings)
}

/// Draws until the settings fit each other.
pub(crate) fn pool(rng: &mut Rng) -> (Pool, Settings) {
    loop {
        let (builder, settings) = draw(rng);
        if let Ok(pool) = builder.build() {
            return (pool, settings);
        }
    }
}

/// A hook that keeps nothing: for pools that live for a moment.
pub(crate) fn small(rng: &mut Rng) -> Option<Pool> {
    let (builder, _) = draw(rng);
    // On the system's clock: the caretaker drives one clock only.
    builder
        .clock(Clock::system())
        .delayed_at_shutdown(AtShutdown::Drop)
        .repeating_at_shutdown(AtShutdown::Drop)
        .build()
        .ok()
}
