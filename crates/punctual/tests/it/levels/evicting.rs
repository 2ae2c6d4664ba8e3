//! A full queue: `EvictLower`, `DiscardOldest`.

use super::{Log, NAMED, STEP};
use crate::support::{LONG, assert_all_settled, hold};
use punctual::{
    Clock, Executor, ManualClock, OnDrop, Pool, Priority, PriorityQueue, Queue, Reject, Status, TaskRef,
};

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

/// Four places, of which two stand in lines: those of a lane and of a limit, whose slots a running task and a waiting one have.
struct Lines {
    clock: ManualClock,
    pool: Pool,
    lane: Executor,
    limit: Executor,
}

fn lines(queue: PriorityQueue, reject: Reject) -> Lines {
    let clock = Clock::manual();
    let pool = Pool::builder("full")
        .core_threads(1)
        .queue(queue)
        .on_full(reject)
        .clock(&clock)
        .on_drop(OnDrop::Stop)
        .build()
        .unwrap();
    pool.pause();
    Lines {
        lane: pool.sequential(),
        limit: pool.limit(1).unwrap(),
        clock,
        pool,
    }
}

impl Lines {
    /// Submits one, a second later than the one before.
    fn submit(&self, to: &Executor, priority: Priority) -> TaskRef {
        self.clock.advance(STEP);
        to.task(|| ()).priority(priority).submit().unwrap().task_ref()
    }
}

fn evicted<const N: usize>(tasks: [&TaskRef; N]) -> [bool; N] {
    tasks.map(|task| task.status() == Status::Evicted)
}

#[test]
fn evict_lower_throws_out_the_least_urgent_of_queue_and_lines() {
    for (_, queue) in super::rules_of(6) {
        let full = lines(queue, Reject::EvictLower);
        let holder = full.submit(&full.lane, Priority::HIGH);
        let normal = full.submit(&full.pool, Priority::NORMAL);
        let high_in_line = full.submit(&full.lane, Priority::HIGH);
        let low_in_line = full.submit(&full.lane, Priority::LOW);
        let low = full.submit(&full.pool, Priority::LOW);
        let normal_in_line = full.submit(&full.lane, Priority::NORMAL);
        let all = [
            &holder,
            &normal,
            &high_in_line,
            &low_in_line,
            &low,
            &normal_in_line,
        ];
        full.submit(&full.pool, Priority::URGENT);
        assert_eq!(
            evicted(all),
            [false, false, false, true, false, false],
            "the older LOW, in a line behind another"
        );
        full.submit(&full.pool, Priority::URGENT);
        assert_eq!(
            evicted(all),
            [false, false, false, true, true, false],
            "the LOW of the queue before a NORMAL in line"
        );
        full.submit(&full.pool, Priority::URGENT);
        full.submit(&full.pool, Priority::URGENT);
        assert_eq!(evicted(all), [false, true, false, true, true, true]);
        assert!(
            full.pool
                .task(|| ())
                .priority(Priority::HIGH)
                .submit()
                .unwrap_err()
                .is_full(),
            "nothing is less urgent"
        );
        assert_eq!(full.pool.stats().evicted, 4);
        drop(full.pool.stop());
        assert!(full.pool.await_termination(LONG));
        assert_all_settled(&full.pool.stats());
    }
}

#[test]
fn evict_lower_throws_out_the_oldest_of_equally_urgent_ones_in_lines() {
    for (_, queue) in super::rules_of(5) {
        let full = lines(queue, Reject::EvictLower);
        let _holders = [&full.lane, &full.limit].map(|view| full.submit(view, Priority::HIGH));
        let second = full.submit(&full.limit, Priority::LOW);
        let third = full.submit(&full.lane, Priority::LOW);
        let fourth = full.submit(&full.limit, Priority::LOW);
        for expected in [[true, false, false], [true, true, false], [true, true, true]] {
            full.submit(&full.pool, Priority::URGENT);
            assert_eq!(evicted([&second, &third, &fourth]), expected);
        }
    }
}
