//! Fault 23: every pair of verbs, from every place where user code runs, ends, and the books balance.

use crate::support::{assert_all_settled, hold, in_time, poll_once, quiet_panic};
use punctual::{Executor, Pool, Queue, TaskRef, Unrun};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Verb {
    Submit,
    Execute,
    Cancel,
    Shutdown,
    Stop,
    Drain,
    Stats,
    Debug,
    WaitIdle,
}

const VERBS: [Verb; 9] = [
    Verb::Submit,
    Verb::Execute,
    Verb::Cancel,
    Verb::Shutdown,
    Verb::Stop,
    Verb::Drain,
    Verb::Stats,
    Verb::Debug,
    Verb::WaitIdle,
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    Task,
    BeforeHook,
    AfterHook,
    /// On the thread that cancels a waiting task.
    AfterHookOfCancelled,
    FailureSink,
    /// The closure has run.
    ClosureDrop,
    /// The closure is dropped by a cancel.
    CancelledClosureDrop,
    Waker,
}

const PLACES: [From; 8] = [
    From::Task,
    From::BeforeHook,
    From::AfterHook,
    From::AfterHookOfCancelled,
    From::FailureSink,
    From::ClosureDrop,
    From::CancelledClosureDrop,
    From::Waker,
];

/// What the two verbs work on. They run once, at the first occasion after it was armed.
struct Scene {
    verbs: [Verb; 2],
    pool: Mutex<Option<Pool>>,
    victims: Mutex<Vec<TaskRef>>,
    accepted: AtomicU64,
    returned: AtomicU64,
    armed: AtomicBool,
    done: AtomicBool,
}

impl Scene {
    fn play(&self) {
        if !self.armed.swap(false, SeqCst) {
            return;
        }
        let pool = self
            .pool
            .lock()
            .unwrap()
            .clone()
            .expect("the test still has the pool");
        for verb in self.verbs {
            self.act(verb, &pool);
        }
        self.done.store(true, SeqCst);
    }

    fn act(&self, verb: Verb, pool: &Pool) {
        match verb {
            Verb::Submit => self.count(pool.submit(|| ()).is_ok()),
            Verb::Execute => self.count(pool.execute(|| ()).is_ok()),
            Verb::Cancel => {
                let victim = self.victims.lock().unwrap().pop();
                if let Some(victim) = victim {
                    victim.cancel();
                }
            }
            Verb::Shutdown => pool.shutdown(),
            Verb::Stop => self.take_back(pool.stop()),
            Verb::Drain => self.take_back(pool.drain()),
            Verb::Stats => assert!(pool.stats().submitted > 0),
            Verb::Debug => {
                let executor: &Executor = pool;
                assert!(format!("{pool:?} {executor:?}").contains("submitted"));
            }
            Verb::WaitIdle => {
                let _ = pool.wait_idle(Duration::ZERO);
            }
        }
    }

    fn count(&self, accepted: bool) {
        self.accepted.fetch_add(u64::from(accepted), SeqCst);
    }

    fn take_back(&self, unrun: Vec<Unrun>) {
        self.returned.fetch_add(unrun.len() as u64, SeqCst);
    }
}

struct PlaysOnDrop(Arc<Scene>);

impl Drop for PlaysOnDrop {
    fn drop(&mut self) {
        self.0.play();
    }
}

struct PlaysOnWake(Arc<Scene>);

impl Wake for PlaysOnWake {
    fn wake(self: Arc<Self>) {
        self.0.play();
    }
}

fn play(from: From, verbs: [Verb; 2]) {
    let scene = Arc::new(Scene {
        verbs,
        pool: Mutex::new(None),
        victims: Mutex::default(),
        accepted: AtomicU64::new(0),
        returned: AtomicU64::new(0),
        armed: AtomicBool::new(false),
        done: AtomicBool::new(false),
    });
    let at = |this: From| {
        let scene = scene.clone();
        move || {
            if from == this {
                scene.play();
            }
        }
    };
    let (before, after, failure) = (at(From::BeforeHook), at(From::AfterHook), at(From::FailureSink));
    let after_cancelled = at(From::AfterHookOfCancelled);
    let pool = Pool::builder("scene")
        .core_threads(1)
        .queue(Queue::unbounded())
        .before_task(move |_| before())
        .after_task(move |_, _| {
            after();
            after_cancelled();
        })
        .on_failure(move |_, _| failure())
        .build()
        .unwrap();
    *scene.pool.lock().unwrap() = Some(pool.clone());
    let held = hold(&pool);
    let mut accepted = 1;

    // The scene's task is the first of those that wait, the victims come after it.
    let body = at(From::Task);
    let captured = matches!(from, From::ClosureDrop | From::CancelledClosureDrop);
    let captured = captured.then(|| PlaysOnDrop(scene.clone()));
    let mut task = pool
        .submit(move || {
            let _captured = captured;
            body();
            if from == From::FailureSink {
                quiet_panic("for the sink");
            }
        })
        .unwrap();
    let victims: Vec<_> = (0..3).map(|_| pool.submit(|| ()).unwrap()).collect();
    accepted += 4;
    *scene.victims.lock().unwrap() = victims.iter().map(|task| task.task_ref()).collect();
    scene.armed.store(true, SeqCst);
    match from {
        From::AfterHookOfCancelled | From::CancelledClosureDrop => {
            task.cancel();
            drop(held);
        }
        From::Waker => {
            assert!(poll_once(&mut task, &Waker::from(Arc::new(PlaysOnWake(scene.clone())))).is_pending());
            drop(held);
            task.wait();
        }
        From::FailureSink => {
            // A failure is told to the sink where the handle is gone.
            drop(task);
            drop(held);
        }
        _ => drop(held),
    }
    crate::support::until("the scene is over", || scene.done.load(SeqCst));
    assert!(pool.close().terminated, "{from:?} {verbs:?}");
    for victim in &victims {
        assert!(victim.is_finished(), "{from:?} {verbs:?}: {victim:?}");
    }
    let stats = pool.stats();
    assert_all_settled(&stats);
    assert_eq!(
        stats.submitted,
        accepted + scene.accepted.load(SeqCst),
        "{from:?} {verbs:?}"
    );
    assert_eq!(stats.returned, scene.returned.load(SeqCst), "{from:?} {verbs:?}");
    assert_eq!(stats.hook_panics, 0, "{from:?} {verbs:?}");
    scene.pool.lock().unwrap().take();
}

#[test]
fn fault_23_every_pair_of_verbs_from_every_place_ends_and_balances() {
    for from in PLACES {
        in_time(move || {
            for first in VERBS {
                for second in VERBS {
                    play(from, [first, second]);
                }
            }
        });
    }
}
