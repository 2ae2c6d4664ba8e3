//! [`Explanation`]: why a task waits, as data and as a sentence.
//!
//! In: facts about one task and its pool, read at one moment. Out: plain data, which may be old when it is read.

use crate::sync::Arc;
use std::fmt;
use std::time::Duration;

/// Why a task has not started yet, as far as its pool can tell: made by
/// [`TaskRef::explain`](crate::TaskRef::explain). Its `Display` is a sentence; with `{:#}` it also names what runs. Asking takes
/// some microseconds, however much waits: the counters of each worker are read, and the task is looked for among the first
/// thousand records at each end of its level, or of its view's line, while the locks of the queue are held.
///
/// ```
/// let pool = punctual::Pool::builder("web").core_threads(1).build()?;
/// let lane = pool.lane().named("orders");
/// let (hold, held) = std::sync::mpsc::channel::<()>();
/// lane.execute(move || drop(held.recv()))?;
/// let waiting = lane.submit(|| ())?;
/// let why = waiting.task_ref().explain();
/// assert_eq!(why.held_by(), Some("web/lane"));
/// println!("{why}"); // it waits: in the line of web/lane, ..
/// # drop(hold);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Explanation {
    pub(crate) place: Place,
    pub(crate) level: Option<usize>,
    pub(crate) effective_level: Option<usize>,
    pub(crate) at_most_before: Option<usize>,
    pub(crate) expected_start: Option<Duration>,
    /// Tasks that run, and threads that run them.
    pub(crate) active: usize,
    pub(crate) threads: usize,
    /// The names of some that run.
    pub(crate) running: Vec<Arc<str>>,
    /// It was given a priority, and the queue has no levels.
    pub(crate) ignores_priority: bool,
}

/// Where a task is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Its time comes in this long.
    Delayed(Duration),
    /// In the line of a view.
    Line {
        view: Arc<str>,
        queued: usize,
        active: usize,
    },
    Queue,
    /// In the queue, from which nothing is taken.
    Paused,
    Running,
    /// A future that has been polled, and waits to be woken.
    Suspended,
    Over,
}

impl Explanation {
    pub(crate) fn of(place: Place) -> Self {
        Explanation {
            place,
            level: None,
            effective_level: None,
            at_most_before: None,
            expected_start: None,
            active: 0,
            threads: 0,
            running: Vec::new(),
            ignores_priority: false,
        }
    }

    /// Of the tasks that wait now, at most so many start before it, unless somebody moves one of them or runs it in place. Near
    /// the beginning of its queue or line it is told by its place there, dead entries included; of those far behind all
    /// others are counted that could come first. `None`: it does not wait for a worker or a view.
    #[must_use]
    pub fn at_most_before(&self) -> Option<usize> {
        self.at_most_before
    }

    /// The level it waits in; `None` where the queue has no levels.
    #[must_use]
    pub fn level(&self) -> Option<usize> {
        self.level
    }

    /// The level it counts as by now: where the queue ages, the one it has come to by waiting. In the line of a view nobody
    /// ages. `None`: the queue has no levels, the task runs, or it is far behind in a level whose first has risen.
    #[must_use]
    pub fn effective_level(&self) -> Option<usize> {
        self.effective_level
    }

    /// The name of the view in whose line it stands.
    #[must_use]
    pub fn held_by(&self) -> Option<&str> {
        match &self.place {
            Place::Line { view, .. } => Some(view),
            _ => None,
        }
    }

    /// What the workers run, by name, or by type where a task has none: a few of them.
    #[must_use]
    pub fn running(&self) -> impl ExactSizeIterator<Item = &str> {
        self.running.iter().map(|name| &**name)
    }

    /// In how long it starts, if those before it take as long as tasks took on average: on the threads of its own part of the
    /// pool, and, in the line of a view, on as many as the view may have. `None`: there is no telling.
    #[must_use]
    pub fn expected_start(&self) -> Option<Duration> {
        self.expected_start
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Over => return f.write_str("it is over"),
            Place::Running => return f.write_str("it runs"),
            Place::Suspended => return f.write_str("it is suspended: it waits to be woken"),
            Place::Delayed(left) => return write!(f, "its time comes in {left:?}"),
            Place::Paused => f.write_str("it waits: the pool is paused")?,
            Place::Queue => f.write_str("it waits for a worker")?,
            Place::Line { view, queued, active } => write!(
                f,
                "it waits: in the line of {view}, of which {active} run and {queued} wait"
            )?,
        }
        write!(f, "; {} tasks run on {} threads", self.active, self.threads)?;
        if f.alternate() && !self.running.is_empty() {
            let more = if self.running.len() < self.active {
                ", .."
            } else {
                ""
            };
            write!(f, " ({}{more})", self.running.join(", "))?;
        }
        if let Some(level) = self.level {
            write!(f, "; its level is {level}")?;
        }
        if let Some(effective) = self
            .effective_level
            .filter(|effective| Some(*effective) != self.level)
        {
            write!(f, ", and by its age {effective}")?;
        }
        if self.ignores_priority {
            f.write_str("; its priority counts for nothing, the queue has no levels")?;
        }
        if let Some(before) = self.at_most_before {
            write!(f, "; at most {before} of those that wait now start before it")?;
        }
        match self.expected_start {
            Some(start) => write!(f, "; it should start within about {start:.1?}"),
            None => Ok(()),
        }
    }
}
