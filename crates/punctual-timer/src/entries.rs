//! What is in the buckets of the wheel: one table of blocks for all of them.
//!
//! In: values, each at the end of a [`Chain`], which is a bucket's. Out: a chain's values, a block at a time. A value stays at
//! its [`Spot`] until its block is taken, and is removed there by a bit in the table. The place itself is not touched: of a
//! million timers the table lies in a core's cache and the places do not. What a removed value led to may be gone, so a value
//! whose bit is clear is never read.
//!
//! Memory goes back block by block. The lowest free number is given out first and the table ends with its last block in use, so
//! what few timers are left of many have a small table: they are told new places while their buckets are swept.

/// Values of a block. Work in pieces goes block by block, so this bounds a piece.
pub(super) const BLOCK: usize = 128;
const WORDS: usize = BLOCK / 64;

/// In place of a block's number.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Entries<V> {
    /// By number; boxes, so that the place of a block that is gone is a word.
    table: Vec<Option<Box<Block<V>>>>,
    /// A bit for each number of no block that is lower than the last block's.
    free: Vec<u64>,
    /// No word before this has a bit.
    lowest: usize,
}

#[derive(Debug)]
struct Block<V> {
    values: Vec<V>,
    live: Live,
    /// The next block of the chain.
    next: u32,
}

/// A bit for each value of a block that was not removed.
type Live = [u64; WORDS];

/// Blocks in a row.
#[derive(Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
}

/// Where a value lies, as long as its block was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) block: u32,
    pub(super) offset: u16,
}

/// A block that was taken.
#[derive(Debug)]
pub(super) struct Piece<V> {
    values: Vec<V>,
    live: Live,
}

impl Chain {
    pub(super) const EMPTY: Chain = Chain {
        first: NONE,
        last: NONE,
    };
}

impl<V: Copy> Piece<V> {
    /// With those that were removed.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn live(&self) -> impl Iterator<Item = V> {
        live(&self.values, self.live)
    }
}

fn live<V: Copy>(values: &[V], live: Live) -> impl Iterator<Item = V> {
    let some = |word: u64| Some(word).filter(|word| *word != 0);
    let bits_of = move |word: u64| {
        let rest = std::iter::successors(some(word), move |rest| some(rest & (rest - 1)));
        rest.map(|rest| rest.trailing_zeros() as usize)
    };
    let words = live.into_iter().enumerate();
    words.flat_map(move |(number, word)| bits_of(word).map(move |bit| values[number * 64 + bit]))
}

impl<V: Copy> Entries<V> {
    pub(super) const fn new() -> Self {
        Entries {
            table: Vec::new(),
            free: Vec::new(),
            lowest: 0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, chain: &mut Chain, value: V) -> Spot {
        let number = match self.at(chain.last) {
            Some(block) if block.values.len() < BLOCK => chain.last,
            // A short chain pays for what it holds, a long one for whole blocks.
            None => self.add(chain, 1),
            Some(_) => self.add(chain, BLOCK),
        };
        let block = self.table[number as usize].as_mut();
        let block = block.expect("the last block of a chain");
        let offset = block.values.len();
        block.values.push(value);
        block.live[offset / 64 % WORDS] |= 1 << (offset % 64);
        Spot {
            block: number,
            offset: offset as u16,
        }
    }

    #[inline]
    fn at(&mut self, number: u32) -> Option<&mut Block<V>> {
        self.table.get_mut(number as usize)?.as_deref_mut()
    }

    /// A block at the end of a chain.
    #[cold]
    fn add(&mut self, chain: &mut Chain, capacity: usize) -> u32 {
        let block = Some(Box::new(Block {
            values: Vec::with_capacity(capacity),
            live: [0; WORDS],
            next: NONE,
        }));
        let number = match self.take_free() {
            Some(number) => {
                self.table[number] = block;
                number
            }
            None => {
                self.table.push(block);
                self.table.len() - 1
            }
        };
        let number = number as u32;
        match self.at(chain.last) {
            Some(last) => last.next = number,
            None => chain.first = number,
        }
        chain.last = number;
        number
    }

    /// The value there is gone.
    #[inline]
    pub(super) fn remove(&mut self, spot: Spot) {
        let block = self.at(spot.block).expect("the block of a timer");
        let live = &mut block.live[usize::from(spot.offset) / 64 % WORDS];
        debug_assert!(
            *live >> (spot.offset % 64) & 1 == 1,
            "a timer is where it was told to be"
        );
        *live &= !(1 << (spot.offset % 64));
    }

    pub(super) fn take_first(&mut self, chain: &mut Chain) -> Option<Piece<V>> {
        let number = chain.first;
        let block = *self.table.get_mut(number as usize)?.take()?;
        let Block { values, live, next } = block;
        chain.first = next;
        if chain.first == NONE {
            chain.last = NONE;
        }
        self.give_free(number as usize);
        Some(Piece { values, live })
    }

    /// Empties a chain.
    pub(super) fn clear(&mut self, chain: &mut Chain) {
        while self.take_first(chain).is_some() {}
    }

    /// What is in any chain, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = V> {
        let blocks = self.table.iter().flatten();
        blocks.flat_map(|block| live(&block.values, block.live))
    }

    fn take_free(&mut self) -> Option<usize> {
        let words = self.free.iter().skip(self.lowest);
        self.lowest += words.take_while(|word| **word == 0).count();
        let word = self.free.get_mut(self.lowest)?;
        let number = self.lowest * 64 + word.trailing_zeros() as usize;
        *word &= *word - 1;
        Some(number)
    }

    fn give_free(&mut self, number: usize) {
        if self.free.len() <= number / 64 {
            self.free.resize(number / 64 + 1, 0);
        }
        self.free[number / 64] |= 1 << (number % 64);
        self.lowest = self.lowest.min(number / 64);
        // The table ends with a block in use.
        while let Some(last) = self.table.len().checked_sub(1)
            && let Some(word) = self.free.get_mut(last / 64)
            && *word >> (last % 64) & 1 == 1
        {
            *word &= !(1 << (last % 64));
            self.table.pop();
        }
        if self.table.len() < self.table.capacity() / 4 {
            self.table.shrink_to(self.table.len() * 2);
            self.free.truncate(self.table.len().div_ceil(64));
            self.free.shrink_to_fit();
        }
    }

    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        let blocks = || self.table.iter().flatten();
        let values: usize = blocks().map(|block| block.values.capacity()).sum();
        let table = self.table.capacity() * size_of::<usize>() + blocks().count() * size_of::<Block<V>>();
        table + values * size_of::<V>() + self.free.capacity() * size_of::<u64>()
    }
}
