//! What a scoped closure may do: read and write what is around it.

use super::builder;
use crate::support::{LONG, assert_all_settled, in_time, on_worker, single};
use punctual::{Pool, Scope, task};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::thread;

#[test]
fn scope_tasks_read_and_write_locals() {
    let pool = Pool::fixed(2).unwrap();
    let words = ["on".to_owned(), "time".to_owned()];
    let (mut letters, mut count) = (0, 0);
    pool.scope(|s| {
        s.execute(|| letters = words.iter().map(String::len).sum());
        s.execute(|| count = words.len());
    });
    assert_eq!((letters, count, words.len()), (6, 2, 2));
}

#[test]
fn scope_tasks_each_write_their_own_part() {
    let pool = Pool::fixed(3).unwrap();
    let mut squares = vec![0_u64; 1_000];
    pool.scope(|s| {
        for (n, place) in squares.iter_mut().enumerate() {
            s.execute(move || *place = (n * n) as u64);
        }
    });
    assert!(
        squares
            .iter()
            .enumerate()
            .all(|(n, square)| *square == (n * n) as u64)
    );
}

#[test]
fn scope_gives_its_own_value_and_those_of_its_tasks() {
    let pool = Pool::fixed(2).unwrap();
    let words = ["on".to_owned(), "time".to_owned()];
    let (first, longest) = pool.scope(|s| {
        let longest = s.submit(|| words.iter().max_by_key(|word| word.len()).map(String::as_str));
        let first = s.submit(|| &words[0]);
        (first.join().unwrap(), longest.join().unwrap())
    });
    assert_eq!(
        (first.as_str(), longest),
        ("on", Some("time")),
        "borrowed results outlive the scope"
    );
}

#[test]
fn scope_without_tasks_is_just_its_closure() {
    let pool = single();
    assert_eq!(pool.scope(|_| 7), 7);
    assert_eq!(pool.stats().submitted, 0);
}

#[test]
fn scope_handles_know_when_their_task_has_ended() {
    let pool = single();
    pool.scope(|s| {
        let task = s.submit(|| 7);
        crate::support::until("it ends", || task.is_finished());
        assert_eq!(task.join().unwrap(), 7);
    });
}

#[test]
fn scopes_nest_on_every_size_of_pool() {
    for threads in 1..=3 {
        let pool = builder(threads).build().unwrap();
        let total = in_time(move || {
            let total = AtomicUsize::new(0);
            pool.scope(|outer| {
                for n in 0..4 {
                    let (total, pool) = (&total, &pool);
                    outer.execute(move || {
                        let mut local = [0; 4];
                        pool.scope(|inner| {
                            for place in &mut local {
                                inner.execute(move || *place = n);
                            }
                        });
                        total.fetch_add(local.iter().sum(), Relaxed);
                    });
                }
            });
            assert_all_settled(&{
                assert!(pool.close().terminated);
                pool.stats()
            });
            total.into_inner()
        });
        assert_eq!(total, 4 * (1 + 2 + 3));
    }
}

#[test]
fn scope_tasks_submit_to_their_own_scope() {
    fn countdown<'scope>(s: &'scope Scope<'scope, '_>, runs: &'scope AtomicUsize, left: usize) {
        runs.fetch_add(1, Relaxed);
        if left > 0 {
            s.execute(move || countdown(s, runs, left - 1));
        }
    }
    for threads in 1..=2 {
        let pool = builder(threads).build().unwrap();
        let runs = AtomicUsize::new(0);
        pool.scope(|s| {
            s.execute(|| {
                s.execute(|| {
                    s.execute(|| {
                        runs.fetch_add(1, Relaxed);
                    })
                })
            });
            countdown(s, &runs, 500);
        });
        assert_eq!(runs.into_inner(), 502);
    }
}

#[test]
fn scope_tasks_join_each_other() {
    for threads in 1..=3 {
        let pool = builder(threads).build().unwrap();
        let data = [1, 2, 3];
        let sum = in_time(move || {
            pool.scope(|s| {
                let first = s.submit(|| data[0]);
                let second = s.submit(|| first.join().unwrap() + data[1]);
                let third = s.submit(|| second.join().unwrap() + data[2]);
                third.join().unwrap()
            })
        });
        assert_eq!(sum, 6);
    }
}

#[test]
fn scope_from_the_only_worker_runs_its_tasks_in_place() {
    let pool = builder(1).build().unwrap();
    let in_place = on_worker(&pool, |own| {
        let (me, mut ids) = (thread::current().id(), [None; 5]);
        own.scope(|s| {
            for id in &mut ids {
                s.execute(move || *id = Some(thread::current().id()));
            }
        });
        ids == [Some(me); 5] && task::current().is_some()
    });
    assert!(in_place);
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.threads_started), (6, 1));
}

#[test]
fn scope_takes_ten_thousand_tasks() {
    let pool = Pool::fixed(2).unwrap();
    let runs = AtomicUsize::new(0);
    pool.scope(|s| {
        for n in 0..10_000 {
            if n % 2 == 0 {
                s.execute(|| {
                    runs.fetch_add(1, Relaxed);
                });
            } else {
                drop(s.submit(|| runs.fetch_add(1, Relaxed)));
            }
        }
    });
    assert_eq!(runs.load(SeqCst), 10_000);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().finished, 10_000);
}

#[test]
fn scope_takes_ten_thousand_tasks_from_its_own_worker() {
    let pool = builder(2).build().unwrap();
    let runs = on_worker(&pool, |own| {
        let runs = AtomicUsize::new(0);
        own.scope(|s| {
            for _ in 0..10_000 {
                s.execute(|| {
                    runs.fetch_add(1, Relaxed);
                });
            }
        });
        runs.into_inner()
    });
    assert_eq!(runs, 10_000);
}

#[test]
fn scope_takes_large_closures_and_gives_large_values() {
    let pool = Pool::fixed(2).unwrap();
    let base = vec![3_u8; 4_000];
    pool.scope(|s| {
        let mut tasks = Vec::new();
        for n in 0..50_u8 {
            let (large, base) = ([n; 3_000], &base);
            tasks.push(s.submit(move || {
                let mut value = [0_u8; 4_000];
                value[..3_000].copy_from_slice(&large);
                value[3_000..].copy_from_slice(&base[3_000..]);
                value
            }));
        }
        for (n, task) in tasks.into_iter().enumerate() {
            let value = task.join().unwrap();
            assert!(value[..3_000].iter().all(|byte| usize::from(*byte) == n));
            assert!(value[3_000..].iter().all(|byte| *byte == 3));
        }
    });
}

#[test]
fn scope_closures_of_every_alignment_and_size_run() {
    #[repr(align(128))]
    struct Aligned([u8; 128]);
    let pool = single();
    let runs = AtomicUsize::new(0);
    let aligned = Aligned([7; 128]);
    pool.scope(|s| {
        let runs = &runs;
        let bytes = [1_u8; 257];
        s.execute(move || {
            runs.fetch_add(bytes.len(), Relaxed);
        });
        s.execute(move || {
            assert_eq!((&raw const aligned).addr() % 128, 0);
            runs.fetch_add(aligned.0.len(), Relaxed);
        });
        s.execute(|| ());
    });
    assert_eq!(runs.into_inner(), 257 + 128);
}
