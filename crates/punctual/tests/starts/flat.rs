//! Fault 18: memory stays flat under a load that does not fit, whatever becomes of the tasks. Every byte that the
//! process allocates is counted. `PUNCTUAL_OVERLOAD_SECONDS` sets how long each load lasts.

use crate::counting::live;
use crate::process::{alone, lasts};
use punctual::{Pool, Queue, Reject};
use std::time::{Duration, Instant};

const PLACES: usize = 100;
/// What each task carries.
const CARGO: usize = 10_000;
/// More than what thirty tasks carry is no noise.
const SLACK: i64 = 30 * CARGO as i64;

/// Offers ten times what can be run and more, and looks how much memory is in use: after the first tenth of the time it
/// must not grow.
fn flat(reject: &Reject) {
    let pool = Pool::builder("flat")
        .core_threads(2)
        .queue(Queue::bounded(PLACES))
        .on_full(reject.clone())
        .build()
        .expect("valid");
    let time = lasts(Duration::from_millis(300));
    let begin = Instant::now();
    let (mut base, mut most, mut offered) = (0, i64::MIN, 0_u64);
    while begin.elapsed() < time {
        let cargo = vec![0_u8; CARGO];
        let body = move || {
            (0..20_000).for_each(|_| std::hint::spin_loop());
            drop(cargo);
        };
        offered += 1;
        match offered % 2 {
            0 => drop(pool.execute(body)),
            _ => drop(pool.submit(body)),
        }
        let live = live();
        if begin.elapsed() < time / 10 {
            base = base.max(live);
        } else {
            most = most.max(live);
        }
    }
    assert!(pool.close().terminated);
    let stats = pool.stats();
    let rejected = stats.rejected;
    let unfit = rejected.full + rejected.caller_ran + rejected.discarded + stats.evicted;
    println!(
        "{reject:?}: {offered} offered, {unfit} did not fit, {} bytes more",
        most - base
    );
    assert!(unfit > 0, "{reject:?}: it was no overload");
    assert!(most - base < SLACK, "{reject:?}: {} bytes more", most - base);
}

#[test]
fn fault_18_memory_stays_flat_under_overload_whatever_the_policy() {
    alone(|| {
        for reject in [
            Reject::Abort,
            Reject::CallerRuns,
            Reject::Discard,
            Reject::DiscardOldest,
            Reject::Block(Duration::from_micros(50)),
        ] {
            flat(&reject);
        }
    });
}
