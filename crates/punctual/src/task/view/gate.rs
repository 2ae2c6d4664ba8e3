//! What stands under a view's lock: its slots, its line, and who holds a lane.
//!
//! In: tasks that want a slot, and tasks that give one back, one gate at a time. Out: counts that a reading of the view is made
//! of. Which task goes where is the [view](super)'s business.

use super::line::Line;
use super::{Kind, Left, View};
use crate::sync::unmodelled::Relaxed;
use crate::task::block::Entry;
use crate::time::Tick;

/// Under a view's lock.
pub(super) struct Gate {
    pub(super) line: Line,
    /// Tasks that left after a run.
    pub(super) ran: u64,
    /// The latest arrival that was noted.
    pub(super) noted: Tick,
    /// Of a lane, the address of the task that has the slot, which lives while it stands here.
    pub(super) mark: u64,
    pub(super) slots: u32,
    /// Entries in the line whose task has been claimed; may be too many, when gates stand behind each other.
    pub(super) dead: u32,
}

impl Gate {
    /// Tasks that have not begun.
    pub(super) fn waiting(&self, view: &View) -> usize {
        // A run is counted as taken before, and as left under this lock: never negative.
        let begun = view.taken.load(Relaxed).saturating_sub(self.ran);
        (view.present.load(Relaxed) as usize).saturating_sub(begun as usize)
    }

    pub(super) fn hold(&mut self, view: &View, entry: &Entry) {
        if view.kind == Kind::Lane {
            self.mark = entry.pointer().as_ptr().expose_provenance() as u64;
        }
    }

    pub(super) fn clear(&mut self, view: &View) {
        if view.kind == Kind::Lane {
            self.mark = 0;
        }
    }

    pub(super) fn tell(&self, view: &View) -> Left {
        if view.watchers.load(Relaxed) > 0 {
            Left::Tell
        } else {
            Left::Nothing
        }
    }
}
