//! One process: started, read, waited for, ended.
//!
//! In: a [`Spec`], a token, a [`Sink`] for its output. Out: how it [`Ended`]. The calling thread does all of it: it sleeps in
//! one `poll` on the process, both pipes and the token, so a child costs no thread beside the worker that runs it.
//!
//! Every child leads a process group of its own, and signals go to the group: what it has started ends with it. A child is
//! reaped last, so that its number, which is the group's, cannot be somebody else's meanwhile.

pub(crate) mod capture;
mod group;
pub(crate) mod household;
mod pipes;
pub(crate) mod wake;

use crate::child::wake::Wake;
use pipes::Pipes;
use punctual::task::Token;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What to start, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec<'a> {
    pub(crate) program: &'a OsStr,
    pub(crate) arguments: &'a [&'a OsStr],
    pub(crate) env: Option<&'a BTreeMap<String, String>>,
    /// What this program tells it: the task's name, and which attempt it is.
    pub(crate) told: Option<(&'a str, u32)>,
    pub(crate) cwd: Option<&'a Path>,
    pub(crate) stdin: Option<&'a Path>,
    /// Read its output, or let it write to where this program writes.
    pub(crate) reads: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) grace: Duration,
    /// Also find out how much processor time it took.
    pub(crate) measures: bool,
}

/// Where output goes, as it comes.
pub(crate) trait Sink {
    /// Bytes of standard output, or of standard error.
    fn take(&mut self, bytes: &[u8], is_error: bool);
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Exited(i32),
    Signalled(i32),
    /// It took too long, and was ended.
    TimedOut,
    /// It was asked to stop, and was ended.
    Stopped,
    /// It could not be started: what, why.
    NotStarted(String),
}

/// All that is known afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) end: End,
    pub(crate) cpu: Option<Duration>,
}

impl From<End> for Ended {
    fn from(end: End) -> Self {
        Ended { end, cpu: None }
    }
}

/// Runs it. Returns when the process has ended, whoever of its own children still holds its pipes.
pub(crate) fn run(spec: &Spec<'_>, token: &Token, sink: &mut dyn Sink) -> Ended {
    if token.is_cancelled() {
        return End::Stopped.into();
    }
    let started = Instant::now();
    let (mut child, pipes) = match start(spec) {
        Ok(started) => started,
        Err(error) => return End::NotStarted(error).into(),
    };
    match attend(spec, token, sink, &child, pipes, started) {
        Ok(cut) => {
            let cpu = spec.measures.then(|| group::cpu_time(child.id())).flatten();
            let status = child.wait();
            household::ended(child.id());
            Ended {
                end: cut.unwrap_or_else(|| end_of(status)),
                cpu,
            }
        }
        // Nothing of this can fail on a system that works; if it does, no process is left behind.
        Err(error) => {
            group::signal(child.id(), Signal::KILL);
            let _ = child.wait();
            household::ended(child.id());
            End::NotStarted(format!("lost sight of the process: {error}")).into()
        }
    }
}

fn end_of(status: io::Result<ExitStatus>) -> End {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(code),
            (None, Some(signal)) => End::Signalled(signal),
            (None, None) => End::Signalled(0),
        },
        Err(error) => End::NotStarted(format!("its end is not known: {error}")),
    }
}

fn start(spec: &Spec<'_>) -> Result<(Child, Pipes), String> {
    let program = spec.program.to_string_lossy();
    let mut command = Command::new(spec.program);
    // No closure before exec: with one the standard library has to fork this process, instead of the much cheaper spawn.
    command.args(spec.arguments).process_group(0);
    for (name, value) in spec.env.into_iter().flatten() {
        command.env(name, value);
    }
    if let Some((task, attempt)) = spec.told {
        command
            .env("PUNCTUAL_TASK", task)
            .env("PUNCTUAL_ATTEMPT", attempt.to_string());
    }
    if let Some(cwd) = spec.cwd.filter(|cwd| !cwd.as_os_str().is_empty()) {
        command.current_dir(cwd);
    }
    match spec.stdin {
        Some(path) => {
            let file = File::open(path)
                .map_err(|error| format!("cannot open its input {}: {error}", path.display()))?;
            command.stdin(file);
        }
        None => {
            command.stdin(Stdio::null());
        }
    }
    if spec.reads {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let mut child = household::start(&mut command).map_err(|error| why_not(&program, spec.cwd, &error))?;
    let pipes = Pipes::of(&mut child);
    Ok((child, pipes))
}

fn why_not(program: &str, cwd: Option<&Path>, error: &io::Error) -> String {
    if let Some(cwd) = cwd.filter(|cwd| !cwd.as_os_str().is_empty() && !cwd.is_dir()) {
        return format!(
            "cannot start {program:?}: its folder {} is not there",
            cwd.display()
        );
    }
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no program {program:?}; install it, or give its path"),
        io::ErrorKind::PermissionDenied => format!("{program:?} may not be run: {error}; is it executable?"),
        _ => format!("cannot start {program:?}: {error}"),
    }
}

/// Waits for the end of the process, reading all the while. The answer says if we ended it, and why.
fn attend(
    spec: &Spec<'_>,
    token: &Token,
    sink: &mut dyn Sink,
    child: &Child,
    mut pipes: Pipes,
    started: Instant,
) -> io::Result<Option<End>> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let wake = Wake::of(token)?;
    let mut cut: Option<End> = None;
    // Until when: the timeout first, then the grace.
    let mut until = spec.timeout.map(|timeout| started + timeout);
    let mut is_killed = false;
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| rustix::time::Timespec::try_from(left).ok());
        let mut fds = [
            PollFd::new(&process, PollFlags::IN),
            PollFd::from_borrowed_fd(pipes.out(&process), pipes.out_flags()),
            PollFd::from_borrowed_fd(pipes.error(&process), pipes.error_flags()),
            PollFd::new(
                &wake,
                if cut.is_none() {
                    PollFlags::IN
                } else {
                    PollFlags::empty()
                },
            ),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [ended, out, error, asked] = [0, 1, 2, 3].map(|index| !fds[index].revents().is_empty());
        pipes.read(out, error, sink);
        if ended {
            // What is in the pipes now is its; what others write to them later is not waited for.
            pipes.drain(sink);
            if cut.is_some() && !is_killed {
                group::wait_for_others(child.id(), until);
                group::signal(child.id(), Signal::KILL);
            }
            return Ok(cut);
        }
        let is_over = until.is_some_and(|until| Instant::now() >= until);
        if cut.is_none() && (is_over || (asked && token.is_cancelled())) {
            cut = Some(if is_over { End::TimedOut } else { End::Stopped });
            group::signal(child.id(), Signal::TERM);
            // One that is stopped would hear of it when it goes on.
            group::signal(child.id(), Signal::CONT);
            until = Some(Instant::now() + spec.grace);
        } else if cut.is_some() && is_over {
            group::signal(child.id(), Signal::KILL);
            is_killed = true;
            until = None;
        }
    }
}

#[cfg(test)]
mod tests;
