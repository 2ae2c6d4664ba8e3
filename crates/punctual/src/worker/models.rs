//! Loom models of sleeping and waking, and of a whole pool small enough to search.

use super::idle::{Bed, Idle};
use crate::models::model;
use crate::queue::Capacity;
use crate::queue::deque::Taken;
use crate::queue::locals::Victims;
use crate::queue::room::Room;
use crate::sync::Arc;
use crate::task::Class;
use crate::task::record::{Inline, Slot};
use crate::time::{Clock, Place, Wait};
use crate::{Pool, State};
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::thread;
use std::time::Duration;

struct Site {
    room: Room<()>,
    idle: Idle,
    clock: Clock,
}

impl Site {
    fn new() -> Arc<Self> {
        Arc::new(Site {
            room: Room::new(Capacity::Unbounded, ()),
            idle: Idle::new(),
            clock: Clock::system(),
        })
    }

    /// A submission: push under the lock, look at the idle word after it.
    fn submit(&self) {
        self.room
            .push(Inline::new(|| ()))
            .expect("it is open and unbounded");
        self.idle.notify();
    }

    /// A worker until it has run one task: search, lie down, look once more, sleep.
    fn take_one(&self) {
        let bed = Arc::new(Bed::new());
        let mut slot = Slot::empty();
        let mut searching = self.idle.search();
        loop {
            if self.room.pop(&mut slot, || ()) {
                slot.run();
                if let Some(searching) = searching
                    && self.idle.found(searching)
                    && !self.room.is_empty()
                {
                    self.idle.notify();
                }
                return;
            }
            let asleep = self.idle.lie_down(&bed, searching.take());
            if !self.room.is_empty() {
                searching = Some(self.idle.rise(&bed, asleep));
                continue;
            }
            let wait = Wait {
                word: &bed.word,
                mask: Bed::CALLED,
                expected: 0,
                interrupt: None,
                deadline: None,
            };
            let _ = self.clock.wait(&wait, Place::Parked(0));
            searching = Some(self.idle.called(&bed, asleep));
        }
    }
}

/// A sleeper and a push: whoever comes second sees the first. Loom reports a deadlock if a wake-up is lost.
#[test]
fn a_push_wakes_the_sleeper() {
    model(3, || {
        let site = Site::new();
        let other = site.clone();
        let worker = thread::spawn(move || other.take_one());
        site.submit();
        worker.join().unwrap();
    });
}

/// Two tasks, two workers: the second task must not wait beside a sleeping worker because the first was being fetched
/// by a searcher.
#[test]
fn the_last_searcher_passes_the_word_on() {
    model(2, || {
        let site = Site::new();
        let workers = [site.clone(), site.clone()].map(|site| thread::spawn(move || site.take_one()));
        site.submit();
        site.submit();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// Submission meets shutdown, on a whole pool: accepted means run, and the pool ends.
#[test]
fn submit_meets_shutdown() {
    model(3, || {
        let runs = Arc::new(AtomicUsize::new(0));
        let pool = Pool::builder("model").core_threads(1).build().unwrap();
        let (other, count) = (pool.clone(), runs.clone());
        let submitter = thread::spawn(move || {
            other
                .execute(move || {
                    count.fetch_add(1, SeqCst);
                })
                .is_ok()
        });
        pool.shutdown();
        let accepted = submitter.join().unwrap();
        assert!(pool.await_termination(Duration::MAX));
        assert_eq!(pool.state(), State::Terminated);
        assert_eq!(runs.load(SeqCst), usize::from(accepted));
        let _ = pool.close();
    });
}

/// A canceller that settles last must not outlive the engine it settles with.
#[test]
fn cancel_meets_the_end_of_the_pool() {
    model(2, || {
        let pool = Pool::builder("model").core_threads(1).build().unwrap();
        let task = pool.submit(|| 7).unwrap();
        let watcher = task.task_ref();
        let canceller = thread::spawn(move || watcher.cancel());
        drop(pool);
        let cancel = canceller.join().unwrap();
        assert_eq!(task.join().is_ok(), cancel == crate::Cancel::TooLate);
    });
}

/// As [`a_push_wakes_the_sleeper`], for a task that a worker puts into its own deque while another falls asleep.
#[test]
fn a_local_push_wakes_the_sleeper() {
    model(3, || {
        let room: Room<()> = Room::with(Capacity::Unbounded, None, true, &Clock::system(), ());
        let site = Arc::new((room, Idle::new(), Clock::system()));
        let other = site.clone();
        let count = Arc::new(AtomicUsize::new(0));
        let ran = count.clone();
        let thief = thread::spawn(move || {
            let (room, idle, clock) = &*other;
            let locals = room.locals().unwrap();
            let me = locals.join(0);
            let bed = Arc::new(Bed::new());
            let mut victims = Victims::default();
            let mut searching = idle.search();
            let mut slot = Slot::empty();
            loop {
                locals.look(&me, &mut victims);
                let stolen = victims
                    .deques()
                    .iter()
                    .any(|each| each.steal(&me, &locals.heed, &mut slot) == Taken::Task);
                if stolen {
                    slot.run();
                    if let Some(searching) = searching {
                        let _ = idle.found(searching);
                    }
                    return;
                }
                let asleep = idle.lie_down(&bed, searching.take());
                if !room.is_empty() {
                    searching = Some(idle.rise(&bed, asleep));
                    continue;
                }
                let wait = Wait {
                    word: &bed.word,
                    mask: Bed::CALLED,
                    expected: 0,
                    interrupt: None,
                    deadline: None,
                };
                let _ = clock.wait(&wait, Place::Parked(0));
                searching = Some(idle.called(&bed, asleep));
            }
        });
        let (room, idle, _) = &*site;
        let locals = room.locals().unwrap();
        let owner = locals.join(0);
        let task = Inline::new(move || {
            ran.fetch_add(1, SeqCst);
        });
        owner.push(Class::ROOT, task, || 0);
        idle.notify();
        thief.join().unwrap();
        assert_eq!(count.load(SeqCst), 1);
    });
}
