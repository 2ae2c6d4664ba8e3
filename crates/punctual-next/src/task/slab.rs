//! Recycled memory for cells: three size classes, a magazine of free cells for each thread, a shared stock behind them.
//!
//! A thread that frees cells for another one to allocate fills its magazine and moves half of it to the stock at a time, so the
//! lock of the stock is taken once for 64 cells. Cells of a class are cut from chunks, whose addresses rise as a queue
//! fills, which is what the processor's prefetcher likes. Larger layouts go to the allocator.
//!
//! With `--cfg punctual_system_alloc`, and in the models, each cell is an allocation of its own, so that a sanitizer sees every
//! use after free.

#![allow(unsafe_code)]

use std::alloc::Layout;
use std::ptr::NonNull;

/// Memory for one cell.
#[inline(always)]
pub(crate) fn allocate(layout: Layout) -> NonNull<u8> {
    imp::allocate(layout)
}

/// Gives a cell's memory back.
///
/// # Safety
/// From [`allocate`] with this layout, once.
#[inline]
pub(crate) unsafe fn free(cell: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { imp::free(cell, layout) }
}

fn from_system(layout: Layout) -> NonNull<u8> {
    // SAFETY: no cell is of size zero: each begins with a header.
    let memory = unsafe { std::alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| std::alloc::handle_alloc_error(layout))
}

#[cfg(any(loom, shuttle, punctual_system_alloc))]
mod imp {
    use super::{Layout, NonNull, from_system};

    pub(super) fn allocate(layout: Layout) -> NonNull<u8> {
        from_system(layout)
    }

    pub(super) unsafe fn free(cell: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { std::alloc::dealloc(cell.as_ptr(), layout) }
    }
}

#[cfg(not(any(loom, shuttle, punctual_system_alloc)))]
mod imp {
    use super::{Layout, NonNull, from_system};
    use crate::sync::mutex::{Mutex, Rank};
    use crate::sync::{Padded, local, prefetch_for_write};
    use std::cell::UnsafeCell;

    /// Sizes of the classes. Chunks begin at a cache line, so a cell of 64 bytes never lies on two.
    const CLASSES: [usize; 3] = [64, 96, 128];
    const ALIGN: usize = 32;
    const LINE: usize = 64;
    /// Cells that move between a magazine and the stock at a time.
    const HALF: usize = 64;
    /// Of the magazine, the cell this far below the top is wanted soon.
    const AHEAD: usize = 10;

    #[inline(always)]
    const fn class_of(layout: Layout) -> Option<usize> {
        if layout.align() > ALIGN {
            return None;
        }
        match layout.size() {
            ..=64 => Some(0),
            65..=96 => Some(1),
            97..=128 => Some(2),
            _ => None,
        }
    }

    struct Magazine {
        count: usize,
        cells: [*mut u8; 2 * HALF],
    }

    struct Stock(Vec<*mut u8>);

    // SAFETY: a free cell belongs to the stock alone.
    unsafe impl Send for Stock {}

    static STOCK: [Padded<Mutex<Stock>>; 3] =
        [const { Padded(Mutex::new(Rank::Stock, Stock(Vec::new()))) }; 3];

    struct Local(UnsafeCell<[Magazine; 3]>);

    local! {
        static LOCAL: Local = Local(UnsafeCell::new(
            [const { Magazine { count: 0, cells: [std::ptr::null_mut(); 2 * HALF] } }; 3],
        ));
    }

    impl Drop for Local {
        fn drop(&mut self) {
            for (class, magazine) in self.0.get_mut().iter_mut().enumerate() {
                let cells = &magazine.cells[..magazine.count];
                STOCK[class].lock().0.extend_from_slice(cells);
                magazine.count = 0;
            }
        }
    }

    /// Always inlined: the class is a constant at each call.
    #[inline(always)]
    pub(super) fn allocate(layout: Layout) -> NonNull<u8> {
        let Some(class) = class_of(layout) else {
            return from_system(layout);
        };
        let recycled = LOCAL.try_with(|local| {
            // SAFETY: of this thread alone, and nothing in this section calls back into this module.
            let magazine = unsafe { &mut (&mut *local.0.get())[class] };
            if magazine.count == 0 {
                refill(magazine, class);
            }
            magazine.count -= 1;
            let wanted_soon = magazine.cells[magazine.count.saturating_sub(AHEAD)];
            prefetch_for_write(wanted_soon);
            if CLASSES[class] > LINE {
                prefetch_for_write(wanted_soon.wrapping_add(LINE));
            }
            magazine.cells[magazine.count]
        });
        // While the thread's own locals are dropped, the stock serves it.
        let cell = recycled.unwrap_or_else(|_| {
            let mut stock = STOCK[class].lock();
            stock
                .0
                .pop()
                .unwrap_or_else(|| from_system(layout_of(class, 1)).as_ptr())
        });
        NonNull::new(cell).expect("a magazine holds addresses of cells")
    }

    /// # Safety
    /// As the function of the module.
    #[inline]
    pub(super) unsafe fn free(cell: NonNull<u8>, layout: Layout) {
        let Some(class) = class_of(layout) else {
            // SAFETY: larger ones come from the allocator with this layout.
            return unsafe { std::alloc::dealloc(cell.as_ptr(), layout) };
        };
        let kept = LOCAL.try_with(|local| {
            // SAFETY: as in `allocate`.
            let magazine = unsafe { &mut (&mut *local.0.get())[class] };
            if magazine.count == magazine.cells.len() {
                give(magazine, class);
            }
            magazine.cells[magazine.count] = cell.as_ptr();
            magazine.count += 1;
        });
        if kept.is_err() {
            STOCK[class].lock().0.push(cell.as_ptr());
        }
    }

    fn layout_of(class: usize, cells: usize) -> Layout {
        Layout::from_size_align(CLASSES[class] * cells, LINE).expect("a few kilobytes")
    }

    #[cold]
    fn refill(magazine: &mut Magazine, class: usize) {
        let mut stock = STOCK[class].lock();
        let first = stock.0.len().saturating_sub(HALF);
        for cell in stock.0.drain(first..) {
            magazine.cells[magazine.count] = cell;
            magazine.count += 1;
        }
        drop(stock);
        if magazine.count == 0 {
            let chunk = from_system(layout_of(class, HALF)).as_ptr();
            // The lowest address on top.
            for cell in (0..HALF).rev() {
                magazine.cells[magazine.count] = chunk.wrapping_add(cell * CLASSES[class]);
                magazine.count += 1;
            }
        }
    }

    #[cold]
    fn give(magazine: &mut Magazine, class: usize) {
        // The oldest ones: what stays is still in this core's cache. In reverse, so that the stock gives them out as they came.
        let oldest = magazine.cells[..HALF].iter().rev();
        STOCK[class].lock().0.extend(oldest);
        magazine.cells.copy_within(HALF.., 0);
        magazine.count -= HALF;
    }
}
