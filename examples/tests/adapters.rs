//! Executors round tokio and rayon where those do not take a task: a bound that is reached, a runtime that is gone. How they are
//! made is the example `adapters`.

use punctual::{Executor, Reason, RefusedJob};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread().worker_threads(1).build();
    runtime.expect("a runtime of one thread")
}

/// Rayon's threads, with a bound that rayon itself does not have.
fn bounded_rayon(threads: usize, most: usize) -> Executor {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = Arc::new(pool.expect("a few threads"));
    let present = Arc::new(AtomicUsize::new(0));
    Executor::from_fn(move |job| {
        if present.fetch_add(1, SeqCst) >= most {
            present.fetch_sub(1, SeqCst);
            let cause = format!("{most} tasks wait for rayon");
            return Err(RefusedJob { job, cause });
        }
        let present = present.clone();
        pool.spawn(move || {
            job.run();
            present.fetch_sub(1, SeqCst);
        });
        Ok(())
    })
}

#[test]
fn a_bound_before_rayon_gives_the_closure_back_with_its_cause_and_there_is_room_again() {
    let rayon = bounded_rayon(1, 2);
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let held = rayon.submit(move || _ = gate.lock().unwrap().recv()).unwrap();
    let waits = rayon.submit(|| 1).unwrap();
    let refused = rayon.submit(|| 2).unwrap_err();
    let Reason::Foreign(cause) = refused.reason() else {
        panic!("{refused:?}")
    };
    assert_eq!(cause, "2 tasks wait for rayon");
    let comes_back = refused.into_task();
    drop(open);
    held.join().unwrap();
    assert_eq!(waits.join().unwrap(), 1);
    // The count falls a little after the task's end.
    let mut next = rayon.submit(comes_back);
    while let Err(refused) = next {
        std::thread::yield_now();
        next = rayon.submit(refused.into_task());
    }
    assert_eq!(next.unwrap().join().unwrap(), 2);
}

#[test]
fn a_task_for_a_runtime_that_is_gone_is_cancelled_and_not_awaited_for_ever() {
    let runtime = runtime();
    let handle = runtime.handle().clone();
    let tokio = Executor::from_fn(move |job| {
        drop(handle.spawn_blocking(move || job.run()));
        Ok(())
    });
    assert_eq!(tokio.submit(|| 1).unwrap().join().unwrap(), 1);
    runtime.shutdown_background();
    let lost = tokio.submit(|| 2).unwrap();
    assert!(lost.join().unwrap_err().is_cancelled());
    let mut group = tokio.group();
    group.submit(|| 3).unwrap();
    assert!(group.next().unwrap().1.unwrap_err().is_cancelled());
}

#[test]
fn a_runtime_can_say_by_itself_that_it_is_gone() {
    let runtime = Arc::new(Mutex::new(Some(runtime())));
    let shared = runtime.clone();
    let tokio = Executor::from_fn(move |job| match &*shared.lock().unwrap() {
        Some(runtime) => {
            drop(runtime.spawn_blocking(move || job.run()));
            Ok(())
        }
        None => Err(RefusedJob {
            job,
            cause: "the runtime is gone".to_owned(),
        }),
    });
    assert_eq!(tokio.submit(|| 1).unwrap().join().unwrap(), 1);
    drop(runtime.lock().unwrap().take());
    let refused = tokio.submit(|| 2).unwrap_err();
    assert!(matches!(refused.reason(), Reason::Foreign(cause) if cause == "the runtime is gone"));
    assert_eq!(refused.into_task()(), 2);
}
