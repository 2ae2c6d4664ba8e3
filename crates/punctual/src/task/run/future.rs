//! Polling a future: one poll is one turn on a worker.
//!
//! In: the claimed entry of a future that is polled for the first time, or one that was woken. Out: it has ended, as any
//! task does; or it rests until somebody wakes it; or it has been woken meanwhile and is in the queue again, at the end. The
//! before hook is told at the first poll, the after hook at the end; decorators and limits are put round each poll. What is not
//! polled any more (cancelled, unwanted, the pool stops) is dropped here, on a worker.

#![allow(unsafe_code)]

use super::Runner;
use crate::observe::Ending;
use crate::sync::Arc;
use crate::sync::unmodelled::Relaxed;
use crate::task::block::{Entry, Header};
use crate::task::state::End;
use crate::task::view::View;
use crate::task::waking::{Begin, Rest, Waking};
use crate::task::watch::Limits;
use crate::task::{budget, contain};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Runner<'_> {
    #[inline(never)]
    pub(super) fn run_future(&self, entry: Entry) {
        let header = entry.header();
        // SAFETY: a future's block, of which this is a share; not used after it is given up.
        let waking = unsafe { Header::waking(entry.pointer()) };
        let view = header.view().map(|view| Arc::clone(&view));
        let begin = waking.begin();
        if let Some(view) = &view {
            match begin {
                Begin::First => self.begin_in_view(view, header),
                Begin::Again | Begin::Unwanted => view.chain().for_each(|view| view.resume()),
            }
        }
        self.frame.begin_block(entry.pointer());
        let is_called_off = match begin {
            Begin::First => header.state.load().is_signalled(),
            Begin::Again => header.state.load().is_signalled() || self.home.is_stopping(),
            Begin::Unwanted => true,
        };
        let polled = if is_called_off {
            Some(self.call_off(&entry))
        } else {
            self.counters.poll();
            self.poll(&entry, begin == Begin::First)
        };
        match (self.tape, polled) {
            (Some(_), Some(end)) => self.note_end(&entry, end),
            (Some(tape), None) => tape.end(Ending::Suspended),
            (None, _) => {}
        }
        self.frame.hide();
        match polled {
            Some(end) => self.end_future(entry, waking, view.as_ref(), end),
            None => self.suspend(entry, waking, view.as_ref()),
        }
    }

    fn poll(&self, entry: &Entry, is_first: bool) -> Option<End> {
        if self.watched || entry.header().has_side() {
            return self.poll_with_care(entry, is_first);
        }
        // SAFETY: this worker was given the future's record, and has begun its poll.
        budget::with_a_new_one(|| unsafe { entry.poll() })
    }

    #[cold]
    fn poll_with_care(&self, entry: &Entry, is_first: bool) -> Option<End> {
        let header = entry.header();
        let limits = header.side().map_or(Limits::default(), |side| side.limits);
        if is_first {
            let may_expire = header.side().is_some_and(|side| side.expires_in.is_some());
            if may_expire && let Some(home) = self.frame.home().upgrade() {
                home.forget_expiry(header);
            }
            if self.watched {
                self.hooks.before(&header.info());
            }
        }
        let _watching = self.watch(limits);
        let poll = || {
            // SAFETY: as in `Runner::poll`; called at most once below.
            self.timed_by_name(entry, || budget::with_a_new_one(|| unsafe { entry.poll() }))
        };
        let contexts = header.side().and_then(|side| side.more.lock().contexts.take());
        let Some(mut contexts) = contexts else {
            return poll();
        };
        let mut polled = None;
        let around = catch_unwind(AssertUnwindSafe(|| {
            self.hooks.decorators.run(&mut contexts, || {
                polled = Some(poll());
            });
        }));
        match (polled, around) {
            (Some(None), around) => {
                if let Err(payload) = around {
                    self.hooks.count_panic(payload);
                }
                // For the next poll.
                if let Some(side) = header.side() {
                    side.more.lock().contexts = Some(contexts);
                }
                None
            }
            (Some(end), Ok(())) => end,
            (Some(end), Err(payload)) => {
                self.hooks.count_panic(payload);
                end
            }
            // SAFETY: not polled to its end above, so the future is still there.
            (None, around) => Some(unsafe { entry.decline(around.err()) }),
        }
    }

    /// Drops a future that is not polled any more.
    #[cold]
    fn call_off(&self, entry: &Entry) -> End {
        let header = entry.header();
        if header.state.load().has_token() {
            let token = header.side().and_then(|side| side.more.lock().token.clone());
            if let Some(token) = token {
                contain(|| token.cancel());
            }
        }
        // SAFETY: as in `poll`; this is its end.
        unsafe { entry.decline(None) }
    }

    fn end_future(&self, entry: Entry, waking: &Waking, view: Option<&Arc<View>>, end: End) {
        if waking.place.load(Relaxed) != 0 {
            self.home.unlist(entry.pointer());
        }
        if let Some(view) = view {
            view.chain().for_each(|view| view.end_of_body(true));
        }
        self.end_block(entry, true, end);
        self.frame.end();
        if let Some(view) = view {
            self.home.leave_view(view, true);
        }
    }

    /// The poll is over, and the future is not.
    fn suspend(&self, entry: Entry, waking: &Waking, view: Option<&Arc<View>>) {
        self.frame.end();
        if view.is_none()
            && waking.is_woken()
            && let Some(again) = self.again
        {
            // Its record is this entry, whoever else wakes it. It counts as taken all the while.
            let rest = waking.rest();
            debug_assert_eq!(rest, Rest::Woken, "a wake is undone by a poll only");
            return again(entry);
        }
        // First: what is polled again was counted as suspended, and the slots are free for whoever comes next.
        self.counters.suspend();
        if let Some(view) = view {
            view.chain().for_each(|view| view.suspend());
            self.home.pause_in_view(view);
        }
        if !waking.is_woken() && waking.place.load(Relaxed) == 0 && !self.home.list(entry.pointer()) {
            // The pool stops. It is polled, so this only leaves word for the step below.
            let _ = waking.wake();
        }
        match waking.rest() {
            Rest::Resting => {
                // Held by nobody: whoever wakes it takes it from there.
                let _ = entry.into_raw();
            }
            Rest::Woken => self.home.still_woken(entry),
        }
    }
}
