//! Those that wait at a gate, first come first served.
//!
//! In: tasks without a slot. Out: each when it gets one, or is not to wait any more. Most lines have one task at a time, which lies
//! in the view itself: a line that begins and ends allocates nothing.

use crate::task::block::Entry;
use crate::time::Tick;
use std::collections::VecDeque;

/// A task in a line.
pub(crate) struct Parked {
    pub(crate) entry: Entry,
    pub(crate) arrived: Tick,
    /// Tasks that the pool had accepted before it; of one that was delayed, before its time came.
    pub(crate) number: u64,
}

/// See the module's header.
#[derive(Default)]
pub(super) struct Line {
    first: Option<Parked>,
    /// Those after it. There while the line has more than one, and until it ends. Boxed: most views have none, and each would have
    /// three words more.
    #[allow(clippy::box_collection)]
    rest: Option<Box<VecDeque<Parked>>>,
}

impl Line {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn len(&self) -> usize {
        let rest = self.rest.as_ref().map_or(0, |rest| rest.len());
        usize::from(self.first.is_some()) + rest
    }

    pub(super) fn first(&self) -> Option<&Parked> {
        self.first.as_ref()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Parked> {
        self.first
            .iter()
            .chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }

    #[inline]
    pub(super) fn push(&mut self, parked: Parked) {
        match self.first {
            None => self.first = Some(parked),
            Some(_) => self.rest.get_or_insert_default().push_back(parked),
        }
    }

    /// Takes the first out.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Parked> {
        let next = self.first.take();
        if self.rest.is_some() {
            self.move_up();
        }
        next
    }

    /// The first place is free.
    #[inline(never)]
    fn move_up(&mut self) {
        self.first = self.rest.as_mut().and_then(|rest| rest.pop_front());
        if self.first.is_none() {
            self.rest = None;
        }
    }

    /// Takes out the first of which this is true.
    pub(super) fn take_first(&mut self, is_wanted: impl Fn(&Parked) -> bool) -> Option<Parked> {
        let place = self.iter().position(is_wanted)?;
        match place.checked_sub(1) {
            None => self.next(),
            Some(place) => self.rest.as_mut()?.remove(place),
        }
    }

    /// Takes out all of which this is true, in order.
    pub(super) fn take_all(&mut self, is_wanted: impl Fn(&Parked) -> bool) -> Vec<Parked> {
        let mut out = Vec::new();
        let rest = self.rest.take();
        let all = self
            .first
            .take()
            .into_iter()
            .chain(rest.into_iter().flat_map(|rest| *rest));
        for parked in all {
            if is_wanted(&parked) {
                out.push(parked);
            } else {
                self.push(parked);
            }
        }
        out
    }
}
