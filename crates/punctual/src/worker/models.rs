//! Loom models of sleeping and waking, and of a whole pool small enough to search.

use super::idle::{Asleep, Bed, Idle, Searching};
use crate::models::model;
use crate::queue::Capacity;
use crate::queue::deque::Taken;
use crate::queue::locals::Victims;
use crate::queue::room::Room;
use crate::queue::yielded::OwnYields;
use crate::queue::yielded::models::{end, entry};
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

    /// Until somebody calls.
    fn sleep(&self, bed: &Bed, asleep: Asleep) -> Searching {
        let wait = Wait {
            word: &bed.word,
            mask: Bed::CALLED,
            expected: 0,
            interrupt: None,
            deadline: None,
        };
        let _ = self.clock.wait(&wait, Place::Parked(0));
        self.idle.called(bed, asleep)
    }

    /// A worker until it has run one task: search, lie down, look once more, sleep.
    fn take_one(&self) {
        let bed = Arc::new(Bed::new());
        let mut slot = Slot::empty();
        let mut searching = self.idle.search();
        loop {
            if self.room.take_one(&mut slot) {
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
            searching = Some(self.sleep(&bed, asleep));
        }
    }
}

impl Site {
    /// A worker that has a task, and keeps this many futures beside it.
    fn keep_beside_a_task(&self, own: &Arc<OwnYields>, futures: usize) {
        (0..futures).for_each(|_| self.room.keep_yielded(own, entry(), || 0));
        self.room.offer_yields();
        self.idle.notify();
    }

    /// As [`Site::take_one`], for a future that another worker keeps.
    fn take_one_yielded(&self) {
        let (bed, own, mut slot) = (Arc::new(Bed::new()), OwnYields::new(), Slot::empty());
        let mut searching = None;
        loop {
            if self.room.take_any_yielded(&own, &mut slot) {
                if self.room.offers_yields() {
                    self.idle.notify();
                }
                slot.take_entry().into_iter().for_each(end);
                if let Some(searching) = searching
                    && self.idle.found(searching)
                    && self.room.offers_yields()
                {
                    self.idle.notify();
                }
                return;
            }
            let asleep = self
                .idle
                .lie_down(&bed, searching.take().or_else(|| self.idle.search()));
            if self.room.offers_yields() {
                searching = Some(self.idle.rise(&bed, asleep));
                continue;
            }
            searching = Some(self.sleep(&bed, asleep));
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

/// A worker takes a task while it keeps a future, and another falls asleep: it is called, or sees that there is something.
#[test]
fn futures_on_offer_meet_a_worker_that_lies_down() {
    model(3, || {
        let site = Site::new();
        let other = site.clone();
        let worker = thread::spawn(move || other.take_one_yielded());
        site.keep_beside_a_task(&OwnYields::new(), 1);
        worker.join().unwrap();
    });
}

/// Two workers offer a future each, with one flag for both. Who takes the first takes the flag down, and must not leave the second
/// beside a worker that sleeps.
fn two_offers_meet_two_thieves(preemptions: usize, before: usize) {
    model(preemptions, move || {
        let site = Site::new();
        let offer = || site.keep_beside_a_task(&OwnYields::new(), 1);
        (0..before).for_each(|_| offer());
        let thieves = [site.clone(), site.clone()].map(|site| thread::spawn(move || site.take_one_yielded()));
        (before..2).for_each(|_| offer());
        for thief in thieves {
            thief.join().unwrap();
        }
    });
}

#[test]
fn a_thief_passes_on_what_another_offers() {
    two_offers_meet_two_thieves(3, 1);
}

/// Both may sleep, and one is called for both.
#[test]
fn a_thief_that_was_called_passes_on_what_it_leaves() {
    two_offers_meet_two_thieves(2, 0);
}

/// A flag that outlives the line it spoke for keeps nobody awake.
#[test]
fn an_offer_whose_line_is_gone_lets_others_sleep() {
    model(2, || {
        let site = Site::new();
        let (own, mut slot) = (OwnYields::new(), Slot::empty());
        site.keep_beside_a_task(&own, 1);
        assert!(site.room.take_any_yielded(&own, &mut slot));
        slot.take_entry().into_iter().for_each(end);
        site.room.forget_yields(&own);
        assert!(site.room.offers_yields(), "nobody has looked");
        assert!(!site.room.take_any_yielded(&OwnYields::new(), &mut slot));
        assert!(!site.room.offers_yields());
    });
}
