//! The cell of a task, and the roles in which other modules hold it.
//!
//! A cell is one piece of memory: [`TaskHeader`], then the closure and later its output in the same bytes. No module outside this
//! file touches those bytes; they pass roles around, each of which is a pointer to a cell and the right to certain steps:
//!
//! ```text
//!   make ----> Runnable ---- run ----> Ran ---- publish ----> (gone)
//!     |           '--------- end -----------------------------'
//!     '------> Receipt ---- accepted ----> TaskHandle ---- take the output, or detach
//!                 '-------- take_back(Runnable) ----> the closure
//! ```
//!
//! - [`Runnable`]: the unique right and duty to run the task or to end it. The place in which a task waits owns it.
//! - [`Ran`]: the body has returned; the outcome is not visible yet. `publish` is the last touch of a runner.
//! - [`Receipt`]: what the submitter keeps while the task is on its way: it becomes the handle, or takes a refused task apart.
//! - [`CellRef`]: a counted reference without a right to the output. [`PinnedCell`]: one that holds the end of the task off, so that
//!   the scheduler behind the cell is there.

#![allow(unsafe_code)]

use super::slab;
use super::state::{Detach, End, Publish, Signal, State, Waiters};
use crate::sync::atomic::AtomicU8;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::{Arc, Cell, Weak, futex};
use std::alloc::Layout;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::task::Waker;

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// What a cell asks of the engine that it was made for.
pub(crate) trait Scheduler: Send + Sync {
    /// Takes the task out of the place in which it waits. `None`: a runner has it.
    fn remove(&self, cell: &PinnedCell) -> Option<Runnable>;
    /// Counts the end of a task that was never run. Before the end is visible.
    fn before_end(&self, task: &TaskHeader, end: End);
}

/// A thin pointer to the scheduler of a cell. It may be followed by the owner of the `Runnable` and by a thread that pins the cell:
/// a scheduler outlives every task that has not ended.
#[derive(Clone, Copy)]
pub(crate) struct SchedulerRef(NonNull<Weak<dyn Scheduler>>);

// SAFETY: it is followed under the rule above only, and then gives out a counted reference.
unsafe impl Send for SchedulerRef {}
// SAFETY: as above.
unsafe impl Sync for SchedulerRef {}

impl SchedulerRef {
    /// The scheduler keeps the weak reference to itself at this address for as long as it lives.
    pub(crate) fn new(anchor: &Weak<dyn Scheduler>) -> Self {
        SchedulerRef(NonNull::from(anchor))
    }

    /// # Safety
    /// The caller owns the task's `Runnable`, or pins its cell.
    unsafe fn own(self) -> Arc<dyn Scheduler> {
        // SAFETY: the task has not ended, so the scheduler, and in it the weak reference, is there.
        let anchor = unsafe { self.0.as_ref() };
        anchor.upgrade().expect("a scheduler outlives its tasks")
    }
}

/// The place that a task is in, or was in last. Written by the owner of the `Runnable` or under the lock of that place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PlaceTag {
    /// In the hands of a thread: the submitter, or a runner.
    None,
    /// In the ready queue. A pop does not write the tag: a task that the queue does not hold any more is with a runner.
    Ready,
}

struct VTable {
    layout: Layout,
    /// Runs the closure. Its output lies in the cell then, or the cell is gone.
    run: unsafe fn(NonNull<TaskHeader>) -> Ran,
    drop_closure: unsafe fn(NonNull<TaskHeader>),
    drop_output: unsafe fn(NonNull<TaskHeader>, End),
    /// Moves output or payload to the address.
    take_output: unsafe fn(NonNull<TaskHeader>, End, *mut ()),
    /// Where the waker lies; 0 in a cell without a handle.
    waker: usize,
}

/// The first bytes of every cell.
#[repr(C)]
pub(crate) struct TaskHeader {
    state: State,
    vtable: &'static VTable,
    scheduler: SchedulerRef,
    /// Of the place that holds the task, and guarded by its lock: the slot in the queue, neighbours in a list.
    links: Cell<[usize; 2]>,
    place: AtomicU8,
}

// SAFETY: `links` is touched under the lock of the task's place; everything else is made for sharing.
unsafe impl Sync for TaskHeader {}

impl TaskHeader {
    fn new(with_handle: bool, vtable: &'static VTable, scheduler: SchedulerRef) -> Self {
        TaskHeader {
            state: State::new(with_handle),
            vtable,
            scheduler,
            links: Cell::new([0; 2]),
            place: AtomicU8::new(PlaceTag::None as u8),
        }
    }

    pub(crate) fn place(&self) -> PlaceTag {
        match self.place.load(Relaxed) {
            1 => PlaceTag::Ready,
            _ => PlaceTag::None,
        }
    }

    /// By the owner of the `Runnable`, or under the lock of the place that owns it.
    #[inline]
    pub(crate) fn set_place(&self, tag: PlaceTag) {
        self.place.store(tag as u8, Relaxed);
    }

    /// Calls `f` with the links.
    ///
    /// # Safety
    /// The caller holds the lock of the place that the task is in, or owns its `Runnable`.
    #[inline]
    pub(crate) unsafe fn links<R>(&self, f: impl FnOnce(&mut [usize; 2]) -> R) -> R {
        // SAFETY: the caller's promise: no other thread touches them meanwhile.
        self.links.with_mut(|links| f(unsafe { &mut *links }))
    }
}

/// Frees a cell.
///
/// # Safety
/// The caller has given up the last reference; closure and output are gone.
unsafe fn free(cell: NonNull<TaskHeader>) {
    // SAFETY: the caller's promise: no other thread knows the cell.
    unsafe {
        let vtable = cell.as_ref().vtable;
        if let Some(waker) = waker_slot(cell) {
            drop_quietly(waker.with_mut(|waker| (*waker).take()));
        }
        slab::free(cell.cast(), vtable.layout);
    }
}

/// # Safety
/// The cell is there for as long as the answer is used.
unsafe fn waker_slot<'a>(cell: NonNull<TaskHeader>) -> Option<&'a Cell<Option<Waker>>> {
    // SAFETY: the caller's promise; the table says where the waker lies.
    unsafe {
        let offset = cell.as_ref().vtable.waker;
        (offset != 0).then(|| cell.byte_add(offset).cast::<Cell<Option<Waker>>>().as_ref())
    }
}

/// Drops something of the user's; a panic in there goes no further.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // The payload's own drop may panic too.
        std::mem::forget(payload);
    }
}

/// Takes the waker and calls it.
///
/// # Safety
/// The caller resolved the task in a step that made the waker its own, and has a reference.
unsafe fn call_waker(cell: NonNull<TaskHeader>) {
    // SAFETY: the caller's promise.
    let waker = unsafe { waker_slot(cell) }.and_then(|slot| slot.with_mut(|slot| unsafe { (*slot).take() }));
    if let Some(waker) = waker
        && let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake()))
    {
        std::mem::forget(payload);
    }
}

/// Wakes what waits for a task.
///
/// # Safety
/// The caller resolved the task in the step with this answer, and has a reference.
unsafe fn wake(cell: NonNull<TaskHeader>, waiters: Waiters) {
    // SAFETY: the caller's promise.
    unsafe {
        if waiters.threads {
            futex::wake_all_low_half(cell.as_ref().state.address());
        }
        if waiters.waker {
            call_waker(cell);
        }
    }
}

// ---- cells without a handle ----------------------------------------------------------------------------------------------

#[repr(C)]
pub(crate) struct Detached<F> {
    header: TaskHeader,
    closure: ManuallyDrop<F>,
}

impl<F: FnOnce() + Send> Detached<F> {
    const VTABLE: VTable = VTable {
        layout: Layout::new::<Self>(),
        run: Self::run,
        drop_closure: Self::drop_closure,
        drop_output: |_, _| {},
        take_output: |_, _, _| unreachable!("a task without a handle has no output"),
        waker: 0,
    };

    /// # Safety
    /// The caller owns the `Runnable`.
    unsafe fn run(cell: NonNull<TaskHeader>) -> Ran {
        // SAFETY: the closure is there until the task is run, which this is.
        unsafe {
            let closure = ManuallyDrop::take(&mut cell.cast::<Self>().as_mut().closure);
            if !cell.as_ref().state.is_sole() {
                let result = catch_unwind(AssertUnwindSafe(closure));
                return Ran::new(Some(cell), result.map(|()| false));
            }
            // No other thread can reach the cell: its memory may serve the tasks that the closure submits.
            free(cell);
            Ran::new(None, catch_unwind(AssertUnwindSafe(closure)).map(|()| false))
        }
    }

    /// # Safety
    /// The caller owns the `Runnable`.
    unsafe fn drop_closure(cell: NonNull<TaskHeader>) {
        // SAFETY: as above.
        drop_quietly(unsafe { ManuallyDrop::take(&mut cell.cast::<Self>().as_mut().closure) });
    }
}

// ---- cells with a handle -------------------------------------------------------------------------------------------------

union Stage<F, T> {
    closure: ManuallyDrop<F>,
    output: ManuallyDrop<T>,
    payload: ManuallyDrop<Payload>,
}

#[repr(C)]
pub(crate) struct Joinable<F, T> {
    header: TaskHeader,
    waker: Cell<Option<Waker>>,
    stage: Cell<Stage<F, T>>,
}

impl<F: FnOnce() -> T + Send, T: Send> Joinable<F, T> {
    const VTABLE: VTable = VTable {
        layout: Layout::new::<Self>(),
        run: Self::run,
        drop_closure: Self::drop_closure,
        drop_output: Self::drop_output,
        take_output: Self::take_output,
        waker: std::mem::offset_of!(Self, waker),
    };

    /// # Safety
    /// The caller owns the `Runnable`.
    unsafe fn run(cell: NonNull<TaskHeader>) -> Ran {
        // SAFETY: the closure is there until the task is run, which this is; until the end is published the stage is the runner's.
        unsafe {
            let stage = &cell.cast::<Self>().as_ref().stage;
            let closure = stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).closure));
            let end = match catch_unwind(AssertUnwindSafe(closure)) {
                Ok(output) => {
                    let output = ManuallyDrop::new(output);
                    stage.with_mut(|stage| (*stage).output = output);
                    End::Finished
                }
                Err(payload) => {
                    let payload = ManuallyDrop::new(payload);
                    stage.with_mut(|stage| (*stage).payload = payload);
                    End::Panicked
                }
            };
            Ran {
                cell: Some(cell),
                end,
                has_output: true,
            }
        }
    }

    /// # Safety
    /// The caller owns the `Runnable`.
    unsafe fn drop_closure(cell: NonNull<TaskHeader>) {
        // SAFETY: as above.
        drop_quietly(unsafe {
            let stage = &cell.cast::<Self>().as_ref().stage;
            stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).closure))
        });
    }

    /// # Safety
    /// The output of a task that ended like this lies in the cell, and is the caller's.
    unsafe fn drop_output(cell: NonNull<TaskHeader>, end: End) {
        // SAFETY: the caller's promise.
        unsafe {
            let stage = &cell.cast::<Self>().as_ref().stage;
            match end {
                End::Finished => {
                    drop_quietly(stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).output)));
                }
                End::Panicked => {
                    drop_quietly(stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).payload)));
                }
                End::Cancelled => {}
            }
        }
    }

    /// # Safety
    /// As `drop_output`; the address is that of a `T` to be if the task finished, and of a [`Payload`] to be if it panicked.
    unsafe fn take_output(cell: NonNull<TaskHeader>, end: End, to: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe {
            let stage = &cell.cast::<Self>().as_ref().stage;
            match end {
                End::Finished => {
                    stage.with(|stage| to.cast::<T>().copy_from((&raw const (*stage).output).cast(), 1))
                }
                End::Panicked => {
                    stage.with(|stage| {
                        to.cast::<Payload>()
                            .copy_from((&raw const (*stage).payload).cast(), 1)
                    });
                }
                End::Cancelled => {}
            }
        }
    }
}

// ---- roles ---------------------------------------------------------------------------------------------------------------

/// Makes a task without a handle.
#[inline]
pub(crate) fn make_detached<F>(scheduler: SchedulerRef, closure: F) -> (Runnable, Receipt<F, Detached<F>>)
where
    F: FnOnce() + Send + 'static,
{
    let cell = slab::allocate(Layout::new::<Detached<F>>()).cast::<Detached<F>>();
    let made = Detached {
        header: TaskHeader::new(false, &Detached::<F>::VTABLE, scheduler),
        closure: ManuallyDrop::new(closure),
    };
    // SAFETY: fresh memory of this layout.
    unsafe { cell.write(made) };
    (
        Runnable(cell.cast()),
        Receipt {
            cell,
            closure: PhantomData,
        },
    )
}

/// Makes a task with a handle.
#[inline]
pub(crate) fn make_joinable<F, T>(
    scheduler: SchedulerRef,
    closure: F,
) -> (Runnable, Receipt<F, Joinable<F, T>>)
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let cell = slab::allocate(Layout::new::<Joinable<F, T>>()).cast::<Joinable<F, T>>();
    let made = Joinable {
        header: TaskHeader::new(true, &Joinable::<F, T>::VTABLE, scheduler),
        waker: Cell::new(None),
        stage: Cell::new(Stage {
            closure: ManuallyDrop::new(closure),
        }),
    };
    // SAFETY: fresh memory of this layout.
    unsafe { cell.write(made) };
    (
        Runnable(cell.cast()),
        Receipt {
            cell,
            closure: PhantomData,
        },
    )
}

/// Held by the submitter while the task is on its way. See the module.
#[must_use = "a refused task must be taken back"]
pub(crate) struct Receipt<F, C> {
    cell: NonNull<C>,
    closure: PhantomData<F>,
}

impl<F> Receipt<F, Detached<F>> {
    /// Nothing more is to be done for it.
    #[inline]
    pub(crate) fn accepted(self) {}

    /// Takes a refused task apart.
    pub(crate) fn take_back(self, refused: Runnable) -> F {
        let cell = refused.into_raw();
        assert_eq!(cell, self.cell.cast(), "a receipt is for one task");
        // SAFETY: the task came back unrun, and no other thread knows it.
        unsafe {
            let closure = ManuallyDrop::take(&mut self.cell.cast::<Detached<F>>().as_mut().closure);
            free(cell);
            closure
        }
    }
}

impl<F, T> Receipt<F, Joinable<F, T>> {
    #[inline]
    pub(crate) fn accepted(self) -> JoinRef<T> {
        JoinRef {
            cell: self.cell.cast(),
            output: PhantomData,
        }
    }

    /// Takes a refused task apart; the handle is not made.
    pub(crate) fn take_back(self, refused: Runnable) -> F {
        let cell = refused.into_raw();
        assert_eq!(cell, self.cell.cast(), "a receipt is for one task");
        // SAFETY: the task came back unrun, and no other thread knows it.
        unsafe {
            let stage = &self.cell.as_ref().stage;
            let closure = stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).closure));
            free(cell);
            closure
        }
    }
}

/// The unique right and duty to run a task, or to end it. Its drop ends the task as cancelled.
pub(crate) struct Runnable(NonNull<TaskHeader>);

// SAFETY: a closure in a cell is `Send`; the right to run it goes with this value.
unsafe impl Send for Runnable {}

impl Runnable {
    #[inline]
    pub(crate) fn header(&self) -> &TaskHeader {
        // SAFETY: the `Runnable` has a reference.
        unsafe { self.0.as_ref() }
    }

    /// Runs the body; a panic is part of the outcome.
    #[inline]
    pub(crate) fn run(self) -> Ran {
        let cell = self.into_raw();
        // SAFETY: this was the `Runnable`.
        unsafe { (cell.as_ref().vtable.run)(cell) }
    }

    /// Ends a task that was never run: drops the closure and tells the scheduler and the waiters.
    pub(crate) fn end(self, end: End) {
        let cell = self.into_raw();
        // SAFETY: this was the `Runnable`. The scheduler is held until the end is visible: a thread that pins the cell may use it.
        unsafe {
            let scheduler = cell.as_ref().scheduler.own();
            (cell.as_ref().vtable.drop_closure)(cell);
            scheduler.before_end(cell.as_ref(), end);
            Ran {
                cell: Some(cell),
                end,
                has_output: false,
            }
            .publish();
        }
    }

    #[inline]
    pub(crate) fn into_raw(self) -> NonNull<TaskHeader> {
        ManuallyDrop::new(self).0
    }

    /// # Safety
    /// From [`Runnable::into_raw`], once.
    #[inline]
    pub(crate) unsafe fn from_raw(cell: NonNull<TaskHeader>) -> Self {
        Runnable(cell)
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        Runnable(self.0).end(End::Cancelled);
    }
}

/// The body has returned, and the outcome is not visible yet.
#[must_use = "waiters would wait for ever"]
pub(crate) struct Ran {
    /// `None`: no other thread could reach the cell, and it is gone.
    cell: Option<NonNull<TaskHeader>>,
    pub(crate) end: End,
    has_output: bool,
}

impl Ran {
    fn new(cell: Option<NonNull<TaskHeader>>, result: Result<bool, Payload>) -> Self {
        let end = match &result {
            Ok(_) => End::Finished,
            Err(_) => End::Panicked,
        };
        if let Err(payload) = result {
            drop_quietly(payload);
        }
        Ran {
            cell,
            end,
            has_output: false,
        }
    }

    /// Makes the outcome visible. The last touch of a runner.
    #[inline]
    pub(crate) fn publish(self) {
        let Some(cell) = self.cell else { return };
        // SAFETY: the runner's reference is there until the step that gives it up.
        let state = unsafe { &cell.as_ref().state };
        let address = state.address();
        let wakes = match state.publish(self.end, self.has_output) {
            Publish::Done { wake_threads } => wake_threads,
            other => return self.publish_slowly(cell, other),
        };
        if wakes {
            futex::wake_all_low_half(address);
        }
    }

    #[cold]
    fn publish_slowly(&self, cell: NonNull<TaskHeader>, mut answer: Publish) {
        // SAFETY: as in `publish`; each answer says what is the caller's.
        unsafe {
            let address = cell.as_ref().state.address();
            if answer == Publish::DropOutputFirst {
                (cell.as_ref().vtable.drop_output)(cell, self.end);
                answer = cell.as_ref().state.publish(self.end, false);
            }
            match answer {
                Publish::Free => free(cell),
                Publish::Done { wake_threads: false } => {}
                Publish::Done { wake_threads: true } => futex::wake_all_low_half(address),
                Publish::TakeWaker { wake_threads } => {
                    if wake_threads {
                        futex::wake_all_low_half(address);
                    }
                    call_waker(cell);
                    if cell.as_ref().state.drop_reference() {
                        free(cell);
                    }
                }
                Publish::DropOutputFirst => unreachable!("there is no output any more"),
            }
        }
    }
}

/// One counted reference to a cell, without a right to its output. It keeps the memory, not the engine.
pub(crate) struct CellRef(NonNull<TaskHeader>);

// SAFETY: the header is made for sharing.
unsafe impl Send for CellRef {}
// SAFETY: as above.
unsafe impl Sync for CellRef {}

impl CellRef {
    pub(crate) fn header(&self) -> &TaskHeader {
        // SAFETY: it is a reference.
        unsafe { self.0.as_ref() }
    }

    /// Holds the end of the task off. `None`: it has ended, and its engine may be gone.
    pub(crate) fn pin(&self) -> Option<PinnedCell> {
        self.header().state.pin().then(|| PinnedCell(self.clone()))
    }

    /// Takes the task out of its place and ends it; or, if a runner has it, resolves it for its waiters.
    pub(crate) fn cancel(&self) -> Cancel {
        let Some(pinned) = self.pin() else {
            return Cancel::TooLate;
        };
        // SAFETY: the cell is pinned.
        let scheduler = unsafe { self.header().scheduler.own() };
        let removed = scheduler.remove(&pinned);
        drop(pinned);
        if let Some(task) = removed {
            task.end(End::Cancelled);
            return Cancel::Removed;
        }
        match self.header().state.signal() {
            Signal::TooLate => Cancel::TooLate,
            Signal::Signalled(waiters) => {
                // SAFETY: the step above resolved the task, and this is a reference.
                unsafe { wake(self.0, waiters) };
                Cancel::Signalled
            }
        }
    }
}

impl Clone for CellRef {
    fn clone(&self) -> Self {
        self.header().state.add_reference();
        CellRef(self.0)
    }
}

impl Drop for CellRef {
    fn drop(&mut self) {
        if self.header().state.drop_reference() {
            // SAFETY: the last reference.
            unsafe { free(self.0) };
        }
    }
}

impl fmt::Debug for CellRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.header().state.fmt(f)
    }
}

/// A cell whose task cannot end. Held for a lock section: no user code runs meanwhile.
pub(crate) struct PinnedCell(CellRef);

impl PinnedCell {
    pub(crate) fn header(&self) -> &TaskHeader {
        self.0.header()
    }

    pub(crate) fn pointer(&self) -> NonNull<TaskHeader> {
        self.0.0
    }
}

impl Drop for PinnedCell {
    fn drop(&mut self) {
        self.0.header().state.unpin();
    }
}

/// What a cancel did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// The task was taken out before it began; its closure is dropped.
    Removed,
    /// The task runs. Its waiters have their answer, and its result will be dropped.
    Signalled,
    /// The task had an outcome already.
    TooLate,
}

/// The part of a handle that knows the cell: one reference, and the right to the output. Its drop detaches.
pub(crate) struct JoinRef<T> {
    cell: NonNull<TaskHeader>,
    output: PhantomData<T>,
}

// SAFETY: the output moves to the thread that takes it.
unsafe impl<T: Send> Send for JoinRef<T> {}
// SAFETY: no `&T` is given out.
unsafe impl<T: Send> Sync for JoinRef<T> {}

impl<T> JoinRef<T> {
    #[inline]
    pub(crate) fn state(&self) -> &State {
        // SAFETY: it is a reference.
        unsafe { &self.cell.as_ref().state }
    }

    pub(crate) fn reference(&self) -> CellRef {
        self.state().add_reference();
        CellRef(self.cell)
    }

    /// The outcome, once: the output, or how it ended without one. The task is resolved.
    #[inline]
    pub(crate) fn take(&mut self) -> Result<T, TaskFailure> {
        let seen = self.state().load();
        if seen.is_taken() && matches!(seen.end(), Some(End::Finished | End::Panicked)) {
            return Err(TaskFailure::Taken);
        }
        match seen.end() {
            // SAFETY: the task has ended like this, and its output is the handle's until it is marked as taken.
            Some(End::Finished) => Ok(unsafe { self.take_as(End::Finished) }),
            // SAFETY: as above.
            Some(End::Panicked) => Err(TaskFailure::Panicked(unsafe { self.take_as(End::Panicked) })),
            Some(End::Cancelled) | None => Err(TaskFailure::Cancelled),
        }
    }

    /// # Safety
    /// The task has ended like this, its output is not taken, and `R` is `T` if it finished and [`Payload`] if it panicked.
    #[inline]
    unsafe fn take_as<R>(&mut self, end: End) -> R {
        let mut taken = MaybeUninit::<R>::uninit();
        // SAFETY: the caller's promise.
        unsafe {
            (self.cell.as_ref().vtable.take_output)(self.cell, end, taken.as_mut_ptr().cast());
            self.state().mark_taken();
            taken.assume_init()
        }
    }

    /// Leaves a waker for the end. False: the task is resolved.
    pub(crate) fn set_waker(&mut self, waker: &Waker) -> bool {
        if !self.state().reclaim_waker() {
            return false;
        }
        // SAFETY: this is a reference, and the waker is the handle's until it is left to the resolver.
        let Some(slot) = (unsafe { waker_slot(self.cell) }) else {
            return false;
        };
        let old = slot.with_mut(|slot| {
            // SAFETY: as above.
            let slot = unsafe { &mut *slot };
            match slot {
                Some(mine) if mine.will_wake(waker) => None,
                _ => slot.replace(waker.clone()),
            }
        });
        drop_quietly(old);
        self.state().leave_waker()
    }
}

impl<T> Drop for JoinRef<T> {
    fn drop(&mut self) {
        // SAFETY: it is a reference, and each answer says what is the caller's.
        unsafe {
            match self.state().detach() {
                Detach::Done => {}
                Detach::Free => free(self.cell),
                Detach::DropOutput => {
                    let end = self.state().load().end().expect("an ended task has an outcome");
                    (self.cell.as_ref().vtable.drop_output)(self.cell, end);
                    if self.state().drop_reference() {
                        free(self.cell);
                    }
                }
            }
        }
    }
}

/// Why there is no output.
pub(crate) enum TaskFailure {
    Panicked(Payload),
    Cancelled,
    /// The output was taken before.
    Taken,
}
