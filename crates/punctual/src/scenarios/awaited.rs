//! Scenarios of futures: closures and futures mixed, in views and out of them, woken, cancelled, asleep, and a pool that ends. Each
//! goes through a plain pool and through one whose workers have deques.

use super::{Marks, assert_all_settled, explore, pool};
use crate::{Capacity, Pool, Queue, future, task};
use shuttle::sync::Arc;
use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::thread;
use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Ready when it was rung; nobody polls it twice at once.
#[derive(Clone, Default)]
struct Bell(Arc<Inner>);

#[derive(Default)]
struct Inner {
    inside: AtomicUsize,
    ring: Mutex<(bool, Option<Waker>)>,
}

impl Bell {
    fn future(&self) -> impl Future<Output = ()> + Send + 'static {
        let inner = self.0.clone();
        poll_fn(move |context| {
            assert_eq!(inner.inside.fetch_add(1, SeqCst), 0, "two polls at once");
            let waker = context.waker().clone();
            let old = {
                let mut ring = inner.ring.lock().unwrap();
                let old = ring.1.replace(waker);
                (ring.0, old)
            };
            inner.inside.fetch_sub(1, SeqCst);
            drop(old.1);
            if old.0 { Poll::Ready(()) } else { Poll::Pending }
        })
    }

    fn ring(&self) {
        let waker = {
            let mut ring = self.0.ring.lock().unwrap();
            ring.0 = true;
            ring.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The kinds of pool: plain, and with deques.
type Make = fn(usize) -> Pool;

fn stealing(threads: usize) -> Pool {
    let builder = Pool::builder("scenario").core_threads(threads);
    let queue = Queue::stealing(Capacity::Unbounded);
    builder.queue(queue).build().expect("valid settings")
}

/// Futures in a lane and beside it, a closure, wakes from outside, and a pool that closes: everything runs to its end.
fn wakes_in_a_lane_and_a_close(make: Make) {
    let pool = make(2);
    let lane = pool.lane();
    let bells = [Bell::default(), Bell::default(), Bell::default()];
    let tasks = [
        lane.spawn(bells[0].future()).unwrap(),
        lane.spawn(bells[1].future()).unwrap(),
        pool.spawn(bells[2].future()).unwrap(),
    ];
    lane.execute(|| ()).unwrap();
    let ringer = thread::spawn(move || bells.iter().for_each(Bell::ring));
    pool.shutdown();
    for task in tasks {
        task.join().unwrap();
    }
    ringer.join().unwrap();
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
    let stats = lane.view_stats();
    assert_eq!((stats.queued, stats.active), (0, 0));
}

#[test]
fn wake_lane_close() {
    explore(|| wakes_in_a_lane_and_a_close(pool));
}

#[test]
fn wake_lane_close_stealing() {
    explore(|| wakes_in_a_lane_and_a_close(stealing));
}

/// Wakes, a cancel and a stop at once: every handle has an answer, every future has one end, and the pool ends.
fn wakes_a_cancel_and_a_stop(make: Make) {
    let pool = make(2);
    let bells = [Bell::default(), Bell::default()];
    let tasks: Vec<_> = bells
        .iter()
        .map(|bell| pool.spawn(bell.future()).unwrap())
        .collect();
    let ringer = thread::spawn(move || bells.iter().for_each(Bell::ring));
    let other = tasks[0].task_ref();
    let canceller = thread::spawn(move || other.cancel());
    drop(pool.stop());
    for task in tasks {
        let _ = task.join();
    }
    ringer.join().unwrap();
    canceller.join().unwrap();
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
}

#[test]
fn wake_cancel_stop() {
    explore(|| wakes_a_cancel_and_a_stop(pool));
}

#[test]
fn wake_cancel_stop_stealing() {
    explore(|| wakes_a_cancel_and_a_stop(stealing));
}

/// A task that submits closures, futures and tasks of views to its own pool, and a future that does the same; wakes come from outside,
/// one is cancelled, and the pool closes.
fn all_kinds_from_inside(make: Make) {
    let pool = make(2);
    let (bell, marks) = (Bell::default(), Marks::default());
    let (rung, theirs) = (bell.clone(), marks.clone());
    let parent = pool.submit(move || {
        let Some(own) = task::current_executor() else {
            return;
        };
        let (lane, limit) = (own.lane(), own.limit(1).unwrap());
        let cancelled = own.submit(theirs.closure());
        let _ = lane.submit(theirs.closure());
        let _ = limit.spawn(rung.future());
        let _ = own.spawn(async move {
            let inner = task::current_executor().and_then(|own| own.submit(theirs.closure()).ok());
            if let Some(inner) = inner {
                let _ = inner.await;
            }
        });
        cancelled.into_iter().for_each(|task| _ = task.cancel());
    });
    let ringer = thread::spawn(move || bell.ring());
    parent.unwrap().join().unwrap();
    assert!(pool.close().terminated);
    ringer.join().unwrap();
    assert_all_settled(&pool.stats());
    assert!(marks.drops() >= marks.runs());
}

#[test]
fn all_kinds_close() {
    explore(|| all_kinds_from_inside(pool));
}

#[test]
fn all_kinds_close_stealing() {
    explore(|| all_kinds_from_inside(stealing));
}

/// Futures that sleep: one is over at once, one waits for an hour that never passes, until it is cancelled or its pool stops.
fn sleeps_a_cancel_and_a_stop(make: Make) {
    const HOUR: Duration = Duration::from_secs(3600);
    let pool = make(2);
    let over = pool.spawn(future::sleep(Duration::ZERO)).unwrap();
    let asleep = pool.spawn(future::sleep(HOUR)).unwrap();
    let given_up = pool.spawn(async {
        let never = future::timeout(HOUR, std::future::pending::<()>());
        future::timeout(Duration::ZERO, never).await.is_err()
    });
    let other = asleep.task_ref();
    let canceller = thread::spawn(move || other.cancel());
    over.join().unwrap();
    assert!(given_up.unwrap().join().unwrap());
    drop(pool.stop());
    assert!(asleep.join().is_err(), "an hour has not passed");
    canceller.join().unwrap();
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
}

#[test]
fn sleep_cancel_stop() {
    explore(|| sleeps_a_cancel_and_a_stop(pool));
}

#[test]
fn sleep_cancel_stop_stealing() {
    explore(|| sleeps_a_cancel_and_a_stop(stealing));
}

/// Handles and wakers that are dropped while the future comes to rest: nobody could wake it, and the pool ends.
#[test]
fn unwanted_close() {
    explore(|| {
        let pool = pool(1);
        let bell = Bell::default();
        let task = pool.spawn(bell.future()).unwrap();
        let dropper = thread::spawn(move || {
            let waker = bell.0.ring.lock().unwrap().1.take();
            drop(waker);
            bell
        });
        drop(task);
        let bell = dropper.join().unwrap();
        // Polled after the other looked: it left another waker.
        let waker = bell.0.ring.lock().unwrap().1.take();
        drop(waker);
        pool.submit(|| ()).unwrap().join().unwrap();
        let waker = bell.0.ring.lock().unwrap().1.take();
        drop(waker);
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
        assert_eq!(pool.stats().cancelled, 1);
    });
}

/// Is polled so often again, each time because it woke itself.
async fn yields(times: usize) {
    for _ in 0..times {
        future::yield_now().await;
    }
}

/// The worker that keeps a future may be the one too many, and the other sees a closed pool in which nothing waits.
fn yields_a_resize_and_a_close(make: Make) {
    let pool = make(2);
    pool.execute(|| ()).unwrap();
    let task = pool.spawn(yields(8)).unwrap();
    let smaller = pool.clone();
    let resizer = thread::spawn(move || smaller.resize(1, 1).map(drop));
    pool.shutdown();
    task.join().unwrap();
    resizer.join().unwrap().unwrap();
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
}

#[test]
fn yield_resize_close() {
    explore(|| yields_a_resize_and_a_close(pool));
}

#[test]
fn yield_resize_close_stealing() {
    explore(|| yields_a_resize_and_a_close(stealing));
}

/// Futures that yield, a task that waits for one of them, a pause, a resume and a cancel; then the pool stops.
fn yields_a_wait_a_pause_and_a_stop(make: Make) {
    let pool = make(2);
    let first = pool.spawn(yields(3)).unwrap();
    let second = pool.spawn(yields(3)).unwrap();
    let third = pool.spawn(yields(9)).unwrap();
    let waits = pool.submit(move || first.join().is_ok()).unwrap();
    let paused = pool.clone();
    let pauser = thread::spawn(move || {
        paused.pause();
        let stats = paused.stats();
        assert!(stats.active <= stats.threads, "{stats:?}");
        paused.resume();
    });
    let other = second.task_ref();
    let canceller = thread::spawn(move || other.cancel());
    assert!(waits.join().unwrap(), "nobody stops or cancels it");
    pauser.join().unwrap();
    let _ = second.join();
    canceller.join().unwrap();
    drop(pool.stop());
    let _ = third.join();
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
}

#[test]
fn yield_wait_pause_stop() {
    explore(|| yields_a_wait_a_pause_and_a_stop(pool));
}
