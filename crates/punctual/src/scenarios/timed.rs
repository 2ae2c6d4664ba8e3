//! Scenarios of time: a moment comes while somebody cancels, pauses, closes or stops.
//!
//! No time passes here. What is due is due from the start, what is an hour away never comes, and a sleep until then ends
//! by a call only: a call that is lost is a deadlock, which shuttle reports.

use super::{Marks, explore};
use crate::task::{self, Token};
use crate::{AtShutdown, Cancel, Overlap, Pool, PoolBuilder, Queue, Reject, Schedule, Stats, TaskHandle};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::thread;
use std::time::{Duration, SystemTime};

const NOW: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3600);
const PAST: SystemTime = SystemTime::UNIX_EPOCH;

fn builder(threads: usize) -> PoolBuilder {
    Pool::builder("scenario")
        .core_threads(threads)
        .queue(Queue::unbounded())
}

/// Nothing is left of a pool that has ended, and the ends of its tasks add up.
fn assert_all_settled(pool: &Pool) -> Stats {
    assert!(pool.close().terminated);
    let stats = pool.stats();
    let ends = stats.finished + stats.panicked + stats.cancelled + stats.expired + stats.returned;
    assert_eq!(stats.submitted, ends + stats.evicted, "{stats:?}");
    let left = (stats.queued, stats.active, stats.pending_timers, stats.schedules);
    assert_eq!(left, (0, 0, 0, 0), "{stats:?}");
    assert_eq!((stats.threads, stats.keepers), (0, 0), "{stats:?}");
    stats
}

/// One of each: due by the one clock, due by the other, far away.
fn three(pool: &Pool, marks: &Marks) -> Vec<TaskHandle<usize>> {
    let tasks = [
        pool.after(NOW, marks.closure()),
        pool.at(PAST, marks.closure()),
        pool.after(HOUR, marks.closure()),
    ];
    tasks.into_iter().filter_map(Result::ok).collect()
}

/// What a body that runs again and again counts; two at once are an error.
#[derive(Clone, Default)]
struct Turns(Arc<[AtomicUsize; 3]>);

impl Turns {
    fn runs(&self) -> usize {
        self.0[0].load(SeqCst)
    }
    fn drops(&self) -> usize {
        self.0[1].load(SeqCst)
    }
    fn at_once(&self) -> usize {
        self.0[2].load(SeqCst)
    }
    fn body(&self, most: usize) -> impl Fn(&crate::Run) + Send + Sync + 'static {
        struct OnDrop(Turns);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.0[1].fetch_add(1, SeqCst);
            }
        }
        let guard = OnDrop(self.clone());
        move |_| {
            let turns = &guard.0;
            assert!(turns.0[2].fetch_add(1, SeqCst) < most, "too many at once");
            turns.0[0].fetch_add(1, SeqCst);
            turns.0[2].fetch_sub(1, SeqCst);
        }
    }
}

/// Cancel, fire and shutdown at once: what was due has run or was cancelled, what was not has not run.
#[test]
fn cancel_fire_shutdown() {
    explore(|| {
        let pool = builder(2).build().unwrap();
        let marks = Marks::default();
        let tasks = three(&pool, &marks);
        let watchers: Vec<_> = tasks.iter().map(TaskHandle::task_ref).collect();
        let canceller = thread::spawn(move || watchers.iter().map(|task| task.cancel()).collect::<Vec<_>>());
        pool.shutdown();
        let cancels = canceller.join().unwrap();
        let joined: Vec<_> = tasks.into_iter().map(TaskHandle::join).collect();
        let stats = assert_all_settled(&pool);
        let removed = cancels.iter().filter(|each| **each == Cancel::Removed).count();
        assert_eq!(marks.drops(), 3);
        assert_eq!(joined.iter().flatten().count() as u64, stats.finished);
        assert!(joined[2].is_err(), "an hour has not passed");
        assert!(marks.runs() <= 2 && marks.runs() + removed <= 3);
        for (joined, cancel) in joined.iter().zip(&cancels).take(2) {
            assert_eq!(joined.is_ok(), *cancel == Cancel::TooLate, "due is due");
        }
    });
}

/// Submitters, a canceller and a stop: every handle resolves, what comes back has not run.
#[test]
fn cancel_fire_stop() {
    explore(|| {
        let pool = builder(2).build().unwrap();
        let marks = Marks::default();
        let (other, theirs) = (pool.clone(), marks.clone());
        let submitter = thread::spawn(move || {
            let tasks = three(&other, &theirs);
            tasks.first().map(TaskHandle::cancel);
            tasks.last().map(TaskHandle::cancel);
            tasks
                .into_iter()
                .map(TaskHandle::join)
                .filter(Result::is_ok)
                .count()
        });
        let unrun = pool.stop();
        let finished = submitter.join().unwrap();
        let stats = assert_all_settled(&pool);
        assert_eq!(stats.returned, unrun.len() as u64);
        assert_eq!(stats.finished, finished as u64);
        drop(unrun);
        assert_eq!(
            marks.drops(),
            3,
            "run, cancelled, refused or dropped with their Unrun"
        );
    });
}

/// A drain while delayed tasks come due: run here, there, or not at all, and once.
#[test]
fn drain_fire() {
    explore(|| {
        let pool = builder(1).build().unwrap();
        let marks = Marks::default();
        let tasks = three(&pool, &marks);
        let unrun = pool.drain();
        let drained = unrun.len();
        assert!(drained <= 2, "what is not due stays");
        for task in unrun {
            task.run().unwrap();
        }
        assert_eq!(tasks[2].cancel(), Cancel::Removed);
        let ok = tasks.into_iter().filter_map(|task| task.join().ok()).count();
        let stats = assert_all_settled(&pool);
        assert_eq!((stats.returned as usize, stats.finished as usize), (drained, ok));
        assert_eq!((marks.runs(), marks.drops()), (2, 3));
    });
}

/// A pool that would wait for what never comes, a canceller, and a policy that changes: the pool ends.
#[test]
fn a_policy_that_changes_meets_the_end() {
    explore(|| {
        let pool = builder(2).delayed_at_shutdown(AtShutdown::Run).build().unwrap();
        let marks = Marks::default();
        let tasks = [(); 2].map(|()| pool.after(HOUR, marks.closure()).unwrap());
        let due = pool.after(NOW, marks.closure()).unwrap();
        let other = pool.clone();
        let changer = thread::spawn(move || other.set_delayed_at_shutdown(AtShutdown::Drop));
        let watcher = tasks[0].task_ref();
        let canceller = thread::spawn(move || watcher.cancel());
        let report = pool.close();
        assert!(report.terminated);
        changer.join().unwrap();
        let removed = usize::from(canceller.join().unwrap() == Cancel::Removed);
        assert_eq!(due.join().unwrap(), 0);
        for task in tasks {
            assert!(task.join().unwrap_err().is_cancelled());
        }
        let stats = assert_all_settled(&pool);
        assert_eq!(report.cancelled_delayed + removed, 2);
        assert_eq!((stats.finished, stats.cancelled), (1, 2));
        assert_eq!((marks.runs(), marks.drops()), (1, 3));
    });
}

/// Crowds from two threads on two pools, while the workers and a closer all move what is due.
#[test]
fn crowds_fire() {
    explore(|| {
        let pools = [(); 2].map(|()| builder(2).build().unwrap());
        let marks = Marks::default();
        let submitters: Vec<_> = pools
            .iter()
            .map(|pool| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || {
                    let tasks: Vec<_> = (0..4)
                        .filter_map(|_| pool.after(NOW, marks.closure()).ok())
                        .collect();
                    let accepted = tasks.len();
                    assert_eq!(
                        tasks.into_iter().filter_map(|task| task.join().ok()).count(),
                        accepted
                    );
                    accepted
                })
            })
            .collect();
        for pool in &pools {
            drop(pool.at(PAST, marks.closure()).unwrap());
        }
        pools[0].shutdown();
        let accepted: usize = submitters.into_iter().map(|each| each.join().unwrap()).sum();
        let finished: u64 = pools.iter().map(|pool| assert_all_settled(pool).finished).sum();
        assert_eq!(finished as usize, accepted + 2);
        assert_eq!((marks.runs(), marks.drops()), (accepted + 2, 10));
    });
}

/// The leader takes a queued task that waits for due ones: somebody else moves and runs them.
#[test]
fn a_due_task_is_waited_for() {
    explore(|| {
        let pool = builder(2).spare_threads(0).build().unwrap();
        let far = pool.after(HOUR, || ()).unwrap();
        let (give, take) = shuttle::sync::mpsc::channel();
        pool.execute(move || assert_eq!(take.recv(), Ok(7))).unwrap();
        let other = pool.clone();
        let submitter = thread::spawn(move || drop(other.after(NOW, move || give.send(7).unwrap()).unwrap()));
        assert!(pool.wait_idle(Duration::MAX) || far.is_finished());
        submitter.join().unwrap();
        assert_eq!(far.cancel(), Cancel::Removed);
        assert_eq!(assert_all_settled(&pool).finished, 2);
    });
}

/// Workers that leave when they have nothing to do: somebody is there when a task comes due, and nobody stays for one that
/// was cancelled.
#[test]
fn retire_meets_a_timer() {
    explore(|| {
        let pool = builder(0)
            .max_threads(1)
            .keep_alive(Duration::ZERO)
            .build()
            .unwrap();
        let far = pool.after(HOUR, || 1).unwrap();
        let other = pool.clone();
        let submitter = thread::spawn(move || other.after(NOW, || 2).unwrap().join().unwrap());
        assert_eq!(far.cancel(), Cancel::Removed);
        assert_eq!(pool.after(NOW, || 3).unwrap().join().unwrap(), 3);
        assert_eq!(submitter.join().unwrap(), 2);
        let stats = assert_all_settled(&pool);
        assert_eq!((stats.finished, stats.cancelled), (2, 1));
    });
}

/// The last owner goes inside a due task, while another is far away.
#[test]
fn owner_dropped_inside_a_due_task() {
    explore(|| {
        let pool = builder(1).build().unwrap();
        let far = pool.after(HOUR, || ()).unwrap();
        let inner = pool.clone();
        let near = pool.after(NOW, move || drop(inner)).unwrap();
        drop(pool);
        near.join().unwrap();
        assert!(far.join().unwrap_err().is_cancelled());
    });
}

/// A task waits for a delayed one: a spare, or the other worker, runs it.
#[test]
fn a_delayed_child_is_joined() {
    explore(|| {
        let pool = builder(1).spare_threads(1).build().unwrap();
        let inner = pool.clone();
        let parent = pool
            .submit(move || inner.after(NOW, || 7).unwrap().join().unwrap())
            .unwrap();
        assert_eq!(parent.join().unwrap(), 7);
        assert_eq!(assert_all_settled(&pool).finished, 2);
    });
}

/// A schedule that is paused, asked and resumed makes all of its runs all the same, and ends.
#[test]
fn schedule_pause_run_now() {
    explore(|| {
        let pool = builder(2).build().unwrap();
        let turns = Turns::default();
        let schedule = pool
            .schedule(Schedule::with_delay(NOW).times(2), turns.body(1))
            .unwrap();
        let other = schedule.clone();
        let pauser = thread::spawn(move || {
            other.pause();
            other.resume();
        });
        let asked = schedule.run_now().is_ok();
        pauser.join().unwrap();
        schedule.wait();
        let runs = turns.runs();
        assert!(
            runs == 2 || (runs == 3 && asked),
            "{runs} runs, one of them asked for: {asked}"
        );
        // A run that was replaced when it was due already is a task without a turn.
        assert!(assert_all_settled(&pool).finished >= runs as u64);
        assert_eq!((turns.runs(), turns.drops()), (runs, 1));
        assert_eq!(schedule.stats().runs, runs as u64);
    });
}

/// Another plan, a cancel, a pause and a stop at once: it ends, its body is gone, runs never overlap.
#[test]
fn schedule_cancel_reschedule_stop() {
    explore(|| {
        let pool = builder(2).build().unwrap();
        let turns = Turns::default();
        let schedule = pool
            .schedule(Schedule::with_delay(NOW).times(3), turns.body(1))
            .unwrap();
        let (second, third) = (schedule.clone(), schedule.clone());
        let changer = thread::spawn(move || {
            let _ = second.reschedule(Schedule::with_delay(NOW).times(2));
            second.pause();
            let _ = second.run_now();
        });
        let canceller = thread::spawn(move || third.cancel());
        let unrun = pool.stop();
        canceller.join().unwrap();
        changer.join().unwrap();
        schedule.wait();
        let stats = assert_all_settled(&pool);
        assert!(schedule.is_finished());
        assert!(schedule.run_now().is_err() && schedule.next_run().is_none());
        assert_eq!(turns.at_once(), 0);
        assert!(stats.finished >= turns.runs() as u64);
        drop(unrun);
        assert_eq!(turns.drops(), 1);
        assert_eq!(schedule.stats().runs, turns.runs() as u64);
    });
}

/// Runs that may overlap, up to two: never more, and all of them.
#[test]
fn schedule_overlapping_close() {
    explore(|| {
        let pool = builder(2).repeating_at_shutdown(AtShutdown::Run).build().unwrap();
        let turns = Turns::default();
        let plan = Schedule::every(HOUR).overlap(Overlap::Skip).times(1);
        let schedule = pool.schedule_overlapping(plan, 2, turns.body(2)).unwrap();
        let other = schedule.clone();
        let asker = thread::spawn(move || other.run_now().is_ok());
        let report = pool.close();
        assert!(report.terminated);
        let asked = asker.join().unwrap();
        schedule.wait();
        assert!(
            turns.runs() == 1 || (asked && turns.runs() == 2),
            "{} runs",
            turns.runs()
        );
        assert_all_settled(&pool);
        assert_eq!(turns.drops(), 1);
    });
}

/// A schedule that cancels itself, while somebody waits for it and another drains it away.
#[test]
fn schedule_cancels_itself() {
    explore(|| {
        let pool = builder(1).build().unwrap();
        let turns = Turns::default();
        let body = turns.body(1);
        let (give, take) = shuttle::sync::mpsc::channel::<crate::ScheduleHandle>();
        let mut own = None;
        let schedule = pool
            .schedule(Schedule::with_delay(NOW).times(3), move |run| {
                body(run);
                own = own.take().or_else(|| take.try_recv().ok());
                if let Some(own) = &own {
                    own.cancel();
                }
            })
            .unwrap();
        let is_told = give.send(schedule.clone()).is_ok();
        drop(pool.drain());
        schedule.wait();
        let runs = turns.runs();
        assert!(
            runs == 3 || (is_told && runs >= 1),
            "a run that is thrown away is not the last"
        );
        assert_eq!(assert_all_settled(&pool).finished, runs as u64);
        assert_eq!((turns.runs(), turns.drops()), (runs, 1));
    });
}

/// The end of patience, a worker, a canceller and a stop compete for the same tasks.
#[test]
fn expiry_claim_cancel_stop() {
    explore(|| {
        let pool = builder(1).spare_threads(1).build().unwrap();
        let marks = Marks::default();
        let tasks = [
            pool.task(marks.closure()).expires_in(NOW).submit(),
            pool.task(marks.closure()).expires_in(NOW).after(NOW),
            pool.task(marks.closure()).expires_in(HOUR).submit(),
            pool.task(marks.closure()).expires_in(NOW).after(HOUR),
        ]
        .map(Result::unwrap);
        let watchers = [0, 1, 2].map(|index: usize| tasks[index].task_ref());
        let canceller = thread::spawn(move || watchers.map(|task| task.cancel()));
        let unrun = pool.stop();
        let cancels = canceller.join().unwrap();
        let removed = cancels.iter().filter(|each| **each == Cancel::Removed).count();
        let joined = tasks.map(TaskHandle::join);
        let stats = assert_all_settled(&pool);
        let expired = joined.iter().flat_map(|each| each.as_ref().err());
        let expired = expired.filter(|error| error.is_expired()).count();
        assert_eq!(stats.expired, expired as u64);
        assert_eq!(stats.finished, joined.iter().flatten().count() as u64);
        assert_eq!(stats.returned, unrun.len() as u64);
        assert!(stats.cancelled >= removed as u64);
        drop(unrun);
        assert_eq!(marks.drops(), 4);
    });
}

/// All workers are at work for as long as the tasks behind them may wait: those expire in time.
#[test]
fn expiry_while_everybody_is_busy() {
    explore(|| {
        let pool = builder(2).spare_threads(1).build().unwrap();
        let token = Token::new();
        let (give, take) = shuttle::sync::mpsc::channel();
        for _ in 0..2 {
            let give = give.clone();
            let body = move || {
                give.send(()).unwrap();
                let _ = task::sleep(Duration::MAX);
            };
            pool.task(body).token(&token).execute().unwrap();
        }
        for _ in 0..2 {
            take.recv().unwrap();
        }
        let queued = pool.task(|| ()).expires_in(NOW).submit().unwrap();
        let due = pool.task(|| ()).expires_in(NOW).after(NOW).unwrap();
        assert!(queued.join().unwrap_err().is_expired());
        assert!(due.join().unwrap_err().is_expired());
        token.cancel();
        let stats = assert_all_settled(&pool);
        assert_eq!((stats.expired, stats.finished), (2, 2));
    });
}

/// Limits that are over at once: a task that listens is told although every worker is at work, one that ends meanwhile
/// keeps its result, and the pool closes.
#[test]
fn limit_end_close() {
    explore(|| {
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        let pool = builder(2)
            .spare_threads(1)
            .slow_after(NOW)
            .on_slow(move |_, _| _ = count.fetch_add(1, SeqCst))
            .build()
            .unwrap();
        let endless = [(); 2].map(|()| {
            let body = || task::sleep(Duration::MAX).is_err();
            pool.task(body).time_limit(NOW).submit().unwrap()
        });
        let short = pool.task(|| 7).time_limit(NOW).submit().unwrap();
        let after = pool.task(|| 8).time_limit(HOUR).after(NOW).unwrap();
        assert!(pool.close().terminated);
        for task in endless {
            assert!(task.join().unwrap(), "told to stop");
        }
        assert_eq!((short.join().unwrap(), after.join().unwrap()), (7, 8));
        let stats = assert_all_settled(&pool);
        assert_eq!(stats.finished, 4);
        assert!((2..=4).contains(&told.load(SeqCst)), "each at most once");
    });
}

/// Permits that delayed tasks hold come back by a cancel, by a run, or by a stop: whoever waits for one gets it.
#[test]
fn covered_cancel_wait() {
    explore(|| {
        let pool = builder(1)
            .queue(Queue::bounded(1))
            .capacity_covers_delayed(true)
            .on_full(Reject::Block(Duration::MAX))
            .build()
            .unwrap();
        let marks = Marks::default();
        let submitters: Vec<_> = [HOUR, NOW, NOW]
            .into_iter()
            .map(|delay| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || {
                    let task = pool.after(delay, marks.closure()).unwrap();
                    if delay == HOUR {
                        assert_eq!(task.cancel(), Cancel::Removed);
                    }
                    task.join().is_ok()
                })
            })
            .collect();
        let queued = pool.submit(marks.closure()).unwrap();
        assert!(queued.join().is_ok());
        let ran = submitters
            .into_iter()
            .filter_map(|each| each.join().unwrap().then_some(()));
        assert_eq!(ran.count(), 2);
        let stats = assert_all_settled(&pool);
        assert_eq!((stats.submitted, stats.cancelled), (4, 1));
        assert_eq!((marks.runs(), marks.drops()), (3, 4));
    });
}

/// The same with a stop: each submission is accepted and resolved, or refused.
#[test]
fn covered_stop() {
    explore(|| {
        let pool = builder(1)
            .queue(Queue::bounded(1))
            .capacity_covers_delayed(true)
            .on_full(Reject::Block(Duration::MAX))
            .build()
            .unwrap();
        let marks = Marks::default();
        let submitters: Vec<_> = [HOUR, NOW, HOUR]
            .into_iter()
            .map(|delay| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || match pool.after(delay, marks.closure()) {
                    Ok(task) => drop(task.join()),
                    Err(refused) => assert!(refused.is_shutdown()),
                })
            })
            .collect();
        let unrun = pool.stop();
        for submitter in submitters {
            submitter.join().unwrap();
        }
        let stats = assert_all_settled(&pool);
        assert_eq!(stats.returned, unrun.len() as u64);
        drop(unrun);
        assert_eq!(marks.drops(), 3);
    });
}
