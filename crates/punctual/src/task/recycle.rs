//! Memory for blocks, given out again and again.
//!
//! In: a size. Out: memory, from a list of this thread, else from the shared stock, else freshly carved. The
//! allocator is the first bottleneck of every pool that boxes its tasks: memory taken on the submitting thread and
//! freed on the worker goes through malloc's slow path. Here both ends are a thread-local list of addresses, and a full list moves
//! to the other threads sixty-four blocks at a time; nobody touches a block that is not in use.
//!
//! **It goes back.** Blocks are carved from 64 KiB arenas. The stock knows how many blocks it holds; when it holds
//! more than a floor and nobody has been in need for a while, an idle worker calls [`trim`]: arenas whose every block
//! lies in the stock are freed. A worker that lies down sees the excess; if it comes up while all are asleep (handles
//! joined long after their tasks ran), one is roused through [`Janitor`] to see it, once per excess. A thread keeps at most 128 blocks of a size to itself and gives them back
//! when it ends.
//!
//! Four sizes; anything larger goes to the system's allocator. Under loom, shuttle and `--cfg punctual_system_alloc`
//! everything does, so that their leak checks and the sanitizers see each block.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Memory for one block of this layout.
#[inline]
pub(crate) fn acquire(layout: Layout) -> NonNull<u8> {
    match imp::size_class(layout) {
        Some(class) => imp::acquire(class),
        None => system(layout),
    }
}

/// Which of the sizes a layout has: found out once for all blocks of a type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size(u8);

impl Size {
    /// None of them: the system's.
    const OTHER: Size = Size(u8::MAX);

    pub(crate) const fn of(layout: Layout) -> Self {
        match imp::size_class(layout) {
            Some(class) => Size(class as u8),
            None => Size::OTHER,
        }
    }
}

/// Gives a block back.
///
/// # Safety
/// `block` came from [`acquire`] with the same layout, of which this is the size, and nothing refers to it any more.
#[inline]
pub(crate) unsafe fn release(block: NonNull<u8>, size: Size, layout: Layout) {
    if size.0 == Size::OTHER.0 {
        // SAFETY: the caller's promise; no class means `acquire` asked the system's allocator.
        unsafe { dealloc(block.as_ptr(), layout) };
    } else {
        // SAFETY: the caller's promise; the same layout leads to the same class.
        unsafe { imp::release(usize::from(size.0), block) };
    }
}

fn system(layout: Layout) -> NonNull<u8> {
    debug_assert!(layout.size() > 0);
    // SAFETY: a block has a header, so the layout is not empty.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Somebody who can have the stock trimmed later.
pub(crate) trait Janitor: Send + Sync {
    #[cfg_attr(any(loom, shuttle, punctual_system_alloc), allow(dead_code))]
    /// Gets a sleeping worker up for a moment: before it sleeps again it looks at the stock. False: none sleeps.
    fn rouse(&self) -> bool;
}

/// Asks for both lines of a block that is about to be changed.
#[inline]
pub(crate) fn prefetch_whole(block: NonNull<u8>) {
    imp::prefetch_whole(block.as_ptr());
}

pub(crate) use imp::register;
pub(crate) use imp::{excess, look_away, trim};
#[cfg(all(unix, not(any(loom, shuttle))))]
pub(crate) use imp::{hold_for_fork, let_go_after_fork};

#[cfg(any(loom, shuttle, punctual_system_alloc))]
mod imp {
    use super::{Janitor, Layout, NonNull};
    use crate::sync::Weak;
    pub(super) const fn size_class(_: Layout) -> Option<usize> {
        None
    }
    pub(super) fn acquire(_: usize) -> NonNull<u8> {
        unreachable!("the models have no size classes")
    }
    pub(super) unsafe fn release(_: usize, _: NonNull<u8>) {
        unreachable!("the models have no size classes")
    }
    pub(crate) fn excess() -> Option<u64> {
        None
    }
    pub(crate) fn trim() {}
    pub(crate) fn look_away() {}
    pub(crate) fn register(_: Weak<dyn Janitor>) {}
    pub(super) fn prefetch_whole(_: *const u8) {}
    #[cfg(all(unix, not(any(loom, shuttle))))]
    pub(crate) fn hold_for_fork() {}
    #[cfg(all(unix, not(any(loom, shuttle))))]
    pub(crate) fn let_go_after_fork() {}
}

#[cfg(not(any(loom, shuttle, punctual_system_alloc)))]
mod imp {
    use super::{Janitor, Layout, NonNull, system};
    use crate::sync::unmodelled::{AtomicBool, AtomicU64, AtomicUsize, Relaxed};
    use crate::sync::{Arc, Lock, Weak, prefetch, prefetch_to_write};
    use std::alloc::dealloc;
    use std::cell::UnsafeCell;
    use std::ptr::null_mut;

    /// The sizes. Each is also its own alignment, up to a cache line; but the second, which is for delayed tasks: a million
    /// of them matter more than a line that two of them share.
    const SIZES: [usize; 4] = [64, 96, 128, 256];
    const LINE: usize = 64;
    /// Blocks that move between a thread and the stock at a time.
    const BATCH: usize = 64;
    /// A thread's list at this length gives its newest batch away.
    const LIST_MAX: usize = 2 * BATCH;
    /// Arenas are aligned to their size, so a block finds its arena by masking its address.
    const ARENA: usize = 64 * 1024;

    #[inline]
    pub(super) const fn size_class(layout: Layout) -> Option<usize> {
        if layout.align() > LINE {
            return None;
        }
        // Layouts are constants of the closure's type: this is decided at compile time.
        match layout.size() {
            0..=64 => Some(0),
            65..=96 if layout.align() <= 32 => Some(1),
            65..=128 => Some(2),
            129..=256 => Some(3),
            _ => None,
        }
    }

    /// One size's list of one thread: blocks that were used before, newest last, and a run of others in a row. Addresses, not
    /// links inside the blocks: who gives a block back need not touch it, nor does anybody until it is used again.
    struct List {
        blocks: [*mut u8; LIST_MAX],
        length: usize,
        run: Run,
    }

    /// Up to sixty-four neighbours in an arena: those whose bit is set.
    #[derive(Clone, Copy)]
    struct Run {
        first: *mut u8,
        bits: u64,
    }

    const NO_RUN: Run = Run {
        first: null_mut(),
        bits: 0,
    };

    struct Lists(UnsafeCell<[List; SIZES.len()]>);

    crate::sync::local! {
        static LISTS: Lists = Lists(UnsafeCell::new(
            [const { List { blocks: [null_mut(); LIST_MAX], length: 0, run: NO_RUN } }; SIZES.len()],
        ));
    }

    impl Drop for Lists {
        fn drop(&mut self) {
            for (class, list) in self.0.get_mut().iter_mut().enumerate() {
                let length = std::mem::take(&mut list.length);
                give(
                    class,
                    &list.blocks[..length],
                    std::mem::replace(&mut list.run, NO_RUN),
                );
            }
        }
    }

    type Batch = [*mut u8; BATCH];

    /// One size's blocks that no thread holds. What came last waits in batches, as it came: it is likely to be warm, and who
    /// needs blocks gets sixty-four in one step. The rest lies in its arenas as bits, so what was freed in any order is given
    /// out again in the order of its addresses, which the processor's prefetch likes: after a million timers were
    /// cancelled at random, the next million is as fast to make as the first.
    struct Stock {
        /// A ring: the newest is given out first, the oldest makes way.
        warm: [Batch; WARM],
        newest: usize,
        batches: usize,
        /// Those with a free block, the last one to get one last.
        roomy: Vec<NonNull<Arena>>,
        free: usize,
        class: usize,
    }

    // SAFETY: arenas are owned by the stock, and touched under its lock.
    unsafe impl Send for Stock {}

    /// Words of bits that the most blocks need.
    const WORDS: usize = ARENA / SIZES[0] / 64;

    /// Batches that wait as such, a thousand blocks.
    const WARM: usize = 16;

    /// What is known about an arena. It lies inside, in the place of some blocks, and not at the same distance from the
    /// beginning in each: arenas are aligned, so a million blocks' worth of beginnings would fight for a few places of the cache.
    struct Arena {
        /// Set: the block lies in the stock as a bit.
        free: [u64; WORDS],
        /// How many are set, and how many there are.
        count: usize,
        whole: usize,
    }

    /// Distances of [`Arena`]s from the beginnings: so many, in steps of so many bytes.
    const COLOURS: usize = 256;
    const STEP: usize = size_of::<Arena>().next_multiple_of(LINE);
    const _: () = assert!(COLOURS * STEP <= ARENA);

    /// How far from the beginning of an arena its [`Arena`] lies.
    fn distance(arena: usize) -> usize {
        arena / ARENA % COLOURS * STEP
    }

    const fn empty(class: usize) -> Lock<Stock> {
        Lock::new(Stock {
            warm: [[null_mut(); BATCH]; WARM],
            newest: 0,
            batches: 0,
            roomy: Vec::new(),
            free: 0,
            class,
        })
    }

    static STOCK: [Lock<Stock>; SIZES.len()] = [empty(0), empty(1), empty(2), empty(3)];

    /// Blocks in each stock beyond the floor: a hint, read without the locks by workers about to sleep.
    static EXCESS: [AtomicUsize; SIZES.len()] = [const { AtomicUsize::new(0) }; SIZES.len()];

    /// Some worker knows of the excess and will get up for it.
    static IN_VIEW: AtomicBool = AtomicBool::new(false);

    /// How often somebody was in need: a stock that is being used is not trimmed.
    static TURNOVER: AtomicU64 = AtomicU64::new(0);

    static JANITORS: Lock<Vec<Weak<dyn Janitor>>> = Lock::new(Vec::new());

    /// Free blocks the stock keeps through a trim: a quarter of a megabyte starts the next burst warm.
    const fn floor(class: usize) -> usize {
        256 * 1024 / SIZES[class]
    }

    const ARENA_LAYOUT: Layout = match Layout::from_size_align(ARENA, ARENA) {
        Ok(layout) => layout,
        Err(_) => panic!("an arena's size is its alignment and a power of two"),
    };

    #[inline]
    pub(super) fn acquire(class: usize) -> NonNull<u8> {
        let mine = LISTS.try_with(|lists| {
            // SAFETY: the cell is this thread's, and nothing below calls back into it: no user code, and the
            // system's allocator does not submit tasks.
            let list = unsafe { &mut (*lists.0.get())[class] };
            loop {
                if let Some(last) = list.length.checked_sub(1) {
                    list.length = last;
                    prefetch(list.blocks[last.saturating_sub(1)]);
                    // SAFETY: what is in the list is a block.
                    return unsafe { NonNull::new_unchecked(list.blocks[last]) };
                }
                if let Some(block) = list.run.take(class) {
                    return block;
                }
                refill(class, list);
            }
        });
        // A thread whose locals are gone already (a task submitted from a destructor): one block from the system
        // would not come back through `release`, so take one from the stock the long way.
        mine.unwrap_or_else(|_| single(class))
    }

    impl Run {
        #[inline]
        fn take(&mut self, class: usize) -> Option<NonNull<u8>> {
            if self.bits == 0 {
                return None;
            }
            let index = self.bits.trailing_zeros() as usize;
            self.bits &= self.bits - 1;
            // SAFETY: a set bit stands for a block of the run, which is inside its arena.
            let block = unsafe { self.first.add(index * SIZES[class]) };
            prefetch(block.wrapping_add(SIZES[class]));
            NonNull::new(block)
        }
    }

    #[inline]
    pub(super) unsafe fn release(class: usize, block: NonNull<u8>) {
        let is_full = LISTS.try_with(|lists| {
            // SAFETY: as in `acquire`.
            let list = unsafe { &mut (*lists.0.get())[class] };
            list.blocks[list.length] = block.as_ptr();
            list.length += 1;
            list.length == LIST_MAX
        });
        match is_full {
            Ok(false) => {}
            Ok(true) => give_half(class),
            Err(_) => give(class, &[block.as_ptr()], NO_RUN),
        }
    }

    /// This thread's list is full.
    #[cold]
    fn give_half(class: usize) {
        // SAFETY: as in `acquire`.
        let batch = LISTS.try_with(|lists| unsafe { &mut (*lists.0.get())[class] }.cut());
        // Without the list: whoever is roused may be the last to let go of a pool, and blocks come back here with it.
        if let Ok(batch) = batch {
            give(class, &batch, NO_RUN);
        }
    }

    impl List {
        /// Takes the older half out of a full list: the newest blocks are the likeliest to be warm in this core's cache.
        fn cut(&mut self) -> Batch {
            let mut batch = [null_mut(); BATCH];
            batch.copy_from_slice(&self.blocks[..BATCH]);
            self.blocks.copy_within(BATCH.., 0);
            self.length -= BATCH;
            batch
        }
    }

    #[cold]
    fn refill(class: usize, list: &mut List) {
        TURNOVER.fetch_add(1, Relaxed);
        let mut stock = STOCK[class].lock();
        if stock.take_batch(&mut list.blocks) {
            list.length = BATCH;
        } else {
            list.run = stock.take();
        }
    }

    #[cold]
    fn single(class: usize) -> NonNull<u8> {
        let mut run = STOCK[class].lock().take();
        let block = run.take(class).expect("the stock gives at least one");
        give(class, &[], run);
        block
    }

    /// Puts blocks into the stock; if that makes an excess that nobody has in view, somebody is roused to see it.
    fn give(class: usize, blocks: &[*mut u8], run: Run) {
        if blocks.is_empty() && run.bits == 0 {
            return;
        }
        let excess = {
            let mut stock = STOCK[class].lock();
            // SAFETY: a list's blocks are free ones of this size.
            unsafe { stock.keep(blocks) };
            if run.bits != 0 {
                let (arena, index) = place_of(class, run.first);
                // SAFETY: a run came from the stock.
                unsafe { stock.put((arena, index / 64), run.bits << (index % 64)) };
            }
            stock.publish();
            stock.free > floor(class)
        };
        if excess && !IN_VIEW.load(Relaxed) && !IN_VIEW.swap(true, Relaxed) {
            rouse();
        }
    }

    #[cold]
    fn rouse() {
        let janitors: Vec<Arc<dyn Janitor>> = {
            let mut janitors = JANITORS.lock();
            janitors.retain(|janitor| janitor.strong_count() > 0);
            janitors.iter().filter_map(Weak::upgrade).collect()
        };
        if !janitors.iter().any(|janitor| janitor.rouse()) {
            // Everybody is up, or nobody is there; whoever lies down next looks for itself.
            IN_VIEW.store(false, Relaxed);
        }
    }

    /// Makes this one be roused when there is an excess and everybody sleeps.
    pub(crate) fn register(janitor: Weak<dyn Janitor>) {
        JANITORS.lock().push(janitor);
    }

    impl Stock {
        /// Takes blocks in; a whole batch stays one. If there are too many the oldest is given up for bits.
        ///
        /// # Safety
        /// They are free blocks of this stock's size that nobody else has.
        unsafe fn keep(&mut self, blocks: &[*mut u8]) {
            let Ok(batch) = Batch::try_from(blocks) else {
                // SAFETY: the caller's promise.
                return unsafe { self.put_each(blocks) };
            };
            self.newest = (self.newest + 1) % WARM;
            let oldest = std::mem::replace(&mut self.warm[self.newest], batch);
            if self.batches < WARM {
                self.batches += 1;
                self.free += BATCH;
            } else {
                // As many come as go to bits, where they are counted.
                // SAFETY: a batch of this stock.
                unsafe { self.put_each(&oldest) };
            }
        }

        /// Moves the batch that came last to the front of the list. False: there is none.
        fn take_batch(&mut self, list: &mut [*mut u8]) -> bool {
            if self.batches == 0 {
                return false;
            }
            list[..BATCH].copy_from_slice(&self.warm[self.newest]);
            self.newest = (self.newest + WARM - 1) % WARM;
            self.batches -= 1;
            self.free -= BATCH;
            self.publish();
            true
        }

        /// Puts blocks back, as bits.
        ///
        /// # Safety
        /// They are free blocks of this stock's size that nobody else has.
        unsafe fn put_each(&mut self, blocks: &[*mut u8]) {
            let class = self.class;
            // All at once, and then one after the other: each may be far away.
            for block in blocks {
                let (arena, index) = place_of(class, *block);
                prefetch(arena.wrapping_add(distance(arena.addr()) + index / 64 * size_of::<u64>()));
            }
            let word_of = |block: *mut u8| {
                let (arena, index) = place_of(class, block);
                ((arena, index / 64), 1 << (index % 64))
            };
            let Some((first, rest)) = blocks.split_first() else {
                return;
            };
            // Often they are neighbours: as many as one word knows go back in one step.
            let (mut word, mut bits) = word_of(*first);
            for block in rest {
                let (next, bit) = word_of(*block);
                if next != word {
                    // SAFETY: the caller's promise.
                    unsafe { self.put(word, bits) };
                    (word, bits) = (next, 0);
                }
                debug_assert_eq!(bits & bit, 0, "a block was given back twice");
                bits |= bit;
            }
            // SAFETY: the caller's promise.
            unsafe { self.put(word, bits) };
        }

        /// Puts blocks back that one word of their arena knows: those whose bit is set.
        ///
        /// # Safety
        /// They are free blocks of this stock's size that nobody else has.
        unsafe fn put(&mut self, (arena, word): (*mut u8, usize), bits: u64) {
            let arena = arena_in(arena);
            // SAFETY: a stock's block lies in an arena, which was written when it was opened; the lock is held.
            let state = unsafe { &mut *arena };
            debug_assert_eq!(state.free[word] & bits, 0, "a block was given back twice");
            if state.count == 0 {
                self.roomy.extend(NonNull::new(arena));
            }
            state.free[word] |= bits;
            let count = bits.count_ones() as usize;
            state.count += count;
            self.free += count;
        }

        /// A word's blocks, from an arena in use if there is one with room.
        fn take(&mut self) -> Run {
            let arena = match self.roomy.last() {
                Some(arena) => *arena,
                None => self.open(),
            };
            // SAFETY: an arena of this stock; the lock is held.
            let state = unsafe { &mut *arena.as_ptr() };
            // The fullest, and of several the first: what comes back one by one from other threads is given time to gather.
            let word = (0..WORDS).rev().max_by_key(|word| state.free[*word].count_ones());
            let word = word.expect("an arena has words");
            let bits = std::mem::take(&mut state.free[word]);
            let count = bits.count_ones() as usize;
            state.count -= count;
            self.free -= count;
            if state.count == 0 {
                self.roomy.pop();
            }
            self.publish();
            let first = beginning_of(arena).wrapping_add(word * 64 * SIZES[self.class]);
            Run { first, bits }
        }

        /// A fresh arena. Its blocks are not touched before they are used.
        #[cold]
        fn open(&mut self) -> NonNull<Arena> {
            let memory = system(ARENA_LAYOUT);
            let size = SIZES[self.class];
            let own = distance(memory.addr().get());
            let taken = own / size..=(own + size_of::<Arena>() - 1) / size;
            let mut free = [0; WORDS];
            let blocks = (0..ARENA / size).filter(|block| !taken.contains(block));
            blocks.for_each(|block| free[block / 64] |= 1 << (block % 64));
            let count = free.iter().map(|word: &u64| word.count_ones() as usize).sum();
            let whole = count;
            let arena = NonNull::new(arena_in(memory.as_ptr())).expect("memory is somewhere");
            // SAFETY: fresh memory, large enough, and all distances are aligned.
            unsafe { arena.write(Arena { free, count, whole }) };
            self.roomy.push(arena);
            self.free += count;
            arena
        }

        fn publish(&self) {
            EXCESS[self.class].store(self.free.saturating_sub(floor(self.class)), Relaxed);
        }
    }

    /// The beginning of a block's arena, and its number there.
    fn place_of(class: usize, block: *mut u8) -> (*mut u8, usize) {
        let arena = block.map_addr(|address| address & !(ARENA - 1));
        (arena, index_of(class, block.addr() - arena.addr()))
    }

    /// What is known about the arena that begins here.
    fn arena_in(beginning: *mut u8) -> *mut Arena {
        beginning.wrapping_add(distance(beginning.addr())).cast()
    }

    fn beginning_of(arena: NonNull<Arena>) -> *mut u8 {
        arena
            .as_ptr()
            .cast::<u8>()
            .map_addr(|address| address & !(ARENA - 1))
    }

    /// The number of the block that begins so many bytes after the first. Each size is a constant here: no division.
    fn index_of(class: usize, bytes: usize) -> usize {
        match class {
            0 => bytes / SIZES[0],
            1 => bytes / SIZES[1],
            2 => bytes / SIZES[2],
            _ => bytes / SIZES[3],
        }
    }

    /// Frees the arenas that lie in the stock as a whole, beyond what the floor keeps.
    fn trim_class(class: usize) {
        let mut gone = Vec::new();
        {
            let mut stock = STOCK[class].lock();
            let mut batch = [null_mut(); BATCH];
            while stock.take_batch(&mut batch) {
                // SAFETY: a batch of this stock.
                unsafe { stock.put_each(&batch) };
            }
            let mut left = stock.free;
            stock.roomy.retain(|arena| {
                // SAFETY: an arena of this stock; the lock is held.
                let arena_now = unsafe { arena.as_ref() };
                let rest = left
                    .checked_sub(arena_now.whole)
                    .filter(|rest| *rest >= floor(class));
                match rest {
                    Some(rest) if arena_now.count == arena_now.whole => {
                        left = rest;
                        gone.push(*arena);
                        false
                    }
                    _ => true,
                }
            });
            stock.free = left;
            // What is left lies scattered over arenas in use: trying again before something moves would find the same.
            EXCESS[class].store(0, Relaxed);
        }
        for arena in gone {
            // SAFETY: every block of it was in the stock, which has forgotten it.
            unsafe { dealloc(beginning_of(arena), ARENA_LAYOUT) };
        }
    }

    /// Whether a [`trim`] might free something; if so, the stock's turnover so far, to see later whether it was used.
    /// The caller takes it upon itself to come back.
    pub(crate) fn excess() -> Option<u64> {
        if EXCESS.iter().all(|excess| excess.load(Relaxed) == 0) {
            look_away();
            return None;
        }
        IN_VIEW.store(true, Relaxed);
        Some(TURNOVER.load(Relaxed))
    }

    /// Whoever had the excess in view has something else to do, or leaves: the next excess must rouse somebody.
    pub(crate) fn look_away() {
        IN_VIEW.store(false, Relaxed);
    }

    /// Gives what a burst left behind back to the system's allocator.
    pub(crate) fn trim() {
        look_away();
        (0..SIZES.len()).for_each(trim_class);
    }

    /// Takes the stock's locks before a fork, so that no other thread holds one in the moment of the copy: in the child
    /// it would be held for ever.
    #[cfg(unix)]
    pub(crate) fn hold_for_fork() {
        JANITORS.hold();
        STOCK.iter().for_each(Lock::hold);
    }

    /// The other half of [`hold_for_fork`], in the parent and in the child.
    #[cfg(unix)]
    pub(crate) fn let_go_after_fork() {
        STOCK.iter().for_each(Lock::let_go);
        JANITORS.let_go();
    }

    #[inline]
    pub(super) fn prefetch_whole(block: *const u8) {
        prefetch_to_write(block);
        prefetch(block.wrapping_add(LINE));
    }
}
