//! Futures that are woken during their own poll: their worker keeps them, and nobody may notice but by the time it takes.
//!
//! The order is that of the queue; whoever is free helps; what ends, pauses, resizes or blocks a pool finds them; the books balance.

use crate::support::{
    Dropped, LONG, Random, assert_all_settled, assert_books_balance, hold, in_time, single, until,
};
use punctual::{Cancel, Executor, Pool, Queue, Status, TaskHandle, future, task};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

fn pool(threads: usize) -> Pool {
    let builder = Pool::builder("yields").core_threads(threads);
    builder.queue(Queue::unbounded()).build().expect("valid")
}

/// A future that yields until it is told not to, and shows how often and where it was polled.
#[derive(Clone, Default)]
struct Turns(Arc<Shown>);

#[derive(Default)]
struct Shown {
    is_over: AtomicBool,
    polls: AtomicU64,
    thread: Mutex<Option<ThreadId>>,
}

impl Turns {
    fn spawn(&self, pool: &Executor) -> TaskHandle<()> {
        let shown = self.0.clone();
        let future = async move {
            loop {
                shown.polls.fetch_add(1, SeqCst);
                *shown.thread.lock().unwrap() = Some(std::thread::current().id());
                if shown.is_over.load(SeqCst) {
                    return;
                }
                future::yield_now().await;
            }
        };
        pool.spawn(future).expect("accepted")
    }

    fn end(&self) {
        self.0.is_over.store(true, SeqCst);
    }

    fn polls(&self) -> u64 {
        self.0.polls.load(SeqCst)
    }

    /// Where it was polled last.
    fn thread(&self) -> Option<ThreadId> {
        *self.0.thread.lock().unwrap()
    }

    /// Waits until it has been polled so often again.
    fn go_on(&self, more: u64) {
        let before = self.polls();
        until("it is polled on", || self.polls() >= before + more);
    }
}

fn many(count: usize) -> Vec<Turns> {
    (0..count).map(|_| Turns::default()).collect()
}

fn spawn_all(all: &[Turns], pool: &Pool) -> Vec<TaskHandle<()>> {
    all.iter().map(|turns| turns.spawn(pool)).collect()
}

/// Ends all of them, and waits for that.
fn end_all(all: &[Turns], tasks: Vec<TaskHandle<()>>) {
    all.iter().for_each(Turns::end);
    for task in tasks {
        in_time(move || task.join()).expect("it ends");
    }
}

/// A worker that is stuck in a closure while it keeps futures.
struct Stuck {
    open: Sender<()>,
    /// One for each time that a future was polled after the closure had begun.
    polled: Receiver<()>,
    futures: Vec<TaskHandle<()>>,
}

impl Stuck {
    /// All workers but one are at something else. That one polls the futures, which yield, and then takes a closure that they were
    /// put before; says so when the closure runs.
    fn new(pool: &Pool, futures: usize) -> Stuck {
        let (open, gate) = channel::<()>();
        let (begun, has_begun) = channel();
        let (tell, polled) = channel();
        // It is the one that is left; until all are there it does nothing else.
        let held = hold(pool);
        let spawn = || {
            let tell = tell.clone();
            let future = async move {
                future::yield_now().await;
                // An error: the test was content with less.
                let _ = tell.send(());
            };
            pool.spawn(future).expect("accepted")
        };
        let futures = (0..futures).map(|_| spawn()).collect();
        pool.execute(move || {
            begun.send(()).expect("the test waits");
            let _ = gate.recv();
        })
        .expect("accepted");
        drop(held);
        has_begun.recv().expect("it runs");
        Stuck {
            open,
            polled,
            futures,
        }
    }
}

/// What was queued before it yields goes first, what is queued later goes after it.
#[test]
fn a_future_that_yields_is_polled_as_if_it_had_gone_to_the_end_of_the_queue() {
    let pool = single();
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |log: &Arc<Mutex<Vec<&str>>>, what| log.lock().unwrap().push(what);
    let (own, seen) = (pool.clone(), log.clone());
    let task = pool.spawn(async move {
        let (again, first, second) = (own.clone(), seen.clone(), seen.clone());
        own.execute(move || {
            note(&first, "queued before");
            let later = first.clone();
            again
                .execute(move || note(&later, "queued later"))
                .expect("accepted");
        })
        .expect("accepted");
        own.execute(move || note(&second, "queued before too"))
            .expect("accepted");
        future::yield_now().await;
        note(&seen, "the future");
    });
    in_time(move || task.expect("accepted").join()).expect("it ends");
    assert!(pool.wait_idle(LONG));
    assert_eq!(
        *log.lock().unwrap(),
        ["queued before", "queued before too", "the future", "queued later"]
    );
}

#[test]
fn what_is_to_run_next_goes_before_a_future_whose_turn_it_is() {
    let pool = single();
    let log = Arc::new(Mutex::new(Vec::new()));
    let (own, seen) = (pool.clone(), log.clone());
    let task = pool.spawn(async move {
        let (again, inner) = (own.clone(), seen.clone());
        own.execute(move || {
            let next = again.submit(move || inner.lock().unwrap().push("next"));
            assert!(next.expect("accepted").task_ref().run_next());
        })
        .expect("accepted");
        future::yield_now().await;
        seen.lock().unwrap().push("the future");
    });
    in_time(move || task.expect("accepted").join()).expect("it ends");
    assert!(pool.wait_idle(LONG));
    assert_eq!(*log.lock().unwrap(), ["next", "the future"]);
}

/// The other worker comes back to nothing of its own, and takes what lies there: one, and one half after the other of many.
#[test]
fn a_worker_without_a_task_takes_what_a_stuck_one_keeps() {
    for futures in [1, 2, 25] {
        let pool = pool(2);
        let other = hold(&pool);
        let stuck = Stuck::new(&pool, futures);
        assert!(stuck.polled.try_recv().is_err(), "nobody is free");
        drop(other);
        for task in stuck.futures {
            in_time(move || task.join()).expect("somebody else polled it");
        }
        drop(stuck.open);
        assert!(pool.wait_idle(LONG));
        assert_all_settled(&pool.stats());
    }
}

/// The same where the others fall asleep, or are on the way to it, just as the worker takes its closure.
#[test]
fn a_sleeping_worker_is_called_for_what_a_stuck_one_keeps() {
    let mut random = Random::printed("a_sleeping_worker_is_called");
    let pool = pool(3);
    for round in 0..300 {
        let futures = 1 + round % 5;
        let (ended, all_ended) = channel::<()>();
        for _ in 0..futures {
            let ended = ended.clone();
            let future = async move {
                future::yield_now().await;
                drop(ended);
            };
            drop(pool.spawn(future).expect("accepted"));
        }
        drop(ended);
        random.dawdle(3_000);
        // Whatever it keeps is polled by another: it goes on only then.
        let stuck = pool.submit(move || all_ended.recv().expect_err("nobody sends"));
        in_time(move || stuck.expect("accepted").join()).expect("they were polled");
    }
    assert!(pool.wait_idle(LONG));
    assert_all_settled(&pool.stats());
}

/// Two workers are stuck, each perhaps beside a future that never ends its yielding: the other two come to both, asleep or not.
#[test]
fn what_two_stuck_workers_keep_comes_to_two_others() {
    let mut random = Random::printed("two_stuck_workers");
    let pool = pool(4);
    for _ in 0..60 {
        let all = many(2);
        let tasks = spawn_all(&all, &pool);
        random.dawdle(3_000);
        let stuck = [all[0].clone(), all[1].clone()].map(|turns| {
            let closure = move || turns.go_on(3);
            pool.submit(closure).expect("accepted")
        });
        for task in stuck {
            in_time(move || task.join()).expect("they were polled");
        }
        end_all(&all, tasks);
    }
    assert!(pool.wait_idle(LONG));
    assert_all_settled(&pool.stats());
}

/// They began on one worker, the other being at something else, and would keep it to themselves.
#[test]
fn two_futures_that_go_on_yielding_come_to_two_workers() {
    let pool = pool(2);
    let held = hold(&pool);
    let all = many(2);
    let tasks = spawn_all(&all, &pool);
    all.iter().for_each(|turns| turns.go_on(10));
    assert_eq!(all[0].thread(), all[1].thread(), "one worker is free");
    drop(held);
    until("each has its own", || all[0].thread() != all[1].thread());
    all.iter().for_each(|turns| turns.go_on(10));
    end_all(&all, tasks);
}

/// Nothing is submitted: what is kept counts as what waits.
#[test]
fn a_pool_that_is_made_larger_starts_a_worker_for_futures_that_one_keeps() {
    let pool = pool(1);
    let all = many(2);
    let tasks = spawn_all(&all, &pool);
    all.iter().for_each(|turns| turns.go_on(10));
    pool.resize(2, 2).expect("valid");
    until("each has its own", || all[0].thread() != all[1].thread());
    end_all(&all, tasks);
}

#[test]
fn a_pause_holds_futures_that_yield_and_a_resume_goes_on() {
    for threads in [1, 2] {
        let pool = pool(threads);
        let all = many(5);
        let tasks = spawn_all(&all, &pool);
        for _ in 0..20 {
            all.iter().for_each(|turns| turns.go_on(1));
            pool.pause();
            until("the last polls are over", || pool.stats().active == 0);
            let before: Vec<u64> = all.iter().map(Turns::polls).collect();
            until("all lie down", || pool.stats().idle == threads);
            assert_eq!(pool.stats().suspended, 5);
            let after: Vec<u64> = all.iter().map(Turns::polls).collect();
            assert_eq!(before, after, "polled in a paused pool");
            pool.resume();
        }
        all.iter().for_each(|turns| turns.go_on(1));
        end_all(&all, tasks);
    }
}

#[test]
fn a_pool_that_is_made_smaller_loses_no_future_that_yields() {
    let pool = pool(4);
    let all = many(16);
    let tasks = spawn_all(&all, &pool);
    for _ in 0..5 {
        all.iter().for_each(|turns| turns.go_on(1));
        pool.resize(1, 1).expect("valid");
        until("three leave", || pool.stats().threads == 1);
        all.iter().for_each(|turns| turns.go_on(1));
        pool.resize(4, 4).expect("valid");
    }
    end_all(&all, tasks);
    assert!(pool.wait_idle(LONG));
    assert_all_settled(&pool.stats());
}

/// The worker that keeps one is the one too many, and the others of the closed pool have nothing to do.
#[test]
fn a_pool_that_is_made_smaller_and_closed_polls_futures_to_their_end() {
    let mut random = Random::printed("made_smaller_and_closed");
    for _ in 0..100 {
        let pool = pool(2);
        pool.prestart();
        let all = many(1);
        let tasks = spawn_all(&all, &pool);
        all[0].go_on(1);
        let shrunk = pool.clone();
        let smaller = std::thread::spawn(move || shrunk.resize(1, 1).map(drop));
        random.dawdle(2_000);
        pool.shutdown();
        smaller.join().expect("no panic").expect("valid");
        end_all(&all, tasks);
        assert!(pool.close().terminated);
    }
}

/// An offer that nobody took is forgotten with the worker that made it: here one too many, which leaves as soon as it can.
#[test]
fn a_worker_sleeps_after_one_that_offered_futures_has_left() {
    let pool = pool(2);
    let other = hold(&pool);
    let stuck = Stuck::new(&pool, 1);
    pool.resize(1, 1).expect("valid");
    drop(stuck.open);
    until("it has left", || pool.stats().threads == 1);
    let before = pool.stats().parks;
    drop(other);
    for task in stuck.futures {
        in_time(move || task.join()).expect("it was left to the other");
    }
    until("the other lies down", || pool.stats().parks > before);
}

/// The only worker waits for a future that it keeps: that goes to the thread that stands in.
#[test]
fn a_task_may_wait_for_a_future_that_its_own_worker_keeps() {
    for threads in [1, 2] {
        let pool = pool(threads);
        let held: Vec<_> = (0..threads).map(|_| hold(&pool)).collect();
        let turns = Turns::default();
        let awaited = turns.spawn(&pool);
        let task = pool.submit(move || {
            turns.end();
            awaited.join().is_ok()
        });
        drop(held);
        assert!(in_time(move || task.expect("accepted").join()).expect("it ends"));
        assert!(pool.wait_idle(LONG));
        assert_all_settled(&pool.stats());
    }
}

/// Both workers of the pool are taken, one of them by the wait: a thread that stands in takes the future from the other's line.
#[test]
fn a_task_may_wait_for_a_future_that_a_stuck_worker_keeps() {
    let pool = pool(2);
    let (go, may_go) = channel();
    let (begun, has_begun) = channel();
    let waits = pool.submit(move || {
        begun.send(()).expect("the test waits");
        let awaited: Vec<TaskHandle<()>> = may_go.recv().expect("the test sends");
        awaited.into_iter().all(|each| each.join().is_ok())
    });
    has_begun.recv().expect("it runs");
    let stuck = Stuck::new(&pool, 3);
    go.send(stuck.futures).expect("it waits");
    let waits = waits.expect("accepted");
    assert!(in_time(move || waits.join()).expect("they were polled"));
    drop(stuck.open);
}

#[test]
fn a_blocking_section_gives_away_what_its_worker_keeps() {
    let pool = single();
    let held = hold(&pool);
    let turns = Turns::default();
    let awaited = turns.spawn(&pool);
    let task = pool.submit(move || {
        task::blocking_section(|| {
            turns.go_on(2);
            turns.end();
            until("it has ended", || awaited.task_ref().status() == Status::Finished);
        });
    });
    drop(held);
    in_time(move || task.expect("accepted").join()).expect("somebody else polled it");
}

#[test]
fn a_stop_drops_futures_that_yield_and_answers_their_handles() {
    let pool = pool(2);
    let drops = Arc::new(AtomicUsize::new(0));
    let other = hold(&pool);
    let stuck = Stuck::new(&pool, 2);
    let endless: Vec<_> = (0..4)
        .map(|_| {
            let inside = Dropped(drops.clone());
            let future = async move {
                let _inside = inside;
                loop {
                    future::yield_now().await;
                }
            };
            pool.spawn(future).expect("accepted")
        })
        .collect();
    drop(other);
    until("they go on", || pool.stats().polls > 100);
    drop(pool.stop());
    for task in endless {
        let ended = in_time(move || task.join());
        assert!(ended.expect_err("it never ends by itself").is_cancelled());
    }
    for task in stuck.futures {
        // Polled to its end before the stop, or dropped.
        let _ = in_time(move || task.join());
    }
    assert_eq!(drops.load(SeqCst), 4);
    drop(stuck.open);
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
}

#[test]
fn a_shutdown_waits_for_futures_that_yield() {
    let pool = pool(2);
    let all = many(5);
    let tasks = spawn_all(&all, &pool);
    all.iter().for_each(|turns| turns.go_on(1));
    pool.shutdown();
    all.iter().for_each(|turns| turns.go_on(10));
    assert!(!pool.await_termination(Duration::from_millis(10)));
    end_all(&all, tasks);
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
}

/// It lies in its worker's line, which is at something else.
#[test]
fn a_cancelled_future_that_its_worker_keeps_is_dropped_unpolled() {
    let pool = single();
    let stuck = Stuck::new(&pool, 1);
    let task = stuck.futures.into_iter().next().expect("there is one");
    assert_eq!(task.cancel(), Cancel::Signalled);
    drop(stuck.open);
    assert!(
        in_time(move || task.join())
            .expect_err("cancelled")
            .is_cancelled()
    );
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!((stats.polls, stats.cancelled, stats.suspended), (1, 1, 0));
    assert!(stuck.polled.recv().is_err(), "it was not polled again");
}

#[test]
fn a_pool_is_not_idle_while_a_future_yields() {
    let pool = pool(2);
    let all = many(1);
    let tasks = spawn_all(&all, &pool);
    assert!(!pool.wait_idle(Duration::from_millis(20)));
    end_all(&all, tasks);
    assert!(pool.wait_idle(LONG));
}

#[test]
fn closures_and_timers_get_their_turn_beside_futures_that_yield() {
    let pool = single();
    let all = many(3);
    let tasks = spawn_all(&all, &pool);
    for _ in 0..20 {
        let closure = pool.submit(|| ()).expect("accepted");
        in_time(move || closure.join()).expect("it gets its turn");
        let timer = pool.after(Duration::from_micros(100), || ()).expect("accepted");
        in_time(move || timer.join()).expect("it gets its turn");
    }
    end_all(&all, tasks);
}

/// Submits itself again and again, and counts that.
fn flow(pool: Pool, turns: Turns, by_the_clock: bool) {
    turns.0.polls.fetch_add(1, SeqCst);
    if turns.0.is_over.load(SeqCst) {
        return;
    }
    let own = pool.clone();
    let again = move || flow(own, turns, by_the_clock);
    if by_the_clock {
        drop(pool.after(Duration::ZERO, again).expect("accepted"));
    } else {
        pool.execute(again).expect("accepted");
    }
}

/// The flow has been there for long when they come, with nobody else to let pass.
#[test]
fn futures_that_yield_get_their_turn_beside_an_endless_flow() {
    for by_the_clock in [false, true] {
        let pool = single();
        let flowing = Turns::default();
        for _ in 0..3 {
            flow(pool.clone(), flowing.clone(), by_the_clock);
        }
        flowing.go_on(500);
        let all = many(2);
        let tasks = spawn_all(&all, &pool);
        all.iter().for_each(|turns| turns.go_on(20));
        end_all(&all, tasks);
        flowing.end();
        assert!(pool.wait_idle(LONG));
    }
}

/// What a lane hands on has no number in the queue: neither side waits for the other to be through.
#[test]
fn tasks_of_a_lane_and_a_future_that_yields_take_turns() {
    const TASKS: usize = 100;
    let pool = single();
    let lane = pool.sequential();
    let log = Arc::new(Mutex::new(Vec::new()));
    let held = hold(&pool);
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let log = log.clone();
            let note = move || log.lock().unwrap().push(false);
            lane.submit(note).expect("accepted")
        })
        .collect();
    let (seen, is_over) = (log.clone(), Arc::new(AtomicBool::new(false)));
    let asked = is_over.clone();
    let future = pool.spawn(async move {
        while !asked.load(SeqCst) {
            seen.lock().unwrap().push(true);
            future::yield_now().await;
        }
    });
    drop(held);
    for task in tasks {
        in_time(move || task.join()).expect("the lane goes on");
    }
    is_over.store(true, SeqCst);
    in_time(move || future.expect("accepted").join()).expect("it ends");
    let log = log.lock().unwrap();
    let last = log.iter().rposition(|is_poll| !is_poll).expect("the lane ran");
    // By pairs and not one by one: where one side begins is not said.
    let most = log[..last].chunk_by(PartialEq::eq).map(<[bool]>::len).max();
    assert!(most.is_some_and(|most| most <= 2), "{log:?}");
}

/// Futures and closures come and go on three workers while somebody looks.
#[test]
fn the_books_balance_in_a_storm_of_futures_that_yield() {
    const FUTURES: u64 = 3_000;
    const TURNS: u64 = 12;
    let pool = pool(3);
    let is_over = Arc::new(AtomicBool::new(false));
    let (watched, seen) = (pool.clone(), is_over.clone());
    let watcher = std::thread::spawn(move || {
        while !seen.load(SeqCst) {
            assert_books_balance(&watched.stats());
        }
    });
    let polls = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..FUTURES)
        .map(|number| {
            let polls = polls.clone();
            let future = async move {
                // Some end early: what is kept beside them is taken just then.
                for _ in 0..TURNS / (1 + number % 7) {
                    polls.fetch_add(1, SeqCst);
                    future::yield_now().await;
                }
                polls.fetch_add(1, SeqCst);
            };
            pool.execute(|| ()).expect("accepted");
            pool.spawn(future).expect("accepted")
        })
        .collect();
    for task in tasks {
        in_time(move || task.join()).expect("it ends");
    }
    is_over.store(true, SeqCst);
    watcher.join().expect("the books balanced");
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_all_settled(&stats);
    let polls = polls.load(SeqCst);
    assert_eq!((stats.polls, stats.wakes), (polls, polls - FUTURES));
}
