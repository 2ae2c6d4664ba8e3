//! The inner process of `serve`: schedules run, files are read again, and at the end nothing is left.
//!
//! One thread, the main one, keeps the books: it hears of runs, signals, changes of the file, and of the guard's end. Runs
//! are done by the library's pools. Talk goes to standard error, and with `--json` a line for each event to standard output.

use super::history::{History, RunRecord, instant};
use super::state::State;
use super::{change, watch};
use crate::args::{ServeArgs, When};
use crate::check;
use crate::child::household;
use crate::file::{self, Loaded, Plan};
use crate::interrupt::{self, Request};
use crate::outcome::{Failure, Outcome, TASK_FAILED, WRONG_FILE};
use crate::page::Page;
use crate::paint::Paint;
use crate::show;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Editors write in several steps: so long after the first, the file is read.
const SETTLES: Duration = Duration::from_millis(50);

/// How many events wait to be heard. If nobody reads what is said the runs are held up, and memory is not.
const UNHEARD: usize = 4_096;

/// What is heard.
pub(crate) enum Event {
    Ran(Box<RunRecord>),
    Asked(Request),
    /// Something happened beside the file.
    Touched,
}

struct Engine {
    path: PathBuf,
    /// The text in force, or the last one that was refused: what is the same again is not read again.
    text: String,
    state: State,
    history: History,
    json: bool,
    paint: Paint,
    drain: Duration,
    page: Option<Page>,
}

/// Serves until it is told to end.
pub(crate) fn run(args: &ServeArgs, json: bool, color: When) -> Outcome {
    household::adopt()?;
    watch_guard()?;
    let paint = Paint::for_talk(color);
    let (to, events) = sync_channel(UNHEARD);
    let Loaded {
        source,
        plan,
        problems,
    } = file::load(&args.file);
    for problem in &problems {
        let _ = write!(io::stderr().lock(), "{}", source.show(problem, paint.on));
    }
    let plan = plan.ok_or_else(|| Failure::new(WRONG_FILE, check::nothing_was_run(&problems)))?;
    let _ears = listen(&to)?;
    let touched = to.clone();
    watch::watch(&args.file, move || drop(touched.send(Event::Touched)))?;
    let history = History::new(plan.serve.history);
    let state = State::new(plan, to).map_err(|error| Failure::new(WRONG_FILE, error))?;
    let bind = args.bind.as_deref().unwrap_or(&state.plan.serve.bind);
    let page = match args.no_page {
        true => None,
        false => Some(Page::open(bind, state.places())?),
    };
    let mut engine = Engine {
        path: args.file.clone(),
        text: source.text,
        state,
        history,
        json,
        paint,
        drain: args.drain,
        page,
    };
    engine.greet();
    engine.keep(&events);
    engine.end(&events);
    household::sweep();
    Ok(())
}

/// The guard's end of the pipe closes when it ends, whatever ended it. Then nothing may be left.
fn watch_guard() -> io::Result<()> {
    let wait = || {
        let mut byte = [0];
        while matches!(io::stdin().read(&mut byte), Ok(length) if length > 0) {}
        household::sweep();
        std::process::exit(i32::from(TASK_FAILED));
    };
    thread::Builder::new().name("guard".to_owned()).spawn(wait)?;
    Ok(())
}

fn listen(to: &SyncSender<Event>) -> io::Result<interrupt::Ears> {
    let to = to.clone();
    interrupt::listen(true, move |request| {
        if request == Request::Child {
            household::reap();
        } else {
            let _ = to.send(Event::Asked(request));
        }
    })
}

impl Engine {
    fn say(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{} {text}", instant(SystemTime::now()));
    }

    fn tell(&self, value: &Value) {
        if self.json {
            let mut out = io::stdout().lock();
            let _ = writeln!(out, "{value}");
            let _ = out.flush();
        }
    }

    fn greet(&self) {
        let jobs = &self.state.jobs;
        self.say(&format!(
            "serving {} schedules of {} on {} pools; SIGHUP or a change of the file reads it again, SIGUSR1 writes the history",
            jobs.len(),
            self.path.display(),
            self.state.places().pools.len()
        ));
        let mut next = serde_json::Map::new();
        for job in jobs {
            let when = job.handle.next_run().map(instant);
            self.say(&format!(
                "  {}: {}, next {}",
                job.name,
                job.handle.schedule(),
                when.as_deref().unwrap_or("never")
            ));
            next.insert(job.name.to_string(), when.into());
        }
        let url = self.page.as_ref().map(Page::url);
        if let Some(url) = url {
            self.say(&format!("page {url} and /metrics beside it"));
        }
        self.tell(&json!({ "event": "serving", "next": next, "page": url }));
    }

    fn keep(&mut self, events: &Receiver<Event>) {
        let mut settled: Option<Instant> = None;
        loop {
            let event = match settled {
                Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Ran(run)) => self.ran(*run),
                Ok(Event::Touched) => settled = Some(settled.unwrap_or_else(|| Instant::now() + SETTLES)),
                Ok(Event::Asked(Request::Reload)) => self.reload(true),
                Ok(Event::Asked(Request::Tell)) => self.write_history(),
                Ok(Event::Asked(Request::End)) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Event::Asked(Request::Child)) => {}
                Err(RecvTimeoutError::Timeout) => {
                    settled = None;
                    self.reload(false);
                }
            }
        }
    }

    fn ran(&mut self, run: RunRecord) {
        let late = run.started.duration_since(run.scheduled).unwrap_or_default();
        let word = match &run.result {
            Ok(()) => self.paint.green("ok"),
            Err(why) => format!("{}: {why}", self.paint.red("FAILED")),
        };
        let mut line = format!("{} {word} after {}", run.schedule, show::time(run.took));
        if run.attempts > 1 {
            line += &format!(", {} attempts", run.attempts);
        }
        if late > Duration::from_secs(1) {
            line += &format!(", {} late", show::time(late));
        }
        self.say(&line);
        if run.result.is_err() {
            for line in run.output.lines() {
                let _ = writeln!(io::stderr().lock(), "    | {line}");
            }
        }
        self.tell(&run.to_json());
        self.history.add(run);
        self.state.tidy();
    }

    fn write_history(&self) {
        let value = self.history.to_json();
        let mut out = io::stdout().lock();
        let _ = if self.json {
            writeln!(out, "{value}")
        } else {
            writeln!(out, "{value:#}")
        };
        let _ = out.flush();
    }

    /// Reads the file again. `asked`: also if it is the same text.
    fn reload(&mut self, asked: bool) {
        let Loaded {
            source,
            plan,
            problems,
        } = file::load(&self.path);
        // Gone for a moment, or the same: an editor at work.
        if !asked && (source.text == self.text || source.text.is_empty()) {
            return;
        }
        self.text.clone_from(&source.text);
        for problem in &problems {
            let _ = write!(io::stderr().lock(), "{}", source.show(problem, self.paint.on));
        }
        let changed = match plan {
            None => Err(check::nothing_was_changed(&problems)),
            Some(plan) => self.change(plan),
        };
        match changed {
            Ok(lines) => self.tell(&json!({ "event": "reload", "ok": true, "changes": lines })),
            Err(error) => {
                self.say(&format!("{}: {error}", self.paint.red("not reloaded")));
                self.tell(&json!({ "event": "reload", "ok": false, "error": error }));
            }
        }
    }

    fn change(&mut self, plan: Plan) -> Result<Vec<String>, String> {
        let lines = change::lines(&self.state.plan, &plan);
        let history = plan.serve.history;
        self.state
            .change(plan)
            .map_err(|error| format!("{error}; the last good file stays in force"))?;
        self.history.resize(history);
        if let Some(page) = &mut self.page {
            page.show(self.state.places());
        }
        self.say(&format!(
            "reloaded {}: {} changes",
            self.path.display(),
            lines.len()
        ));
        for line in &lines {
            self.say(&format!("  {line}"));
        }
        Ok(lines)
    }

    /// No new runs; those that go on may end, for a while.
    fn end(&mut self, events: &Receiver<Event>) {
        self.state.retire();
        let until = Instant::now() + self.drain;
        let running = self.state.running();
        self.say(&format!(
            "ending: no new runs, {running} go on for {} at most; again to stop them",
            show::time(self.drain)
        ));
        while self.state.running() > 0 {
            match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Ran(run)) => self.ran(*run),
                Ok(Event::Asked(Request::Tell)) => self.write_history(),
                Ok(Event::Asked(Request::End)) | Err(_) => break,
                Ok(_) => {}
            }
        }
        self.state.stop();
        self.state.close();
        while let Ok(Event::Ran(run)) = events.try_recv() {
            self.ran(*run);
        }
        self.say("ended");
        self.tell(&json!({ "event": "ended" }));
    }
}
