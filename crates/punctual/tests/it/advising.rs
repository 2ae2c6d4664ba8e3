//! What a pool says about itself: lints of its settings, advice from its figures; niceness.

use crate::support::{LONG, hold, in_time, until};
use punctual::{Clock, Lanes, OnBlocking, OnDrop, Pool, PoolBuilder, Priority, Queue, Reject};
use std::time::{Duration, Instant};

fn codes(builder: &PoolBuilder) -> Vec<&'static str> {
    builder.lints().iter().map(|lint| lint.code).collect()
}

fn pool() -> PoolBuilder {
    Pool::builder("pool").core_threads(1)
}

#[test]
fn settings_that_are_often_a_mistake_have_codes() {
    assert!(codes(&pool()).is_empty());
    assert_eq!(codes(&pool().queue(Queue::unbounded())), ["W001"]);
    let levels = || pool().queue(Queue::priority(10));
    assert_eq!(codes(&levels().on_full(Reject::DiscardOldest)), ["W002"]);
    assert!(codes(&levels().on_full(Reject::EvictLower)).is_empty());
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(codes(&pool().core_threads(16 * cores + 1)), ["W003"]);
    let never_blocks = pool().core_threads(cores + 1).on_blocking(OnBlocking::Error);
    assert_eq!(codes(&never_blocks), ["W003"]);
    assert_eq!(codes(&pool().on_drop(OnDrop::Detach)), ["W004"]);
    assert_eq!(codes(&pool().queue(Queue::priority(10).strict())), ["W005"]);
    assert_eq!(codes(&pool().max_threads(2).keep_alive(Duration::ZERO)), ["W006"]);
}

#[test]
fn lints_say_what_to_do_and_are_part_of_the_advice() {
    let pool = Pool::fixed(2).unwrap();
    let lints = pool.advice().lints().to_vec();
    assert_eq!(lints.len(), 1);
    assert!(lints[0].to_string().starts_with("W001: "), "{}", lints[0]);
    assert!(lints[0].text.contains("on_full"));
    assert!(pool.advice().to_string().contains("W001"));
}

#[test]
fn a_pool_that_has_done_nothing_has_nothing_to_say() {
    let pool = pool().build().unwrap();
    let advice = pool.advice();
    assert_eq!((advice.threads(), advice.for_waiting()), (None, None));
    assert!(advice.seen().is_empty());
    assert!(advice.to_string().contains("no task has been timed"), "{advice}");
}

/// Computes for about so long.
fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn tasks_that_compute_want_a_thread_for_each_core_and_one_more() {
    let cores = std::thread::available_parallelism().unwrap().get();
    // On a crowded machine, or one whose processors are somebody else's too, a thread that is held up may look as if it
    // waited: one undisturbed time is enough.
    let fits = (0..20).any(|_| {
        let pool = pool().build().unwrap();
        for _ in 0..400 {
            pool.execute(|| compute(Duration::from_micros(100))).unwrap();
        }
        assert!(pool.wait_idle(LONG));
        let advice = pool.advice();
        assert_eq!(advice.for_computing(), cores + 1);
        println!("{advice}");
        advice.threads().unwrap() == cores + 1
    });
    assert!(fits, "twenty times another number");
}

#[test]
#[cfg(target_os = "linux")]
fn tasks_that_wait_want_more_threads_the_longer_they_wait() {
    let lanes = Lanes::builder("waiting").max_threads(8).build().unwrap();
    for _ in 0..400 {
        let waits = || {
            compute(Duration::from_micros(100));
            std::thread::sleep(Duration::from_millis(1));
        };
        lanes.execute(waits).unwrap();
    }
    assert!(in_time({
        let lanes = lanes.clone();
        move || lanes.wait_idle(LONG)
    }));
    let cores = std::thread::available_parallelism().unwrap().get();
    let advice = lanes.advice();
    let threads = advice.threads().unwrap();
    assert!(threads > 3 * cores, "{advice}");
    assert!(
        advice.waiting().unwrap() > advice.computing().unwrap(),
        "{advice}"
    );
}

/// One task in ten waits: what it waits for is the pool's business as much as if all did.
#[test]
#[cfg(target_os = "linux")]
fn tasks_of_which_few_wait_want_threads_for_those() {
    const TASKS: u32 = 4_000;
    // On a crowded machine a thread may be held up for longer than its tasks take: one undisturbed time is enough.
    let fits = (0..10).any(|_| {
        let lanes = Lanes::builder("mixed").max_threads(8).build().unwrap();
        for n in 0..TASKS {
            let waits = move || {
                compute(Duration::from_micros(10));
                if n.is_multiple_of(10) {
                    std::thread::sleep(Duration::from_millis(2));
                }
            };
            lanes.execute(waits).unwrap();
        }
        assert!(in_time({
            let lanes = lanes.clone();
            move || lanes.wait_idle(LONG)
        }));
        let advice = lanes.advice();
        println!("{advice}");
        // 200 us of waiting for each 10 us of computing, but for what the system adds to both.
        let (waiting, computing) = (advice.waiting().unwrap(), advice.computing().unwrap());
        waiting > 3 * computing && waiting > Duration::from_micros(100)
    });
    assert!(fits, "ten times few of those that wait were seen");
}

#[test]
fn a_queue_that_grows_and_refusals_stand_out() {
    let pool = pool().queue(Queue::bounded(3)).build().unwrap();
    let held = hold(&pool);
    for _ in 0..3 {
        pool.execute(|| ()).unwrap();
    }
    assert!(pool.execute(|| ()).is_err());
    let seen = pool.advice().seen().join("\n");
    assert!(seen.contains("3 tasks wait"), "{seen}");
    assert!(seen.contains("1 tasks") && seen.contains("refused"), "{seen}");
    drop(held);
}

#[test]
fn threads_that_come_and_go_stand_out() {
    let clock = Clock::manual();
    let keep_alive = Duration::from_secs(5);
    let pool = Pool::builder("pool").core_threads(0).max_threads(1).clock(&clock);
    let pool = pool
        .keep_alive(keep_alive)
        .queue(Queue::bounded(1))
        .build()
        .unwrap();
    let is_seen = || {
        pool.advice()
            .seen()
            .iter()
            .any(|seen| seen.contains("come and go"))
    };
    for threads in 1..=9 {
        assert!(!is_seen(), "{}", pool.advice());
        pool.submit(|| ()).unwrap().join().unwrap();
        clock.advance(keep_alive);
        assert_eq!(pool.stats().threads_started, threads);
    }
    assert!(is_seen(), "{}", pool.advice());
}

#[test]
fn a_level_that_starves_stands_out() {
    let clock = Clock::manual();
    let queue = Queue::priority(100).strict();
    let pool = pool().queue(queue).clock(&clock).build().unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    pool.pause();
    pool.at_priority(Priority::LOW).execute(|| ()).unwrap();
    let is_seen = || {
        pool.advice()
            .seen()
            .iter()
            .any(|seen| seen.contains("level 3 starves"))
    };
    clock.advance(Duration::from_millis(900));
    assert!(!is_seen(), "{}", pool.advice());
    clock.advance(Duration::from_millis(200));
    assert!(is_seen(), "{}", pool.advice());
}

#[test]
fn a_pool_in_which_nothing_ends_stands_out() {
    let pool = pool().build().unwrap();
    let held = hold(&pool);
    let waiting = pool.submit(|| ()).unwrap();
    let is_seen = || {
        pool.advice()
            .seen()
            .iter()
            .any(|seen| seen.contains("nothing has ended"))
    };
    assert!(!is_seen(), "the first look only begins to count");
    until("a second has passed", is_seen);
    drop(held);
    waiting.join().unwrap();
    assert!(!is_seen(), "{}", pool.advice());
}

/// Of the calling thread, as the system tells it: the nineteenth field, and the name before may have spaces.
#[cfg(target_os = "linux")]
fn current_niceness() -> i32 {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, rest) = text.rsplit_once(')').unwrap();
    rest.split_whitespace().nth(16).unwrap().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_niceness_that_is_granted_is_shown_and_so_is_one_that_is_not() {
    let niceness = |n: i32| {
        let pool = pool().nice(n).build().unwrap();
        assert_eq!(pool.stats().nice, None, "no thread has been started");
        pool.submit(|| ()).unwrap().join().unwrap();
        pool.stats().nice.unwrap()
    };
    assert_eq!(niceness(19), 19);
    // More than others needs a privilege, which whoever runs this may have; a refusal has a test in a process without it.
    let raised = niceness(-5);
    let own = pool()
        .build()
        .unwrap()
        .submit(current_niceness)
        .unwrap()
        .join()
        .unwrap();
    assert!(raised == -5 || raised == own, "{raised}, {own} otherwise");
    assert_eq!(pool().build().unwrap().stats().nice, None);
}

#[test]
fn a_niceness_out_of_range_is_refused() {
    for wrong in [-21, 20] {
        let text = pool().nice(wrong).build().unwrap_err().to_string();
        assert!(
            text.contains("nice") && text.contains(&wrong.to_string()),
            "{text}"
        );
    }
}
