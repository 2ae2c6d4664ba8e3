//! What the kernel knows of a process: resident size, context switches, CPU time. A process id in, numbers out, all
//! from `/proc` and its clock. Not here: deciding when to look.

use std::{collections::BTreeMap, fs, io, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// Resident bytes of this process.
pub(crate) fn resident_bytes() -> io::Result<u64> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    // The page size of every target this runs on by default; a wrong one would show as a factor in all rows alike.
    pages
        .map(|pages| pages * 4096)
        .ok_or_else(|| malformed("/proc/self/statm"))
}

/// CPU time this process has used up to now, by all its threads, also those that ended.
pub(crate) fn cpu_time() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// Switches and CPU time of every thread of a process at one moment.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    threads: BTreeMap<String, ThreadUsage>,
}

#[derive(Debug, Default, Clone, Copy)]
struct ThreadUsage {
    switches: u64,
    cpu_ns: u64,
}

impl Usage {
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
            let entry = entry?;
            // A thread may end between the listing and the reading; then it is simply not there.
            let (Ok(status), Ok(sched)) = (
                fs::read_to_string(entry.path().join("status")),
                fs::read_to_string(entry.path().join("schedstat")),
            ) else {
                continue;
            };
            let usage = ThreadUsage {
                switches: switches(&status),
                cpu_ns: first_number(&sched),
            };
            threads.insert(entry.file_name().to_string_lossy().into_owned(), usage);
        }
        Ok(Usage { threads })
    }

    /// Context switches and CPU microseconds from `earlier` to now. A thread that is new counts in full.
    pub(crate) fn since(&self, earlier: &Usage) -> (f64, f64) {
        let (mut switches, mut cpu_ns) = (0, 0);
        for (thread, now) in &self.threads {
            let before = earlier.threads.get(thread).copied().unwrap_or_default();
            switches += now.switches.saturating_sub(before.switches);
            cpu_ns += now.cpu_ns.saturating_sub(before.cpu_ns);
        }
        (switches as f64, cpu_ns as f64 / 1000.0)
    }

    /// The same per second.
    pub(crate) fn per_second_since(&self, earlier: &Usage, between: Duration) -> (f64, f64) {
        let ((switches, cpu), seconds) = (self.since(earlier), between.as_secs_f64());
        (switches / seconds, cpu / seconds)
    }
}

/// Voluntary and involuntary together: a wake-up is a switch, whoever asked for it.
fn switches(status: &str) -> u64 {
    status
        .lines()
        .filter_map(|line| line.split_once("ctxt_switches:"))
        .map(|(_, count)| first_number(count))
        .sum()
}

fn first_number(text: &str) -> u64 {
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}

fn malformed(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{path} has an unknown shape"))
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;

    #[test]
    fn both_kinds_of_switches_are_added() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(switches(status), 42);
        assert_eq!(switches("Name:\tx\n"), 0);
    }

    #[test]
    fn a_new_thread_counts_in_full_and_rates_are_per_second() {
        let one = |switches, cpu_ns| ThreadUsage { switches, cpu_ns };
        let before = Usage {
            threads: [("1".to_owned(), one(10, 1_000))].into(),
        };
        let after = Usage {
            threads: [("1".to_owned(), one(13, 5_000)), ("2".to_owned(), one(3, 2_000))].into(),
        };
        let (switches, cpu) = after.per_second_since(&before, Duration::from_secs(2));
        assert_eq!((switches, cpu), (3.0, 3.0));
        assert_eq!(after.since(&before), (6.0, 6.0));
    }

    #[test]
    fn this_process_is_readable() {
        assert!(resident_bytes().unwrap() > 0);
        assert!(!Usage::of(process::id()).unwrap().threads.is_empty());
    }
}
