//! What hooks are told, and how often: once.

use super::{Steps, by_the_caller, in_every_way, small};
use crate::life::settle;
use crate::support::{LONG, assert_all_settled, hold, quiet_panic};
use punctual::{Clock, ManualClock, Outcome, Pool, State, TaskHandle, task};
use std::panic::resume_unwind;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

/// A payload that nobody else makes.
struct Marked(u64);

fn hooked(clock: &ManualClock, steps: &Steps) -> Pool {
    let (before, after) = (steps.clone(), steps.clone());
    small(clock)
        .before_task(move |_| before.add("before"))
        .after_task(move |_, outcome| after.add(format!("after {outcome:?}")))
        .build()
        .unwrap()
}

#[test]
fn hook_01_before_body_after_once_each_in_every_way() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let pool = hooked(&clock, &steps);
    let check = |way: &str| assert_eq!(steps.take(), ["before", "body", "after Finished"], "{way}");
    in_every_way(&clock, &pool, &steps, check);
    by_the_caller(&clock, &pool, &steps, check);
}

#[test]
fn hook_01_hooks_and_body_are_on_one_thread_and_speak_of_one_task() {
    let clock = Clock::manual();
    // Thread, number and name, as the hooks and the body see them.
    type Seen = Arc<Mutex<Vec<(thread::ThreadId, u64, Option<String>)>>>;
    let seen = Seen::default();
    let note = |seen: &Seen| {
        let seen = seen.clone();
        move |id: u64, name: Option<&str>| {
            let name = name.map(str::to_owned);
            seen.lock().unwrap().push((thread::current().id(), id, name));
        }
    };
    let (before, body, after) = (note(&seen), note(&seen), note(&seen));
    let pool = small(&clock)
        .before_task(move |task| before(task.id, task.name))
        .after_task(move |task, _| after(task.id, task.name))
        .build()
        .unwrap();
    let body = Arc::new(move || {
        let me = task::current().expect("inside a task");
        body(me.id(), me.name());
    });
    let job = || {
        let body = body.clone();
        move || body()
    };
    for way in 0..3 {
        let name = match way {
            0 => {
                pool.execute(job()).unwrap();
                None
            }
            1 => {
                drop(pool.submit(job()).unwrap());
                None
            }
            _ => {
                drop(pool.task(job()).name("named").submit().unwrap());
                Some("named".to_owned())
            }
        };
        settle(&clock);
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let [first, second, third] = &seen[..] else {
            panic!("{seen:?}");
        };
        assert_eq!((first, second), (second, third), "{way}");
        assert_eq!(first.2, name);
        assert_ne!(first.0, thread::current().id());
    }
}

#[test]
fn hook_01_the_before_hook_sees_nothing_of_a_task_that_never_starts() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let pool = hooked(&clock, &steps);
    let held = hold(&pool);
    steps.take();
    let queued = pool.submit(steps.body()).unwrap();
    let _ = queued.cancel();
    assert_eq!(steps.take(), ["after Cancelled"]);
    drop(held);
}

#[test]
fn hook_02_in_the_terminated_hook_the_pool_is_terminating_and_not_terminated() {
    let clock = Clock::manual();
    let own: Arc<OnceLock<Pool>> = Arc::default();
    let (tell, told) = channel();
    let inside = own.clone();
    let pool = Pool::builder("ending")
        .core_threads(1)
        .clock(&clock)
        .on_terminated(move || {
            let pool = inside.get().expect("set before the end");
            let awaited = pool.await_termination(Duration::ZERO);
            let stats = pool.stats();
            tell.send((pool.state(), awaited, stats.threads, stats.finished))
                .expect("the test waits for this");
        })
        .build()
        .unwrap();
    own.set(pool.clone()).expect("set once");
    pool.submit(|| ()).unwrap().join().unwrap();
    pool.shutdown();
    let (state, awaited, threads, finished) = told.recv_timeout(LONG).unwrap();
    assert_eq!(state, State::Tidying);
    assert!(!awaited);
    assert_eq!(
        (threads, finished),
        (0, 1),
        "every worker has left, all is counted"
    );
    assert!(pool.await_termination(LONG));
    assert_eq!(pool.state(), State::Terminated);
}

#[test]
fn hook_04_the_after_hook_gets_the_very_panic_and_the_worker_lives() {
    let clock = Clock::manual();
    let (tell, told) = channel();
    let (sink, sunk) = channel();
    let pool = Pool::builder("panics")
        .core_threads(1)
        .clock(&clock)
        .after_task(move |task, outcome| {
            let Outcome::Panicked(payload) = outcome else {
                return;
            };
            let number = payload.downcast_ref::<Marked>().expect("its own payload").0;
            let is_signalled = task::current().is_some_and(|me| me.token().is_cancelled());
            tell.send((
                task.name.map(str::to_owned),
                number,
                is_signalled,
                thread::current().id(),
            ))
            .expect("the test waits for this");
        })
        .on_failure(move |_, outcome| {
            let Outcome::Panicked(payload) = outcome else {
                panic!("{outcome:?}");
            };
            sink.send(payload.downcast_ref::<Marked>().expect("its own payload").0)
                .expect("the test waits for this");
        })
        .build()
        .unwrap();
    let worker = pool.submit(|| thread::current().id()).unwrap().join().unwrap();
    pool.execute(|| resume_unwind(Box::new(Marked(1)))).unwrap();
    assert_eq!(told.recv().unwrap(), (None, 1, false, worker));
    assert_eq!(sunk.recv().unwrap(), 1, "nobody else will ever read it");

    let named = pool
        .task(|| -> () { resume_unwind(Box::new(Marked(2))) })
        .name("named")
        .submit()
        .unwrap();
    assert_eq!(told.recv().unwrap(), (Some("named".into()), 2, false, worker));
    let payload = named.join().unwrap_err().into_panic().unwrap();
    assert_eq!(payload.downcast_ref::<Marked>().unwrap().0, 2, "and the handle");
    assert!(sunk.try_recv().is_err(), "which has read it");

    let again = pool.submit(|| thread::current().id()).unwrap();
    assert_eq!(again.join().unwrap(), worker, "the same thread");
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.threads_started), (1, 1));
    assert_eq!((stats.panicked, stats.finished, stats.hook_panics), (2, 2, 0));
    assert_all_settled(&stats);
}

#[test]
fn hook_05_the_after_hook_gets_the_outcome_of_a_submitted_task() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let pool = hooked(&clock, &steps);
    let fails: TaskHandle<()> = pool.submit(|| quiet_panic("seen")).unwrap();
    fails.wait();
    assert_eq!(steps.take(), ["before", "after Panicked(seen)"]);
    pool.submit(|| Err::<(), _>("a value like any other"))
        .unwrap()
        .join()
        .unwrap()
        .unwrap_err();
    settle(&clock);
    assert_eq!(steps.take(), ["before", "after Finished"]);
    let mut group = pool.group::<()>();
    group.submit(|| quiet_panic("in a group")).unwrap();
    assert!(group.next().unwrap().1.unwrap_err().is_panic());
    assert_eq!(steps.take(), ["before", "after Panicked(in a group)"]);
    pool.scope(|scope| scope.submit(|| -> () { quiet_panic("scoped") }).join())
        .unwrap_err();
    assert_eq!(steps.take(), ["before", "after Panicked(scoped)"]);
    drop(fails);
}

#[test]
fn hook_05_a_failure_that_nobody_reads_is_told_to_the_sink_once() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let sink = steps.clone();
    let pool = small(&clock)
        .on_failure(move |task, outcome| sink.add(format!("{:?} {outcome:?}", task.name)))
        .build()
        .unwrap();
    // The handle goes before the task ends, and after it.
    let held = hold(&pool);
    drop(
        pool.task(|| -> () { quiet_panic("early") })
            .name("dropped")
            .submit()
            .unwrap(),
    );
    drop(held);
    settle(&clock);
    assert_eq!(steps.take(), ["Some(\"dropped\") Panicked(early)"]);
    let late: TaskHandle<()> = pool.submit(|| quiet_panic("late")).unwrap();
    late.wait();
    assert!(steps.take().is_empty(), "somebody may still read it");
    drop(late);
    assert_eq!(steps.take(), ["None Panicked(late)"]);

    let read: TaskHandle<()> = pool.submit(|| quiet_panic("read")).unwrap();
    assert!(read.join().unwrap_err().is_panic());
    settle(&clock);
    assert!(steps.take().is_empty(), "it was read");
}

#[test]
fn hook_05_an_after_hook_that_panics_is_called_once_and_changes_nothing() {
    let clock = Clock::manual();
    // The JDK calls afterExecute twice here.
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let pool = Pool::builder("after")
        .core_threads(1)
        .clock(&clock)
        .after_task(move |_, _| {
            counter.fetch_add(1, SeqCst);
            quiet_panic("an after hook");
        })
        .build()
        .unwrap();
    assert_eq!(pool.submit(|| 5).unwrap().join().unwrap(), 5);
    settle(&clock);
    assert_eq!(calls.load(Ordering::SeqCst), 1, "a task that returned");
    pool.execute(|| ()).unwrap();
    settle(&clock);
    assert_eq!(calls.load(SeqCst), 2, "without a handle");
    let fails: TaskHandle<()> = pool.submit(|| quiet_panic("a task")).unwrap();
    let error = fails.join().unwrap_err();
    assert_eq!(error.to_string(), "the task panicked: a task");
    settle(&clock);
    assert_eq!(calls.load(SeqCst), 3, "a task that panicked");
    let stats = pool.stats();
    assert_eq!((stats.hook_panics, stats.finished, stats.panicked), (3, 2, 1));
    assert_eq!(stats.threads_started, 1, "the worker lives");
}
