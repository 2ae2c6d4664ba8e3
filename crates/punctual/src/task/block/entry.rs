//! Two of the three shares of a block: the task's own, and that of its references.
//!
//! In: a closure. Out: a block with its parties' shares; each is given up once, and the last one frees. (The third share is
//! the handle's.) The rules cited are those of [`block`](super).

#![allow(unsafe_code)]

use super::{Block, Header, Options, Origin, Payload, Table, Timer, drop_result, free};
use crate::sync::atomic::AtomicPtr;
use crate::sync::{Arc, Cell};
use crate::task::record::Moved;
use crate::task::state::{End, Share, Snapshot, State};
use crate::task::{discard, recycle};
use std::alloc::Layout;
use std::any::Any;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

/// The task's share of a block: what the queue holds, then a worker or an `Unrun`.
#[derive(Debug)]
pub(crate) struct Entry(NonNull<Header>);

// SAFETY: closure and value are `Send` (bound in `new`), the rest of the block is made for sharing.
unsafe impl Send for Entry {}

impl Entry {
    /// Moves a closure into a block.
    #[inline]
    pub(crate) fn new<F, T>(origin: Origin, with_handle: bool, options: Option<Options>, closure: F) -> Self
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let table = &Block::<(), F, T>::TABLE;
        // SAFETY: closure and value live as long as they like.
        unsafe { Self::make::<_, _, F, T>(table, (), (), origin, with_handle, options, closure) }
    }

    /// As [`Entry::new`] for a task that goes to the timer store.
    pub(crate) fn delayed<K: Timer, F, T>(
        origin: Origin,
        options: Option<Options>,
        timer: K,
        closure: F,
    ) -> Self
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let table = &Block::<K, F, T>::TABLE;
        // SAFETY: closure and value live as long as they like.
        let entry = unsafe { Self::make::<_, _, F, T>(table, timer, (), origin, true, options, closure) };
        entry.header().state.mark_delayed();
        if origin.class.is_viewed() {
            // It comes to its view when its time has come.
            entry.header().state.park();
        }
        entry
    }

    /// As [`Entry::new`] for a closure that borrows.
    ///
    /// # Safety
    /// What the closure and its value borrow outlives both: the caller waits until both have been dropped.
    pub(crate) unsafe fn scoped<F, T>(
        origin: Origin,
        with_handle: bool,
        options: Option<Options>,
        closure: F,
    ) -> Self
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let table = &Block::<(), F, T>::SCOPED_TABLE;
        // SAFETY: the caller's promise.
        unsafe { Self::make::<_, _, F, T>(table, (), (), origin, with_handle, options, closure) }
    }

    /// # Safety
    /// As [`Entry::scoped`]; `table` is one of the closure's two.
    #[inline]
    pub(super) unsafe fn make<K, W, F, T>(
        table: &'static Table,
        timer: K,
        waking: W,
        origin: Origin,
        with_handle: bool,
        options: Option<Options>,
        closure: F,
    ) -> Self
    where
        K: Timer,
        F: Send,
        T: Send,
    {
        let memory = recycle::acquire(Layout::new::<Block<K, F, T, W>>()).cast::<Block<K, F, T, W>>();
        let has_token = options.as_ref().is_some_and(|options| options.token.is_some());
        let state = State::new(with_handle, has_token);
        let link = match options {
            Some(options) => options.link(origin.home),
            None => origin.home.cast_mut(),
        };
        // SAFETY: `acquire` gives memory of this layout that nobody else knows.
        unsafe {
            memory.write(Block {
                header: Header {
                    state,
                    class: origin.class,
                    fork: origin.fork,
                    table,
                    link: AtomicPtr::new(link),
                    waker: Cell::new(MaybeUninit::uninit()),
                },
                timer: Cell::new(timer),
                waking,
                payload: Cell::new(Payload {
                    closure: ManuallyDrop::new(closure),
                }),
            });
        }
        Entry(memory.cast())
    }

    /// Takes the closure back out of a block that was never published, and frees the block.
    ///
    /// # Safety
    /// `F` and `T` are those of [`Entry::new`] (with `K` = `()`), `K` too those of [`Entry::delayed`], and no handle or
    /// reference was made.
    pub(crate) unsafe fn unmake<K: Timer, F, T>(self) -> F {
        // SAFETY: the caller's promise.
        unsafe { self.unmake_as::<K, F, T, ()>() }
    }

    /// # Safety
    /// As [`Entry::unmake`]; `W` too is the block's.
    pub(super) unsafe fn unmake_as<K: Timer, F, T, W>(self) -> F {
        // SAFETY: unpublished, so the submitter is alone with the block (rule 2); the end of its life is here.
        unsafe {
            let closure =
                Block::<K, F, T, W>::payload(self.0, |payload| ManuallyDrop::take(&mut (*payload).closure));
            free(self.0, self.header().state.load());
            closure
        }
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the entry is a share, so the block lives.
        unsafe { self.0.as_ref() }
    }

    /// For the handle that shares the block.
    pub(crate) fn pointer(&self) -> NonNull<Header> {
        self.0
    }

    pub(crate) fn into_raw(self) -> NonNull<Header> {
        self.0
    }

    /// # Safety
    /// `pointer` came from [`Entry::into_raw`], and this is its one return.
    pub(crate) unsafe fn from_raw(pointer: NonNull<Header>) -> Self {
        Entry(pointer)
    }

    /// Whether it is a future that was polled before.
    pub(crate) fn is_begun(&self) -> bool {
        // SAFETY: the entry is a share.
        unsafe { Header::is_begun(self.0) }
    }

    /// A reference to a task that waits, for somebody who keeps its record where it is; none to one that borrows.
    pub(crate) fn refer(&self) -> Option<Arc<Reference>> {
        // SAFETY: the entry is a share.
        (!self.header().is_scoped()).then(|| unsafe { Reference::of(self.0) })
    }

    /// Whether a place in a view's line stands for no task any more.
    pub(crate) fn is_dead_in_line(&self) -> bool {
        self.header().state.load().is_claimed() && !self.is_begun()
    }

    /// Runs the closure; its value or panic stays in the block. One that was taken back is not run.
    ///
    /// # Safety
    /// The caller won the claim and has not run or dropped the closure yet.
    #[inline]
    pub(crate) unsafe fn run(&self) -> End {
        // SAFETY: the caller's promise is rule 2.
        unsafe { (self.header().table.run)(self.0) }
    }

    /// Drops the closure instead of running it; with a payload, as if it had panicked.
    ///
    /// # Safety
    /// As [`Entry::run`].
    pub(crate) unsafe fn decline(&self, panic: Option<Box<dyn Any + Send>>) -> End {
        if !self.header().begin_body() {
            // Taken back: closure, payload and outcome are the canceller's.
            if let Some(panic) = panic {
                discard(panic);
            }
            return End::Cancelled;
        }
        // SAFETY: the caller's promise is rule 2.
        unsafe { Header::drop_closure(self.0) };
        match panic {
            // SAFETY: the closure is gone, the task is not resolved yet.
            Some(panic) => unsafe {
                (self.header().table.put_panic)(self.0, panic);
                End::Panicked
            },
            None => End::Cancelled,
        }
    }

    /// Drops the value or panic that [`Entry::run`] left and nobody can take any more (rule 3, last sentence).
    ///
    /// # Safety
    /// The caller ran the closure, got `end`, and a canceller had resolved the task first.
    pub(crate) unsafe fn drop_result(&self, end: End) {
        // SAFETY: the caller's promise.
        unsafe { drop_result(self.0, end) };
    }

    /// Gives up the task's share.
    pub(crate) fn let_go(self) {
        if let Share::Last(last) = self.header().state.drop_task() {
            // SAFETY: the last party frees.
            unsafe { free(self.0, last) };
        }
    }

    /// Gives up what an outdated record holds: a clone of the task's reference, left to it by
    /// [`Reference::leave_to_record`].
    pub(crate) fn let_go_outdated(self) {
        let reference = self.header().side().and_then(|side| {
            let more = side.more.lock();
            more.reference.upgrade()
        });
        let Some(reference) = reference else {
            unreachable!("an outdated record holds a reference")
        };
        let left = Arc::as_ptr(&reference);
        // SAFETY: `leave_to_record` forgot one clone for each record that became outdated, and this is one of them.
        drop(unsafe { Arc::from_raw(left) });
        drop(reference);
    }

    /// For the runner that left in the same step as it resolved ([`State::resolve`] with `leave`): frees if it was
    /// the last, and touches nothing otherwise.
    ///
    /// # Safety
    /// `after` is the reading that step gave, and it includes the task's departure.
    #[inline]
    pub(crate) unsafe fn left(self, after: Snapshot) {
        if after.is_everyone_gone() {
            // SAFETY: the step saw all parties gone, so no other will free.
            unsafe { free(self.0, after) };
        }
    }
}

/// The share that all clones of a `TaskRef` hold together.
pub(crate) struct Reference(NonNull<Header>);

// SAFETY: a reference reaches neither closure nor value; dropping a closure by cancelling it, or a value by being the
// last to let go, needs `Send`, which every submitted closure and value is.
unsafe impl Send for Reference {}
// SAFETY: as above; what it reaches works through atomics and locks.
unsafe impl Sync for Reference {}

impl Reference {
    /// The task may have ended, and its outcome be fixed or not: any share will do, also one that is about to be given up.
    ///
    /// # Safety
    /// A share of the block, the caller's or one that the caller keeps from going, is there until this returns.
    pub(crate) unsafe fn of(block: NonNull<Header>) -> Arc<Self> {
        // SAFETY: the caller's promise.
        let header = unsafe { block.as_ref() };
        let mut more = header.side_or_make().more.lock();
        if let Some(reference) = more.reference.upgrade() {
            return reference;
        }
        header.state.add_reference();
        if header.class.is_future() {
            // SAFETY: a future's block, and the caller's promise.
            unsafe { Header::one_more(block) };
        }
        let reference = Arc::new(Reference(block));
        more.reference = Arc::downgrade(&reference);
        reference
    }

    pub(crate) fn pointer(&self) -> NonNull<Header> {
        self.0
    }

    /// The task gets a new record: the one it has becomes outdated and holds a clone of this from now on, and what it held,
    /// the task's share, is the new one's. With both locks of its room held, and the move noted in its state.
    pub(crate) fn leave_to_record(self: &Arc<Self>) -> Moved {
        let turn = self.header().next_turn();
        std::mem::forget(self.clone());
        // The share changes hands: the old record no longer lets go of it.
        Moved::new(Entry(self.0), turn)
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the reference is a share, so the block lives.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        if self.header().class.is_future() {
            // SAFETY: a future's block, of which the reference is a share.
            unsafe { Header::one_less(self.0) };
        }
        if let Share::Last(last) = self.header().state.drop_reference() {
            // SAFETY: the last party frees.
            unsafe { free(self.0, last) };
        }
    }
}
