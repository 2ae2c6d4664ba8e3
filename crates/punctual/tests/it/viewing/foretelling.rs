//! What an explanation foretells: how many go before a task, when it should start, how urgent it counts, and what runs.

use super::{Notes, hold_in, pool_of};
use crate::support::{LONG, Random, hold, until};
use punctual::{
    Clock, Executor, ManualClock, OnDrop, Pool, Priority, PriorityQueue, Queue, TaskHandle, task,
};
use std::time::Duration;

const STEP: Duration = Duration::from_secs(1);
const SECOND: Duration = Duration::from_secs(1);

/// A paused pool of one worker, on a clock of its own.
fn paused(queue: impl Into<Queue>) -> (Pool, ManualClock) {
    let clock = Clock::manual();
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(queue)
        .clock(&clock)
        .on_drop(OnDrop::Stop)
        .build()
        .unwrap();
    pool.pause();
    (pool, clock)
}

fn levels() -> PriorityQueue {
    Queue::priority(100_000)
}

fn at(pool: &Executor, priority: Priority) -> TaskHandle<()> {
    pool.task(|| ()).priority(priority).submit().unwrap()
}

fn before(task: &TaskHandle<()>) -> usize {
    task.task_ref().explain().at_most_before().expect("it waits")
}

#[test]
fn an_urgent_task_is_told_of_less_urgent_ones_before_it_in_its_line() {
    let (pool, _clock) = paused(levels().strict());
    let view = pool.limit(1).unwrap();
    let _low: Vec<_> = (0..5).map(|_| at(&view, Priority::LOW)).collect();
    let between: Vec<_> = (0..3).map(|_| at(&pool, Priority::NORMAL)).collect();
    let urgent = at(&view, Priority::URGENT);
    // The first of the line waits for those between, and this one for it.
    assert_eq!(before(&urgent), 8);
    assert_eq!(
        before(&between[0]),
        1,
        "of what is less urgent nothing goes before it"
    );
}

#[test]
fn what_was_moved_to_the_front_is_counted_whatever_its_level() {
    let (pool, _clock) = paused(levels().strict());
    let (low, urgent) = (at(&pool, Priority::LOW), at(&pool, Priority::URGENT));
    assert_eq!((before(&low), before(&urgent)), (1, 0));
    assert!(low.task_ref().run_next());
    assert_eq!((before(&low), before(&urgent)), (0, 1));
    let second = at(&pool, Priority::URGENT);
    assert!(second.task_ref().run_next());
    assert_eq!((before(&second), before(&urgent)), (1, 2));
}

#[test]
fn near_the_beginning_of_a_queue_or_a_line_its_place_is_told() {
    let (pool, _clock) = paused(Queue::unbounded());
    let tasks: Vec<_> = (0..5_000).map(|_| pool.submit(|| ()).unwrap()).collect();
    assert_eq!((before(&tasks[0]), before(&tasks[700])), (0, 700));
    assert_eq!(before(&tasks[3_000]), 4_999, "far behind all others are counted");
    let lane = pool.lane();
    let line: Vec<_> = (0..100).map(|_| lane.submit(|| ()).unwrap()).collect();
    // Behind those of the queue, the one that has the slot, and those before it in line.
    assert_eq!(before(&line[10]), 5_000 + 1 + 9);
}

#[test]
fn shares_bound_what_goes_before() {
    let (pool, _clock) = paused(levels().shares([50, 30, 15, 5]));
    let low: Vec<_> = (0..1_000).map(|_| at(&pool, Priority::LOW)).collect();
    let urgent = at(&pool, Priority::URGENT);
    assert_eq!(before(&urgent), 3, "one of each other level");
    assert_eq!(before(&low[999]), 1_000);
}

#[test]
fn where_waiting_counts_a_task_is_told_how_urgent_it_has_become() {
    let (pool, clock) = paused(levels().aging(STEP));
    let low = at(&pool, Priority::LOW);
    clock.advance(STEP * 2);
    let young = at(&pool, Priority::LOW);
    let lane = pool.at_priority(Priority::LOW).lane();
    let (_first, in_line) = (lane.submit(|| ()).unwrap(), lane.submit(|| ()).unwrap());
    clock.advance(STEP / 2);
    let why = low.task_ref().explain();
    assert_eq!((why.level(), why.effective_level()), (Some(3), Some(1)));
    assert!(
        why.to_string().contains("its level is 3, and by its age 1"),
        "{why}"
    );
    let why = young.task_ref().explain();
    assert_eq!((why.level(), why.effective_level()), (Some(3), Some(3)));
    clock.advance(STEP);
    assert_eq!(young.task_ref().explain().effective_level(), Some(2));
    assert_eq!(low.task_ref().explain().effective_level(), Some(0));
    let why = in_line.task_ref().explain();
    assert_eq!(
        (why.effective_level(), why.held_by()),
        (Some(3), Some("p/lane")),
        "in a line nobody ages"
    );
}

/// Runs a few tasks of a second each, so that the mean is known.
fn seconds(clock: &ManualClock, pool: &Executor) {
    for _ in 0..4 {
        let slept = pool.submit(|| task::sleep(SECOND).is_ok()).unwrap();
        clock.advance(SECOND);
        assert!(slept.join().unwrap());
    }
}

#[test]
fn a_view_starts_no_more_at_a_time_than_its_limit() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(4).clock(&clock).build().unwrap();
    seconds(&clock, &pool);
    let lane = pool.lane();
    let held = hold_in(&lane);
    let tasks: Vec<_> = (0..8).map(|_| lane.submit(|| ()).unwrap()).collect();
    let start = tasks[7].task_ref().explain().expected_start().unwrap();
    // Seven before it, and half of the one that runs, one after the other; to the width of a histogram's bucket.
    assert!(start > 6 * SECOND && start < 10 * SECOND, "{start:?}");
    drop(held);
}

#[test]
fn threads_beside_the_pools_own_do_not_count_for_its_queue() {
    let clock = Clock::manual();
    let pool = Pool::builder("p")
        .core_threads(1)
        .blocking_threads(4)
        .queue(Queue::unbounded())
        .clock(&clock)
        .build()
        .unwrap();
    seconds(&clock, &pool);
    let blocking = pool.blocking().unwrap();
    let _held: Vec<_> = (0..4).map(|_| hold_in(&blocking)).collect();
    let held = hold(&pool);
    let tasks: Vec<_> = (0..8).map(|_| pool.submit(|| ()).unwrap()).collect();
    let why = tasks[7].task_ref().explain();
    let start = why.expected_start().unwrap();
    assert!(start > 6 * SECOND && start < 10 * SECOND, "{start:?}");
    assert!(why.to_string().contains("1 tasks run on 1 threads"), "{why}");
    drop(held);
}

#[test]
fn some_of_what_runs_is_named() {
    let pool = pool_of(6);
    let mut held = Vec::new();
    for _ in 0..6 {
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let body = move || {
            begun.send(()).unwrap();
            let _ = gate.recv();
        };
        drop(pool.task(body).name("nightly").submit().unwrap());
        has_begun.recv().unwrap();
        held.push(open);
    }
    let why = pool.submit(|| ()).unwrap().task_ref().explain();
    // Where the system has no way to look at a running thread nothing is named.
    if pool.control().running().is_empty() {
        return;
    }
    let names: Vec<&str> = why.running().collect();
    assert_eq!(names, ["nightly"; 4], "a few of them");
    let text = format!("{why:#}");
    assert!(
        text.contains("6 tasks run on 6 threads (nightly, nightly, nightly, nightly, ..)"),
        "{text}"
    );
    assert!(!why.to_string().contains("nightly"), "{why}");
}

/// One random crowd: tasks of the pool and of views, moved, cancelled, delayed; each asked, and then run by one worker.
fn foretold(queue: impl Into<Queue>, random: &mut Random) -> usize {
    let (pool, clock) = paused(queue);
    let (one, two) = (pool.limit(1).unwrap(), pool.limit(2).unwrap());
    let lane = two.lane();
    let places: [&Executor; 5] = [&pool, &pool, &one, &two, &lane];
    let notes = Notes::default();
    let mut tasks: Vec<TaskHandle<()>> = Vec::new();
    for number in 0..12 + random.below(40) as usize {
        let place = places[random.below(5) as usize].at_priority(Priority::level(random.below(4) as u8));
        let task = match random.below(8) {
            0 => place.after(SECOND * random.below(3) as u32, notes.writes(number)),
            _ => place.submit(notes.writes(number)),
        };
        tasks.push(task.unwrap());
        let any = tasks[random.below(tasks.len() as u64) as usize].task_ref();
        match random.below(12) {
            0 => drop(any.run_next()),
            1 => drop(any.set_priority(Priority::level(random.below(4) as u8))),
            2 => drop(any.cancel()),
            3 => clock.advance(STEP * random.below(3) as u32 / 2),
            _ => {}
        }
    }
    // What is due by now lies with the others when this returns.
    clock.advance(Duration::from_nanos(1));
    let told: Vec<_> = tasks.iter().map(|task| task.task_ref().explain()).collect();
    pool.resume();
    until("all that waited has run", || pool.stats().queued == 0);
    assert!(pool.wait_idle(LONG));
    // What came due after they were asked did not wait then.
    let waited = |number: &usize| told[*number].at_most_before().is_some();
    let order: Vec<usize> = notes.read().into_iter().filter(waited).collect();
    for (place, number) in order.iter().enumerate() {
        let why = &told[*number];
        assert!(
            Some(place) <= why.at_most_before(),
            "{place} went before task {number}, which was told: {why}"
        );
    }
    order.len()
}

#[test]
fn of_those_that_wait_never_more_go_before_a_task_than_it_was_told() {
    let mut random = Random::printed("foretold");
    let mut asked = 0;
    for _ in 0..40 {
        asked += foretold(Queue::unbounded(), &mut random);
        asked += foretold(levels().strict(), &mut random);
        asked += foretold(levels().aging(STEP), &mut random);
        asked += foretold(levels().shares([50, 30, 15, 5]), &mut random);
    }
    assert!(asked > 1_000, "{asked}");
}
