//! Running one task: the same way for every kind, once.
//!
//! In: a slot with a claimed record. Out: the body has ended, is counted, and its waiters know. Order, for a task
//! with a handle: before hook, body, count, outcome published, waiters woken, after hook, the value dropped if its handle was
//! gone when the outcome was published, share given up. Two things bend it. A panic's payload is shown to the after hook
//! *before* it is published, because after that it is the handle's. And without hooks, outcome and share go in one step. A panic goes no further than its task: the worker
//! lives, and if nobody reads the failure the pool's sink is told, once. Decorators go round the body, inside the
//! hooks.

#![allow(unsafe_code)]

mod future;

use super::block::{Entry, Header};
use super::current::Frame;
use super::home::Home;
use super::hooks::Hooks;
use super::record::Slot;
use super::state::{End, Resolved};
use super::tape::Tape;
use super::view::View;
use super::watch::{Limits, Watching};
use super::{Outcome, discard};
use crate::observe::Ending;
use crate::observe::counters::Counters;
use crate::observe::named::NameSampler;
use crate::sync::Arc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// What running needs to know.
#[derive(Clone, Copy)]
pub(crate) struct Runner<'a> {
    pub(crate) frame: &'a Frame<'a>,
    pub(crate) hooks: &'a Arc<Hooks>,
    /// Where the tasks' slots go back to.
    pub(crate) home: &'a dyn Home,
    pub(crate) counters: &'a Counters,
    /// Whether the hooks want to hear of each task.
    pub(crate) watched: bool,
    /// Of a worker's own tasks: times of those with a name.
    pub(crate) names: Option<&'a NameSampler<'a>>,
    /// Where the pool records: of a worker's own tasks.
    pub(crate) tape: Option<&'a Tape<'a>>,
    /// Of a worker that keeps futures which are to be polled again: takes one that was woken during its poll.
    pub(crate) again: Option<&'a dyn Fn(Entry)>,
    /// Names or a tape: one look for both.
    pub(crate) notes: bool,
}

impl Runner<'_> {
    /// As [`Runner::run`], where speed does not matter: one copy of it.
    #[cold]
    pub(crate) fn run_apart(&self, slot: &mut Slot) {
        self.run(slot);
    }

    /// Runs the claimed task in the slot and leaves the slot empty.
    #[inline(always)]
    pub(crate) fn run(&self, slot: &mut Slot) {
        match slot.take_entry() {
            Some(entry) => self.run_entry(entry, true),
            None => self.run_closure(slot),
        }
    }

    /// Runs a claimed task whose record still lies in the queue: the task's share is the record's.
    ///
    /// # Safety
    /// The caller won the claim and holds a share of the block until this returns.
    pub(crate) unsafe fn run_in_place(&self, block: NonNull<Header>) {
        // SAFETY: not let go of below (`leave` is false), so the record's share is not given up here.
        self.run_entry(unsafe { Entry::from_raw(block) }, false);
    }

    #[inline(always)]
    fn run_closure(&self, slot: &mut Slot) {
        self.frame.begin_closure(slot.table(), slot.class());
        if self.notes {
            self.run_noted_closure(slot);
        } else if let Err(payload) = catch_unwind(AssertUnwindSafe(|| slot.run())) {
            self.closure_panicked(payload);
        } else {
            self.counters.finish();
        }
        self.frame.end();
    }

    /// A closure that somebody watches, or that is recorded.
    #[cold]
    #[inline(never)]
    fn run_noted_closure(&self, slot: &mut Slot) {
        let mut watching = None;
        if self.watched {
            self.hooks.before(&self.frame.info());
            watching = self.watch(Limits::default());
        }
        let ended = catch_unwind(AssertUnwindSafe(|| slot.run()));
        drop(watching);
        if let Some(tape) = self.tape {
            tape.end(if ended.is_ok() {
                Ending::Finished
            } else {
                Ending::Panicked
            });
        }
        if let Err(payload) = ended {
            return self.closure_panicked(payload);
        }
        self.counters.finish();
        if self.watched {
            self.hooks.after(&self.frame.info(), Outcome::Finished);
        }
    }

    #[cold]
    fn closure_panicked(&self, payload: Box<dyn std::any::Any + Send>) {
        self.counters.panic();
        let info = self.frame.info();
        if self.watched {
            self.hooks.after(&info, Outcome::Panicked(&*payload));
        }
        // Nobody holds a handle, so nobody will ever read it.
        self.hooks.failure(&info, Outcome::Panicked(&*payload));
        discard(payload);
    }

    /// With `leave`, gives the task's share up at the end. Inlined into both loops of a worker.
    #[inline(always)]
    fn run_entry(&self, entry: Entry, leave: bool) {
        if entry.header().class.is_viewed_or_future() {
            return self.run_specially(entry, leave);
        }
        self.run_block(entry, leave, || ());
    }

    #[inline(never)]
    fn run_specially(&self, entry: Entry, leave: bool) {
        if entry.header().class.is_future() {
            debug_assert!(leave, "a future is not run in place");
            self.run_future(entry);
        } else {
            self.run_of_view(entry, leave);
        }
    }

    /// A view's task, whose slots go on when all is done that concerns it.
    fn run_of_view(&self, entry: Entry, leave: bool) {
        let header = entry.header();
        let view = header.view().map(|view| Arc::clone(&view));
        let view = view.expect("its class says so");
        // One that was claimed without its slots runs inside a task that has them.
        let has_slots = !header.state.load().is_parked();
        self.begin_in_view(&view, header);
        self.run_block(entry, leave, || {
            view.chain().for_each(|view| view.end_of_body(has_slots));
        });
        self.home.leave_view(&view, has_slots);
    }

    /// Counts a task that begins, and how long it waited.
    fn begin_in_view(&self, view: &Arc<View>, header: &Header) {
        let arrival = header.side().and_then(|side| side.arrival);
        let waited = arrival.map(|arrival| self.frame.clock().tick().saturating_sub(arrival.tick));
        for view in view.chain() {
            view.begin();
            if let (Some(shown), Some(arrival), Some(waited)) = (&view.shown, arrival, waited) {
                shown.wait.record(waited, arrival.weight);
            }
        }
    }

    #[inline(always)]
    fn run_block(&self, entry: Entry, leave: bool, body_ended: impl FnOnce()) {
        self.frame.begin_block(entry.pointer());
        let end = if self.notes || entry.header().has_side() {
            self.run_with_care(&entry)
        } else {
            // SAFETY: the slot's task was claimed by the queue for this worker, and this is its one run.
            unsafe { entry.run() }
        };
        body_ended();
        self.frame.hide();
        self.end_block(entry, leave, end);
        self.frame.end();
    }

    /// The body has ended this way: counts it and tells everybody.
    #[inline(always)]
    fn end_block(&self, entry: Entry, leave: bool, end: End) {
        match end {
            End::Finished => self.block_finished(entry, leave),
            End::Panicked => self.block_panicked(entry, leave),
            _ => self.block_declined(entry, leave),
        }
    }

    /// A task that somebody watches, or that was given more than its closure.
    #[cold]
    fn run_with_care(&self, entry: &Entry) -> End {
        let mut limits = Limits::default();
        if let Some(side) = entry.header().side() {
            limits = side.limits;
            if side.expires_in.is_some()
                && let Some(home) = self.frame.home().upgrade()
            {
                home.forget_expiry(entry.header());
            }
        }
        if self.watched {
            self.hooks.before(&entry.header().info());
        }
        let watching = self.watch(limits);
        let end = self.timed_by_name(entry, || self.run_decorated(entry));
        drop(watching);
        self.note_end(entry, end);
        end
    }

    /// Runs it, or polls it; of a task with a name some runs are timed.
    fn timed_by_name<R>(&self, entry: &Entry, run: impl FnOnce() -> R) -> R {
        let header = entry.header();
        let name = || header.side().and_then(|side| side.name.as_deref());
        let sampler = self.names.filter(|_| name().is_some());
        let Some((sampler, timed)) = sampler.and_then(|sampler| Some((sampler, sampler.begin()?))) else {
            return run();
        };
        let ended = run();
        sampler.end(timed, name().unwrap_or_default(), header.priority().number());
        ended
    }

    /// Where the pool records: the body, or the last poll of it, has ended this way.
    fn note_end(&self, entry: &Entry, end: End) {
        let Some(tape) = self.tape else { return };
        tape.end(match end {
            End::Panicked => Ending::Panicked,
            End::Finished if !entry.header().state.load().is_signalled() => Ending::Finished,
            _ => Ending::Cancelled,
        });
    }

    /// Measures the running task's time, if it is limited.
    fn watch(&self, own: Limits) -> Option<Watching<'_>> {
        let limits = own.or(self.hooks.limits);
        (!limits.is_none()).then(|| self.frame.watch(limits))
    }

    /// The body, inside the decorators that were there at its submission.
    #[cold]
    fn run_decorated(&self, entry: &Entry) -> End {
        let contexts = entry
            .header()
            .side()
            .and_then(|side| side.more.lock().contexts.take());
        let Some(mut contexts) = contexts else {
            // SAFETY: as in `run_entry`.
            return unsafe { entry.run() };
        };
        let mut end = None;
        let around = catch_unwind(AssertUnwindSafe(|| {
            self.hooks.decorators.run(&mut contexts, || {
                // SAFETY: as in `run_entry`; `Decorators::run` calls this at most once.
                end = Some(unsafe { entry.run() });
            });
        }));
        drop(contexts);
        match (end, around) {
            (Some(end), Ok(())) => end,
            (Some(end), Err(payload)) => {
                // The body has its outcome; this is a callback that failed.
                self.hooks.count_panic(payload);
                end
            }
            // SAFETY: not run above, so the closure is still there.
            (None, around) => unsafe { entry.decline(around.err()) },
        }
    }

    /// A decorator did not run the body: as if it had been cancelled in its first moment. Or it was: a canceller took the closure
    /// back, and fixes the outcome when that is gone.
    #[cold]
    fn block_declined(&self, entry: Entry, leave: bool) {
        self.counters.signal();
        if !entry.header().state.load().is_removed()
            && let Resolved::Fixed(after) = entry.header().state.resolve(End::Cancelled, false)
        {
            // SAFETY: the share is still held.
            unsafe { Header::wake_waiters(entry.pointer(), after) };
        }
        self.hooks.after(&entry.header().info(), Outcome::Cancelled);
        if leave {
            entry.let_go();
        }
    }

    #[inline(always)]
    fn block_finished(&self, entry: Entry, leave: bool) {
        if entry.header().state.load().is_signalled() {
            self.counters.signal();
            return self.block_signalled(entry, End::Finished, leave);
        }
        self.counters.finish();
        let leaves = leave && !self.watched;
        match entry.header().state.resolve(End::Finished, leaves) {
            Resolved::Fixed(after) if leaves && after.is_task_gone() => {
                // SAFETY: with a waker the share would have been kept, see `State::resolve`.
                unsafe { Header::wake_waiters(entry.pointer(), after) };
                // SAFETY: the reading is that of the step in which the task left.
                unsafe { entry.left(after) };
            }
            resolved => self.block_finished_and_stays(entry, leave, resolved),
        }
    }

    /// The rest of [`Runner::block_finished`]: the share is still held.
    #[cold]
    fn block_finished_and_stays(&self, entry: Entry, leave: bool, resolved: Resolved) {
        match resolved {
            Resolved::Fixed(after) => {
                // SAFETY: the share is still held.
                unsafe { Header::wake_waiters(entry.pointer(), after) };
                if self.watched {
                    self.hooks.after(&entry.header().info(), Outcome::Finished);
                }
                if after.leaves_result_to_runner() {
                    // SAFETY: rule 3, and the share is still held.
                    unsafe { Header::end_result(entry.pointer(), End::Finished) };
                }
                if leave {
                    entry.let_go();
                }
            }
            Resolved::BeforeUs => {
                // Signalled between the look and the step.
                self.counters.finish_was_signal();
                self.block_signalled(entry, End::Finished, leave);
            }
        }
    }

    #[cold]
    fn block_panicked(&self, entry: Entry, leave: bool) {
        let header = entry.header();
        if header.state.mark_ended().is_signalled() {
            self.counters.signal();
            return self.block_signalled(entry, End::Panicked, leave);
        }
        self.counters.panic();
        if self.watched {
            // SAFETY: not resolved yet, and a canceller comes too late from here on: the payload is ours (rule 3).
            let payload = unsafe { Header::peek_panic(entry.pointer()) };
            self.hooks.after(&header.info(), Outcome::Panicked(payload));
        }
        if self.hooks.failure.is_some() {
            header.side_or_make().more.lock().unread = Some(self.hooks.clone());
        }
        match header.state.resolve(End::Panicked, false) {
            Resolved::Fixed(after) => {
                // SAFETY: the share is still held.
                unsafe { Header::wake_waiters(entry.pointer(), after) };
                if after.leaves_result_to_runner() {
                    // SAFETY: rule 3, and the share is still held.
                    unsafe { Header::end_result(entry.pointer(), End::Panicked) };
                }
            }
            Resolved::BeforeUs => unreachable!("cancellers come too late once the body has ended"),
        }
        if leave {
            entry.let_go();
        }
    }

    /// Cancelled while it ran: the waiters have been told, the result goes nowhere.
    #[cold]
    fn block_signalled(&self, entry: Entry, end: End, leave: bool) {
        // SAFETY: a canceller resolved first (rule 3).
        unsafe { entry.drop_result(end) };
        if self.watched {
            self.hooks.after(&entry.header().info(), Outcome::Cancelled);
        }
        if leave {
            entry.let_go();
        }
    }
}
