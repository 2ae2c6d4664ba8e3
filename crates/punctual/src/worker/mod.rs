//! Hands: the threads that find tasks and run them.
//!
//! In: a pool's engine. Out: its tasks, run one at a time in the order the [`search`] finds them; a worker leaves when
//! the pool is closed and nothing waits. [`idle`] decides who sleeps and who is woken.

pub(crate) mod idle;
#[cfg(all(test, loom))]
mod models;
mod search;

use crate::pool::State;
use crate::pool::engine::Engine;
use crate::pool::staff::Post;
use crate::sync::{Arc, is_multi_core};
use crate::task::record::Slot;
use crate::task::run::Runner;
use crate::task::{Frame, recycle};
use crate::time::{Place, Wait, Waked, deadline_after, spin};
use idle::Bed;
use std::time::Duration;

/// How long a worker looks for the next task before it sleeps. Five microseconds miss a submitter that waits for
/// each result (its p99 goes from 0.8 to 83 us), fifty measured like twenty.
const SPIN: Duration = Duration::from_micros(20);

/// A pool that has been quiet for this long gives the memory of its last burst back.
const TRIM_AFTER: Duration = Duration::from_secs(5);

/// One run in this many is timed, once a worker is warm; the doublings before make a short burst visible too.
const TIME_EVERY: u64 = 64;

/// The body of a worker thread.
pub(crate) fn main(engine: &Arc<Engine>, post: &Arc<Post>) {
    let frame = Frame::new(&engine.home, &engine.clock, engine.identity(), &post.token);
    frame.enter(|| {
        if let Some(hook) = &engine.config.on_thread_start {
            engine.hooks.call(hook);
        }
        let runner = Runner {
            frame: &frame,
            hooks: &engine.hooks,
            counters: &post.counters,
            watched: engine.watched,
        };
        let mut worker = Worker {
            engine,
            post,
            spins: is_multi_core(),
            since_rest: 0,
            next_timed: 0,
        };
        let mut slot = Slot::empty();
        while worker.next(&mut slot) {
            worker.run(&runner, &mut slot);
            if engine.is_forked() {
                // The task forked and returned in the child. The pool is the parent's; here its last thread ends, and
                // with it the process.
                return;
            }
        }
        if let Some(hook) = &engine.config.on_thread_stop {
            engine.hooks.call(hook);
        }
    });
}

struct Worker<'a> {
    engine: &'a Arc<Engine>,
    post: &'a Arc<Post>,
    /// On one core a spinning worker only keeps the submitter from running.
    spins: bool,
    /// Tasks run since the worker last slept.
    since_rest: u64,
    /// Which of them is timed next: 0, 1, 2, 4, and so on up to [`TIME_EVERY`], then every so many.
    next_timed: u64,
}

impl Worker<'_> {
    /// Finds the next task, sleeping if there is none; false when it is time to leave.
    #[inline]
    fn next(&mut self, slot: &mut Slot) -> bool {
        search::search(self.engine, slot) || self.next_when_dry(slot)
    }

    #[inline(never)]
    fn next_when_dry(&mut self, slot: &mut Slot) -> bool {
        let engine = self.engine;
        let mut searching = None;
        loop {
            if search::search(engine, slot) {
                // Others stay asleep while somebody searches; the last searcher to find something looks whether
                // there is more (step 3 of the essay).
                if let Some(searching) = searching
                    && engine.idle.found(searching)
                    && !engine.room.is_empty()
                {
                    engine.idle.notify();
                }
                return true;
            }
            if engine.state() >= State::Shutdown && engine.room.is_closed_and_empty() {
                if let Some(searching) = searching {
                    // Everybody was woken when the room closed: nobody depends on this searcher.
                    let _ = engine.idle.found(searching);
                }
                recycle::look_away();
                engine.tell_idle_watchers();
                return false;
            }
            if searching.is_none() {
                searching = engine.idle.search();
            }
            if searching.is_some() && self.spins && spin(SPIN, || !engine.room.looks_empty()) {
                continue;
            }
            searching = Some(self.rest(searching));
        }
    }

    /// Sleeps until called, or until there is housekeeping to do.
    fn rest(&mut self, searching: Option<idle::Searching>) -> idle::Searching {
        let engine = self.engine;
        let bed = &self.post.bed;
        let asleep = engine.idle.lie_down(bed, searching);
        engine.tell_idle_watchers();
        engine.clock.hint();
        if !engine.room.is_empty_and_open() {
            return engine.idle.rise(bed, asleep);
        }
        self.post.counters.park();
        self.since_rest = 0;
        self.next_timed = 0;
        let excess = if engine.clock.is_manual() {
            None
        } else {
            recycle::excess()
        };
        let wait = Wait {
            word: &bed.word,
            mask: Bed::CALLED,
            expected: 0,
            interrupt: None,
            deadline: excess.and_then(|_| deadline_after(engine.clock.tick(), TRIM_AFTER)),
        };
        if engine.clock.wait(&wait, Place::Parked) == Waked::Ready {
            recycle::look_away();
            return engine.idle.called(bed, asleep);
        }
        let searching = engine.idle.rise(bed, asleep);
        // Used meanwhile: not quiet yet, and the next rest begins a new term.
        if recycle::excess() == excess {
            recycle::trim();
        }
        searching
    }

    #[inline]
    fn run(&mut self, runner: &Runner<'_>, slot: &mut Slot) {
        let count = self.since_rest;
        self.since_rest += 1;
        if count != self.next_timed && slot.arrival.is_none() && !runner.watched {
            runner.run(slot);
        } else {
            self.run_observed(runner, slot, count);
        }
    }

    #[cold]
    fn run_observed(&mut self, runner: &Runner<'_>, slot: &mut Slot, count: u64) {
        let timed = count == self.next_timed;
        // A timed task stands for those up to the next timed one, so the weights add up to the number of tasks.
        let weight = count.clamp(1, TIME_EVERY);
        if timed {
            self.next_timed += weight;
        }
        let engine = self.engine;
        let begin = engine.clock.tick();
        if let Some(arrival) = slot.arrival.take() {
            engine
                .observed
                .wait
                .record(begin.saturating_sub(arrival.tick), arrival.weight);
        }
        if engine.clock.is_manual() {
            let name = slot
                .peek_entry()
                .and_then(|entry| entry.header().side()?.name.clone());
            let label = name.map_or_else(|| slot.label().to_owned(), String::from);
            *self.post.label.lock() = Some(label);
        }
        runner.run(slot);
        if timed {
            engine
                .observed
                .run
                .record(engine.clock.tick().saturating_sub(begin), weight);
        }
        if engine.clock.is_manual() {
            self.post.label.lock().take();
        }
    }
}

impl Engine {
    /// Starts a thread for a worker that was hired already. False: the system refused.
    pub(crate) fn start_worker(self: &Arc<Self>) -> bool {
        let number = self.next_worker_number();
        let engine = self.clone();
        let name = format!("{}-{number}", self.config.thread_name);
        let body = move || {
            let post = Arc::new(Post::new());
            engine.worker_begins(post.clone());
            main(&engine, &post);
            if !engine.is_forked() {
                engine.worker_leaves(&post);
            }
        };
        match crate::sync::start_thread(name, self.config.stack_size, body) {
            Ok(thread) => {
                self.keep_thread(thread);
                true
            }
            Err(_) => false,
        }
    }
}
