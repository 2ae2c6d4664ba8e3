//! A crowd: the timers of one bucket, sorted in pieces and merged as they are taken.
//!
//! In: items of one turn in any order, then "that was all". Out: the first, one after the other. A piece is sorted when it
//! is full, and the first keys of the pieces stand in a small heap: sorting a crowd of any size costs each call no more than
//! a piece, and taking costs the logarithm of the number of pieces, all of it in memory that is read in order.
//!
//! Time and sequence are one word here, its *key*, counted from the crowd's own beginning: a crowd is mostly compared with
//! itself, and a word is compared in one step.

use super::near::Exact;
use super::wheel::FINE_BITS;
use crate::Tick;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Items of a piece.
const PIECE: usize = 4096;
/// Fewer than these are no crowd.
const FEW: usize = 32;
/// The lower bits of a key are the sequence, those above the time inside the turn.
const SEQUENCE_BITS: u32 = u64::BITS - FINE_BITS;

/// As [`Exact`], inside a crowd.
#[derive(Debug, Clone, Copy)]
struct Keyed<V> {
    key: u64,
    value: V,
    number: u32,
}

/// The first key of a piece. The heap gives out the largest: the order is the other way round.
#[derive(Debug)]
struct Head {
    key: u64,
    piece: u32,
}

/// What keys are counted from.
#[derive(Debug, Clone, Copy)]
struct Origin {
    turn: Tick,
    sequence: u64,
}

#[derive(Debug)]
pub(super) struct Crowd<V> {
    /// Of the first that was gathered, while there are any.
    origin: Option<Origin>,
    gathering: Vec<Keyed<V>>,
    /// Each sorted backwards.
    pieces: Vec<Vec<Keyed<V>>>,
    heads: BinaryHeap<Head>,
    /// The memory of a piece that is over, for the next.
    spare: Vec<Keyed<V>>,
}

impl<V: Copy> Crowd<V> {
    pub(super) const fn new() -> Self {
        Crowd {
            origin: None,
            gathering: Vec::new(),
            pieces: Vec::new(),
            heads: BinaryHeap::new(),
            spare: Vec::new(),
        }
    }

    /// `Err`: it is too far from the others, and comes back.
    #[inline]
    pub(super) fn gather(&mut self, item: Exact<V>) -> Result<(), Exact<V>> {
        let origin = *self.origin.get_or_insert_with(|| Origin::of(&item));
        let Some(key) = origin.key(&item) else {
            return Err(item);
        };
        let Exact { value, number, .. } = item;
        if self.gathering.capacity() == 0 {
            self.gathering = std::mem::take(&mut self.spare);
        }
        self.gathering.push(Keyed { key, value, number });
        if self.gathering.len() == PIECE {
            self.sort();
        }
        Ok(())
    }

    /// That was all. If they are few they come back, one by one.
    pub(super) fn settle(&mut self, mut back: impl FnMut(Exact<V>)) {
        if self.gathering.len() >= FEW {
            self.sort();
            return;
        }
        if let Some(origin) = self.origin {
            self.gathering.drain(..).for_each(|each| back(origin.exact(each)));
        }
        self.end_if_over();
    }

    fn sort(&mut self) {
        let mut piece = std::mem::take(&mut self.gathering);
        piece.sort_unstable_by_key(|each| Reverse(each.key));
        self.put(piece);
    }

    fn put(&mut self, piece: Vec<Keyed<V>>) {
        if let Some(head) = piece.last() {
            let number = u32::try_from(self.pieces.len()).expect("a crowd has fewer timers than a queue");
            self.heads.push(Head {
                key: head.key,
                piece: number,
            });
            self.pieces.push(piece);
        }
    }

    /// The first of them.
    pub(super) fn first(&self) -> Option<Exact<V>> {
        let (head, origin) = (self.heads.peek()?, self.origin?);
        let each = self.pieces[head.piece as usize].last()?;
        Some(origin.exact(*each))
    }

    /// Takes the first while there is one and `is_wanted` says so.
    #[inline]
    pub(super) fn take_while(&mut self, mut is_wanted: impl FnMut(&Exact<V>) -> bool) {
        let Some(origin) = self.origin else { return };
        while let Some(mut head) = self.heads.peek_mut() {
            let piece = &mut self.pieces[head.piece as usize];
            let Some(first) = piece.last() else { return };
            if !is_wanted(&origin.exact(*first)) {
                return;
            }
            piece.pop();
            if let Some(next) = piece.last() {
                head.key = next.key;
                continue;
            }
            let over = std::mem::take(piece);
            PeekMut::pop(head);
            if self.spare.capacity() == 0 {
                self.spare = over;
            }
        }
        self.end_if_over();
    }

    /// If nothing is left of it, it begins anew with the next.
    fn end_if_over(&mut self) {
        if !self.heads.is_empty() || !self.gathering.is_empty() {
            return;
        }
        self.origin = None;
        self.pieces.clear();
        // One crowd often follows another; a large one's memory is not kept for it.
        self.pieces.shrink_to(16);
        self.heads.shrink_to(16);
        self.spare.shrink_to(256);
    }

    /// Keeps those for which `keep` says so; it may change their numbers.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(V, &mut u32) -> bool) {
        self.heads.clear();
        for mut piece in std::mem::take(&mut self.pieces) {
            piece.retain_mut(|each| keep(each.value, &mut each.number));
            piece.shrink_to(piece.len() * 2);
            self.put(piece);
        }
        self.gathering
            .retain_mut(|each| keep(each.value, &mut each.number));
        self.end_if_over();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (V, u32)> {
        let all = self.pieces.iter().flatten().chain(&self.gathering);
        all.map(|each| (each.value, each.number))
    }

    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        let items: usize = self.pieces.iter().map(Vec::capacity).sum();
        (items + self.gathering.capacity() + self.spare.capacity()) * size_of::<Keyed<V>>()
            + self.pieces.capacity() * size_of::<Vec<Keyed<V>>>()
            + self.heads.capacity() * size_of::<Head>()
    }
}

impl Origin {
    fn of<V>(item: &Exact<V>) -> Self {
        Origin {
            turn: item.when >> FINE_BITS << FINE_BITS,
            // Not all of a bucket lie in it in the order of their insertion.
            sequence: item.sequence.saturating_sub(1 << (SEQUENCE_BITS - 1)),
        }
    }

    #[inline]
    fn key<V>(self, item: &Exact<V>) -> Option<u64> {
        let fine = item.when.checked_sub(self.turn)?;
        let sequence = item.sequence.checked_sub(self.sequence)?;
        let fits = fine >> FINE_BITS == 0 && sequence >> SEQUENCE_BITS == 0;
        fits.then_some(fine << SEQUENCE_BITS | sequence)
    }

    #[inline]
    fn exact<V>(self, Keyed { key, value, number }: Keyed<V>) -> Exact<V> {
        Exact {
            when: self.turn + (key >> SEQUENCE_BITS),
            sequence: self.sequence + (key & ((1 << SEQUENCE_BITS) - 1)),
            value,
            number,
        }
    }
}

impl PartialEq for Head {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}
