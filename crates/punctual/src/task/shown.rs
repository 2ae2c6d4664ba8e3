//! What a thread runs at this moment, where others can see it.
//!
//! In: a worker that begins and ends tasks. Out: for whoever looks, references to those it is in the middle of, one inside
//! the other, and the names of closures that have no handle.
//!
//! **Why a block that is looked at is there.** A worker holds the share of the task it runs and gives it up when the body has
//! ended; then the block may be freed. So a worker first *hides* its task and then reads whether somebody looks; who looks
//! says so first and reads the word then, with the two halves of an [asymmetric fence](crate::sync::asymmetric) in
//! between. Either the one who looks sees that the task is hidden and leaves it alone, or the worker sees that somebody
//! looks, and waits until he has done: he holds a lock from before he said so. The same goes for the frames of tasks that
//! run inside others, which lie on the worker's stack. Nobody who looks runs anybody's code, so the wait is short. The
//! models are `a_task_that_ends_while_somebody_looks` and `a_nested_task_that_ends_while_somebody_looks`.
//!
//! A task of a scope is never referred to: what it borrows may be gone before the reference is.

#![allow(unsafe_code)]

#[cfg(all(test, loom))]
mod models;

use super::block::{Header, Reference};
use super::record::Table;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicBool, AtomicPtr};
use crate::sync::process::generation;
use crate::sync::{Arc, Lock, asymmetric};
use std::ptr::{NonNull, null_mut};

/// The word is a closure's table.
const CLOSURE: usize = 1;
/// The task has ended, or is about to: its own thread may use the block, nobody else.
const HIDDEN: usize = 2;

/// What one frame runs, in one word.
#[derive(Debug)]
pub(crate) struct Shown {
    word: AtomicPtr<()>,
    /// The frame around this one, of a nested one. Written before it is shown.
    outer: AtomicPtr<Shown>,
}

/// The same, for the thread itself.
#[derive(Clone, Copy)]
pub(super) enum Running {
    Nothing,
    Closure(Option<&'static Table>),
    Block(NonNull<Header>),
}

impl Shown {
    pub(crate) fn new() -> Self {
        Shown {
            word: AtomicPtr::new(null_mut()),
            outer: AtomicPtr::new(null_mut()),
        }
    }

    #[inline]
    pub(super) fn begin_closure(&self, table: Option<&'static Table>) {
        let table = table.map_or(null_mut(), |table| std::ptr::from_ref(table).cast_mut());
        // Relaxed: a reader that finds a closure here reads nothing but its table, which is static.
        self.word
            .store(table.map_addr(|address| address | CLOSURE).cast(), Relaxed);
    }

    /// The caller keeps the block's task share until it has called [`Stage::hide`].
    #[inline]
    pub(super) fn begin_block(&self, block: NonNull<Header>) {
        // Release pairs with the acquire in `Stage::look`: the block is seen as it was made.
        self.word.store(block.as_ptr().cast(), Release);
    }

    #[inline]
    pub(super) fn end(&self) {
        self.word.store(null_mut(), Relaxed);
    }

    /// For the thread whose frame it is.
    #[inline]
    pub(super) fn running(&self) -> Running {
        decode(self.word.load(Relaxed))
    }
}

#[inline]
fn decode(word: *mut ()) -> Running {
    let address = word.addr();
    if address & CLOSURE != 0 {
        let table = word.map_addr(|address| address & !CLOSURE).cast::<Table>();
        // SAFETY: `begin_closure` put a static table there, or nothing.
        return Running::Closure(unsafe { table.as_ref() });
    }
    match NonNull::new(word.map_addr(|address| address & !HIDDEN).cast()) {
        Some(block) => Running::Block(block),
        None => Running::Nothing,
    }
}

/// Where a thread's tasks are seen: its own frame, and those nested in it.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(super) base: Shown,
    /// The innermost nested frame, if there is one.
    top: AtomicPtr<Shown>,
    /// Somebody looks, and holds `gaze`.
    is_looked_at: AtomicBool,
    gaze: Lock<()>,
    /// Of the process in which it is looked at.
    generation: u16,
}

/// A task that somebody was seen to run.
pub(crate) struct Sight {
    /// Of one with a handle.
    pub(crate) task: Option<Arc<Reference>>,
    pub(crate) type_name: &'static str,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Stage {
            base: Shown::new(),
            top: AtomicPtr::new(null_mut()),
            is_looked_at: AtomicBool::new(false),
            gaze: Lock::new(()),
            generation: generation(),
        }
    }

    /// The body of the task in `shown`, a frame of this thread, has ended: nobody looks at it any more when this returns.
    #[inline]
    pub(super) fn hide(&self, shown: &Shown) {
        let word = shown.word.load(Relaxed);
        shown
            .word
            .store(word.map_addr(|address| address | HIDDEN), Relaxed);
        self.after_hiding();
    }

    #[inline]
    fn after_hiding(&self) {
        asymmetric::light();
        // Acquire pairs with the release in `look`: of one that has ended, what it did is over.
        if self.is_looked_at.load(Acquire) {
            self.wait_until_seen();
        }
    }

    #[cold]
    fn wait_until_seen(&self) {
        // In a forked child whoever looked is not there, and would be waited for in vain.
        if self.generation == generation() {
            drop(self.gaze.lock());
        }
    }

    /// Shows the frame of a task inside the others, until [`Stage::leave`].
    pub(super) fn enter(&self, nested: &Shown) {
        nested.outer.store(self.top.load(Relaxed), Relaxed);
        self.top.store(std::ptr::from_ref(nested).cast_mut(), Release);
    }

    /// The innermost frame is about to be gone.
    pub(super) fn leave(&self, nested: &Shown) {
        self.top.store(nested.outer.load(Relaxed), Relaxed);
        self.after_hiding();
    }

    /// What the thread runs, from the outermost in. Nothing where the system has no way to look.
    pub(crate) fn look(&self) -> Vec<Sight> {
        let gaze = self.gaze.lock();
        self.is_looked_at.store(true, Relaxed);
        let mut seen = Vec::new();
        if asymmetric::heavy() {
            seen.extend(sight(&self.base));
            let mut nested = Vec::new();
            let mut next = self.top.load(Acquire);
            while let Some(shown) = NonNull::new(next) {
                // SAFETY: it was the innermost frame, or around one, after the heavy fence: whoever leaves it waits for
                // the lock that is held here.
                let shown = unsafe { shown.as_ref() };
                nested.extend(sight(shown));
                next = shown.outer.load(Relaxed);
            }
            seen.extend(nested.into_iter().rev());
        }
        self.is_looked_at.store(false, Release);
        drop(gaze);
        seen
    }
}

/// Under the lock and after the heavy fence of [`Stage::look`].
fn sight(shown: &Shown) -> Option<Sight> {
    let word = shown.word.load(Acquire);
    if word.addr() & HIDDEN != 0 {
        return None;
    }
    match decode(word) {
        Running::Nothing => None,
        Running::Closure(table) => Some(Sight {
            task: None,
            type_name: table.map_or("nothing", |table| (table.type_name)()),
        }),
        Running::Block(block) => {
            // SAFETY: not hidden after the heavy fence, so its worker holds the task's share until it gets the lock.
            let header = unsafe { block.as_ref() };
            let task = (!header.is_scoped()).then(|| {
                // SAFETY: as above: the worker's share is there while this one is made. The body may have ended: that is no
                // matter to a reference.
                unsafe { Reference::of(block) }
            });
            Some(Sight {
                task,
                type_name: header.type_name(),
            })
        }
    }
}
