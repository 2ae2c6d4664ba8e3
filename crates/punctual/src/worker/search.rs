//! The next task of the shared queue: what was put to the front, then by level; where there are no levels, the oldest.
//!
//! In: an engine. Out: a claimed task in the slot. Not here: due tasks, which go before ([`due`](super::due)), and deques: a worker
//! that has one mixes these looks with its own tasks and others', in the order that stands in [`steal`](super::steal).

use crate::pool::crew::Crew;
use crate::pool::engine::Engine;
use crate::queue::room::Taker;
use crate::task::record::Slot;

/// As [`search`], for a worker that knows what [`kind`](crate::queue::kind) of queue it is.
#[inline(always)]
pub(super) fn search_as<const KIND: u8>(engine: &Engine, slot: &mut Slot, taker: &mut Taker<'_>) -> bool {
    engine.room.pop_as::<KIND>(slot, taker, || engine.offer_room())
}

/// Moves the next task into the slot; false: nothing anywhere.
pub(super) fn search(engine: &Engine, slot: &mut Slot, taker: &mut Taker<'_>) -> bool {
    engine.room.pop(slot, taker, || engine.offer_room())
}

/// As [`search`], for a worker for which a place in the queue is kept; `None`: nothing, and it is still kept.
pub(super) fn first(engine: &Engine, slot: &mut Slot) -> Option<bool> {
    let found = engine.room.pop_first(slot, Crew::warm);
    engine.serve_line();
    found
}
