//! Hooks, decorators and names.

use super::{Notes, SECOND, books, builder, nap};
use crate::life::settle;
use crate::support::Dropped;
use punctual::task::Token;
use punctual::{Cancel, PoolBuilder, Run, Schedule, ScheduleHandle, task};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

fn every() -> Schedule {
    Schedule::every(SECOND)
}

/// A decorator that notes its moments.
fn decorated(builder: PoolBuilder, notes: &Notes<&'static str>) -> PoolBuilder {
    let (captured, round) = (notes.clone(), notes.clone());
    builder.decorate(
        move || captured.add("capture"),
        move |(), run| {
            round.add("enter");
            run();
            round.add("leave");
        },
    )
}

#[test]
fn stpe_24_a_decorator_is_put_round_each_run() {
    let (builder, clock) = builder(2);
    let notes = Notes::default();
    let pool = decorated(builder, &notes).build().unwrap();
    let rate = pool.schedule(every().times(100), |_| ()).unwrap();
    let delay = Schedule::with_delay(SECOND).times(100);
    let delay = pool.schedule(delay, |_| ()).unwrap();
    clock.advance(100 * SECOND);
    assert!(rate.is_finished() && delay.is_finished());
    let notes = notes.take();
    let count = |what| notes.iter().filter(|note| **note == what).count();
    assert_eq!((count("enter"), count("leave")), (200, 200));
}

#[test]
fn hook_07_a_decorator_captures_once_for_a_schedule_and_surrounds_each_run() {
    let (builder, clock) = builder(1);
    let notes = Notes::default();
    let pool = decorated(builder, &notes).build().unwrap();
    let body = notes.clone();
    drop(pool.schedule(every().times(2), move |_| body.add("run")).unwrap());
    clock.advance(SECOND);
    let run = ["enter", "run", "leave"];
    assert_eq!(notes.take(), [&["capture"], &run[..], &run].concat());
    drop(pool.after(SECOND, notes.noting("run")).unwrap());
    assert_eq!(notes.take(), ["capture"], "at submission");
    clock.advance(SECOND);
    assert_eq!(notes.take(), run);
    let now = clock.now();
    drop(pool.at(now, notes.noting("run")).unwrap());
    settle(&clock);
    assert_eq!(notes.take(), [&["capture"], &run[..]].concat());
}

thread_local!(static USER: Cell<u32> = const { Cell::new(0) });

fn carrying(builder: PoolBuilder) -> PoolBuilder {
    builder.decorate(
        || USER.get(),
        |user, run| {
            USER.set(*user);
            run();
            USER.set(0);
        },
    )
}

#[test]
fn hook_07_a_schedule_runs_in_the_context_of_whoever_made_it() {
    let (builder, clock) = builder(1);
    let pool = carrying(builder).build().unwrap();
    let notes = Notes::default();
    let (alone, beside, delayed) = (notes.clone(), notes.clone(), notes.clone());
    USER.set(7);
    drop(
        pool.schedule(every().times(2), move |_| alone.add(USER.get()))
            .unwrap(),
    );
    settle(&clock);
    drop(pool.after(SECOND, move || delayed.add(USER.get())).unwrap());
    USER.set(8);
    let overlapping = pool.schedule_overlapping(every().times(2), 2, move |_| beside.add(USER.get()));
    drop(overlapping.unwrap());
    USER.set(0);
    clock.advance(SECOND);
    let mut seen = notes.take();
    seen.sort_unstable();
    assert_eq!(seen, [7, 7, 7, 8, 8]);
}

#[test]
fn a_context_is_dropped_with_its_schedule() {
    let (builder, clock) = builder(1);
    let drops = Arc::new(AtomicUsize::new(0));
    let captured = drops.clone();
    let pool = builder
        .decorate(move || Dropped(captured.clone()), |_, run| run())
        .build()
        .unwrap();
    let handle = pool.schedule(every(), |_| ()).unwrap();
    clock.advance(5 * SECOND);
    assert_eq!(drops.load(SeqCst), 0);
    handle.cancel();
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_run_that_a_decorator_leaves_out_does_not_end_the_schedule() {
    let (builder, clock) = builder(1);
    let turns = AtomicUsize::new(0);
    let pool = builder
        .decorate(
            || (),
            move |(), run| {
                if turns.fetch_add(1, SeqCst).is_multiple_of(2) {
                    run();
                }
            },
        )
        .build()
        .unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let inside = runs.clone();
    let body = move |_: &punctual::Run| _ = inside.fetch_add(1, SeqCst);
    let handle = pool.schedule(every(), body).unwrap();
    clock.advance(9 * SECOND);
    assert_eq!(runs.load(SeqCst), 5);
    assert!(!handle.is_finished());
    books(&pool);
}

#[test]
fn a_decorator_that_panics_does_not_end_the_schedule() {
    let (builder, clock) = builder(1);
    let pool = builder
        .decorate(
            || (),
            |(), run| {
                run();
                crate::support::quiet_panic("after the body");
            },
        )
        .build()
        .unwrap();
    let handle = pool.schedule(every(), |_| ()).unwrap();
    clock.advance(4 * SECOND);
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.failures), (5, 0), "the bodies went well");
    assert_eq!(books(&pool).hook_panics, 5);
}

#[test]
fn each_run_is_shown_to_the_hooks_under_the_schedules_name() {
    let (builder, clock) = builder(1);
    let notes = Notes::default();
    let (before, after, body) = (notes.clone(), notes.clone(), notes.clone());
    let pool = builder
        .before_task(move |task| before.add((task.name.map(String::from), "before")))
        .after_task(move |task, _| after.add((task.name.map(String::from), "after")))
        .build()
        .unwrap();
    let schedule = every().named("flush").times(2);
    let body = move |_: &punctual::Run| {
        let current = task::current().expect("inside a task");
        body.add((current.name().map(String::from), "run"));
    };
    drop(pool.schedule(schedule, body).unwrap());
    clock.advance(SECOND);
    let once = ["before", "run", "after"].map(|what| (Some(String::from("flush")), what));
    assert_eq!(notes.take(), [once.clone(), once].concat());
}

#[test]
fn each_run_is_a_task_of_its_own() {
    let (builder, clock) = builder(1);
    let ids = Notes::default();
    let seen = ids.clone();
    let pool = builder
        .before_task(move |task| seen.add(task.id))
        .build()
        .unwrap();
    drop(pool.schedule(every(), |_| nap(0)).unwrap());
    clock.advance(9 * SECOND);
    let mut ids = ids.take();
    assert_eq!(ids.len(), 10);
    ids.dedup();
    assert_eq!(ids.len(), 10);
}

#[test]
fn the_token_of_a_run_is_that_of_its_task() {
    let (builder, clock) = builder(1);
    let pool = builder.time_limit(5 * SECOND).build().unwrap();
    let notes = Notes::default();
    let inside = notes.clone();
    drop(
        pool.schedule(Schedule::every(20 * SECOND), move |run| {
            let slept = task::sleep(10 * SECOND);
            inside.add((slept.is_err(), run.token.is_cancelled()));
        })
        .unwrap(),
    );
    clock.advance(25 * SECOND);
    assert_eq!(
        notes.take(),
        [(true, true), (true, true)],
        "each has a token of its own"
    );
}

#[test]
fn a_token_that_somebody_kept_is_no_later_runs() {
    let (builder, clock) = builder(1);
    let pool = builder.build().unwrap();
    let (kept, children, quiet) = (Notes::default(), Notes::default(), Notes::default());
    let (tokens, offspring, inside) = (kept.clone(), children.clone(), quiet.clone());
    let mut number = 0;
    let handle = pool.schedule(every(), move |run| {
        inside.add(!run.token.is_cancelled());
        number += 1;
        match number {
            1 => tokens.add(run.token.clone()),
            2 => offspring.add(run.token.child()),
            3 => run.token.cancel(),
            // Until it is told to stop.
            6 => inside.add(task::sleep(1000 * SECOND).is_err()),
            _ => {}
        }
    });
    let handle = handle.unwrap();
    clock.advance(3 * SECOND);
    kept.take().iter().for_each(Token::cancel);
    clock.advance(2 * SECOND);
    handle.cancel();
    settle(&clock);
    assert!(handle.is_finished());
    assert_eq!(
        quiet.take(),
        [true; 7],
        "each begins with a quiet token, and the last one heard"
    );
    assert!(children.take().iter().all(|child| !child.is_cancelled()));
}

#[test]
fn a_hook_after_a_run_sees_whether_it_was_told_to_stop() {
    let (builder, clock) = builder(1);
    let seen = Notes::default();
    let after = seen.clone();
    let builder = builder.after_task(move |_, _| {
        let current = task::current().expect("the hook is a part of its task");
        after.add(current.token().is_cancelled());
    });
    let pool = builder.build().unwrap();
    let mut is_first = true;
    let body = move |run: &Run| {
        if std::mem::take(&mut is_first) {
            run.token.cancel();
        }
    };
    drop(pool.schedule(every(), body).unwrap());
    clock.advance(2 * SECOND);
    settle(&clock);
    assert_eq!(seen.take(), [true, false, false]);
}

/// A trigger is a part of the run that has ended: what it asks of its own schedule is asked from inside.
#[test]
fn a_trigger_that_asks_its_own_schedule_is_no_stranger() {
    let (builder, clock) = builder(1);
    let pool = builder.build().unwrap();
    let own: Arc<OnceLock<ScheduleHandle>> = Arc::default();
    let (answers, tokens) = (Notes::default(), Notes::default());
    // Not a share of it: the handle would keep the trigger that keeps the handle.
    let (mine, inside, kept) = (Arc::downgrade(&own), answers.clone(), tokens.clone());
    let start = clock.now();
    let schedule = Schedule::trigger(move |last| {
        let own = mine.upgrade()?;
        let Some(handle) = own.get() else {
            return Some(start + SECOND);
        };
        kept.take().iter().for_each(Token::cancel);
        let token = task::current().expect("inside of its run").token();
        // At once, both: whoever waited for himself would wait for ever.
        handle.wait();
        let is_told = token.is_cancelled();
        inside.add((last.completed.is_some(), is_told, handle.cancel()));
        None
    });
    let body = move |run: &Run| tokens.add(run.token.clone());
    assert!(own.set(pool.schedule(schedule, body).unwrap()).is_ok());
    clock.advance(SECOND);
    settle(&clock);
    assert_eq!(answers.take(), [(true, true, Cancel::Removed)]);
}
