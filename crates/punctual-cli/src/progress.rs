//! Progress on standard error: a bar on a terminal, lines elsewhere, nothing where nobody asked.
//!
//! In: what begins and ends. Out: text on standard error; a write that fails there is nobody's business.

use crate::args::{Progress, Show};
use crate::batch::job::Why;
use crate::batch::record::{Fate, Record};
use crate::file::plan::TaskPlan;
use crate::paint::Paint;
use crate::show;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How wide the bar itself is.
const BAR: usize = 24;

/// What is shown while a batch runs.
#[derive(Debug)]
pub(crate) struct Display {
    mode: Progress,
    output: Show,
    paint: Paint,
    began: Instant,
    total: usize,
    done: usize,
    failed: usize,
    /// A bar stands on the last line.
    is_drawn: bool,
    drawn: Instant,
}

impl Display {
    pub(crate) fn new(mode: Progress, output: Show, paint: Paint) -> Self {
        let mode = match mode {
            Progress::Auto if std::io::stderr().is_terminal() => Progress::Bar,
            Progress::Auto => Progress::Lines,
            mode => mode,
        };
        Display {
            mode,
            output,
            paint,
            began: Instant::now(),
            total: 0,
            done: 0,
            failed: 0,
            is_drawn: false,
            drawn: Instant::now(),
        }
    }

    /// Whether it moves by itself.
    pub(crate) fn is_live(&self) -> bool {
        self.mode == Progress::Bar
    }

    pub(crate) fn begin(&mut self, total: usize) {
        self.total = total;
        self.began = Instant::now();
    }

    /// Draws the bar anew, ten times a second at most.
    pub(crate) fn draw<'a>(&mut self, running: impl ExactSizeIterator<Item = &'a str>) {
        if self.is_drawn && self.drawn.elapsed() < Duration::from_millis(90) {
            return;
        }
        self.drawn = Instant::now();
        self.is_drawn = true;
        let filled = (self.done * BAR).checked_div(self.total).unwrap_or(0);
        let mut line = format!(
            "\r\x1b[K{}{} {}/{}",
            self.paint.green(&"█".repeat(filled)),
            "░".repeat(BAR - filled),
            self.done,
            self.total
        );
        if self.failed > 0 {
            let _ = write!(line, "  {}", self.paint.red(&format!("{} failed", self.failed)));
        }
        let _ = write!(line, "  {}", show::time(self.began.elapsed()));
        let count = running.len();
        let names: Vec<&str> = running.take(3).collect();
        let names = names.join(", ");
        let names: String = names.chars().take(40).collect();
        if count > 0 {
            let _ = write!(line, "  {count} running: {names}");
        }
        say(&line);
    }

    /// A line above the bar.
    fn line(&mut self, line: &str) {
        let clear = if self.is_drawn { "\r\x1b[K" } else { "" };
        self.is_drawn = false;
        say(&format!("{clear}{line}\n"));
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.line(&self.paint.yellow(text));
    }

    pub(crate) fn retry(&mut self, task: &TaskPlan, why: &Why, tried: u32, wait: Duration) {
        if self.mode != Progress::None {
            let left = task.retries + 1 - tried;
            self.line(&format!(
                "{} {}: {why}; again in {} ({left} left)",
                self.paint.yellow("retry"),
                task.name,
                show::time(wait)
            ));
        }
    }

    pub(crate) fn ended(&mut self, task: &TaskPlan, fate: &Fate, record: &Record) {
        self.done += 1;
        let last = record.attempts.last();
        let took = last.map(|attempt| show::time(attempt.ended - attempt.started));
        let took = took.unwrap_or_default();
        let count = format!("[{}/{}]", self.done, self.total);
        let failed = matches!(fate, Fate::Failed(_));
        self.failed += usize::from(failed);
        let line = match fate {
            Fate::Succeeded | Fate::Open => {
                format!("{count} {} {} {took}", self.paint.green("done"), task.name)
            }
            Fate::Failed(why) => format!("{count} {} {} {took}: {why}", self.paint.red("FAILED"), task.name),
            Fate::Skipped(_) => format!("{count} {} {}", self.paint.yellow("skipped"), task.name),
            Fate::NotRun => format!("{count} {} {}", self.paint.yellow("not run"), task.name),
        };
        let is_shown = self.mode == Progress::Lines || (self.mode == Progress::Bar && failed);
        if is_shown {
            self.line(&line);
        }
        let shows = match self.output {
            Show::All => true,
            Show::Failed => failed,
            Show::None => false,
        };
        if let Some(attempt) = last.filter(|attempt| shows && attempt.output.total() > 0) {
            if !is_shown {
                self.line(&line);
            }
            let text = attempt.output.text();
            for line in text.lines() {
                self.line(&format!("    | {line}"));
            }
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&mut self) {
        if self.is_drawn {
            say("\r\x1b[K");
            self.is_drawn = false;
        }
    }
}

fn say(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
