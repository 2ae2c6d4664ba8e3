//! Starvation, and two ways out of it, as a chart.
//!
//! A producer keeps a pool busy with urgent tasks for a second, without a break; forty tasks of low priority wait from the
//! beginning. Strictly, none of them runs before the flood is over. With aging each is overtaken for three steps at most.
//! With shares one pick in eleven is theirs. The chart shows how many have run, over time; it is written to the path
//! given as the first argument, or to `starvation.svg` in the directory for temporary files.
//!
//! `cargo run -p punctual-examples --example starvation -- starvation.svg`

use punctual::{Pool, Priority, PriorityQueue, Queue};
use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const FLOOD: Duration = Duration::from_millis(1_000);
/// How long a task takes.
const WORK: Duration = Duration::from_micros(500);
const LOW: usize = 40;

fn main() -> Outcome<()> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let path = path.unwrap_or_else(|| std::env::temp_dir().join("starvation.svg"));

    let queue = || Queue::priority(256);
    let rules = [
        ("strict", "#c0392b", queue().strict()),
        (
            "aging, steps of 100 ms",
            "#2471a3",
            queue().aging(Duration::from_millis(100)),
        ),
        ("shares 50/30/15/5", "#1e8449", queue().shares([50, 30, 15, 5])),
    ];
    let mut curves = Vec::new();
    for (name, colour, queue) in rules {
        let bound = queue.wait_bound(Priority::LOW, LOW, WORK, 1);
        let ran = run(queue)?;
        let before_the_end = ran.iter().filter(|when| **when < FLOOD).count();
        println!(
            "{name}: {before_the_end} of {LOW} ran during the flood; the first after {:.0?}, bound {bound:.0?}",
            ran[0]
        );
        assert_eq!(ran.len(), LOW, "in the end all of them run");
        assert!(name == "strict" || before_the_end > 0, "rescued");
        curves.push((name, colour, ran));
    }
    std::fs::write(&path, chart(&curves)?)?;
    println!("the chart is in {}", path.display());
    Ok(())
}

/// When each task of low priority ran, from the first to the last.
fn run(queue: PriorityQueue) -> Outcome<Vec<Duration>> {
    let pool = Pool::builder("flooded").core_threads(1).queue(queue).build()?;
    let ran: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let urgent = pool.at_priority(Priority::URGENT);
    pool.pause(); // until the first urgent tasks are there
    for _ in 0..100 {
        urgent.execute(|| work(WORK))?;
    }
    let begin = Instant::now();
    for _ in 0..LOW {
        let ran = ran.clone();
        let low = pool.task(move || {
            ran.lock().unwrap().push(begin.elapsed());
            work(WORK);
        });
        low.priority(Priority::LOW).execute()?;
    }
    pool.resume();
    while begin.elapsed() < FLOOD {
        // Refused while the queue is full: that is how it stays nearly full.
        if urgent.execute(|| work(WORK)).is_err() {
            std::thread::sleep(WORK);
        }
    }
    let _ = pool.close();
    let ran = ran.lock().unwrap().clone();
    Ok(ran)
}

/// Keeps the worker busy.
fn work(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// One line for each rule: tasks of low priority that have run, over time.
fn chart(curves: &[(&str, &str, Vec<Duration>)]) -> Outcome<String> {
    const WIDTH: f64 = 720.0;
    const HEIGHT: f64 = 320.0;
    let end = curves.iter().filter_map(|(_, _, ran)| ran.last()).max();
    let end = end.copied().unwrap_or(FLOOD).max(FLOOD).as_secs_f64() * 1.05;
    let x = |when: f64| 60.0 + when / end * (WIDTH - 80.0);
    let y = |count: usize| HEIGHT - 40.0 - count as f64 / LOW as f64 * (HEIGHT - 80.0);
    let mut svg = String::new();
    writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">"##
    )?;
    writeln!(svg, r##"<rect width="100%" height="100%" fill="white"/>"##)?;
    let (left, right, top, bottom) = (x(0.0), x(FLOOD.as_secs_f64()), y(LOW), y(0));
    writeln!(
        svg,
        r##"<rect x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" fill="#f4ecd8"/>"##,
        right - left,
        bottom - top
    )?;
    writeln!(
        svg,
        r##"<text x="{:.1}" y="{:.1}" fill="#7d6608">urgent tasks come without a break</text>"##,
        left + 6.0,
        top - 6.0
    )?;
    for tenths in 0..=(end * 10.0) as usize {
        if tenths % 2 == 0 {
            let at = x(tenths as f64 / 10.0);
            writeln!(
                svg,
                r##"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{:.1} s</text>"##,
                bottom + 16.0,
                tenths as f64 / 10.0
            )?;
        }
    }
    for count in [0, LOW / 2, LOW] {
        writeln!(
            svg,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="end">{count}</text>"##,
            left - 6.0,
            y(count) + 4.0
        )?;
    }
    for (index, (name, colour, ran)) in curves.iter().enumerate() {
        let mut points = format!("{left:.1},{bottom:.1}");
        for (count, when) in ran.iter().enumerate() {
            let at = x(when.as_secs_f64());
            write!(points, " {at:.1},{:.1} {at:.1},{:.1}", y(count), y(count + 1))?;
        }
        writeln!(
            svg,
            r##"<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>"##
        )?;
        writeln!(
            svg,
            r##"<text x="{:.1}" y="{:.1}" fill="{colour}">{name}</text>"##,
            left + 12.0,
            top + 18.0 + 16.0 * index as f64
        )?;
    }
    writeln!(
        svg,
        r##"<text x="{:.1}" y="{:.1}">LOW tasks that have run</text>"##,
        left - 50.0,
        16.0
    )?;
    svg.push_str("</svg>\n");
    Ok(svg)
}
