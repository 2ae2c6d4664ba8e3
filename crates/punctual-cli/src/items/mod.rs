//! `punctual run -j N -- cmd {}`: a command for each item of standard input.
//!
//! In: items, as they come. Out: the commands' output, failures on standard error, a line at the end. The calling thread
//! reads and submits; a full queue holds it up, so memory does not depend on how many items there are. Commands are run by a
//! pool of N workers.

mod output;
mod read;
mod template;

use crate::args::RunArgs;
use crate::batch::job::Why;
use crate::child::capture::Capture;
use crate::child::{self, End, Sink, Spec};
use crate::file::plan::Backoff;
use crate::interrupt::{self, Request};
use crate::outcome::{Failure, INTERRUPTED, Outcome, TASK_FAILED};
use crate::paint::Paint;
use crate::show;
use output::Output;
use punctual::task::{self, Token};
use punctual::{Pool, Queue, Reject};
use read::{Item, Reader};
use serde_json::json;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use template::{Template, shown};

/// As good as for ever: the queue has room again when a command ends.
const PATIENCE: Duration = Duration::from_secs(100 * 365 * 86_400);

/// How far ahead of what is written commands are started, for each at a time, in order.
const AHEAD: u64 = 32;

/// Between attempts.
const BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(1),
    most: Duration::from_secs(60),
    jitter: 0.2,
};

/// What all commands share.
struct Items {
    args: RunArgs,
    json: bool,
    paint: Paint,
    template: Template,
    output: Output,
    /// Nothing new is started when it has fired.
    stop: Token,
    succeeded: AtomicU64,
    failed: AtomicU64,
    not_run: AtomicU64,
    is_live: bool,
    drawn: Mutex<Instant>,
}

/// Runs them all.
pub(crate) fn run(args: &RunArgs, json: bool, paint: Paint) -> Outcome {
    let jobs = args.jobs.map_or_else(crate::file::cores, usize::from);
    let pool = Pool::builder("items")
        .core_threads(jobs)
        .max_threads(jobs)
        .queue(Queue::bounded(jobs.max(16)))
        .on_full(Reject::Block(PATIENCE))
        .build()
        .map_err(|error| Failure::usage(error.to_string()))?;
    let items = Arc::new(Items {
        json,
        paint,
        template: Template::new(&args.command),
        output: Output::new(args.keep_order),
        stop: Token::new(),
        succeeded: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        not_run: AtomicU64::new(0),
        is_live: io::stderr().is_terminal() && args.progress != crate::args::Progress::None,
        drawn: Mutex::new(Instant::now()),
        args: args.clone(),
    });
    let began = Instant::now();
    let asked = Arc::new(AtomicUsize::new(0));
    let ears = {
        let (items, pool, asked) = (items.clone(), pool.clone(), asked.clone());
        interrupt::listen(false, move |request| {
            if request == Request::End {
                interrupted(&items, &pool, asked.fetch_add(1, Relaxed));
            }
        })?
    };
    let read = submit_all(&items, &pool);
    let _ = pool.close();
    drop(ears);
    finish(&items, &pool, began, asked.load(Relaxed) > 0, read)
}

fn interrupted(items: &Items, pool: &Pool, before: usize) {
    match before {
        0 => {
            items.say(
                &items.paint.yellow(
                    "interrupted: nothing new is started, running commands go on; again to stop them",
                ),
            );
            items.stop.cancel();
            drop(pool.drain());
        }
        _ => {
            if before == 1 {
                items.say(
                    &items
                        .paint
                        .yellow("interrupted again: running commands are stopped"),
                );
            }
            drop(pool.stop());
        }
    }
}

/// Reads and submits until the input ends. An input that cannot be read is reported when the rest has run.
fn submit_all(items: &Arc<Items>, pool: &Pool) -> io::Result<u64> {
    let mut reader = Reader::new(io::stdin(), items.args.null, &items.stop)?;
    let window = AHEAD * pool.size().max as u64;
    let mut number = 0;
    while let Some(item) = reader.next()? {
        items.output.wait_until_near(number, window);
        if items.output.is_broken() {
            items.stop.cancel();
            break;
        }
        let place = Place {
            items: items.clone(),
            number,
            is_done: false,
        };
        number += 1;
        match item {
            Item::Bytes(bytes) => {
                let item: Box<[u8]> = bytes.into();
                // A pool that was stopped gives it back, and its place says so.
                drop(pool.execute(move || place.run(&item)));
            }
            Item::Impossible(why) => place.impossible(&why),
        }
    }
    Ok(number)
}

/// An item's place in the books: it ends exactly once, also if it never runs.
struct Place {
    items: Arc<Items>,
    number: u64,
    is_done: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_done {
            self.items.not_run.fetch_add(1, Relaxed);
            drop(self.items.output.voice(self.number));
        }
    }
}

/// Nobody reads it.
struct Nothing;

impl Sink for Nothing {
    fn take(&mut self, _: &[u8], _: bool) {}
}

impl Place {
    fn run(mut self, item: &[u8]) {
        if self.items.stop.is_cancelled() {
            return;
        }
        self.is_done = true;
        let items = &self.items;
        let words = items.template.fill(item, self.number + 1);
        let began = Instant::now();
        if items.json {
            let mut capture = Capture::new(64 << 10);
            let result = items.attempts(&words, &mut capture);
            self.tell_json(item, &result, began, &capture);
            return self.count(item, result);
        }
        let result = if items.args.ungroup {
            items.attempts(&words, &mut Nothing)
        } else {
            let mut voice = items.output.voice(self.number);
            items.attempts(&words, &mut voice)
        };
        self.count(item, result);
    }

    fn impossible(mut self, why: &str) {
        self.is_done = true;
        drop(self.items.output.voice(self.number));
        self.count(b"", Err(Why::NotStarted(why.to_owned())));
    }

    fn count(&self, item: &[u8], result: Result<(), Why>) {
        let items = &self.items;
        match result {
            Ok(()) => drop(items.succeeded.fetch_add(1, Relaxed)),
            Err(why) => {
                items.failed.fetch_add(1, Relaxed);
                items.say(&format!(
                    "{} item {} {}: {why}",
                    items.paint.red("FAILED"),
                    self.number + 1,
                    shown(item)
                ));
                if items.args.fail_fast {
                    items.stop.cancel();
                }
            }
        }
        items.draw();
    }

    fn tell_json(&self, item: &[u8], result: &Result<(), Why>, began: Instant, capture: &Capture) {
        let line = json!({
            "number": self.number + 1,
            "item": String::from_utf8_lossy(item),
            "status": if result.is_ok() { "succeeded" } else { "failed" },
            "reason": result.as_ref().err().map(ToString::to_string),
            "seconds": began.elapsed().as_secs_f64(),
            "output": capture.text(),
            "output_left_out": capture.left_out(),
        });
        let mut voice = self.items.output.voice(self.number);
        voice.take(format!("{line}\n").as_bytes(), false);
    }
}

impl Items {
    fn attempts(&self, words: &[std::ffi::OsString], sink: &mut dyn Sink) -> Result<(), Why> {
        let arguments: Vec<&OsStr> = words[1..].iter().map(AsRef::as_ref).collect();
        let spec = Spec {
            program: &words[0],
            arguments: &arguments,
            env: None,
            told: None,
            cwd: None,
            stdin: None,
            reads: !self.args.ungroup || self.json,
            timeout: self.args.timeout,
            grace: self.args.grace,
            measures: false,
        };
        let token = task::current().map_or_else(Token::new, |current| current.token());
        for tried in 1.. {
            let why = match child::run(&spec, &token, sink).end {
                End::Exited(0) => return Ok(()),
                End::Stopped => return Err(Why::Stopped),
                End::Exited(code) => Why::Exited(code),
                End::Signalled(signal) => Why::Signalled(signal),
                End::TimedOut => Why::TimedOut(self.args.timeout.unwrap_or_default()),
                End::NotStarted(why) => Why::NotStarted(why),
            };
            let wait = BACKOFF.before(tried + 1, 0.5);
            if tried > self.args.retries || self.stop.is_cancelled() || task::sleep(wait).is_err() {
                return Err(why);
            }
        }
        Ok(())
    }

    /// A line on standard error, above what is drawn there.
    fn say(&self, text: &str) {
        let clear = if self.is_live { "\r\x1b[K" } else { "" };
        let _ = writeln!(io::stderr().lock(), "{clear}{text}");
    }

    /// How far it is, on a terminal, ten times a second at most.
    fn draw(&self) {
        if !self.is_live {
            return;
        }
        if let Ok(mut drawn) = self.drawn.try_lock()
            && drawn.elapsed() >= Duration::from_millis(100)
        {
            *drawn = Instant::now();
            let (done, failed) = (self.succeeded.load(Relaxed), self.failed.load(Relaxed));
            let mut out = io::stderr().lock();
            let _ = write!(out, "\r\x1b[K{} done, {failed} failed", show::count(done));
            let _ = out.flush();
        }
    }
}

fn finish(items: &Items, pool: &Pool, began: Instant, was_asked: bool, read: io::Result<u64>) -> Outcome {
    let [succeeded, failed, not_run] =
        [&items.succeeded, &items.failed, &items.not_run].map(|count| count.load(Relaxed));
    let took = began.elapsed();
    let stats = pool.stats();
    if items.json {
        let quantile =
            |histogram: &punctual::Histogram, part| histogram.quantile(part).map(|time| time.as_secs_f64());
        let times = |histogram| json!({ "p50": quantile(histogram, 0.5), "p99": quantile(histogram, 0.99) });
        let value = json!({
            "summary": {
                "ok": failed == 0 && not_run == 0, "interrupted": was_asked, "succeeded": succeeded, "failed": failed,
                "not_run": not_run, "seconds": took.as_secs_f64(), "jobs": stats.size.max,
                "wait_seconds": times(&stats.wait), "run_seconds": times(&stats.run),
            }
        });
        writeln!(io::stdout().lock(), "{value}")?;
    } else if items.args.progress != crate::args::Progress::None {
        let left = if not_run > 0 {
            format!(", {} not run", show::count(not_run))
        } else {
            String::new()
        };
        let p50 = stats
            .run
            .quantile(0.5)
            .map_or(String::new(), |time| format!(", {} each (p50)", show::time(time)));
        items.say(&format!(
            "{} done, {} failed{left} in {}{p50}, {} at a time",
            show::count(succeeded),
            show::count(failed),
            show::time(took),
            stats.size.max
        ));
    }
    if let Err(error) = read {
        return Err(Failure::new(
            TASK_FAILED,
            format!("cannot read standard input: {error}"),
        ));
    }
    if let Some(error) = items.output.broken() {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Err(Failure::new(
                TASK_FAILED,
                "the reader of standard output went away: the rest was not started",
            ));
        }
        return Err(Failure::new(
            TASK_FAILED,
            format!("cannot write to standard output: {error}; the rest was not started"),
        ));
    }
    if was_asked {
        return Err(Failure::silent(INTERRUPTED));
    }
    if failed > 0 {
        return Err(Failure::silent(TASK_FAILED));
    }
    Ok(())
}
