//! A full queue: `EvictLower`, `DiscardOldest`.

use super::{Log, NAMED};
use crate::support::{assert_all_settled, hold};
use punctual::{Pool, Priority, Queue, Reject, Status};

/// One worker, four places.
fn full(reject: Reject) -> Pool {
    Pool::builder("full")
        .core_threads(1)
        .queue(Queue::priority(4).strict())
        .on_full(reject)
        .build()
        .unwrap()
}

#[test]
fn evict_lower_throws_out_the_oldest_of_the_least_urgent_level() {
    let pool = full(Reject::EvictLower);
    let held = hold(&pool);
    let log = Log::new();
    let submit = |priority, word| {
        let task = pool.task(log.writing(word)).priority(priority);
        task.submit().unwrap()
    };
    let waiting = [
        submit(Priority::HIGH, "high"),
        submit(Priority::LOW, "oldest low"),
        submit(Priority::LOW, "younger low"),
        submit(Priority::NORMAL, "normal"),
    ];
    let evicted = |index: usize| waiting[index].task_ref().status() == Status::Evicted;
    let mut more = vec![submit(Priority::URGENT, "urgent 1")];
    assert!(evicted(1) && !evicted(2));
    more.push(submit(Priority::NORMAL, "another normal"));
    assert!(evicted(2));
    more.push(submit(Priority::URGENT, "urgent 2"));
    assert!(evicted(3), "no LOW is left, so the oldest NORMAL");
    assert_eq!(
        pool.stats()
            .levels
            .iter()
            .map(|level| level.evicted)
            .collect::<Vec<_>>(),
        [0, 0, 1, 2]
    );
    let [high, first, ..] = waiting;
    let error = first.join().unwrap_err();
    assert!(error.is_evicted() && error.is_rejected());
    drop(held);
    high.join().unwrap();
    let _ = pool.close();
    assert_eq!(log.words(), ["urgent 1", "urgent 2", "high", "another normal"]);
    assert_eq!(pool.stats().evicted, 3);
    assert_all_settled(&pool.stats());
}

#[test]
fn evict_lower_refuses_a_task_that_is_no_more_urgent_than_all_that_wait() {
    for priority in NAMED {
        let pool = full(Reject::EvictLower);
        let held = hold(&pool);
        for _ in 0..4 {
            pool.at_priority(priority).execute(|| ()).unwrap();
        }
        let refused = pool.at_priority(priority).submit(|| 7).unwrap_err();
        assert!(refused.is_full());
        assert_eq!(refused.into_task()(), 7);
        let stats = pool.stats();
        assert_eq!((stats.evicted, stats.rejected.full, stats.queued), (0, 1, 4));
        drop(held);
    }
}

#[test]
fn evict_lower_spares_what_was_moved_to_the_front() {
    let pool = full(Reject::EvictLower);
    let held = hold(&pool);
    let low: Vec<_> = (0..4)
        .map(|_| pool.task(|| ()).priority(Priority::LOW).submit().unwrap())
        .collect();
    for task in &low {
        assert!(task.task_ref().run_next());
    }
    assert!(
        pool.at_priority(Priority::URGENT)
            .execute(|| ())
            .unwrap_err()
            .is_full()
    );
    drop(held);
    for task in low {
        task.join().unwrap();
    }
}

#[test]
fn discard_oldest_takes_from_the_least_urgent_level_first() {
    let pool = full(Reject::DiscardOldest);
    let held = hold(&pool);
    let urgent: Vec<_> = (0..3)
        .map(|_| pool.task(|| ()).priority(Priority::URGENT).submit().unwrap())
        .collect();
    let low = pool.task(|| ()).priority(Priority::LOW).submit().unwrap();
    pool.at_priority(Priority::LOW).execute(|| ()).unwrap();
    assert!(
        low.join().unwrap_err().is_evicted(),
        "although three others came before it"
    );
    pool.at_priority(Priority::URGENT).execute(|| ()).unwrap();
    // Now only urgent ones wait: the oldest goes, whatever comes.
    pool.at_priority(Priority::LOW).execute(|| ()).unwrap();
    let evicted = urgent
        .iter()
        .filter(|task| task.task_ref().status() == Status::Evicted);
    assert_eq!(evicted.count(), 1);
    drop(held);
    let _ = pool.close();
    assert_all_settled(&pool.stats());
}

#[test]
fn evict_lower_on_a_queue_without_levels_is_refused_at_build_and_refuses_tasks_later() {
    let plain = || Pool::builder("plain").core_threads(1).queue(Queue::bounded(1));
    let error = plain()
        .on_full(Reject::EvictLower)
        .build()
        .unwrap_err()
        .to_string();
    for part in ["on_full", "EvictLower", "levels", "Queue::priority"] {
        assert!(error.contains(part), "{error}");
    }
    let pool = plain().build().unwrap();
    pool.set_reject(Reject::EvictLower);
    let _held = hold(&pool);
    pool.execute(|| ()).unwrap();
    assert!(
        pool.at_priority(Priority::URGENT)
            .execute(|| ())
            .unwrap_err()
            .is_full()
    );
}
