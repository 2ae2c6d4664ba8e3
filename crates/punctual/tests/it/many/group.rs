//! Groups: outcomes in the order in which they come.

use super::{HOUR, LIMIT, MOMENT, held_single, sleepy};
use crate::life::{pool_on, settle};
use crate::support::{Dropped, LONG, assert_all_settled, quiet_panic, single};
use punctual::{Clock, Group, JoinError, Pool, Queue, Reject, Status, TaskRef, Timeout};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

#[test]
fn ecs_01_next_gives_ended_tasks_and_they_are_those_that_were_submitted() {
    let pool = Pool::fixed(2).expect("valid settings");
    let mut group = pool.group();
    let mut submitted = BTreeSet::new();
    for n in 0..20_u64 {
        submitted.insert(group.submit(move || n).unwrap().id());
    }
    assert_eq!((group.len(), group.is_empty()), (20, false));
    let mut sum = 0;
    while let Some((task, outcome)) = group.next() {
        assert_eq!(task.status(), Status::Finished);
        assert!(submitted.remove(&task.id()), "each once");
        sum += outcome.unwrap();
    }
    assert_eq!((sum, group.len(), group.is_empty()), (190, 0, true));
    assert!(submitted.is_empty());
    assert!(group.next().is_none(), "and stays empty");
}

#[test]
fn ecs_01_the_first_to_end_is_the_first_given() {
    let pool = Pool::fixed(2).expect("valid settings");
    let mut group = pool.group();
    let gates: Vec<_> = (0..2)
        .map(|n| {
            let (open, gate) = channel::<()>();
            let task = group
                .submit(move || {
                    let _ = gate.recv();
                    n
                })
                .unwrap();
            (open, task)
        })
        .collect();
    let [(open_first, first), (open_second, second)] = <[_; 2]>::try_from(gates).unwrap();
    drop(open_second);
    let (task, outcome) = group.next().unwrap();
    assert_eq!((task.id(), outcome.unwrap()), (second.id(), 1));
    drop(open_first);
    let (task, outcome) = group.next().unwrap();
    assert_eq!((task.id(), outcome.unwrap()), (first.id(), 0));
}

#[test]
fn ecs_01_a_failure_is_given_like_a_value() {
    let pool = single();
    let mut group: Group<()> = pool.group();
    let panicked = group.submit(|| quiet_panic("no luck")).unwrap();
    let (task, outcome) = group.next().unwrap();
    assert_eq!((task.id(), task.status()), (panicked.id(), Status::Panicked));
    assert!(outcome.unwrap_err().is_panic());
}

#[test]
fn ecs_01_a_group_can_be_filled_again_between_two_reads() {
    let pool = single();
    let mut group = pool.group();
    for round in 0..3 {
        group.submit(move || round).unwrap();
        assert_eq!(group.next().unwrap().1.unwrap(), round);
        assert!(group.next().is_none());
    }
}

#[test]
fn ecs_02_before_anything_has_ended_a_look_gives_nothing() {
    let (pool, held) = held_single();
    let mut group = pool.group();
    assert!(group.next_timeout(Duration::ZERO).unwrap().is_none(), "empty");
    group.submit(|| 7).unwrap();
    assert_eq!(group.next_timeout(Duration::ZERO).unwrap_err(), Timeout);
    assert_eq!(group.next_timeout(Duration::from_nanos(1)).unwrap_err(), Timeout);
    assert_eq!(group.len(), 1, "and it is still there");
    drop(held);
    let (_, outcome) = group.next_timeout(Duration::MAX).unwrap().unwrap();
    assert_eq!(outcome.unwrap(), 7);
}

#[test]
fn ecs_02_a_timed_look_waits_for_the_limit_and_no_longer() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let told = Arc::new(AtomicUsize::new(0));
    let job = sleepy(&told);
    let waiter = watcher
        .submit(move || {
            let mut group = pool.group();
            group.submit(job).unwrap();
            let first = group.next_timeout(LIMIT).map(drop);
            let second = group.next_timeout(HOUR).map(|next| next.unwrap().1.unwrap());
            (first, second)
        })
        .unwrap();
    clock.advance(LIMIT - MOMENT);
    let is_waiting = waiter.task_ref();
    assert_eq!(is_waiting.status(), Status::Running);
    clock.advance(HOUR - LIMIT);
    assert!(
        !waiter.is_finished(),
        "the second look has begun at the limit of the first"
    );
    clock.advance(MOMENT);
    assert_eq!(waiter.join().unwrap(), (Err(Timeout), Ok(Ok(60))));
    assert_eq!(told.load(SeqCst), 0);
}

#[test]
fn ecs_04_the_first_success_ends_the_search_and_the_rest_is_cancelled() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 2);
    let told = Arc::new(AtomicUsize::new(0));
    let mut group: Group<Option<u32>> = pool.group();
    let slow = sleepy(&told);
    group.submit(|| None).unwrap();
    let slow = group.submit(move || slow().ok()).unwrap();
    group.submit(|| Some(7)).unwrap();
    let later = sleepy(&told);
    let later = group.submit(move || later().ok()).unwrap();
    let found = std::iter::from_fn(|| group.next()).find_map(|(_, outcome)| outcome.ok().flatten());
    assert_eq!(found, Some(7));

    group.cancel();
    let rest: Vec<(TaskRef, Result<_, JoinError>)> = std::iter::from_fn(|| group.next()).collect();
    let ids: BTreeSet<u64> = rest.iter().map(|(task, _)| task.id()).collect();
    assert_eq!(ids, BTreeSet::from([slow.id(), later.id()]));
    assert!(
        rest.iter()
            .all(|(_, outcome)| outcome.as_ref().unwrap_err().is_cancelled())
    );
    settle(&clock);
    assert_all_settled(&pool.stats());
}

#[test]
fn ecs_04_all_of_them_can_be_read_too() {
    let pool = Pool::fixed(2).expect("valid settings");
    let mut group = pool.group();
    for n in 0..10 {
        group.submit(move || (n % 2 == 0).then_some(n)).unwrap();
    }
    let mut found: Vec<i32> = std::iter::from_fn(|| group.next())
        .filter_map(|(_, outcome)| outcome.unwrap())
        .collect();
    found.sort_unstable();
    assert_eq!(found, [0, 2, 4, 6, 8]);
}

#[test]
fn ecs_04_dropping_a_group_cancels_what_is_left() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1);
    let (told, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut group = pool.group();
    let tasks: Vec<TaskRef> = (0..2)
        .map(|_| {
            let (job, dropped) = (sleepy(&told), Dropped(drops.clone()));
            group
                .submit(move || {
                    let _dropped = dropped;
                    job()
                })
                .unwrap()
        })
        .collect();
    settle(&clock);
    assert_eq!(tasks[0].status(), Status::Running);
    drop(group);
    assert_eq!(tasks[1].status(), Status::Cancelled);
    settle(&clock);
    assert_eq!((told.load(SeqCst), drops.load(SeqCst)), (1, 2));
    assert_eq!(pool.stats().cancelled, 2);
}

#[test]
fn ecs_04_a_task_that_the_pool_threw_away_is_given_too() {
    let pool = Pool::builder("full")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .on_full(Reject::Discard)
        .build()
        .unwrap();
    let held = crate::support::hold(&pool);
    let mut group = pool.group();
    let fits = group.submit(|| 1).unwrap();
    let discarded = group.submit(|| 2).unwrap();
    let (task, outcome) = group.next().unwrap();
    assert_eq!(task.id(), discarded.id());
    assert!(outcome.unwrap_err().is_rejected());
    drop(held);
    let (task, outcome) = group.next().unwrap();
    assert_eq!((task.id(), outcome.unwrap()), (fits.id(), 1));
}

#[test]
fn ecs_04_a_reader_that_is_told_to_stop_leaves_the_task_in_the_group() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let told = Arc::new(AtomicUsize::new(0));
    let (job, subject) = (sleepy(&told), pool.clone());
    let (tell, back) = channel();
    let reader = watcher
        .submit(move || {
            let mut group = subject.group();
            let submitted = group.submit(job).unwrap().id();
            let (task, outcome) = group.next().unwrap();
            assert!(outcome.unwrap_err().is_interrupted());
            assert_eq!((task.id(), task.status()), (submitted, Status::Running));
            tell.send(group).expect("the test waits for this");
        })
        .unwrap();
    settle(&clock);
    assert_eq!(reader.cancel(), punctual::Cancel::Signalled);
    let mut group = back.recv_timeout(LONG).expect("the reader returns");
    assert_eq!(group.len(), 1);
    clock.advance(HOUR);
    assert_eq!(group.next().unwrap().1.unwrap(), Ok(60));
}

#[test]
fn ecs_01_several_threads_end_tasks_while_one_reads() {
    let pool = Pool::fixed(4).expect("valid settings");
    let mut group = pool.group();
    for n in 0..2_000_u64 {
        group.submit(move || n).unwrap();
        if n % 7 == 0 {
            thread::yield_now();
        }
    }
    let sum: u64 = std::iter::from_fn(|| group.next())
        .map(|(_, outcome)| outcome.unwrap())
        .sum();
    assert_eq!(sum, 2_000 * 1_999 / 2);
}
