//! A crowd: the timers of one bucket, sorted in pieces and merged as they are taken.
//!
//! In: items in any order, then "that was all". Out: the first, one after the other. A piece is sorted when it is full,
//! and the heads of the pieces stand in a small heap: sorting a crowd of any size costs each call no more than a piece,
//! and taking costs the logarithm of the number of pieces, all of it in memory that is read in order.

use super::near::Exact;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Items of a piece.
const PIECE: usize = 4096;
/// Fewer than these are no crowd.
const FEW: usize = 32;

#[derive(Debug)]
pub(super) struct Crowd {
    gathering: Vec<Exact>,
    /// Each sorted backwards, without its first, which is among the heads.
    pieces: Vec<Vec<Exact>>,
    heads: BinaryHeap<Reverse<(Exact, usize)>>,
}

impl Crowd {
    pub(super) const fn new() -> Self {
        Crowd {
            gathering: Vec::new(),
            pieces: Vec::new(),
            heads: BinaryHeap::new(),
        }
    }

    pub(super) fn gather(&mut self, item: Exact) {
        self.gathering.push(item);
        if self.gathering.len() == PIECE {
            self.sort();
        }
    }

    /// That was all. If they are few they come back.
    pub(super) fn settle(&mut self) -> Vec<Exact> {
        if self.gathering.len() < FEW {
            return std::mem::take(&mut self.gathering);
        }
        self.sort();
        Vec::new()
    }

    fn sort(&mut self) {
        let mut piece = std::mem::take(&mut self.gathering);
        piece.sort_unstable_by(|one, other| other.cmp(one));
        self.put(piece);
    }

    fn put(&mut self, mut piece: Vec<Exact>) {
        if let Some(head) = piece.pop() {
            self.heads.push(Reverse((head, self.pieces.len())));
            self.pieces.push(piece);
        }
    }

    pub(super) fn first(&self) -> Option<Exact> {
        self.heads.peek().map(|head| head.0.0)
    }

    pub(super) fn pop(&mut self) {
        let Some(mut head) = self.heads.peek_mut() else {
            return;
        };
        let piece = &mut self.pieces[head.0.1];
        if let Some(next) = piece.pop() {
            head.0.0 = next;
            return;
        }
        *piece = Vec::new();
        std::collections::binary_heap::PeekMut::pop(head);
        if self.heads.is_empty() {
            self.pieces = Vec::new();
            self.heads = BinaryHeap::new();
        }
    }

    pub(super) fn retain(&mut self, is_live: impl Fn(Exact) -> bool) {
        let heads = std::mem::take(&mut self.heads);
        let mut pieces = std::mem::take(&mut self.pieces);
        for Reverse((head, number)) in heads {
            let mut piece = std::mem::take(&mut pieces[number]);
            piece.push(head);
            piece.retain(|item| is_live(*item));
            self.put(piece);
        }
        self.gathering.retain(|item| is_live(*item));
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn footprint(&self) -> usize {
        let items: usize = self.pieces.iter().map(Vec::capacity).sum();
        (items + self.gathering.capacity()) * size_of::<Exact>()
            + self.pieces.capacity() * size_of::<Vec<Exact>>()
            + self.heads.capacity() * size_of::<Reverse<(Exact, usize)>>()
    }
}
