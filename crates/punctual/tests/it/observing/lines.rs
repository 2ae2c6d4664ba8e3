//! `Debug` is for bug reports: one line, from anywhere, and it waits for nobody.

use crate::support::{LONG, Random, hold, in_time, quiet_panic, single};
use punctual::{Executor, Pool, Queue};
use std::fmt::Debug;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

fn line(shown: &dyn Debug) -> String {
    let line = format!("{shown:?}");
    assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
    line
}

#[test]
fn every_line_says_what_it_is_and_where_it_stands() {
    let pool = Pool::builder("orders")
        .core_threads(2)
        .queue(Queue::unbounded())
        .build()
        .unwrap();
    let held = [hold(&pool), hold(&pool)];
    let task = pool.task(|| 1).name("sum").submit().unwrap();
    let reference = task.task_ref();
    let shown = line(&pool);
    for part in [
        "\"orders\"",
        "Running",
        "2 of 2 threads",
        "1 queued",
        "3 submitted",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let executor: &Executor = &pool;
    assert_eq!(line(executor), format!("Executor of {shown}"));
    assert_eq!(line(&task), "TaskHandle(Queued)");
    assert_eq!(line(&reference), format!("TaskRef({}, Queued)", reference.id()));
    assert_eq!(line(&pool.downgrade()), "WeakExecutor(open)");
    assert!(line(&pool.task(|| ()).name("built")).contains("built"));
    assert!(line(&Pool::builder("x")).contains("PoolBuilder"));
    let unrun = pool.drain();
    assert_eq!(line(&unrun[0]), format!("Unrun({}, sum)", reference.id()));
    assert_eq!(line(&task), "TaskHandle(Returned)");
    drop(held);
    let failed = pool.submit(|| quiet_panic("shown")).unwrap();
    failed.wait();
    assert!(line(&failed).starts_with("TaskHandle(Panicked"));
    assert_eq!(
        line(&failed.join().unwrap_err()),
        "JoinError(the task panicked: shown)"
    );
    let weak = pool.downgrade();
    drop(pool);
    assert_eq!(line(&weak), "WeakExecutor(gone)");
}

#[test]
fn lines_can_be_written_in_every_hook() {
    in_time(|| {
        let shared: Arc<Mutex<Option<Pool>>> = Arc::default();
        let writes = |place: &'static str| {
            let shared = shared.clone();
            move || {
                let pool = shared.lock().unwrap().clone();
                let Some(pool) = pool else { return };
                assert!(line(&pool).contains("hooked"), "{place}");
                assert!(line(&pool.stats()).contains("submitted"), "{place}");
            }
        };
        let (before, after, failure) = (writes("before"), writes("after"), writes("failure"));
        let pool = Pool::builder("hooked")
            .core_threads(1)
            .before_task(move |task| {
                before();
                assert!(line(task).contains("TaskInfo"));
            })
            .after_task(move |_, outcome| {
                after();
                line(&outcome);
            })
            .on_failure(move |_, outcome| {
                failure();
                assert_eq!(line(&outcome), "Panicked(for the sink)");
            })
            .on_thread_start(writes("thread start"))
            .on_thread_stop(writes("thread stop"))
            .build()
            .unwrap();
        *shared.lock().unwrap() = Some(pool.clone());
        pool.submit(|| ()).unwrap().join().unwrap();
        pool.execute(|| quiet_panic("for the sink")).unwrap();
        assert!(pool.close().terminated);
        assert_eq!(pool.stats().hook_panics, 0, "an assertion in a hook failed");
        shared.lock().unwrap().take();
    });
}

#[test]
fn lines_are_written_while_everything_is_in_use() {
    let mut random = Random::printed("lines");
    in_time(move || {
        let pool = Pool::fixed(2).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let users: Vec<_> = (0..2)
            .map(|_| {
                let (pool, over) = (pool.clone(), over.clone());
                let mut random = Random::from_seed(random.next());
                std::thread::spawn(move || {
                    while !over.load(SeqCst) {
                        let task = pool.submit(|| ()).unwrap();
                        if random.below(2) == 0 {
                            task.cancel();
                        }
                        if random.below(50) == 0 {
                            drop(pool.drain());
                        }
                    }
                })
            })
            .collect();
        for _ in 0..3_000 {
            let task = pool.submit(|| ()).unwrap();
            let reference = task.task_ref();
            line(&pool);
            line(&pool.executor());
            line(&task);
            line(&reference);
        }
        over.store(true, SeqCst);
        users.into_iter().for_each(|user| user.join().unwrap());
    });
}

#[test]
fn a_task_can_show_its_own_pool_and_itself() {
    let pool = single();
    let shown = pool
        .submit(|| line(&punctual::task::current_executor().unwrap()))
        .unwrap();
    assert!(shown.join().unwrap().contains("1 submitted"));
    let shown = pool
        .task(|| line(&punctual::task::current().unwrap()))
        .name("me")
        .submit()
        .unwrap();
    assert!(shown.join().unwrap().contains("me"));
    assert!(pool.wait_idle(LONG));
}
