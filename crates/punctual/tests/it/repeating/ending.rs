//! What becomes of schedules at the end of their pool.

use super::{Noted, Notes, SECOND, at, books, builder, nap, noted, noting, pool, prompt, taking};
use crate::life::{begun, settle};
use crate::support::{Dropped, in_time};
use punctual::{AtShutdown, Cancel, OnDrop, Pool, Schedule, State, Status, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

fn every() -> Schedule {
    Schedule::every(10 * SECOND)
}

/// The whole matrix: a delayed task, a waiting schedule and a running one, shut down in the fifth second.
#[test]
fn stpe_25_to_28_the_shutdown_matrix() {
    for delayed in [AtShutdown::Drop, AtShutdown::Run] {
        for repeating in [AtShutdown::Drop, AtShutdown::Run] {
            let case = format!("delayed {delayed:?}, repeating {repeating:?}");
            let (builder, clock) = builder(4);
            let builder = builder
                .delayed_at_shutdown(delayed)
                .repeating_at_shutdown(repeating);
            let pool = builder.build().unwrap();
            let [waiting_runs, running_runs] = [0, 1].map(|_| Notes::default());
            let one = pool.after(20 * SECOND, || 1).unwrap();
            let cancelled = pool.after(3_600 * SECOND, || 1).unwrap();
            let waiting = pool.schedule(every().times(4), noting(&waiting_runs)).unwrap();
            let running = pool.schedule(every().times(3), taking(&running_runs, 8)).unwrap();
            assert_eq!(cancelled.cancel(), Cancel::Removed);
            clock.advance(5 * SECOND);
            pool.shutdown();
            books(&pool);
            let drops = |policy| policy == AtShutdown::Drop;
            assert_eq!(one.is_finished(), drops(delayed), "{case}: at once");
            assert_eq!(waiting.is_finished(), drops(repeating), "{case}: at once");
            assert!(!running.is_finished(), "{case}: its run goes on");
            clock.advance(3 * SECOND);
            assert_eq!(
                running.is_finished(),
                drops(repeating),
                "{case}: its run has ended"
            );
            clock.advance(22 * SECOND);
            assert_eq!(one.join().is_ok(), !drops(delayed), "{case}");
            let runs = |times: [u64; 4], last: usize| -> Vec<Noted> {
                let kept = if drops(repeating) { 1 } else { last };
                prompt(times).into_iter().take(kept).collect()
            };
            assert_eq!(waiting_runs.take(), runs([0, 10, 20, 30], 4), "{case}");
            assert_eq!(running_runs.take(), runs([0, 10, 20, 30], 3), "{case}");
            assert!(waiting.is_finished() && running.is_finished(), "{case}");
            assert_eq!(pool.state(), State::Terminated, "{case}");
            let report = pool.close();
            let count = |policy, count| if drops(policy) { count } else { 0 };
            assert_eq!(report.cancelled_delayed, count(delayed, 1), "{case}");
            assert_eq!(report.cancelled_repeating, count(repeating, 2), "{case}");
            books(&pool);
        }
    }
}

#[test]
fn stpe_28_a_running_schedule_is_not_told_to_stop_by_a_shutdown() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let inside = notes.clone();
    let handle = pool
        .schedule(every(), move |run| {
            inside.add((task::sleep(8 * SECOND).is_ok(), run.token.is_cancelled()));
        })
        .unwrap();
    clock.advance(5 * SECOND);
    pool.shutdown();
    clock.advance(3 * SECOND);
    assert_eq!(notes.take(), [(true, false)]);
    assert!(handle.is_finished());
}

#[test]
fn a_schedule_that_keeps_recurring_holds_the_pool_until_it_is_cancelled() {
    let (builder, clock) = builder(1);
    let pool = builder.repeating_at_shutdown(AtShutdown::Run).build().unwrap();
    let notes = Notes::default();
    let handle = pool.schedule(every(), noting(&notes)).unwrap();
    pool.shutdown();
    assert!(pool.schedule(every(), |_| ()).unwrap_err().is_shutdown());
    clock.advance(100 * SECOND);
    assert_eq!(notes.take().len(), 11);
    assert_eq!(pool.state(), State::Shutdown);
    assert_eq!(handle.cancel(), Cancel::Removed);
    let pool = in_time(move || {
        assert!(pool.close().terminated);
        pool
    });
    assert_eq!(pool.stats().finished, 11);
}

#[test]
fn stpe_30_a_policy_that_changes_after_the_shutdown_ends_schedules_at_once() {
    let (builder, clock) = builder(1);
    let pool = builder.repeating_at_shutdown(AtShutdown::Run).build().unwrap();
    let handle = pool.schedule(every(), |_| ()).unwrap();
    clock.advance(5 * SECOND);
    pool.shutdown();
    clock.advance(10 * SECOND);
    assert_eq!(handle.stats().runs, 2);
    pool.set_repeating_at_shutdown(AtShutdown::Drop);
    assert!(handle.is_finished());
    let report = in_time(move || pool.close());
    assert_eq!((report.terminated, report.cancelled_repeating), (true, 1));
}

#[test]
fn stpe_30_a_policy_that_changes_during_a_run_lets_it_end() {
    let (builder, clock) = builder(1);
    let pool = builder.repeating_at_shutdown(AtShutdown::Run).build().unwrap();
    let notes = Notes::default();
    let handle = pool.schedule(every(), taking(&notes, 5)).unwrap();
    clock.advance(12 * SECOND);
    pool.shutdown();
    pool.set_repeating_at_shutdown(AtShutdown::Drop);
    assert!(!handle.is_finished());
    clock.advance(3 * SECOND);
    assert!(handle.is_finished());
    assert_eq!(pool.state(), State::Terminated);
    assert_eq!(notes.take(), prompt([0, 10]));
}

#[test]
fn stpe_31_a_cancelled_schedule_does_not_hold_up_the_end() {
    let (builder, clock) = builder(1);
    let pool = builder.repeating_at_shutdown(AtShutdown::Run).build().unwrap();
    let handles: Vec<_> = (0..10).map(|_| pool.schedule(every(), |_| ()).unwrap()).collect();
    settle(&clock);
    for handle in &handles {
        assert_eq!(handle.cancel(), Cancel::Removed);
    }
    let report = in_time(move || pool.close());
    assert_eq!((report.terminated, report.cancelled_repeating), (true, 0));
}

#[test]
fn a_schedule_ends_with_its_pool_even_if_it_is_paused() {
    for policy in [AtShutdown::Drop, AtShutdown::Run] {
        let (builder, clock) = builder(1);
        let pool = builder.repeating_at_shutdown(policy).build().unwrap();
        let handle = pool.schedule(every(), |_| ()).unwrap();
        settle(&clock);
        handle.pause();
        pool.shutdown();
        clock.advance(100 * SECOND);
        // Nothing is left that could resume it, and nothing that could run it.
        assert_eq!(pool.state(), State::Terminated, "{policy:?}");
        assert!(handle.is_finished(), "{policy:?}");
        assert_eq!(pool.stop().len(), 0);
    }
}

#[test]
fn life_06_stop_cancels_schedules_and_tells_their_runs() {
    let (builder, clock) = builder(2);
    let pool = builder.repeating_at_shutdown(AtShutdown::Run).build().unwrap();
    let notes = Notes::default();
    let inside = notes.clone();
    let waiting = pool.schedule(every().starting_in(SECOND), |_| ()).unwrap();
    let running = pool
        .schedule(every(), move |run| {
            inside.add((task::sleep(100 * SECOND).is_err(), run.token.is_cancelled()));
        })
        .unwrap();
    let delayed = pool.after(SECOND, || ()).unwrap();
    settle(&clock);
    assert_eq!(pool.stop().len(), 1, "the delayed one");
    assert!(waiting.is_finished());
    settle(&clock);
    assert_eq!(notes.take(), [(true, true)]);
    assert!(running.is_finished());
    assert_eq!(delayed.task_ref().status(), Status::Returned);
    assert_eq!(pool.state(), State::Terminated);
    books(&pool);
}

#[test]
fn a_due_run_that_stop_finds_in_the_queue_is_cancelled_and_not_returned() {
    let (pool, clock) = pool(1);
    let _busy = begun(&pool, || nap(100));
    let handle = pool.schedule(every(), |_| ()).unwrap();
    clock.advance(5 * SECOND);
    assert_eq!(pool.stop().len(), 0);
    assert!(handle.is_finished());
    settle(&clock);
    assert_eq!(handle.stats().runs, 0);
    books(&pool);
}

#[test]
fn a_schedule_goes_on_after_a_drain_whatever_becomes_of_its_run() {
    for runs_it in [false, true] {
        let (pool, clock) = pool(1);
        let notes = Notes::default();
        let handle = pool.schedule(every(), noting(&notes)).unwrap();
        clock.advance(5 * SECOND);
        let busy = begun(&pool, || nap(20));
        clock.advance(10 * SECOND);
        let drained = pool.drain();
        for task in drained {
            if runs_it {
                task.run().unwrap();
            }
        }
        clock.advance(30 * SECOND);
        busy.join().unwrap();
        let times: Vec<_> = notes.take().into_iter().map(|(_, actual, _)| actual).collect();
        assert!(times.ends_with(&[30, 40]), "run: {runs_it}: {times:?}");
        assert_eq!(handle.cancel(), Cancel::Removed);
        assert!(handle.is_finished());
        books(&pool);
    }
}

#[test]
fn the_last_owner_ends_the_schedules() {
    for on_drop in [OnDrop::Close, OnDrop::Stop] {
        let (builder, clock) = builder(1);
        let pool = builder.on_drop(on_drop).build().unwrap();
        let drops = Arc::new(AtomicUsize::new(0));
        let inside = Dropped(drops.clone());
        let handle = pool.schedule(every(), move |_| _ = &inside).unwrap();
        settle(&clock);
        in_time(move || drop(pool));
        assert_eq!(
            (drops.load(SeqCst), handle.is_finished()),
            (1, true),
            "{on_drop:?}"
        );
        handle.wait();
        assert_eq!((handle.cancel(), handle.next_run()), (Cancel::TooLate, None));
        assert!(handle.run_now().unwrap_err().is_shutdown());
        assert!(handle.reschedule(every()).is_err());
        assert_eq!(handle.stats().runs, 1);
    }
}

#[test]
fn a_schedule_is_no_owner_and_its_body_may_hold_the_pool_weakly() {
    let (pool, clock) = pool(2);
    let weak = pool.downgrade();
    let notes = Notes::default();
    let noting = notes.clone();
    let handle = pool
        .schedule(every(), move |run| {
            let pool = weak.upgrade().expect("somebody owns it");
            let own = task::current_executor().expect("inside a task");
            let child = pool.submit(|| 1).unwrap().join().unwrap();
            let other = own.submit(|| 2).unwrap().join().unwrap();
            noting.add((noted(run), child + other));
        })
        .unwrap();
    clock.advance(10 * SECOND);
    assert_eq!(notes.take(), [((0, 0, 0), 3), ((10, 10, 0), 3)]);
    in_time(move || drop(pool));
    assert!(handle.is_finished());
}

#[test]
fn a_run_may_close_its_own_pool() {
    let (pool, clock) = pool(1);
    let own = pool.clone();
    let handle = pool
        .schedule(every(), move |_| {
            let report = own.close();
            assert!(!report.terminated);
        })
        .unwrap();
    clock.advance(SECOND);
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.failures), (1, 0));
    assert!(handle.is_finished());
    assert!(in_time(move || pool.close().terminated));
}

#[test]
fn a_body_that_owns_its_pool_can_be_cancelled_and_drops_it() {
    let (pool, clock) = pool(1);
    let own: Pool = pool.clone();
    let handle = pool.schedule(every(), move |_| _ = own.name()).unwrap();
    settle(&clock);
    drop(pool);
    clock.advance(10 * SECOND);
    assert_eq!(handle.stats().runs, 2, "the body owns it");
    in_time(move || {
        assert_eq!(handle.cancel(), Cancel::Removed);
        handle.wait();
    });
}

#[test]
fn wait_idle_does_not_wait_for_the_next_run() {
    let (pool, clock) = pool(1);
    let handle = pool.schedule(every(), |_| ()).unwrap();
    let delayed = pool.after(100 * SECOND, || ()).unwrap();
    settle(&clock);
    assert!(
        pool.wait_idle(Duration::ZERO),
        "what waits for its time does not count"
    );
    assert_eq!(handle.next_run(), Some(at(10)));
    assert_eq!(delayed.cancel(), Cancel::Removed);
}
