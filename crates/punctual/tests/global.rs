//! The two pools of a process: `FJP-03`, `KOT-30`, `KOT-34`, `REA-19`. A binary of its own, because what one test does to them
//! all others would see.

/// What the other binary's tests need, too.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "it/support.rs"]
mod support;

use punctual::{Executor, Pool, global, task};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use support::{LONG, in_time, until};

/// One test at a time: there is one pair for all of them.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn one_thread(name: &'static str) -> Pool {
    Pool::builder(name).core_threads(1).build().unwrap()
}

/// The name of the thread that runs a task of it.
fn thread_of(executor: &Executor) -> String {
    let name = || std::thread::current().name().unwrap_or_default().to_owned();
    let task = executor.submit(name).unwrap();
    in_time(|| task.join().unwrap())
}

#[test]
fn fjp_03_whatever_can_be_ended_through_their_executors_the_shared_pools_go_on() {
    let _alone = alone();
    for shared in [global::cpu(), global::blocking()] {
        let lane = shared.lane();
        lane.execute(|| ()).unwrap();
        assert!(lane.close_timeout(LONG));
        assert_eq!(lane.dispose(), 0);
        assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
        drop(shared.limit(1).unwrap());
        drop(shared.group::<()>());
        // The last executor that its users hold, let go of inside one of its own tasks.
        let inside = shared.submit(|| drop(task::current_executor())).unwrap();
        in_time(|| inside.join().unwrap());
        assert!(thread_of(shared).starts_with("global-"));
    }
}

#[test]
fn kot_30_the_cap_of_the_shared_threads_that_block_is_hard() {
    const MORE: usize = 10;
    let _alone = alone();
    let cores = std::thread::available_parallelism().unwrap().get();
    let cap = cores.max(64);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (open, gate) = channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let tasks: Vec<_> = (0..cap + MORE)
        .map(|_| {
            let (running, most, gate) = (running.clone(), most.clone(), gate.clone());
            let blocks = move || {
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                // An error is the signal: the gate's owner is gone.
                let _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
                running.fetch_sub(1, SeqCst);
            };
            global::blocking().submit(blocks).unwrap()
        })
        .collect();
    until("all threads block", || running.load(SeqCst) == cap);
    assert_eq!(global::blocking().view_stats().queued, MORE);
    drop(open);
    in_time(|| tasks.into_iter().for_each(|task| task.join().unwrap()));
    assert_eq!(most.load(SeqCst), cap);
}

#[test]
fn kot_34_a_pool_of_one_size_keeps_it_whoever_asks_for_another() {
    let single = Pool::single().unwrap();
    assert!(single.resize(2, 2).is_err());
    assert!(single.control().resize(2, 2).is_err());
    assert!(single.control().preview_resize(2, 2).is_err());
    assert_eq!((single.size().core, single.size().max), (1, 1));
    assert_eq!(in_time(move || single.submit(|| 1).unwrap().join().unwrap()), 1);
}

#[test]
fn rea_19_a_substitute_ends_with_its_owner_and_the_shared_pools_are_back_with_its_guard() {
    let _alone = alone();
    let (mine, other) = (one_thread("mine"), one_thread("other"));
    assert!(thread_of(global::cpu()).starts_with("global-cpu-"));
    let guard = global::substitute(&mine, &mine);
    assert_eq!(thread_of(global::cpu()), "mine-1");
    assert_eq!(thread_of(global::blocking()), "mine-1");
    // It is its owner's to end. What was shared before goes on, and so does what is nobody's substitute.
    assert!(mine.close().terminated);
    assert!(global::cpu().execute(|| ()).unwrap_err().is_shutdown());
    assert_eq!(thread_of(&other), "other-1");
    drop(guard);
    assert!(thread_of(global::cpu()).starts_with("global-cpu-"));
    assert!(thread_of(global::blocking()).starts_with("global-blocking-"));
}

#[test]
fn rea_19_of_several_substitutes_the_latest_counts_whichever_goes_first() {
    let _alone = alone();
    let (one, two) = (one_thread("one"), one_thread("two"));
    let first = global::substitute(&one, &one);
    let second = global::substitute(&two, &one);
    assert_eq!(thread_of(global::cpu()), "two-1");
    assert_eq!(thread_of(global::blocking()), "one-1");
    drop(first);
    assert_eq!(thread_of(global::cpu()), "two-1");
    drop(second);
    assert!(thread_of(global::cpu()).starts_with("global-cpu-"));
}
