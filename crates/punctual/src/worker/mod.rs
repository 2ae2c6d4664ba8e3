//! Hands: the threads that find tasks and run them.
//!
//! In: a pool's engine. Out: its tasks, run one at a time in the order the [`search`] finds them; a worker leaves when
//! the pool is closed and nothing waits, when it has been idle for the keep-alive time, or when there are too many.
//! [`idle`] decides who sleeps and who is woken, [`spare`] what happens while a task waits for another, [`section`] what
//! happens while it blocks on something else.

pub(crate) mod idle;
#[cfg(all(test, loom))]
mod models;
mod search;
pub(crate) mod section;
pub(crate) mod spare;
mod steal;

use crate::observe::MEASURES;
use crate::observe::split::Looker;
use crate::pool::State;
use crate::pool::crew::Crew;
use crate::pool::engine::{Attention, Engine};
use crate::pool::staff::{Departure, Post};
use crate::queue::kind;
use crate::queue::producers::Producers;
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::unmodelled::Relaxed;
use crate::sync::{self, Arc, atomic, is_multi_core};
use crate::task::block::Entry;
use crate::task::record::Slot;
use crate::task::run::Runner;
use crate::task::tape::Tape;
use crate::task::{Frame, Host, recycle};
use crate::time::{Place, Tick, Wait, Waked, deadline_after, spin};
use idle::Bed;
use std::cell::Cell;
use std::time::Duration;
use steal::Thief;

/// How long a worker looks for the next task before it sleeps. Five microseconds miss a submitter that waits for
/// each result (its p99 goes from 0.8 to 83 us), fifty measured like twenty.
const SPIN: Duration = Duration::from_micros(20);

/// A pool that has been quiet for this long gives the memory of its last burst back.
const TRIM_AFTER: Duration = Duration::from_secs(5);

/// Due tasks go before the queue; after so many in a row one task of the queue passes.
const MAX_DUE_IN_A_ROW: u32 = 61;

/// A leader that would sleep for less than this, [`DENSE`] times in a row, sleeps this long: waking up costs more than
/// it is worth to be a little more punctual then. Nothing is ever early.
const SHORTEST: Duration = Duration::from_micros(200);
const DENSE: u32 = 4;

/// The same where each look finds a crowd of at least [`CROWD`]: a tenth of a thread goes into waking up otherwise.
const SHORTEST_OF_CROWDS: Duration = Duration::from_micros(500);
const CROWD: u32 = 8;

/// One run in this many is timed, once a worker is warm; the doublings before make a short burst visible too.
const TIME_EVERY: u64 = 64;

/// The body of a worker thread; says why it ended. (`None`: in a forked child, where it is nobody's worker.)
pub(crate) fn main(engine: &Arc<Engine>, post: &Arc<Post>) -> Option<Departure> {
    let is_in_section = Cell::new(false);
    let local = engine.room.locals().map(|locals| locals.join(engine.identity()));
    let host = Host {
        home: &engine.home,
        identity: engine.identity(),
        pool: engine.top().identity(),
        aside: &post.aside,
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
        let runner = Runner {
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
            sleeps_exactly: false,
            looker: Looker::default(),
            tape: tape.as_ref(),
            thief: local.as_ref().map(Thief::new),
        };
        let mut slot = Slot::empty();
        let mut work = || match worker.begin(&runner, &mut slot) {
            Err(departure) => Some(departure),
            Ok(()) => worker.work_at(&runner, &mut slot),
        };
        let departure = match &local {
            Some(local) => local.enter(work),
            None => work(),
        }?;
        worker.leave_deque();
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
    /// Which of them is timed next: 0, 1, 2, 4, and so on up to [`TIME_EVERY`], then every so many.
    next_timed: u64,
    /// Since when it has no task; noted only where idle workers leave.
    idle_since: Option<Tick>,
    /// A place in the queue is kept for it: see [`Crew::fresh`].
    is_fresh: bool,
    /// Due tasks taken since the last one of the queue.
    due_in_a_row: u32,
    /// More urgent tasks of the queue that went before a due one.
    passed: u64,
    /// The last task it took was a due one.
    lives_by_the_clock: bool,
    /// How many times in a row it was to sleep for less than [`SHORTEST`].
    dense: u32,
    /// Due tasks taken since it last led.
    due_since_rest: u32,
    /// It has led before.
    sleeps_exactly: bool,
    /// What its timed runs do with their time.
    looker: Looker,
    /// Where the pool records.
    tape: Option<&'a Tape<'a>>,
    /// Where workers have deques.
    thief: Option<Thief<'a>>,
}

/// What a worker that lies down sees in its last look.
enum Outlook {
    /// Something to do: a task, the end of the pool, too many workers.
    GetUp,
    /// Sleep, at most this long if at all limited.
    Sleep(Option<Duration>),
}

/// What a look at the due room gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Taken,
    /// Nothing that goes first.
    Nothing,
    /// The pool was paused. The queue may have been opened since, and is not to be taken from on the strength of this look:
    /// what is due would be overtaken.
    Closed,
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
            self.run(runner, slot);
        }
    }

    /// The first task of a worker for which a place in the queue is kept.
    #[cold]
    fn begin(&mut self, runner: &Runner<'_>, slot: &mut Slot) -> Result<(), Departure> {
        self.next_when_dry(slot)?;
        self.run_observed(runner, slot, 0);
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
        } else if self.thief.is_none() {
            return search::search(self.engine, slot);
        }
        let is_found = self.look_everywhere(slot);
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
            return Ok(());
        }
        if search::search_as::<KIND>(self.engine, slot) {
            self.lives_by_the_clock = false;
            return Ok(());
        }
        self.next_when_dry(slot)
    }

    /// Something is to be done between two tasks: perhaps there are too many workers, perhaps too few, perhaps a time has
    /// come. True: a task is in the slot.
    #[cold]
    fn attend(&mut self, slot: &mut Slot) -> Result<bool, Departure> {
        if self.engine.attention.has(Attention::RETRY) {
            self.shared.staff_up(false);
        }
        if self.engine.attention.has(Attention::CLOCK) {
            self.engine.look_at_the_clock();
            self.shared.find_successor();
        }
        // Before the surplus: what is due is not left to whoever stays.
        let due = self.take_due(slot);
        if due == Due::Taken {
            return Ok(true);
        }
        self.engine.leave_if_surplus(self.is_fresh)?;
        if due == Due::Closed {
            self.next_when_dry(slot)?;
        }
        Ok(due == Due::Closed)
    }

    /// Takes a task whose time has come; after so many in a row one of the queue passes.
    fn take_due(&mut self, slot: &mut Slot) -> Due {
        if !self.engine.attention.has(Attention::DUE) {
            return Due::Nothing;
        }
        let has_other = || !self.engine.room.looks_empty() || self.has_own();
        if self.due_in_a_row == MAX_DUE_IN_A_ROW && has_other() {
            self.due_in_a_row = 0;
            return Due::Nothing;
        }
        let was_paused = self.engine.timers.due.is_paused();
        // What is seen here is taken, or nothing: a due room that was closed a moment ago may not have been compared.
        let Some(due) = self.engine.timers.due.urgency() else {
            self.engine.timers.note_whether_due(&self.engine.attention);
            self.due_in_a_row = 0;
            return if was_paused { Due::Closed } else { Due::Nothing };
        };
        if self.lets_the_queue_pass(due) {
            return Due::Nothing;
        }
        if self.engine.timers.take(slot, &self.engine.attention) {
            self.passed = 0;
            self.due_in_a_row += 1;
            self.due_since_rest = self.due_since_rest.saturating_add(1);
            self.lives_by_the_clock = true;
            if self.engine.config.covers_delayed {
                let is_delayed = |entry: &Entry| entry.header().class.is_delayed();
                self.engine
                    .uncover(usize::from(slot.peek_entry().is_some_and(is_delayed)));
            }
            return Due::Taken;
        }
        self.due_in_a_row = 0;
        Due::Nothing
    }

    /// Due tasks go before those of their own level and of less urgent ones; a more urgent one of the queue goes first.
    fn lets_the_queue_pass(&mut self, due: usize) -> bool {
        // After the look at the due room: while a pool is being resumed the queue is open before that is.
        let Some(queue) = self.engine.room.urgency() else {
            return false;
        };
        let passes = queue < due && self.engine.timers.due.yields_to(queue, self.passed);
        if passes {
            self.passed += 1;
        }
        passes
    }

    #[inline(never)]
    fn next_when_dry(&mut self, slot: &mut Slot) -> Result<(), Departure> {
        let engine = self.engine;
        let mut searching = None;
        loop {
            if self.look(slot) {
                // Others stay asleep while somebody searches; the last searcher to find something looks whether
                // there is more (step 3 of the essay).
                self.stop_searching(searching);
                self.idle_since = None;
                return Ok(());
            }
            if let Err(departure) = self.stay() {
                self.stop_searching(searching);
                recycle::look_away();
                engine.tell_idle_watchers();
                if departure == Departure::Closed {
                    // Others may have lain down for delayed tasks that are over now.
                    engine.idle.wake_all();
                }
                return Err(departure);
            }
            if searching.is_none() {
                searching = engine.idle.search();
            }
            // After due tasks the next ones come by the clock, which a sleeper watches better than a spinner.
            let spins = self.spins && !self.lives_by_the_clock;
            if searching.is_some() && spins && self.spin() {
                engine.look_at_the_clock();
                continue;
            }
            searching = Some(self.rest(searching));
        }
    }

    /// Waits a moment, awake. True: there is something to do.
    fn spin(&mut self) -> bool {
        if let Some(tape) = self.tape {
            tape.rest();
        }
        let engine = self.engine;
        match &mut self.thief {
            None => spin(SPIN, || engine.has_work() || engine.is_time()),
            Some(thief) => spin(SPIN, || {
                engine.has_work() || engine.is_time() || thief.sees_prey(engine)
            }),
        }
    }

    /// Leaves the searchers. While this worker was one, others left tasks to it: the last one passes the word on.
    fn stop_searching(&self, searching: Option<idle::Searching>) {
        if let Some(searching) = searching
            && self.engine.idle.found(searching)
        {
            // Whoever gives something a time looks for somebody idle after that, and this worker, the other way round, for
            // such a time after it has stopped being idle (model `a_limit_is_set_while_the_last_worker_goes_to_work`).
            atomic::fence(SeqCst);
            let is_unled = self.engine.needs_leader();
            let has_more = !self.engine.room.is_empty() || self.engine.timers.has_due();
            let is_called = (is_unled || has_more) && self.engine.idle.notify();
            if has_more && !is_called {
                self.shared.call_another();
            }
            if is_unled {
                self.shared.find_successor();
            }
        } else if self.engine.needs_leader() {
            // Nobody counted on this one; but there is one less now who could lie down and lead.
            self.shared.find_successor();
        }
    }

    /// Whether a worker without a task goes on looking for one.
    fn stay(&self) -> Result<(), Departure> {
        let engine = self.engine;
        if engine.attention.has(Attention::RETRY) {
            self.shared.staff_up(false);
        }
        if engine.attention.has(Attention::SURPLUS) {
            engine.leave_if_surplus(self.is_fresh)?;
        }
        if engine.state() >= State::Shutdown {
            engine.leave_if_over(self.is_fresh)?;
        }
        match self.idle_since {
            Some(since) => engine.leave_if_idle(since, self.is_fresh),
            None => Ok(()),
        }
    }

    /// Sleeps until called, or until there is housekeeping to do.
    fn rest(&mut self, searching: Option<idle::Searching>) -> idle::Searching {
        if let Some(tape) = self.tape {
            tape.rest();
        }
        let engine = self.engine;
        let bed = &self.post.bed;
        let asleep = engine.idle.lie_down(bed, searching);
        engine.tell_idle_watchers();
        let keep_alive = match engine.outlook() {
            Outlook::GetUp => return engine.idle.rise(bed, asleep),
            Outlook::Sleep(keep_alive) => keep_alive,
        };
        self.post.counters.park();
        if let Some(thief) = &self.thief {
            thief.shrink();
        }
        // On a manual clock nobody trims: its hours pass in no time, and the memory is wanted again at once.
        let excess = if engine.clock.is_manual() {
            None
        } else {
            recycle::excess()
        };
        let has_keys = !engine.clock.is_manual() && engine.keys.see_to();
        let trim = (excess.is_some() || has_keys)
            .then(|| deadline_after(engine.clock.tick(), TRIM_AFTER))
            .flatten();
        // The leader stays: somebody must be there when the time comes.
        let due = engine
            .lead(bed, keep_alive.is_some())
            .map(|due| self.not_too_soon(due));
        let leave = keep_alive.filter(|_| due.is_none()).and_then(|keep_alive| {
            let since = *self.idle_since.get_or_insert_with(|| engine.clock.tick());
            deadline_after(since, keep_alive)
        });
        let wait = Wait {
            word: &bed.word,
            mask: Bed::CALLED,
            expected: 0,
            interrupt: None,
            // What is beyond the clock's horizon never comes, also when the clock stands there.
            deadline: [trim, leave, due.filter(|due| *due != Tick::MAX)]
                .into_iter()
                .flatten()
                .min(),
        };
        let waked = engine.clock.wait(&wait, Place::Parked(engine.identity()));
        let searching = if waked == Waked::Ready {
            recycle::look_away();
            engine.idle.called(bed, asleep)
        } else {
            engine.idle.rise(bed, asleep)
        };
        if let Some(due) = due {
            engine.resign();
            if due != Tick::MAX && due <= engine.clock.tick() {
                engine.fire();
            }
        }
        // Called before: not quiet yet, and the next rest begins a new term.
        let was_quiet = waked != Waked::Ready && trim.is_some_and(|trim| trim <= engine.clock.tick());
        if has_keys && was_quiet {
            engine.keys.sweep();
        } else if has_keys {
            engine.keys.put_off();
        }
        // The same if others used the stock meanwhile.
        if was_quiet && excess.is_some() && recycle::excess() == excess {
            recycle::trim();
        }
        searching
    }

    /// When a leader that should get up at `due` does so.
    fn not_too_soon(&mut self, due: Tick) -> Tick {
        if self.engine.clock.is_manual() {
            return due;
        }
        if !self.sleeps_exactly {
            self.sleeps_exactly = true;
            sync::sleep_exactly();
        }
        let now = self.engine.clock.tick();
        if due <= now {
            return due;
        }
        let in_crowds = self.due_since_rest >= CROWD;
        self.due_since_rest = 0;
        let shortest = if in_crowds { SHORTEST_OF_CROWDS } else { SHORTEST };
        let shortest = deadline_after(now, shortest).unwrap_or(due);
        self.dense = if due < shortest { self.dense + 1 } else { 0 };
        if self.dense > DENSE {
            due.max(shortest)
        } else {
            due
        }
    }

    #[inline(always)]
    fn run(&mut self, runner: &Runner<'_>, slot: &mut Slot) {
        let count = self.since_rest;
        self.since_rest += 1;
        let timed = MEASURES && count == self.next_timed;
        if !timed && slot.arrival.is_none() && !runner.notes {
            runner.run(slot);
        } else {
            self.run_observed(runner, slot, count);
        }
    }

    #[cold]
    fn run_observed(&mut self, runner: &Runner<'_>, slot: &mut Slot, count: u64) {
        let timed = MEASURES && count == self.next_timed;
        // A timed task stands for those up to the next timed one, so the weights add up to the number of tasks.
        let weight = count.clamp(1, TIME_EVERY);
        if timed {
            self.next_timed += weight;
        }
        let engine = self.engine;
        let begin = self.tape.map_or_else(|| engine.clock.tick(), Tape::now);
        if let Some(tape) = self.tape {
            self.begin_tape(tape, slot, begin);
        }
        if let Some(arrival) = slot.arrival.take() {
            let waited = begin.saturating_sub(arrival.tick);
            if slot.is_woken() {
                engine.observed.wake.record(waited, arrival.weight);
            } else {
                engine.observed.wait.record(waited, arrival.weight);
                let level = engine.room.level_of(slot.class());
                if let Some(recorder) = engine.observed.levels.get(level) {
                    recorder.record(waited, arrival.weight);
                }
            }
        }
        if engine.clock.is_manual() {
            let name = slot
                .peek_entry()
                .and_then(|entry| entry.header().side()?.name.clone());
            let label = name.map_or_else(|| slot.label().to_owned(), String::from);
            *self.post.label.lock() = Some(label);
        }
        // A manual clock does not tell how long anything takes.
        let is_split = timed && !engine.clock.is_manual();
        if is_split {
            self.looker.begin();
        }
        runner.run_apart(slot);
        if timed {
            let took = engine.clock.tick().saturating_sub(begin);
            engine.observed.run.record(took, weight);
            if is_split {
                let took = Duration::from_nanos(took);
                self.looker.end(took, weight, &engine.observed.split);
            }
        }
        if engine.clock.is_manual() {
            self.post.label.lock().take();
        }
    }
}

impl Worker<'_> {
    /// Notes the task in the slot, and what came of it on its way.
    fn begin_tape(&self, tape: &Tape<'_>, slot: &mut Slot, begin: Tick) {
        let Some(recording) = &self.engine.recording else {
            return;
        };
        let room = &self.engine.room;
        let of_class = room.is_levelled().then(|| room.level_of(slot.class()));
        let subject = match slot.peek_entry() {
            Some(entry) => {
                let level = of_class.map(|_| room.level_of_task(entry.header()));
                recording.subject_of_block(entry.header(), level)
            }
            None => recording.subject(slot.label(), 0, None, of_class),
        };
        if std::mem::take(&mut slot.promoted) {
            recording.promoted(self.post.number, subject, begin);
        }
        if std::mem::take(&mut slot.stolen) {
            recording.stole(self.post.number, subject, begin);
        }
        tape.begin(subject, begin);
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

    /// The last look of a worker that has lain down: under the producers' lock, step 2 of the essay.
    fn outlook(&self) -> Outlook {
        self.room.look(|producers, is_empty| {
            let has_due = self.timers.has_due();
            if has_due {
                // Whoever moved it there may not have come to say so.
                self.attention.set(Attention::DUE, true);
            }
            let may_take = (!is_empty && !producers.is_paused()) || has_due;
            // Somebody who removes a task is about to give its slot to one that waits in a view.
            let is_awaited = producers.has_some_aside(&self.room);
            let is_over = producers.is_closed()
                && !is_awaited
                && self.timers.is_surely_over()
                && !self.has_suspended_seen_by(producers);
            if may_take || is_over || producers.gate.has_surplus() {
                return Outlook::GetUp;
            }
            // Nobody's time runs while a task waits (in a paused pool) or a submission relies on a worker that is free.
            let is_relied_on = !is_empty || producers.has_reservations();
            let crew = &mut producers.gate;
            if crew.is_timed() && is_relied_on {
                crew.put_off();
                return Outlook::Sleep(None);
            }
            // The last one is there for what is suspended, however long that takes; whoever wakes it calls this one.
            let is_alone = producers.gate.workers() == 1 && self.has_suspended_seen_by(producers);
            let crew = &producers.gate;
            Outlook::Sleep((crew.is_timed() && !is_alone).then_some(crew.keep_alive()))
        })
    }

    fn leave_if_over(&self, is_fresh: bool) -> Result<(), Departure> {
        self.leave_if(Departure::Closed, is_fresh, |producers, is_empty| {
            let is_over = is_empty && !producers.has_some_aside(&self.room);
            is_over
                && producers.is_closed()
                && self.timers.looks_over()
                && !self.has_suspended_seen_by(producers)
        })
    }

    fn leave_if_surplus(&self, is_fresh: bool) -> Result<(), Departure> {
        self.leave_if(Departure::Surplus, is_fresh, |producers, _| {
            self.attention
                .set(Attention::SURPLUS, producers.gate.has_excess_beyond_one());
            producers.gate.has_surplus()
        })
    }

    fn leave_if_idle(&self, since: Tick, is_fresh: bool) -> Result<(), Departure> {
        let now = self.clock.tick();
        self.leave_if(Departure::Idle, is_fresh, |producers, is_empty| {
            let crew = &producers.gate;
            let is_over = deadline_after(since, crew.keep_alive()).is_some_and(|end| end <= now);
            // Somebody stays for what is delayed, waits in a view, or is suspended.
            let is_awaited = producers.has_some_aside(&self.room)
                || !self.timers.looks_over()
                || self.has_suspended_seen_by(producers);
            let is_last = crew.workers() == 1 && is_awaited;
            is_over && crew.is_timed() && is_empty && !producers.has_reservations() && !is_last
        })
    }

    /// Decides under the producers' lock, and in the same section is no longer counted on.
    fn leave_if(
        &self,
        departure: Departure,
        is_fresh: bool,
        leaves: impl FnOnce(&Producers<Crew>, bool) -> bool,
    ) -> Result<(), Departure> {
        self.room.look_shut(|producers, is_empty| {
            if !leaves(producers, is_empty) {
                return Ok(());
            }
            if is_fresh {
                producers.gate.warm();
            }
            producers.gate.leave(departure);
            producers.shut();
            Err(departure)
        })
    }
}
