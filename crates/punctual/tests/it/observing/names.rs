//! Names, numbers, and what code inside a task can ask about itself.

use crate::support::{LONG, hold, quiet_panic, single};
use punctual::{Pool, Priority, Queue, task};
use std::collections::HashSet;
use std::sync::{Arc, Barrier, Mutex};

/// Names of the pool's threads, seen from inside: all workers at once, so each shows up.
fn thread_names(pool: &Pool, threads: usize) -> HashSet<String> {
    let meeting = Arc::new(Barrier::new(threads));
    let tasks: Vec<_> = (0..threads)
        .map(|_| {
            let meeting = meeting.clone();
            pool.submit(move || {
                meeting.wait();
                std::thread::current().name().map(str::to_owned)
            })
            .unwrap()
        })
        .collect();
    tasks
        .into_iter()
        .filter_map(|task| task.join().unwrap())
        .collect()
}

fn numbered(prefix: &str) -> HashSet<String> {
    (1..=3).map(|number| format!("{prefix}-{number}")).collect()
}

#[test]
fn threads_are_named_after_the_prefix_or_the_pool_and_numbered_from_one() {
    let pool = Pool::builder("orders").core_threads(3).build().unwrap();
    assert_eq!(thread_names(&pool, 3), numbered("orders"));
    let pool = Pool::builder("orders")
        .core_threads(3)
        .thread_name("io")
        .build()
        .unwrap();
    assert_eq!(pool.name(), "orders");
    assert_eq!(thread_names(&pool, 3), numbered("io"));
}

#[derive(Debug, Clone, PartialEq)]
struct Seen {
    id: u64,
    name: Option<String>,
    label: String,
    type_name: &'static str,
    outcome: &'static str,
}

#[test]
fn hooks_are_told_name_type_and_number_and_the_same_before_and_after() {
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let note = |outcome: &'static str, task: &punctual::TaskInfo<'_>, seen: &Arc<Mutex<Vec<Seen>>>| {
        assert_eq!(task.priority, Priority::NORMAL);
        seen.lock().unwrap().push(Seen {
            id: task.id,
            name: task.name.map(str::to_owned),
            label: task.label().to_owned(),
            type_name: task.type_name,
            outcome,
        });
    };
    let (before, after, failure) = (seen.clone(), seen.clone(), seen.clone());
    let pool = Pool::builder("hooks")
        .core_threads(1)
        .queue(Queue::unbounded())
        .before_task(move |task| note("before", task, &before))
        .after_task(move |task, outcome| {
            let outcome = match outcome {
                punctual::Outcome::Finished => "finished",
                punctual::Outcome::Panicked(_) => "panicked",
                punctual::Outcome::Cancelled => "cancelled",
                _ => "another",
            };
            note(outcome, task, &after);
        })
        .on_failure(move |task, _| note("unread", task, &failure))
        .build()
        .unwrap();
    let id = pool
        .task(|| task::current().unwrap().id())
        .name("named")
        .submit()
        .unwrap()
        .join()
        .unwrap();
    let closure_id: Arc<Mutex<u64>> = Arc::default();
    let mine = closure_id.clone();
    pool.execute(move || *mine.lock().unwrap() = task::current().unwrap().id())
        .unwrap();
    pool.execute(|| quiet_panic("unread")).unwrap();
    pool.task(|| ()).name("detached").execute().unwrap();
    assert!(pool.wait_idle(LONG));
    let held = hold(&pool);
    let cancelled = pool.task(|| ()).name("cancelled").submit().unwrap();
    let cancelled_id = cancelled.task_ref().id();
    cancelled.cancel();
    drop(held);
    assert!(pool.close().terminated);

    let seen = seen.lock().unwrap();
    let of = |id: u64| {
        seen.iter()
            .filter(|seen| seen.id == id)
            .cloned()
            .collect::<Vec<_>>()
    };
    let outcomes = |id: u64| of(id).iter().map(|seen| seen.outcome).collect::<Vec<_>>();
    assert_eq!(outcomes(id), ["before", "finished"]);
    assert_eq!(
        (of(id)[0].name.as_deref(), of(id)[0].label.as_str()),
        (Some("named"), "named")
    );
    let closure_id = *closure_id.lock().unwrap();
    assert_eq!(outcomes(closure_id), ["before", "finished"]);
    let closure = &of(closure_id)[0];
    assert_eq!(closure.name, None);
    assert!(
        closure.type_name.contains("hooks_are_told"),
        "the function it was written in: {}",
        closure.type_name
    );
    assert_eq!(closure.label, closure.type_name);
    let unread = seen
        .iter()
        .find(|seen| seen.outcome == "unread")
        .expect("told once");
    assert_eq!(outcomes(unread.id), ["before", "panicked", "unread"]);
    assert_eq!(outcomes(cancelled_id), ["cancelled"], "it never began");
    let detached = seen
        .iter()
        .filter(|seen| seen.name.as_deref() == Some("detached"));
    assert_eq!(
        detached.map(|seen| seen.outcome).collect::<Vec<_>>(),
        ["before", "finished"]
    );
}

#[test]
fn numbers_are_unique_among_all_kinds_of_tasks() {
    const TASKS: usize = 2_000;
    let pool = Pool::fixed(2).unwrap();
    let ids: Arc<Mutex<Vec<u64>>> = Arc::default();
    let mut handles = Vec::new();
    for index in 0..TASKS {
        let ids = ids.clone();
        let body = move || ids.lock().unwrap().push(task::current().unwrap().id());
        if index % 2 == 0 {
            pool.execute(body).unwrap();
        } else {
            handles.push(pool.submit(body).unwrap());
        }
    }
    assert!(pool.wait_idle(LONG));
    let ids: HashSet<u64> = ids.lock().unwrap().iter().copied().collect();
    assert_eq!(ids.len(), TASKS);
    // A reference made afterwards says the number that the task saw.
    assert!(handles.iter().all(|handle| ids.contains(&handle.task_ref().id())));
}

#[test]
fn a_task_knows_itself_and_its_executor_and_outside_there_is_neither() {
    let pool = single();
    assert!(task::current().is_none());
    assert!(task::current_executor().is_none());
    let inside = pool.task(|| {
        let me = task::current().unwrap();
        let again = task::current().unwrap();
        assert_eq!(me.id(), again.id());
        assert!(!me.token().is_cancelled());
        let child = task::current_executor()
            .unwrap()
            .submit(|| task::current().unwrap().id())
            .unwrap();
        (me.name().map(str::to_owned), me.priority(), me.id(), child)
    });
    let (name, priority, id, child) = inside.name("me").submit().unwrap().join().unwrap();
    assert_eq!((name.as_deref(), priority), (Some("me"), Priority::NORMAL));
    assert_ne!(child.join().unwrap(), id);
    assert!(task::current().is_none());
}

#[test]
fn a_weak_executor_keeps_nothing_open() {
    let pool = single();
    let weak = pool.downgrade();
    let strong = weak.upgrade().expect("the pool is open");
    drop(pool);
    assert_eq!(
        strong.submit(|| 1).unwrap().join().unwrap(),
        1,
        "an executor is an owner"
    );
    let (tell, told) = std::sync::mpsc::channel();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    strong
        .execute(move || {
            let _ = gate.recv();
            tell.send(task::current_executor().is_none()).unwrap();
        })
        .unwrap();
    let dropping = std::thread::spawn(move || drop(strong));
    // Not by upgrading: the answer would be an owner, perhaps the last, and closing waits for the task.
    crate::support::until("the last owner is gone", || {
        format!("{weak:?}") == "WeakExecutor(gone)"
    });
    assert!(weak.upgrade().is_none());
    drop(open);
    assert!(
        told.recv_timeout(LONG).unwrap(),
        "a pool without owners has no executor to give"
    );
    dropping.join().unwrap();
}
