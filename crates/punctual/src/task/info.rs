//! What hooks and reports are told about a task: plain data.
//!
//! In: a running or ending task. Out: [`TaskInfo`], [`Outcome`], [`Priority`]. Nothing here acts.

use std::any::Any;
use std::fmt;

/// A task as a hook sees it.
#[non_exhaustive]
#[derive(Debug)]
pub struct TaskInfo<'a> {
    /// Unique in the process; says nothing about order.
    pub id: u64,
    /// The name given with [`TaskBuilder::name`](crate::TaskBuilder::name).
    pub name: Option<&'a str>,
    /// The closure's type, which names the function it was written in.
    pub type_name: &'static str,
    /// The priority it was submitted with.
    pub priority: Priority,
}

impl TaskInfo<'_> {
    /// The name, or the type for want of one.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.unwrap_or(self.type_name)
    }
}

/// How a task ended, as a hook sees it.
#[non_exhaustive]
pub enum Outcome<'a> {
    /// It returned.
    Finished,
    /// It panicked, with this payload.
    Panicked(&'a (dyn Any + Send)),
    /// It was cancelled: before it started, or while it ran.
    Cancelled,
    /// It waited longer than it was meant to.
    Expired,
    /// It was thrown out of a full queue for another.
    Evicted,
}

impl fmt::Debug for Outcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Finished => f.write_str("Finished"),
            Outcome::Panicked(payload) => write!(f, "Panicked({})", panic_text(*payload)),
            Outcome::Cancelled => f.write_str("Cancelled"),
            Outcome::Expired => f.write_str("Expired"),
            Outcome::Evicted => f.write_str("Evicted"),
        }
    }
}

/// The text a panic was raised with, as far as it has one.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "a payload that is no text"
    }
}

/// How urgent a task is: 0 is the most urgent. `Ord`: more urgent is greater.
///
/// ```
/// use punctual::Priority;
/// assert!(Priority::URGENT > Priority::LOW);
/// assert_eq!(Priority::level(2), Priority::NORMAL);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Priority(u8);

impl Priority {
    /// Level 0.
    pub const URGENT: Self = Self(0);
    /// Level 1.
    pub const HIGH: Self = Self(1);
    /// Level 2, the default.
    pub const NORMAL: Self = Self(2);
    /// Level 3.
    pub const LOW: Self = Self(3);

    /// Level `n`; larger values than the queue has levels mean its last one.
    #[must_use]
    pub const fn level(n: u8) -> Self {
        Self(n)
    }

    /// The number of the level, 0 the most urgent.
    ///
    /// ```
    /// assert_eq!(punctual::Priority::LOW.number(), 3);
    /// ```
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl Ord for Priority {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.cmp(&self.0)
    }
}

impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
