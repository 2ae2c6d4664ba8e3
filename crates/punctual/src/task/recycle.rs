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
//! Three sizes; anything larger goes to the system's allocator. Under loom, shuttle and `--cfg punctual_system_alloc`
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

    /// One size's list of one thread: blocks that were used before, and a run of fresh ones not yet touched.
    struct List {
        head: *mut Free,
        length: usize,
        run: *mut u8,
        run_length: usize,
    }

    struct Lists(UnsafeCell<[List; SIZES.len()]>);

    crate::sync::local! {
        static LISTS: Lists = Lists(UnsafeCell::new(
            [const { List { head: null_mut(), length: 0, run: null_mut(), run_length: 0 } }; SIZES.len()],
        ));
    }

    impl Drop for Lists {
        fn drop(&mut self) {
            for (class, list) in self.0.get_mut().iter_mut().enumerate() {
                // What is left of a run becomes links like the rest: then the stock has one kind of thing.
                for index in 0..list.run_length {
                    // SAFETY: the run's blocks are this thread's, carved in a row and never given out.
                    unsafe {
                        let block = list.run.add(index * SIZES[class]).cast::<Free>();
                        block.write(Free { next: list.head });
                        list.head = block;
                    }
                }
                let length = list.length + list.run_length;
                if length > 0 {
                    give(
                        class,
                        Chain {
                            head: list.head,
                            length,
                        },
                    );
                }
            }
        }
    }

    /// Blocks linked to each other, on their way between a thread and the stock.
    struct Chain {
        head: *mut Free,
        length: usize,
    }

    /// One size's blocks that no thread holds, and the arenas they were carved from.
    struct Stock {
        chains: Vec<Chain>,
        free: usize,
        /// The arena that fresh blocks are carved from.
        arena: *mut Arena,
        class: usize,
    }

    // SAFETY: chains and arenas are owned by the stock while they are in it, whichever thread put them there.
    unsafe impl Send for Stock {}

    /// The first line of an arena.
    struct Arena {
        carved: usize,
        /// How many of its blocks a trim has met in the stock, and what it decided.
        met: usize,
        verdict: Verdict,
    }

    #[derive(PartialEq)]
    enum Verdict {
        Open,
        Kept,
        Gone,
    }

    const fn empty(class: usize) -> Lock<Stock> {
        Lock::new(Stock {
            chains: Vec::new(),
            free: 0,
            arena: null_mut(),
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

    /// One trimmer at a time: the walk's counts lie in the arenas.
    static TRIMMING: Lock<()> = Lock::new(());

    /// Free blocks the stock keeps through a trim: a quarter of a megabyte starts the next burst warm.
    const fn floor(class: usize) -> usize {
        256 * 1024 / SIZES[class]
    }

    const ARENA_LAYOUT: Layout = match Layout::from_size_align(ARENA, ARENA) {
        Ok(layout) => layout,
        Err(_) => panic!("an arena's size is its alignment and a power of two"),
    };

    /// How many blocks of this size an arena holds; its first line is the [`Arena`].
    const fn per_arena(class: usize) -> usize {
        (ARENA - LINE) / SIZES[class]
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
                if let Some(run) = NonNull::new(list.run).filter(|_| list.run_length > 0) {
                    // SAFETY: the run has at least one block left; one past its last is never read.
                    list.run = unsafe { list.run.add(SIZES[class]) };
                    list.run_length -= 1;
                    prefetch(list.run);
                    return run;
                }
                refill(class, list);
            }
        });
        // A thread whose locals are gone already (a task submitted from a destructor): one block from the system
        // would not come back through `release`, so take a batch's head from the stock the long way.
        mine.unwrap_or_else(|_| single(class))
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
            give(
                class,
                Chain {
                    head: block.as_ptr(),
                    length: 1,
                },
            );
        }
    }

    #[cold]
    fn refill(class: usize, list: &mut List) {
        TURNOVER.fetch_add(1, Relaxed);
        let mut stock = STOCK[class].lock();
        if let Some(chain) = stock.take() {
            list.head = chain.head;
            list.length = chain.length;
        } else {
            (list.run, list.run_length) = stock.carve(BATCH);
        }
    }

    #[cold]
    fn single(class: usize) -> NonNull<u8> {
        let mut stock = STOCK[class].lock();
        let Some(chain) = stock.take() else {
            return NonNull::new(stock.carve(1).0).expect("a carved block has an address");
        };
        let head = NonNull::new(chain.head).expect("a chain has a head");
        // SAFETY: the head of a chain taken out of the stock is a free block of the caller's.
        let next = unsafe { head.as_ref() }.next;
        if chain.length > 1 {
            stock.put(Chain {
                head: next,
                length: chain.length - 1,
            });
        }
        head.cast()
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
        give(class, Chain { head, length: BATCH });
    }

    /// Puts blocks into the stock; if that makes an excess that nobody has in view, somebody is roused to see it.
    fn give(class: usize, chain: Chain) {
        let excess = {
            let mut stock = STOCK[class].lock();
            stock.put(chain);
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
        fn put(&mut self, chain: Chain) {
            self.free += chain.length;
            self.chains.push(chain);
            self.publish();
        }

        fn take(&mut self) -> Option<Chain> {
            let chain = self.chains.pop()?;
            self.free -= chain.length;
            self.publish();
            Some(chain)
        }

        fn publish(&self) {
            EXCESS[self.class].store(self.free.saturating_sub(floor(self.class)), Relaxed);
        }

        /// Up to `count` fresh blocks in a row.
        fn carve(&mut self, count: usize) -> (*mut u8, usize) {
            let class = self.class;
            // SAFETY: `arena` is null or an arena of this stock, whose first line is initialised.
            let full = self.arena.is_null() || unsafe { (*self.arena).carved } == per_arena(class);
            if full {
                let arena = system(ARENA_LAYOUT).cast::<Arena>();
                // SAFETY: fresh memory, large and aligned enough.
                unsafe {
                    arena.write(Arena {
                        carved: 0,
                        met: 0,
                        verdict: Verdict::Open,
                    })
                };
                self.arena = arena.as_ptr();
            }
            // SAFETY: the arena has `per_arena - carved > 0` blocks left; the row stays inside it.
            unsafe {
                let count = count.min(per_arena(class) - (*self.arena).carved);
                let first = self
                    .arena
                    .cast::<u8>()
                    .add(LINE + (*self.arena).carved * SIZES[class]);
                (*self.arena).carved += count;
                (first, count)
            }
        }
    }

    /// Frees the arenas that lie in the stock as a whole, beyond what the floor keeps. The blocks are taken out of
    /// the stock for the time of the walk: whoever is in need meanwhile carves fresh ones and waits for nobody.
    fn trim_class(class: usize) {
        let (chains, current) = {
            let mut stock = STOCK[class].lock();
            if stock.free <= floor(class) {
                return;
            }
            stock.free = 0;
            (std::mem::take(&mut stock.chains), stock.arena)
        };
        for_each_block(&chains, |block| {
            // SAFETY: a block of the stock lies in a live arena, whose counts only the trimmer touches.
            unsafe { (*arena_of(block)).met += 1 };
        });
        let mut kept = 0;
        let mut rest: Vec<Chain> = Vec::new();
        let mut gone: Vec<*mut Arena> = Vec::new();
        for_each_block(&chains, |block| {
            let arena = arena_of(block);
            // SAFETY: as above. `carved` is read only of arenas that are not being carved from: the one that was
            // current is left out, and one that became current since then has no block in these chains. A gone
            // arena is freed after the walk, and all its blocks are here, so nobody uses them.
            unsafe {
                if (*arena).verdict == Verdict::Open {
                    let whole = arena != current && (*arena).met == (*arena).carved;
                    if whole && kept + (*arena).carved > floor(class) {
                        (*arena).verdict = Verdict::Gone;
                        gone.push(arena);
                    } else {
                        (*arena).verdict = Verdict::Kept;
                        kept += (*arena).met;
                    }
                }
                if (*arena).verdict == Verdict::Gone {
                    return;
                }
                match rest.last_mut() {
                    Some(chain) if chain.length < BATCH => {
                        block.write(Free { next: chain.head });
                        chain.head = block;
                        chain.length += 1;
                    }
                    _ => {
                        block.write(Free { next: null_mut() });
                        rest.push(Chain {
                            head: block,
                            length: 1,
                        });
                    }
                }
            }
        });
        for_each_block(&rest, |block| {
            // SAFETY: kept blocks lie in live arenas; the verdict is for this walk only.
            unsafe {
                (*arena_of(block)).met = 0;
                (*arena_of(block)).verdict = Verdict::Open;
            }
        });
        for arena in gone {
            // SAFETY: every block of it was in the stock and has been left out of `rest`.
            unsafe { dealloc(arena.cast(), ARENA_LAYOUT) };
        }
        let mut stock = STOCK[class].lock();
        stock.free += rest.iter().map(|chain| chain.length).sum::<usize>();
        stock.chains.append(&mut rest);
        // What is left lies scattered over arenas in use: trying again before something moves would find the same.
        EXCESS[class].store(0, Relaxed);
    }

    fn arena_of(block: *mut Free) -> *mut Arena {
        block.map_addr(|address| address & !(ARENA - 1)).cast()
    }

    /// Calls `f` with each block; `f` may overwrite the link of the block it is given.
    fn for_each_block(chains: &[Chain], mut f: impl FnMut(*mut Free)) {
        for chain in chains {
            let mut block = chain.head;
            for _ in 0..chain.length {
                // SAFETY: a chain has `length` links; read before `f` may change it.
                let next = unsafe { (*block).next };
                f(block);
                block = next;
            }
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
        let Some(_alone) = TRIMMING.try_lock() else { return };
        (0..SIZES.len()).for_each(trim_class);
    }

    /// Takes the stock's locks before a fork, so that no other thread holds one in the moment of the copy: in the child
    /// it would be held for ever.
    #[cfg(unix)]
    pub(crate) fn hold_for_fork() {
        TRIMMING.hold();
        JANITORS.hold();
        STOCK.iter().for_each(Lock::hold);
    }

    /// The other half of [`hold_for_fork`], in the parent and in the child.
    #[cfg(unix)]
    pub(crate) fn let_go_after_fork() {
        STOCK.iter().for_each(Lock::let_go);
        JANITORS.let_go();
        TRIMMING.let_go();
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
