//! Figures that move: for each, something that happens to a pool and the metric that says so.

use crate::json::Json;
use crate::metering::{Families, Line, read, value};
use crate::support::{LONG, hold, until};
use punctual::{Clock, Pool, Priority, Queue, prometheus};
use std::time::Duration;

fn scrape(pool: &Pool) -> Families {
    read(&prometheus::render([&pool.control()]))
}

const SECOND: Duration = Duration::from_secs(1);

/// The number of events of the histogram that has just these labels beside the pool's.
fn events(families: &Families, family: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let is_it = |line: &&Line| {
        let others = line
            .labels
            .iter()
            .filter(|(name, _)| name != "name" && name != "le");
        let others: Vec<(&str, &str)> = others.map(|(name, value)| (&**name, &**value)).collect();
        line.name.ends_with("_count") && others == labels
    };
    families[family].1.iter().find(is_it).map(|line| line.value)
}

#[test]
fn see_70_run_times_are_told_apart_by_the_name_of_the_task() {
    let pool = Pool::builder("web").core_threads(1).build().unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    // It is put down after the joiner was told.
    until("it is timed", || {
        events(&scrape(&pool), "executor_seconds", &[]) == Some(1.0)
    });
    let before = scrape(&pool);
    assert_eq!(events(&before, "executor_seconds", &[("task", "report")]), None);
    let report = pool.task(|| std::thread::sleep(Duration::from_millis(3)));
    report.name("report").submit().unwrap().join().unwrap();
    assert!(pool.wait_idle(LONG));
    let after = scrape(&pool);
    assert_eq!(
        events(&after, "executor_seconds", &[("task", "report")]),
        Some(1.0)
    );
    // What has a name is not counted twice.
    assert_eq!(events(&after, "executor_seconds", &[]), Some(1.0));
    let times = pool.control().task_times();
    let report = times.iter().find(|times| times.name.as_deref() == Some("report"));
    assert!(report.unwrap().run.sum() >= Duration::from_millis(3));
}

#[test]
fn see_71_run_times_by_name_are_those_of_the_level_and_of_futures_too() {
    let queue = Queue::priority(10).levels(4);
    let pool = Pool::builder("web").core_threads(1).queue(queue).build().unwrap();
    let low = pool.task(async {}).name("io").priority(Priority::LOW);
    low.spawn().unwrap().join().unwrap();
    assert!(pool.wait_idle(LONG));
    let labels = [("priority", "3"), ("task", "io")];
    assert_eq!(events(&scrape(&pool), "executor_seconds", &labels), Some(1.0));
}

#[test]
fn see_72_tasks_are_accepted_and_end_at_their_level() {
    let clock = Clock::manual();
    let queue = Queue::priority(100).levels(4);
    let pool = Pool::builder("web").core_threads(1).queue(queue).clock(&clock);
    let pool = pool.on_failure(|_, _| ()).build().unwrap();
    for priority in [Priority::LOW, Priority::LOW, Priority::URGENT] {
        pool.task(|| ())
            .priority(priority)
            .submit()
            .unwrap()
            .join()
            .unwrap();
    }
    let failing = pool.task(|| panic!("on purpose")).priority(Priority::HIGH);
    assert!(failing.submit().unwrap().join().is_err());
    pool.pause();
    let unwanted = pool.task(|| ()).priority(Priority::LOW).submit().unwrap();
    unwanted.cancel();
    let never = pool.after(60 * SECOND, || ()).unwrap();
    never.cancel();
    pool.resume();
    assert!(pool.wait_idle(LONG));
    // The worker counts it by level when everybody has been told.
    let finished = |families: &Families, priority| {
        let labels = [("priority", priority), ("outcome", "finished")];
        value(families, "executor_completed_tasks_total", &labels)
    };
    until("the last end is counted", || {
        pool.stats().levels[1].panicked == 1 && pool.stats().levels[0].finished == 1
    });
    let families = scrape(&pool);
    let of = |family: &str, labels: &[(&str, &str)]| value(&families, family, labels);
    let accepted = |priority| [("priority", priority), ("kind", "direct")];
    let submitted = "executor_submitted_tasks_total";
    assert_eq!(of(submitted, &accepted("3")), 3.0);
    assert_eq!(of(submitted, &accepted("1")), 1.0);
    assert_eq!(of(submitted, &[("kind", "delayed")]), 1.0);
    assert_eq!((finished(&families, "3"), finished(&families, "0")), (2.0, 1.0));
    assert_eq!(finished(&families, "1"), 0.0);
    let completed = "executor_completed_tasks_total";
    assert_eq!(of(completed, &[("priority", "1"), ("outcome", "panicked")]), 1.0);
    assert_eq!(of(completed, &[("priority", "3"), ("outcome", "cancelled")]), 1.0);
    // All of them together are what the pool counts as a whole.
    let all: f64 = families[completed].1.iter().map(|line| line.value).sum();
    let stats = pool.stats();
    assert_eq!(all, (stats.finished + stats.panicked + stats.cancelled) as f64);
    assert_eq!(stats.cancelled_delayed, 1);
}

#[test]
fn see_73_ends_in_place_and_of_futures_count_at_their_level_once() {
    let queue = Queue::priority(100).levels(4);
    let pool = Pool::builder("web").core_threads(1).queue(queue).build().unwrap();
    let inner = pool.executor();
    let outer = pool.task(move || inner.task(|| ()).priority(Priority::LOW).submit().unwrap().join());
    outer
        .priority(Priority::HIGH)
        .submit()
        .unwrap()
        .join()
        .unwrap()
        .unwrap();
    let yields = pool.task(async { punctual::future::yield_now().await });
    yields.priority(Priority::URGENT).spawn().unwrap().join().unwrap();
    let ends = || {
        pool.stats()
            .levels
            .iter()
            .map(|level| level.finished)
            .collect::<Vec<_>>()
    };
    until("the last end is counted", || ends() == [1, 1, 0, 1]);
    assert!(pool.wait_idle(LONG));
    assert_eq!(ends(), [1, 1, 0, 1]);
}

#[test]
fn see_74_how_long_a_level_has_not_been_empty() {
    let clock = Clock::manual();
    let queue = Queue::priority(10).levels(2);
    let pool = Pool::builder("web")
        .core_threads(1)
        .queue(queue)
        .clock(&clock)
        .build()
        .unwrap();
    let nap = || drop(pool.submit(|| punctual::task::sleep(10 * SECOND)).unwrap());
    let nonempty = || {
        value(
            &scrape(&pool),
            "executor_queue_nonempty_seconds",
            &[("priority", "1")],
        )
    };
    let oldest = || {
        value(
            &scrape(&pool),
            "executor_queue_oldest_wait_seconds",
            &[("priority", "1")],
        )
    };
    assert_eq!(nonempty(), 0.0);
    nap();
    until("it runs", || pool.stats().active == 1);
    nap();
    assert_eq!(nonempty(), 0.0);
    clock.advance(5 * SECOND);
    nap();
    clock.advance(10 * SECOND);
    // The one that waits came ten seconds ago; before it there was another.
    assert_eq!((oldest(), nonempty()), (10.0, 15.0));
    let written = Json::read(&pool.stats().to_json());
    let level = &written.get("levels").list()[1];
    assert_eq!(level.get("nonempty_for").number(), 15.0);
    assert_eq!(level.get("submitted").number(), 3.0);
    assert_eq!(written.get("starts").get("core").number(), 1.0);
    // At 20 the last one is taken, and nothing waits until 25.
    clock.advance(10 * SECOND);
    nap();
    clock.advance(2 * SECOND);
    assert_eq!((oldest(), nonempty()), (2.0, 2.0));
    clock.advance(60 * SECOND);
    assert_eq!(nonempty(), 0.0);
}

#[test]
fn see_75_lanes_that_run_and_lanes_that_wait() {
    let clock = Clock::manual();
    let pool = Pool::builder("web")
        .core_threads(2)
        .clock(&clock)
        .build()
        .unwrap();
    let lanes = |state: &str| value(&scrape(&pool), "executor_lanes", &[("state", state)]);
    let (one, other) = (pool.lane(), pool.keyed("other"));
    assert_eq!((lanes("running"), lanes("waiting")), (0.0, 0.0));
    let sleep = || punctual::task::sleep(10 * SECOND);
    for _ in 0..2 {
        drop(one.submit(sleep).unwrap());
    }
    drop(other.submit(sleep).unwrap());
    until("both run", || lanes("running") == 2.0);
    assert_eq!(lanes("waiting"), 1.0);
    let oldest = || value(&scrape(&pool), "executor_lane_oldest_wait_seconds", &[]);
    clock.advance(4 * SECOND);
    assert_eq!(oldest(), 4.0);
    clock.advance(20 * SECOND);
    assert_eq!((lanes("running"), lanes("waiting"), oldest()), (0.0, 0.0, 0.0));
}

#[test]
fn see_76_a_call_that_finds_nothing_is_counted() {
    let clock = Clock::manual();
    let pool = Pool::builder("web").core_threads(1).clock(&clock);
    let pool = pool.build().unwrap();
    let calls = || value(&scrape(&pool), "executor_worker_spurious_wakeups_total", &[]);
    // Advancing waits until the worker sleeps.
    let until_it_sleeps = || clock.advance(SECOND);
    pool.submit(|| ()).unwrap().join().unwrap();
    until_it_sleeps();
    let before = calls();
    // All are called when a pool goes on; here there is nothing for them.
    pool.pause();
    pool.resume();
    until_it_sleeps();
    assert_eq!(calls(), before + 1.0);
    // This one is called for something.
    pool.submit(|| ()).unwrap().join().unwrap();
    until_it_sleeps();
    assert_eq!(calls(), before + 1.0);
}

#[test]
fn see_77_threads_are_started_to_stay_for_a_burst_or_to_stand_in() {
    let pool = Pool::builder("web")
        .core_threads(1)
        .max_threads(2)
        .spare_threads(1);
    let pool = pool.queue(Queue::bounded(1)).build().unwrap();
    let started = |reason: &str| {
        value(
            &scrape(&pool),
            "executor_workers_started_total",
            &[("reason", reason)],
        )
    };
    assert_eq!(
        (started("core"), started("burst"), started("spare")),
        (0.0, 0.0, 0.0)
    );
    let first = hold(&pool);
    assert_eq!(
        (started("core"), started("burst"), started("spare")),
        (1.0, 0.0, 0.0)
    );
    // One waits, so the next one gets a thread.
    let gate = pool.submit(|| ()).unwrap();
    let second = hold(&pool);
    assert_eq!(
        (started("core"), started("burst"), started("spare")),
        (1.0, 1.0, 0.0)
    );
    drop((first, second));
    gate.join().unwrap();
    assert!(pool.wait_idle(LONG));
}

#[test]
fn see_78_watching_has_a_price_and_it_is_told() {
    let pool = Pool::builder("web").core_threads(1).build().unwrap();
    let overhead = || value(&scrape(&pool), "executor_overhead_seconds_total", &[]);
    assert_eq!(overhead(), 0.0);
    pool.submit(|| ()).unwrap().join().unwrap();
    let after_one = overhead();
    assert!(after_one > 0.0);
    let cost = pool.control().cost().unwrap();
    assert!(cost.recorder.is_none());
    // Some clock readings at most for the first task, and less for each the more there are.
    for _ in 0..1_000 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    assert!(overhead() > after_one);
    assert!(pool.control().cost().unwrap().statistics < cost.statistics);
}

#[test]
fn see_79_a_recorder_has_its_own_price() {
    let pool = Pool::builder("web")
        .core_threads(1)
        .recorder(100)
        .build()
        .unwrap();
    let recorder = || pool.control().cost().unwrap().recorder;
    assert_eq!(recorder(), Some(0.0));
    for _ in 0..10 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    // A submission and a run: two records for each.
    assert!(recorder() > Some(0.0));
}

#[test]
fn see_80_the_share_a_level_got_is_that_of_the_last_minute() {
    let clock = Clock::manual();
    let queue = Queue::priority(100).levels(2).shares([50, 50]);
    let pool = Pool::builder("web").core_threads(1).queue(queue).clock(&clock);
    let pool = pool.build().unwrap();
    let run = |priority: Priority| {
        for _ in 0..10 {
            pool.task(|| ())
                .priority(priority)
                .submit()
                .unwrap()
                .join()
                .unwrap();
        }
    };
    let shares = || {
        let families = scrape(&pool);
        ["0", "1"].map(|level| value(&families, "executor_share_actual_ratio", &[("priority", level)]))
    };
    run(Priority::level(0));
    assert_eq!(shares(), [1.0, 0.0]);
    clock.advance(SECOND * 60);
    run(Priority::level(1));
    assert_eq!(shares(), [0.5, 0.5], "so far: nobody looked a minute ago");
    clock.advance(SECOND * 60);
    let without = scrape(&pool);
    assert!(
        !without.contains_key("executor_share_actual_ratio"),
        "nothing was taken since"
    );
    run(Priority::level(1));
    assert_eq!(shares(), [0.0, 1.0]);
    assert_eq!(pool.stats().levels[0].share_actual, Some(10.0 / 30.0));
}
