//! Process groups: signals to all of one, and who is left of it.
//!
//! The numbers are those of leaders that have not been reaped, so that none can be somebody else's.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How often those are looked for that are left of a group; only while one is being ended.
const LOOK: Duration = Duration::from_millis(10);

/// The kernel's ticks per second in `/proc`: fixed at 100 for programs, whatever it uses inside.
const TICKS: u64 = 100;

/// To all of the group. One that has ended meanwhile needs none.
pub(super) fn signal(leader: u32, signal: Signal) {
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

/// Waits until nobody is left of a group but its leader, or the time is over.
pub(super) fn wait_for_others(leader: u32, until: Option<Instant>) {
    while until.is_some_and(|until| Instant::now() < until) && has_others(leader) {
        thread::sleep(LOOK);
    }
}

fn has_others(leader: u32) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return false;
    };
    let numbers = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|number| *number != leader)
        .filter_map(Stat::of)
        .any(|stat| stat.group == leader && !stat.is_dead)
}

/// What `/proc` says of a process.
pub(crate) struct Stat {
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// Ended, and not reaped.
    pub(crate) is_dead: bool,
    ticks: u64,
}

impl Stat {
    pub(crate) fn of(number: u32) -> Option<Stat> {
        let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // The name stands in brackets and may hold anything, brackets too.
        let (_, fields) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Stat {
            parent: number(1)? as u32,
            group: number(2)? as u32,
            is_dead: matches!(*fields.first()?, "Z" | "X"),
            // Its own, and that of its children it has waited for.
            ticks: (11..15).filter_map(number).sum(),
        })
    }
}

/// Processor time of a process that has ended and has not been reaped.
pub(super) fn cpu_time(process: u32) -> Option<Duration> {
    let ticks = Stat::of(process)?.ticks;
    Some(Duration::from_millis(ticks * 1_000 / TICKS))
}
