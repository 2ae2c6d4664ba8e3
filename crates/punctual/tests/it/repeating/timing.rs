//! When the runs are.

use super::{NANO, Notes, SECOND, books, noting, pool, prompt, slow_at_first, taking};
use punctual::{Cancel, Reason, Schedule};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::Duration;

#[test]
fn stpe_03_a_fixed_rate_runs_at_its_rate() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let every = Schedule::every(SECOND).times(8);
    let handle = pool.schedule(every, noting(&notes)).unwrap();
    clock.advance(7 * SECOND - NANO);
    assert_eq!(notes.take(), prompt(0..7));
    assert!(!handle.is_finished());
    clock.advance(NANO);
    assert_eq!(notes.take(), prompt(7..8));
    assert!(handle.is_finished(), "eight times");
    clock.advance(10 * SECOND);
    assert_eq!(notes.take(), []);
}

#[test]
fn stpe_04_a_fixed_delay_begins_so_much_after_the_end() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    drop(
        pool.schedule(Schedule::with_delay(2 * SECOND), taking(&notes, 3))
            .unwrap(),
    );
    clock.advance(20 * SECOND);
    assert_eq!(notes.take(), prompt([0, 5, 10, 15, 20]));
}

#[test]
fn stpe_05_a_fixed_rate_counts_from_when_a_run_was_due_and_a_fixed_delay_from_its_end() {
    let (pool, clock) = pool(2);
    let [rate, delay] = [0, 1].map(|_| Notes::default());
    drop(
        pool.schedule(Schedule::every(10 * SECOND), slow_at_first(&rate, 4))
            .unwrap(),
    );
    drop(
        pool.schedule(Schedule::with_delay(10 * SECOND), slow_at_first(&delay, 4))
            .unwrap(),
    );
    clock.advance(35 * SECOND);
    assert_eq!(rate.take(), prompt([0, 10, 20, 30]));
    assert_eq!(delay.take(), prompt([0, 14, 24, 34]));
}

#[test]
fn stpe_06_a_period_of_zero_is_refused_and_the_body_comes_back() {
    let (pool, _clock) = pool(1);
    let refused = pool
        .schedule(Schedule::every(Duration::ZERO), |_| ())
        .unwrap_err();
    assert!(matches!(refused.reason(), Reason::Invalid(_)));
    let text = refused.to_string();
    assert!(text.contains("every") && text.contains("with_delay"), "{text}");
    let _body = refused.into_task();
    assert_eq!(books(&pool).schedules, 0);
}

#[test]
fn rea_12_a_delay_of_zero_runs_again_and_again_until_it_is_cancelled() {
    let (pool, clock) = pool(2);
    let own = Arc::new(OnceLock::<punctual::ScheduleHandle>::new());
    let (inside, mut runs) = (own.clone(), 0_u32);
    let endless = Schedule::with_delay(Duration::ZERO).starting_in(SECOND);
    let handle = pool
        .schedule(endless, move |_| {
            runs += 1;
            if runs == 1_000 {
                assert_eq!(inside.get().unwrap().cancel(), Cancel::Removed);
            }
        })
        .unwrap();
    own.set(handle.clone()).unwrap();
    clock.advance(SECOND - NANO);
    assert_eq!(handle.stats().runs, 0);
    clock.advance(NANO);
    assert_eq!(handle.stats().runs, 1_000, "no time has passed");
    assert!(handle.is_finished());
}

#[test]
fn rea_12_a_delay_of_zero_that_is_cancelled_before_its_start_never_runs() {
    let (pool, clock) = pool(1);
    let endless = Schedule::with_delay(Duration::ZERO).starting_in(SECOND);
    let handle = pool.schedule(endless, |_| ()).unwrap();
    assert_eq!(handle.cancel(), Cancel::Removed);
    clock.advance(2 * SECOND);
    assert_eq!(handle.stats().runs, 0);
}

#[test]
fn stpe_07_runs_never_overlap_and_see_what_the_one_before_did() {
    let (pool, clock) = pool(4);
    let inside = Arc::new(AtomicBool::new(false));
    let notes = Notes::default();
    let (busy, noted) = (inside.clone(), notes.clone());
    // A plain value: the compiler has no lock for it, and the next run may be on another thread.
    let mut seen = vec![0_u64];
    let handle = pool
        .schedule(Schedule::every(SECOND), move |_| {
            assert!(!busy.swap(true, SeqCst), "two at once");
            let last = *seen.last().unwrap();
            seen.push(last + 1);
            super::nap(5);
            noted.add(seen.len());
            busy.store(false, SeqCst);
        })
        .unwrap();
    clock.advance(60 * SECOND - NANO);
    assert_eq!(notes.take(), (2..=11).collect::<Vec<_>>(), "every sixth second");
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.failures, stats.skipped), (10, 0, 50));
}

#[test]
fn two_schedules_that_are_due_together_can_meet_at_each_tick() {
    let (pool, clock) = pool(2);
    let meeting = Arc::new(Barrier::new(2));
    let handles = [meeting.clone(), meeting].map(|meeting| {
        let body = move |_: &punctual::Run| _ = meeting.wait();
        pool.schedule(Schedule::every(SECOND), body).unwrap()
    });
    clock.advance(99 * SECOND);
    assert!(handles.iter().all(|handle| handle.stats().runs == 100));
}

#[cfg(feature = "cron")]
#[test]
fn a_year_of_minutes_passes_on_real_threads() {
    // A month where nothing is optimised.
    let days = crate::support::full_size(365, 30);
    let (pool, clock) = pool(2);
    let minutely = Schedule::cron("* * * * *").unwrap();
    let mut last = None;
    let handle = pool
        .schedule(minutely, move |run| {
            assert_eq!(run.scheduled, run.actual);
            if let Some(last) = last.replace(run.scheduled) {
                assert_eq!(run.scheduled, last + 60 * SECOND);
            }
        })
        .unwrap();
    clock.advance(Duration::from_secs(days * 86_400));
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.failures), (days * 1_440, 0));
    assert_eq!((stats.missed, stats.skipped), (0, 0));
    assert_eq!(books(&pool).finished, days * 1_440);
}
