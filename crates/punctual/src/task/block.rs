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
//! 2. `payload` as a closure: by the submitter until the entry is published, then by the winner of the claim.
//! 3. `payload` as a result: written by the winner of the claim before `resolve`; after `RESOLVED` with the end
//!    `Finished` or `Panicked` it belongs to the handle until that lets go, then to whoever frees. If a canceller
//!    resolved first, it stays the runner's, who drops it.
//! 4. `waker`: written by the handle while `WAKER` is clear; while it is set, read by the handle and the resolver;
//!    dropped by whoever frees.
//! 5. `link`: the home, or a tagged side record; changes once, from the former to the latter.

#![allow(unsafe_code)]

use super::decorate::Contexts;
use super::home::HomeRef;
use super::recycle;
use super::side::Side;
use super::state::{End, Resolved, Share, Snapshot, State};
use super::{Class, Priority, TaskInfo, Token, contain, discard};
use crate::sync::atomic::AtomicPtr;
use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::sync::futex;
use crate::sync::{Arc, Cell};
use crate::time::{Clock, Key, Tick};
use std::alloc::Layout;
use std::any::Any;
use std::borrow::Cow;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::task::Waker;

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

/// `K` is the [`Delay`] of a delayed task; nothing for all others.
#[repr(C)]
struct Block<K, F, T> {
    header: Header,
    timer: Cell<K>,
    payload: Cell<Payload<F, T>>,
}

/// What a block may keep beside its closure.
pub(crate) trait Timer: Send + 'static {
    /// Whether there is anything to be found: it is a [`Delay`].
    const IS_DELAY: bool;
}

impl Timer for () {
    const IS_DELAY: bool = false;
}

impl Timer for Delay {
    const IS_DELAY: bool = true;
}

/// When a delayed task is due, and where it lies in the timer store.
#[repr(C)]
pub(crate) struct Delay {
    /// Written before the block is shared, then read by anybody.
    when: Tick,
    /// Written and read under the timer store's lock.
    key: MaybeUninit<Key>,
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
    /// Of a delayed task: where its key lies.
    timer: Option<unsafe fn(NonNull<Header>) -> *mut Delay>,
    /// Puts a panic where the closure was, which has been dropped.
    put_panic: unsafe fn(NonNull<Header>, Box<dyn Any + Send>),
}

#[cfg(all(not(any(loom, shuttle)), target_pointer_width = "64"))]
const _: () = {
    assert!(size_of::<Header>() == 40);
    assert!(size_of::<Block<(), [u64; 3], [u64; 3]>>() == 64);
};

/// What a task may be given beyond its closure; anything set here costs it a side record.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) name: Option<Cow<'static, str>>,
    pub(crate) token: Option<Token>,
    pub(crate) clock: Option<Clock>,
    /// What the pool's decorators captured at submission.
    pub(crate) contexts: Option<Contexts>,
}

impl Options {
    /// A side record if there is anything to keep, otherwise the home itself.
    fn link(self, home: *const HomeRef) -> *mut HomeRef {
        let is_plain =
            self.name.is_none() && self.token.is_none() && self.clock.is_none() && self.contexts.is_none();
        if is_plain {
            return home.cast_mut();
        }
        tag(Box::new(Side::new(
            home,
            self.name,
            self.clock,
            self.token,
            self.contexts,
        )))
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
            is_scoped,
            type_name: std::any::type_name::<F>,
            run: Self::run,
            drop_closure: Self::drop_closure,
            take_value: Self::take_value,
            take_panic: Self::take_panic,
            peek_panic: Self::peek_panic,
            drop_value: Self::drop_value,
            timer: if K::IS_DELAY { Some(Self::timer) } else { None },
            put_panic: Self::put_panic,
        }
    }

    /// # Safety
    /// `header` is that of a live block of this type, and `K` is [`Delay`].
    unsafe fn timer(header: NonNull<Header>) -> *mut Delay {
        // SAFETY: the caller's promise; the cast as in `payload`.
        unsafe { header.cast::<Self>().as_ref() }
            .timer
            .with_mut(<*mut K>::cast)
    }

    /// # Safety
    /// `header` is that of a live `Block<F, T>`, whose payload is the caller's by rule 2 or 3.
    unsafe fn payload<R>(header: NonNull<Header>, f: impl FnOnce(*mut Payload<F, T>) -> R) -> R {
        // SAFETY: the caller's promise. The cast undoes the one in `Entry::new`: the header is the first field of
        // `repr(C)`.
        unsafe { header.cast::<Self>().as_ref() }.payload.with_mut(f)
    }

    /// # Safety
    /// As `payload` by rule 2, and the closure is still there.
    unsafe fn run(header: NonNull<Header>) -> End {
        // SAFETY: the claim's winner owns the closure; it is moved out here, once.
        let closure = unsafe { Self::payload(header, |payload| ManuallyDrop::take(&mut (*payload).closure)) };
        match catch_unwind(AssertUnwindSafe(closure)) {
            Ok(value) => {
                let value = ManuallyDrop::new(value);
                // SAFETY: the closure is gone, the payload is the runner's until it resolves (rule 3).
                unsafe { Self::payload(header, |payload| (*payload).value = value) };
                End::Finished
            }
            Err(panic) => {
                // SAFETY: as above.
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
        unsafe { Self::make(table, (), origin, with_handle, options, closure) }
    }

    /// As [`Entry::new`] for a task that goes to the timer store.
    pub(crate) fn delayed<F, T>(origin: Origin, options: Option<Options>, when: Tick, closure: F) -> Self
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let table = &Block::<Delay, F, T>::TABLE;
        let delay = Delay {
            when,
            key: MaybeUninit::uninit(),
        };
        // SAFETY: closure and value live as long as they like.
        let entry = unsafe { Self::make(table, delay, origin, true, options, closure) };
        entry.header().state.mark_delayed();
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
        unsafe { Self::make(table, (), origin, with_handle, options, closure) }
    }

    /// # Safety
    /// As [`Entry::scoped`]; `table` is one of the closure's two.
    #[inline]
    unsafe fn make<K, F, T>(
        table: &'static Table,
        timer: K,
        origin: Origin,
        with_handle: bool,
        options: Option<Options>,
        closure: F,
    ) -> Self
    where
        K: Timer,
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let memory = recycle::acquire(Layout::new::<Block<K, F, T>>()).cast::<Block<K, F, T>>();
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
    /// `F` and `T` are those of [`Entry::new`] (with `K` = `()`) or [`Entry::delayed`] ([`Delay`]), and no handle or
    /// reference was made.
    pub(crate) unsafe fn unmake<K: Timer, F, T>(self) -> F
    where
        F: FnOnce() -> T,
    {
        // SAFETY: unpublished, so the submitter is alone with the block (rule 2); the end of its life is here.
        unsafe {
            let closure =
                Block::<K, F, T>::payload(self.0, |payload| ManuallyDrop::take(&mut (*payload).closure));
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

    /// Runs the closure; its value or panic stays in the block.
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
    /// # Safety
    /// The caller holds a share of the block.
    pub(crate) unsafe fn of(block: NonNull<Header>) -> Arc<Self> {
        // SAFETY: the caller's promise.
        let header = unsafe { block.as_ref() };
        let mut more = header.side_or_make().more.lock();
        if let Some(reference) = more.reference.upgrade() {
            return reference;
        }
        header.state.add_reference();
        let reference = Arc::new(Reference(block));
        more.reference = Arc::downgrade(&reference);
        reference
    }

    pub(crate) fn pointer(&self) -> NonNull<Header> {
        self.0
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the reference is a share, so the block lives.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        if let Share::Last(last) = self.header().state.drop_reference() {
            // SAFETY: the last party frees.
            unsafe { free(self.0, last) };
        }
    }
}

impl Header {
    /// Wakes whoever waits for the outcome that was just fixed. Takes a pointer: once resolved, the block may be
    /// freed under a thread that only has to wake sleepers, and a futex wake needs no more than the address.
    ///
    /// # Safety
    /// If `after` has a waker, the caller still holds a share.
    #[inline]
    pub(crate) unsafe fn wake_waiters(block: NonNull<Header>, after: Snapshot) {
        if after.is_waited_for() {
            // The state is the header's first field, and its word the state's only one.
            futex::wake_all(block.as_ptr().cast_const().cast());
        }
        if after.has_waker() {
            // SAFETY: the caller holds a share; rule 4: resolved, so the cell is only read.
            let header = unsafe { block.as_ref() };
            // SAFETY: `WAKER` is set, so the cell is filled.
            header
                .waker
                .with(|waker| contain(|| unsafe { (*waker).assume_init_ref() }.wake_by_ref()));
        }
    }

    /// Leaves a waker for the resolver. False: resolved already, look at the outcome. Only the handle may call this.
    pub(crate) fn register_waker(&self, waker: &Waker) -> bool {
        let seen = self.state.load();
        if seen.is_resolved() {
            return false;
        }
        if seen.has_waker() {
            let is_same = |mine: *const MaybeUninit<Waker>| {
                // SAFETY: rule 4: filled, and only the handle, which we are, would change it.
                unsafe { (*mine).assume_init_ref() }.will_wake(waker)
            };
            if self.waker.with(is_same) {
                return true;
            }
            if !self.state.retract_waker() {
                return false;
            }
            // SAFETY: rule 4: the bit is clear again, the cell is ours, and it is filled.
            let old = self.waker.with_mut(|mine| unsafe { (*mine).assume_init_read() });
            contain(|| drop(old));
        }
        let new = waker.clone();
        // SAFETY: rule 4: the bit is clear.
        self.waker.with_mut(|mine| unsafe { (*mine).write(new) });
        if self.state.publish_waker() {
            return true;
        }
        // SAFETY: rule 4: it was not published, so it is ours to take back.
        let unused = self.waker.with_mut(|mine| unsafe { (*mine).assume_init_read() });
        contain(|| drop(unused));
        false
    }

    pub(crate) fn side(&self) -> Option<&Side> {
        // Acquire pairs with the release half of the exchange in `side_or_make`: the record is seen complete. (The
        // models cannot tell: what they watch in a side record lies behind its lock. Name and id do not.)
        // SAFETY: a tagged link stays until the block is freed (rule 5).
        untag(self.link.load(Acquire)).map(|side| unsafe { side.as_ref() })
    }

    pub(crate) fn side_or_make(&self) -> &Side {
        if let Some(side) = self.side() {
            return side;
        }
        let home = self.link.load(Acquire);
        if untag(home).is_none() {
            let made = tag(Box::new(Side::new(home, None, None, None, None)));
            if self.link.compare_exchange(home, made, AcqRel, Acquire).is_err() {
                // Somebody was faster; ours was never seen.
                // SAFETY: `made` is our own box, tagged above.
                drop(untag(made).map(|side| unsafe { Box::from_raw(side.as_ptr()) }));
            }
        }
        self.side().expect("a link that is no home is a side record")
    }

    /// The home's reference; valid as [`HomeRef::own`] says.
    pub(crate) fn home(&self) -> *const HomeRef {
        // One reading: the link may become a side record's between two.
        let link = self.link.load(Acquire);
        match untag(link) {
            // SAFETY: a tagged link stays until the block is freed (rule 5).
            Some(side) => unsafe { side.as_ref() }.home,
            None => link.cast_const(),
        }
    }

    /// What hooks are told. Makes the side record: that is where the number lives.
    pub(crate) fn info(&self) -> TaskInfo<'_> {
        let side = self.side_or_make();
        TaskInfo {
            id: side.id,
            name: side.name.as_deref(),
            type_name: self.type_name(),
            priority: Priority::NORMAL,
        }
    }

    /// Whether the closure borrows from a scope.
    pub(crate) fn is_scoped(&self) -> bool {
        self.table.is_scoped
    }

    pub(crate) fn type_name(&self) -> &'static str {
        (self.table.type_name)()
    }

    /// The clock that a waiter on this task goes by.
    pub(crate) fn clock(&self) -> Clock {
        self.side()
            .and_then(|side| side.clock.clone())
            .unwrap_or_default()
    }

    /// The task's token, made on first use; fired already if the task has been told to stop.
    pub(crate) fn token(&self) -> Token {
        let token = self
            .side_or_make()
            .more
            .lock()
            .token
            .get_or_insert_default()
            .clone();
        if self.state.mark_token().is_signalled() {
            token.cancel();
        }
        token
    }

    // From here on pointers, not references: the payload lies behind the header, outside of what `&Header` may reach.

    /// Drops the closure of a task that will never run.
    ///
    /// # Safety
    /// The block lives, and the caller won the claim and has not run or dropped the closure yet.
    pub(crate) unsafe fn drop_closure(block: NonNull<Header>) {
        // SAFETY: the caller's promise is rule 2.
        unsafe { (block.as_ref().table.drop_closure)(block) };
    }

    /// Notes where a delayed task lies.
    ///
    /// # Safety
    /// The block was made by [`Entry::delayed`] and lives, and the timer store's lock is held.
    pub(crate) unsafe fn set_timer(block: NonNull<Header>, key: Key) {
        // SAFETY: the caller's promise; the key is touched under that lock only.
        unsafe {
            if let Some(timer) = block.as_ref().table.timer {
                (*timer(block)).key.write(key);
            }
        }
    }

    /// Where a delayed task lies.
    ///
    /// # Safety
    /// As [`Header::set_timer`], which was called before.
    pub(crate) unsafe fn timer(block: NonNull<Header>) -> Key {
        // SAFETY: the caller's promise.
        unsafe {
            let timer = block.as_ref().table.timer.expect("a delayed task has a timer");
            (*timer(block)).key.assume_init_read()
        }
    }

    /// When the task is, or was, due, if it was submitted with a delay.
    ///
    /// # Safety
    /// The block lives.
    pub(crate) unsafe fn due(block: NonNull<Header>) -> Option<Tick> {
        // SAFETY: the caller's promise; the time was written before the block was shared, and is a place of its own.
        unsafe {
            block
                .as_ref()
                .table
                .timer
                .map(|timer| (&raw const (*timer(block)).when).read())
        }
    }

    /// Ends a task that will never run: drops its closure, fixes its outcome, tells its waiters.
    ///
    /// # Safety
    /// As [`Header::drop_closure`], and the caller holds a share to the end of this call.
    pub(crate) unsafe fn end_unrun(block: NonNull<Header>, end: End) {
        // SAFETY: the caller's promise. Before anyone is told: whoever knows the outcome finds what the closure held gone.
        unsafe { Header::drop_closure(block) };
        // SAFETY: the caller holds a share.
        match unsafe { block.as_ref() }.state.resolve(end, false) {
            // SAFETY: the caller holds a share.
            Resolved::Fixed(after) => unsafe { Header::wake_waiters(block, after) },
            Resolved::BeforeUs => unreachable!("only a running task is resolved by another"),
        }
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// The block lives, the task is resolved as `Finished`, `T` is its type, and the caller is the handle, which has not
    /// taken it yet.
    #[inline]
    pub(crate) unsafe fn take_value<T>(block: NonNull<Header>) -> T {
        let mut place = MaybeUninit::<T>::uninit();
        // SAFETY: the caller's promise is rule 3, and the place has the value's type.
        unsafe {
            (block.as_ref().table.take_value)(block, place.as_mut_ptr().cast());
            place.assume_init()
        }
    }

    /// Moves the panic's payload out.
    ///
    /// # Safety
    /// As [`Header::take_value`], with `Panicked`; or the caller is the runner, and the payload is its own by rule 3.
    pub(crate) unsafe fn take_panic(block: NonNull<Header>) -> Box<dyn Any + Send> {
        // SAFETY: the caller's promise.
        unsafe { (block.as_ref().table.take_panic)(block) }
    }

    /// The panic's payload, to look at.
    ///
    /// # Safety
    /// The body ended as `Panicked`, the payload is the caller's by rule 3 and has not been moved out, and stays so for
    /// as long as the reference lives.
    pub(crate) unsafe fn peek_panic<'a>(block: NonNull<Header>) -> &'a (dyn Any + Send) {
        // SAFETY: the caller's promise.
        unsafe { &*(block.as_ref().table.peek_panic)(block) }
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
        End::Cancelled | End::Returned | End::Evicted | End::Rejected => {}
    }
}

/// Ends a block: drops what is left in it and gives the memory back.
///
/// # Safety
/// No party is left but the caller, and `last` is a reading made when that was so.
#[inline]
pub(crate) unsafe fn free(block: NonNull<Header>, last: Snapshot) {
    if last.holds_result() {
        let end = last.outcome().expect("a held result has an end");
        // SAFETY: rule 3: it belongs to whoever frees.
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
    let layout = header.table.layout;
    if let Some(side) = untag(header.link.load(Acquire)) {
        // SAFETY: rule 5: the block owned it. Dropping a token may drop wakers, which are user code.
        let side = unsafe { Box::from_raw(side.as_ptr()) };
        contain(|| drop(side));
    }
    // SAFETY: the atomics and cells of a header own nothing outside the models; there they are dropped for the
    // models' books. The memory came from `acquire` with the table's layout.
    unsafe {
        ptr::drop_in_place(block.as_ptr());
        recycle::release(block.cast(), layout);
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
