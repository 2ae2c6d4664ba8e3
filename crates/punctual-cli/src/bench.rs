//! `punctual bench`: what the library's pools do on this machine, in a few seconds. Our own figures only; beside others they
//! stand in `punctual-bench`.

use crate::args::BenchArgs;
use crate::file::cores;
use crate::outcome::{Failure, Outcome, TASK_FAILED};
use crate::show;
use punctual::{Pool, Priority, Queue};
use serde_json::json;
use std::ffi::OsStr;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// One figure.
struct Figure {
    name: &'static str,
    what: String,
    each: Duration,
}

pub(crate) fn run(args: &BenchArgs, json: bool, out: &mut dyn Write) -> Outcome {
    let tasks: u64 = if args.quick { 200_000 } else { 2_000_000 };
    let mut figures = Vec::new();
    for measure in [forget, results, round_trip, levels, late, commands] {
        let figure = measure(tasks).map_err(|error| Failure::new(TASK_FAILED, error.to_string()))?;
        if !json {
            writeln!(
                out,
                "{:<16} {:>10}  {}",
                figure.name,
                show::time(figure.each),
                figure.what
            )?;
            out.flush()?;
        }
        figures.push(figure);
    }
    if json {
        let rows = figures.iter().map(|figure| {
            json!({ "name": figure.name, "nanoseconds": figure.each.as_nanos() as u64, "what": figure.what })
        });
        writeln!(
            out,
            "{:#}",
            json!({ "cores": cores(), "figures": rows.collect::<Vec<_>>() })
        )?;
    }
    Ok(())
}

type Measured = Result<Figure, Box<dyn std::error::Error + Send + Sync>>;

fn each(began: Instant, count: u64) -> Duration {
    Duration::from_nanos((began.elapsed().as_nanos() / u128::from(count.max(1))) as u64)
}

fn forget(tasks: u64) -> Measured {
    let pool = Pool::builder("bench").queue(Queue::unbounded()).build()?;
    let ran = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    for _ in 0..tasks {
        let ran = ran.clone();
        pool.execute(move || {
            ran.fetch_add(1, Relaxed);
        })?;
    }
    let _ = pool.close();
    let each = each(began, tasks);
    assert_eq!(ran.load(Relaxed), tasks, "every task ran");
    Ok(Figure {
        name: "fire and forget",
        what: format!("per task: {} accepted and run", show::count(tasks)),
        each,
    })
}

fn results(tasks: u64) -> Measured {
    let tasks = tasks / 4;
    let pool = Pool::builder("bench").queue(Queue::unbounded()).build()?;
    let began = Instant::now();
    let handles: Result<Vec<_>, _> = (0..tasks).map(|number| pool.submit(move || number)).collect();
    let mut sum = 0;
    for handle in handles? {
        sum += handle.join()?;
    }
    let each = each(began, tasks);
    assert_eq!(sum, tasks * (tasks - 1) / 2, "every result came");
    Ok(Figure {
        name: "results",
        what: format!("per task: {} submitted, then joined", show::count(tasks)),
        each,
    })
}

fn round_trip(tasks: u64) -> Measured {
    let trips = (tasks / 40) as usize;
    let pool = Pool::fixed(1)?;
    let mut times = Vec::with_capacity(trips);
    for _ in 0..trips {
        let began = Instant::now();
        pool.submit(|| ())?.join()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(Figure {
        name: "there and back",
        what: format!(
            "p50: submit one, wait for it; p99 {}",
            show::time(times[times.len() * 99 / 100])
        ),
        each: times[times.len() / 2],
    })
}

fn levels(tasks: u64) -> Measured {
    let tasks = tasks / 2;
    let pool = Pool::builder("bench")
        .queue(Queue::priority(tasks as usize + 1).aging(Duration::from_secs(1)))
        .build()?;
    let places: Vec<_> = (0..4)
        .map(|level| pool.at_priority(Priority::level(level)))
        .collect();
    let began = Instant::now();
    for number in 0..tasks {
        places[number as usize % 4].execute(|| ())?;
    }
    let _ = pool.close();
    Ok(Figure {
        name: "four levels",
        what: "per task: fire and forget through levels that age".to_owned(),
        each: each(began, tasks),
    })
}

fn late(_: u64) -> Measured {
    let pool = Pool::fixed(1)?;
    let mut times = Vec::new();
    for _ in 0..50 {
        let due = Instant::now() + Duration::from_millis(2);
        let ran = pool.after(Duration::from_millis(2), Instant::now)?.join()?;
        times.push(ran.saturating_duration_since(due));
    }
    times.sort_unstable();
    Ok(Figure {
        name: "lateness",
        what: format!(
            "p50: from a timer's time to its run; longest {}",
            show::time(times[times.len() - 1])
        ),
        each: times[times.len() / 2],
    })
}

fn commands(tasks: u64) -> Measured {
    let count = tasks / 1_000;
    let pool = Pool::fixed(cores())?;
    let began = Instant::now();
    for _ in 0..count {
        pool.execute(|| {
            let spec = crate::child::Spec {
                program: OsStr::new("true"),
                arguments: &[],
                env: None,
                told: None,
                cwd: None,
                stdin: None,
                reads: true,
                timeout: None,
                grace: Duration::ZERO,
                measures: false,
            };
            let token = punctual::task::Token::new();
            crate::child::run(&spec, &token, &mut crate::child::capture::Capture::new(0));
        })?;
    }
    let _ = pool.close();
    Ok(Figure {
        name: "commands",
        what: format!(
            "per command: {} times `true`, {} at a time",
            show::count(count),
            cores()
        ),
        each: each(began, count),
    })
}
