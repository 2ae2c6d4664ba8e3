//! What several modules need: a worker held at a gate, and limits that are generous because machines are not.

use punctual::{Executor, Pool, Queue, Stats};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant, SystemTime};

/// A real-time limit that only a hang exceeds.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Holds one worker inside a task until dropped.
pub(crate) struct Held {
    _open: Sender<()>,
}

/// Submits a task that blocks its worker, and returns once it runs.
pub(crate) fn hold(pool: &Executor) -> Held {
    let (open, gate) = channel::<()>();
    let (begun, has_begun): (Sender<()>, Receiver<()>) = channel();
    pool.execute(move || {
        begun.send(()).expect("the test waits for this");
        // An error is the signal: the gate's owner is gone.
        let _ = gate.recv();
    })
    .expect("a pool with room");
    has_begun.recv().expect("the task runs");
    Held { _open: open }
}

/// One worker, unbounded queue.
pub(crate) fn single() -> Pool {
    Pool::builder("single")
        .core_threads(1)
        .queue(Queue::unbounded())
        .build()
        .expect("valid settings")
}

/// Runs `f` on a thread of its own and fails, instead of hanging, if it does not end.
pub(crate) fn in_time<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || {
        // An error means that the test has given up waiting.
        let _ = tell.send(f());
    });
    match told.recv_timeout(LONG) {
        Ok(result) => {
            thread.join().expect("it sent its result, so it did not panic");
            result
        }
        Err(RecvTimeoutError::Timeout) => panic!("it hangs: no end within {LONG:?}"),
        Err(RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().expect_err("it ended without a result"))
        }
    }
}

/// Runs `f` in a task of the pool, hands it a pool of its own, and gives what it returns; fails, instead of hanging.
pub(crate) fn on_worker<R: Send + 'static>(pool: &Pool, f: impl FnOnce(Pool) -> R + Send + 'static) -> R {
    let own = pool.clone();
    let task = pool.submit(move || f(own)).expect("a pool with room");
    in_time(|| task.join().expect("it does not panic"))
}

/// Looks again and again until `holds`; for what no event announces.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < LONG, "not within {LONG:?}: {what}");
        std::thread::yield_now();
    }
}

/// Panics without the message on standard error: thousands of them would hide the one that matters.
pub(crate) fn quiet_panic(text: &'static str) -> ! {
    std::panic::resume_unwind(Box::new(text))
}

/// Polls a future on this thread until it is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Polls once.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// A waker that counts its calls.
struct Calls(Arc<AtomicUsize>);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A waker, and how often it was called.
pub(crate) fn counting_waker() -> (Waker, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    (Waker::from(Arc::new(Calls(calls.clone()))), calls)
}

/// Counts its own drop.
#[derive(Debug)]
pub(crate) struct Dropped(pub(crate) Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Small random numbers, the same for the same seed (xorshift64).
pub(crate) struct Random(u64);

impl Random {
    /// The seed comes from `PUNCTUAL_SEED` or from the clock, and is printed: a failure can be run again.
    pub(crate) fn printed(test: &str) -> Random {
        let seed = env_number("PUNCTUAL_SEED").unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            now.map_or(1, |now| now.as_nanos() as u64)
        });
        println!("{test}: PUNCTUAL_SEED={seed}");
        Random::from_seed(seed)
    }

    pub(crate) fn from_seed(seed: u64) -> Random {
        // Zero is the one state that xorshift never leaves.
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From 0 to `bound - 1`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    /// Passes a random short time, so that two threads meet at ever different places.
    pub(crate) fn dawdle(&mut self, most: u64) {
        for _ in 0..self.below(most) {
            std::hint::spin_loop();
        }
    }
}

/// A number from the environment: the size of a test that is run larger on demand.
pub(crate) fn env_number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
    )
}

/// The size of a test that is large: smaller where nothing is optimised, unless `PUNCTUAL_FULL_SIZE` is set, as the gate does for
/// the largest. Its value `gate`, which the gate sets for all tests, is for [`gate_size`] only.
pub(crate) fn full_size(full: u64, unoptimised: u64) -> u64 {
    let is_full = std::env::var_os("PUNCTUAL_FULL_SIZE").is_some_and(|value| value != "gate");
    if cfg!(debug_assertions) && !is_full {
        unoptimised
    } else {
        full
    }
}

/// The size of a test that takes seconds: smaller unless `PUNCTUAL_FULL_SIZE` is set, to whatever value.
pub(crate) fn gate_size(gate: u64, elsewhere: u64) -> u64 {
    if std::env::var_os("PUNCTUAL_FULL_SIZE").is_some() {
        gate
    } else {
        elsewhere
    }
}

/// What every snapshot must satisfy.
pub(crate) fn assert_books_balance(stats: &Stats) {
    let ends = stats.finished + stats.panicked + stats.cancelled + stats.returned;
    let ends = ends + stats.expired + stats.evicted;
    let open = (stats.queued + stats.active + stats.suspended) as u64;
    assert_eq!(stats.submitted, ends + open, "{stats:?}");
    assert!(stats.active <= stats.threads, "{stats:?}");
}

/// As [`assert_books_balance`], of a pool with nothing left to do.
pub(crate) fn assert_all_settled(stats: &Stats) {
    assert_books_balance(stats);
    assert_eq!(
        (stats.queued, stats.active, stats.suspended),
        (0, 0, 0),
        "{stats:?}"
    );
}
