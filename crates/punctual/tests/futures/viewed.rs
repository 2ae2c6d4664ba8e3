//! Futures in lanes, limits and levels.

use super::Bell;
use crate::support::{LONG, hold, in_time, single, until};
use punctual::{Pool, Priority, Queue, Reject, Status};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn a_suspended_future_frees_its_lane() {
    let pool = single();
    let lane = pool.lane();
    let bell = Bell::default();
    let task = lane.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    let next = lane.submit(|| ()).expect("accepted");
    in_time(move || next.join()).expect("the lane is free");
    let stats = lane.view_stats();
    assert_eq!((stats.active, stats.queued, stats.taken), (0, 0, 2));
    assert!(
        !lane.close_timeout(Duration::from_millis(20)),
        "it is still one of the lane's"
    );
    bell.ring();
    in_time(move || task.join()).expect("it goes on");
    assert!(lane.close_timeout(LONG));
}

#[test]
fn polls_of_one_lane_never_overlap() {
    let pool = Pool::builder("lanes").core_threads(4).build().expect("valid");
    let lane = pool.lane();
    let inside = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let inside = inside.clone();
            let mut left = 50;
            lane.spawn(std::future::poll_fn(move |context| {
                assert_eq!(inside.fetch_add(1, SeqCst), 0, "two polls at once");
                std::thread::yield_now();
                inside.fetch_sub(1, SeqCst);
                left -= 1;
                if left == 0 {
                    return std::task::Poll::Ready(());
                }
                context.waker().wake_by_ref();
                std::task::Poll::Pending
            }))
            .expect("accepted")
        })
        .collect();
    for task in tasks {
        in_time(move || task.join()).expect("none overlapped");
    }
    assert_eq!(lane.view_stats().active, 0);
}

#[test]
fn a_woken_future_waits_its_turn_in_its_lane() {
    let pool = Pool::builder("lanes").core_threads(2).build().expect("valid");
    let lane = pool.lane();
    let bell = Bell::default();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (on, noted) = (bell.clone(), order.clone());
    let task = lane
        .spawn(async move {
            on.await;
            noted.lock().unwrap().push("woken");
        })
        .expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    let held = hold(&lane);
    let noted = order.clone();
    let before = lane
        .submit(move || noted.lock().unwrap().push("before"))
        .expect("accepted");
    bell.ring();
    assert_eq!(task.task_ref().status(), Status::Suspended, "its lane is taken");
    assert_eq!(pool.drain().len(), 1, "the one that has not begun");
    assert!(before.join().is_err());
    let noted = order.clone();
    let after = lane
        .submit(move || noted.lock().unwrap().push("after"))
        .expect("accepted");
    drop(held);
    in_time(move || after.join()).expect("it runs");
    in_time(move || task.join()).expect("it goes on");
    assert_eq!(*order.lock().unwrap(), ["woken", "after"]);
}

#[test]
fn disposing_of_a_lane_cancels_its_suspended_futures() {
    let pool = single();
    let lane = pool.lane();
    let bell = Bell::default();
    let task = lane.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    assert_eq!(lane.dispose(), 0, "it had begun");
    assert!(
        in_time(move || task.join())
            .expect_err("cancelled")
            .is_cancelled()
    );
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().cancelled, 1);
}

#[test]
fn a_woken_future_comes_back_at_its_level() {
    let pool = Pool::builder("levels")
        .core_threads(1)
        .queue(Queue::priority(100).strict())
        .build()
        .expect("valid");
    let order = Arc::new(Mutex::new(Vec::new()));
    let bells = [Bell::default(), Bell::default()];
    let levels = [Priority::LOW, Priority::URGENT];
    let tasks: Vec<_> = bells
        .iter()
        .zip(levels)
        .map(|(bell, level)| {
            let (on, noted) = (bell.clone(), order.clone());
            let future = async move {
                on.await;
                noted.lock().unwrap().push(level);
            };
            pool.task(future).priority(level).spawn().expect("accepted")
        })
        .collect();
    for task in &tasks {
        until("it rests", || task.task_ref().status() == Status::Suspended);
    }
    let held = hold(&pool);
    let noted = order.clone();
    let normal = pool
        .submit(move || noted.lock().unwrap().push(Priority::NORMAL))
        .expect("accepted");
    bells.iter().for_each(Bell::ring);
    drop(held);
    for task in tasks {
        in_time(move || task.join()).expect("it was woken");
    }
    in_time(move || normal.join()).expect("it runs");
    assert_eq!(
        *order.lock().unwrap(),
        [Priority::URGENT, Priority::NORMAL, Priority::LOW]
    );
    let stats = pool.stats();
    let taken: u64 = stats.levels.iter().map(|level| level.taken).sum();
    assert_eq!((stats.taken, taken), (4, 4), "a future is taken once");
}

#[test]
fn an_eviction_does_not_throw_out_what_has_begun() {
    for queue in [Queue::bounded(1), Queue::priority(1).into()] {
        let pool = Pool::builder("evicting")
            .core_threads(1)
            .queue(queue)
            .on_full(Reject::DiscardOldest)
            .build()
            .expect("valid");
        let bell = Bell::default();
        let task = pool.spawn(bell.clone()).expect("accepted");
        until("it rests", || task.task_ref().status() == Status::Suspended);
        let held = hold(&pool);
        bell.ring();
        let first = pool.submit(|| ()).expect("the one place");
        let second = pool.submit(|| ()).expect("takes the place of the first");
        assert!(first.join().expect_err("thrown out").is_evicted());
        drop(held);
        in_time(move || second.join()).expect("it runs");
        in_time(move || task.join()).expect("it was only woken");
        let stats = pool.stats();
        assert_eq!(
            (stats.evicted, stats.finished, stats.active, stats.suspended),
            (1, 3, 0, 0)
        );
    }
}

#[test]
fn a_future_on_the_blocking_threads_is_polled_there() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(2)
        .build()
        .expect("valid");
    let blocking = pool.blocking().expect("there are some");
    let held = hold(&pool);
    let bell = Bell::default();
    let task = blocking.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    let (one, other) = (hold(&blocking), hold(&blocking));
    bell.ring();
    drop(one);
    in_time(move || task.join()).expect("the pool's own thread is not needed");
    drop((held, other));
    assert!(pool.wait_idle(LONG));
}

#[test]
fn a_queue_with_nothing_but_woken_futures_has_nothing_to_throw_out() {
    let pool = Pool::builder("full")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .on_full(Reject::DiscardOldest)
        .build()
        .expect("valid");
    let bells: Vec<_> = (0..3).map(|_| Bell::default()).collect();
    let mut tasks = Vec::new();
    for bell in &bells {
        let task = pool.spawn(bell.clone()).expect("accepted");
        until("it rests", || task.task_ref().status() == Status::Suspended);
        tasks.push(task);
    }
    let lane = pool.lane();
    let held = hold(&lane);
    // The one place is held by a task that stands in a line.
    lane.execute(|| ()).expect("accepted");
    bells.iter().for_each(Bell::ring);
    let other = pool.clone();
    in_time(move || other.execute(|| ())).expect("the one in line makes room");
    assert_eq!(pool.stats().evicted, 1);
    drop(held);
    for task in tasks {
        in_time(move || task.join()).expect("woken futures are not thrown out");
    }
}
