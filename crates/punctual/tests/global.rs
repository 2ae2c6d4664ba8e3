//! The two pools of a process: `FJP-03`, `KOT-30`, `KOT-34`, `REA-19`. A binary of its own, because what one test does to them
//! all others would see.

/// A test in a process of its own, or in a fork of this one.
#[cfg(unix)]
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "shared/second.rs"]
mod second;
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
    let pinned = Pool::pinned("shard", 3).unwrap();
    for pool in pinned.into_iter().chain([Pool::single().unwrap()]) {
        assert!(pool.resize(2, 2).is_err());
        assert!(pool.control().resize(2, 2).is_err());
        assert!(pool.control().preview_resize(2, 2).is_err());
        assert_eq!((pool.size().core, pool.size().max), (1, 1));
        assert_eq!(in_time(move || pool.submit(|| 1).unwrap().join().unwrap()), 1);
    }
}

#[test]
fn pinned_tasks_stay_on_their_thread_also_while_one_waits_for_another() {
    assert!(
        Pool::pinned("shard", 0)
            .unwrap_err()
            .to_string()
            .contains("pinned")
    );
    let shards = Pool::pinned("shard", 3).unwrap();
    assert_eq!(shards.len(), 3);
    for (index, shard) in shards.iter().enumerate() {
        let name = format!("shard-{}-1", index + 1);
        let inside = shard.executor();
        let own = move || {
            let outer = std::thread::current().name().map(str::to_owned);
            // Of its own shard: run in place, not by a spare thread.
            let inner = inside.submit(|| std::thread::current().name().map(str::to_owned));
            (outer, inner.unwrap().join().unwrap())
        };
        let task = shard.submit(own).unwrap();
        assert_eq!(in_time(|| task.join().unwrap()), (Some(name.clone()), Some(name)));
        assert!(shard.blocking().is_err(), "there is no other thread to block");
        assert_eq!(shard.stats().largest, 1);
    }
    // A task behind a busy one waits, although others are idle.
    let held = support::hold(&shards[0]);
    let behind = shards[0].submit(|| ()).unwrap();
    assert_eq!(thread_of(&shards[1]), "shard-2-1");
    assert_eq!(shards[0].stats().queued, 1);
    drop(held);
    in_time(|| behind.join().unwrap());
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

/// What needs a process in which nothing has been shared yet.
#[cfg(unix)]
mod alone {
    use super::second::{in_fork, in_second_process};
    use super::support::{LONG, hold, in_time};
    use super::thread_of;
    use punctual::{Lanes, Pool, Reason, global};
    use std::process::Command;

    fn with<F: FnOnce()>(variables: &[(&str, &str)], body: F) {
        let prepare = |command: &mut Command| {
            command.envs(variables.iter().copied());
        };
        in_second_process(LONG, prepare, body, |_| ());
    }

    /// Threads of the shared pools. (This binary's own thread has a name that begins alike.)
    #[cfg(target_os = "linux")]
    fn shared_threads() -> usize {
        let names = std::fs::read_dir("/proc/self/task").unwrap();
        let names = names.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("comm")).unwrap());
        let is_shared = |name: &String| name.starts_with("global-cpu") || name.starts_with("global-blocking");
        names.filter(is_shared).count()
    }

    #[test]
    fn the_variables_of_a_process_size_its_shared_pools() {
        let variables = [
            ("PUNCTUAL_CPU_THREADS", "1"),
            ("PUNCTUAL_BLOCKING_THREADS", "2"),
            ("PUNCTUAL_BLOCKING_QUEUE", "3"),
        ];
        with(&variables, || {
            global::check().unwrap();
            let held = hold(global::cpu());
            let behind = global::cpu().submit(|| ()).unwrap();
            assert_eq!(global::cpu().view_stats().queued, 1);
            let blocked = [hold(global::blocking()), hold(global::blocking())];
            let waiting = [0, 1, 2].map(|n| global::blocking().submit(move || n).unwrap());
            let refused = global::blocking().execute(|| ()).unwrap_err();
            let Reason::Full {
                queued,
                capacity,
                threads,
            } = refused.reason()
            else {
                panic!("{refused:?}")
            };
            assert_eq!((*queued, *capacity, *threads), (3, 3, 2));
            drop((held, blocked));
            in_time(|| behind.join().unwrap());
            assert_eq!(in_time(|| waiting.map(|task| task.join().unwrap())), [0, 1, 2]);
        });
    }

    #[test]
    fn more_threads_than_a_pool_can_have_are_found_by_check_and_named() {
        with(&[("PUNCTUAL_CPU_THREADS", "40000")], || {
            let text = global::check().unwrap_err().to_string();
            assert!(
                text.contains("PUNCTUAL_CPU_THREADS") && text.contains("40000") && text.contains("32767"),
                "{text}"
            );
            // Who sets them up does not depend on the environment.
            let cpu = Pool::builder("mine").core_threads(1);
            global::configure(cpu, Lanes::builder("blocking")).unwrap();
            assert_eq!(thread_of(global::cpu()), "mine-1");
        });
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_shared_pools_have_no_thread_before_they_are_used() {
        with(&[("PUNCTUAL_CPU_THREADS", "2")], || {
            global::check().unwrap();
            let (cpu, blocking) = (global::cpu(), global::blocking());
            assert_eq!(shared_threads(), 0);
            assert!(thread_of(cpu).starts_with("global-cpu-"));
            assert_eq!(shared_threads(), 1, "one for the one task");
            assert!(thread_of(blocking).starts_with("global-blocking-"));
            assert_eq!(shared_threads(), 2);
        });
    }

    #[test]
    fn setting_them_up_after_their_first_use_is_an_error_and_changes_nothing() {
        with(&[], || {
            let before = std::ptr::from_ref(global::cpu());
            let late = global::configure(Pool::builder("late").core_threads(1), Lanes::builder("late"));
            let text = late.unwrap_err().to_string();
            assert!(
                text.contains("global::configure") && text.contains("start of the program"),
                "{text}"
            );
            assert_eq!(before, std::ptr::from_ref(global::cpu()));
            assert!(thread_of(global::cpu()).starts_with("global-cpu-"));
        });
    }

    #[test]
    fn a_wrong_setting_leaves_them_to_be_set_up_again() {
        with(&[], || {
            let wrong = global::configure(Pool::builder("wrong").core_threads(0), Lanes::builder("wrong"));
            assert!(wrong.unwrap_err().to_string().contains("core_threads"));
            global::configure(Pool::builder("right").core_threads(1), Lanes::builder("right")).unwrap();
            assert_eq!(thread_of(global::cpu()), "right-1");
        });
    }

    #[test]
    fn a_forked_child_is_told_that_they_are_its_parents() {
        with(&[], || {
            assert!(thread_of(global::cpu()).starts_with("global-cpu-"));
            assert!(thread_of(global::blocking()).starts_with("global-blocking-"));
            let code = in_fork(|| {
                for (number, shared) in [global::cpu(), global::blocking()].into_iter().enumerate() {
                    match shared.submit(|| 7) {
                        Err(refused) if matches!(refused.reason(), Reason::Forked) => {
                            if refused.into_task()() != 7 {
                                return 10 + number as i32;
                            }
                        }
                        _ => return 1 + number as i32,
                    }
                }
                // Others can stand in for them.
                let own = Pool::fixed(1).expect("valid");
                let _guard = global::substitute(&own, &own);
                let task = global::cpu().submit(|| 3);
                match task.map(|task| task.join()) {
                    Ok(Ok(3)) => 0,
                    _ => 3,
                }
            });
            assert_eq!(
                code,
                Some(0),
                "the number is that of the check that failed in the child"
            );
            assert!(thread_of(global::cpu()).starts_with("global-cpu-"));
        });
    }

    /// As many as the process may use, not as many as there are.
    #[test]
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code, reason = "the system's own call")]
    fn a_process_that_may_use_one_core_has_one_thread_for_what_computes() {
        use std::os::unix::process::CommandExt;
        let prepare = |command: &mut Command| {
            // SAFETY: between fork and exec only a call of the system is made, with a set on this stack.
            unsafe {
                command.pre_exec(|| {
                    let mut set: libc::cpu_set_t = std::mem::zeroed();
                    let size = size_of::<libc::cpu_set_t>();
                    if libc::sched_getaffinity(0, size, &raw mut set) != 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                    let first = (0..libc::CPU_SETSIZE as usize).find(|core| libc::CPU_ISSET(*core, &set));
                    libc::CPU_ZERO(&mut set);
                    libc::CPU_SET(first.unwrap_or(0), &mut set);
                    match libc::sched_setaffinity(0, size, &raw const set) {
                        0 => Ok(()),
                        _ => Err(std::io::Error::last_os_error()),
                    }
                });
            }
        };
        let body = || {
            let held = hold(global::cpu());
            let behind = global::cpu().submit(|| ()).unwrap();
            assert_eq!(global::cpu().view_stats().queued, 1);
            drop(held);
            in_time(|| behind.join().unwrap());
        };
        in_second_process(LONG, prepare, body, |_| ());
    }
}
