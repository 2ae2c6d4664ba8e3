//! The order in which a worker looks for its next task: one list, here.
//!
//! In: an engine. Out: a claimed task in the slot. Each source is a line; a new one is put where its urgency belongs:
//! express, due timers, the worker's own deque, the shared queue by level, then other workers' deques. A plain pool
//! has the shared queue.

use crate::pool::crew::Crew;
use crate::pool::engine::Engine;
use crate::task::record::Slot;

/// As [`search`], for a worker that knows what [`kind`](crate::queue::kind) of queue it is.
#[inline(always)]
pub(super) fn search_as<const KIND: u8>(engine: &Engine, slot: &mut Slot) -> bool {
    engine.room.pop_as::<KIND>(slot, || engine.offer_room())
}

/// Moves the next task into the slot; false: nothing anywhere.
pub(super) fn search(engine: &Engine, slot: &mut Slot) -> bool {
    engine.room.pop(slot, || engine.offer_room())
}

/// As [`search`], for a worker for which a place in the queue is kept; `None`: nothing, and it is still kept.
pub(super) fn first(engine: &Engine, slot: &mut Slot) -> Option<bool> {
    let found = engine.room.pop_first(slot, Crew::warm);
    engine.serve_line();
    found
}
