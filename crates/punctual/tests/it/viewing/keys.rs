//! Keys: an executor has the key and not its view, whatever it is made of and however it is used.

use super::{Held, Meter, Notes, hold_in, pool_of};
use crate::support::{LONG, hold, in_time, until};
use punctual::{Clock, Executor, Pool, Priority, Queue, Reason, Reject, Schedule};
use std::sync::Arc;
use std::time::Duration;

/// A pool with one worker and one place, which is taken: by a task of the key behind another that runs.
fn full(reject: Reject, notes: &Notes) -> (Pool, Executor, Held) {
    let builder = Pool::builder("p").core_threads(1).queue(Queue::bounded(1));
    let pool = builder.on_full(reject).build().unwrap();
    let key = pool.keyed("full");
    let held = hold_in(&key);
    key.execute(notes.writes(1)).unwrap();
    (pool, key, held)
}

#[test]
fn a_key_keeps_its_order_and_never_overlaps_while_thousands_come_and_go() {
    const SUBMITTERS: usize = 3;
    const ROUNDS: usize = 120;
    // So many in all that keys make room several times over.
    const PASSING: usize = 100;
    let pool = pool_of(2);
    let (own, meter) = (
        [(); SUBMITTERS].map(|()| Notes::default()),
        Arc::new(Meter::default()),
    );
    std::thread::scope(|scope| {
        for (submitter, notes) in own.iter().enumerate() {
            let (pool, meter) = (&pool, meter.clone());
            scope.spawn(move || {
                let (kept, shared) = (pool.keyed(("kept", submitter)), pool.keyed("shared"));
                for round in 0..ROUNDS {
                    kept.execute(notes.writes(2 * round)).unwrap();
                    pool.keyed(("kept", submitter))
                        .execute(notes.writes(2 * round + 1))
                        .unwrap();
                    let meter = meter.clone();
                    shared
                        .execute(move || meter.pass(std::thread::yield_now))
                        .unwrap();
                    for number in 0..PASSING {
                        pool.keyed((submitter, round, number)).execute(|| ()).unwrap();
                    }
                }
            });
        }
    });
    assert!(pool.wait_idle(LONG));
    assert_eq!(meter.most(), 1);
    for notes in own {
        assert_eq!(notes.read(), (0..2 * ROUNDS).collect::<Vec<_>>());
    }
}

#[test]
fn a_full_pool_gives_back_what_a_key_brings_and_runs_it_nowhere() {
    for reject in [Reject::Abort, Reject::CallerRuns] {
        let notes = Notes::default();
        let (pool, key, held) = full(reject, &notes);
        let refused = key.submit(notes.writes(2)).unwrap_err();
        assert!(refused.is_full(), "{refused}");
        let other = pool.keyed("another").execute(notes.writes(3)).unwrap_err();
        assert!(other.is_full(), "{other}");
        let timed = key.submit_timeout(Duration::ZERO, notes.writes(4)).unwrap_err();
        assert!(timed.is_full(), "{timed}");
        let many = key.execute_all((5..8).map(|n| notes.writes(n))).unwrap_err();
        assert!(many.is_full(), "{many}");
        drop(held);
        assert!(pool.wait_idle(LONG));
        assert_eq!(notes.read(), [1]);
        refused.into_task()();
        other.into_task()();
        timed.into_task()();
        many.into_task().into_iter().for_each(|task| task());
        assert_eq!(notes.read(), (1..8).collect::<Vec<_>>(), "they came back whole");
        assert_eq!(key.submit(|| 9).unwrap().join().unwrap(), 9, "no slot was lost");
    }
}

#[test]
fn a_key_asks_the_policy_of_a_full_pool() {
    let notes = Notes::default();
    let (_pool, key, _held) = full(Reject::Discard, &notes);
    assert!(key.submit(|| ()).unwrap().join().unwrap_err().is_rejected());

    let notes = Notes::default();
    let (pool, key, held) = full(Reject::DiscardOldest, &notes);
    key.execute(notes.writes(2)).unwrap();
    assert_eq!((pool.stats().evicted, pool.stats().queued), (1, 1));
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), [2], "the one that waited made room");

    let notes = Notes::default();
    let (pool, key, held) = full(Reject::Block(LONG), &notes);
    let (own, late) = (key.clone(), notes.writes(2));
    let waiting = std::thread::spawn(move || own.submit(late).unwrap().join().unwrap());
    drop(held);
    in_time(move || waiting.join().unwrap());
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), [1, 2]);
}

#[test]
fn a_closed_pool_gives_back_what_a_key_brings() {
    let pool = pool_of(1);
    let key = pool.keyed(7);
    key.submit(|| ()).unwrap().join().unwrap();
    let _ = pool.close();
    let notes = Notes::default();
    let refused = [
        key.execute(notes.writes(1)).unwrap_err(),
        key.submit(notes.writes(2)).unwrap_err(),
        key.after(LONG, notes.writes(3)).unwrap_err(),
    ];
    for refused in refused {
        assert!(refused.is_shutdown(), "{refused}");
        refused.into_task()();
    }
    assert_eq!(notes.read(), [1, 2, 3]);
    assert!(
        key.schedule(Schedule::every(LONG), |_| ())
            .unwrap_err()
            .is_shutdown()
    );
}

#[test]
fn a_key_inside_a_lane_ends_with_it() {
    let pool = pool_of(2);
    let lane = pool.lane();
    let key = lane.keyed(7);
    let held = hold_in(&key);
    let (waiting, delayed) = (key.submit(|| ()).unwrap(), key.after(LONG, || ()).unwrap());
    assert_eq!(lane.dispose(), 2);
    assert!(waiting.join().unwrap_err().is_cancelled());
    assert!(delayed.join().unwrap_err().is_cancelled());
    let notes = Notes::default();
    let refused = key.execute(notes.writes(1)).unwrap_err();
    assert!(refused.is_shutdown(), "{refused}");
    assert!(lane.keyed(8).submit(|| ()).unwrap_err().is_shutdown());
    refused.into_task()();
    assert_eq!(notes.read(), [1]);
    drop(held);
    assert_eq!(pool.keyed(7).submit(|| 7).unwrap().join().unwrap(), 7);
}

#[test]
fn an_adapter_has_no_keys() {
    let refused = Executor::immediate().keyed(7).submit(|| 7).unwrap_err();
    assert!(matches!(refused.reason(), Reason::Foreign(_)), "{refused}");
    assert_eq!(refused.into_task()(), 7);
}

#[test]
fn one_key_is_one_order_whatever_its_executors_are_made_of() {
    let pool = Pool::builder("p")
        .core_threads(2)
        .queue(Queue::priority(1_000).strict());
    let pool = pool.build().unwrap();
    let key = pool.keyed("a");
    let held = hold_in(&key);
    let notes = Notes::default();
    key.at_priority(Priority::LOW).execute(notes.writes(0)).unwrap();
    key.clone().execute(notes.writes(1)).unwrap();
    key.downgrade()
        .upgrade()
        .unwrap()
        .execute(notes.writes(2))
        .unwrap();
    pool.at_priority(Priority::URGENT)
        .keyed("a")
        .execute(notes.writes(3))
        .unwrap();
    key.task(notes.writes(4))
        .priority(Priority::HIGH)
        .execute()
        .unwrap();
    key.named("b").execute(notes.writes(5)).unwrap();
    key.limit(4).unwrap().execute(notes.writes(6)).unwrap();
    key.keyed("c").execute(notes.writes(7)).unwrap();
    key.execute_all([notes.writes(8)]).unwrap();
    assert_eq!(key.view_stats().queued, 9);
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), (0..9).collect::<Vec<_>>());
}

#[test]
fn a_key_keeps_to_the_limit_it_is_inside_of() {
    let pool = pool_of(4);
    let view = pool.limit(2).unwrap();
    let meter = Arc::new(Meter::default());
    for number in 0..2_000 {
        let meter = meter.clone();
        view.keyed(number % 50)
            .execute(move || meter.pass(std::thread::yield_now))
            .unwrap();
    }
    assert!(pool.wait_idle(LONG));
    assert!((1..=2).contains(&meter.most()), "{}", meter.most());
    assert_eq!((view.view_stats().taken, pool.stats().finished), (2_000, 2_000));
}

#[test]
fn names_and_reasons_of_a_key_are_those_of_a_view() {
    let pool = pool_of(2);
    let key = pool.keyed(7);
    assert_eq!(&*key.view_stats().name, "p/keyed");
    assert_eq!(&*key.named("x").view_stats().name, "p/keyed/x");
    let inside = pool.limit(3).unwrap().keyed(7);
    assert_eq!(&*inside.view_stats().name, "p/limit(3)/keyed");
    let held = hold_in(&key);
    let task = key
        .submit(|| punctual::task::current_executor().unwrap().view_stats().name)
        .unwrap();
    assert_eq!(task.task_ref().explain().held_by(), Some("p/keyed"));
    drop(held);
    assert_eq!(&*task.join().unwrap(), "p/keyed");
}

#[test]
fn many_at_once_and_scopes_of_a_key_never_overlap() {
    in_time(|| {
        let pool = pool_of(4);
        let (key, meter) = (pool.keyed(7), Arc::new(Meter::default()));
        let notes = Notes::default();
        let tasks = (0..50).map(|number| {
            let (notes, meter) = (notes.clone(), meter.clone());
            move || meter.pass(|| notes.note(number))
        });
        assert!(key.all(tasks).unwrap().iter().all(Result::is_ok));
        assert_eq!(notes.read(), (0..50).collect::<Vec<_>>());
        key.scope(|scope| {
            for _ in 0..50 {
                scope.execute(|| meter.pass(std::thread::yield_now));
            }
        });
        assert_eq!(meter.most(), 1);
        // From inside: as part of the task that has the slot.
        let own = key.clone();
        let inside = key.submit(move || own.scope(|scope| scope.submit(|| 3).join().unwrap()));
        assert_eq!(inside.unwrap().join().unwrap(), 3);
        // A later one of its own key would never come.
        let own = key.clone();
        let stuck = key.submit(move || own.submit(|| ()).unwrap().join().unwrap_err());
        assert!(stuck.unwrap().join().unwrap().is_would_deadlock());
    });
}

#[test]
fn delayed_and_repeated_tasks_of_a_key_wait_for_their_turn() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(4).clock(&clock).build().unwrap();
    let (key, meter) = (pool.keyed(7), Arc::new(Meter::default()));
    let second = Duration::from_secs(1);
    let pass = |meter: &Arc<Meter>| {
        let meter = meter.clone();
        move || meter.pass(|| punctual::task::sleep(second / 4)).unwrap()
    };
    let repeated = key.schedule(Schedule::every(second).times(3), {
        let pass = pass(&meter);
        move |_| pass()
    });
    let delayed: Vec<_> = (0..3)
        .map(|n| key.after(second * n, pass(&meter)).unwrap())
        .collect();
    key.execute(pass(&meter)).unwrap();
    clock.advance(second * 10);
    assert!(delayed.into_iter().all(|task| task.join().is_ok()));
    assert_eq!((repeated.unwrap().stats().runs, meter.most()), (3, 1));
}

#[test]
fn the_threads_apart_have_keys_of_their_own() {
    let pool = pool_of(1);
    let _held = hold(&pool);
    for apart in [pool.reserve(2).unwrap(), pool.blocking().unwrap()] {
        let held = hold_in(&apart.keyed(7));
        let (notes, other) = (Notes::default(), apart.keyed(8));
        for number in 0..100 {
            apart.keyed(7).execute(notes.writes(number)).unwrap();
        }
        in_time(move || other.submit(|| ()).unwrap().join().unwrap());
        assert_eq!(notes.read(), [0; 0]);
        drop(held);
        until("all have run", || notes.read().len() == 100);
        assert!(notes.read().is_sorted());
    }
}

#[test]
fn a_future_of_a_key_lets_others_in_while_it_is_suspended() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(2).clock(&clock).build().unwrap();
    let (key, notes) = (pool.keyed(7), Notes::default());
    let own = notes.clone();
    let future = key.spawn(async move {
        own.note(1);
        punctual::future::sleep(Duration::from_secs(1)).await;
        own.note(3);
    });
    let future = future.unwrap();
    key.submit(notes.writes(2)).unwrap().join().unwrap();
    clock.advance(Duration::from_secs(1));
    future.join().unwrap();
    assert_eq!(notes.read(), [1, 2, 3]);
}
