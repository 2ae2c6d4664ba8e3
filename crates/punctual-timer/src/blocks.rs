//! A queue in blocks: grows without copying what it holds, and gives memory back block by block.

use std::collections::VecDeque;

/// Items of a block.
const BLOCK: usize = 128;

#[derive(Debug)]
pub(super) struct Blocks<T> {
    blocks: VecDeque<Vec<T>>,
}

impl<T> Blocks<T> {
    pub(super) const fn new() -> Self {
        Blocks {
            blocks: VecDeque::new(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK => block.push(item),
            // A short queue pays for what it holds, a long one for whole blocks.
            None => self.blocks.push_back(vec![item]),
            Some(_) => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(item);
                self.blocks.push_back(block);
            }
        }
    }

    pub(super) fn first(&self) -> Option<&[T]> {
        self.blocks.front().map(Vec::as_slice)
    }

    pub(super) fn take_first(&mut self) -> Option<Vec<T>> {
        let block = self.blocks.pop_front()?;
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

    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        let items: usize = self.blocks.iter().map(Vec::capacity).sum();
        self.blocks.capacity() * size_of::<Vec<T>>() + items * size_of::<T>()
    }
}
