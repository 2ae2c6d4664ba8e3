//! A queue in blocks: grows without copying what it holds, gives memory back block by block, and every item stays at its
//! place.

use std::collections::VecDeque;

/// Items of a block. Whoever works in pieces takes one block at a time: this bounds the piece.
pub(super) const BLOCK: usize = 128;

#[derive(Debug)]
pub(super) struct Blocks<T> {
    blocks: VecDeque<Vec<T>>,
    /// The number of the first block: as many were taken before it.
    first: u32,
}

/// Where an item lies, as long as its block was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) block: u32,
    pub(super) offset: u16,
}

impl<T> Blocks<T> {
    pub(super) const fn new() -> Self {
        Blocks {
            blocks: VecDeque::new(),
            first: 0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) -> Spot {
        let offset = match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK => {
                block.push(item);
                block.len() - 1
            }
            // A short queue pays for what it holds, a long one for whole blocks.
            None => {
                self.blocks.push_back(vec![item]);
                0
            }
            Some(_) => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(item);
                self.blocks.push_back(block);
                0
            }
        };
        Spot {
            block: self.first.wrapping_add(self.blocks.len() as u32 - 1),
            offset: offset as u16,
        }
    }

    #[inline]
    pub(super) fn at(&mut self, spot: Spot) -> &mut T {
        &mut self.blocks[spot.block.wrapping_sub(self.first) as usize][usize::from(spot.offset)]
    }

    pub(super) fn first(&self) -> Option<&[T]> {
        self.blocks.front().map(Vec::as_slice)
    }

    pub(super) fn take_first(&mut self) -> Option<Vec<T>> {
        let block = self.blocks.pop_front()?;
        self.first = self.first.wrapping_add(1);
        if self.blocks.is_empty() {
            self.blocks = VecDeque::new();
        } else if self.blocks.capacity() > 32 && self.blocks.len() < self.blocks.capacity() / 4 {
            self.blocks.shrink_to(self.blocks.len() * 2);
        }
        Some(block)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten()
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn footprint(&self) -> usize {
        let items: usize = self.blocks.iter().map(Vec::capacity).sum();
        self.blocks.capacity() * size_of::<Vec<T>>() + items * size_of::<T>()
    }
}
