//! A view in memory: shares of it that blocks hold, and what is written to it while it goes.
//!
//! In: a share, which becomes a task's link to its home. Out: the same share, given back once; or the view, for as long as the
//! block is there. Its home is its first field, so that one address leads to both.

#![allow(unsafe_code)]

use super::View;
use super::crowd::NO_PLACE;
use crate::sync::unmodelled::Relaxed;
use crate::sync::{Arc, Weak, local, prefetch_to_write};
use crate::task::block::Header;
use crate::task::home::HomeRef;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// Before a view in memory: the counts of its shares.
const COUNTS: usize = 2 * size_of::<usize>();
/// Of memory, what processors pass to each other.
const LINE: usize = 64;

impl View {
    /// A share becomes a block's: see [`Header::view`].
    pub(crate) fn lend(view: Arc<View>) -> *const HomeRef {
        Arc::into_raw(view).cast()
    }

    /// What a block's share leads to. The share itself is to follow: [`View::share`].
    pub(crate) fn address(view: &Arc<View>) -> *const HomeRef {
        Arc::as_ptr(view).cast()
    }

    /// The share of a block that has the address.
    pub(crate) fn share(view: &Arc<View>) {
        let _: *const HomeRef = View::lend(view.clone());
    }

    /// # Safety
    /// `home` came from [`View::lend`], and this is its one return.
    pub(in crate::task) unsafe fn give_back(home: *const HomeRef) {
        // SAFETY: the caller's promise; the home is the view's first field.
        drop(unsafe { Arc::from_raw(home.cast::<View>()) });
    }

    /// Asks for the memory that a submission writes.
    #[inline]
    pub(crate) fn prefetch(view: &Arc<View>) {
        let counts = Arc::as_ptr(view).cast::<u8>().wrapping_sub(COUNTS);
        prefetch_to_write(counts);
        prefetch_to_write(counts.wrapping_add(LINE));
        prefetch_to_write(counts.wrapping_add(2 * LINE));
    }

    /// Another place for a member of the crowd. Under the crowd's lock.
    pub(super) fn set_place(member: &Weak<View>, place: u32) {
        // SAFETY: a view that goes leaves the crowd first, under the lock that the caller holds, so it is there, if only to wait for
        // that lock; and the place is an atomic, which nothing drops.
        let seat = unsafe { &(*member.as_ptr()).place };
        seat.store(place, Relaxed);
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if self.place.load(Relaxed) != NO_PLACE
            && let Some(home) = self.home.upgrade()
        {
            home.forget_view(self);
        }
        if let Some(outer) = self.parent.take() {
            drop_outer(outer);
        }
    }
}

local! {
    /// While the thread drops a view: those it was inside of, for the loop further down the stack. No destructor, as a view may be
    /// dropped by one.
    static GOING: ManuallyDrop<RefCell<Option<Vec<Arc<View>>>>> = ManuallyDrop::new(RefCell::new(None));
}

/// A view may be inside of thousands of others: dropped in a loop, where each would otherwise be dropped inside the last.
fn drop_outer(outer: Arc<View>) {
    let is_left_to_another = GOING.with(|going| match &mut *going.borrow_mut() {
        Some(going) => {
            going.push(outer);
            true
        }
        none => {
            *none = Some(vec![outer]);
            false
        }
    });
    if is_left_to_another {
        return;
    }
    // Not in the condition of a `while let`: a drop pushes.
    let next = || GOING.with(|going| going.borrow_mut().as_mut().and_then(Vec::pop));
    while let Some(view) = next() {
        drop(view);
    }
    GOING.with(|going| going.borrow_mut().take());
}

/// The view of a task, for as long as the task's block is there.
pub(crate) struct Lent<'a>(ManuallyDrop<Arc<View>>, PhantomData<&'a Header>);

impl Lent<'_> {
    /// # Safety
    /// `home` came from [`View::lend`] and is not given back while this lives.
    pub(in crate::task) unsafe fn of(home: *const HomeRef) -> Self {
        // SAFETY: the caller's promise; the share stays the block's.
        let view = unsafe { Arc::from_raw(home.cast::<View>()) };
        Lent(ManuallyDrop::new(view), PhantomData)
    }
}

impl Deref for Lent<'_> {
    type Target = Arc<View>;
    fn deref(&self) -> &Arc<View> {
        &self.0
    }
}
