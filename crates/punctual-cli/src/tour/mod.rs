//! The tour: one pool works off a mixed batch, a line or two for each thing worth seeing.
//!
//! In: a place to write. Out: measured facts; an error as soon as one of them is not as promised. Every figure is
//! taken here and now on the machine it runs on; nothing is remembered from elsewhere. [`work`] is what goes well,
//! [`shape`] how a pool follows the work, [`trouble`] what does not go well.

mod shape;
mod trouble;
mod work;

use crate::show;
use punctual::{Clock, Outcome, Pool, Queue, task};
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

type Done = Result<(), Box<dyn Error + Send + Sync>>;

/// Longer than anything here takes; only a hang meets it.
const LONG: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
/// The panics of the tour carry this, so that only they are kept off the terminal.
const ON_PURPOSE: &str = "(on purpose)";

/// Runs every stop of the tour.
pub(crate) fn run(out: &mut impl Write) -> Done {
    keep_planned_panics_quiet();
    let (tell, failures) = channel();
    let pool = Pool::builder("tour")
        .queue(Queue::unbounded())
        .on_failure(move |task, outcome| {
            if let Outcome::Panicked(payload) = outcome {
                let text = payload.downcast_ref::<&str>().copied().unwrap_or("no text");
                // The tour may have ended early; then nobody is left to hear it.
                let _ = tell.send(format!("{}: {text}", task.label()));
            }
        })
        .build()?;
    let threads = pool.size().max;
    writeln!(
        out,
        "punctual {}: a pool of {threads} threads and one FIFO queue works off a mixed batch\n",
        env!("CARGO_PKG_VERSION")
    )?;
    work::fire_and_forget(out, &pool)?;
    work::results(out, &pool)?;
    work::ping(out, &pool)?;
    shape::scope(out, &pool)?;
    shape::join_inside(out)?;
    shape::growth(out)?;
    trouble::panics(out, &pool, &failures)?;
    trouble::cancel(out, &pool)?;
    trouble::full_queue(out)?;
    shape::caller_runs(out)?;
    virtual_time(out)?;
    close(out, &pool)
}

fn step(out: &mut impl Write, name: &str, line: &str) -> Done {
    Ok(writeln!(out, "{name:<16} {line}")?)
}

fn more(out: &mut impl Write, line: &str) -> Done {
    step(out, "", line)
}

/// The tour shows promises; a broken one ends it.
fn ensure(holds: bool, promise: &str) -> Done {
    if holds {
        Ok(())
    } else {
        Err(format!("this should have held and did not: {promise}").into())
    }
}

fn virtual_time(out: &mut impl Write) -> Done {
    const SLEEPERS: u32 = 8;
    let begin = Instant::now();
    let clock = Clock::manual();
    let pool = Pool::builder("virtual").core_threads(2).clock(&clock).build()?;
    let mut sleepers = Vec::new();
    for _ in 0..SLEEPERS {
        sleepers.push(pool.submit(|| task::sleep(HOUR))?);
    }
    let passed = HOUR * (SLEEPERS / 2);
    clock.advance(passed);
    for sleeper in sleepers {
        ensure(
            sleeper.is_finished() && sleeper.join()?.is_ok(),
            "an hour has passed for each",
        )?;
    }
    let line = format!(
        "{SLEEPERS} tasks sleep an hour each on 2 threads: {} hours on the manual clock, {} on the wall",
        passed.as_secs() / 3_600,
        show::time(begin.elapsed())
    );
    step(out, "virtual time", &line)
}

fn close(out: &mut impl Write, pool: &Pool) -> Done {
    for number in 0..100 {
        pool.execute(move || {
            black_box(number);
        })?;
    }
    let report = pool.close();
    let refused = pool.execute(|| ()).is_err_and(|refused| refused.is_shutdown());
    ensure(
        report.terminated && refused,
        "a closed pool has run everything and accepts nothing",
    )?;
    let line = format!(
        "terminated {}, still running {}, dropped {}; the task that came after was given back",
        report.terminated, report.still_running, report.dropped
    );
    step(out, "close", &line)?;
    let stats = pool.stats();
    let ended = stats.finished + stats.panicked + stats.cancelled + stats.returned;
    ensure(
        stats.submitted == ended,
        "every accepted task has exactly one end",
    )?;
    writeln!(out, "\n{pool:?}")?;
    out.write_all(show::table(&stats).as_bytes())?;
    Ok(())
}

/// Leaves every other panic's report as it was.
fn keep_planned_panics_quiet() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let text = info.payload().downcast_ref::<&str>().copied();
        if !text.unwrap_or_default().ends_with(ON_PURPOSE) {
            usual(info);
        }
    }));
}
