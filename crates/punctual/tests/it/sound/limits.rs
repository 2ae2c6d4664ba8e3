//! Limits that once were ignored: time limits, time-outs, idle moments, covered delays.

use crate::support::{LONG, assert_books_balance, counting_waker, hold, in_time, poll_once};
use punctual::task::Token;
use punctual::{
    AnyError, Clock, Executor, JoinError, ManualClock, Pool, Priority, Queue, Reject, TaskHandle, future,
    task,
};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// One worker and one blocking thread under a capacity of one place, which delayed tasks take too.
fn one_place(reject: Reject) -> Pool {
    Pool::builder("one place")
        .core_threads(1)
        .max_threads(1)
        .blocking_threads(1)
        .queue(Queue::priority(1))
        .on_full(reject)
        .capacity_covers_delayed(true)
        .build()
        .unwrap()
}

/// Either the waiting task goes, and the delayed one has its place; or the delayed one comes back. There is one place.
#[test]
fn a_delayed_task_of_the_blocking_threads_never_gets_a_place_that_there_is_not() {
    for reject in [Reject::EvictLower, Reject::DiscardOldest] {
        let pool = one_place(reject);
        let blocking = pool.blocking().unwrap();
        let _held = (hold(&blocking), hold(&pool));
        let low = blocking.task(|| ()).priority(Priority::LOW).submit().unwrap();
        assert_eq!(pool.stats().occupied, 1);
        let delayed = blocking.task(|| ()).priority(Priority::URGENT).after(HOUR);
        assert_eq!(delayed.is_ok(), low.is_finished(), "one of them has the place");
        assert_eq!(pool.stats().occupied, 1);
        pool.pause();
        let others = (0..5).filter_map(|_| pool.task(|| ()).priority(Priority::LOW).submit().ok());
        let others: Vec<_> = others.collect();
        assert_eq!(pool.stats().occupied, 1, "{others:?}");
        assert_books_balance(&pool.stats());
    }
}

/// Of the pool's own queue the less urgent one goes, as for a delayed task of the pool itself.
#[test]
fn a_delayed_task_of_the_blocking_threads_evicts_a_less_urgent_one_of_the_pool() {
    let pool = one_place(Reject::EvictLower);
    let blocking = pool.blocking().unwrap();
    let held = (hold(&blocking), hold(&pool));
    let low = pool.task(|| ()).priority(Priority::LOW).submit().unwrap();
    let refused = blocking.task(|| ()).priority(Priority::LOW).after(HOUR);
    assert!(refused.is_err_and(|refused| refused.is_full()), "no less urgent");
    let delayed = blocking
        .task(|| ())
        .priority(Priority::URGENT)
        .after(HOUR)
        .unwrap();
    assert!(low.join().unwrap_err().is_evicted());
    assert_eq!(pool.stats().occupied, 1);
    let _ = delayed.cancel();
    assert_eq!(pool.stats().occupied, 0);
    drop(held);
    assert!(pool.close().terminated);
    assert_books_balance(&pool.stats());
}

type Failing = Box<dyn FnOnce() -> Result<(), usize> + Send>;

/// Five jobs of which each passes some time and gives its number as an error; and how many have begun.
fn failing(pass: fn()) -> (Arc<AtomicUsize>, Vec<Failing>) {
    let begun = Arc::new(AtomicUsize::new(0));
    let job = |number| -> Failing {
        let begun = begun.clone();
        Box::new(move || {
            begun.fetch_add(1, SeqCst);
            pass();
            Err(number)
        })
    };
    let jobs = (0..5).map(job).collect();
    (begun, jobs)
}

/// More than the limit of the tests that use it.
fn pass_two_milliseconds() {
    let begin = Instant::now();
    while begin.elapsed() < ms(2) {
        std::hint::spin_loop();
    }
}

/// Where each task runs at its submission, the limit is looked at between two of them.
#[test]
fn at_the_limit_an_executor_that_runs_tasks_at_once_begins_none_of_the_rest() {
    let (begun, jobs) = failing(pass_two_milliseconds);
    let outcomes = Executor::immediate().all_timeout(ms(1), jobs).unwrap();
    let begun = begun.load(SeqCst);
    // None, if the test itself was held up.
    assert!(begun <= 1, "{begun} have begun");
    for (number, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Ok(Err(own)) if number < begun => assert_eq!(*own, number),
            outcome => assert!(
                outcome.as_ref().is_err_and(JoinError::is_cancelled),
                "{outcome:?}"
            ),
        }
    }
    assert_eq!(outcomes.len(), 5);

    let (begun, jobs) = failing(pass_two_milliseconds);
    let answer = Executor::immediate().any_timeout(ms(1), jobs);
    assert!(matches!(answer, Err(AnyError::Timeout)), "{answer:?}");
    assert!(begun.load(SeqCst) <= 1);
}

/// One worker in a task, one place, which is taken: whatever that task submits, it runs itself.
fn on_the_worker_of_a_full_pool<R: Send + 'static>(
    clock: &ManualClock,
    f: impl FnOnce(&Pool) -> R + Send + 'static,
) -> R {
    let builder = Pool::builder("full").core_threads(1).clock(clock);
    let pool = builder.queue(Queue::bounded(1)).build().unwrap();
    let own = pool.clone();
    let (full, is_full) = channel::<()>();
    let task = pool.submit(move || {
        is_full.recv().unwrap();
        f(&own)
    });
    crate::support::until("it runs", || pool.stats().active == 1);
    pool.execute(|| ()).unwrap();
    full.send(()).unwrap();
    clock.advance(HOUR);
    in_time(move || task.unwrap().join().unwrap())
}

/// Passes more than half of the limit of the tests that use it.
fn sleep_for_150() {
    task::sleep(ms(150)).unwrap();
}

#[test]
fn at_the_limit_the_worker_of_a_full_pool_begins_none_of_the_rest() {
    let (begun, jobs) = failing(sleep_for_150);
    let outcomes = on_the_worker_of_a_full_pool(&Clock::manual(), |pool| pool.all_timeout(ms(200), jobs));
    let outcomes = outcomes.unwrap();
    assert_eq!(begun.load(SeqCst), 2, "at 0 and at 150 ms, and none at 300 ms");
    assert!(matches!(outcomes[..2], [Ok(Err(0)), Ok(Err(1))]), "{outcomes:?}");
    let is_cancelled = |outcome: &Result<_, JoinError>| outcome.as_ref().is_err_and(JoinError::is_cancelled);
    assert!(outcomes[2..].iter().all(is_cancelled), "{outcomes:?}");
    assert_eq!(outcomes.len(), 5);

    let (begun, jobs) = failing(sleep_for_150);
    let answer = on_the_worker_of_a_full_pool(&Clock::manual(), |pool| pool.any_timeout(ms(200), jobs));
    assert!(matches!(answer, Err(AnyError::Timeout)), "{answer:?}");
    assert_eq!(begun.load(SeqCst), 2, "at 0 and at 150 ms, and none at 300 ms");
}

/// Awaits what is ready at once, again and again. Ends only to end the test, which has failed then.
async fn restless() {
    let begin = Instant::now();
    while begin.elapsed() < LONG {
        future::sleep(Duration::ZERO).await;
    }
}

#[test]
fn a_time_out_fires_while_its_future_uses_up_each_poll() {
    let pool = Pool::fixed(1).unwrap();
    let limited = || future::timeout(ms(5), restless());
    assert!(
        pool.spawn(limited()).unwrap().join().unwrap().is_err(),
        "on a pool"
    );
    assert!(pool.block_on(limited()).unwrap().is_err(), "on this thread");
    let twice = pool.block_on(future::timeout(HOUR, limited())).unwrap();
    assert!(twice.unwrap().is_err(), "the inner one of two");
    let twice = pool.block_on(future::timeout(ms(5), future::timeout(HOUR, restless())));
    assert!(twice.unwrap().is_err(), "the outer one of two");
}

/// Polls both in each poll, the first one first; true if the second is ready within some polls, whatever the first does.
async fn second_is_ready(first: impl Future, second: impl Future) -> bool {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let mut polls = 0;
    // From the beginning of a poll on.
    future::yield_now().await;
    poll_fn(|context| {
        polls += 1;
        let is_over = first.as_mut().poll(context).is_ready() || polls > 100;
        let is_ready = second.as_mut().poll(context).is_ready();
        if is_ready || is_over {
            Poll::Ready(is_ready)
        } else {
            Poll::Pending
        }
    })
    .await
}

/// Takes so many steps in each poll, and then waits for the next one.
async fn takes_steps(steps: usize) {
    loop {
        for _ in 0..steps {
            future::sleep(Duration::ZERO).await;
        }
        future::yield_now().await;
    }
}

/// However many steps the other branch takes: more than a poll has, as many, or all but one.
#[test]
fn what_is_ready_is_seen_beside_a_future_that_uses_up_each_poll() {
    let pool = Pool::fixed(1).unwrap();
    let other = pool.clone();
    let on_a_pool = pool.spawn(async move {
        for steps in 0..300 {
            check_beside(&other, steps).await;
        }
        check_beside(&other, usize::MAX).await;
    });
    in_time(|| on_a_pool.unwrap().join().unwrap());
    in_time(move || pool.block_on(check_beside(&pool, usize::MAX)).unwrap());
}

async fn check_beside(pool: &Pool, steps: usize) {
    let token = Token::new();
    token.cancel();
    let is_seen = second_is_ready(takes_steps(steps), token.cancelled()).await;
    assert!(is_seen, "a token that has fired, beside {steps} steps");
    let is_seen = second_is_ready(takes_steps(steps), future::sleep(Duration::ZERO)).await;
    assert!(is_seen, "a sleep that is over, beside {steps} steps");
    let at_once = future::timeout(HOUR, async {});
    let is_seen = second_is_ready(takes_steps(steps), at_once).await;
    assert!(is_seen, "a time-out whose future is ready, beside {steps} steps");
    let mut ended = Executor::immediate().submit(|| ()).unwrap();
    let is_seen = second_is_ready(takes_steps(steps), &mut ended).await;
    assert!(is_seen, "a task that has ended, beside {steps} steps");
    let submission = pool.submit_async(|| ());
    let is_seen = second_is_ready(takes_steps(steps), submission).await;
    assert!(
        is_seen,
        "a submission for which there is room, beside {steps} steps"
    );
}

/// Polls a future only when its own waker was called, as collections of futures do.
async fn when_woken(fut: impl Future<Output = ()>) {
    let mut fut = pin!(fut);
    let (waker, calls) = counting_waker();
    let mut seen = None;
    poll_fn(|_| {
        let now = calls.load(SeqCst);
        if seen.replace(now) == Some(now) {
            return Poll::Pending;
        }
        fut.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await;
}

/// The other branch moves the clock, so that the sleep is over after a few polls.
#[test]
fn a_thread_that_drives_a_future_wakes_what_sleeps_inside_although_it_never_rests_itself() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(1).clock(&clock).build().unwrap();
    let restless = poll_fn(|context| {
        clock.advance(ms(1));
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    let sleeps = when_woken(future::sleep(ms(5)));
    assert!(pool.block_on(second_is_ready(restless, sleeps)).unwrap());
}

/// Says that it was called, and returns when the other submission has left.
struct WaitsForTheOther {
    called: Sender<()>,
    has_left: Mutex<Receiver<()>>,
    is_told: AtomicBool,
}

impl Wake for WaitsForTheOther {
    fn wake(self: Arc<Self>) {
        self.called.send(()).unwrap();
        let told = self.has_left.lock().unwrap().recv_timeout(LONG);
        self.is_told.store(told.is_ok(), SeqCst);
    }
}

/// Both are answered by the shutdown, the first one's waker first.
#[test]
fn a_submission_that_is_given_up_does_not_wait_for_the_waker_of_another() {
    let pool = Pool::builder("full").core_threads(1).queue(Queue::bounded(1));
    let pool = pool.build().unwrap();
    let held = hold(&pool);
    pool.execute(|| ()).unwrap();
    let (called, is_called) = channel();
    let (left, has_left) = channel();
    let waker = Arc::new(WaitsForTheOther {
        called,
        has_left: Mutex::new(has_left),
        is_told: AtomicBool::new(false),
    });
    let mut first = Box::pin(pool.submit_async(|| ()));
    let mut second = Box::pin(pool.submit_async(|| ()));
    assert!(poll_once(&mut first, &Waker::from(waker.clone())).is_pending());
    assert!(poll_once(&mut second, &counting_waker().0).is_pending());
    let closing = pool.clone();
    let closer = std::thread::spawn(move || closing.shutdown());
    is_called.recv().unwrap();
    drop(second);
    // An error is the fault: the waker has given up.
    let _ = left.send(());
    closer.join().unwrap();
    assert!(waker.is_told.load(SeqCst));
    drop((first, held));
    assert!(pool.close().terminated);
}

/// The waiters are tasks of a second pool on the same clock, so that time stands still until all of them wait.
#[test]
fn all_that_wait_for_a_quiet_pool_leave_at_its_next_quiet_moment() {
    for _ in 0..20 {
        let clock = Clock::manual();
        let on_clock = |name, threads| {
            let builder = Pool::builder(name).core_threads(threads).clock(&clock);
            builder.build().unwrap()
        };
        let (pool, watchers) = (on_clock("subject", 1), on_clock("watchers", 4));
        let begin = clock.now();
        let sleeps = |limit| move || task::sleep(limit).unwrap();
        pool.execute(sleeps(ms(100))).unwrap();
        let wait = |_| {
            let (pool, clock) = (pool.clone(), clock.clone());
            let waiter = watchers.submit(move || {
                assert!(pool.wait_idle(HOUR));
                pool.execute(sleeps(ms(300))).unwrap();
                clock.now()
            });
            waiter.unwrap()
        };
        let waiters: Vec<_> = (0..4).map(wait).collect();
        clock.advance(ms(50));
        clock.advance(ms(10_000));
        for waiter in waiters {
            let left = in_time(move || waiter.join().unwrap());
            assert_eq!(left.duration_since(begin).unwrap(), ms(100));
        }
    }
}

/// A task of the pool does not count itself; it leaves with those that wait outside of the pool only if it is over.
#[test]
fn a_task_that_waits_for_quiet_beside_itself_is_told_of_moments_that_others_end() {
    for _ in 0..20 {
        let clock = Clock::manual();
        let builder = Pool::builder("subject").core_threads(2).clock(&clock);
        let pool = builder.build().unwrap();
        let begin = clock.now();
        pool.execute(|| task::sleep(ms(100)).unwrap()).unwrap();
        let (own, its_clock) = (pool.clone(), clock.clone());
        let inside = pool.submit(move || {
            assert!(own.wait_idle(HOUR));
            own.execute(|| task::sleep(ms(300)).unwrap()).unwrap();
            let left = its_clock.now();
            task::sleep(ms(100)).unwrap();
            left
        });
        clock.advance(ms(50));
        let builder = Pool::builder("watcher").core_threads(1).clock(&clock);
        let watcher = builder.build().unwrap();
        let (own, its_clock) = (pool.clone(), clock.clone());
        let outside = watcher.submit(move || {
            assert!(own.wait_idle(HOUR));
            its_clock.now()
        });
        clock.advance(ms(10_000));
        let left = [inside.unwrap(), outside.unwrap()].map(|task| in_time(|| task.join().unwrap()));
        let left = left.map(|left| left.duration_since(begin).unwrap());
        assert_eq!(left, [ms(100), ms(400)]);
    }
}

/// A thread of the pool runs the first of three in place. When it has left, the slot is with the second, and the one thread that could
/// run it waits for the third.
#[test]
fn a_slot_that_a_helping_thread_passes_on_is_not_lost() {
    let clock = Clock::manual();
    let builder = Pool::builder("pool")
        .core_threads(1)
        .spare_threads(0)
        .clock(&clock);
    let pool = builder.build().unwrap();
    let reserved = pool.reserve(1).unwrap();
    let view = reserved.sequential();
    let (join_it, to_join) = channel::<TaskHandle<u32>>();
    let only_thread = reserved.submit(move || {
        task::sleep(ms(50)).unwrap();
        to_join.recv().unwrap().join()
    });
    let first = view.submit(|| task::sleep(ms(100)).unwrap()).unwrap();
    let second = view.submit(|| 2).unwrap();
    let third = view.submit(|| 3).unwrap();
    join_it.send(third).unwrap();
    let helping = pool.submit(move || first.join()).unwrap();
    clock.advance(ms(60));
    clock.advance(ms(100));
    in_time(move || helping.join().unwrap().unwrap());
    // It is told that it would wait for ever; the task itself goes on.
    let answer = in_time(move || only_thread.unwrap().join().unwrap());
    assert!(
        answer
            .as_ref()
            .map_or_else(JoinError::is_would_deadlock, |value| *value == 3),
        "{answer:?}"
    );
    assert_eq!(in_time(move || second.join().unwrap()), 2);
    let subject = pool.clone();
    assert!(in_time(move || subject.wait_idle(HOUR)));
    assert_eq!((pool.stats().finished, view.view_stats().queued), (5, 0));
}
