//! No queue at all: a task is accepted if a hand is free for it, or one may be started.

use super::{Gate, fill, hold_many, let_in_when_racing, meet, once_active, pool, size};
use crate::life::running;
use crate::support::{LONG, hold, in_time, quiet_panic};
use punctual::{Cancel, Queue, Reason};

#[test]
fn tpe_12_without_an_idle_worker_a_thread_starts_up_to_max_and_then_tasks_are_refused() {
    for (core, max) in [(0, 1), (0, 3), (2, 5), (4, 4)] {
        let pool = pool(core, max, 0);
        let gate = Gate::default();
        for started in 1..=max {
            pool.execute(gate.task()).unwrap();
            assert_eq!(pool.stats().threads, started);
        }
        let refused = pool.execute(gate.task()).unwrap_err();
        let Reason::Full {
            capacity: 0, threads, ..
        } = *refused.reason()
        else {
            panic!("{refused}")
        };
        assert_eq!(threads, max);
        assert_eq!(once_active(&pool, max), (max, max, 0));
        assert_eq!(
            (pool.stats().submitted, pool.stats().rejected.full),
            (max as u64, 1)
        );
    }
}

#[test]
fn tpe_12_an_idle_worker_is_used_before_a_thread_starts() {
    let pool = pool(0, 3, 0);
    for _ in 0..1_000 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    assert_eq!(pool.stats().threads_started, 1);
    meet(&pool, 2);
    assert_eq!(pool.stats().threads_started, 2);
    meet(&pool, 2);
    assert_eq!(pool.stats().threads_started, 2);
}

#[test]
fn tpe_12_a_worker_whose_result_was_joined_is_free_at_once() {
    let pool = pool(1, 1, 0);
    for round in 0..2_000 {
        assert_eq!(pool.submit(move || round).unwrap().join().unwrap(), round);
        let failing = pool.submit(|| quiet_panic("on purpose")).unwrap();
        assert!(failing.join().unwrap_err().is_panic());
    }
    assert_eq!(pool.stats().rejected.full, 0);
}

#[test]
fn tpe_12_a_worker_of_an_idle_pool_is_free_at_once() {
    let pool = pool(2, 2, 0);
    for _ in 0..500 {
        pool.execute(|| ()).unwrap();
        pool.execute(|| ()).unwrap();
        assert!(pool.wait_idle(LONG));
    }
}

#[test]
fn tpe_12_a_worker_whose_task_was_signalled_is_free_when_the_task_has_ended() {
    let pool = pool(1, 1, 0);
    let (task, open) = running(&pool, ());
    assert_eq!(task.cancel(), Cancel::Signalled);
    assert!(task.is_finished(), "for whoever waits");
    assert!(
        pool.execute(|| ()).unwrap_err().is_full(),
        "its worker is not free"
    );
    drop(open);
    assert!(pool.wait_idle(LONG));
    pool.submit(|| ()).unwrap().join().unwrap();
}

#[test]
fn tpe_12_a_task_removed_before_it_was_taken_leaves_its_hand_to_the_next() {
    let pool = pool(1, 1, 0);
    let mut removed = 0;
    for _ in 0..2_000 {
        let task = pool.submit(|| ()).unwrap();
        match task.cancel() {
            Cancel::Removed => removed += 1,
            _ => assert!(pool.wait_idle(LONG)),
        }
    }
    let stats = pool.stats();
    assert_eq!(
        stats.submitted,
        removed + stats.taken,
        "each was removed or taken"
    );
}

#[test]
fn tpe_12_producers_that_race_are_let_in_up_to_max() {
    for _ in 0..30 {
        let pool = pool(1, 3, 0);
        let gate = Gate::default();
        assert_eq!(let_in_when_racing(&pool, &gate, 3), 3);
        assert_eq!(once_active(&pool, 3), (3, 3, 0));
    }
}

#[test]
fn tpe_12_what_is_accepted_waits_for_nobody() {
    in_time(|| {
        for _ in 0..300 {
            let pool = pool(0, 2, 0);
            let held = hold(&pool);
            // The second worker is idle, and one too many from the resize on.
            pool.submit(|| ()).unwrap().join().unwrap();
            pool.resize(0, 1).unwrap();
            if let Ok(accepted) = pool.submit(|| ()) {
                accepted.join().unwrap();
            }
            drop(held);
        }
    });
}

#[test]
fn tpe_12_a_bound_of_zero_is_the_same_and_can_be_set_later() {
    let handoff = super::sized(1, 2, 5).queue(Queue::handoff()).build().unwrap();
    assert_eq!(fill(&handoff, &Gate::default()), 2);
    let pool = pool(1, 2, 3);
    let gate = Gate::default();
    let held = hold_many(&pool, 1);
    pool.set_capacity(0).unwrap();
    assert_eq!(fill(&pool, &gate), 1, "the second thread");
    assert_eq!(once_active(&pool, 2), (2, 2, 0));
    assert_eq!(pool.resize(1, 3).unwrap(), size(1, 2));
    assert_eq!(fill(&pool, &gate), 1, "the third thread");
    drop(held);
}
