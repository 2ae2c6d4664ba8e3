//! [`PriorityQueue`]: the settings of a queue with levels.
//!
//! In: how many levels, and one of three rules. Out: a [`Discipline`], or an error that names the setting. What the rules
//! promise is argued in [`rules`](super::rules).

use super::rules::{Aging, LEVELS, Rule, Shares};
use super::{Capacity, Queue};
use crate::{ConfigError, Priority};
use std::time::Duration;

/// Levels of a queue that was not told otherwise: those with a name.
const DEFAULT_LEVELS: usize = 4;

/// The step of a queue that was given no rule.
const DEFAULT_STEP: Duration = Duration::from_secs(1);

/// A queue with levels, made by [`Queue::priority`]. A worker takes the oldest task of one level; which, says one of three
/// rules. Unless another is chosen it is aging with a step of one second.
///
/// | rule | which level is served | starvation |
/// | --- | --- | --- |
/// | [`strict`](PriorityQueue::strict) | the most urgent that holds a task | possible |
/// | [`aging`](PriorityQueue::aging) | who waits rises by a level per step | ends after `level * step` |
/// | [`shares`](PriorityQueue::shares) | each in proportion to its weight | none with a weight above 0 |
///
/// ```
/// use punctual::{Pool, Queue};
/// use std::time::Duration;
///
/// let queue = Queue::priority(10_000).aging(Duration::from_millis(50));
/// let pool = Pool::builder("orders").core_threads(2).queue(queue).build()?;
///
/// let two_rules = Queue::priority(10_000).strict().shares([50, 30, 15, 5]);
/// assert!(Pool::builder("orders").queue(two_rules).build().is_err());
/// # Ok::<(), punctual::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a queue does nothing until a pool is built with it"]
pub struct PriorityQueue {
    capacity: Capacity,
    settings: Settings,
    steals: bool,
}

/// What was asked for, unchecked.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    levels: usize,
    strict: bool,
    aging: Option<Duration>,
    shares: Option<Vec<u32>>,
}

/// How a room serves its levels.
#[derive(Debug, Clone)]
pub(crate) struct Discipline {
    /// From 1 to [`LEVELS`].
    pub(crate) levels: usize,
    pub(crate) rule: Rule,
    /// The share of each level, as a part of 1; empty where the rule is another.
    pub(crate) targets: Vec<f64>,
}

/// How a queue is read: a worker's loop is compiled for each, so that none looks at what another needs.
pub(crate) mod kind {
    pub(crate) const PLAIN: u8 = 0;
    pub(crate) const STRICT: u8 = 1;
    pub(crate) const AGING: u8 = 2;
    pub(crate) const SHARES: u8 = 3;
    /// One of those with levels.
    pub(crate) const ANY: u8 = 4;
}

impl Discipline {
    pub(crate) fn kind(&self) -> u8 {
        match self.rule {
            Rule::Strict => kind::STRICT,
            Rule::Aging(_) => kind::AGING,
            Rule::Shares(_) => kind::SHARES,
        }
    }

    pub(super) fn is_aging(&self) -> bool {
        matches!(self.rule, Rule::Aging(_))
    }

    pub(crate) fn is_strict(&self) -> bool {
        matches!(self.rule, Rule::Strict)
    }

    /// How long a task waits before it counts as one of the next level; `None` where waiting does not count.
    pub(crate) fn step(&self) -> Option<Duration> {
        match &self.rule {
            Rule::Aging(aging) => Some(aging.delay(1)),
            Rule::Strict | Rule::Shares(_) => None,
        }
    }
}

impl PriorityQueue {
    pub(super) fn new(capacity: Capacity) -> Self {
        PriorityQueue {
            capacity,
            settings: Settings {
                levels: DEFAULT_LEVELS,
                strict: false,
                aging: None,
                shares: None,
            },
            steals: false,
        }
    }

    /// How many levels there are, from 1 to 8. Default: 4. A less urgent [`Priority`] than the last level's means that one.
    pub fn levels(mut self, n: usize) -> Self {
        self.settings.levels = n;
        self
    }

    /// The most urgent level that holds a task is served, whatever waits in the others, and for however long.
    pub fn strict(mut self) -> Self {
        self.settings.strict = true;
        self
    }

    /// A task counts as one level more urgent for each `step` it has waited. So once a task of level `l` has waited for
    /// `l * step`, nothing submitted after it is taken before it. The system's coarse
    /// clock measures the wait: a task may count so one tick of it (1 to 10 ms) early or late. A manual clock is exact. The
    /// default, with a step of one second.
    pub fn aging(mut self, step: Duration) -> Self {
        self.settings.aging = Some(step);
        self
    }

    /// Each level that holds tasks is picked in proportion to its weight, the most urgent level's first: over any 1000
    /// picks within five percent. What a level does not use goes to the others in proportion. A level of weight 0 is
    /// served when no other holds a task.
    pub fn shares(mut self, weights: impl Into<Vec<u32>>) -> Self {
        self.settings.shares = Some(weights.into());
        self
    }

    /// What a task of [`Priority::NORMAL`] submits to its own pool at that priority goes to a deque of its worker, as in
    /// [`Queue::stealing`]. All other tasks wait in their levels. A worker looks at the more urgent levels before each task
    /// that it takes from its deque, so such a task waits for those that run already and for no other; less urgent ones wait
    /// for their level's turn, which comes when the deque is empty, and at every 64th turn.
    ///
    /// ```
    /// use punctual::{Capacity, Pool, Queue};
    /// let queue = Queue::priority(Capacity::Unbounded).strict().stealing();
    /// let pool = Pool::builder("orders").core_threads(2).queue(queue).build()?;
    /// # Ok::<(), punctual::ConfigError>(())
    /// ```
    pub fn stealing(mut self) -> Self {
        self.steals = true;
        self
    }

    /// The longest wait of a task of `level` that finds `ahead` others waiting: in its own level, and under aging in all of
    /// them. `None`: the rule sets no bound (a level that strict rules or a weight of 0 may starve), or the settings are
    /// wrong. `threads` workers do nothing but serve this queue, and `mean_run` is the mean run of what they take meanwhile.
    ///
    /// ```text
    /// wait <= delay + mean_run * (before + threads) / threads
    ///
    /// strict, level 0    delay = 0               before = ahead
    /// aging, level l     delay = l * step        before = ahead
    /// shares, weight w   delay = 0               before = ahead + the sum of 1 + (ahead + 1) * v / w over the other weights v
    /// ```
    ///
    /// ```
    /// use punctual::{Priority, Queue};
    /// use std::time::Duration;
    ///
    /// let ms = Duration::from_millis;
    /// let queue = Queue::priority(1_000).aging(ms(50));
    /// // Three steps, then the 9 before it and what is running, on 2 threads.
    /// assert_eq!(queue.wait_bound(Priority::LOW, 9, ms(2), 2), Some(ms(150 + 11)));
    /// assert_eq!(Queue::priority(1_000).strict().wait_bound(Priority::LOW, 9, ms(2), 2), None);
    /// ```
    #[must_use]
    pub fn wait_bound(
        &self,
        level: Priority,
        ahead: usize,
        mean_run: Duration,
        threads: usize,
    ) -> Option<Duration> {
        let discipline = self.settings.check().ok()?;
        discipline
            .rule
            .wait_bound(discipline.level_of(level), ahead, mean_run, threads)
    }
}

impl From<PriorityQueue> for Queue {
    fn from(queue: PriorityQueue) -> Self {
        Queue {
            capacity: queue.capacity,
            levels: Some(queue.settings),
            steals: queue.steals,
        }
    }
}

impl Settings {
    pub(crate) fn check(&self) -> Result<Discipline, ConfigError> {
        if self.levels == 0 || self.levels > LEVELS {
            return Err(ConfigError::new(
                "levels",
                self.levels,
                format!("a priority queue has 1 to {LEVELS} levels"),
                "give a number in that range, or use a queue without levels",
            ));
        }
        let chosen = [
            self.strict.then(|| "strict()".to_owned()),
            self.aging.map(|step| format!("aging({step:?})")),
            self.shares.as_ref().map(|weights| format!("shares({weights:?})")),
        ];
        let chosen: Vec<String> = chosen.into_iter().flatten().collect();
        if chosen.len() > 1 {
            return Err(ConfigError::new(
                "queue",
                chosen.join(" and "),
                "strict, aging and shares are one choice: a queue has one rule",
                "keep one of them",
            ));
        }
        let mut targets = Vec::new();
        let rule = if self.strict {
            Rule::Strict
        } else if let Some(weights) = &self.shares {
            let shares = Shares::new(weights, self.levels)?;
            let sum: f64 = weights.iter().copied().map(f64::from).sum();
            targets = weights.iter().map(|weight| f64::from(*weight) / sum).collect();
            Rule::Shares(shares)
        } else {
            Rule::Aging(Aging::new(self.aging.unwrap_or(DEFAULT_STEP))?)
        };
        Ok(Discipline {
            levels: self.levels,
            rule,
            targets,
        })
    }
}

impl Discipline {
    /// The level of a task with this priority.
    pub(crate) fn level_of(&self, priority: Priority) -> usize {
        usize::from(priority.number()).min(self.levels - 1)
    }
}
