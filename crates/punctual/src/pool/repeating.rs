//! Running a schedule: one task per run, armed one at a time.
//!
//! In: a [`Schedule`] and a body. Out: runs at its ticks, and a [`ScheduleHandle`]. A schedule is no task: each of its
//! runs is, a delayed task like any other, put into the timer store when the one before has ended (or, where runs may
//! overlap, has begun). So there is never more than one run waiting, none overlaps itself by accident, and cancelling,
//! hooks, names, statistics and the manual clock need nothing of their own. What is due when is the
//! [`Plan`]'s to say; this file keeps it, the counts and the body together, and acts.
//!
//! User code (body, trigger, error handler, decorator, and the drop of each) runs without any lock. A trigger that is
//! asked while somebody changes the schedule loses: the answer is thrown away if the version has changed.
//!
//! Lock order: a schedule's progress, then the timers' book.

mod future;
mod handle;
mod progress;

use super::engine::Engine;
use crate::sync::atomic::Ordering::AcqRel;
use crate::sync::unmodelled::Relaxed;
use crate::sync::{Arc, Lock, WaitWord, Weak, prefetch};
use crate::task::block::{Options, Origin};
use crate::task::decorate::Contexts;
use crate::task::home::Home;
use crate::task::view::View;
use crate::task::{Class, Token, contain, here, panic_text};
use crate::time::{Axis, Due, Now, Plan, Run, Schedule, ScheduleExt, Tick, Verdict};
use progress::{Ended, Phase, Progress, Snapshot, Tokens, Waiting};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

pub(crate) use future::{RunFuture, Spawning};
pub use handle::{RunOutcome, ScheduleHandle, ScheduleStats};

/// A schedule that runs, or has ended.
pub(crate) struct Repeating {
    engine: Weak<Engine>,
    /// The process generation, see [`pool::fork`](super::fork).
    fork: u16,
    number: u64,
    /// How many runs may be in progress at once.
    at_once: usize,
    /// What its runs are.
    place: Place,
    body: Lock<Body>,
    progress: Lock<Progress>,
    /// See [`Repeating::OVER`].
    word: WaitWord,
}

/// Where the runs of a schedule belong.
pub(crate) struct Place {
    pub(crate) class: Class,
    pub(crate) view: Option<Arc<View>>,
}

impl Place {
    /// For one run, which must be made of it.
    fn origin(&self, engine: &Engine) -> Origin {
        let origin = engine.origin(self.class.repeated());
        match &self.view {
            None => origin,
            Some(view) => Origin {
                home: View::lend(view.clone()),
                ..origin
            },
        }
    }
}

/// The text of a failure, if it was one.
type Failure = Option<String>;

/// What a run does.
pub(crate) enum Body {
    /// Runs one at a time. Once the schedule has begun it is in the progress, and taken out there while it runs. The
    /// decorators' contexts are those of whoever made the schedule.
    Alone(Option<Alone>),
    /// Runs beside itself, each run in one of the contexts.
    Shared(Arc<dyn Fn(&Run) -> Failure + Send + Sync>, Vec<Contexts>),
    /// Runs that are futures, one at a time: taken out while one is in progress.
    Spawning(Option<Box<Spawning>>),
    Gone,
}

/// See [`Body::Alone`].
pub(crate) struct Alone {
    pub(crate) run: Box<dyn FnMut(&Run) -> Failure + Send>,
    pub(crate) contexts: Option<Contexts>,
}

/// A schedule whose runs may overlap captures the contexts of this many at most.
pub(crate) const MOST_CONTEXTS: usize = 64;

/// A run to come: the closure of its task. Dropped unrun (cancelled by whoever found it in the queue, or declined by a
/// decorator) it leaves the schedule alive.
struct Firing {
    of: Option<Arc<Repeating>>,
    number: u64,
    what: What,
}

/// What a run is for.
#[derive(Debug, Clone, Copy)]
enum What {
    /// The next tick, moved by its jitter.
    Tick { jitter: Duration },
    /// Somebody asked for it.
    Extra,
}

impl Engine {
    /// The schedules that have not ended, in the order in which they were made.
    pub(super) fn schedule_handles(&self) -> Vec<ScheduleHandle> {
        let all: Vec<Arc<Repeating>> = self.schedules.lock().values().cloned().collect();
        all.into_iter().map(ScheduleHandle::of).collect()
    }
}

impl Drop for Firing {
    fn drop(&mut self) {
        if let Some(of) = self.of.take() {
            of.went_unrun(self.number, self.what);
        }
    }
}

impl Repeating {
    /// The bit of the word that says that no run will follow and none is in progress.
    const OVER: u32 = 1;

    /// Puts a schedule on a pool that has a worker.
    pub(crate) fn start(
        engine: &Arc<Engine>,
        schedule: Schedule,
        at_once: usize,
        place: Place,
        mut body: Body,
    ) -> ScheduleHandle {
        let alone = match &mut body {
            Body::Alone(alone) => alone.take(),
            _ => None,
        };
        let plan = Plan::new(&schedule, &now(engine));
        let repeating = Arc::new(Repeating {
            engine: Arc::downgrade(engine),
            fork: engine.generation,
            number: engine.next_schedule(),
            at_once,
            place,
            body: Lock::new(body),
            progress: Lock::new(Progress::new(schedule, plan, alone)),
            word: WaitWord::new(0),
        });
        // Before it is armed: a pool that ends from here on finds it, or refuses its first run.
        engine
            .schedules
            .lock()
            .insert(repeating.number, repeating.clone());
        repeating.arm_next();
        ScheduleHandle::of(repeating)
    }

    /// Gives the next run its time, if there is to be one and none waits; ends the schedule if none will follow.
    fn arm_next(self: &Arc<Self>) {
        let Some(engine) = self.engine.upgrade() else {
            self.end(false);
            return;
        };
        let is_over = {
            let mut progress = self.progress.lock();
            self.arm_if_free(&engine, &mut progress);
            progress.is_over()
        };
        self.armed(&engine, is_over);
    }

    fn arm_if_free(self: &Arc<Self>, engine: &Engine, progress: &mut Progress) {
        let may_run = progress.phase == Phase::Going || progress.is_asked_for;
        if may_run && progress.waiting.is_none() && progress.running.len() < self.at_once {
            self.arm(engine, progress);
        }
    }

    /// What follows when a run has been armed, or none could be.
    fn armed(self: &Arc<Self>, engine: &Arc<Engine>, is_over: bool) {
        // Or its last worker left before it saw the new run.
        if is_over || engine.is_deserted() {
            self.end(false);
        }
        if !is_over {
            engine.find_successor();
        }
    }

    fn arm(self: &Arc<Self>, engine: &Engine, progress: &mut Progress) {
        if progress.phase == Phase::Ended {
            return;
        }
        let (what, due) = if progress.is_asked_for {
            let at = engine.clock.tick();
            (
                What::Extra,
                Due {
                    axis: Axis::Ticks,
                    at,
                },
            )
        } else {
            let Some(due) = progress.plan.next().filter(|_| progress.has_runs_left()) else {
                // Of some schedules the next tick is known when the run in progress has ended.
                if progress.running.is_empty() {
                    progress.phase = Phase::Ended;
                }
                return;
            };
            let jitter = progress.draw_jitter();
            let at = due.at.saturating_add(jitter.as_nanos() as u64);
            (What::Tick { jitter }, Due { at, ..due })
        };
        let number = progress.next_number();
        let firing = Firing {
            of: Some(self.clone()),
            number,
            what,
        };
        let is_plain = progress.schedule.name().is_none() && !engine.clock.is_manual();
        let options = (!is_plain).then(|| Options {
            name: progress.schedule.name().cloned(),
            clock: engine.clock.is_manual().then(|| engine.clock.clone()),
            ..Options::default()
        });
        let origin = self.place.origin(engine);
        let kept = if origin.class.is_future() {
            let kept = engine.keep_future_run(due, origin, options, firing.run_future());
            kept.map_err(|refused| -> Box<dyn Any + Send> { Box::new(refused) })
        } else {
            let kept = engine.keep_run(due, origin, options, move || firing.run());
            kept.map_err(|refused| -> Box<dyn Any + Send> { Box::new(refused) })
        };
        match kept {
            Ok(handle) => {
                progress.is_asked_for = false;
                progress.waiting = Some(Waiting { number, handle });
            }
            Err(refused) => {
                // The pool is closed to it.
                progress.phase = Phase::Ended;
                progress.refused = Some(refused);
            }
        }
    }

    /// One run beside the plan. False: the schedule has ended.
    fn run_now(self: &Arc<Self>) -> bool {
        let replaced = {
            let mut progress = self.progress.lock();
            if progress.phase == Phase::Ended {
                return false;
            }
            if progress.waiting.as_ref().is_some_and(Waiting::is_due) {
                // It is about to run anyway.
                return true;
            }
            progress.is_asked_for = true;
            progress.waiting.take()
        };
        self.arm_instead(replaced);
        let progress = self.progress.lock();
        progress.phase != Phase::Ended || !progress.is_asked_for
    }

    /// Arms the next run in place of one that was to come. In this order: a closed pool that saw neither would end.
    fn arm_instead(self: &Arc<Self>, replaced: Option<Waiting>) {
        self.arm_next();
        if let Some(waiting) = replaced {
            waiting.handle.cancel();
        }
    }

    /// A run was thrown away by somebody: the schedule goes on with the next.
    fn went_unrun(self: Arc<Self>, number: u64, what: What) {
        let Some(engine) = self.engine.upgrade() else {
            return;
        };
        let now = now(&engine);
        let snapshot = {
            let mut progress = self.progress.lock();
            if progress.phase == Phase::Ended || progress.take_waiting(number).is_none() {
                return;
            }
            if let What::Tick { jitter } = what {
                let Progress { plan, schedule, .. } = &mut *progress;
                plan.begin(schedule, &now, jitter);
            }
            progress.snapshot()
        };
        self.find_next(&engine, snapshot, &now, what, Verdict::GoOn, None);
    }

    /// Ends it: nothing will follow. With `tells`, runs in progress are asked to stop. Says whether it did, and whether a
    /// run is still in progress.
    fn end(self: &Arc<Self>, tells: bool) -> Option<bool> {
        let mine = current_token();
        let (is_first, waiting, refused, tokens, is_running) = {
            let mut progress = self.progress.lock();
            let is_first = progress.phase != Phase::Ended;
            progress.phase = Phase::Ended;
            let is_other = |each: &&Token| !mine.as_ref().is_some_and(|mine| each.is_same(mine));
            let tokens: Vec<_> = progress.running.iter().filter(is_other).cloned().collect();
            let is_running = !progress.running.is_empty();
            let (waiting, refused) = (progress.waiting.take(), progress.refused.take());
            (is_first, waiting, refused, tokens, is_running)
        };
        if let Some(waiting) = waiting {
            waiting.handle.cancel();
        }
        contain(|| drop(refused));
        if tells {
            for token in &tokens {
                token.cancel();
            }
        }
        if !is_running {
            self.is_over();
        }
        is_first.then_some(!tokens.is_empty())
    }

    /// The last run has ended, or there was none.
    fn is_over(&self) {
        let body = std::mem::replace(&mut *self.body.lock(), Body::Gone);
        if matches!(body, Body::Gone) {
            // Somebody else came here before: he says so when he has dropped it.
            return;
        }
        let alone = self.progress.lock().alone.take();
        // What a body holds may hold a pool, or panic: outside the lock.
        contain(|| drop(body));
        contain(|| drop(alone));
        if let Some(engine) = self.engine.upgrade() {
            engine.schedules.lock().remove(&self.number);
        }
        self.word.0.fetch_or(Self::OVER, AcqRel);
        self.word.wake_all();
    }
}

impl Firing {
    fn run(mut self) {
        if let Some(of) = self.of.take() {
            of.run(self.number, self.what);
        }
    }
}

/// How a run went.
enum Ran {
    Well,
    Failed(String),
    Panicked(Box<dyn Any + Send>),
}

impl Repeating {
    /// On a worker, as the body of a task.
    fn run(self: Arc<Self>, number: u64, what: What) {
        // It was last used a period ago. What follows begins with two readings of clocks: time enough to bring it.
        let (first, size) = (Arc::as_ptr(&self).cast::<u8>(), size_of::<Self>());
        (0..size)
            .step_by(64)
            .for_each(|line| prefetch(first.wrapping_add(line)));
        let Some(engine) = self.engine.upgrade() else {
            return;
        };
        let Some((run, began, mut alone)) = self.begin(&engine, number, what) else {
            self.arm_next();
            return;
        };
        let ran = match &mut alone {
            Some(alone) => decorated(&engine, alone.contexts.as_mut(), || (alone.run)(&run)),
            None => self.run_shared(&engine, &run),
        };
        let failure = self.tell_failure(&engine, &run, &ran);
        self.ended(&engine, (run, began), true, alone, what, failure);
        match ran {
            Ran::Well => {}
            // For the pool it is a task that panicked: counted, told to its hooks.
            Ran::Failed(text) => resume_unwind(Box::new(text)),
            Ran::Panicked(payload) => resume_unwind(payload),
        }
    }

    /// The text of a failure, which its schedule's own handler has heard of.
    fn tell_failure(&self, engine: &Engine, run: &Run, ran: &Ran) -> Option<String> {
        let text = match ran {
            Ran::Well => return None,
            Ran::Failed(text) => text.clone(),
            Ran::Panicked(payload) => panic_text(&**payload).to_owned(),
        };
        let schedule = self.progress.lock().schedule.clone();
        if let Some(on_error) = schedule.error_handler() {
            engine.hooks.call(|| on_error(run, &text));
        }
        Some(text)
    }

    /// Notes that a run begins; `None` if it does not. With its body, if that is the only run in progress.
    fn begin(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        number: u64,
        what: What,
    ) -> Option<(Run, Tick, Option<Alone>)> {
        // Dropped after the lock, if it is not used.
        let mut spare;
        let mut progress = self.progress.lock();
        let now = now(engine);
        spare = progress.spare.take();
        let mut listed = None;
        let as_new = || {
            let tokens = spare.take_if(|spare| spare.is_as_new());
            let Tokens {
                own,
                listed: other,
                framed,
            } = tokens.unwrap_or_else(Tokens::new);
            listed = Some(other);
            [framed, own]
        };
        let token = if self.place.class.is_future() {
            // Its block's own: the same in every poll.
            here(|here| here.token()).unwrap_or_default()
        } else {
            here(|here| here.adopt_token(as_new))
        };
        let listed = listed.unwrap_or_else(|| token.clone());
        // Detached: a failure is told when it happens. A run that is no longer the one that waits was replaced.
        drop(progress.take_waiting(number)?);
        engine.observed.runs[progress.schedule.kind() as usize].fetch_add(1, Relaxed);
        if progress.phase == Phase::Ended {
            return None;
        }
        let missed_before = progress.counts.missed;
        let run = progress.begin(&now, what, token, listed);
        let missed = progress.counts.missed - missed_before;
        if missed > 0 {
            engine.observed.missed.fetch_add(missed, Relaxed);
        }
        if run.is_some() && progress.running.len() < self.at_once && progress.phase == Phase::Going {
            let Progress { plan, schedule, .. } = &mut *progress;
            plan.go_on(schedule, &now);
            self.arm(engine, &mut progress);
            drop(progress);
            // This worker is busy with the run: somebody must be there for the next.
            engine.find_successor();
            return self.begun(engine, run?, now.tick, None);
        }
        let run = run?;
        let alone = progress.alone.take();
        drop(progress);
        self.begun(engine, run, now.tick, alone)
    }

    /// After the section in which the run's token was noted: a pool that stops looks for it after it has raised its state,
    /// so either it found the token there or its state is seen here.
    fn begun(
        &self,
        engine: &Engine,
        run: Run,
        began: Tick,
        alone: Option<Alone>,
    ) -> Option<(Run, Tick, Option<Alone>)> {
        if engine.is_stopping() {
            run.token.cancel();
        }
        Some((run, began, alone))
    }

    fn run_shared(&self, engine: &Engine, run: &Run) -> Ran {
        let taken = match &mut *self.body.lock() {
            Body::Shared(shared, contexts) => Some((shared.clone(), contexts.pop())),
            Body::Alone(_) | Body::Spawning(_) | Body::Gone => None,
        };
        let Some((shared, kept)) = taken else {
            return Ran::Well;
        };
        let decorators = &engine.hooks.decorators;
        // More at once than contexts were captured for: this worker's must do.
        let is_short = kept.is_none() && !decorators.is_empty();
        let mut contexts = kept.or_else(|| is_short.then(|| decorators.capture()));
        let ran = decorated(engine, contexts.as_mut(), || shared(run));
        if let Body::Shared(_, all) = &mut *self.body.lock()
            && all.len() < MOST_CONTEXTS
        {
            all.extend(contexts.take());
        }
        drop(contexts);
        ran
    }

    /// Notes that a run has ended, and arms the next.
    fn ended(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        (run, began): (Run, Tick),
        is_framed: bool,
        alone: Option<Alone>,
        what: What,
        failure: Option<String>,
    ) {
        let mut progress = self.progress.lock();
        // It has not ended: while its run is in progress nobody takes the place of the body, or drops it.
        if alone.is_some() {
            progress.alone = alone;
        }
        let now = if progress.schedule.is_monotonic() && !engine.clock.is_manual() {
            // By the wall as it stood when the run began: a reading less.
            let tick = engine.clock.tick();
            let ran = Duration::from_nanos(tick.saturating_sub(began));
            let wall = run.actual.checked_add(ran).unwrap_or(run.actual);
            Now { tick, wall }
        } else {
            now(engine)
        };
        let verdict = progress.note_end(&run, &now, failure);
        let returns = is_framed && !progress.schedule.is_trigger();
        let framed = returns.then(|| here(|here| here.return_token())).flatten();
        let ended = Ended {
            own: run.token,
            framed,
        };
        if progress.schedule.is_trigger() {
            let snapshot = progress.snapshot();
            drop(progress);
            self.find_next(engine, snapshot, &now, what, verdict, Some(ended));
            return;
        }
        let settled = progress.settle(engine, &now, what, verdict, Some(ended));
        self.arm_if_free(engine, &mut progress);
        let is_over = progress.is_over();
        drop(progress);
        self.armed(engine, is_over);
        settled.cancel_replaced();
    }

    /// Finds the tick after a run that has ended, or that never began, and arms it.
    fn find_next(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        snapshot: Snapshot,
        now: &Now,
        what: What,
        verdict: Verdict,
        ended: Option<Ended>,
    ) {
        // A trigger is user code: it is asked without the lock, on a copy.
        let asked = match (what, snapshot.plan) {
            (What::Tick { jitter }, Some(mut plan)) if verdict != Verdict::End => {
                Some(catch_unwind(AssertUnwindSafe(|| {
                    plan.end(&snapshot.schedule, &snapshot.last, now, jitter, verdict.pause());
                    plan
                })))
            }
            _ => None,
        };
        let settled = {
            let mut progress = self.progress.lock();
            match asked {
                None => {}
                // Another plan has come meanwhile, and this one's answer counts no more.
                Some(_) if progress.version != snapshot.version => {}
                Some(Ok(plan)) => progress.plan = plan,
                Some(Err(panic)) => {
                    // A trigger that cannot be asked has no next time.
                    progress.counts.last_error = Some(panic_text(&*panic).to_owned());
                    progress.phase = Phase::Ended;
                    engine.hooks.count_panic(panic);
                }
            }
            progress.settle(engine, now, what, verdict, ended)
        };
        self.arm_next();
        settled.cancel_replaced();
    }
}

/// The body inside its decorators. One that does not run it leaves the run out.
fn decorated(engine: &Engine, contexts: Option<&mut Contexts>, body: impl FnOnce() -> Failure) -> Ran {
    let mut answer = None;
    let around = catch_unwind(AssertUnwindSafe(|| match contexts {
        None => answer = Some(catch_unwind(AssertUnwindSafe(body))),
        Some(contexts) => engine.hooks.decorators.run(contexts, || {
            answer = Some(catch_unwind(AssertUnwindSafe(body)));
        }),
    }));
    match (answer, around) {
        (Some(answer), around) => {
            if let Err(panic) = around {
                engine.hooks.count_panic(panic);
            }
            match answer {
                Ok(None) => Ran::Well,
                Ok(Some(text)) => Ran::Failed(text),
                Err(panic) => Ran::Panicked(panic),
            }
        }
        (None, Err(panic)) => Ran::Panicked(panic),
        (None, Ok(())) => Ran::Well,
    }
}

fn now(engine: &Engine) -> Now {
    engine.clock.both()
}

/// Of the task that asks.
fn current_token() -> Option<Token> {
    here(|here| here.token())
}

impl Engine {
    /// Those of runs in progress, for a pool that stops.
    pub(super) fn tokens_of_runs(&self) -> Vec<Token> {
        let all: Vec<_> = self.schedules.lock().values().cloned().collect();
        let tokens = |repeating: Arc<Repeating>| repeating.progress.lock().running.clone();
        all.into_iter().flat_map(tokens).collect()
    }

    /// Ends every schedule: the pool does. Runs in progress go on.
    pub(super) fn drop_repeating(&self) {
        let all: Vec<_> = self.schedules.lock().values().cloned().collect();
        for repeating in all {
            if repeating.end(false).is_some() {
                self.dropped_repeating.fetch_add(1, AcqRel);
            }
        }
    }
}
