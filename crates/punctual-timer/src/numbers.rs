//! Numbers of near timers, and which of them were removed.
//!
//! In: a timer that has come near, or that is removed there. Out: its number, and a bit that says "gone". The items of
//! [`near`](super::near) are moved about by sorting, so a removed timer cannot take its item with it; and what the item
//! leads to may be freed. So the item stays, its bit says that it stands for nothing, and its number is given out again
//! when the item has left, not before: no item is ever taken for another's.

#[derive(Debug)]
pub(super) struct Numbers {
    /// One bit for each number that was made.
    gone: Vec<u64>,
    /// Numbers that no item has.
    free: Vec<u32>,
    made: u32,
}

/// Capacity that stays while no item has a number, so that one timer that comes and goes does not allocate each time.
const KEPT: usize = 1024;

impl Numbers {
    pub(super) const fn new() -> Self {
        Numbers {
            gone: Vec::new(),
            free: Vec::new(),
            made: 0,
        }
    }

    /// A number that no item has.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        if let Some(number) = self.free.pop() {
            return number;
        }
        let number = self.made;
        self.made = number
            .checked_add(1)
            .expect("fewer than 2^32 timers in one queue");
        if number.is_multiple_of(64) {
            self.gone.push(0);
        }
        number
    }

    /// The timer with this number was removed.
    #[inline]
    pub(super) fn remove(&mut self, number: u32) {
        debug_assert!(!self.is_gone(number), "a timer is removed once");
        self.gone[number as usize / 64] |= 1 << (number % 64);
    }

    #[inline]
    pub(super) fn is_gone(&self, number: u32) -> bool {
        self.gone[number as usize / 64] & 1 << (number % 64) != 0
    }

    /// The item with this number has left.
    #[inline]
    pub(super) fn give_back(&mut self, number: u32) {
        self.gone[number as usize / 64] &= !(1 << (number % 64));
        self.free.push(number);
        if self.free.len() == self.made as usize {
            self.begin_anew();
        }
    }

    /// No item has a number.
    #[cold]
    fn begin_anew(&mut self) {
        self.made = 0;
        self.free.clear();
        self.gone.clear();
        self.free.shrink_to(KEPT);
        self.gone.shrink_to(KEPT / 64);
    }

    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        self.gone.capacity() * size_of::<u64>() + self.free.capacity() * size_of::<u32>()
    }
}
