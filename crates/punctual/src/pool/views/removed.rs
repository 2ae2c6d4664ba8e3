//! Tasks of views that leave without a run: claimed in a line, or taken out of it.
//!
//! In: tasks that somebody claimed to end them, and the lines of a pool that stops or of a lane that is disposed of. Out: their
//! slots, each to the next in line; or the entries, in the order in which they were accepted. Not here: whom a full pool
//! throws out ([`evicted`](super::evicted)).

#![allow(unsafe_code)]

use super::view_of;
use crate::handle::end_waiting;
use crate::pool::engine::Engine;
use crate::sync::Arc;
use crate::task::block::{Entry, Header};
use crate::task::home::Removal;
use crate::task::view::{Leaving, View};

/// A task that was taken out of a line, and the view whose line it was.
pub(in crate::pool) struct OutOfLine {
    pub(in crate::pool) number: u64,
    pub(in crate::pool) at: Arc<View>,
    pub(in crate::pool) entry: Entry,
}

impl Engine {
    /// A task that stands in a line was claimed, and stays there.
    pub(in crate::pool) fn lose_from_line(&self, view: &Arc<View>) {
        for crowded in view.chain().filter(|view| view.lose()) {
            self.move_on(|producers, wake| {
                for dead in crowded.sweep() {
                    self.drop_dead(producers, dead.entry, crowded, wake);
                }
            });
        }
    }

    /// A claimed task of a view will not be run: its slots go on if it had them. (Not if somebody runs it in place.)
    pub(crate) fn leaves_view_unrun(&self, task: &Header, how: Removal) {
        let view = view_of(task);
        let is_run = how == Removal::Joined;
        if task.state.load().is_parked() {
            self.lose_from_line(&view);
            if !is_run {
                self.leave_without_slots(&view, false);
            }
        } else if !is_run {
            self.release_slots(&view, Leaving::Unrun);
        }
    }

    /// A claimed task that is out of every line and queue will not be run: its slots go on if it had them.
    pub(in crate::pool) fn gone_from_view(&self, task: &Header) {
        if !task.class.is_viewed() {
            return;
        }
        let view = view_of(task);
        if task.state.load().is_parked() {
            self.leave_without_slots(&view, false);
        } else {
            self.release_slots(&view, Leaving::Unrun);
        }
    }

    /// Takes everybody out of all lines, in the order in which they were accepted, or came due. Under the producers' lock.
    pub(in crate::pool) fn clear_lines(&self) -> Vec<OutOfLine> {
        self.clear_lines_of(|_| true)
    }

    pub(in crate::pool) fn clear_lines_of(&self, is_wanted: impl Fn(&Arc<View>) -> bool) -> Vec<OutOfLine> {
        let mut all = Vec::new();
        for at in self.crowd.all().into_iter().filter(is_wanted) {
            all.extend(self.clear_line_of(&at));
        }
        all.sort_by_key(|each| each.number);
        all
    }

    pub(in crate::pool) fn clear_line_of(&self, at: &Arc<View>) -> impl Iterator<Item = OutOfLine> + use<> {
        let (line, at) = (at.clear_line(), at.clone());
        line.into_iter().map(move |parked| OutOfLine {
            number: parked.number,
            at: at.clone(),
            entry: parked.entry,
        })
    }

    /// What a task that was taken out of a line holds further in goes back.
    pub(in crate::pool) fn gives_back_inner(&self, task: &Header, at: &Arc<View>) {
        let own = view_of(task);
        if !Arc::ptr_eq(&own, at) {
            self.move_on(|producers, wake| self.give_slots_back(producers, &own, Some(at), wake));
        }
    }
}

/// Cancels a task whose entry is out of every line. False: somebody else has claimed it.
pub(in crate::pool) fn end_waiting_of(entry: &Entry) -> bool {
    // SAFETY: the entry is a share.
    unsafe { end_waiting(entry.pointer(), Removal::Cancelled) }
}
