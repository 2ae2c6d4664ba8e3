//! Fault 8: the last owner of a pool is dropped where that pool's own code runs.

use crate::support::{LONG, hold, in_time, poll_once, quiet_panic};
use punctual::{Cancel, OnDrop, Pool, Queue};
use std::cell::RefCell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Wake, Waker};

/// The last owner, on its way to the place where it is dropped.
#[derive(Clone, Default)]
struct LastOwner {
    shared: Arc<(Mutex<Slot>, Condvar)>,
}

#[derive(Default)]
enum Slot {
    #[default]
    Awaited,
    Here(#[allow(dead_code, reason = "held to be dropped")] Pool),
    Gone,
}

impl LastOwner {
    fn hand_over(&self, pool: Pool) {
        *self.shared.0.lock().unwrap() = Slot::Here(pool);
        self.shared.1.notify_all();
    }

    /// Waits until the owner is here and drops it; only the first call does.
    fn drop_here(&self) {
        let guard = self.shared.0.lock().unwrap();
        let mut guard = self
            .shared
            .1
            .wait_while(guard, |slot| matches!(slot, Slot::Awaited))
            .unwrap();
        let last = std::mem::replace(&mut *guard, Slot::Gone);
        drop(guard);
        drop(last);
    }
}

/// Drops the last owner in its own drop: as a capture, a result, a thread-local value.
struct InDrop(LastOwner);

impl Drop for InDrop {
    fn drop(&mut self) {
        self.0.drop_here();
    }
}

impl Wake for InDrop {
    fn wake(self: Arc<Self>) {
        self.0.drop_here();
    }
}

thread_local! {
    static LOCAL: RefCell<Option<InDrop>> = const { RefCell::new(None) };
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Task,
    TaskWithHandle,
    BeforeHook,
    AfterHook,
    FailureSink,
    ThreadStart,
    ThreadStop,
    TerminatedHook,
    WakerOnWorker,
    WakerOnCanceller,
    CaptureOnWorker,
    CaptureOnCanceller,
    CaptureOfUnrun,
    Result,
    WorkerLocal,
    ForeignLocal,
}

/// Runs a pool whose last owner is dropped at `place`; returns when the pool has terminated.
fn end_at(place: Place, on_drop: OnDrop) {
    let last = LastOwner::default();
    let at = |this: Place| {
        let last = last.clone();
        move || {
            if place == this {
                last.drop_here();
            }
        }
    };
    let (ended, has_ended) = channel();
    let (before, after, failure) = (
        at(Place::BeforeHook),
        at(Place::AfterHook),
        at(Place::FailureSink),
    );
    let terminated = at(Place::TerminatedHook);
    let pool = Pool::builder("last")
        .core_threads(2)
        .queue(Queue::unbounded())
        .on_drop(on_drop)
        .before_task(move |_| before())
        .after_task(move |_, _| after())
        .on_failure(move |_, _| failure())
        .on_thread_start(at(Place::ThreadStart))
        .on_thread_stop(at(Place::ThreadStop))
        .on_terminated(move || {
            terminated();
            ended.send(()).unwrap();
        })
        .build()
        .unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let mine = ran.clone();
    // Made only where it is used: dropping one waits for the owner.
    let in_drop = || InDrop(last.clone());
    match place {
        Place::Task | Place::BeforeHook | Place::AfterHook | Place::ThreadStart => {
            let body = at(Place::Task);
            pool.execute(move || {
                body();
                mine.fetch_add(1, SeqCst);
            })
            .unwrap();
            last.hand_over(pool);
        }
        Place::TaskWithHandle => {
            let in_drop = in_drop();
            let task = pool.submit(move || in_drop.0.drop_here()).unwrap();
            last.hand_over(pool);
            task.join().unwrap();
            mine.fetch_add(1, SeqCst);
        }
        Place::FailureSink => {
            pool.execute(|| quiet_panic("for the sink")).unwrap();
            mine.fetch_add(1, SeqCst);
            last.hand_over(pool);
        }
        Place::ThreadStop | Place::TerminatedHook => {
            pool.execute(move || _ = mine.fetch_add(1, SeqCst)).unwrap();
            // They run when the pool ends, so it must have been told to; and not before this thread has handed the owner
            // over, for then the pool could end in its shutdown.
            let held = hold(&pool);
            pool.shutdown();
            last.hand_over(pool);
            drop(held);
        }
        Place::WakerOnWorker => {
            let in_drop = in_drop();
            let held = [hold(&pool), hold(&pool)];
            let mut task = pool.submit(move || mine.fetch_add(1, SeqCst)).unwrap();
            assert!(poll_once(&mut task, &Waker::from(Arc::new(in_drop))).is_pending());
            last.hand_over(pool);
            drop(held);
            task.wait();
        }
        Place::WakerOnCanceller => {
            let in_drop = in_drop();
            let held = [hold(&pool), hold(&pool)];
            let mut task = pool.submit(|| ()).unwrap();
            assert!(poll_once(&mut task, &Waker::from(Arc::new(in_drop))).is_pending());
            pool.execute(move || _ = mine.fetch_add(1, SeqCst)).unwrap();
            // The waker waits for the workers to end, so they must not wait for it.
            drop(held);
            last.hand_over(pool);
            task.cancel();
        }
        Place::CaptureOnWorker => {
            let in_drop = in_drop();
            pool.execute(move || {
                mine.fetch_add(1, SeqCst);
                drop(in_drop);
            })
            .unwrap();
            last.hand_over(pool);
        }
        Place::CaptureOnCanceller => {
            let in_drop = in_drop();
            let held = [hold(&pool), hold(&pool)];
            let task = pool.submit(move || drop(in_drop)).unwrap();
            last.hand_over(pool);
            // The drop inside waits for the pool's end, and so for the held workers.
            let letting_go = std::thread::spawn(move || drop(held));
            assert!(matches!(
                task.cancel(),
                Cancel::Removed | Cancel::Signalled | Cancel::TooLate
            ));
            letting_go.join().unwrap();
            ran.store(1, SeqCst);
        }
        Place::CaptureOfUnrun => {
            let in_drop = in_drop();
            let held = [hold(&pool), hold(&pool)];
            pool.execute(move || drop(in_drop)).unwrap();
            let unrun = pool.stop();
            assert_eq!(unrun.len(), 1);
            last.hand_over(pool);
            drop(held);
            drop(unrun);
            ran.store(1, SeqCst);
        }
        Place::Result => {
            let in_drop = in_drop();
            let task = pool.submit(move || in_drop).unwrap();
            mine.fetch_add(1, SeqCst);
            task.wait();
            last.hand_over(pool);
            drop(task);
        }
        Place::WorkerLocal => {
            let in_drop = in_drop();
            pool.execute(move || {
                LOCAL.with(|local| *local.borrow_mut() = Some(in_drop));
                mine.fetch_add(1, SeqCst);
            })
            .unwrap();
            pool.shutdown();
            last.hand_over(pool);
        }
        Place::ForeignLocal => {
            let in_drop = in_drop();
            pool.submit(move || mine.fetch_add(1, SeqCst))
                .unwrap()
                .join()
                .unwrap();
            last.hand_over(pool);
            let foreign = std::thread::spawn(move || LOCAL.with(|local| *local.borrow_mut() = Some(in_drop)));
            foreign.join().unwrap();
        }
    }
    has_ended
        .recv_timeout(LONG)
        .unwrap_or_else(|_| panic!("not terminated: {place:?}, {on_drop:?}"));
    // A task that waited when the owner stopped the pool was dropped; where nothing waited it has run.
    if on_drop != OnDrop::Stop {
        assert_eq!(ran.load(SeqCst), 1, "{place:?}, {on_drop:?}");
    }
}

fn end_often_at(place: Place) {
    in_time(move || {
        for _ in 0..60 {
            for on_drop in [OnDrop::Close, OnDrop::Stop, OnDrop::Detach] {
                end_at(place, on_drop);
            }
        }
    });
}

#[test]
fn fault_08_last_owner_dropped_in_its_own_task() {
    end_often_at(Place::Task);
    end_often_at(Place::TaskWithHandle);
}

#[test]
fn fault_08_last_owner_dropped_in_a_task_hook() {
    for place in [Place::BeforeHook, Place::AfterHook, Place::FailureSink] {
        end_often_at(place);
    }
}

#[test]
fn fault_08_last_owner_dropped_in_a_thread_hook() {
    for place in [Place::ThreadStart, Place::ThreadStop] {
        end_often_at(place);
    }
}

#[test]
fn fault_08_last_owner_dropped_in_the_terminated_hook() {
    end_often_at(Place::TerminatedHook);
}

#[test]
fn fault_08_last_owner_dropped_by_a_waker() {
    for place in [Place::WakerOnWorker, Place::WakerOnCanceller] {
        end_often_at(place);
    }
}

#[test]
fn fault_08_last_owner_dropped_with_a_closure_or_a_result() {
    for place in [Place::CaptureOnWorker, Place::CaptureOfUnrun, Place::Result] {
        end_often_at(place);
    }
}

#[test]
fn fault_08_last_owner_dropped_with_the_closure_of_a_cancelled_task() {
    end_often_at(Place::CaptureOnCanceller);
}

#[test]
fn fault_08_last_owner_dropped_by_a_thread_that_ends() {
    for place in [Place::WorkerLocal, Place::ForeignLocal] {
        end_often_at(place);
    }
}

#[test]
fn fault_08_closing_in_the_terminated_hook_returns() {
    in_time(|| {
        let shared: Arc<Mutex<Option<Pool>>> = Arc::default();
        let mine = shared.clone();
        let (tell, told) = channel();
        let pool = Pool::builder("hook")
            .core_threads(1)
            .on_terminated(move || {
                let pool = mine.lock().unwrap().take().expect("given before the end");
                let _ = pool.close();
                tell.send(()).unwrap();
            })
            .build()
            .unwrap();
        *shared.lock().unwrap() = Some(pool.clone());
        pool.submit(|| ()).unwrap().join().unwrap();
        pool.shutdown();
        told.recv_timeout(LONG).expect("the hook returns");
        assert!(pool.close().terminated);
    });
}
