//! Memory for blocks, given out again and again.
//!
//! In: a size. Out: memory, from a list of this thread, else from the shared stock, else freshly carved. The
//! allocator is the first bottleneck of every pool that boxes its tasks: memory taken on the submitting thread and
//! freed on the worker goes through malloc's slow path. Here both ends are a thread-local list, and a full list moves
//! to the other threads sixty-four blocks at a time.
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

/// Gives a block back.
///
/// # Safety
/// `block` came from [`acquire`] with the same layout and nothing refers to it any more.
#[inline]
pub(crate) unsafe fn release(block: NonNull<u8>, layout: Layout) {
    match imp::size_class(layout) {
        // SAFETY: the caller's promise; the same layout leads to the same class.
        Some(class) => unsafe { imp::release(class, block) },
        // SAFETY: the caller's promise; no class means `acquire` asked the system's allocator.
        None => unsafe { dealloc(block.as_ptr(), layout) },
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

/// Asks for a block that is about to be given back, all of it, and for what knows its neighbours.
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
    pub(super) fn size_class(_: Layout) -> Option<usize> {
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
    use crate::sync::{Arc, Lock, Weak};
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
    pub(super) fn size_class(layout: Layout) -> Option<usize> {
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

    /// A free block is a link.
    struct Free {
        next: *mut Free,
    }

    /// One size's list of one thread: blocks that were used before, newest first, and a run of others in a row.
    struct List {
        head: *mut Free,
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
            [const { List { head: null_mut(), length: 0, run: NO_RUN } }; SIZES.len()],
        ));
    }

    impl Drop for Lists {
        fn drop(&mut self) {
            for (class, list) in self.0.get_mut().iter_mut().enumerate() {
                let chain = Chain {
                    head: std::mem::replace(&mut list.head, null_mut()),
                    length: std::mem::take(&mut list.length),
                };
                give(class, chain, std::mem::replace(&mut list.run, NO_RUN));
            }
        }
    }

    /// Blocks linked to each other, on their way from a thread to the stock.
    struct Chain {
        head: *mut Free,
        length: usize,
    }

    const NO_CHAIN: Chain = Chain {
        head: null_mut(),
        length: 0,
    };

    /// One size's blocks that no thread holds. They lie in their arenas as bits, so what was freed in any order is given
    /// out again in the order of its addresses, which the processor's prefetch likes: after a million timers were
    /// cancelled at random, the next million is as fast to make as the first.
    struct Stock {
        /// Those with a free block, the last one to get one last.
        roomy: Vec<NonNull<Arena>>,
        free: usize,
        class: usize,
    }

    // SAFETY: arenas are owned by the stock, and touched under its lock.
    unsafe impl Send for Stock {}

    /// Words of bits that the most blocks need.
    const WORDS: usize = ARENA / SIZES[0] / 64;

    /// The beginning of an arena.
    struct Arena {
        /// Set: the block lies in the stock.
        free: [u64; WORDS],
        count: usize,
    }

    /// Where the blocks begin.
    const FRONT: usize = size_of::<Arena>().next_multiple_of(LINE);

    const fn empty(class: usize) -> Lock<Stock> {
        Lock::new(Stock {
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

    /// How many blocks of this size an arena holds.
    const fn per_arena(class: usize) -> usize {
        (ARENA - FRONT) / SIZES[class]
    }

    #[inline]
    pub(super) fn acquire(class: usize) -> NonNull<u8> {
        let mine = LISTS.try_with(|lists| {
            // SAFETY: the cell is this thread's, and nothing below calls back into it: no user code, and the
            // system's allocator does not submit tasks.
            let list = unsafe { &mut (*lists.0.get())[class] };
            loop {
                if let Some(head) = NonNull::new(list.head) {
                    // SAFETY: a link in the list is a free block of this thread.
                    let next = unsafe { head.as_ref() }.next;
                    prefetch(next.cast());
                    list.head = next;
                    list.length -= 1;
                    return head.cast();
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
        let block = block.cast::<Free>();
        let kept = LISTS.try_with(|lists| {
            // SAFETY: as in `acquire`; the block is the caller's to give.
            unsafe {
                let list = &mut (*lists.0.get())[class];
                block.write(Free { next: list.head });
                list.head = block.as_ptr();
                list.length += 1;
                if list.length >= LIST_MAX {
                    give_away(class, list);
                }
            }
        });
        if kept.is_err() {
            // SAFETY: the block is free and a chain of one.
            unsafe { block.write(Free { next: null_mut() }) };
            let chain = Chain {
                head: block.as_ptr(),
                length: 1,
            };
            give(class, chain, NO_RUN);
        }
    }

    #[cold]
    fn refill(class: usize, list: &mut List) {
        TURNOVER.fetch_add(1, Relaxed);
        list.run = STOCK[class].lock().take();
    }

    #[cold]
    fn single(class: usize) -> NonNull<u8> {
        let mut run = STOCK[class].lock().take();
        let block = run.take(class).expect("the stock gives at least one");
        give(class, NO_CHAIN, run);
        block
    }

    /// Cuts the older half off a full list: the newest blocks are the likeliest to be warm in this core's cache.
    #[cold]
    fn give_away(class: usize, list: &mut List) {
        let mut last = list.head;
        for _ in 1..list.length - BATCH {
            // SAFETY: the list is longer than a batch.
            last = unsafe { (*last).next };
        }
        // SAFETY: as above; `last` is the last link that stays.
        let head = unsafe { std::mem::replace(&mut (*last).next, null_mut()) };
        list.length -= BATCH;
        give(class, Chain { head, length: BATCH }, NO_RUN);
    }

    /// Puts blocks into the stock; if that makes an excess that nobody has in view, somebody is roused to see it.
    fn give(class: usize, chain: Chain, run: Run) {
        if chain.length == 0 && run.bits == 0 {
            return;
        }
        let excess = {
            let mut stock = STOCK[class].lock();
            // SAFETY: a chain's links are free blocks of this size.
            unsafe { stock.put_chain(chain) };
            if run.bits != 0 {
                // SAFETY: a run came from the stock.
                unsafe { stock.put(run.first, run.bits) };
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
        /// Puts a chain's blocks back. What was made in a row mostly ends in a row, so neighbours go in one step.
        ///
        /// # Safety
        /// Its links are free blocks of this stock's size that nobody else has.
        unsafe fn put_chain(&mut self, chain: Chain) {
            let size = SIZES[self.class];
            let mut block = chain.head.cast::<u8>();
            // The word of bits that is being filled: where its first block lies, and those of it that come back.
            let mut run = NO_RUN;
            for _ in 0..chain.length {
                // SAFETY: a link of the chain, which has so many; read before it is given.
                let next = unsafe { (*block.cast::<Free>()).next };
                let offset = block.addr().wrapping_sub(run.first.addr());
                if run.bits != 0 && offset < 64 * size {
                    run.bits |= 1 << index_of(self.class, offset);
                } else {
                    if run.bits != 0 {
                        // SAFETY: the caller's promise; it begins a word.
                        unsafe { self.put(run.first, run.bits) };
                    }
                    let (arena, index) = place_of(self.class, block);
                    // SAFETY: the first block of the word, in the same arena.
                    let first = unsafe { arena.cast::<u8>().add(FRONT + index / 64 * 64 * size) };
                    run = Run {
                        first,
                        bits: 1 << (index % 64),
                    };
                }
                block = next.cast();
            }
            if run.bits != 0 {
                // SAFETY: as above.
                unsafe { self.put(run.first, run.bits) };
            }
        }

        /// Puts a run back.
        ///
        /// # Safety
        /// They are free blocks of this stock's size that nobody else has; `first` begins a word.
        unsafe fn put(&mut self, first: *mut u8, bits: u64) {
            let (arena, index) = place_of(self.class, first);
            // SAFETY: arenas are aligned to their size, and begin with their bits; the lock is held.
            let state = unsafe { &mut *arena };
            debug_assert_eq!(state.free[index / 64] & bits, 0, "a block was given back twice");
            if state.count == 0 {
                self.roomy.extend(NonNull::new(arena));
            }
            state.free[index / 64] |= bits;
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
            let word = state.free.iter().position(|word| *word != 0);
            let word = word.expect("an arena with room has a free block");
            let bits = std::mem::take(&mut state.free[word]);
            let count = bits.count_ones() as usize;
            state.count -= count;
            self.free -= count;
            if state.count == 0 {
                self.roomy.pop();
            }
            self.publish();
            // SAFETY: the word's first block lies inside the arena.
            let first = unsafe {
                arena
                    .as_ptr()
                    .cast::<u8>()
                    .add(FRONT + word * 64 * SIZES[self.class])
            };
            Run { first, bits }
        }

        /// A fresh arena. Its blocks are not touched before they are used.
        #[cold]
        fn open(&mut self) -> NonNull<Arena> {
            let arena = system(ARENA_LAYOUT).cast::<Arena>();
            let count = per_arena(self.class);
            let mut free = [0; WORDS];
            for (index, word) in free.iter_mut().enumerate() {
                let left = count.saturating_sub(index * 64);
                *word = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
            }
            // SAFETY: fresh memory, large and aligned enough.
            unsafe { arena.write(Arena { free, count }) };
            self.roomy.push(arena);
            self.free += count;
            arena
        }

        fn publish(&self) {
            EXCESS[self.class].store(self.free.saturating_sub(floor(self.class)), Relaxed);
        }
    }

    /// The arena of a block, and its number there.
    fn place_of(class: usize, block: *mut u8) -> (*mut Arena, usize) {
        let arena = block.map_addr(|address| address & !(ARENA - 1));
        let index = index_of(class, block.addr() - arena.addr() - FRONT);
        (arena.cast(), index)
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
            let mut left = stock.free;
            stock.roomy.retain(|arena| {
                // SAFETY: an arena of this stock; the lock is held.
                let is_whole = unsafe { arena.as_ref() }.count == per_arena(class);
                let rest = left
                    .checked_sub(per_arena(class))
                    .filter(|rest| *rest >= floor(class));
                match rest {
                    Some(rest) if is_whole => {
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
            unsafe { dealloc(arena.as_ptr().cast(), ARENA_LAYOUT) };
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
        prefetch(block.wrapping_add(LINE));
        prefetch(block.map_addr(|address| address & !(ARENA - 1)));
    }

    /// Asks for a line that is about to be written.
    #[inline]
    fn prefetch(address: *const u8) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch is a hint; it reads nothing and faults on no address.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }
}
