//! Schedules that are paused, asked, changed, cancelled and closed while they run.

use super::{HOUR, NOW, assert_all_settled, builder, explore};
use crate::{AtShutdown, Overlap, Run, Schedule, ScheduleHandle};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::thread;

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
    fn body(&self, most: usize) -> impl Fn(&Run) + Send + Sync + 'static {
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
        let (give, take) = shuttle::sync::mpsc::channel::<ScheduleHandle>();
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
