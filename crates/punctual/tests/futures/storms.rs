//! Fault 21: futures that never yield, storms of wakes, spurious wakes, wakes after the end. Never two polls at once, never a
//! lost wake, and everybody else is served.

use crate::support::{LONG, Random, assert_all_settled, in_time, until};
use punctual::{Capacity, Pool, Priority, Queue, Status, future};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Counts polls that overlap, leaves its wakers to everybody, and is ready after the goal was set and it was woken.
struct Stormy {
    shared: Arc<Shared>,
    mine: Arc<Mine>,
}

#[derive(Default)]
struct Shared {
    overlaps: AtomicUsize,
    after_the_end: AtomicUsize,
    polls: AtomicUsize,
    /// By the storm, called or dropped.
    wakes: AtomicUsize,
    wakers: Mutex<Vec<Waker>>,
}

#[derive(Default)]
struct Mine {
    inside: AtomicBool,
    is_over: AtomicBool,
    goal: AtomicBool,
    last: Mutex<Option<Waker>>,
}

impl Future for Stormy {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mine = &self.mine;
        if mine.inside.swap(true, SeqCst) {
            self.shared.overlaps.fetch_add(1, SeqCst);
        }
        if mine.is_over.load(SeqCst) {
            self.shared.after_the_end.fetch_add(1, SeqCst);
        }
        self.shared.polls.fetch_add(1, SeqCst);
        *mine.last.lock().unwrap() = Some(context.waker().clone());
        {
            let mut wakers = self.shared.wakers.lock().unwrap();
            if wakers.len() < 256 {
                wakers.push(context.waker().clone());
            }
        }
        std::thread::yield_now();
        let is_over = mine.goal.load(SeqCst);
        mine.is_over.store(is_over, SeqCst);
        mine.inside.store(false, SeqCst);
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// On queues of every kind, each with a storm of its own.
#[test]
fn fault_21_storms_of_wakes_never_poll_twice_at_once_and_lose_none() {
    let mut random = Random::printed("fault_21_storms");
    let levels = || Queue::priority(10_000);
    for queue in [
        Queue::unbounded(),
        Queue::from(levels()),
        Queue::stealing(Capacity::Unbounded),
        Queue::from(levels().stealing()),
    ] {
        storm(queue, &mut random);
    }
}

/// Forty futures, some in a lane, some at other levels; three threads that wake whatever they find, until each has come to its goal.
fn storm(queue: Queue, random: &mut Random) {
    const FUTURES: usize = 40;
    let pool = Pool::builder("storm")
        .core_threads(3)
        .queue(queue)
        .build()
        .expect("valid");
    let lane = pool.lane();
    let shared = Arc::new(Shared::default());
    let futures: Vec<Arc<Mine>> = (0..FUTURES).map(|_| Arc::default()).collect();
    let tasks: Vec<_> = futures
        .iter()
        .enumerate()
        .map(|(number, mine)| {
            let stormy = Stormy {
                shared: shared.clone(),
                mine: mine.clone(),
            };
            let level = Priority::level((number % 4) as u8);
            let to = if number % 5 == 0 {
                lane.at_priority(level)
            } else {
                pool.at_priority(level)
            };
            to.spawn(stormy).expect("accepted")
        })
        .collect();
    let stop = Arc::new(AtomicBool::new(false));
    let stormers: Vec<_> = (0..3)
        .map(|_| {
            let (shared, stop) = (shared.clone(), stop.clone());
            let random = Random::from_seed(random.next());
            std::thread::spawn(move || wake_whatever(&shared, &stop, random))
        })
        .collect();
    until("there is a storm", || shared.polls.load(SeqCst) > 3 * FUTURES);
    for mine in &futures {
        random.dawdle(100_000);
        // Set, then woken by the one waker that the last poll left: that poll must see it.
        until("it was polled", || mine.last.lock().unwrap().is_some());
        mine.goal.store(true, SeqCst);
        let waker = mine.last.lock().unwrap().clone();
        waker.into_iter().for_each(Waker::wake);
    }
    for task in tasks {
        in_time(move || task.join()).expect("its wake was not lost");
    }
    // And it goes on after the end.
    let before = shared.wakes.load(SeqCst);
    until("ended ones are woken", || {
        shared.wakes.load(SeqCst) > before + 1000
    });
    stop.store(true, SeqCst);
    stormers
        .into_iter()
        .for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(shared.overlaps.load(SeqCst), 0, "two polls at once");
    assert_eq!(shared.after_the_end.load(SeqCst), 0, "polled after its end");
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_all_settled(&stats);
    assert_eq!(stats.finished, FUTURES as u64);
    assert!(stats.wakes > FUTURES as u64, "{stats:?}");
}

/// Calls, clones and drops wakers at random.
fn wake_whatever(shared: &Shared, stop: &AtomicBool, mut random: Random) {
    while !stop.load(SeqCst) {
        let waker = {
            let mut wakers = shared.wakers.lock().unwrap();
            let count = wakers.len().max(1) as u64;
            let place = (random.next() % count) as usize;
            if place >= wakers.len() {
                continue;
            }
            // Some are kept for after the end.
            if wakers.len() > 16 && random.next().is_multiple_of(4) {
                wakers.swap_remove(place)
            } else {
                wakers[place].clone()
            }
        };
        shared.wakes.fetch_add(1, SeqCst);
        match random.next() % 3 {
            0 => waker.wake(),
            1 => (0..20).for_each(|_| waker.wake_by_ref()),
            _ => drop(waker),
        }
    }
}

/// The futures take turns with everybody else: whoever comes is behind those that are in the queue, and no more than once each.
#[test]
fn fault_21_futures_that_never_rest_leave_room_for_timers_and_others() {
    const FUTURES: usize = 8;
    for queue in [Queue::unbounded(), Queue::stealing(Capacity::Unbounded)] {
        let builder = Pool::builder("busy").core_threads(2).queue(queue);
        let pool = builder.build().expect("valid");
        let over = Arc::new(AtomicBool::new(false));
        let busy: Vec<_> = (0..FUTURES)
            .map(|number| {
                let over = over.clone();
                let future = async move {
                    while !over.load(SeqCst) {
                        never_rest(number).await;
                    }
                };
                pool.spawn(future).expect("accepted")
            })
            .collect();
        let mut polls = Vec::new();
        for _ in 0..20 {
            let timer = pool.after(Duration::from_millis(1), || ()).expect("accepted");
            in_time(move || timer.join()).expect("timers are served");
            let sleeper = pool
                .spawn(future::sleep(Duration::from_millis(1)))
                .expect("accepted");
            in_time(move || sleeper.join()).expect("sleepers are served");
            let own = pool.clone();
            let task = pool.submit(move || own.stats().polls).expect("accepted");
            // From acceptance on: before, the system may stop this thread for any number of polls.
            let accepted = pool.stats().polls;
            let started = in_time(move || task.join()).expect("tasks are served");
            polls.push(started.saturating_sub(accepted));
        }
        over.store(true, SeqCst);
        for task in busy {
            in_time(move || task.join()).expect("it ends");
        }
        polls.sort_unstable();
        // The usual one: the system may stop a thread at any point.
        assert!(polls[10] <= 4 * FUTURES as u64, "{polls:?}");
    }
}

/// Ready at once, or woken at once.
async fn never_rest(number: usize) {
    match number % 3 {
        0 => future::yield_now().await,
        1 => future::sleep(Duration::ZERO).await,
        _ => {
            let ready = future::timeout(Duration::ZERO, std::future::pending::<()>());
            assert!(ready.await.is_err());
        }
    }
}

#[test]
fn fault_21_cancels_wakes_and_drops_at_once_end_every_future_once() {
    let pool = Pool::builder("race")
        .core_threads(2)
        .queue(Queue::unbounded())
        .build()
        .expect("valid");
    let dropped = Arc::new(AtomicUsize::new(0));
    let rounds = 300;
    for round in 0..rounds {
        let bell = super::Bell::default();
        let (on, inside) = (bell.clone(), crate::support::Dropped(dropped.clone()));
        let task = pool
            .spawn(async move {
                on.await;
                drop(inside);
            })
            .expect("accepted");
        if round % 2 == 0 {
            until("it rests", || task.task_ref().status() == Status::Suspended);
        }
        let other = task.task_ref();
        let canceller = std::thread::spawn(move || other.cancel());
        bell.ring();
        if round % 3 == 0 {
            drop(task);
        } else {
            let _ = in_time(move || task.join());
        }
        canceller.join().expect("no panic");
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(dropped.load(SeqCst), rounds, "each future is dropped once");
    let stats = pool.stats();
    assert_eq!(stats.finished + stats.cancelled, rounds as u64);
    assert_all_settled(&stats);
}
