//! Tasks of views that have a time: they come to their gates when it has come.
//!
//! In: entries out of the timers, under the book's lock. Out: each in the due room or in a line; or *unsettled*, to be ended when
//! that lock is free.

use super::{end_waiting_of, view_of};
use crate::pool::engine::Engine;
use crate::sync::unmodelled::Relaxed;
use crate::task::block::Entry;
use crate::task::view::{Coming, Step};

/// See [`Engine::enter_when_due`].
pub(in crate::pool) enum Unsettled {
    /// Its lane takes no tasks any more.
    Closed(Entry),
    /// It was claimed while it got its slots.
    Dead(Entry),
}

impl Engine {
    /// Whether a task that gets a time has a view that will take it. Under the book's lock, as a disposal looks there.
    pub(in crate::pool) fn is_kept_by_its_view(&self, entry: &Entry) -> bool {
        let Some(view) = entry.header().view() else {
            return true;
        };
        for view in view.chain() {
            view.had_delayed.store(true, Relaxed);
        }
        !view.is_closed()
    }

    /// Sets a task whose time has come on its way. Under the book's lock; what comes back must be settled without it.
    pub(in crate::pool) fn enter_when_due(&self, entry: Entry) -> Option<Unsettled> {
        let view = view_of(entry.header());
        // First: whoever removes it from here on finds it counted.
        let due = &self.timers.due;
        due.producers().put_aside(due, entry.header().class);
        if view.is_closed() {
            view.chain().for_each(|view| view.arrive());
            return Some(Unsettled::Closed(entry));
        }
        let coming = Coming {
            number: self.room.accepted_so_far(),
            is_new: true,
        };
        let Step::Passed(entry) = self.go_on(Some(&view), entry, coming) else {
            return None;
        };
        if !entry.header().state.unpark() {
            return Some(Unsettled::Dead(entry));
        }
        self.write_due(entry);
        None
    }

    /// Without a lock: what [`Engine::enter_when_due`] could not do.
    pub(in crate::pool) fn settle(&self, unsettled: Unsettled) {
        match unsettled {
            Unsettled::Closed(entry) => {
                // Its lane was disposed of.
                end_waiting_of(&entry);
                entry.let_go();
            }
            Unsettled::Dead(entry) => {
                let view = view_of(entry.header());
                self.move_on(|producers, wake| self.give_slots_back(producers, &view, None, wake));
                entry.let_go();
            }
        }
    }

    pub(super) fn write_due(&self, entry: Entry) {
        let due = &self.timers.due;
        let class = entry.header().class;
        let mut producers = due.producers();
        producers.push_surely(due, class, entry, true, &self.clock);
        producers.no_longer_aside(due, class);
    }
}
