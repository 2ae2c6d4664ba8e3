//! Hands: the threads that find tasks and run them.
//!
//! In: a pool's engine. Out: its tasks, run one at a time in the order the [`search`] finds them; a worker leaves when
//! the pool is closed and nothing waits, when it has been idle for the keep-alive time, or when there are too many.
//! [`idle`] decides who sleeps and who is woken, [`spare`] what happens while a task waits for another, [`section`] what
//! happens while it blocks on something else.

mod due;
pub(crate) mod idle;
mod leave;
#[cfg(all(test, loom))]
mod models;
mod observed;
mod rest;
mod search;
pub(crate) mod section;
pub(crate) mod spare;
mod steal;
mod yields;

use crate::observe::named::NameSampler;
use crate::observe::split::Looker;
use crate::pool::Stint;
use crate::pool::engine::Engine;
use crate::pool::staff::{Departure, Post};
use crate::queue::kind;
use crate::queue::room::Taker;
use crate::queue::yielded::OwnYields;
use crate::sync::unmodelled::Relaxed;
use crate::sync::{self, Arc, is_multi_core};
use crate::task::block::Entry;
use crate::task::record::Slot;
use crate::task::run::Runner;
use crate::task::tape::Tape;
use crate::task::{Frame, Host};
use crate::time::Tick;
use due::Due;
use std::cell::Cell;
use steal::Thief;

/// The body of a worker thread; says why it ended. (`None`: in a forked child, where it is nobody's worker.)
pub(crate) fn main(engine: &Arc<Engine>, post: &Arc<Post>) -> Option<Departure> {
    let is_in_section = Cell::new(false);
    let local = engine.room.locals().map(|locals| locals.join(engine.identity()));
    let give_away = || engine.give_yields_away(&post.yields, &post.counters);
    let host = Host {
        home: &engine.home,
        identity: engine.identity(),
        pool: engine.top().identity(),
        aside: &post.aside,
        give_away: &give_away,
        visible: &post.visible,
        is_in_section: &is_in_section,
    };
    let frame = Frame::of_worker(host, &engine.clock);
    let departure = frame.enter(|| {
        if let Some(granted) = engine.config.nice.and_then(sync::thread::set_nice) {
            engine.observed.nice.store(granted.into(), Relaxed);
        }
        let mut guard = None;
        if let Some(enter) = &engine.config.enter {
            engine.hooks.call(|| guard = Some(enter()));
        }
        if let Some(hook) = &engine.config.on_thread_start {
            engine.hooks.call(|| hook());
        }
        let tape = engine.recording.as_ref();
        let tape = tape.map(|recording| Tape::new(recording, &engine.clock, post.number, &post.began));
        let names = NameSampler::new(&engine.top().observed.names, &engine.clock);
        let again = |entry| engine.keep_yielded(&post.yields, entry);
        let keeps_yields = engine.room.keeps_yields();
        let runner = Runner {
            again: keeps_yields.then_some(&again as &dyn Fn(Entry)),
            names: Some(&names),
            tape: tape.as_ref(),
            notes: engine.watched || tape.is_some(),
            frame: &frame,
            hooks: &engine.hooks,
            home: &**engine,
            counters: &post.counters,
            watched: engine.watched,
        };
        let mut worker = Worker {
            engine,
            shared: engine,
            post,
            // On a manual clock whoever advances it waits for the worker to lie down.
            spins: is_multi_core() && !engine.clock.is_manual(),
            since_rest: 0,
            next_timed: 0,
            idle_since: None,
            is_fresh: true,
            due_in_a_row: 0,
            passed: 0,
            lives_by_the_clock: false,
            dense: 0,
            due_since_rest: 0,
            stint: None,
            sleeps_exactly: false,
            taker: engine.room.taker(),
            due_taker: engine.timers.due.taker(),
            looker: Looker::default(),
            tape: tape.as_ref(),
            thief: local.as_ref().map(Thief::new),
            yields: &post.yields,
        };
        let mut slot = Slot::empty();
        let mut work = || match worker.begin(&runner, &mut slot) {
            Err(departure) => Some(departure),
            Ok(()) => worker.work_at(&runner, &mut slot),
        };
        let departure = match &local {
            Some(local) => local.enter(work),
            None => work(),
        };
        let departure = departure?;
        worker.leave_deque();
        worker.leave_yields();
        engine.look_after_waits();
        if let Some(hook) = &engine.config.on_thread_stop {
            engine.hooks.call(|| hook());
        }
        engine.hooks.call(|| drop(guard));
        Some(departure)
    });
    if let (Some(locals), Some(local), Some(_)) = (engine.room.locals(), &local, departure) {
        locals.leave(local);
    }
    departure
}

struct Worker<'a> {
    engine: &'a Engine,
    /// The same, for those that need to share it.
    shared: &'a Arc<Engine>,
    post: &'a Arc<Post>,
    /// On one core a spinning worker only keeps the submitter from running.
    spins: bool,
    /// Tasks run since the worker last slept.
    since_rest: u64,
    /// Which of them is timed next: 0, 1, 2, 4, and so on up to `observed::TIME_EVERY`, then every so many.
    next_timed: u64,
    /// Since when it has no task; noted only where idle workers leave.
    idle_since: Option<Tick>,
    /// A place in the queue is kept for it: see [`Crew::fresh`](crate::pool::crew::Crew::fresh).
    is_fresh: bool,
    /// Due tasks taken since the last one of the queue.
    due_in_a_row: u32,
    /// More urgent tasks of the queue that went before a due one.
    passed: u64,
    /// The last task it took was a due one.
    lives_by_the_clock: bool,
    /// How many times in a row it was to sleep for less than `rest::SHORTEST`.
    dense: u32,
    /// Due tasks taken since it last led.
    due_since_rest: u32,
    /// It has led until a time had come, and is at work since.
    stint: Option<Stint>,
    /// It has led before.
    sleeps_exactly: bool,
    /// As it comes to the shared queue.
    taker: Taker<'a>,
    /// And to where due tasks wait.
    due_taker: Taker<'a>,
    /// What its timed runs do with their time.
    looker: Looker,
    /// Where the pool records.
    tape: Option<&'a Tape<'a>>,
    /// Where workers have deques.
    thief: Option<Thief<'a>>,
    /// Futures that it keeps.
    yields: &'a Arc<OwnYields>,
}

impl Worker<'_> {
    /// In the loop for its kind of queue.
    fn work_at(&mut self, runner: &Runner<'_>, slot: &mut Slot) -> Option<Departure> {
        match (self.thief.is_some(), self.engine.queue_kind()) {
            (false, kind::STRICT) => self.work::<{ kind::STRICT }>(runner, slot),
            (false, kind::AGING) => self.work::<{ kind::AGING }>(runner, slot),
            (false, kind::SHARES) => self.work::<{ kind::SHARES }>(runner, slot),
            (false, _) => self.work::<{ kind::PLAIN }>(runner, slot),
            (true, kind::STRICT) => self.work_and_steal::<{ kind::STRICT }>(runner, slot),
            (true, kind::AGING) => self.work_and_steal::<{ kind::AGING }>(runner, slot),
            (true, kind::SHARES) => self.work_and_steal::<{ kind::SHARES }>(runner, slot),
            (true, _) => self.work_and_steal::<{ kind::PLAIN }>(runner, slot),
        }
    }

    /// Task after task. One loop for each kind of queue: neither looks at what the other needs.
    #[inline(never)]
    fn work<const KIND: u8>(&mut self, runner: &Runner<'_>, slot: &mut Slot) -> Option<Departure> {
        loop {
            if self.engine.is_forked() {
                // The task forked and returned in the child. The pool is the parent's; here its last thread ends, and
                // with it the process.
                return None;
            }
            if let Err(departure) = self.next::<KIND>(slot) {
                return Some(departure);
            }
            self.run::<KIND>(runner, slot);
        }
    }

    /// The first task of a worker for which a place in the queue is kept.
    #[cold]
    fn begin(&mut self, runner: &Runner<'_>, slot: &mut Slot) -> Result<(), Departure> {
        let has_surplus = self.engine.room.look(|producers, _| {
            producers.gate.begin();
            producers.shut();
            producers.gate.has_surplus()
        });
        if has_surplus {
            self.engine.bar_takers(|_| ());
        }
        self.next_when_dry(slot)?;
        self.run_observed(runner, slot, 0);
        if self.engine.room.is_levelled() {
            self.post.counters.ended_at(slot.class().priority().number());
        }
        self.since_rest = 1;
        Ok(())
    }

    /// Looks for a task once.
    fn look(&mut self, slot: &mut Slot) -> bool {
        match self.take_due(slot) {
            Due::Nothing => {}
            Due::Closed => return false,
            Due::Taken => {
                self.warm();
                return true;
            }
        }
        if self.is_fresh {
            let found = search::first(self.engine, slot);
            self.is_fresh = found.is_none();
            if found == Some(true) {
                return true;
            }
        } else if self.thief.is_none() && search::search(self.engine, slot, &mut self.taker) {
            return true;
        }
        let is_found = self.look_at_yields(slot) || self.look_everywhere(slot);
        if is_found {
            self.warm();
        }
        is_found
    }

    /// It has a task, and not from the place in the queue that is kept for a fresh one: whoever counts free hands must not
    /// count on this one.
    fn warm(&mut self) {
        if std::mem::take(&mut self.is_fresh) {
            self.engine.room.look(|producers, _| {
                producers.gate.warm();
                producers.shut();
            });
        }
    }

    /// Finds the next task, sleeping if there is none. `Err`: it is time to leave.
    #[inline(always)]
    fn next<const KIND: u8>(&mut self, slot: &mut Slot) -> Result<(), Departure> {
        if self.engine.attention.is_wanted() && self.attend(slot)? {
            self.offer_yields();
            return Ok(());
        }
        // Nobody else puts something in: what is not there now is not there after the search.
        if KIND == kind::PLAIN && self.yields.has_some() {
            return self.next_beside_yields(slot);
        }
        if search::search_as::<KIND>(self.engine, slot, &mut self.taker) {
            self.lives_by_the_clock = false;
            return Ok(());
        }
        self.next_when_dry(slot)
    }
}

impl Engine {
    /// Starts a thread for a worker that was hired already. False: the system refused.
    pub(crate) fn start_worker(self: &Arc<Self>) -> bool {
        let number = self.next_worker_number();
        let engine = self.clone();
        let name = format!("{}-{number}", self.config.thread_name);
        let body = move || {
            let post = Arc::new(Post::new(number));
            engine.worker_begins(post.clone());
            if let Some(departure) = main(&engine, &post) {
                engine.worker_leaves(&post, number, departure);
            }
        };
        match crate::sync::start_thread(name, self.config.stack_size, body) {
            Ok(thread) => {
                self.keep_thread(number, thread);
                true
            }
            Err(_) => false,
        }
    }
}
