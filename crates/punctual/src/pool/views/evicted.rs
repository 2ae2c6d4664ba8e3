//! Whom a full pool throws out for a new task, if some of those that wait stand in lines.
//!
//! In: how urgent the new one is. Out: the task that goes, claimed, and its place reserved. What lies in the queue is compared with
//! what stands in lines; the choice inside the queue is the [room](crate::queue)'s.

use super::LINES_SEEN;
use crate::pool::engine::Engine;
use crate::sync::Arc;
use crate::task::block::Header;
use crate::task::home::Removal;
use crate::task::record::Slot;
use crate::task::state::Claim;
use crate::task::view::View;
use crate::time::Tick;

/// A task in a line that others are worth more than.
struct LastInLine {
    at: Arc<View>,
    level: usize,
    arrived: Tick,
}

impl Engine {
    /// Throws a waiting task out and reserves its place for the caller. Without levels: the oldest of the queue, or, if there is
    /// none, of a view's line. With levels: the least urgent of both, of equally urgent ones the older, as far as their arrivals
    /// were noted. With `below`, one that is less urgent than that level.
    pub(in crate::pool) fn evict_for_its_place(&self, below: Option<usize>) -> Option<Slot> {
        let of_queue = |below| self.room.evict_for_its_place(below, &self.clock);
        if !self.room.is_levelled() {
            return of_queue(below).or_else(|| self.evict_from_line(&self.last_in_line(below)?));
        }
        let Some(last) = self.last_in_line(below) else {
            return of_queue(below);
        };
        let oldest = self.room.oldest_of_levels()[last.level];
        let is_queue_older = oldest.is_none_or(|oldest| oldest <= last.arrived);
        let bar = if is_queue_older {
            last.level.checked_sub(1)
        } else {
            Some(last.level)
        };
        of_queue(bar)
            .or_else(|| self.evict_from_line(&last))
            // A worker, or a canceller, was faster.
            .or_else(|| of_queue(below))
    }

    /// The least urgent of those in line that may be thrown out, and the oldest of these.
    fn last_in_line(&self, below: Option<usize>) -> Option<LastInLine> {
        let mut last: Option<LastInLine> = None;
        let level_of = |task: &Header| self.level_to_evict(task, below);
        for at in self.crowd.each(usize::MAX).take(LINES_SEEN) {
            if let Some((level, arrived)) = at.least_urgent(level_of)
                && last
                    .as_ref()
                    .is_none_or(|last| level > last.level || (level == last.level && arrived < last.arrived))
            {
                last = Some(LastInLine { at, level, arrived });
            }
        }
        last
    }

    /// The level of a task that may be thrown out for one of the level `below`. A due task holds no place.
    fn level_to_evict(&self, task: &Header, below: Option<usize>) -> Option<usize> {
        let level = self.room.level_of(task.class);
        let may_go = !task.class.is_timed() && below.is_none_or(|below| level > below);
        may_go.then_some(level)
    }

    fn evict_from_line(&self, last: &LastInLine) -> Option<Slot> {
        let mut producers = self.room.producers();
        let claim = |task: &Header| {
            self.level_to_evict(task, None) == Some(last.level) && task.state.claim_to_remove() == Claim::Won
        };
        let entry = last.at.take_first(claim)?;
        self.room.remove_aside(Removal::Evicted, last.level);
        producers.reserve();
        drop(producers);
        self.gives_back_inner(entry.header(), &last.at);
        Some(Slot::holding(entry.header().class, entry))
    }
}
