//! Waiting: told when there is something to tell, not before the limit, and free to leave.
//!
//! The waiters are tasks of a second pool on the same manual clock, so that the tests know they are blocked.

use crate::life::{pool_on, running, settle};
use crate::support::{LONG, block_on, counting_waker, poll_once, single};
use punctual::task::{self, Token};
use punctual::{Cancel, Clock, JoinError, Status, TaskHandle};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const LIMIT: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_nanos(1);

fn after_an_hour(value: u32) -> impl FnOnce() -> u32 + Send {
    move || {
        // Told to stop or not: the value tells nothing about it.
        let _ = task::sleep(HOUR);
        value
    }
}

#[test]
fn fut_08_cancel_frees_timed_and_untimed_waiters_at_once() {
    // Nobody advances this clock: a waiter that returns was told, and did not time out.
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 4));
    let watch = |task: &Arc<TaskHandle<u32>>| {
        let (untimed, timed) = (task.clone(), task.clone());
        [
            watcher
                .submit(move || untimed.wait())
                .map(|waiter| waiter.task_ref())
                .unwrap(),
            watcher
                .submit(move || assert!(timed.wait_timeout(HOUR)))
                .map(|waiter| waiter.task_ref())
                .unwrap(),
        ]
    };
    let busy = Arc::new(pool.submit(after_an_hour(1)).unwrap());
    let queued = Arc::new(pool.submit(after_an_hour(2)).unwrap());
    let (of_busy, of_queued) = (watch(&busy), watch(&queued));
    settle(&clock);
    let statuses = |waiters: &[punctual::TaskRef; 2]| [waiters[0].status(), waiters[1].status()];
    assert_eq!(statuses(&of_busy), [Status::Running; 2], "blocked");
    assert_eq!(statuses(&of_queued), [Status::Running; 2], "blocked");

    assert_eq!(queued.cancel(), Cancel::Removed);
    settle(&clock);
    assert_eq!(statuses(&of_queued), [Status::Finished; 2]);
    assert_eq!(statuses(&of_busy), [Status::Running; 2], "not theirs");
    assert_eq!(busy.cancel(), Cancel::Signalled);
    settle(&clock);
    assert_eq!(statuses(&of_busy), [Status::Finished; 2]);
    for task in [busy, queued] {
        let task = Arc::into_inner(task).expect("the waiters have let go");
        assert!(task.join().unwrap_err().is_cancelled());
    }
}

#[test]
fn fut_08_cancel_ends_a_join() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 2));
    let busy = pool.submit(after_an_hour(1)).unwrap();
    let mut queued = pool.submit(after_an_hour(2)).unwrap();
    let (busy_ref, queued_ref) = (busy.task_ref(), queued.task_ref());
    let untimed = watcher.submit(move || busy.join()).unwrap();
    let timed = watcher.submit(move || queued.join_timeout(HOUR)).unwrap();
    settle(&clock);
    assert!(!untimed.is_finished() && !timed.is_finished());

    assert_eq!(queued_ref.cancel(), Cancel::Removed);
    assert!(timed.join().unwrap().unwrap_err().is_cancelled());
    assert_eq!(busy_ref.cancel(), Cancel::Signalled);
    assert!(untimed.join().unwrap().unwrap_err().is_cancelled());
}

#[test]
fn fut_09_all_waiters_return_and_one_takes_the_value() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 2));
    let task = Arc::new(pool.submit(after_an_hour(7)).unwrap());
    let waiters = [task.clone(), task.clone()].map(|task| watcher.submit(move || task.wait()).unwrap());
    settle(&clock);
    assert!(
        waiters.iter().all(|waiter| !waiter.is_finished()),
        "nothing to tell yet"
    );

    clock.advance(HOUR);
    for waiter in waiters {
        assert!(waiter.is_finished());
        waiter.join().unwrap();
    }
    let mut task = Arc::into_inner(task).expect("the waiters have let go");
    assert_eq!(task.join_timeout(Duration::ZERO).unwrap(), 7);
    assert!(task.join_timeout(Duration::ZERO).unwrap_err().is_taken());
}

#[test]
fn fut_09_a_handle_can_be_awaited_and_its_last_waker_is_called() {
    let pool = single();
    let (mut task, open) = running(&pool, 7);
    let (old, old_calls) = counting_waker();
    let (new, new_calls) = counting_waker();
    assert!(poll_once(&mut task, &old).is_pending());
    assert!(poll_once(&mut task, &new).is_pending());
    drop(open);
    assert!(pool.close().terminated, "whoever was to be called has been");
    assert_eq!(new_calls.load(Ordering::SeqCst), 1);
    assert_eq!(old_calls.load(Ordering::SeqCst), 0, "replaced by the second poll");
    assert!(matches!(poll_once(&mut task, &new), Poll::Ready(Ok(7))));
    assert!(matches!(poll_once(&mut task, &new), Poll::Ready(Err(error)) if error.is_taken()));
}

#[test]
fn fut_09_a_thread_and_a_future_may_wait_for_the_same_task() {
    let pool = single();
    let (mut task, open) = running(&pool, 7);
    let (waker, calls) = counting_waker();
    assert!(poll_once(&mut task, &waker).is_pending());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| task.wait_timeout(LONG));
        drop(open);
        assert!(waiting.join().unwrap());
    });
    assert_eq!(block_on(task).unwrap(), 7);
    assert!(pool.close().terminated);
    assert_eq!(calls.load(Ordering::SeqCst), 1, "the future was called too");
}

#[test]
fn fut_10_a_join_times_out_at_its_limit_and_leaves_the_task_alone() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let mut task = pool.submit(after_an_hour(7)).unwrap();
    let joining = watcher.submit(move || (task.join_timeout(LIMIT), task)).unwrap();
    clock.advance(LIMIT - MOMENT);
    assert!(!joining.is_finished(), "the limit has not come");
    clock.advance(MOMENT);
    assert!(joining.is_finished(), "the limit has come");
    let (result, mut task) = joining.join().unwrap();
    assert!(result.unwrap_err().is_timeout());

    assert_eq!(task.task_ref().status(), Status::Running);
    assert!(!task.wait_timeout(Duration::ZERO));
    clock.advance(HOUR - LIMIT);
    assert_eq!(
        task.join_timeout(Duration::ZERO).unwrap(),
        7,
        "the handle is still good"
    );
}

#[test]
fn fut_10_a_timed_wait_keeps_its_limit_too() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let task = pool.submit(after_an_hour(7)).unwrap();
    let waiting = watcher.submit(move || (task.wait_timeout(LIMIT), task)).unwrap();
    clock.advance(LIMIT - MOMENT);
    assert!(!waiting.is_finished());
    clock.advance(MOMENT);
    let (reached, task) = waiting.join().unwrap();
    assert!(!reached && !task.is_finished());
    clock.advance(HOUR);
    assert_eq!(task.join().unwrap(), 7);
}

#[test]
fn fut_10_a_zero_limit_answers_at_once_and_the_longest_never_passes() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let mut task = pool.submit(after_an_hour(7)).unwrap();
    // Nobody moves the clock: an answer is one that did not wait.
    assert!(task.join_timeout(Duration::ZERO).unwrap_err().is_timeout());
    assert!(!task.wait_timeout(Duration::ZERO));

    let joining = watcher.submit(move || task.join_timeout(Duration::MAX)).unwrap();
    clock.advance(HOUR - MOMENT);
    assert!(!joining.is_finished(), "no overflow into the past");
    clock.advance(MOMENT);
    assert_eq!(joining.join().unwrap().unwrap(), 7);
}

#[test]
fn fut_11_a_waiter_called_away_leaves_the_task_pending() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let mut task = pool.submit(after_an_hour(7)).unwrap();
    let token = Token::new();
    let join = move || (task.join_timeout(HOUR * 2), task);
    let joining = watcher.task(join).token(&token).submit().unwrap();
    settle(&clock);
    assert!(!joining.is_finished(), "blocked");

    token.cancel();
    settle(&clock);
    assert!(joining.is_finished(), "called away without any time passing");
    let (result, task) = joining.join().unwrap();
    let error = result.unwrap_err();
    assert!(error.is_interrupted() && !error.is_cancelled() && !error.is_timeout());
    assert_eq!(task.task_ref().status(), Status::Running);

    // An untimed wait is left in the same way.
    let token = Token::new();
    let wait = move || {
        task.wait();
        task
    };
    let waiting = watcher.task(wait).token(&token).submit().unwrap();
    settle(&clock);
    assert!(!waiting.is_finished(), "blocked");
    token.cancel();
    let task = waiting.join().unwrap();
    assert_eq!(task.task_ref().status(), Status::Running);
    clock.advance(HOUR);
    assert_eq!(task.join().unwrap(), 7, "the handle is still good");
}

#[test]
fn fut_11_a_waiter_that_was_called_away_before_does_not_wait_at_all() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let mut task = pool.submit(after_an_hour(7)).unwrap();
    let fired = Token::new();
    fired.cancel();
    let join = move || (task.join_timeout(HOUR * 2), task);
    let (result, mut task) = watcher.task(join).token(&fired).submit().unwrap().join().unwrap();
    assert!(result.unwrap_err().is_interrupted());
    assert!(
        task.join_timeout(Duration::ZERO).unwrap_err().is_timeout(),
        "still pending"
    );

    // An outcome that is there is given even to a task that has been told to stop.
    clock.advance(HOUR);
    let join = move || task.join_timeout(HOUR);
    assert_eq!(
        watcher
            .task(join)
            .token(&fired)
            .submit()
            .unwrap()
            .join()
            .unwrap()
            .unwrap(),
        7
    );
}

#[test]
fn fut_11_an_untimed_join_that_is_called_away_detaches_the_task() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let task = pool.submit(after_an_hour(7)).unwrap();
    let watched = task.task_ref();
    let token = Token::new();
    let joining = watcher.task(move || task.join()).token(&token).submit().unwrap();
    settle(&clock);
    token.cancel();
    let result: Result<u32, JoinError> = joining.join().unwrap();
    assert!(result.unwrap_err().is_interrupted());
    assert_eq!(watched.status(), Status::Running, "it goes on");
    clock.advance(HOUR);
    assert_eq!(watched.status(), Status::Finished);
}
