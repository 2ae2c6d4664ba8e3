//! What a full pool answers (`REJ-..`), and the line before it.
//!
//! Full means: one thread, held inside a task, and one place in the queue, taken. Where somebody waits for room, time is a
//! manual clock and the one who waits sits in a task of a second pool on that clock: see the note in `life`.

/// Rules of the user's own: REJ-02.
mod asking;
/// The submitting thread runs the task: REJ-05.
mod caller_runs;
/// Many submitters at once: REJ-06, the line, the wait.
mod crowding;
/// The newcomer is thrown away: REJ-04.
mod discarding;
/// The oldest is thrown away: REJ-06.
mod evicting;
/// First come, first served, blocking or as a future.
mod line;
/// Places that are promised to those in line.
mod promising;
/// Tasks that come back: REJ-01, REJ-03, REJ-08.
mod refusing;
/// The submitter waits for room, with a limit.
mod waiting;

use crate::life::settle;
use crate::support::{Held, hold, poll_once};
use punctual::{Answer, ManualClock, Pool, PoolBuilder, Queue, Reason, Reject, Rejected, TaskHandle, task};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Longer than any test moves its clock.
const AGES: Duration = Duration::from_secs(1_000_000);

/// One thread, one place.
fn small(reject: Reject) -> PoolBuilder {
    Pool::builder("small")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .on_full(reject)
}

/// As [`small`], with another queue.
fn with_queue(queue: Queue, reject: Reject) -> Pool {
    small(reject).queue(queue).build().expect("valid settings")
}

/// A pool whose one thread and one place are taken. (The gate goes first: the drop of a pool waits for its tasks.)
struct Full {
    held: Held,
    /// The task that waits.
    queued: TaskHandle<&'static str>,
    pool: Pool,
}

fn fill(pool: Pool) -> Full {
    let held = hold(&pool);
    let queued = pool.submit(|| "queued").expect("one place is free");
    Full { held, queued, pool }
}

fn full(reject: Reject) -> Full {
    fill(small(reject).build().expect("valid settings"))
}

/// As [`Full`], on a manual clock: the thread is held by a sleep.
struct Still {
    clock: ManualClock,
    busy: TaskHandle<()>,
    queued: TaskHandle<&'static str>,
    pool: Pool,
}

fn still(reject: Reject) -> Still {
    let clock = punctual::Clock::manual();
    let pool = small(reject).clock(&clock).build().expect("valid settings");
    let busy = pool.submit(|| _ = task::sleep(AGES)).expect("a free thread");
    // Taken, and asleep.
    settle(&clock);
    let queued = pool.submit(|| "queued").expect("one place is free");
    Still {
        clock,
        busy,
        queued,
        pool,
    }
}

impl Still {
    /// The thread becomes free, and all that was accepted is run.
    fn let_go(&self) {
        let _ = self.busy.cancel();
        settle(&self.clock);
    }
}

fn every_policy() -> [Reject; 6] {
    [
        Reject::Abort,
        Reject::CallerRuns,
        Reject::Discard,
        Reject::DiscardOldest,
        Reject::Block(AGES),
        Reject::custom(|_| Answer::CallerRuns),
    ]
}

/// A task that counts its run.
fn counting(runs: &Arc<AtomicUsize>) -> impl FnOnce() + Send + use<> {
    let runs = runs.clone();
    move || {
        runs.fetch_add(1, SeqCst);
    }
}

/// The reason of a refusal. The task must have come back whole: it is run here.
fn refused<X, F: FnOnce() -> R, R>(answer: Result<X, Rejected<F>>) -> Reason {
    match answer {
        Ok(_) => panic!("it was let in"),
        Err(refused) => {
            let reason = refused.reason().clone();
            let _ = refused.into_task()();
            reason
        }
    }
}

/// The same for a batch.
fn all_refused<X, F: FnOnce() -> R, R>(answer: Result<X, Rejected<Vec<F>>>) -> Reason {
    let Err(refused) = answer else {
        panic!("it was let in");
    };
    let reason = refused.reason().clone();
    for task in refused.into_task() {
        let _ = task();
    }
    reason
}

fn counter() -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(0))
}

/// Name or number, and outcome, of every task the after hook was told of.
type Told = Arc<Mutex<Vec<(Option<String>, String)>>>;

/// As [`full`], with a hook that writes every end down, and one that counts the starts. (On a manual clock: `wait_idle` does
/// not wait for the after hook.)
fn watched(clock: &ManualClock, reject: Reject) -> (Full, Told, Arc<AtomicUsize>) {
    let (told, starts) = (Told::default(), counter());
    let (notes, begun) = (told.clone(), starts.clone());
    let pool = small(reject)
        .clock(clock)
        .before_task(move |_| _ = begun.fetch_add(1, SeqCst))
        .after_task(move |task, outcome| {
            let name = task.name.map(str::to_owned);
            notes.lock().unwrap().push((name, format!("{outcome:?}")));
        })
        .build()
        .unwrap();
    (fill(pool), told, starts)
}

type InLine<T> = Pin<Box<dyn Future<Output = Result<TaskHandle<T>, Reason>> + Send>>;

/// A submission as a future.
fn submit_async<T: Send + 'static>(pool: &Pool, f: impl FnOnce() -> T + Send + 'static) -> InLine<T> {
    let submission = pool.submit_async(f);
    Box::pin(async {
        submission
            .await
            .map_err(|refused: Rejected<_>| refused.reason().clone())
    })
}

/// One that stands in line.
fn in_line<T: Send + 'static>(pool: &Pool, value: T) -> InLine<T> {
    let mut submission = submit_async(pool, move || value);
    assert!(is_waiting(&mut submission), "the pool is full");
    submission
}

fn is_waiting<T>(submission: &mut InLine<T>) -> bool {
    poll_once(submission, Waker::noop()).is_pending()
}

fn accepted<T>(submission: &mut InLine<T>) -> TaskHandle<T> {
    match poll_once(submission, Waker::noop()) {
        Poll::Ready(Ok(task)) => task,
        Poll::Ready(Err(reason)) => panic!("refused: {reason}"),
        Poll::Pending => panic!("it still waits"),
    }
}
