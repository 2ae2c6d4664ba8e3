//! A future in a block: made, polled, woken, dropped.
//!
//! In: a future. Out: a block whose task is to poll it; and the [`Waker`] that its polls hand out, which is the block's
//! address. The future never moves: it lies in the block from its spawn until it is dropped there, which is when its
//! [`Waking`] ends. What a wake then needs, a record in the queue, it asks of the task's home. The rules cited are those of
//! [`block`](super).

#![allow(unsafe_code)]

use super::{Block, Entry, Header, Options, Origin, Table, Timer, free};
use crate::task::home::HomeRef;
use crate::task::state::{End, Share};
use crate::task::waking::{Gone, Waking};
use crate::task::{contain, parker, recycle};
use std::alloc::Layout;
use std::any::Any;
use std::future::Future;
use std::mem::{ManuallyDrop, offset_of};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

type Panic = Box<dyn Any + Send>;

impl Entry {
    /// Moves a future into a block. `K` is what a delayed one keeps beside it.
    pub(crate) fn future<K: Timer, F>(
        origin: Origin,
        with_handle: bool,
        options: Option<Options>,
        timer: K,
        future: F,
    ) -> Self
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        debug_assert!(origin.class.is_future(), "its class must say so");
        let table = &Block::<K, F, F::Output, Waking>::FUTURE;
        let waking = Waking::new(with_handle);
        // SAFETY: future and value live as long as they like.
        let entry = unsafe {
            Self::make::<_, _, F, F::Output>(table, timer, waking, origin, with_handle, options, future)
        };
        // Rule 6: held by those who could wake it, until the last of them goes after its end.
        entry.header().state.add_reference();
        if K::AXIS.is_some() {
            entry.header().state.mark_delayed();
            if origin.class.is_viewed() {
                entry.header().state.park();
            }
        }
        entry
    }

    /// As [`Entry::unmake`].
    ///
    /// # Safety
    /// As there: `K` and `F` are those of [`Entry::future`].
    pub(crate) unsafe fn unmake_future<K: Timer, F: Future>(self) -> F {
        // SAFETY: the caller's promise.
        unsafe { self.unmake_as::<K, F, F::Output, Waking>() }
    }

    /// Polls the future once; its value or panic stays in the block. `None`: it is not ready.
    ///
    /// # Safety
    /// The caller won the claim, or was given the record of a woken future, and has begun its poll.
    pub(crate) unsafe fn poll(&self) -> Option<End> {
        // SAFETY: the caller's promise is rules 2 and 6.
        unsafe { (self.header().table.poll)(self.pointer()) }
    }
}

impl<K: Timer, F: Future> Block<K, F, F::Output, Waking> {
    const FUTURE: Table = Table {
        layout: Layout::new::<Self>(),
        size: recycle::Size::of(Layout::new::<Self>()),
        // Whether or not it does: its place in the books of those who could wake it is given up with it.
        holds_something: true,
        is_scoped: false,
        type_name: std::any::type_name::<F>,
        run: Self::drive,
        drop_closure: Self::drop_future,
        take_value: Self::take_value,
        take_panic: Self::take_panic,
        peek_panic: Self::peek_panic,
        drop_value: Self::drop_value,
        poll: Self::poll,
        waking: offset_of!(Self, waking),
        axis: K::AXIS,
        #[cfg(loom)]
        delay: Self::delay,
        put_panic: Self::put_panic,
    };

    /// # Safety
    /// As [`Entry::poll`].
    unsafe fn poll(header: NonNull<Header>) -> Option<End> {
        // SAFETY: the vtable's functions take this address for what it is. Not dropped: it was not counted either, and the
        // poller's own share outlives the poll.
        let waker = unsafe { ManuallyDrop::new(Waker::from_raw(raw(header))) };
        // SAFETY: the caller's promise.
        unsafe { Self::poll_with(header, &waker) }
    }

    /// # Safety
    /// As [`Entry::poll`].
    unsafe fn poll_with(header: NonNull<Header>, waker: &Waker) -> Option<End> {
        let mut context = Context::from_waker(waker);
        // SAFETY: the payload is the poller's (rules 2 and 6), and the future is still there. It is not moved before it is
        // dropped: the block does not move, and nobody takes the future out once it was polled.
        let polled = catch_unwind(AssertUnwindSafe(|| unsafe {
            Self::payload(header, |payload| {
                let future: &mut F = &mut (*payload).closure;
                Pin::new_unchecked(future).poll(&mut context)
            })
        }));
        let result = match polled {
            Ok(Poll::Pending) => return None,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(panic) => Err(panic),
        };
        // SAFETY: as above, and this is its end.
        let dropped = unsafe { Self::end_future(header) };
        let result = match (result, dropped) {
            (Ok(value), Err(panic)) => {
                contain(|| drop(value));
                Err(panic)
            }
            (result, _) => result,
        };
        // SAFETY: the future is gone, the payload is the runner's until it resolves (rule 3).
        Some(unsafe { Self::put_result(header, result) })
    }

    /// To its end on this thread, which sleeps meanwhile.
    ///
    /// # Safety
    /// As `Block::run`.
    unsafe fn drive(header: NonNull<Header>) -> End {
        // SAFETY: the block lives.
        let clock = unsafe { header.as_ref() }.clock();
        parker::drive(&clock, |context| {
            // SAFETY: the caller won the claim, and nobody else polls it: it has no waker that leads here.
            match unsafe { Self::poll_with(header, context.waker()) } {
                Some(end) => Poll::Ready(end),
                None => Poll::Pending,
            }
        })
    }

    /// Drops the future where it lies, which ends its waking.
    ///
    /// # Safety
    /// The payload is the caller's, who holds a share, and the future is still there.
    unsafe fn end_future(header: NonNull<Header>) -> Result<(), Panic> {
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the caller's promise. Also if it panics it is not touched again.
            unsafe { Self::payload(header, |payload| ManuallyDrop::drop(&mut (*payload).closure)) };
        }));
        // SAFETY: the caller holds a share of this block, which is a future's.
        unsafe {
            if Header::waking(header).end() {
                // The caller's own share is left.
                let _ = header.as_ref().state.drop_reference();
            }
        }
        dropped
    }

    /// # Safety
    /// As `end_future`.
    unsafe fn drop_future(header: NonNull<Header>) {
        // SAFETY: the caller's promise.
        if let Err(panic) = unsafe { Self::end_future(header) } {
            crate::task::discard(panic);
        }
    }
}

impl Header {
    /// The waking of a future.
    ///
    /// # Safety
    /// The block is a future's, and lives for as long as the answer is used.
    pub(crate) unsafe fn waking<'a>(block: NonNull<Header>) -> &'a Waking {
        // SAFETY: the caller's promise; the table says where it lies.
        unsafe {
            let offset = block.as_ref().table.waking;
            debug_assert!(offset > 0, "asked of a closure");
            block.byte_add(offset).cast::<Waking>().as_ref()
        }
    }

    /// Whether it is a future that has been polled, and is not being polled.
    ///
    /// # Safety
    /// The block lives.
    pub(crate) unsafe fn is_suspended(block: NonNull<Header>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { block.as_ref().class.is_future() && Header::waking(block).is_suspended() }
    }

    /// Whether it is a future that has been polled: its record, or its place in a line, is then that of a woken one.
    ///
    /// # Safety
    /// The block lives.
    pub(crate) unsafe fn is_begun(block: NonNull<Header>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { block.as_ref().class.is_future() && Header::waking(block).is_begun() }
    }

    /// Wakes a future: it is polled again, soon.
    ///
    /// # Safety
    /// The block is a future's, and lives until this returns.
    pub(crate) unsafe fn wake(block: NonNull<Header>) {
        // SAFETY: the caller's promise.
        if unsafe { Header::waking(block) }.wake() {
            // SAFETY: it rested and is this thread's now.
            unsafe { Header::give_record(block) };
        }
    }

    /// # Safety
    /// The future rested, and the caller won the step that ended this: with it came the task's share.
    unsafe fn give_record(block: NonNull<Header>) {
        // SAFETY: the task is unsettled until it is polled again, so its home is there.
        unsafe {
            let home = HomeRef::own(block.as_ref().home());
            home.woken(Entry::from_raw(block));
        }
    }

    /// One more who could wake a future: a waker's clone, a reference.
    ///
    /// # Safety
    /// The block is a future's, and something that stays until this returns holds it.
    pub(super) unsafe fn one_more(block: NonNull<Header>) {
        // SAFETY: the caller's promise.
        if unsafe { Header::waking(block) }.come() {
            // Before this one can go, so the share is there when it does. The caller's own keeps the block until then.
            // SAFETY: the caller's promise.
            unsafe { block.as_ref() }.state.add_reference();
        }
    }

    /// One who could have woken a future goes: a waker, the handle, a reference.
    ///
    /// # Safety
    /// The block is a future's; the caller was counted, and if it is no waker it holds a share of its own.
    pub(crate) unsafe fn one_less(block: NonNull<Header>) {
        // SAFETY: the caller was counted, so the block lives until this step.
        match unsafe { Header::waking(block) }.go() {
            Gone::OthersRemain => {}
            // SAFETY: the step above was the winner's.
            Gone::Unwanted => unsafe { Header::give_record(block) },
            Gone::Last => {
                // SAFETY: rule 6: the share they held together was left to this one.
                if let Share::Last(last) = unsafe { block.as_ref() }.state.drop_reference() {
                    // SAFETY: the last party frees.
                    unsafe { free(block, last) };
                }
            }
        }
    }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

fn raw(block: NonNull<Header>) -> RawWaker {
    RawWaker::new(block.as_ptr().cast_const().cast(), &VTABLE)
}

/// What a waker's data is. The functions below are called by a [`Waker`] only, which was counted, or belongs to a poll.
fn block_of(data: *const ()) -> NonNull<Header> {
    NonNull::new(data.cast::<Header>().cast_mut()).expect("a waker is a block's address")
}

unsafe fn clone(data: *const ()) -> RawWaker {
    let block = block_of(data);
    // SAFETY: the waker that is cloned keeps the block: it is counted, or the poll's.
    unsafe { Header::one_more(block) };
    raw(block)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker is counted until the second of these.
    unsafe {
        Header::wake(block_of(data));
        Header::one_less(block_of(data));
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker keeps the block.
    unsafe { Header::wake(block_of(data)) };
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the waker was counted.
    unsafe { Header::one_less(block_of(data)) };
}
