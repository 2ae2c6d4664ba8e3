//! Counting finished tasks without disturbing what is measured: every thread that runs tasks owns one padded slot
//! and is its only writer.
//!
//! In: [`ran`], called by each task. Out: [`Tally`], what has run since the tally was started. Not here: times.

use std::{
    cell::Cell,
    hint::black_box,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    thread,
    time::Duration,
};

/// Two cache lines, because adjacent lines are prefetched in pairs.
#[repr(align(128))]
struct Slot(AtomicU64);

/// Far above what one bench process starts; the test binary opens many pools in one process.
const SLOTS: usize = 1024;
static COUNTS: [Slot; SLOTS] = [const { Slot(AtomicU64::new(0)) }; SLOTS];
static CLAIMED: AtomicUsize = AtomicUsize::new(0);

/// A sleep so short costs about 80 us with the kernel's default timer slack: 1 % of the shortest pass. A spinning
/// reader would pull the workers' lines over and take one of the cores away.
const POLL: Duration = Duration::from_micros(20);

thread_local! {
    static MINE: Cell<Option<&'static AtomicU64>> = const { Cell::new(None) };
}

/// The body of every counted task; `token` is what the closure captured, so that it is no zero-sized type.
pub(crate) fn ran(token: u64) {
    black_box(token);
    let slot = MINE.get().unwrap_or_else(claim);
    // Single writer, so no read-modify-write is needed; readers only want the number, hence relaxed.
    slot.store(slot.load(Relaxed) + 1, Relaxed);
}

#[cold]
fn claim() -> &'static AtomicU64 {
    let index = CLAIMED.fetch_add(1, Relaxed);
    assert!(
        index < SLOTS,
        "more than {SLOTS} threads counted tasks in one process"
    );
    let slot = &COUNTS[index].0;
    MINE.set(Some(slot));
    slot
}

fn total() -> u64 {
    let claimed = CLAIMED.load(Relaxed).min(SLOTS);
    COUNTS[..claimed].iter().map(|slot| slot.0.load(Relaxed)).sum()
}

/// What has run since the start of one pass. Passes in one process must not overlap.
#[derive(Debug)]
pub(crate) struct Tally {
    base: u64,
}

impl Tally {
    pub(crate) fn start() -> Self {
        Tally { base: total() }
    }

    pub(crate) fn done(&self) -> u64 {
        total() - self.base
    }

    pub(crate) fn wait_for(&self, tasks: u64) {
        while self.done() < tasks {
            thread::sleep(POLL);
        }
    }
}
