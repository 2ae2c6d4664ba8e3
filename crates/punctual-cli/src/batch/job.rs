//! One attempt at a task: its work, done on the thread that calls, and what came of it.

use crate::child::capture::Capture;
use crate::child::{self, End, Ended, Spec};
use crate::file::plan::{CommandPlan, TaskPlan, Work};
use punctual::task::{self, Token};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsStr;
use std::hint;
use std::time::{Duration, Instant};

/// What one attempt came to.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// On which thread.
    pub(crate) worker: String,
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) result: Result<(), Why>,
    /// Processor time, if it is known.
    pub(crate) cpu: Option<Duration>,
    pub(crate) output: Capture,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    Exited(i32),
    Signalled(i32),
    TimedOut(Duration),
    NotStarted(String),
    /// By the user; no reason to try again.
    Stopped,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::Exited(code) => write!(f, "exit code {code}"),
            Why::Signalled(signal) => write!(f, "killed by signal {signal}"),
            Why::TimedOut(limit) => write!(f, "not done within {}", crate::show::time(*limit)),
            Why::NotStarted(why) => f.write_str(why),
            Why::Stopped => f.write_str("stopped"),
        }
    }
}

/// Does a task's work once; the first time is number 1. The token of the pool's task around it ends it early.
pub(crate) fn attempt(task: &TaskPlan, number: u32) -> Attempt {
    let token = task::current().map_or_else(Token::new, |current| current.token());
    let started = Instant::now();
    let cpu = thread_cpu();
    let mut output = Capture::new(task.output);
    let ended = match &task.work {
        Work::Command(command) => run(task, command, number, &token, &mut output),
        Work::Sleep(length) => sleep(*length, task.timeout).into(),
        Work::Spin(length) => spin(*length, task.timeout, &token).into(),
    };
    let worker = std::thread::current().name().unwrap_or("worker").to_owned();
    let own = thread_cpu().saturating_sub(cpu);
    Attempt {
        worker,
        started,
        ended: Instant::now(),
        result: result(ended.end, task.timeout),
        cpu: match task.work {
            Work::Command(_) => ended.cpu,
            _ => Some(own),
        },
        output,
    }
}

fn result(end: End, timeout: Option<Duration>) -> Result<(), Why> {
    match end {
        End::Exited(0) => Ok(()),
        End::Exited(code) => Err(Why::Exited(code)),
        End::Signalled(signal) => Err(Why::Signalled(signal)),
        End::TimedOut => Err(Why::TimedOut(timeout.unwrap_or_default())),
        End::Stopped => Err(Why::Stopped),
        End::NotStarted(why) => Err(Why::NotStarted(why)),
    }
}

fn run(task: &TaskPlan, command: &CommandPlan, number: u32, token: &Token, output: &mut Capture) -> Ended {
    let arguments: Vec<&OsStr> = command.argv[1..].iter().map(OsStr::new).collect();
    let spec = Spec {
        program: OsStr::new(&command.argv[0]),
        arguments: &arguments,
        env: Some(&command.env),
        told: Some((&task.name, number)),
        cwd: command.cwd.as_deref(),
        stdin: command.stdin.as_deref(),
        reads: true,
        timeout: task.timeout,
        grace: task.grace,
        measures: true,
    };
    child::run(&spec, token, output)
}

fn sleep(length: Duration, timeout: Option<Duration>) -> End {
    let (length, end) = match timeout {
        Some(timeout) if timeout < length => (timeout, End::TimedOut),
        _ => (length, End::Exited(0)),
    };
    match task::sleep(length) {
        Ok(()) => end,
        Err(_) => End::Stopped,
    }
}

/// Uses so much processor time, however long that takes.
fn spin(length: Duration, timeout: Option<Duration>, token: &Token) -> End {
    let started = Instant::now();
    let begin = thread_cpu();
    loop {
        for _ in 0..1_000 {
            hint::spin_loop();
        }
        if thread_cpu().saturating_sub(begin) >= length {
            return End::Exited(0);
        }
        if timeout.is_some_and(|timeout| started.elapsed() >= timeout) {
            return End::TimedOut;
        }
        if token.is_cancelled() {
            return End::Stopped;
        }
    }
}

fn thread_cpu() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime)
        .try_into()
        .unwrap_or_default()
}
