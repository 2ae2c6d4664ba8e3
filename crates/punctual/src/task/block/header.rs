//! What can be done with a block by whoever holds a share, or the claim.
//!
//! In: a header. Out: its waiters woken, its side record, its closure or result by the rules of [`block`](super).

#![allow(unsafe_code)]

use super::{Delay, Entry, Header, Options, drop_result, tag, untag};
use crate::sync::Arc;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::futex;
use crate::task::home::{Forgotten, Home, HomeRef};
use crate::task::side::Side;
use crate::task::state::{End, Resolved, Snapshot};
use crate::task::view::Lent;
use crate::task::{Outcome, Priority, TaskInfo, Token, contain, discard};
use crate::time::{Axis, Clock, Tick};
use std::any::Any;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;

impl Header {
    /// Wakes whoever waits for the outcome that was just fixed. Takes a pointer: once resolved, the block may be
    /// freed under a thread that only has to wake sleepers, and a futex wake needs no more than the address.
    ///
    /// # Safety
    /// If `after` has a waker, the caller still holds a share.
    #[inline(always)]
    pub(crate) unsafe fn wake_waiters(block: NonNull<Header>, after: Snapshot) {
        if after.is_awaited() {
            // SAFETY: the caller's promise.
            unsafe { Header::wake_those_there_are(block, after) };
        }
    }

    /// # Safety
    /// As [`Header::wake_waiters`].
    #[inline(never)]
    unsafe fn wake_those_there_are(block: NonNull<Header>, after: Snapshot) {
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

    /// Whether there is a side record.
    #[inline]
    pub(crate) fn has_side(&self) -> bool {
        self.link.load(Relaxed).addr() & 1 != 0
    }

    pub(crate) fn side_or_make(&self) -> &Side {
        if let Some(side) = self.side() {
            return side;
        }
        let home = self.link.load(Acquire);
        if untag(home).is_none() {
            let made = tag(Box::new(Side::new(home, Options::default())));
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

    /// The view it was submitted to, if it was one.
    #[inline]
    pub(crate) fn view(&self) -> Option<Lent<'_>> {
        // SAFETY: rule 5: the block's home is a share of its view until it is freed.
        self.class.is_viewed().then(|| unsafe { Lent::of(self.home()) })
    }

    /// How urgent it is by now.
    pub(crate) fn priority(&self) -> Priority {
        match self.state.load().level() {
            Some(level) => Priority::level(level as u8),
            None => self.class.priority(),
        }
    }

    /// Its level in a room whose last one is this.
    pub(crate) fn level(&self, last: usize) -> usize {
        usize::from(self.priority().number()).min(last)
    }

    /// Whether a record that stands for this move is no longer the task's. Under a lock of its room, or when the task has
    /// been claimed.
    #[cold]
    pub(crate) fn is_outdated(&self, turn: u64) -> bool {
        self.side().is_some_and(|side| side.turn.load(Relaxed) != turn)
    }

    /// One more move; see [`Reference::leave_to_record`](super::Reference::leave_to_record).
    pub(super) fn next_turn(&self) -> u64 {
        // Plain steps: both locks of the room are held.
        let turn = &self.side_or_make().turn;
        turn.store(turn.load(Relaxed) + 1, Relaxed);
        turn.load(Relaxed)
    }

    /// The task's home, for somebody who holds a share but no claim. `None`: the task has ended, or is about to.
    pub(crate) fn reach_home(&self) -> Option<Arc<dyn Home>> {
        self.state.pin(|| {
            // SAFETY: the outcome is not fixed while this runs, so the task is unsettled.
            unsafe { HomeRef::own(self.home()) }
        })
    }

    /// What hooks are told. Makes the side record: that is where the number lives.
    pub(crate) fn info(&self) -> TaskInfo<'_> {
        let side = self.side_or_make();
        TaskInfo {
            id: side.id,
            name: side.name.as_deref(),
            type_name: self.type_name(),
            priority: self.priority(),
        }
    }

    /// Whether the closure borrows from a scope.
    pub(crate) fn is_scoped(&self) -> bool {
        self.table.is_scoped
    }

    /// Whether a canceller may reach it while it borrows: through its lane, and no other way.
    fn may_be_taken_back(&self) -> bool {
        self.is_scoped() && self.class.is_viewed()
    }

    /// Before the closure is run or declined, for the winner of the claim. False: it was taken back.
    pub(crate) fn begin_body(&self) -> bool {
        !self.may_be_taken_back() || self.state.begin_body()
    }

    /// For a canceller: takes the closure of a task that borrows from the worker that has claimed it, unless the body has begun.
    #[must_use = "true: end it"]
    pub(crate) fn take_back(&self) -> bool {
        self.may_be_taken_back() && self.state.take_back()
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
    /// The block lives, and the caller won the claim and has not run or dropped the closure yet; or it took the closure back.
    pub(crate) unsafe fn drop_closure(block: NonNull<Header>) {
        // SAFETY: the caller's promise is rule 2.
        unsafe { (block.as_ref().table.drop_closure)(block) };
    }

    /// By which clock a delayed task goes.
    pub(crate) fn axis(&self) -> Option<Axis> {
        self.table.axis
    }

    /// What the timer store knows about a delayed task.
    ///
    /// # Safety
    /// The block was made by [`Entry::delayed`] and lives.
    #[inline]
    pub(crate) unsafe fn delay(block: NonNull<Header>) -> *mut Delay {
        #[cfg(not(loom))]
        // SAFETY: the caller's promise: a block begins with its header, and behind that lies the delay, which needs no
        // more than the header's alignment.
        unsafe {
            block.as_ptr().add(1).cast()
        }
        #[cfg(loom)]
        // SAFETY: the caller's promise.
        unsafe {
            (block.as_ref().table.delay)(block)
        }
    }

    /// When the task is, or was, due, if it was submitted with a delay.
    ///
    /// # Safety
    /// The block lives.
    pub(crate) unsafe fn due(block: NonNull<Header>) -> Option<(Axis, Tick)> {
        // SAFETY: the caller's promise; the time was written before the block was shared, and is a place of its own.
        unsafe {
            let axis = block.as_ref().table.axis?;
            Some((axis, (&raw const (*Header::delay(block)).when).read()))
        }
    }

    /// Whether a closure that is dropped has to be gone before its waiters are told.
    pub(crate) fn holds_something(&self) -> bool {
        self.table.holds_something
    }

    /// Ends a task that will never run: drops its closure, fixes its outcome, tells its waiters, and gives the task's share
    /// up if it came along.
    ///
    /// # Safety
    /// As [`Header::drop_closure`], and the caller holds a share to the end of this call.
    pub(crate) unsafe fn end_unrun(block: NonNull<Header>, end: End, share: Option<Entry>) {
        // SAFETY: the caller's promise. Before anyone is told: whoever knows the outcome finds what the closure held gone.
        unsafe { Header::drop_closure(block) };
        // SAFETY: the caller holds a share.
        match unsafe { block.as_ref() }.state.resolve(end, share.is_some()) {
            // SAFETY: the caller holds a share; the reading is that of the step in which the task left, if it did.
            Resolved::Fixed(after) => unsafe { Header::tell_end(block, after, share) },
            Resolved::BeforeUs => unreachable!("only a running task is resolved by another"),
        }
    }

    /// As [`Header::end_unrun`] for a task that a visitor cancelled; its outcome may be fixed already.
    ///
    /// # Safety
    /// The caller holds a share to the end of this call.
    #[inline]
    pub(crate) unsafe fn end_forgotten(block: NonNull<Header>, Forgotten { share, after }: Forgotten) {
        // SAFETY: the caller's promise; the claim was won with this reading, and if the outcome is not fixed the closure is there.
        unsafe {
            if after.is_resolved() {
                Header::tell_end(block, after, Some(share));
            } else {
                Header::end_unrun(block, End::Cancelled, Some(share));
            }
        }
    }

    /// Tells the waiters of an outcome that was just fixed, and gives the task's share up if it came along.
    ///
    /// # Safety
    /// The caller holds a share, and `after` is the reading of the step that fixed the outcome.
    #[inline]
    unsafe fn tell_end(block: NonNull<Header>, after: Snapshot, share: Option<Entry>) {
        // SAFETY: the caller holds a share.
        unsafe { Header::wake_waiters(block, after) };
        match share {
            // SAFETY: the reading is that of the step in which the task left.
            Some(share) if after.is_task_gone() => unsafe { share.left(after) },
            Some(share) => share.let_go(),
            None => {}
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

    /// Ends what the body left, which no join can take any more: the handle goes, or was gone when the outcome was fixed. A failure
    /// that no join has read is told to the pool's sink.
    ///
    /// # Safety
    /// The block lives, the task is resolved with this end, `Finished` or `Panicked`, and its result is the caller's by rule 3.
    #[cold]
    pub(crate) unsafe fn end_result(block: NonNull<Header>, end: End) {
        if end == End::Panicked {
            // SAFETY: the caller's promise.
            return discard(unsafe { Header::take_unread(block) });
        }
        // First: once it is gone no thread finds it, whatever is done below.
        // SAFETY: the block lives.
        unsafe { block.as_ref() }.state.mark_taken();
        // SAFETY: the caller's promise.
        unsafe { drop_result(block, end) }
    }

    /// Moves the payload of a failure out that no join has read, and tells the pool's sink of it.
    ///
    /// # Safety
    /// As [`Header::end_result`], with `Panicked`.
    pub(crate) unsafe fn take_unread(block: NonNull<Header>) -> Box<dyn Any + Send> {
        // SAFETY: the block lives.
        let header = unsafe { block.as_ref() };
        header.state.mark_taken();
        // SAFETY: the caller's promise.
        let payload = unsafe { Header::take_panic(block) };
        if let Some(hooks) = header.side().and_then(|side| side.more.lock().unread.take()) {
            hooks.failure(&header.info(), Outcome::Panicked(&*payload));
        }
        payload
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
