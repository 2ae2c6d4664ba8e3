//! What was changed through the dashboard, by whom and with what outcome: a bounded list, newest last.

use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Older entries are forgotten; an attacker who holds the token could push them out, and has the token.
const KEPT: usize = 500;

/// One change that was asked for with a good token.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    /// The address it came from, where it is known.
    pub(crate) from: String,
    pub(crate) action: &'static str,
    pub(crate) pool: String,
    /// The task or schedule, if it is about one.
    pub(crate) what: String,
    pub(crate) outcome: String,
    pub(crate) done: bool,
}

#[derive(Debug, Default)]
struct List {
    entries: VecDeque<Entry>,
    count: u64,
    refused: u64,
}

/// The list.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    list: Mutex<List>,
}

impl Audit {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, mut entry: Entry) {
        let mut list = self.list();
        list.count += 1;
        entry.number = list.count;
        if list.entries.len() == KEPT {
            list.entries.pop_front();
        }
        list.entries.push_back(entry);
    }

    /// A change that the rules of access refused: counted, not listed, so that strangers cannot fill the list.
    pub(crate) fn note_refused(&self) {
        self.list().refused += 1;
    }

    /// Entries after `number`, and how many changes were refused.
    pub(crate) fn since(&self, number: u64) -> (Vec<Entry>, u64) {
        let list = self.list();
        let newer = list.entries.iter().filter(|entry| entry.number > number);
        (newer.cloned().collect(), list.refused)
    }
}

pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            number: 0,
            time: 0,
            from: String::new(),
            action: "pause",
            pool: "p".into(),
            what: String::new(),
            outcome: "paused".into(),
            done: true,
        }
    }

    #[test]
    fn the_list_is_bounded_and_numbered() {
        let audit = Audit::default();
        for _ in 0..KEPT + 7 {
            audit.note(entry());
        }
        let (all, _) = audit.since(0);
        assert_eq!(all.len(), KEPT);
        assert_eq!((all[0].number, all[KEPT - 1].number), (8, KEPT as u64 + 7));
        assert_eq!(audit.since(KEPT as u64 + 5).0.len(), 2);
    }
}
