//! Panics: of tasks that were joined, of tasks that were not, of the scope's own closure.

use super::{builder, panic_of};
use crate::support::{LONG, in_time, quiet_panic, single, until};
use punctual::Pool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;

#[test]
fn scope_panic_that_was_joined_does_not_go_on_at_the_brace() {
    let pool = single();
    let told = pool.scope(|s| {
        let outcome: Result<(), _> = s.submit(|| quiet_panic("no luck")).join();
        outcome.unwrap_err().into_panic().unwrap()
    });
    assert_eq!(*told.downcast::<&str>().unwrap(), "no luck");
}

#[test]
fn scope_panic_of_an_execute_goes_on_at_the_brace() {
    let pool = single();
    let text = panic_of(|| pool.scope(|s| s.execute(|| quiet_panic("no luck"))));
    assert_eq!(text, "no luck");
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().panicked, 1);
    assert_eq!(pool.submit(|| 7).unwrap().join().unwrap(), 7, "the worker lives");
}

#[test]
fn scope_panic_of_a_dropped_handle_goes_on_at_the_brace() {
    // Dropped before the end, and after it.
    let pool = single();
    let (open, gate) = channel::<()>();
    let text = panic_of(|| {
        pool.scope(|s| {
            drop(s.submit(move || {
                let _ = gate.recv();
                quiet_panic("early")
            }));
            drop(open);
        });
    });
    assert_eq!(text, "early");
    let text = panic_of(|| {
        pool.scope(|s| {
            let task = s.submit(|| quiet_panic("late"));
            until("it ends", || task.is_finished());
            drop(task);
        });
    });
    assert_eq!(text, "late");
}

#[test]
fn scope_panic_of_a_leaked_handle_goes_on_at_the_brace() {
    let pool = single();
    let text = panic_of(|| pool.scope(|s| std::mem::forget(s.submit(|| quiet_panic("no luck")))));
    assert_eq!(text, "no luck");
}

#[test]
fn scope_waits_for_the_others_before_a_panic_goes_on() {
    let pool = Pool::fixed(2).unwrap();
    let ended = AtomicUsize::new(0);
    let (begin, begun) = channel::<()>();
    let text = panic_of(|| {
        pool.scope(|s| {
            let ended = &ended;
            s.execute(|| quiet_panic("no luck"));
            s.execute(move || {
                let _ = begun.recv();
                ended.fetch_add(1, SeqCst);
            });
            s.execute(|| {
                ended.fetch_add(1, SeqCst);
            });
            drop(begin);
        });
    });
    assert_eq!(text, "no luck");
    assert_eq!(ended.load(SeqCst), 2);
}

#[test]
fn scope_waits_for_its_tasks_before_its_own_panic_goes_on() {
    let pool = Pool::fixed(2).unwrap();
    for _ in 0..50 {
        let mut written = [false; 4];
        let text = panic_of(|| {
            pool.scope(|s| {
                for place in &mut written {
                    s.execute(move || {
                        std::thread::yield_now();
                        *place = true;
                    });
                }
                quiet_panic("its own")
            });
        });
        assert_eq!((text.as_str(), written), ("its own", [true; 4]));
    }
}

#[test]
fn scope_of_two_panics_the_closures_own_goes_on() {
    let pool = single();
    let text = panic_of(|| {
        pool.scope(|s| {
            s.execute(|| quiet_panic("a task's"));
            quiet_panic("its own")
        });
    });
    assert_eq!(text, "its own");
}

#[test]
fn scope_of_many_panics_one_goes_on() {
    let pool = Pool::fixed(2).unwrap();
    let text = panic_of(|| {
        pool.scope(|s| {
            for _ in 0..100 {
                s.execute(|| quiet_panic("one of many"));
            }
        });
    });
    assert_eq!(text, "one of many");
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().panicked, 100);
}

#[test]
fn scope_panic_inside_a_worker_stays_in_the_task_that_holds_the_scope() {
    let pool = builder(1).build().unwrap();
    let own = pool.clone();
    let caller = pool
        .submit(move || own.scope(|s| s.execute(|| quiet_panic("no luck"))))
        .unwrap();
    let error = in_time(|| caller.join().unwrap_err());
    assert_eq!(super::text_of(error.into_panic().unwrap()), "no luck");
    assert_eq!(pool.stats().panicked, 2, "the child and its parent");
}

#[test]
fn scope_panic_in_an_inner_scope_passes_through_the_outer_one() {
    let pool = Pool::fixed(2).unwrap();
    let ended = AtomicUsize::new(0);
    let text = panic_of(|| {
        pool.scope(|outer| {
            outer.execute(|| {
                pool.scope(|inner| {
                    inner.execute(|| {
                        ended.fetch_add(1, SeqCst);
                    });
                    inner.execute(|| quiet_panic("deep inside"));
                });
            });
            outer.execute(|| {
                ended.fetch_add(1, SeqCst);
            });
        });
    });
    assert_eq!(text, "deep inside");
    assert_eq!(ended.load(SeqCst), 2);
}
