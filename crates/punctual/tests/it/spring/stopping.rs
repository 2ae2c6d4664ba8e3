//! Shutdown, pause, limits.

use crate::delaying::{Notes, SECOND, at, books, pool, seconds};
use crate::life::{begun, calling, pool_on, settle};
use punctual::{Cancel, Schedule, State, Status, task};
use std::time::Duration;

#[test]
fn spr_18_who_waits_for_a_task_that_a_stop_took_out_is_told_cancelled() {
    let (pool, clock) = pool(1);
    let waiters = pool_on(&clock, 3);
    let _busy = begun(&pool, || task::sleep(100 * SECOND));
    let queued = pool.submit(|| ()).unwrap();
    let delayed = pool.after(SECOND, || ()).unwrap();
    let appointed = pool.at(at(10), || ()).unwrap();
    let answers = [queued, delayed, appointed].map(|task| calling(&waiters, move || task.join()).1);
    settle(&clock);
    assert_eq!(pool.stop().len(), 3);
    settle(&clock);
    for answer in answers {
        assert!(answer.try_recv().unwrap().unwrap_err().is_cancelled());
    }
}

#[test]
fn spr_19_every_kind_of_handle_is_resolved_by_a_shutdown() {
    let (pool, clock) = pool(1);
    let waiters = pool_on(&clock, 2);
    let delayed = pool.after(SECOND, || ()).unwrap();
    let awaited = pool.after(SECOND, || ()).unwrap();
    let schedule = pool
        .schedule(Schedule::every(SECOND).starting_in(SECOND), |_| ())
        .unwrap();
    let (_, joined) = calling(&waiters, move || delayed.join());
    let (_, waited) = calling(&waiters, move || schedule.wait());
    settle(&clock);
    pool.shutdown();
    settle(&clock);
    assert!(joined.try_recv().unwrap().unwrap_err().is_cancelled());
    assert_eq!(waited.try_recv(), Ok(()));
    let result = crate::support::block_on(awaited);
    assert!(result.unwrap_err().is_cancelled());
}

#[test]
fn spr_20_a_shutdown_returns_at_once_and_its_end_can_be_awaited_with_a_limit() {
    let (pool, clock) = pool(1);
    let waiters = pool_on(&clock, 1);
    let task = begun(&pool, || task::sleep(10 * SECOND));
    let schedule = pool
        .schedule(Schedule::every(SECOND).starting_in(SECOND), |_| ())
        .unwrap();
    pool.shutdown();
    assert_eq!(pool.state(), State::Shutdown);
    assert!(schedule.is_finished());
    let own = pool.clone();
    let (_, answer) = calling(&waiters, move || {
        let early = own.await_termination(5 * SECOND);
        (early, own.await_termination(6 * SECOND))
    });
    clock.advance(9 * SECOND);
    assert!(answer.try_recv().is_err());
    clock.advance(SECOND);
    assert_eq!(answer.try_recv(), Ok((false, true)), "the first only tells");
    assert_eq!(task.join().unwrap(), Ok(()));
}

#[test]
fn spr_20_an_immediate_end_tells_the_running_and_gives_back_the_rest() {
    let (pool, clock) = pool(1);
    let running = begun(&pool, || task::sleep(10 * SECOND));
    let delayed = pool.after(SECOND, || ()).unwrap();
    assert_eq!(pool.stop().len(), 1);
    settle(&clock);
    assert!(running.join().unwrap().is_err());
    assert_eq!(delayed.task_ref().status(), Status::Returned);
    assert_eq!(pool.state(), State::Terminated);
}

#[test]
fn spr_21_a_paused_pool_lets_running_work_end_and_starts_nothing() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let running = begun(&pool, || task::sleep(5 * SECOND));
    pool.pause();
    let (noting, wall) = (notes.clone(), clock.clone());
    drop(
        pool.after(SECOND, move || noting.add(("delayed", seconds(wall.now()))))
            .unwrap(),
    );
    let (noting, wall) = (notes.clone(), clock.clone());
    pool.execute(move || noting.add(("queued", seconds(wall.now()))))
        .unwrap();
    let (noting, wall) = (notes.clone(), clock.clone());
    let body = move |_: &punctual::Run| noting.add(("schedule", seconds(wall.now())));
    let schedule = pool.schedule(Schedule::every(100 * SECOND), body).unwrap();
    clock.advance(10 * SECOND);
    assert_eq!(running.join().unwrap(), Ok(()));
    assert_eq!(notes.take(), []);
    assert_eq!(books(&pool).active, 0);
    pool.resume();
    settle(&clock);
    let mut begun = notes.take();
    begun.sort_unstable();
    assert_eq!(begun, [("delayed", 10), ("queued", 10), ("schedule", 10)]);
    assert_eq!(schedule.cancel(), Cancel::Removed);
}

#[test]
fn spr_21_what_waits_in_a_paused_pool_runs_when_it_is_shut_down() {
    let (pool, clock) = pool(1);
    pool.pause();
    let queued = pool.submit(|| 1).unwrap();
    let due = pool.after(SECOND, || 2).unwrap();
    clock.advance(2 * SECOND);
    pool.shutdown();
    settle(&clock);
    assert_eq!(pool.state(), State::Terminated);
    assert_eq!((queued.join().unwrap(), due.join().unwrap()), (1, 2));
}

#[test]
fn spr_24_a_close_with_a_limit_tells_a_task_to_stop_when_the_limit_has_passed() {
    let (pool, clock) = pool(2);
    let waiters = pool_on(&clock, 1);
    let notes = Notes::default();
    for length in [3, 30] {
        let (notes, wall) = (notes.clone(), clock.clone());
        drop(begun(&pool, move || {
            let slept = task::sleep(Duration::from_secs(length));
            notes.add((length, slept.is_ok(), seconds(wall.now())));
        }));
    }
    let unstarted = pool.submit(|| ()).unwrap();
    let delayed = pool.after(SECOND, || ()).unwrap();
    let own = pool.clone();
    let (_, answer) = calling(&waiters, move || own.close_timeout(10 * SECOND));
    settle(&clock);
    assert!(delayed.join().unwrap_err().is_cancelled(), "at once");
    clock.advance(9 * SECOND);
    assert_eq!(notes.take(), [(3, true, 3)], "undisturbed");
    assert!(answer.try_recv().is_err());
    clock.advance(SECOND);
    let report = answer.try_recv().unwrap();
    assert_eq!(report.cancelled_delayed, 1);
    settle(&clock);
    assert_eq!(notes.take(), [(30, false, 10)]);
    assert_eq!(
        unstarted.join().unwrap(),
        (),
        "it was accepted, and a worker became free"
    );
    assert_eq!(pool.state(), State::Terminated);
}

#[test]
fn spr_24_what_has_not_begun_when_the_limit_passes_is_cancelled() {
    let (pool, clock) = pool(1);
    let waiters = pool_on(&clock, 1);
    let _busy = begun(&pool, || task::sleep(30 * SECOND));
    let unstarted = pool.submit(|| ()).unwrap();
    let own = pool.clone();
    let (_, answer) = calling(&waiters, move || own.close_timeout(10 * SECOND));
    clock.advance(10 * SECOND);
    assert_eq!(answer.try_recv().unwrap().dropped, 1);
    assert!(unstarted.join().unwrap_err().is_cancelled());
}
