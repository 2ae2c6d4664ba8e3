//! Running tasks as others see them: their tokens, and whose time is measured.
//!
//! In: a task that begins, with its [`Limits`]. Out: for whoever looks, what has run too long, and when to look again.
//! Each worker has one [`Visible`]; a pool that stops reads the tokens, its watchdog the rest. Not here: who looks
//! ([`pool::watch`](crate::pool)).

use super::shown::Stage;
use super::{Frame, Priority, TaskInfo, Token, contain};
use crate::sync::Lock;
use crate::time::{Tick, deadline_after};
use std::time::Duration;

/// How long a task may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Limits {
    /// Then its token fires.
    pub(crate) time_limit: Option<Duration>,
    /// Then a hook is told.
    pub(crate) slow_after: Option<Duration>,
}

impl Limits {
    pub(crate) fn is_none(self) -> bool {
        self == Limits::default()
    }

    /// A task's own, and where it has none its pool's.
    pub(super) fn or(self, pool: Limits) -> Limits {
        Limits {
            time_limit: self.time_limit.or(pool.time_limit),
            slow_after: self.slow_after.or(pool.slow_after),
        }
    }
}

/// What others may see of the tasks a thread runs, one inside the other.
#[derive(Debug)]
pub(crate) struct Visible {
    /// Of those that anybody asked for.
    pub(crate) tokens: Lock<Vec<Token>>,
    watched: Lock<Vec<Watched>>,
    /// The tasks themselves. (Not of guests, who are several.)
    pub(crate) stage: Stage,
}

/// A running task whose time is measured.
#[derive(Debug)]
struct Watched {
    /// Whose: a frame runs one task at a time.
    frame: usize,
    task: Facts,
    began: Tick,
    limit: Option<(Tick, Token)>,
    slow: Option<Tick>,
    /// It was.
    is_slow: bool,
}

/// A [`TaskInfo`] of one's own.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    id: u64,
    name: Option<String>,
    type_name: &'static str,
    priority: Priority,
}

impl Facts {
    pub(crate) fn of(task: &TaskInfo<'_>) -> Self {
        Facts {
            id: task.id,
            name: task.name.map(str::to_owned),
            type_name: task.type_name,
            priority: task.priority,
        }
    }

    pub(crate) fn info(&self) -> TaskInfo<'_> {
        TaskInfo {
            id: self.id,
            name: self.name.as_deref(),
            type_name: self.type_name,
            priority: self.priority,
        }
    }
}

/// What a look found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Of tasks beyond their limit.
    pub(crate) over: Vec<Token>,
    /// Tasks that are slow, and for how long they have run.
    pub(crate) slow: Vec<(Facts, Duration)>,
    /// When the next of either comes.
    pub(crate) next: Option<Tick>,
}

impl Found {
    /// Something else is to be looked at then.
    pub(crate) fn or_at(&mut self, when: Tick) {
        self.next = Some(self.next.map_or(when, |next| next.min(when)));
    }
}

impl Visible {
    pub(crate) fn new() -> Self {
        Visible {
            tokens: Lock::new(Vec::new()),
            watched: Lock::new(Vec::new()),
            stage: Stage::new(),
        }
    }

    /// Tells each overstepped limit once.
    pub(crate) fn look(&self, now: Tick, found: &mut Found) {
        for task in &mut *self.watched.lock() {
            if let Some((_, token)) = task.limit.take_if(|(limit, _)| *limit <= now) {
                found.over.push(token);
            }
            if task.slow.take_if(|slow| *slow <= now).is_some() {
                task.is_slow = true;
                let ran = Duration::from_nanos(now.saturating_sub(task.began));
                found.slow.push((task.task.clone(), ran));
            }
            let next = task.limit.iter().map(|(limit, _)| *limit).chain(task.slow);
            next.for_each(|next| found.or_at(next));
        }
    }
}

impl Visible {
    /// How many were found to be slow.
    pub(crate) fn slow(&self) -> usize {
        self.watched.lock().iter().filter(|task| task.is_slow).count()
    }
}

/// While this lives, the running task's time is measured.
pub(crate) struct Watching<'a>(&'a Frame<'a>);

impl<'a> Frame<'a> {
    /// Measures the running task's time until the answer is dropped.
    pub(super) fn watch(&'a self, limits: Limits) -> Watching<'a> {
        let began = self.clock().tick();
        let limit = limits
            .time_limit
            .and_then(|limit| Some((deadline_after(began, limit)?, self.token())));
        let slow = limits.slow_after.and_then(|slow| deadline_after(began, slow));
        let first = limit.iter().map(|(limit, _)| *limit).chain(slow).min();
        self.visible().watched.lock().push(Watched {
            frame: std::ptr::from_ref(self).addr(),
            task: Facts::of(&self.info()),
            began,
            limit,
            slow,
            is_slow: false,
        });
        if let (Some(first), Some(home)) = (first, self.home().upgrade()) {
            home.look_at(first);
        }
        Watching(self)
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let frame = std::ptr::from_ref(self.0).addr();
        let mut watched = self.0.visible().watched.lock();
        let mine = watched.iter().rposition(|each| each.frame == frame);
        let mine = mine.map(|index| watched.remove(index));
        drop(watched);
        // The last owner of a token drops wakers.
        contain(|| drop(mine));
    }
}
