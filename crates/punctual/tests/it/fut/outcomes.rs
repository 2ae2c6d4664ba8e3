//! Values and failures: what a handle gives, once, and what it says about itself.

use crate::life::running;
use crate::support::{LONG, block_on, hold, quiet_panic, single};
use punctual::{Cancel, JoinError, Outcome, Pool, Status, TaskHandle, TaskRef};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn fut_01_a_handle_gives_what_the_closure_returned() {
    let pool = single();
    assert_eq!(pool.submit(|| 6 * 7).unwrap().join().unwrap(), 42);
    let () = pool.submit(|| ()).unwrap().join().unwrap();
    let (tell, told) = channel();
    let given = String::from("the result given beforehand");
    let task = pool.submit(move || {
        tell.send("ran").expect("the test waits for this");
        given
    });
    assert_eq!(task.unwrap().join().unwrap(), "the result given beforehand");
    assert_eq!(told.recv(), Ok("ran"));
    assert_eq!(block_on(pool.submit(|| "awaited").unwrap()).unwrap(), "awaited");
}

#[test]
fn fut_01_a_finished_task_does_not_run_again() {
    let pool = single();
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = runs.clone();
    let task = pool
        .submit(move || counter.fetch_add(1, Ordering::Relaxed))
        .unwrap();
    task.wait();
    assert!(
        pool.drain().is_empty() && !task.task_ref().remove(),
        "nobody can get hold of it"
    );
    assert!(pool.close().terminated);
    assert_eq!(task.join().unwrap(), 0, "the value of the first run");
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[test]
fn fut_02_the_value_is_taken_once_and_the_handle_remembers() {
    let pool = single();
    let mut task = pool.submit(|| vec![1, 2, 3]).unwrap();
    task.wait();
    assert!(
        task.wait_timeout(Duration::ZERO),
        "waiting takes nothing, however often"
    );
    assert_eq!(task.join_timeout(LONG).unwrap(), [1, 2, 3]);

    assert!(task.join_timeout(LONG).unwrap_err().is_taken());
    assert!(
        task.is_finished() && task.wait_timeout(Duration::ZERO),
        "it stays finished"
    );
    assert!(block_on(&mut task).unwrap_err().is_taken());
    assert!(task.join().unwrap_err().is_taken());
}

/// A cause that no text can stand for.
#[derive(Debug, PartialEq)]
struct Cause(u32);

fn cause(error: JoinError) -> Cause {
    assert!(error.is_panic() && !error.is_cancelled() && !error.is_timeout());
    *error
        .into_panic()
        .expect("a panic")
        .downcast()
        .expect("the payload itself")
}

#[test]
fn fut_03_a_failure_arrives_as_exactly_its_cause() {
    let pool = single();
    let fail = |n| {
        pool.submit(move || -> () { resume_unwind(Box::new(Cause(n))) })
            .unwrap()
    };
    assert_eq!(cause(fail(1).join().unwrap_err()), Cause(1));
    assert_eq!(cause(fail(2).join_timeout(LONG).unwrap_err()), Cause(2));
    assert_eq!(cause(block_on(fail(3)).unwrap_err()), Cause(3));
    assert_eq!(
        pool.submit(|| "the worker lives").unwrap().join().unwrap(),
        "the worker lives"
    );
}

#[test]
fn fut_03_an_error_that_a_task_returns_is_its_value() {
    let pool = single();
    let task = pool.submit(|| "x".parse::<u32>()).unwrap();
    assert_eq!(task.join().expect("it returned"), "x".parse::<u32>());
    assert_eq!((pool.close().terminated, pool.stats().panicked), (true, 0));
}

#[test]
fn fut_13_the_after_hook_is_told_once_of_every_end_and_finds_it_there() {
    type Log = Mutex<Vec<(String, String, Status)>>;
    let refs = Arc::new(Mutex::new(BTreeMap::<String, TaskRef>::new()));
    let log = Arc::new(Log::default());
    let (known, told) = (refs.clone(), log.clone());
    let pool = Pool::builder("hooked")
        .core_threads(1)
        .after_task(move |task, outcome| {
            // The tasks that only hold the worker have no name.
            let Some(name) = task.name else { return };
            let status = known.lock().unwrap()[name].status();
            let outcome = match outcome {
                Outcome::Panicked(payload) => format!("{:?}", payload.downcast_ref::<Cause>()),
                other => format!("{other:?}"),
            };
            told.lock().unwrap().push((name.to_owned(), outcome, status));
        })
        .build()
        .unwrap();
    let remember = |name: &str, task: &TaskHandle<()>| {
        refs.lock().unwrap().insert(name.to_owned(), task.task_ref());
    };

    let held = hold(&pool);
    let returned = pool.task(|| ()).name("returned").submit().unwrap();
    remember("returned", &returned);
    assert_eq!(pool.drain().len(), 1);
    let removed = pool.task(|| ()).name("removed").submit().unwrap();
    remember("removed", &removed);
    assert_eq!(removed.cancel(), Cancel::Removed);
    let finished = pool.task(|| ()).name("finished").submit().unwrap();
    remember("finished", &finished);
    let failed = pool
        .task(|| resume_unwind(Box::new(Cause(7))))
        .name("failed")
        .submit()
        .unwrap();
    remember("failed", &failed);
    let (begun, has_begun) = channel();
    let (open, gate) = channel::<()>();
    let signalled = move || {
        begun.send(()).expect("the test waits for this");
        let _ = gate.recv();
    };
    let signalled = pool.task(signalled).name("signalled").submit().unwrap();
    remember("signalled", &signalled);
    drop(held);
    has_begun.recv().unwrap();
    assert_eq!(signalled.cancel(), Cancel::Signalled);
    drop(open);
    assert!(pool.close().terminated, "all hooks have been called");

    let told = log.lock().unwrap();
    let told: Vec<_> = told
        .iter()
        .map(|(name, outcome, status)| (&**name, &**outcome, *status))
        .collect();
    assert_eq!(
        told,
        [
            ("returned", "Cancelled", Status::Returned),
            ("removed", "Cancelled", Status::Cancelled),
            ("finished", "Finished", Status::Finished),
            ("failed", "Some(Cause(7))", Status::Panicked),
            ("signalled", "Cancelled", Status::Cancelled),
        ]
    );
    assert_eq!(
        cause(failed.join().unwrap_err()),
        Cause(7),
        "the hook only looked"
    );
}

#[test]
fn fut_17_a_running_task_cannot_be_had_by_anyone_else() {
    let pool = Pool::fixed(2).unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let (begun, has_begun) = channel();
    let (open, gate) = channel::<()>();
    let counter = runs.clone();
    let task = pool
        .submit(move || {
            begun.send(()).expect("the test waits for this");
            let _ = gate.recv();
            counter.fetch_add(1, Ordering::Relaxed)
        })
        .unwrap();
    has_begun.recv().unwrap();

    assert!(!task.task_ref().remove());
    assert!(pool.drain().is_empty());
    pool.submit(|| ())
        .unwrap()
        .join()
        .expect("the second worker found this, not the running task");
    assert!(pool.stop().is_empty());
    drop(open);
    assert_eq!(task.join().unwrap(), 0);
    assert!(pool.close().terminated);
    assert_eq!((runs.load(Ordering::Relaxed), pool.stats().taken), (1, 2));
}

#[test]
fn fut_17_of_a_drain_and_the_workers_exactly_one_runs_a_task() {
    const TASKS: usize = 500;
    let pool = Pool::fixed(2).unwrap();
    let runs: Arc<Vec<AtomicUsize>> = Arc::new((0..TASKS).map(|_| AtomicUsize::new(0)).collect());
    let held = [hold(&pool), hold(&pool)];
    let tasks: Vec<_> = (0..TASKS)
        .map(|n| {
            let runs = runs.clone();
            pool.submit(move || runs[n].fetch_add(1, Ordering::Relaxed))
                .unwrap()
        })
        .collect();
    drop(held);
    let drained = pool.drain();
    let returned = drained.len();
    for task in drained {
        task.run().expect("no panic");
    }
    let cancelled = tasks
        .into_iter()
        .filter_map(|task| task.join().err())
        .filter(JoinError::is_cancelled);
    assert_eq!(cancelled.count(), returned);
    assert!(
        runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1),
        "{runs:?}"
    );
}

#[test]
fn fut_19_a_result_is_given_only_in_its_own_state() {
    let pool = single();
    let now = |task: &mut TaskHandle<u32>| (task.task_ref().status(), task.join_timeout(Duration::ZERO));

    let (mut busy, open) = running(&pool, 7);
    let mut queued = pool.submit(|| 8).unwrap();
    let (status, result) = now(&mut queued);
    assert_eq!(status, Status::Queued);
    assert!(result.unwrap_err().is_timeout());
    let (status, result) = now(&mut busy);
    assert_eq!(status, Status::Running);
    assert!(result.unwrap_err().is_timeout());

    queued.cancel();
    let (status, result) = now(&mut queued);
    assert_eq!(status, Status::Cancelled);
    let error = result.unwrap_err();
    assert!(error.is_cancelled() && !error.is_panic() && error.into_panic().is_err());

    drop(open);
    busy.wait();
    let (status, result) = now(&mut busy);
    assert_eq!((status, result.unwrap()), (Status::Finished, 7));

    let mut failed = pool.submit(|| quiet_panic("no luck")).unwrap();
    failed.wait();
    let (status, result) = now(&mut failed);
    assert_eq!(status, Status::Panicked);
    assert_eq!(result.unwrap_err().to_string(), "the task panicked: no luck");
}

/// A handle in each state, and the text of it.
fn texts() -> [String; 5] {
    let pool = single();
    let (busy, open) = running(&pool, ());
    let queued = pool.submit(|| ()).unwrap();
    let removed = pool.submit(|| ()).unwrap();
    removed.cancel();
    let [queued_text, running_text] = [format!("{queued:?}"), format!("{busy:?}")];
    drop(open);
    busy.wait();
    let failed = pool.submit(|| quiet_panic("no luck")).unwrap();
    failed.wait();
    let _: &TaskHandle<()> = &failed;
    [
        queued_text,
        running_text,
        format!("{busy:?}"),
        format!("{failed:?}"),
        format!("{removed:?}"),
    ]
}

#[test]
fn fut_19_the_debug_text_tells_the_states_apart() {
    let texts = texts();
    let distinct: std::collections::BTreeSet<_> = texts.iter().collect();
    assert_eq!(distinct.len(), texts.len(), "{texts:?}");
    for (text, word) in texts
        .iter()
        .zip(["Queued", "Running", "Finished", "Panicked", "Cancelled"])
    {
        assert!(text.contains(word), "{text} says {word}");
    }
}

#[test]
fn fut_19_the_debug_text_of_a_failure_names_its_cause() {
    let [.., failed, _] = texts();
    assert!(failed.contains("no luck"), "{failed}");
}
