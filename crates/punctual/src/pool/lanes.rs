//! The end of a lane; and tasks that run in a view although no worker takes them.
//!
//! In: a lane that is disposed of or closed; a scoped task that the pool does not take. Out: nothing more comes in, what
//! waited is cancelled, or waited for; the scoped task has its view's slots for as long as its submitter runs it.

#![allow(unsafe_code)]

use super::engine::Engine;
use super::views::{OutOfLine, end_waiting_of};
use crate::handle::{Cancel, cancel, remove};
use crate::sync::Arc;
use crate::sync::unmodelled::Relaxed;
use crate::sync::wait::NUDGE;
use crate::task::block::{Header, Reference};
use crate::task::here;
use crate::task::view::View;
use crate::time::{Axis, Wait, Waked, deadline_after};
use crate::worker::spare::{self, Awaits, Sleep};
use std::ptr::NonNull;
use std::time::Duration;

impl Engine {
    /// Closes a lane and cancels its tasks; how many had not begun.
    pub(crate) fn dispose_of(&self, lane: &Arc<View>) -> usize {
        if self.is_forked() {
            return 0;
        }
        let (holder, line) = {
            // Under the lock that decides about acceptance: what comes later is refused.
            let _producers = self.room.producers();
            // SAFETY: the task that has the slot lives while the lane's lock is held.
            let holder = lane.close(|task| unsafe { Reference::of(task) });
            (holder, self.clear_lines_inside(lane))
        };
        let mut cancelled = self.cancel_delayed_of(lane);
        for each in line {
            self.gives_back_inner(each.entry.header(), &each.at);
            if each.entry.is_begun() {
                self.keep_woken_in_line(each.entry);
                continue;
            }
            cancelled += usize::from(end_waiting_of(&each.entry));
            each.entry.let_go();
        }
        self.cancel_suspended_of(lane);
        // Last: what ends because of it must not make room for one of the others.
        if let Some(holder) = holder {
            cancelled += usize::from(cancel(holder.pointer()) == Cancel::Removed);
        }
        cancelled
    }

    /// Everybody in the lane's line, and in those of views inside it.
    fn clear_lines_inside(&self, lane: &Arc<View>) -> Vec<OutOfLine> {
        if lane.had_children.load(Relaxed) {
            return self.clear_lines_of(|view| view.is_inside_of(lane));
        }
        self.clear_line_of(lane).collect()
    }

    /// Cancels what a closed lane has in the timers; how many.
    fn cancel_delayed_of(&self, lane: &Arc<View>) -> usize {
        if !lane.had_delayed.load(Relaxed) {
            return 0;
        }
        let mut found = Vec::new();
        {
            let mut book = self.timers.book.lock();
            for axis in [Axis::Ticks, Axis::Wall] {
                let tasks = book.store(axis).values().filter_map(|timer| timer.task_pointer());
                let is_mine = |task: &NonNull<Header>| {
                    // SAFETY: the store holds a share.
                    let view = unsafe { task.as_ref() }.view();
                    view.is_some_and(|view| view.is_inside_of(lane))
                };
                // SAFETY: the store holds a share.
                found.extend(tasks.filter(is_mine).map(|task| unsafe { Reference::of(task) }));
            }
        }
        found.iter().filter(|task| remove(task.pointer())).count()
    }

    /// Closes a lane, and waits for its tasks.
    pub(crate) fn close_view(&self, lane: &Arc<View>, limit: Duration) -> bool {
        if self.is_forked() {
            return false;
        }
        {
            let _producers = self.room.producers();
            lane.close(|_| ());
        }
        self.cancel_delayed_of(lane);
        let is_over = || lane.present() == 0;
        if is_over() || limit.is_zero() || here(|here| here.is_in_view(lane) || !spare::may_block(here)) {
            return is_over();
        }
        lane.watch(true);
        let is_reached = self.wait_lending(Some(limit), is_over);
        lane.watch(false);
        is_reached
    }

    /// Waits for a view's slots, for a task that the calling thread runs itself. A task of a thread that has them already is
    /// a part of that.
    pub(crate) fn enter_as_guest(&self, view: &Arc<View>, task: &Header) {
        if here(|here| here.has_slots_of(view)) {
            task.state.park();
            view.chain().for_each(|view| view.arrive());
            return;
        }
        view.chain().for_each(|view| view.watch(true));
        self.wait_lending(None, || self.take_slots(view));
        view.chain().for_each(|view| view.watch(false));
    }

    /// A slot in each gate, or none.
    fn take_slots(&self, view: &Arc<View>) -> bool {
        let Some(full) = view.chain().position(|view| !view.take_slot()) else {
            return true;
        };
        // From the outermost in, as all slots go back.
        let taken: Vec<_> = view.chain().take(full).collect();
        taken.into_iter().rev().for_each(|view| self.release_one(view));
        false
    }

    /// As `wait_until`; on a worker a spare stands in meanwhile.
    fn wait_lending(&self, limit: Option<Duration>, is_reached: impl Fn() -> bool) -> bool {
        let deadline = limit.and_then(|limit| deadline_after(self.clock.tick(), limit));
        here(|here| {
            let token = here.token().filter(|_| limit.is_some());
            loop {
                let moment = self.life.moments.load() & !NUDGE;
                if is_reached() {
                    return true;
                }
                let wait = Wait {
                    word: &self.life.moments,
                    mask: !NUDGE,
                    expected: moment,
                    interrupt: token.as_ref(),
                    deadline,
                };
                let sleep = Sleep {
                    part: Some(self.identity()),
                    awaits: Awaits::Unknown,
                    wait: &wait,
                    over: 0,
                    taken: None,
                    alarm: None,
                };
                let _lent = spare::lend(here, sleep);
                match self.clock.wait(&wait, here.place()) {
                    Waked::Ready => {}
                    Waked::TimedOut | Waked::Interrupted => return is_reached(),
                }
            }
        })
    }
}
