//! `TPE-37`: when no thread can be had, every verb gives the task back and says so, under every policy.

use crate::process::{alone, large, room_for, room_for_all};
use crate::support::{assert_all_settled, block_on};
use punctual::{Answer, AnyError, Pool, Queue, Reason, Reject, Rejected};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

fn no_threads(reject: Reject) -> Pool {
    let pool = large("none")
        .core_threads(2)
        .queue(Queue::bounded(4))
        .on_full(reject)
        .build()
        .expect("valid");
    room_for(0);
    pool
}

fn is_no_thread<F>(refused: &Rejected<F>) -> bool {
    matches!(refused.reason(), Reason::NoThread)
}

#[test]
fn tpe_37_every_verb_gives_the_closure_back_when_no_thread_can_start() {
    alone(|| {
        let pool = no_threads(Reject::Abort);
        let ran = Arc::new(AtomicUsize::new(0));
        let body = || {
            let ran = ran.clone();
            move || ran.fetch_add(1, SeqCst)
        };
        let unit = || {
            let body = body();
            move || _ = body()
        };
        let mut back: Vec<Box<dyn FnOnce()>> = Vec::new();

        let refused = pool.execute(unit()).expect_err("execute");
        assert!(is_no_thread(&refused));
        back.push(Box::new(refused.into_task()));
        let refused = pool.submit(body()).expect_err("submit");
        assert!(is_no_thread(&refused));
        back.push(Box::new(move || _ = refused.into_task()()));
        let refused = pool
            .submit_timeout(Duration::MAX, body())
            .expect_err("submit_timeout");
        assert!(is_no_thread(&refused));
        back.push(Box::new(move || _ = refused.into_task()()));
        let refused = block_on(pool.submit_async(body())).expect_err("submit_async");
        assert!(is_no_thread(&refused));
        back.push(Box::new(move || _ = refused.into_task()()));
        let refused = pool.task(body()).name("named").submit().expect_err("task");
        assert!(is_no_thread(&refused));
        back.push(Box::new(move || _ = refused.into_task()()));
        let refused = pool.group().submit(body()).expect_err("group");
        assert!(is_no_thread(&refused));
        back.push(Box::new(move || _ = refused.into_task()()));
        let refused = pool.execute_all([unit(), unit()]).expect_err("execute_all");
        assert!(is_no_thread(&refused));
        let tasks = refused.into_task();
        assert_eq!(tasks.len(), 2, "both come back");
        back.extend(tasks.into_iter().map(|task| Box::new(task) as Box<dyn FnOnce()>));

        assert_eq!(ran.load(SeqCst), 0, "nothing has run");
        let stats = pool.stats();
        assert_eq!((stats.submitted, stats.threads), (0, 0));
        assert_eq!(stats.rejected.no_thread as usize, back.len());
        // What came back can be offered again.
        room_for_all();
        let all = back.len();
        back.into_iter().for_each(|task| task());
        assert_eq!(ran.load(SeqCst), all);
        assert_eq!(pool.submit(|| 1).expect("a thread").join().expect("it runs"), 1);
    });
}

#[test]
fn tpe_37_all_gives_every_closure_back_when_no_thread_can_start() {
    alone(|| {
        let pool = no_threads(Reject::Abort);
        let refused = pool.all((1..=3).map(|value| move || value)).expect_err("all");
        assert!(is_no_thread(&refused));
        let values: Vec<i32> = refused.into_task().into_iter().map(|task| task()).collect();
        assert_eq!(values, [1, 2, 3]);
    });
}

#[test]
fn tpe_37_all_counts_every_task_that_it_gives_back() {
    alone(|| {
        let pool = no_threads(Reject::Abort);
        let refused = pool.all((0..3).map(|_| || ())).expect_err("all");
        let back = refused.into_task().len() as u64;
        assert_eq!(pool.stats().rejected.no_thread, back);
    });
}

#[test]
fn tpe_37_any_says_rejected_when_no_thread_can_start() {
    alone(|| {
        let pool = no_threads(Reject::Abort);
        let answer: Result<(), AnyError<()>> = pool.any((0..2).map(|_| || Ok(())));
        match answer {
            Err(AnyError::Join(error)) => assert!(error.is_rejected(), "{error}"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn tpe_37_a_scope_runs_its_tasks_itself_when_no_thread_can_start() {
    alone(|| {
        let pool = no_threads(Reject::Abort);
        let words = ["on", "time"];
        let (mut total, me) = (0, std::thread::current().id());
        let longest = pool.scope(|scope| {
            scope.execute(|| total = words.iter().map(|word| word.len()).sum());
            let longest = scope.submit(|| {
                (
                    std::thread::current().id(),
                    words.iter().map(|word| word.len()).max(),
                )
            });
            longest.join().expect("it ran")
        });
        assert_eq!((total, longest), (6, (me, Some(4))));
    });
}

#[test]
fn tpe_37_no_policy_answers_for_a_thread_that_cannot_start() {
    alone(|| {
        let asked = Arc::new(AtomicUsize::new(0));
        let mine = asked.clone();
        for reject in [
            Reject::Abort,
            Reject::CallerRuns,
            Reject::Discard,
            Reject::DiscardOldest,
            Reject::Block(Duration::MAX),
            Reject::custom(move |_| {
                mine.fetch_add(1, SeqCst);
                Answer::Discard
            }),
        ] {
            let pool = no_threads(reject.clone());
            assert!(
                is_no_thread(&pool.execute(|| ()).expect_err("execute")),
                "{reject:?}"
            );
            assert!(
                is_no_thread(&pool.submit(|| ()).expect_err("submit")),
                "{reject:?}"
            );
            assert!(pool.close().terminated);
            let stats = pool.stats();
            assert_all_settled(&stats);
            assert_eq!(stats.rejected.no_thread, 2, "{reject:?}");
            assert_eq!(
                (stats.rejected.caller_ran, stats.rejected.discarded),
                (0, 0),
                "{reject:?}"
            );
            room_for_all();
        }
        assert_eq!(asked.load(SeqCst), 0);
    });
}

#[test]
fn tpe_38_a_start_that_fails_costs_a_view_neither_its_slot_nor_its_place() {
    alone(|| {
        let pool = large("none")
            .core_threads(1)
            .queue(Queue::bounded(1))
            .build()
            .expect("valid");
        let (limit, lane) = (
            pool.limit(1).expect("valid"),
            pool.lane_bounded(1).expect("valid"),
        );
        let inner = limit.sequential();
        let reserve = pool.reserve(1).expect("valid");
        let views = [&limit, &*lane, &inner, &reserve];
        room_for(0);
        for view in views {
            for _ in 0..3 {
                assert!(is_no_thread(&view.submit(|| 1).expect_err("no thread")));
            }
            assert_eq!((view.view_stats().queued, view.view_stats().active), (0, 0));
        }
        room_for_all();
        for view in views {
            // One more than there are slots.
            for value in 0..2 {
                let task = view.submit(move || value).expect("a slot and a thread");
                assert_eq!(task.join().expect("it runs"), value);
            }
        }
        assert_all_settled(&pool.stats());
    });
}
