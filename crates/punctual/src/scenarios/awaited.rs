//! Scenarios of futures: closures and futures mixed, in views and out of them, woken, cancelled, and a pool that ends.

use super::{explore, pool};
use crate::Stats;
use shuttle::sync::Arc;
use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::thread;
use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};

fn assert_all_settled(stats: &Stats) {
    let ends = stats.finished + stats.panicked + stats.cancelled + stats.returned;
    assert_eq!(stats.submitted, ends, "{stats:?}");
    assert_eq!(
        (stats.queued, stats.active, stats.suspended),
        (0, 0, 0),
        "{stats:?}"
    );
}

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

/// Futures in a lane and beside it, a closure, wakes from outside, and a pool that closes: everything runs to its end.
#[test]
fn wake_lane_close() {
    explore(|| {
        let pool = pool(2);
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
    });
}

/// Wakes, a cancel and a stop at once: every handle has an answer, every future has one end, and the pool ends.
#[test]
fn wake_cancel_stop() {
    explore(|| {
        let pool = pool(2);
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
    });
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
