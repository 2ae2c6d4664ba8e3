//! Near timers by number: which of them are still there.
//!
//! In: sequence, value. Out: an index that stays the same while the timer is near. Chunks of nodes, each with a bitmap of its holes; the lowest hole is
//! filled first, so that after a storm of removals the survivors gather at the front and the chunks behind become
//! empty (a list of free nodes would scatter the next inserts over all memory). An empty chunk is freed. That is safe
//! because the sequence, which never repeats, tells whether the node at an index is still the one that is meant.

/// Nodes of a chunk: large enough that common allocators hand a freed one back to the system.
const CHUNK: usize = 4096;
const WORDS: usize = CHUNK / 64;

/// The sequence of a hole. Live nodes count from 1.
const HOLE: u64 = 0;

#[derive(Debug, Clone, Copy)]
struct Node<V> {
    sequence: u64,
    value: V,
}

#[derive(Debug)]
struct Chunk<V> {
    /// As long as it was ever full since the chunk was last empty: what was never used is never touched.
    nodes: Vec<Node<V>>,
    holes: [u64; WORDS],
    live: usize,
}

#[derive(Debug)]
pub(super) struct Slab<V> {
    chunks: Vec<Chunk<V>>,
    /// One bit per chunk that is not full.
    roomy: Vec<u64>,
    /// No bit is set in `roomy` before this word.
    roomy_from: usize,
    /// The memory of one empty chunk, so that one timer that comes and goes does not allocate each time.
    spare: Vec<Node<V>>,
}

impl<V: Copy> Slab<V> {
    pub(super) const fn new() -> Self {
        Slab {
            chunks: Vec::new(),
            roomy: Vec::new(),
            roomy_from: 0,
            spare: Vec::new(),
        }
    }

    pub(super) fn insert(&mut self, sequence: u64, value: V) -> u32 {
        debug_assert_ne!(sequence, HOLE);
        let number = self.chunk_with_room();
        let node = Node { sequence, value };
        let chunk = &mut self.chunks[number];
        let place = if chunk.live < chunk.nodes.len() {
            let place = chunk.fill_lowest_hole();
            chunk.nodes[place] = node;
            place
        } else {
            if chunk.nodes.capacity() == 0 {
                chunk.nodes = std::mem::take(&mut self.spare);
                // The first chunk grows step by step: a pool with three timers does not pay for a thousand.
                if number > 0 {
                    chunk.nodes.reserve_exact(CHUNK);
                }
            }
            chunk.nodes.push(node);
            chunk.nodes.len() - 1
        };
        chunk.live += 1;
        if chunk.live == CHUNK {
            self.roomy[number / 64] &= !(1 << (number % 64));
        }
        u32::try_from(number * CHUNK + place).expect("fewer than 2^32 timers in one pool")
    }

    /// The value, if it is still the one that was given `sequence`.
    pub(super) fn get(&self, index: u32, sequence: u64) -> Option<V> {
        let index = index as usize;
        let node = self.chunks.get(index / CHUNK)?.nodes.get(index % CHUNK)?;
        (sequence != HOLE && node.sequence == sequence).then_some(node.value)
    }

    /// Makes the live node at `index` a hole.
    pub(super) fn remove(&mut self, index: u32) {
        let (number, place) = (index as usize / CHUNK, index as usize % CHUNK);
        let chunk = &mut self.chunks[number];
        debug_assert_ne!(chunk.nodes[place].sequence, HOLE);
        chunk.nodes[place].sequence = HOLE;
        chunk.holes[place / 64] |= 1 << (place % 64);
        chunk.live -= 1;
        let emptied = chunk.live == 0;
        self.roomy[number / 64] |= 1 << (number % 64);
        self.roomy_from = self.roomy_from.min(number / 64);
        if emptied {
            self.empty(number);
        }
    }

    pub(super) fn live(&self) -> impl Iterator<Item = V> {
        let nodes = self.chunks.iter().flat_map(|chunk| &chunk.nodes);
        nodes.filter(|node| node.sequence != HOLE).map(|node| node.value)
    }

    fn chunk_with_room(&mut self) -> usize {
        while let Some(word) = self.roomy.get(self.roomy_from) {
            if *word != 0 {
                return self.roomy_from * 64 + word.trailing_zeros() as usize;
            }
            self.roomy_from += 1;
        }
        let number = self.chunks.len();
        self.chunks.push(Chunk {
            nodes: Vec::new(),
            holes: [0; WORDS],
            live: 0,
        });
        if number / 64 == self.roomy.len() {
            self.roomy.push(0);
        }
        self.roomy[number / 64] |= 1 << (number % 64);
        self.roomy_from = number / 64;
        number
    }

    fn empty(&mut self, number: usize) {
        let chunk = &mut self.chunks[number];
        chunk.holes = [0; WORDS];
        let mut nodes = std::mem::take(&mut chunk.nodes);
        if self.spare.capacity() == 0 && nodes.capacity() >= CHUNK {
            nodes.clear();
            self.spare = nodes;
        }
        while self.chunks.last().is_some_and(|chunk| chunk.live == 0) {
            self.chunks.pop();
            let last = self.chunks.len();
            self.roomy[last / 64] &= !(1 << (last % 64));
        }
        if self.chunks.capacity() > 16 && self.chunks.len() < self.chunks.capacity() / 4 {
            self.chunks.shrink_to(self.chunks.len() * 2);
            self.roomy.truncate(self.chunks.len().div_ceil(64));
            self.roomy.shrink_to(self.roomy.len() * 2);
        }
        self.roomy_from = self.roomy_from.min(self.roomy.len());
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn footprint(&self) -> usize {
        let nodes: usize = self.chunks.iter().map(|chunk| chunk.nodes.capacity()).sum();
        (nodes + self.spare.capacity()) * size_of::<Node<V>>()
            + self.chunks.capacity() * size_of::<Chunk<V>>()
            + self.roomy.capacity() * 8
    }
}

impl<V> Chunk<V> {
    fn fill_lowest_hole(&mut self) -> usize {
        let word = self.holes.iter().position(|word| *word != 0);
        let word = word.expect("a node that is neither live nor unused is a hole");
        let bit = self.holes[word].trailing_zeros() as usize;
        self.holes[word] &= self.holes[word] - 1;
        word * 64 + bit
    }
}
