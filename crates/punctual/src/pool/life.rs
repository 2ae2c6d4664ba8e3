//! How a pool ends, and how others wait for that.
//!
//! In: `shutdown`, `stop`, `drain`, and the last worker leaving. Out: the five states in order, the tasks that did not
//! run, and everybody told. A pool has ended when it is closed, no task waits, and no worker is left; whoever makes
//! the last of these true runs [`Engine::try_terminate`]: the closer, a worker on its way out, or a canceller whose
//! task was the last.

use super::engine::Engine;
use super::state::State;
use crate::handle::Unrun;
use crate::queue::room::Drawn;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use crate::sync::{atomic, this_thread};
use crate::task::block::Entry;
use crate::task::home::{Home, Removal};
use crate::task::record::Slot;
use crate::task::state::{Claim, End};
use crate::task::{Here, Outcome, TaskInfo, Token, contain, here, is_watchdog_of, visit};
use crate::time::{Place, Wait, Waked, deadline_after};
use crate::worker::spare::{self, Awaits, Sleep};
use std::time::Duration;

/// How a wait for the pool's end, or for quiet, went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Reached,
    TimedOut,
    /// The token given to the wait has fired.
    Interrupted,
}

/// Those that wait for a quiet moment and have not had one.
#[derive(Default)]
pub(super) struct Watchers {
    list: Vec<Watcher>,
    next: u64,
}

struct Watcher {
    number: u64,
    /// The tasks that the waiting thread is in the middle of: part of the pool, and how many.
    own: Vec<(usize, u64)>,
}

impl Watcher {
    /// Whether nothing runs but its own tasks.
    fn is_alone_in(&self, parts: &[Calm]) -> bool {
        let own_in = |part: usize| self.own.iter().find(|own| own.0 == part).map_or(0, |own| own.1);
        parts.iter().all(|calm| calm.running <= own_in(calm.part))
    }
}

/// A part of the pool in which nothing waits.
#[derive(PartialEq, Eq)]
struct Calm {
    part: usize,
    /// How many tasks ever came, and how many of them run.
    accepted: u64,
    running: u64,
}

impl Engine {
    /// No more tasks from here on; what was accepted runs.
    pub(crate) fn shutdown(&self) {
        if self.is_forked() {
            return;
        }
        self.close(State::Shutdown);
        self.shut_annexes_down();
        self.try_terminate();
    }

    fn close(&self, state: State) {
        if self.is_forked() {
            return;
        }
        // Under the lock that decides about acceptance: every task is either before this or refused.
        self.room.attend(|producers| {
            producers.close();
            producers.unpause();
            // In the same section: whoever leaves because it is closed sees every delayed task that was accepted.
            self.timers.refuse();
            self.run_state.raise(state);
        });
        // A pause that comes now finds the room closed, and leaves both as they are.
        self.timers.due.set_paused(false, || ());
        // Sleepers must find out; one that lies down after this sees the closed room in its last look.
        self.idle.wake_all();
        // And those who wait for room.
        self.offer_room();
        self.close_timers();
        // The last worker may have left before.
        self.release_keeper();
    }

    /// As `shutdown`, and the tasks that wait come back, and the running ones are asked to stop.
    pub(crate) fn stop(&self) -> Vec<Unrun> {
        if self.is_forked() {
            return Vec::new();
        }
        // Closed and emptied before anybody is told: a task that ends because of the stop must not free its worker for
        // one that should come back; and nobody is woken to take one meanwhile. The same for the annexes, each step for
        // all of them.
        self.refuse_tasks();
        let annexes = self.annexes.all();
        for annex in &annexes {
            annex.refuse_tasks();
        }
        let mut unrun = self.take_all_out();
        for annex in &annexes {
            unrun.extend(annex.take_all_out());
        }
        self.tell_to_stop();
        for annex in &annexes {
            annex.tell_to_stop();
            annex.try_terminate();
        }
        self.try_terminate();
        unrun
    }

    fn refuse_tasks(&self) {
        self.room.attend(|producers| {
            producers.close();
            self.timers.refuse();
            self.run_state.raise(State::Shutdown);
        });
        // A task that has been taken out and not claimed yet must not be given a place in a queue that nobody looks at.
        self.room.refuse_moves();
        self.timers.due.refuse_moves();
    }

    fn take_all_out(&self) -> Vec<Unrun> {
        // First what is delayed: its time must not come meanwhile.
        let delayed = self.return_delayed();
        let mut unrun = self.take_waiting_out();
        unrun.extend(delayed);
        unrun
    }

    fn tell_to_stop(&self) {
        self.close(State::Stop);
        // After the state: a task that asks for its token from now on gets it fired.
        let mut tokens = self.staff.lock().tokens();
        tokens.extend(self.guests.tokens.lock().iter().cloned());
        tokens.extend(self.tokens_of_runs());
        for token in tokens {
            token.cancel();
        }
        self.wake_suspended();
    }

    /// Takes the waiting tasks out. Scoped ones are cancelled: their closures may not leave their scope.
    pub(crate) fn drain(&self) -> Vec<Unrun> {
        if self.is_forked() {
            return Vec::new();
        }
        let mut unrun = self.take_waiting_out();
        for annex in self.annexes.all() {
            unrun.extend(annex.take_waiting_out());
        }
        unrun
    }

    fn take_waiting_out(&self) -> Vec<Unrun> {
        self.fire_all();
        let mut unrun = Vec::new();
        // What was moved after it was taken out, and before it was claimed, lies in the queue again.
        while self.take_out(&mut unrun) {}
        self.task_removed();
        unrun
    }

    /// Once. True: there may be more, that was moved meanwhile.
    fn take_out(&self, unrun: &mut Vec<Unrun>) -> bool {
        let mut was_moved = false;
        // In one section: what ends meanwhile must not make room in the queue for one that should come back.
        let (queued, in_line) = self.room.drain_with(|| self.clear_lines());
        // What was due comes first, as it would have.
        let due = &self.timers.due;
        let claim_due = |slot| (due.claim_drained(&slot), slot);
        let claim_queued = |slot| (self.room.claim_drained(&slot), slot);
        for (claim, mut slot) in due.drain().map(claim_due).chain(queued.map(claim_queued)) {
            if slot.is_woken() {
                // No drain gives a future back that has begun.
                slot.take_entry()
                    .into_iter()
                    .for_each(|entry| self.keep_woken(entry));
                continue;
            }
            if claim != Drawn::Claimed {
                // Cancelled meanwhile, and the canceller counts it; or it has a later record.
                was_moved |= claim == Drawn::Moved;
                slot.let_go();
                continue;
            }
            match slot.take_entry() {
                Some(entry) => unrun.extend(self.drain_claimed(entry)),
                None => {
                    self.remove_queued(Removal::Returned, self.room.level_of(slot.class()), false);
                    unrun.push(self.taken_out(Unrun::closure(slot)));
                }
            }
        }
        for each in in_line {
            self.gives_back_inner(each.entry.header(), &each.at);
            if each.entry.is_begun() {
                self.keep_woken_in_line(each.entry);
                continue;
            }
            match each.entry.header().state.claim_to_remove() {
                Claim::Won => unrun.extend(self.drain_claimed(each.entry)),
                // Cancelled meanwhile; the canceller counts it.
                Claim::Lost => each.entry.let_go(),
            }
        }
        was_moved
    }

    fn drain_claimed(&self, entry: Entry) -> Option<Unrun> {
        let is_scoped = entry.header().is_scoped();
        let how = if is_scoped {
            Removal::Cancelled
        } else {
            Removal::Returned
        };
        let removed = self.remove(entry.pointer(), entry.header().class, how);
        debug_assert!(
            removed.share.is_none(),
            "a task in a queue is not in the timer store"
        );
        if !is_scoped {
            return Some(self.taken_out(Unrun::entry(entry)));
        }
        let told: &dyn Fn(&TaskInfo<'_>) = &|task| self.tell_removed(task, Outcome::Cancelled);
        let told = self.is_told_of_ends().then_some(told);
        Slot::holding(entry.header().class, entry).end_unrun(End::Cancelled, told);
        None
    }

    pub(super) fn taken_out(&self, task: Unrun) -> Unrun {
        if self.is_told_of_ends() {
            self.tell_removed(&task.info(), Outcome::Cancelled);
        }
        task
    }

    /// A task left the queue without a worker: somebody may wait for that.
    pub(super) fn task_removed(&self) {
        self.tell_idle_watchers();
        self.delayed_task_removed();
    }

    /// The last task for which the last worker may have stayed is gone, untaken: the worker is called, and leaves in its time.
    /// (One that lies down after this sees under the lock that the task is gone.)
    pub(super) fn stays_for_nothing(&self) {
        // Elsewhere no worker leaves for being idle.
        let size = self.size();
        let may_leave = size.core == 0 || size.core < size.max || self.core_leaves.load(Relaxed);
        if may_leave && self.room.look(|producers, _| producers.gate.take_put_off()) {
            self.idle.wake_all();
        }
    }

    /// A task left the timers without a worker: it may have been the last that a closed pool waited for.
    pub(super) fn delayed_task_removed(&self) {
        if self.state() >= State::Shutdown {
            if self.timers.is_over() {
                // Workers stayed for it, asleep.
                self.idle.wake_all();
            }
            self.try_terminate();
        }
    }

    /// Ends the pool if nothing is left of it. Once.
    ///
    /// Everybody who comes here has just written one of the three (closed, workers, what waits) and looks at the other
    /// two. The fence makes sure that of two who come at once at least one sees what the other wrote (model
    /// `cancel_meets_the_end_of_the_pool` hangs without it).
    pub(crate) fn try_terminate(&self) {
        atomic::fence(SeqCst);
        let reading = self.run_state.read();
        if reading.state() < State::Shutdown || reading.workers() > 0 || self.is_forked() {
            return;
        }
        // The counts are read after the workers are gone: nobody takes tasks, and the closed room lets none in, so
        // what waits can only become less. A submission that reserved a permit and then found the room closed comes
        // here itself.
        let (_, waiting) = self.room.glance();
        // A task that a thread of another part runs in place is taken out of what waits before that.
        let is_visited = self.life.visitors.load(Acquire) > 0;
        if waiting > 0 || is_visited || !self.timers.is_over() || self.annexes.is_occupied() {
            return;
        }
        if !self.run_state.raise(State::Tidying) {
            return;
        }
        let hook = self.life.on_terminated.lock().take();
        if let Some(hook) = hook {
            *self.life.tidying.lock() = Some(this_thread());
            self.hooks.call(hook);
            *self.life.tidying.lock() = None;
        }
        self.run_state.raise(State::Terminated);
        // A paused schedule keeps no pool from ending, but whoever waits for it must hear of it.
        self.drop_repeating();
        self.tell();
        if let Some(root) = &self.root {
            // One of those that it waits for.
            root.annex_ended(self);
            root.try_terminate();
        }
        // Every task has been claimed, so nobody comes to stay any more.
        let is_left = visit::wait_until_left(&raw const self.home);
        // Last: the engine may be gone when this returns, unless the caller holds it. Callers do: an owner, a
        // worker, or a canceller with a reference of its own.
        let anchor = self.life.anchor.lock().take();
        self.clock.hint();
        if is_left {
            drop(anchor);
        } else {
            // Its memory stays: somebody may be in it, and nobody can know.
            std::mem::forget(anchor);
        }
    }

    /// Wakes those who wait for a moment in the pool's life.
    pub(super) fn tell(&self) {
        self.life.moments.0.fetch_add(1, AcqRel);
        self.life.moments.wake_all();
    }

    /// A worker is about to sleep, or a task went away: this may be the moment that others wait for.
    ///
    /// The fence pairs with the one in [`Engine::wait_idle`]: either this thread sees the watcher, or the watcher's
    /// look, which comes after its announcement, sees the counts this thread wrote.
    pub(crate) fn tell_idle_watchers(&self) {
        atomic::fence(SeqCst);
        let pool = self.top();
        if pool.life.idle_watchers.load(Relaxed) > 0 {
            pool.look_for_quiet();
        }
    }

    /// Whether it is closed, and nobody is left who would run anything.
    pub(super) fn is_deserted(&self) -> bool {
        self.state() >= State::Shutdown && self.room.producers().gate.workers() == 0
    }

    /// Whether the pool's end depends on the calling thread: it is one of its workers or its watchdog, or it is ending the pool.
    pub(crate) fn is_own_thread(&self) -> bool {
        let pool = self.top().identity();
        here(|here| here.host().is_some_and(|host| host.pool == pool))
            || is_watchdog_of(pool)
            || (self.state() == State::Tidying && *self.life.tidying.lock() == Some(this_thread()))
    }

    /// Waits until the pool has terminated, or the token fires. From one of its own tasks that cannot happen, and the
    /// answer is at once. From a task of another pool it may be part of a circle of waits; then it is called off.
    pub(crate) fn await_termination(&self, limit: Option<Duration>, token: Option<&Token>) -> Waited {
        if self.state() == State::Terminated {
            return Waited::Reached;
        }
        if self.is_own_thread() || self.is_forked() {
            return Waited::TimedOut;
        }
        let is_over = || self.state() == State::Terminated;
        here(|here| {
            if !spare::is_worker(here) {
                return self.wait_until(limit, token, is_over);
            }
            let alarm = token.map_or_else(Token::new, Token::child);
            match self.wait_as_worker(here, limit, &alarm, is_over) {
                Waited::Interrupted if !token.is_some_and(Token::is_cancelled) => Waited::TimedOut,
                waited => waited,
            }
        })
    }

    /// Waits for a moment at which nothing is queued and nothing runs, here and in the annexes. A task of this pool that asks
    /// does not count itself.
    ///
    /// What counts is that there was such a moment, not that it lasts until the waiter looks: the thread that sees one takes all
    /// watchers off the list for which it is one, and a watcher that is off the list leaves.
    pub(crate) fn wait_idle(&self, limit: Duration) -> bool {
        if self.is_forked() {
            return false;
        }
        let number = self.begin_to_watch();
        atomic::fence(SeqCst);
        let own = here(|here| here.token());
        let waited = self.wait_until(Some(limit), own.as_ref(), || {
            !self.is_watching(number) || {
                self.look_for_quiet();
                !self.is_watching(number)
            }
        });
        self.change_watchers(|watchers| watchers.list.retain(|watcher| watcher.number != number));
        waited == Waited::Reached
    }

    fn begin_to_watch(&self) -> u64 {
        let annexes = self.annexes.all();
        let parts = std::iter::once(self).chain(annexes.iter().map(|annex| &**annex));
        let own = parts.map(|part| (part.identity(), here(|here| here.tasks_of(&part.home))));
        let own = own.filter(|(_, tasks)| *tasks > 0).collect();
        self.change_watchers(|watchers| {
            let number = watchers.next;
            watchers.next += 1;
            watchers.list.push(Watcher { number, own });
            number
        })
    }

    fn is_watching(&self, number: u64) -> bool {
        let watchers = self.life.watchers.lock();
        watchers.list.iter().any(|watcher| watcher.number == number)
    }

    fn change_watchers<R>(&self, change: impl FnOnce(&mut Watchers) -> R) -> R {
        let mut watchers = self.life.watchers.lock();
        let changed = change(&mut watchers);
        self.life.idle_watchers.store(watchers.list.len(), Relaxed);
        changed
    }

    /// If this is a quiet moment, those that wait for one leave. The list is locked from before the reading on: what a
    /// watcher submitted before it began to wait is part of every reading that can end its wait.
    fn look_for_quiet(&self) {
        let has_ended_waits = self.change_watchers(|watchers| {
            let before = watchers.list.len();
            if before > 0
                && let Some(parts) = self.read_calm()
            {
                watchers.list.retain(|watcher| !watcher.is_alone_in(&parts));
            }
            watchers.list.len() < before
        });
        if has_ended_waits {
            self.tell();
        }
    }

    /// All parts of the pool at one moment, if nothing waits in any.
    fn read_calm(&self) -> Option<Vec<Calm>> {
        let annexes = self.annexes.all();
        let read = || -> Option<Vec<Calm>> {
            let annexes = annexes.iter().map(|annex| annex.read_own_calm());
            std::iter::once(self.read_own_calm()).chain(annexes).collect()
        };
        let first = read()?;
        // A part that was given nothing between both readings, and in which nothing ended, was so all the time between them:
        // so all were at once.
        (annexes.is_empty() || read().as_ref() == Some(&first)).then_some(first)
    }

    fn read_own_calm(&self) -> Option<Calm> {
        let settled = || self.timers.tally(|| self.staff.lock().read());
        let (queue, (timed, staff), ()) = self.room.tally(settled, |_| ());
        let tally = queue.with(&timed.due);
        (tally.waiting() == 0).then(|| Calm {
            part: self.identity(),
            accepted: tally.accepted(),
            running: tally.taken + tally.joined - staff.totals().ended(),
        })
    }

    fn wait_until(
        &self,
        limit: Option<Duration>,
        token: Option<&Token>,
        is_reached: impl Fn() -> bool,
    ) -> Waited {
        self.wait_by(limit, token, is_reached, |wait| {
            self.clock.wait(wait, here(place_of))
        })
    }

    /// As [`Engine::wait_until`], on a worker of another pool: a spare stands in there meanwhile, and the alarm is fired when the
    /// wait could never end.
    fn wait_as_worker(
        &self,
        here: Here<'_>,
        limit: Option<Duration>,
        alarm: &Token,
        is_reached: impl Fn() -> bool,
    ) -> Waited {
        self.wait_by(limit, Some(alarm), is_reached, |wait| {
            let lent = spare::lend(
                here,
                Sleep {
                    part: Some(self.identity()),
                    awaits: Awaits::EndOf(self.identity()),
                    wait,
                    over: 0,
                    taken: None,
                    alarm: Some(alarm.clone()),
                },
            );
            match lent {
                Ok(_lent) => self.clock.wait(wait, place_of(here)),
                Err(_) => Waked::Interrupted,
            }
        })
    }

    /// Sleeps, by `sleep`, from one moment of the pool's life to the next.
    fn wait_by(
        &self,
        limit: Option<Duration>,
        token: Option<&Token>,
        is_reached: impl Fn() -> bool,
        sleep: impl Fn(&Wait<'_>) -> Waked,
    ) -> Waited {
        let deadline = limit.and_then(|limit| deadline_after(self.clock.tick(), limit));
        loop {
            let moment = self.life.moments.load() & !crate::sync::wait::NUDGE;
            if is_reached() {
                return Waited::Reached;
            }
            let wait = Wait {
                word: &self.life.moments,
                mask: !crate::sync::wait::NUDGE,
                expected: moment,
                interrupt: token,
                deadline,
            };
            match sleep(&wait) {
                Waked::Ready => {}
                Waked::Interrupted => return Waited::Interrupted,
                Waked::TimedOut => {
                    return if is_reached() {
                        Waited::Reached
                    } else {
                        Waited::TimedOut
                    };
                }
            }
        }
    }

    /// Joins the threads of a terminated pool, but never this one. (Of two closers at once, one finds the list empty.)
    pub(crate) fn join_threads(&self) {
        if self.is_forked() {
            return;
        }
        let mut threads = self.take_threads();
        threads.extend(self.annexes.take_threads());
        let me = this_thread();
        for thread in threads {
            if thread.thread().id() != me {
                // A worker contains every panic; one that came through anyway has been printed by its thread.
                contain(|| drop(thread.join()));
            }
        }
    }
}

fn place_of(here: Here<'_>) -> Place {
    if here.is_in_task() {
        here.place()
    } else {
        Place::Outside
    }
}
