//! All processes below this one: those that were started here, and what those left behind.
//!
//! In `serve` this process is the one to which orphans of its children are given (a subreaper): a command that put something
//! into the background leaves it here. [`reap`] buries such orphans when they have ended; [`sweep`] ends everything that is
//! below, whoever started it, and lets nothing new begin. Commands that a worker waits for are entered in a book, so that
//! nobody else takes their exit code.

use super::group::Stat;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

/// While it is read something may be starting; who writes knows that the book is complete. The value: nothing may start.
static STARTING: RwLock<bool> = RwLock::new(false);

/// Whom a worker waits for.
static BOOK: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Between two looks, while everything is being ended.
const LOOK: Duration = Duration::from_millis(2);

fn book() -> MutexGuard<'static, BTreeSet<u32>> {
    BOOK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a command and enters it.
pub(super) fn start(command: &mut Command) -> io::Result<Child> {
    let closed = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    if *closed {
        return Err(io::Error::other("the program is about to end"));
    }
    let child = command.spawn()?;
    book().insert(child.id());
    Ok(child)
}

/// Its worker has waited for it.
pub(super) fn ended(child: u32) {
    book().remove(&child);
}

/// From now on orphans of our children are ours.
pub(crate) fn adopt() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(
        rustix::process::getpid(),
    ))?)
}

/// Buries orphans that have ended.
pub(crate) fn reap() {
    let _complete = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    let book = book();
    for child in children().into_iter().filter(|child| !book.contains(child)) {
        bury(child);
    }
}

fn bury(child: u32) {
    if let Some(child) = number(child) {
        let _ = waitpid(Some(child), WaitOptions::NOHANG);
    }
}

fn number(process: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(process).ok()?)
}

/// Ends everything below this process, and lets nothing begin. What they leave behind comes to us, and is ended too.
pub(crate) fn sweep() {
    *STARTING.write().unwrap_or_else(PoisonError::into_inner) = true;
    loop {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            if let Some(number) = number(child) {
                let _ = kill_process(number, Signal::KILL);
            }
            bury(child);
        }
        thread::sleep(LOOK);
    }
}

/// The children of this process, ended ones that nobody has buried too.
fn children() -> Vec<u32> {
    listed().unwrap_or_else(searched)
}

/// As the kernel lists them, thread by thread; some kernels do not.
fn listed() -> Option<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(text) => children.extend(
                text.split_whitespace()
                    .filter_map(|child| child.parse::<u32>().ok()),
            ),
            // The thread has ended; its children are another's now, and the next look finds them.
            Err(_) if !thread.path().exists() => {}
            Err(_) => return None,
        }
    }
    Some(children)
}

/// Among all processes.
fn searched() -> Vec<u32> {
    let here = std::process::id();
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|number| Stat::of(*number).is_some_and(|stat| stat.parent == here))
        .collect()
}
