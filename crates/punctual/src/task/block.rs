//! One recycled piece of memory for a task with a handle: state, waker, closure, and later its result.
//!
//! ```text
//!  64 bytes, on a line of its own
//!  | state 4 | class 2 | fork 2 | table 8 | link 8 | waker 16 | closure, then value or panic: 24 |
//! ```
//!
//! In: a closure `FnOnce() -> T`. Out: its [`End`], and the value for whoever holds the handle. Larger closures and
//! results get larger blocks. Up to three parties hold a block: the task's side as an [`Entry`], the handle, and
//! [`Reference`]s; [`State`] knows who is left, and the last one frees.
//!
//! Who may touch what, and when (cited below by number):
//! 1. `class`, `fork`, `table`: written before the block is shared, then read by anybody.
//! 2. `payload` as a closure: by the submitter until the entry is published, then by the winner of the claim. From a worker that
//!    has claimed a task which borrows, and has not begun its body, a canceller may take it back ([`State::take_back`]).
//! 3. `payload` as a result: written by the winner of the claim before `resolve`; after `RESOLVED` with the end
//!    `Finished` or `Panicked` it belongs to the handle, which takes it, or ends it before it lets go
//!    ([`Header::end_result`]); to the runner, which ends it, if the handle was gone in that step; and to the last party, if that
//!    is one of these two and frees in its one step. So no reference and no waker keeps it. If a canceller resolved first, it
//!    stays the runner's, which drops it. A task that borrows is resolved only when its closure is gone, by the
//!    party that ran or dropped it: the lender waits for the outcome, and needs to wait for nothing else.
//! 4. `waker`: written by the handle while `WAKER` is clear; while it is set, read by the handle and the resolver;
//!    dropped by whoever frees.
//! 6. `waking`: of a future, by everybody, see [`waking`](super::waking). Those who could wake it hold a share of the block
//!    together, counted as a reference: until its end, and from then on while there is one of them. A future stays where it is
//!    until it is dropped there; between two polls its payload has no owner, and the worker that polls it next got it through that
//!    word.
//! 5. `link`: the home, or a tagged side record; changes once, from the former to the latter. The home of a view's task
//!    is a share of the view, given back by whoever frees.

#![allow(unsafe_code)]

mod entry;
mod future;
mod header;

use super::decorate::Contexts;
use super::home::HomeRef;
use super::record::Arrival;
use super::recycle;
use super::side::Side;
use super::state::{End, Snapshot, State};
use super::view::View;
use super::watch::Limits;
use super::{Class, Priority, Token, contain, discard};
use crate::sync::Cell;
use crate::sync::atomic::AtomicPtr;
use crate::sync::atomic::Ordering::Acquire;
use crate::time::{Axis, Clock, Tick, TimerKey};
use std::alloc::Layout;
use std::any::Any;
use std::borrow::Cow;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr::{self, NonNull};
use std::task::Waker;
use std::time::Duration;

pub(crate) use entry::{Entry, Reference};

/// The part of a block that does not depend on the closure.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) state: State,
    pub(crate) class: Class,
    /// The process generation the task was made in (see `pool::fork`): a forked child's copy answers with an error.
    pub(crate) fork: u16,
    table: &'static Table,
    link: AtomicPtr<HomeRef>,
    waker: Cell<MaybeUninit<Waker>>,
}

/// `K` is the [`Delay`] or [`Appointment`] of a delayed task; nothing for all others. `W` is the [`Waking`](super::waking::Waking) of a future.
#[repr(C)]
struct Block<K, F, T, W = ()> {
    header: Header,
    timer: Cell<K>,
    waking: W,
    payload: Cell<Payload<F, T>>,
}

/// What a block may keep beside its closure.
pub(crate) trait Timer: Send + 'static {
    /// Whether there is anything to be found, and by which clock it goes. If there is, the type is laid out as a
    /// [`Delay`].
    const AXIS: Option<Axis>;
}

impl Timer for () {
    const AXIS: Option<Axis> = None;
}

impl Timer for Delay {
    const AXIS: Option<Axis> = Some(Axis::Ticks);
}

impl Timer for Appointment {
    const AXIS: Option<Axis> = Some(Axis::Wall);
}

/// When something is due, and where it lies in the timer store: what a delayed task keeps beside its closure.
#[repr(C)]
pub(crate) struct Delay {
    /// Written before the block is shared, then read by anybody.
    pub(crate) when: Tick,
    /// Written and read under the timer store's lock, as is `timer_key`.
    pub(crate) sequence: u64,
    pub(crate) timer_key: TimerKey,
}

/// The same for one that goes by the wall clock.
#[repr(transparent)]
pub(crate) struct Appointment(Delay);

impl Delay {
    pub(crate) fn until(when: Tick) -> Self {
        Delay {
            when,
            sequence: 0,
            timer_key: TimerKey::UNSET,
        }
    }
}

impl Appointment {
    pub(crate) fn at(when: Tick) -> Self {
        Appointment(Delay::until(when))
    }
}

#[repr(C)]
union Payload<F, T> {
    closure: ManuallyDrop<F>,
    value: ManuallyDrop<T>,
    panic: ManuallyDrop<Box<dyn Any + Send>>,
}

/// What differs from closure to closure.
struct Table {
    layout: Layout,
    size: recycle::Size,
    /// Whether the closure, when it is dropped, does anything.
    holds_something: bool,
    /// The closure borrows from a scope, which waits until it has been dropped: nobody may keep it.
    is_scoped: bool,
    type_name: fn() -> &'static str,
    run: unsafe fn(NonNull<Header>) -> End,
    drop_closure: unsafe fn(NonNull<Header>),
    /// Moves the value to the given place, which has the value's type.
    take_value: unsafe fn(NonNull<Header>, *mut ()),
    take_panic: unsafe fn(NonNull<Header>) -> Box<dyn Any + Send>,
    peek_panic: unsafe fn(NonNull<Header>) -> *const (dyn Any + Send),
    drop_value: unsafe fn(NonNull<Header>),
    /// Of a future: polls it once. `None`: it is not ready.
    poll: unsafe fn(NonNull<Header>) -> Option<End>,
    /// Of a future: how far behind the header its [`Waking`](super::waking::Waking) lies.
    waking: usize,
    /// By which clock a delayed task goes.
    axis: Option<Axis>,
    /// Where its [`Delay`] lies.
    #[cfg(loom)]
    delay: unsafe fn(NonNull<Header>) -> *mut Delay,
    /// Puts a panic where the closure was, which has been dropped.
    put_panic: unsafe fn(NonNull<Header>, Box<dyn Any + Send>),
}

#[cfg(all(not(any(loom, shuttle)), target_pointer_width = "64"))]
const _: () = {
    assert!(size_of::<Header>() == 40);
    assert!(size_of::<Block<(), [u64; 3], [u64; 3]>>() == 64);
    assert!(size_of::<Delay>() == 24);
};

/// What a task may be given beyond its closure; anything set here costs it a side record.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Kept in the task's class, not in its side record.
    pub(crate) priority: Option<Priority>,
    /// For the shared queue, wherever it is submitted; kept in its class too.
    pub(crate) is_shared: bool,
    pub(crate) name: Option<Cow<'static, str>>,
    pub(crate) token: Option<Token>,
    pub(crate) clock: Option<Clock>,
    /// What the pool's decorators captured at submission.
    pub(crate) contexts: Option<Contexts>,
    /// How long it may wait in the queue.
    pub(crate) expires_in: Option<Duration>,
    pub(crate) limits: Limits,
    /// Of a view's task whose wait is measured: when it came, and for how many it speaks.
    pub(crate) arrival: Option<Arrival>,
    /// Where in the source it was made; kept only if there is a side record anyway.
    pub(crate) site: Option<&'static Location<'static>>,
    /// When it was given a name; kept as that.
    pub(crate) born: Option<Tick>,
}

impl Options {
    /// A side record if there is anything to keep, otherwise the home itself.
    fn link(self, home: *const HomeRef) -> *mut HomeRef {
        let is_plain = self.name.is_none()
            && self.token.is_none()
            && self.clock.is_none()
            && self.contexts.is_none()
            && self.expires_in.is_none()
            && self.arrival.is_none()
            && self.limits == Limits::default();
        if is_plain {
            return home.cast_mut();
        }
        tag(Box::new(Side::new(home, self)))
    }
}

/// Where a task belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) class: Class,
    /// The process generation, see [`Header::fork`].
    pub(crate) fork: u16,
    pub(crate) home: *const HomeRef,
}

impl<K: Timer, F, T> Block<K, F, T>
where
    F: FnOnce() -> T,
{
    const TABLE: Table = Self::table(false);
    const SCOPED_TABLE: Table = Self::table(true);

    const fn table(is_scoped: bool) -> Table {
        Table {
            layout: Layout::new::<Self>(),
            size: recycle::Size::of(Layout::new::<Self>()),
            holds_something: std::mem::needs_drop::<F>(),
            is_scoped,
            type_name: std::any::type_name::<F>,
            run: if is_scoped { Self::run_borrower } else { Self::run },
            drop_closure: Self::drop_closure,
            take_value: Self::take_value,
            take_panic: Self::take_panic,
            peek_panic: Self::peek_panic,
            drop_value: Self::drop_value,
            poll: |_| unreachable!("only a future is polled"),
            waking: 0,
            axis: K::AXIS,
            #[cfg(loom)]
            delay: Self::delay,
            put_panic: Self::put_panic,
        }
    }

    /// # Safety
    /// As [`Self::run`], unless the closure was taken back.
    unsafe fn run_borrower(header: NonNull<Header>) -> End {
        // SAFETY: the caller holds a share.
        if !unsafe { header.as_ref() }.begin_body() {
            return End::Cancelled;
        }
        // SAFETY: the caller's promise, and it was not taken back.
        unsafe { Self::run(header) }
    }

    /// # Safety
    /// As `payload` by rule 2, and the closure is still there.
    unsafe fn run(header: NonNull<Header>) -> End {
        // SAFETY: the claim's winner owns the closure; it is moved out here, once.
        let closure = unsafe { Self::payload(header, |payload| ManuallyDrop::take(&mut (*payload).closure)) };
        // SAFETY: the closure is gone, the payload is the runner's until it resolves (rule 3).
        unsafe { Self::put_result(header, catch_unwind(AssertUnwindSafe(closure))) }
    }
}

impl<K: Timer, F, T, W> Block<K, F, T, W> {
    /// # Safety
    /// `header` is that of a live block of this type, and `K` is laid out as a [`Delay`].
    #[cfg(loom)]
    unsafe fn delay(header: NonNull<Header>) -> *mut Delay {
        // SAFETY: the caller's promise; the cast as in `payload`.
        unsafe { header.cast::<Self>().as_ref() }
            .timer
            .with_mut(<*mut K>::cast)
    }

    /// # Safety
    /// `header` is that of a live block of this type, whose payload is the caller's by rule 2 or 3.
    unsafe fn payload<R>(header: NonNull<Header>, f: impl FnOnce(*mut Payload<F, T>) -> R) -> R {
        // SAFETY: the caller's promise. The cast undoes the one in `Entry::new`: the header is the first field of
        // `repr(C)`.
        unsafe { header.cast::<Self>().as_ref() }.payload.with_mut(f)
    }

    /// Puts the outcome of a body where the body was.
    ///
    /// # Safety
    /// The closure or future is gone, and the payload is the runner's until it resolves (rule 3).
    unsafe fn put_result(header: NonNull<Header>, result: Result<T, Box<dyn Any + Send>>) -> End {
        match result {
            Ok(value) => {
                let value = ManuallyDrop::new(value);
                // SAFETY: the caller's promise.
                unsafe { Self::payload(header, |payload| (*payload).value = value) };
                End::Finished
            }
            Err(panic) => {
                // SAFETY: the caller's promise.
                unsafe { Self::put_panic(header, panic) };
                End::Panicked
            }
        }
    }

    unsafe fn put_panic(header: NonNull<Header>, panic: Box<dyn Any + Send>) {
        let panic = ManuallyDrop::new(panic);
        // SAFETY: the closure is gone, the payload is the caller's until it resolves (rule 3).
        unsafe { Self::payload(header, |payload| (*payload).panic = panic) };
    }

    unsafe fn drop_closure(header: NonNull<Header>) {
        // SAFETY: as in `run`; moved to this stack first, so that a closure whose drop panics is still gone.
        let closure = unsafe { Self::payload(header, |payload| ManuallyDrop::take(&mut (*payload).closure)) };
        contain(|| drop(closure));
    }

    unsafe fn take_value(header: NonNull<Header>, place: *mut ()) {
        // SAFETY: the value is there and the caller's (rule 3); `place` is a `T` to be written.
        unsafe {
            Self::payload(header, |payload| {
                place.cast::<T>().write(ManuallyDrop::take(&mut (*payload).value));
            });
        }
    }

    unsafe fn take_panic(header: NonNull<Header>) -> Box<dyn Any + Send> {
        // SAFETY: the payload is a panic and the caller's (rule 3).
        unsafe { Self::payload(header, |payload| ManuallyDrop::take(&mut (*payload).panic)) }
    }

    unsafe fn peek_panic(header: NonNull<Header>) -> *const (dyn Any + Send) {
        // SAFETY: the block lives.
        let block = unsafe { header.cast::<Self>().as_ref() };
        block.payload.with(|payload| {
            // SAFETY: the payload is a panic that nobody moves out or writes meanwhile; only read, so several may look.
            unsafe { &raw const **(*payload).panic }
        })
    }

    unsafe fn drop_value(header: NonNull<Header>) {
        // SAFETY: as in `take_value`.
        let value = unsafe { Self::payload(header, |payload| ManuallyDrop::take(&mut (*payload).value)) };
        contain(|| drop(value));
    }
}

/// # Safety
/// The payload is a result of this end, and the caller's by rule 3.
unsafe fn drop_result(block: NonNull<Header>, end: End) {
    // SAFETY: the block lives while the caller frees or holds it.
    let table = unsafe { block.as_ref() }.table;
    match end {
        // SAFETY: the caller's promise.
        End::Finished => unsafe { (table.drop_value)(block) },
        // SAFETY: the caller's promise.
        End::Panicked => discard(unsafe { (table.take_panic)(block) }),
        End::Cancelled | End::Returned | End::Evicted | End::Rejected | End::Expired => {}
    }
}

/// Ends a block: drops what is left in it and gives the memory back.
///
/// # Safety
/// No party is left but the caller, and `last` is a reading made when that was so.
#[inline]
pub(crate) unsafe fn free(block: NonNull<Header>, last: Snapshot) {
    // SAFETY: the caller is the last.
    let header = unsafe { block.as_ref() };
    if !last.is_bare() || header.class.is_viewed() || header.has_side() {
        // SAFETY: the caller's promise.
        unsafe { drop_contents(block, last) };
    }
    let Table { layout, size, .. } = *header.table;
    // SAFETY: the atomics and cells of a header own nothing outside the models; there they are dropped for the
    // models' books. The memory came from `acquire` with the table's layout.
    unsafe {
        ptr::drop_in_place(block.as_ptr());
        recycle::release(block.cast(), size, layout);
    }
}

/// What most blocks do not have at their end.
///
/// # Safety
/// As [`free`].
#[inline(never)]
unsafe fn drop_contents(block: NonNull<Header>, last: Snapshot) {
    if last.holds_result() {
        let end = last.outcome().expect("a held result has an end");
        // SAFETY: rule 3: the caller is the handle or the runner, and the last.
        unsafe { drop_result(block, end) };
    }
    // SAFETY: the caller is the last.
    let header = unsafe { block.as_ref() };
    if last.has_waker() {
        // SAFETY: rule 4: filled, and nobody else is left.
        let waker = header
            .waker
            .with_mut(|waker| unsafe { (*waker).assume_init_read() });
        contain(|| drop(waker));
    }
    if header.class.is_viewed() {
        // SAFETY: rule 5: the block's share, and its end.
        unsafe { View::give_back(header.home()) };
    }
    if let Some(side) = untag(header.link.load(Acquire)) {
        // SAFETY: rule 5: the block owned it. Dropping a token may drop wakers, which are user code.
        let side = unsafe { Box::from_raw(side.as_ptr()) };
        contain(|| drop(side));
    }
}

/// A side record in a link: boxes are aligned, so the lowest bit is free to tell it from a home.
fn tag(side: Box<Side>) -> *mut HomeRef {
    Box::into_raw(side).map_addr(|address| address | 1).cast()
}

fn untag(link: *mut HomeRef) -> Option<NonNull<Side>> {
    if link.addr() & 1 == 0 {
        return None;
    }
    NonNull::new(link.map_addr(|address| address & !1).cast())
}
