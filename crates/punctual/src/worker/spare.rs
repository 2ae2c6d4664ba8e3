//! A worker whose task waits: running what it waits for, or letting a spare thread stand in.
//!
//! In: a wait for a task (join, group, scope) from inside a worker. Out: the awaited task run in place on this thread, if
//! it still waits in the queue; or a [`Lent`] that counts the worker as blocked while it sleeps, so that the pool may
//! have one thread more; or the answer that nobody could ever end this wait. Only the awaited task is ever run in place,
//! never an unrelated one: the caller may hold a lock that the other would want.

#![allow(unsafe_code)]

use crate::OnBlocking;
use crate::observe::counters::Counters;
use crate::pool::engine::Engine;
use crate::pool::staff::Post;
use crate::pool::waits::{self, Look, WaitNote};
pub(crate) use crate::pool::waits::{Awaited, Awaits, Passage, Stuck};
use crate::queue::deque::on_own_deque;
use crate::sync::Arc;
use crate::sync::unmodelled::Relaxed;
use crate::sync::wait::WordRef;
use crate::task::block::Header;
use crate::task::home::{HomeRef, Removal};
use crate::task::record::Slot;
use crate::task::run::Runner;
use crate::task::shown::Shown;
use crate::task::state::Claim;
use crate::task::{Class, Frame, Here, Token, here};
use crate::time::Wait;
use std::ptr::NonNull;

/// Tasks run in place inside each other up to this depth; each level costs stack.
const MAX_DEPTH: usize = 64;

/// Takes a task of the calling worker's own pool out of the queue and runs it here. False: it is not such a task, or it
/// does not wait any more.
///
/// # Safety
/// The caller holds a share of the block until this returns.
pub(crate) unsafe fn run_in_place(here: Here<'_>, pointer: NonNull<Header>) -> bool {
    // SAFETY: the caller's promise.
    here.depth() < MAX_DEPTH && unsafe { run_child_in_place(here, pointer) }
}

/// As [`run_in_place`] at any depth, for a child that is part of its parent: a scoped one, whose brace could not end
/// without it.
///
/// # Safety
/// The caller holds a share of the block until this returns.
pub(crate) unsafe fn run_child_in_place(here: Here<'_>, pointer: NonNull<Header>) -> bool {
    // SAFETY: the caller holds a share.
    let block = unsafe { pointer.as_ref() };
    let Some(host) = here.host() else { return false };
    if block.state.load().is_claimed() || block.class.is_timed() || block.class.is_future() {
        return false;
    }
    let Some(engine) = engine_of(host.home) else {
        return false;
    };
    if !is_own(here, block) {
        // SAFETY: the caller's promise.
        return unsafe { run_elsewheres_in_place(here, &engine, pointer) };
    }
    if claim_in_place(here, block) == Claim::Lost {
        return false;
    }
    // Counted before it runs: what has ended is part of what was taken.
    engine.taken_in_place(block);
    let shown = Shown::new();
    let frame = Frame::nested(here, &engine.home, &engine.clock, (host.visible, &shown), true);
    let runner = engine.runner_in_place(&frame, host.aside);
    // SAFETY: the claim is won, and the caller holds a share.
    frame.enter(|| unsafe { runner.run_in_place(pointer) });
    count_by_level(&engine, block.class, host.aside);
    true
}

/// Where the queue has levels: a task of this class was run in place.
fn count_by_level(engine: &Engine, class: Class, aside: &Counters) {
    if engine.room.is_levelled() {
        aside.ended_at(class.priority().number());
    }
}

/// As [`run_child_in_place`] for a task of another part of the same pool: an annex, or the pool itself. It is counted there,
/// as that of a thread which comes for one task.
///
/// # Safety
/// As there.
unsafe fn run_elsewheres_in_place(here: Here<'_>, host: &Engine, pointer: NonNull<Header>) -> bool {
    // SAFETY: the caller holds a share.
    let block = unsafe { pointer.as_ref() };
    // Its home is not followed before the claim is won: it may be gone with the task's end.
    let Some(engine) = host.part_of(block) else {
        return false;
    };
    // SAFETY: the caller's promise.
    unsafe { run_as_visitor(here, &engine, pointer) }
}

/// Runs a waiting task of that engine on a thread that is none of its workers. False: it does not wait any more.
///
/// # Safety
/// The caller holds a share of the block until this returns, and the engine is the task's.
pub(crate) unsafe fn run_as_visitor(here: Here<'_>, engine: &Arc<Engine>, pointer: NonNull<Header>) -> bool {
    // SAFETY: the caller holds a share.
    let block = unsafe { pointer.as_ref() };
    // Seen before the task is its own: what waits for the task has no reason to give up.
    let post = Arc::new(Post::new(0));
    engine.visitor_comes(&post);
    if claim_in_place(here, block) == Claim::Lost {
        engine.visitor_leaves(&post);
        return false;
    }
    engine.taken_in_place(block);
    let shown = Shown::new();
    let frame = Frame::nested(here, &engine.home, &engine.clock, (&post.visible, &shown), true);
    let runner = engine.runner_in_place(&frame, &post.aside);
    // SAFETY: the claim is won, and the caller holds a share.
    frame.enter(|| unsafe { runner.run_in_place(pointer) });
    count_by_level(engine, block.class, &post.aside);
    engine.visitor_leaves(&post);
    true
}

/// The last resort of a wait that could never end: a task that still waits in another pool, all of whose workers wait too, is
/// run here as one of that pool's spare threads would run it. Not for a pool that wants none (`spare_threads(0)`), whose
/// threads are prepared for its tasks (`enter`, `on_thread_start`), or whose manual clock knows its threads by number.
///
/// # Safety
/// The caller holds a share of the block until this returns.
pub(crate) unsafe fn run_strangers_in_place(here: Here<'_>, pointer: NonNull<Header>) -> bool {
    // SAFETY: the caller holds a share.
    let block = unsafe { pointer.as_ref() };
    let is_waiting = !block.state.load().is_claimed() && !block.class.is_timed() && !block.class.is_future();
    let home = Engine::identity_of_home(block);
    let is_strangers = here.host().is_some_and(|host| host.identity != home);
    if !is_strangers || !is_waiting || here.depth() >= MAX_DEPTH {
        return false;
    }
    let engines = waits::all().engines();
    let engine = engines.iter().find(|engine| engine.identity() == home);
    let is_open = |engine: &&Arc<Engine>| {
        let config = &engine.top().config;
        let is_prepared = config.enter.is_some() || config.on_thread_start.is_some();
        config.spare_threads > 0 && !is_prepared && !engine.clock.is_manual() && !engine.is_forked()
    };
    // SAFETY: the caller's promise; the engine is the task's.
    engine
        .filter(is_open)
        .is_some_and(|engine| unsafe { run_as_visitor(here, engine, pointer) })
}

/// Runs a task of the calling worker's own deque in place, if it is the newest there; what follows from a claim is counted.
///
/// # Safety
/// The caller holds a share of the block until this returns.
pub(crate) unsafe fn run_newest_in_place(here: Here<'_>, engine: &Engine, pointer: NonNull<Header>) -> bool {
    let (Some(host), Some(locals)) = (here.host(), engine.room.locals()) else {
        return false;
    };
    let entry = on_own_deque(|local| {
        let local = local.filter(|local| local.is_of(engine.identity()))?;
        local.take_to_join(pointer, &locals.heed)
    });
    let Some(entry) = entry else { return false };
    if locals.heed.is_awaited() {
        engine.offer_room();
    }
    let shown = Shown::new();
    let frame = Frame::nested(here, &engine.home, &engine.clock, (host.visible, &shown), true);
    let runner = engine.runner_in_place(&frame, host.aside);
    let class = entry.header().class;
    let mut slot = Slot::holding(class, entry);
    frame.enter(|| runner.run(&mut slot));
    count_by_level(engine, class, host.aside);
    true
}

/// A task of a view that still waits for a slot is not taken past those before it; but a scoped one is a part of a task that
/// this thread is in the middle of, if that has all the slots it would need.
fn claim_in_place(here: Here<'_>, block: &Header) -> Claim {
    let Some(view) = block.view() else {
        return block.state.claim();
    };
    match block.state.claim_with_slots() {
        Claim::Lost if block.is_scoped() && here.has_slots_of(&view) => block.state.claim(),
        claim => claim,
    }
}

/// Whether the calling thread is a worker of the task's pool. The caller holds a share of the block.
fn is_own(here: Here<'_>, block: &Header) -> bool {
    let Some(host) = here.host() else { return false };
    match block.view() {
        Some(view) => view.home().is_same(host.home),
        None => std::ptr::eq(block.home(), host.home),
    }
}

pub(super) fn engine_of(home: &HomeRef) -> Option<Arc<Engine>> {
    let home: Arc<dyn std::any::Any + Send + Sync> = home.upgrade()?;
    home.downcast::<Engine>().ok()
}

/// A worker's sleep: what ends it early, and while this lives the pool may have another thread instead.
pub(crate) struct Lent {
    engine: Arc<Engine>,
    counts: bool,
    note: Option<usize>,
}

/// What a sleep waits for.
pub(crate) struct Sleep<'a, 'w> {
    /// The [identity](Engine::identity) of the engine whose tasks are awaited; `None` if it is something else.
    pub(crate) part: Option<usize>,
    pub(crate) awaits: Awaits,
    pub(crate) wait: &'a Wait<'w>,
    /// Bits of the word that say that the wait is as good as over, beside those of the wait itself.
    pub(crate) over: u32,
    /// Where the word is a task's: bits that say that it does not wait in its queue.
    pub(crate) taken: Option<u32>,
    /// Fired when it is found out that the wait could never end; `None` if it must be waited all the same.
    pub(crate) alarm: Option<Token>,
}

/// Whether the calling thread is a worker whose sleep others may depend on: it then needs an alarm of its own.
pub(crate) fn is_worker(here: Here<'_>) -> bool {
    here.is_in_task() && here.host().is_some()
}

/// Whether the calling thread may wait for tasks; if it is a worker that should not, that is counted, and perhaps said.
pub(crate) fn may_block(here: Here<'_>) -> bool {
    let Some(engine) = here.host_of_task().and_then(|host| engine_of(host.home)) else {
        return true;
    };
    if engine.config.on_blocking == OnBlocking::Allow {
        return true;
    }
    let before = engine.observed.blocking_waits.fetch_add(1, Relaxed);
    if engine.config.on_blocking == OnBlocking::Error {
        return false;
    }
    if before == 0 {
        eprintln!(
            "punctual: a task of the pool {:?} waits for another, on a thread that should not block (on_blocking)",
            engine.name
        );
    }
    true
}

/// As [`may_block`], of a wait that must be waited all the same: whatever borrows from here ends with it.
pub(crate) fn note_blocking(here: Here<'_>) {
    let _ = may_block(here);
}

/// Announces that the calling thread is about to sleep. `Ok(None)`: it is no worker, and nobody cares. The answer must be
/// dropped before what the wait borrows.
pub(crate) fn lend(here: Here<'_>, sleep: Sleep<'_, '_>) -> Result<Option<Lent>, Stuck> {
    let Some(host) = here.host_of_task() else {
        return Ok(None);
    };
    let Some(engine) = engine_of(host.home).filter(|engine| !engine.is_forked()) else {
        return Ok(None);
    };
    // Others have more time for what this worker keeps.
    (host.give_away)();
    // A wait with a limit ends by itself.
    let from = engine.identity();
    let to = sleep.part.filter(|_| sleep.wait.deadline.is_none());
    let number = std::ptr::from_ref(sleep.wait).addr();
    let note = to.map(|to| WaitNote {
        from,
        to,
        engine: Arc::downgrade(&engine),
        number,
        running: here.blocks(),
        visits: here.visits(),
        slots: here.slots(),
        goes_on: goes_on(sleep.wait, sleep.over),
        may_run: may_run(
            sleep.wait,
            sleep.taken.filter(|_| from != to && here.depth() < MAX_DEPTH),
        ),
        awaits: sleep.awaits,
        alarm: sleep.alarm,
    });
    // In a blocking section somebody stands in already.
    let counts = !host.is_in_section.get();
    let alarm = engine.block(note, counts).inspect_err(|_| engine.offer_spare())?;
    let lent = Lent {
        engine,
        counts,
        note: to.map(|_| number),
    };
    if let Some(alarm) = alarm {
        alarm.cancel();
    }
    // The answer depends on it, so a start is tried whatever happened to the last one.
    lent.engine.staff_up(true);
    // And for those in line there is a hand more.
    lent.engine.serve_line();
    // No spare came: nothing waits that it could run, or it could not be started.
    if to.is_some()
        && let Some(trouble) = lent.engine.trouble()
    {
        if trouble.is_ended_by(number) {
            return Err(Stuck);
        }
        trouble.end();
    }
    Ok(Some(lent))
}

fn goes_on(wait: &Wait<'_>, over: u32) -> Look {
    // SAFETY: notes are read under their lock, and `Lent`, which the caller drops before what the wait borrows, takes its
    // own out under that lock.
    let word = unsafe { WordRef::new(wait.word) };
    let (mask, expected, interrupt) = (wait.mask, wait.expected, wait.interrupt.cloned());
    Look(Box::new(move || {
        let seen = word.load();
        seen & mask == expected && seen & over == 0 && !interrupt.as_ref().is_some_and(Token::is_cancelled)
    }))
}

fn may_run(wait: &Wait<'_>, taken: Option<u32>) -> Look {
    // SAFETY: as for `goes_on`.
    let word = unsafe { WordRef::new(wait.word) };
    Look(Box::new(move || {
        taken.is_some_and(|taken| word.load() & taken == 0)
    }))
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.engine.unblock(self.note, self.counts);
    }
}

impl Engine {
    /// Runs tasks inside others, on a thread that is not theirs alone: counted apart, noted by nobody.
    fn runner_in_place<'a>(&'a self, frame: &'a Frame<'a>, counters: &'a Counters) -> Runner<'a> {
        Runner {
            frame,
            hooks: &self.hooks,
            home: self,
            counters,
            watched: self.watched,
            names: None,
            tape: None,
            again: None,
            notes: self.watched,
        }
    }

    /// A task that somebody is about to run in place has left its queue, or its line.
    fn taken_in_place(&self, block: &Header) {
        let level = self.room.level_of_task(block);
        self.remove_queued(Removal::Joined, level, block.state.load().is_parked());
        if block.class.is_viewed() {
            self.leaves_view_unrun(block, Removal::Joined);
        }
    }

    /// A worker's task begins to wait, and counts as such unless another thread stands in already. With a note: without a
    /// limit, for tasks of a pool.
    fn block(&self, note: Option<WaitNote>, counts: bool) -> Result<Option<Token>, Stuck> {
        self.room.look(|producers, _| {
            producers.shut();
            if counts {
                producers.gate.block();
            }
            let answer = note.map_or(Ok(None), |note| self.begin_wait(&mut producers.gate, note));
            if answer.is_err() && counts {
                producers.gate.unblock();
            }
            answer
        })
    }

    fn unblock(&self, note: Option<usize>, counts: bool) {
        let mut is_spared = false;
        let (surplus, is_put_off) = self.room.look(|producers, _| {
            producers.shut();
            if let Some(number) = note {
                self.end_wait(&mut producers.gate, number);
            }
            is_spared = counts && producers.gate.unblock();
            (producers.gate.has_surplus(), producers.gate.take_put_off())
        });
        if surplus {
            self.bar_takers(|_| ());
        }
        if is_put_off {
            // One that is idle may have stayed for this wait.
            self.idle.wake_all();
        }
        if is_spared {
            self.offer_spare();
        }
    }

    /// Runs a task that was not accepted on the thread that brought it.
    pub(crate) fn run_as_guest(&self, slot: &mut Slot) {
        let counters = Counters::new();
        here(|here| {
            let shown = Shown::new();
            let frame = Frame::nested(here, &self.home, &self.clock, (&self.guests, &shown), false);
            let runner = self.runner_in_place(&frame, &counters);
            frame.enter(|| runner.run_apart(slot));
        });
    }
}
