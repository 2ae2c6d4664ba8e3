//! What each label of a metric means, and what its value is: pools are brought into a state, and a scrape must tell it.

use crate::metering::{Families, read, value};
use crate::support::{LONG, until};
use punctual::{Capacity, Clock, Missed, Overlap, Pool, Priority, Queue, Reject, Schedule, prometheus};
use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn scrape(pool: &Pool) -> Families {
    read(&prometheus::render([&pool.control()]))
}

/// The values that a label of a family has.
fn labels(families: &Families, family: &str, label: &str) -> Vec<String> {
    let (_, lines) = &families[family];
    let all = lines.iter().filter_map(|line| line.label(label));
    all.map(str::to_owned).collect()
}

#[test]
fn see_81_pools_and_schedules_of_one_name_are_told_apart() {
    let clock = Clock::manual();
    let pool = || {
        let pool = Pool::builder("web").core_threads(1).clock(&clock);
        pool.build().unwrap()
    };
    let pools = [pool(), pool(), pool()];
    let later = Schedule::every(SECOND).starting_in(60 * SECOND);
    for _ in 0..2 {
        drop(pools[1].schedule(later.clone().named("flush"), |_| ()).unwrap());
    }
    // What one without a name would be called.
    drop(pools[1].schedule(later.clone(), |_| ()).unwrap());
    drop(pools[1].schedule(later.named("web/3"), |_| ()).unwrap());
    pools[2].submit(|| ()).unwrap().join().unwrap();
    let controls: Vec<_> = pools.iter().map(Pool::control).collect();
    // The reader fails on two equal series.
    let families = read(&prometheus::render(&controls));
    let names = labels(&families, "executor_pool_size_threads", "name");
    assert_eq!(names, ["web", "web#2", "web#3"]);
    let finished = [("name", "web#3"), ("outcome", "finished")];
    assert_eq!(value(&families, "executor_completed_tasks_total", &finished), 1.0);
    let schedules = labels(&families, "executor_schedule_failing", "schedule");
    assert_eq!(schedules, ["flush", "flush#2", "web/3", "web/3#2"]);
    let of = labels(&families, "executor_schedule_failing", "name");
    assert_eq!(of, ["web#2"; 4]);
}

/// A full pool of this policy, and what a scrape says of a task that it does not let in as usual.
fn rejected(policy: Reject, tell: impl Fn(&Pool)) -> Vec<(String, String)> {
    let pool = Pool::builder("full").core_threads(1).queue(Queue::bounded(1));
    let pool = pool.on_full(policy).build().unwrap();
    pool.pause();
    pool.execute(|| ()).unwrap();
    tell(&pool);
    let families = scrape(&pool);
    pool.resume();
    let (_, lines) = &families["executor_rejected_tasks_total"];
    let counted = lines.iter().filter(|line| line.value != 0.0);
    let counted = counted.inspect(|line| assert_eq!(line.value, 1.0));
    let label = |line: &crate::metering::Line, name| line.label(name).unwrap().to_owned();
    counted
        .map(|line| (label(line, "policy"), label(line, "reason")))
        .collect()
}

#[test]
fn see_82_a_rejection_is_counted_under_what_became_of_the_task_and_why() {
    let told = |policy: &str, reason: &str| vec![(policy.to_owned(), reason.to_owned())];
    let refused = |pool: &Pool| assert!(pool.execute(|| ()).is_err());
    let taken = |pool: &Pool| pool.execute(|| ()).unwrap();
    assert_eq!(rejected(Reject::Abort, refused), told("abort", "full"));
    assert_eq!(rejected(Reject::CallerRuns, taken), told("caller_runs", "full"));
    assert_eq!(rejected(Reject::Discard, taken), told("discard", "full"));
    assert_eq!(
        rejected(Reject::DiscardOldest, taken),
        told("discard_oldest", "full")
    );
    let short = Reject::Block(Duration::from_millis(1));
    assert_eq!(rejected(short, refused), told("block", "full"));
    let closed = |pool: &Pool| {
        pool.shutdown();
        refused(pool);
    };
    assert_eq!(rejected(Reject::Abort, closed), told("abort", "shutdown"));
    let pool = Pool::builder("self").core_threads(1).queue(Queue::bounded(1));
    let pool = pool.on_full(Reject::Block(LONG)).build().unwrap();
    let own = pool.executor();
    let fill = move || (0..2).filter(|_| own.execute(|| ()).is_err()).count();
    assert_eq!(pool.submit(fill).unwrap().join().unwrap(), 1);
    let circle = [("policy", "block"), ("reason", "would_deadlock")];
    assert_eq!(
        value(&scrape(&pool), "executor_rejected_tasks_total", &circle),
        1.0
    );
}

#[test]
fn see_83_what_was_accepted_is_told_by_its_kind() {
    let clock = Clock::manual();
    let pool = Pool::builder("kinds").core_threads(1).clock(&clock);
    let pool = pool.build().unwrap();
    let kinds = || {
        let families = scrape(&pool);
        ["direct", "delayed", "fixed_rate", "fixed_delay", "cron"]
            .map(|kind| value(&families, "executor_submitted_tasks_total", &[("kind", kind)]) as u64)
    };
    pool.submit(|| ()).unwrap().join().unwrap();
    assert_eq!(kinds(), [1, 0, 0, 0, 0]);
    drop(pool.after(SECOND, || ()).unwrap());
    assert_eq!(kinds(), [1, 1, 0, 0, 0]);
    clock.advance(SECOND);
    assert_eq!(kinds(), [1, 1, 0, 0, 0]);
    let run = |schedule: Schedule, seconds: u32| {
        let schedule = pool.schedule(schedule, |_| ()).unwrap();
        clock.advance(seconds * SECOND);
        assert!(pool.wait_idle(LONG));
        schedule.cancel();
    };
    run(Schedule::every(10 * SECOND), 15);
    assert_eq!(kinds(), [1, 1, 2, 0, 0]);
    run(Schedule::with_delay(10 * SECOND), 1);
    assert_eq!(kinds(), [1, 1, 2, 1, 0]);
    run(Schedule::cron("0 * * * *").unwrap(), 3 * 3600);
    assert_eq!(kinds(), [1, 1, 2, 1, 3]);
    run(Schedule::once_at(clock.now() + 5 * SECOND), 10);
    assert_eq!(kinds(), [1, 2, 2, 1, 3]);
}

#[test]
fn see_84_schedules_tell_how_late_they_are_and_what_they_left_out() {
    let clock = Clock::manual();
    let pool = Pool::builder("late").core_threads(1).clock(&clock);
    let pool = pool.build().unwrap();
    let start = SECOND;
    let plan = |name: &'static str| Schedule::every(SECOND).starting_in(start).named(name);
    drop(pool.schedule(plan("once").missed(Missed::Once), |_| ()).unwrap());
    drop(pool.schedule(plan("skip").missed(Missed::Skip), |_| ()).unwrap());
    let skipped = |families: &Families, schedule: &str| {
        ["misfire", "coalesced", "overlap"].map(|reason| {
            let labels = [("schedule", schedule), ("reason", reason)];
            value(families, "executor_schedule_skipped_total", &labels)
        })
    };
    let count = |families: &Families, family: &str, schedule: Option<&str>| {
        let (_, lines) = &families[family];
        let is_it = |line: &&crate::metering::Line| {
            line.name.ends_with("_count") && line.label("schedule") == schedule
        };
        lines.iter().find(is_it).unwrap().value
    };
    let lag = |families: &Families, schedule| count(families, "executor_schedule_lag_seconds", schedule);
    let before = scrape(&pool);
    assert_eq!(skipped(&before, "once"), [0.0; 3]);
    assert_eq!(lag(&before, Some("once")), 0.0);
    // The only worker is away for a while, in which five ticks come due.
    let away = pool.submit(|| punctual::task::sleep(5 * SECOND + SECOND / 2));
    until("it runs", || pool.stats().active == 1);
    clock.advance(5 * SECOND + SECOND / 2);
    away.unwrap().join().unwrap().unwrap();
    assert!(pool.wait_idle(LONG));
    let after = scrape(&pool);
    // One run for the first tick, 4.5 s late, makes up for four more.
    assert_eq!(skipped(&after, "once"), [0.0, 4.0, 0.0]);
    assert_eq!(lag(&after, Some("once")), 1.0);
    let (_, lines) = &after["executor_schedule_lag_seconds"];
    let sum = lines
        .iter()
        .find(|line| line.name.ends_with("_sum") && line.label("schedule") == Some("once"));
    assert_eq!(sum.unwrap().value, 4.5);
    let [misfire, coalesced, overlap] = skipped(&after, "skip");
    assert!(misfire >= 4.0, "{misfire}");
    assert_eq!((coalesced, overlap), (0.0, 0.0));
    // What has a time at all, by the pool.
    assert!(count(&after, "executor_timer_lag_seconds", None) >= 2.0);
    let delayed = pool.after(SECOND, || ()).unwrap();
    assert_eq!(value(&scrape(&pool), "executor_pending_timers", &[]), 1.0);
    delayed.cancel();
}

#[test]
fn see_85_ticks_that_meet_a_run_in_progress_are_overlaps() {
    let clock = Clock::manual();
    let pool = Pool::builder("over").core_threads(2).clock(&clock);
    let pool = pool.build().unwrap();
    let plan = Schedule::every(SECOND).overlap(Overlap::Skip).named("long");
    let (tell, told) = channel();
    let run = move |_: &punctual::Run| {
        let _ = tell.send(());
        let _ = punctual::task::sleep(3 * SECOND + SECOND / 2);
    };
    let long = pool.schedule(plan, run).unwrap();
    clock.advance(Duration::ZERO);
    told.recv_timeout(LONG).unwrap();
    until("it sleeps", || pool.stats().active == 1);
    clock.advance(3 * SECOND + SECOND / 2);
    until("it has ended", || long.stats().running == 0);
    let labels = [("schedule", "long"), ("reason", "overlap")];
    assert_eq!(
        value(&scrape(&pool), "executor_schedule_skipped_total", &labels),
        3.0
    );
    long.cancel();
}

#[test]
fn see_86_threads_that_stop_sleep_and_were_the_most() {
    let pool = Pool::builder("web").core_threads(3).max_threads(3);
    let pool = pool.prestart(true).build().unwrap();
    until("all sleep", || pool.stats().parks >= 3);
    let of = |family: &str| value(&scrape(&pool), family, &[]);
    assert!(of("executor_worker_parks_total") >= 3.0);
    assert_eq!(of("executor_workers_failed_starts_total"), 0.0);
    assert_eq!(of("executor_spare_threads"), 0.0);
    let largest = |since: &str| {
        value(
            &scrape(&pool),
            "executor_pool_largest_threads",
            &[("since", since)],
        )
    };
    let stopped = |reason: &str| {
        value(
            &scrape(&pool),
            "executor_workers_stopped_total",
            &[("reason", reason)],
        )
    };
    assert_eq!((largest("start"), largest("resize")), (3.0, 3.0));
    pool.resize(1, 1).unwrap();
    until("two have left", || pool.stats().threads == 1);
    until("the rest is the most", || {
        largest("resize") < 3.0 || stopped("resize") == 2.0
    });
    assert_eq!(
        (stopped("resize"), stopped("keep_alive"), stopped("shutdown")),
        (2.0, 0.0, 0.0)
    );
    assert_eq!(largest("start"), 3.0);
    pool.set_core_timeout(true).unwrap();
    pool.set_keep_alive(Duration::from_millis(1)).unwrap();
    until("idle for long enough", || stopped("keep_alive") == 1.0);
    // The next one stays until the end.
    pool.set_keep_alive(LONG).unwrap();
    let paused = || of("executor_paused");
    assert_eq!(paused(), 0.0);
    pool.pause();
    assert_eq!(paused(), 1.0);
    pool.resume();
    pool.submit(|| ()).unwrap().join().unwrap();
    pool.shutdown();
    assert!(pool.await_termination(LONG));
    assert_eq!(stopped("shutdown"), 1.0);
    let state = [("state", "terminated")];
    assert_eq!(value(&scrape(&pool), "executor_state", &state), 1.0);
}

#[test]
fn see_87_what_is_stuck_slow_or_suspended_is_told_while_it_is() {
    let clock = Clock::manual();
    let pool = Pool::builder("stuck").core_threads(1).slow_after(SECOND);
    let pool = pool.clock(&clock).build().unwrap();
    let of = |family: &str| value(&scrape(&pool), family, &[]);
    let figures = || {
        (
            of("executor_stalled_seconds"),
            of("executor_long_running_tasks"),
            of("executor_suspended_tasks"),
        )
    };
    assert_eq!(figures(), (0.0, 0.0, 0.0));
    let suspended = pool.spawn(punctual::future::sleep(90 * SECOND)).unwrap();
    until("it waits", || pool.stats().suspended == 1);
    let long = pool.submit(|| punctual::task::sleep(60 * SECOND)).unwrap();
    until("it runs", || pool.stats().active == 1);
    pool.execute(|| ()).unwrap();
    assert_eq!(figures(), (0.0, 0.0, 1.0));
    clock.advance(30 * SECOND);
    assert_eq!(figures(), (30.0, 1.0, 1.0));
    clock.advance(30 * SECOND);
    long.join().unwrap().unwrap();
    until("nothing waits", || {
        pool.stats().queued == 0 && pool.stats().active == 0
    });
    assert_eq!(figures(), (0.0, 0.0, 1.0));
    clock.advance(30 * SECOND);
    suspended.join().unwrap();
}

#[test]
fn see_88_a_deque_is_robbed_and_looked_at_in_vain() {
    let queue = Queue::stealing(Capacity::Unbounded);
    let pool = Pool::builder("s").core_threads(2).prestart(true).queue(queue);
    let pool = pool.build().unwrap();
    until("both have looked", || pool.stats().parks >= 2);
    let of = |pool: &Pool, family: &str| value(&scrape(pool), family, &[]);
    assert_eq!(of(&pool, "executor_steals_total"), 0.0);
    let own = pool.clone();
    let parent = pool.submit(move || {
        let (tell, told) = channel();
        own.execute(move || tell.send(()).unwrap()).unwrap();
        // It lies in this worker's deque, so somebody else must run it.
        told.recv_timeout(LONG).unwrap();
    });
    parent.unwrap().join().unwrap();
    assert_eq!(of(&pool, "executor_steals_total"), 1.0);
    // Who looks at all others and finds nothing goes to sleep.
    until("a look in vain", || {
        of(&pool, "executor_steal_failures_total") >= 1.0
    });
}

#[test]
fn see_89_levels_tell_how_many_were_lifted_and_times_are_seconds() {
    let clock = Clock::manual();
    let queue = Queue::priority(100).aging(SECOND);
    let pool = Pool::builder("aging").core_threads(1).queue(queue);
    let pool = pool.clock(&clock).build().unwrap();
    pool.pause();
    drop(pool.task(|| ()).priority(Priority::LOW).submit().unwrap());
    clock.advance(10 * SECOND);
    drop(pool.task(|| ()).priority(Priority::URGENT).submit().unwrap());
    pool.resume();
    assert!(pool.wait_idle(LONG));
    let families = scrape(&pool);
    let lifted = ["0", "1", "2", "3"]
        .map(|from| value(&families, "executor_aged_promotions_total", &[("from", from)]));
    assert_eq!(lifted, [0.0, 0.0, 0.0, 1.0]);
    // The first runs of a worker are all timed.
    let busy = |pool: &Pool| value(&scrape(pool), "executor_worker_busy_seconds_total", &[]);
    let before = busy(&pool);
    let task = pool.submit(|| punctual::task::sleep(2 * SECOND)).unwrap();
    until("it runs", || pool.stats().active == 1);
    clock.advance(2 * SECOND);
    task.join().unwrap().unwrap();
    until("it is counted", || busy(&pool) >= before + 2.0);
    let computed = value(&scrape(&pool), "executor_task_cpu_seconds_total", &[]);
    assert!((0.0..=busy(&pool)).contains(&computed), "{computed}");
}

#[test]
fn see_90_time_that_callers_lost_is_in_seconds() {
    let clock = Clock::manual();
    let pool = Pool::builder("c").core_threads(1).queue(Queue::bounded(1));
    let pool = pool.on_full(Reject::CallerRuns).clock(&clock).build().unwrap();
    pool.pause();
    pool.execute(|| ()).unwrap();
    let (begin, begun) = channel();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let nap = move || {
                begin.send(()).unwrap();
                punctual::task::sleep(3 * SECOND).unwrap();
            };
            pool.execute(nap).unwrap();
        });
        begun.recv().unwrap();
        // It may not have begun to sleep yet, and then sleeps from where the clock is.
        let mut moved = 0;
        until("the caller is free", || {
            clock.advance(SECOND);
            moved += 1;
            pool.stats().caller_ran_for > Duration::ZERO
        });
        let lost = value(&scrape(&pool), "executor_caller_runs_seconds_total", &[]);
        assert!(lost >= 3.0 && lost <= f64::from(moved), "{lost} of {moved}");
    });
    pool.resume();
}

/// The selectors of a text, as `(metric, label, value)`: only plain ones, `=` and `!=`.
fn selected(text: &str) -> Vec<(String, String, String)> {
    let text = text.replace("\\\"", "\"");
    let mut found = Vec::new();
    for (at, _) in text.match_indices("executor_") {
        let rest = &text[at..];
        let end = rest.find(|each: char| !(each.is_ascii_alphanumeric() || each == '_'));
        let (metric, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let Some(inside) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
            continue;
        };
        for pair in inside.0.split(',') {
            let plain = pair.split_once("!=").or_else(|| pair.split_once('='));
            let (label, value) = plain.expect("a selector");
            if !value.starts_with('~') {
                let value = value.trim_matches('"');
                found.push((metric.to_owned(), label.trim().to_owned(), value.to_owned()));
            }
        }
    }
    found
}

#[test]
fn see_91_labels_that_the_board_and_the_alerts_select_exist() {
    let pool = Pool::builder("all").core_threads(1).build().unwrap();
    let families = scrape(&pool);
    let mut all = selected(include_str!("../../../../docs/alerts.yml"));
    assert!(all.len() >= 4, "{all:?}");
    all.extend(selected(include_str!("../../../../docs/grafana.json")));
    let distinct: BTreeSet<_> = all.into_iter().collect();
    for (metric, label, value) in distinct {
        let known = labels(&families, &metric, &label);
        assert!(
            known.contains(&value),
            "{metric}{{{label}=\"{value}\"}}: {known:?}"
        );
    }
}
