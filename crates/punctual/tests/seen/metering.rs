//! Figures as text for Prometheus, held against the format by a strict reader; the board and the alerts that come along.

use crate::json::Json;
use crate::support::{LONG, hold};
use punctual::{Capacity, Clock, Pool, Priority, Queue, Reject, Schedule, prometheus};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// One line: its labels in order, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

impl Line {
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(label, _)| label == name)?;
        Some(&found.1)
    }
}

/// A text that was read: the lines of each family, under its name and kind.
pub(crate) type Families = BTreeMap<String, (String, Vec<Line>)>;

/// Reads a text as the exposition format has it, and fails with the line that is not so.
pub(crate) fn read(text: &str) -> Families {
    assert!(text.ends_with('\n'));
    let mut families = Families::new();
    let mut current: Option<String> = None;
    let mut helped = BTreeSet::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, _) = help.split_once(' ').expect("a text");
            assert!(helped.insert(name.to_owned()), "two helps of {name}");
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a kind");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            assert!(helped.contains(name), "no help before {line}");
            let before = families.insert(name.to_owned(), (kind.to_owned(), Vec::new()));
            assert!(before.is_none(), "the family {name} is not in one piece");
            current = Some(name.to_owned());
            continue;
        }
        let line = read_line(line);
        let family = current.as_deref().expect("a type before");
        let (kind, lines) = families.get_mut(family).unwrap();
        let suffix = line.name.strip_prefix(family).expect("of its family");
        let suffixes: &[&str] = if kind == "histogram" {
            &["_bucket", "_sum", "_count"]
        } else {
            &[""]
        };
        assert!(suffixes.contains(&suffix), "{line:?}");
        let twice = lines
            .iter()
            .any(|other| other.name == line.name && other.labels == line.labels);
        assert!(!twice, "twice: {line:?}");
        lines.push(line);
    }
    for (name, (kind, lines)) in &families {
        if kind == "histogram" {
            check_histogram(name, lines);
        }
    }
    families
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|each| each.is_ascii_alphanumeric() || each == '_')
}

fn read_line(line: &str) -> Line {
    let end = line.find(['{', ' ']).expect("a value");
    let name = line[..end].to_owned();
    assert!(is_name(&name), "{line}");
    let mut labels = Vec::new();
    let mut rest = &line[end..];
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").expect("a label");
            assert!(is_name(label), "{line}");
            let mut value = String::new();
            let mut letters = after.char_indices();
            let close = loop {
                match letters.next().expect("a closed value") {
                    (at, '"') => break at,
                    (_, '\\') => value.push(match letters.next().expect("an escape").1 {
                        'n' => '\n',
                        each @ ('\\' | '"') => each,
                        other => panic!("the escape {other} in {line}"),
                    }),
                    (_, each) => value.push(each),
                }
            };
            labels.push((label.to_owned(), value));
            rest = &after[close + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').expect("a closing brace");
    }
    let value = rest
        .strip_prefix(' ')
        .expect("one space")
        .parse()
        .expect("a number");
    Line { name, labels, value }
}

/// Buckets grow, the last is all of them, and all of them is what the count says.
fn check_histogram(name: &str, lines: &[Line]) {
    let without_le = |line: &Line| -> Vec<(String, String)> {
        let own = line.labels.iter().filter(|(label, _)| label != "le");
        own.cloned().collect()
    };
    let series: BTreeSet<_> = lines.iter().map(without_le).collect();
    for labels in series {
        let of = |suffix: &str| -> Vec<&Line> {
            let full = format!("{name}{suffix}");
            let mine = lines.iter().filter(|line| without_le(line) == labels);
            mine.filter(|line| line.name == full).collect()
        };
        let buckets = of("_bucket");
        let bounds: Vec<f64> = buckets
            .iter()
            .map(|line| match line.label("le").expect("a bound") {
                "+Inf" => f64::INFINITY,
                bound => bound.parse().expect("a number"),
            })
            .collect();
        assert!(bounds.windows(2).all(|two| two[0] < two[1]), "{bounds:?}");
        assert_eq!(bounds.last(), Some(&f64::INFINITY));
        assert!(
            buckets.windows(2).all(|two| two[0].value <= two[1].value),
            "{name}"
        );
        assert_eq!(buckets.last().unwrap().value, of("_count")[0].value);
        assert_eq!((of("_sum").len(), of("_count").len()), (1, 1));
    }
}

pub(crate) fn value(families: &Families, family: &str, labels: &[(&str, &str)]) -> f64 {
    let (_, lines) = families.get(family).unwrap_or_else(|| panic!("no {family}"));
    let is_it = |line: &&Line| labels.iter().all(|(name, value)| line.label(name) == Some(value));
    let found: Vec<&Line> = lines.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{family} {labels:?}: {found:?}");
    found[0].value
}

/// Pools that together have everything there is a metric for.
fn everything() -> (Vec<Pool>, Families) {
    let clock = Clock::manual();
    let shares = Queue::priority(10).levels(4).shares([50, 30, 15, 5]);
    let levels = Pool::builder("levels")
        .core_threads(1)
        .queue(shares)
        .clock(&clock);
    let levels = levels.build().unwrap();
    levels.pause();
    drop(levels.task(|| ()).priority(Priority::LOW).submit().unwrap());
    let flush = Schedule::every(Duration::from_secs(5)).named("flush");
    drop(levels.schedule(flush, |_| ()).unwrap());
    clock.advance(Duration::from_secs(2));
    levels.resume();
    assert!(levels.wait_idle(LONG));
    let plain = Pool::builder("plain").core_threads(1).queue(Queue::bounded(1));
    let plain = plain.on_full(Reject::CallerRuns).build().unwrap();
    plain.submit(|| ()).unwrap().join().unwrap();
    let pools = vec![levels, plain];
    let controls: Vec<_> = pools.iter().map(Pool::control).collect();
    let families = read(&prometheus::render(&controls));
    (pools, families)
}

#[test]
fn see_40_a_text_is_in_the_format_and_says_what_the_pool_does() {
    let pool = Pool::builder("web")
        .core_threads(2)
        .max_threads(4)
        .queue(Queue::bounded(3));
    let pool = pool.on_full(Reject::CallerRuns).build().unwrap();
    let control = pool.control();
    let zero = read(&prometheus::render([&control]));
    for outcome in [
        "finished",
        "panicked",
        "cancelled",
        "expired",
        "evicted",
        "returned",
    ] {
        let labels = [("name", "web"), ("outcome", outcome)];
        assert_eq!(value(&zero, "executor_completed_tasks_total", &labels), 0.0);
    }
    let held: Vec<_> = (0..2).map(|_| hold(&pool)).collect();
    for _ in 0..3 {
        pool.execute(|| ()).unwrap();
    }
    let busy = read(&prometheus::render([&control]));
    let of = |family: &str| value(&busy, family, &[("name", "web")]);
    assert_eq!(of("executor_active_threads"), 2.0);
    assert_eq!(of("executor_pool_size_threads"), 2.0);
    assert_eq!(
        (of("executor_pool_core_threads"), of("executor_pool_max_threads")),
        (2.0, 4.0)
    );
    assert_eq!(of("executor_queued_tasks"), 3.0);
    assert_eq!(of("executor_queue_capacity_tasks"), 3.0);
    assert_eq!(of("executor_queue_remaining_tasks"), 0.0);
    let direct = [("name", "web"), ("kind", "direct")];
    assert_eq!(value(&busy, "executor_submitted_tasks_total", &direct), 5.0);
    let running = [("name", "web"), ("state", "running")];
    assert_eq!(value(&busy, "executor_state", &running), 1.0);
    drop(held);
    assert!(pool.wait_idle(LONG));
    let after = read(&prometheus::render([&control]));
    let finished = [("name", "web"), ("outcome", "finished")];
    assert_eq!(value(&after, "executor_completed_tasks_total", &finished), 5.0);
    let waits = &after["executor_queue_wait_seconds"].1;
    assert!(
        waits
            .iter()
            .any(|line| line.name.ends_with("_count") && line.value > 0.0)
    );
}

#[test]
fn see_40_polls_wakes_and_what_lies_in_deques_are_told() {
    let queue = Queue::stealing(Capacity::Unbounded);
    let pool = Pool::builder("steal").core_threads(1).queue(queue);
    let pool = pool.build().unwrap();
    let control = pool.control();
    let inside = pool.submit(move || {
        let own = punctual::task::current_executor().unwrap();
        own.execute(|| ()).unwrap();
        read(&prometheus::render([&control]))
    });
    let during = inside.unwrap().join().unwrap();
    let name = [("name", "steal")];
    assert_eq!(value(&during, "executor_queued_local_tasks", &name), 1.0);
    let woken = pool.spawn(punctual::future::yield_now()).unwrap();
    woken.join().unwrap();
    assert!(pool.wait_idle(LONG));
    let after = read(&prometheus::render([&pool.control()]));
    assert_eq!(value(&after, "executor_queued_local_tasks", &name), 0.0);
    assert_eq!(value(&after, "executor_polls_total", &name), 2.0);
    assert_eq!(value(&after, "executor_wakes_total", &name), 1.0);
    let wakes = &after["executor_wake_seconds"].1;
    assert!(wakes.iter().any(|line| line.name.ends_with("_count")));
}

#[test]
fn see_41_levels_schedules_and_several_pools_share_their_families() {
    let (_pools, families) = everything();
    let low = [("name", "levels"), ("priority", "3")];
    assert_eq!(value(&families, "executor_queued_tasks", &low), 0.0);
    assert_eq!(value(&families, "executor_share_target_ratio", &low), 0.05);
    let runs = [("schedule", "flush"), ("outcome", "success")];
    assert_eq!(value(&families, "executor_schedule_runs_total", &runs), 1.0);
    let next = value(
        &families,
        "executor_schedule_next_timestamp_seconds",
        &[("schedule", "flush")],
    );
    let success = "executor_schedule_last_success_timestamp_seconds";
    assert!(next > value(&families, success, &[("schedule", "flush")]));
    let plain = [("name", "plain"), ("kind", "direct")];
    assert_eq!(value(&families, "executor_submitted_tasks_total", &plain), 1.0);
}

#[test]
fn see_42_a_name_is_escaped_whatever_it_is() {
    let nasty = "a\"b\\c\nd{}=,\u{fc}";
    let pool = Pool::builder(nasty)
        .core_threads(1)
        .thread_name("t")
        .build()
        .unwrap();
    let families = read(&prometheus::render([&pool.control()]));
    assert_eq!(
        value(&families, "executor_pool_core_threads", &[("name", nasty)]),
        1.0
    );
}

#[test]
fn see_43_a_pool_that_is_gone_leaves_no_line() {
    let pool = Pool::fixed(1).unwrap();
    let control = pool.control();
    drop(pool);
    let families = read(&prometheus::render([&control]));
    assert_eq!(families.keys().collect::<Vec<_>>(), ["executor_build_info"]);
}

#[test]
fn see_44_schedules_are_capped() {
    let clock = Clock::manual();
    let pool = Pool::builder("s").core_threads(1).clock(&clock).build().unwrap();
    let start = Duration::from_secs(60);
    for number in 0..250 {
        let every = Schedule::every(start)
            .starting_in(start)
            .named(format!("job {number}"));
        drop(pool.schedule(every, |_| ()).unwrap());
    }
    let families = read(&prometheus::render([&pool.control()]));
    let failing = &families["executor_schedule_failing"].1;
    assert_eq!(failing.len(), 200);
}

#[test]
fn see_45_time_that_callers_lost_is_counted() {
    let clock = Clock::manual();
    let pool = Pool::builder("c")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .clock(&clock);
    let pool = pool.on_full(Reject::CallerRuns).build().unwrap();
    pool.pause();
    pool.execute(|| ()).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|threads| {
        let caller = threads.spawn(|| {
            let clock = clock.clone();
            let sleep = move || {
                let begin = clock.now();
                punctual::task::sleep(Duration::from_secs(3)).unwrap();
                tell.send(clock.now().duration_since(begin).unwrap()).unwrap();
            };
            pool.execute(sleep).unwrap();
        });
        while !caller.is_finished() {
            clock.advance(Duration::from_secs(1));
        }
    });
    let took = told.recv().unwrap();
    assert!(took >= Duration::from_secs(3));
    assert!(pool.stats().caller_ran_for >= took);
    pool.resume();
}

#[test]
fn see_46_slow_tasks_and_a_stall_are_seen_while_they_last() {
    let clock = Clock::manual();
    let pool = Pool::builder("slow")
        .core_threads(1)
        .slow_after(Duration::from_secs(1))
        .clock(&clock);
    let pool = pool.build().unwrap();
    let task = pool
        .submit(|| punctual::task::sleep(Duration::from_secs(60)))
        .unwrap();
    pool.execute(|| ()).unwrap();
    crate::support::until("it runs", || pool.stats().active == 1);
    let control = pool.control();
    assert_eq!(control.stalled(), Some(Duration::ZERO));
    assert_eq!(pool.stats().slow, 0);
    clock.advance(Duration::from_secs(30));
    assert_eq!(control.stalled(), Some(Duration::from_secs(30)));
    assert_eq!(pool.stats().slow, 1);
    clock.advance(Duration::from_secs(30));
    let _ = task.join();
    assert!(pool.wait_idle(LONG));
    assert_eq!((control.stalled(), pool.stats().slow), (None, 0));
}

/// The names in a text that look like one of our metrics.
fn named(text: &str) -> BTreeSet<String> {
    let pieces = text.split(|each: char| !(each.is_ascii_alphanumeric() || each == '_'));
    let ours = pieces.filter(|piece| piece.starts_with("executor_"));
    ours.map(str::to_owned).collect()
}

#[test]
fn see_47_every_metric_that_the_board_the_alerts_and_the_guide_name_exists() {
    let (_pools, families) = everything();
    let mut known: BTreeSet<String> = families.keys().cloned().collect();
    for (_, lines) in families.values() {
        known.extend(lines.iter().map(|line| line.name.clone()));
    }
    let board = include_str!("../../../../docs/grafana.json");
    let alerts = include_str!("../../../../docs/alerts.yml");
    let guide = include_str!("../../../../docs/metrics.md");
    for (file, text, least) in [
        ("grafana.json", board, 15),
        ("alerts.yml", alerts, 9),
        ("metrics.md", guide, 30),
    ] {
        let named = named(text);
        assert!(named.len() >= least, "{file} names {}", named.len());
        let missing: Vec<_> = named.difference(&known).collect();
        assert!(missing.is_empty(), "{file} names what there is not: {missing:?}");
    }
    let in_guide = named(guide);
    let untold: Vec<_> = families
        .keys()
        .filter(|family| !in_guide.contains(*family))
        .collect();
    assert!(untold.is_empty(), "metrics.md does not name {untold:?}");
    let board = Json::read(
        &board
            .lines()
            .map(str::trim)
            .collect::<String>()
            .replace("\": ", "\":"),
    );
    assert!(board.get("panels").list().len() >= 10);
}
