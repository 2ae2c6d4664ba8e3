//! The pools that are shown, by number: names need not be unique, and may hold anything.

use crate::history::History;
use crate::timeline::Timeline;
use punctual::Control;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A page that cannot listen asks every two seconds, and sometimes one is lost; in milliseconds.
const POLLED: u64 = 6_000;

/// One pool, with what has been seen of it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) control: Control,
    seen: Mutex<Seen>,
    /// When somebody last asked for all of it, in milliseconds since 1970.
    asked: AtomicU64,
}

/// What has been seen of a pool.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) history: History,
    pub(crate) timeline: Timeline,
    /// For how long every worker has been busy and nothing has ended: busy is not the same as dead.
    pub(crate) stalled: Option<Duration>,
    /// Since when (milliseconds since 1970) the pool is not there any more.
    pub(crate) gone: Option<u64>,
}

impl Entry {
    pub(crate) fn name(&self) -> Arc<str> {
        self.control.name()
    }

    /// Somebody asks for all of it, not by a stream, and will again.
    pub(crate) fn ask(&self, now: u64) {
        self.asked.store(now, Relaxed);
    }

    /// Whether somebody who asks now and then did so lately.
    pub(crate) fn is_asked_for(&self, now: u64) -> bool {
        now.saturating_sub(self.asked.load(Relaxed)) < POLLED
    }

    /// Held for a few copies; nothing of the pool is asked meanwhile.
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The list.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    entries: Mutex<Vec<Arc<Entry>>>,
    last: AtomicU64,
}

impl Registry {
    fn entries(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, control: Control) -> u64 {
        let id = self.last.fetch_add(1, Relaxed) + 1;
        let entry = Entry {
            id,
            control,
            seen: Mutex::default(),
            asked: AtomicU64::new(0),
        };
        self.entries().push(Arc::new(entry));
        id
    }

    pub(crate) fn remove(&self, id: u64) -> bool {
        let mut entries = self.entries();
        let before = entries.len();
        entries.retain(|entry| entry.id != id);
        entries.len() < before
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<Entry>> {
        self.entries().iter().find(|entry| entry.id == id).cloned()
    }

    /// In the order in which they came.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        self.entries().clone()
    }
}
