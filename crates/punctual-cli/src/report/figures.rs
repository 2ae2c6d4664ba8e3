//! The arithmetic of a report: quantiles, levels, utilisation, the critical path, sizes from what was measured.

use crate::batch::record::{Done, Fate};
use crate::file::plan::Work;
use std::time::Duration;

/// The words for the first four levels.
const WORDS: [&str; 4] = ["urgent", "high", "normal", "low"];

/// Fewer tasks than these say little about a size.
const FEW: usize = 10;

pub(crate) fn level_name(level: usize) -> String {
    WORDS
        .get(level)
        .map_or_else(|| format!("level {level}"), |word| (*word).to_owned())
}

/// The smallest that at least this part is not above.
pub(crate) fn quantile(sorted: &[Duration], part: f64) -> Option<Duration> {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// One level of one pool.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    pub(crate) level: usize,
    pub(crate) succeeded: usize,
    pub(crate) failed: usize,
    /// Sorted.
    pub(crate) waits: Vec<Duration>,
    /// Sorted.
    pub(crate) runs: Vec<Duration>,
    /// Tasks that waiting made more urgent.
    pub(crate) promoted: u64,
    /// What it got of all that was taken, and what it was to get.
    pub(crate) shares: Option<(f64, f64)>,
}

/// The levels of a pool that had a task.
pub(crate) fn levels(done: &Done, pool: usize) -> Vec<Level> {
    let stats = &done.pools[pool].stats;
    let mut levels: Vec<Level> = (0..8)
        .map(|level| Level {
            level,
            succeeded: 0,
            failed: 0,
            waits: Vec::new(),
            runs: Vec::new(),
            promoted: stats.levels.get(level).map_or(0, |level| level.promoted),
            shares: stats
                .levels
                .get(level)
                .and_then(|level| Some((level.share_actual?, level.share_target?))),
        })
        .collect();
    for (task, record) in done.batch() {
        let plan = &done.plan.tasks[task];
        if plan.pool != pool {
            continue;
        }
        let level = &mut levels[plan.level.min(7)];
        match record.fate {
            Fate::Succeeded => level.succeeded += 1,
            Fate::Failed(_) => level.failed += 1,
            _ => {}
        }
        level.waits.extend(&record.waits);
        let runs = record.attempts.iter();
        level
            .runs
            .extend(runs.map(|attempt| attempt.ended - attempt.started));
    }
    levels.retain(|level| !level.runs.is_empty() || level.succeeded + level.failed > 0);
    for level in &mut levels {
        level.waits.sort_unstable();
        level.runs.sort_unstable();
    }
    levels
}

/// The part of the pool's thread time, at its largest size, in which it had something to do.
pub(crate) fn utilisation(done: &Done, pool: usize) -> f64 {
    let busy: Duration = attempts(done, pool).map(|(took, _)| took).sum();
    let threads = done.pools[pool].stats.largest.max(1) as f64;
    let all = done.took.as_secs_f64() * threads;
    if all > 0.0 {
        (busy.as_secs_f64() / all).min(1.0)
    } else {
        0.0
    }
}

/// How long each attempt took, and its processor time.
fn attempts(done: &Done, pool: usize) -> impl Iterator<Item = (Duration, Option<Duration>)> {
    let of_pool = done
        .batch()
        .filter(move |(task, _)| done.plan.tasks[*task].pool == pool);
    let attempts = of_pool.flat_map(|(_, record)| &record.attempts);
    attempts.map(|attempt| (attempt.ended - attempt.started, attempt.cpu))
}

/// What the tasks' own times say about a pool's size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sizing {
    pub(crate) tasks: usize,
    /// Waiting divided by computing.
    pub(crate) ratio: f64,
    pub(crate) cores: usize,
    pub(crate) threads: usize,
}

/// `cores * (1 + waiting / computing)`, from the processor time of the commands themselves: a worker that waits for its child
/// waits, but the child may compute. For tasks that run on the workers themselves the library knows better: it leaves out
/// the time in which a thread was ready and had no processor. Nothing, if too few were measured.
pub(crate) fn sizing(done: &Done, pool: usize, cores: usize) -> Option<Sizing> {
    let mut tasks = done
        .batch()
        .filter(|(task, _)| done.plan.tasks[*task].pool == pool);
    if !tasks.any(|(task, _)| matches!(done.plan.tasks[task].work, Work::Command(_))) {
        let advice = &done.pools[pool].advice;
        let (computing, waiting) = (advice.computing()?.as_secs_f64(), advice.waiting()?.as_secs_f64());
        return Some(Sizing {
            tasks: attempts(done, pool).count(),
            ratio: waiting / computing.max(1e-9),
            cores,
            threads: advice.threads()?,
        });
    }
    let measured: Vec<(Duration, Duration)> = attempts(done, pool)
        .filter_map(|(took, cpu)| Some((took, cpu?)))
        .collect();
    let took: f64 = measured.iter().map(|(took, _)| took.as_secs_f64()).sum();
    let computed: f64 = measured
        .iter()
        .map(|(took, cpu)| cpu.min(took).as_secs_f64())
        .sum();
    // The system counts in hundredths of a second.
    if measured.len() < FEW || computed < 0.05 {
        return None;
    }
    let ratio = (took - computed) / computed;
    Some(Sizing {
        tasks: measured.len(),
        ratio,
        cores,
        threads: ((cores as f64 * (1.0 + ratio)).round() as usize).max(1),
    })
}

/// One task of the critical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) task: usize,
    /// From the end of the one before to its own start.
    pub(crate) waited: Duration,
    pub(crate) ran: Duration,
}

/// From the task that ended last back to one that waited for nobody, each time to the one that ended last of those it waited
/// for.
pub(crate) fn critical_path(done: &Done) -> Vec<Link> {
    let end = |task: usize| done.tasks[task].span().map(|(_, end)| end);
    let last = done
        .batch()
        .filter_map(|(task, _)| Some((end(task)?, task)))
        .max();
    let mut path = Vec::new();
    let mut here = last.map(|(_, task)| task);
    while let Some(task) = here {
        let before = done.plan.tasks[task].after.iter();
        let before = before.filter_map(|before| Some((end(*before)?, *before))).max();
        let Some((start, ended)) = done.tasks[task].span() else {
            break;
        };
        let ready = before.map_or(done.began, |(end, _)| end);
        path.push(Link {
            task,
            waited: start.saturating_duration_since(ready),
            ran: ended - start,
        });
        here = before.map(|(_, task)| task);
    }
    path.reverse();
    path
}

/// What a task does, for people.
pub(crate) fn work(work: &Work) -> String {
    match work {
        Work::Command(command) => command.shown.clone(),
        Work::Sleep(length) => format!("sleep {}", crate::show::time(*length)),
        Work::Spin(length) => format!("spin {}", crate::show::time(*length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_there() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        for (part, milliseconds) in [(0.0, 1), (0.5, 50), (0.99, 99), (1.0, 100)] {
            assert_eq!(quantile(&times, part), Some(Duration::from_millis(milliseconds)));
        }
        assert_eq!(quantile(&times[..1], 0.99), Some(Duration::from_millis(1)));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn levels_have_words() {
        assert_eq!(level_name(0), "urgent");
        assert_eq!(level_name(6), "level 6");
    }
}
