//! Places in the wheel whose timers were removed and that have not been emptied yet.
//!
//! In: the place of a timer that is being removed; its memory is asked for. Out: the place of an earlier one, to be emptied
//! now. The place is in another line of memory than the timer, and far away if there are many; to write it at once is to
//! wait for it, in the next atomic step at the latest. A few removals later it has come. Until then it holds a value that may be
//! gone: whoever reads places empties all of these first.

use super::blocks::Spot;

/// So many removals later a place is emptied. A guess: a removal takes about as long as a line from far away.
const LATER: usize = 8;

#[derive(Debug)]
pub(super) struct Holes {
    /// A ring: bucket and spot.
    places: [(u16, Spot); LATER],
    /// How many ever came, and how many of those were given out.
    came: u32,
    left: u32,
}

impl Holes {
    pub(super) const fn new() -> Self {
        Holes {
            places: [(0, Spot { block: 0, offset: 0 }); LATER],
            came: 0,
            left: 0,
        }
    }

    /// Notes a place; gives the oldest if there are too many.
    #[inline]
    pub(super) fn push(&mut self, bucket: u16, spot: Spot) -> Option<(u16, Spot)> {
        let is_full = self.came.wrapping_sub(self.left) == LATER as u32;
        let oldest = if is_full { self.pop() } else { None };
        self.places[self.came as usize % LATER] = (bucket, spot);
        self.came = self.came.wrapping_add(1);
        oldest
    }

    /// The oldest.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u16, Spot)> {
        if self.came == self.left {
            return None;
        }
        let oldest = self.places[self.left as usize % LATER];
        self.left = self.left.wrapping_add(1);
        Some(oldest)
    }
}
