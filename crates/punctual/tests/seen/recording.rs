//! The flight recorder, the last refusals, and dumps.

use crate::json::Json;
use crate::support::{LONG, hold, quiet_panic, single};
use punctual::{Capacity, Clock, Ending, EventKind, Pool, Priority, Queue, Reject, Schedule};
use std::sync::mpsc::channel;
use std::time::Duration;

fn recorded() -> (Pool, punctual::ManualClock) {
    let clock = Clock::manual();
    let pool = Pool::builder("rec").core_threads(1).clock(&clock).recorder(1_000);
    (pool.build().unwrap(), clock)
}

fn kinds(pool: &Pool) -> Vec<(&'static str, Option<String>)> {
    assert!(pool.wait_idle(LONG));
    let events = pool.control().recent(0).events;
    events
        .iter()
        .map(|event| (event.kind.name(), event.name.as_deref().map(str::to_owned)))
        .collect()
}

#[test]
fn see_20_a_pool_that_does_not_record_keeps_nothing() {
    let pool = single();
    pool.submit(|| ()).unwrap().join().unwrap();
    let control = pool.control();
    assert!(!control.records());
    assert!(control.recent(0).events.is_empty());
    assert!(!pool.dump().records);
}

#[test]
fn see_21_a_task_is_submitted_taken_and_ended_at_its_times() {
    let (pool, clock) = recorded();
    let work = || punctual::task::sleep(Duration::from_secs(3)).unwrap();
    let slow = pool.task(work).name("slow").submit().unwrap();
    let next = pool.task(|| ()).name("next").submit().unwrap();
    clock.advance(Duration::from_secs(5));
    slow.join().unwrap();
    next.join().unwrap();
    assert!(pool.wait_idle(LONG));
    let events = pool.control().recent(0).events;
    let seen: Vec<_> = events
        .iter()
        .map(|event| {
            let name = event.name.as_deref().unwrap();
            (name, event.kind.name(), event.at.as_secs())
        })
        .collect();
    let expected = [
        ("slow", "submitted", 0),
        ("next", "submitted", 0),
        ("slow", "taken", 0),
        ("slow", "ended", 3),
        ("next", "taken", 3),
        ("next", "ended", 3),
    ];
    for each in expected {
        assert!(seen.contains(&each), "{each:?} in {seen:?}");
    }
    assert_eq!(seen.len(), expected.len());
    assert!(
        events
            .windows(2)
            .all(|two| two[0].sequence + 1 == two[1].sequence)
    );
    assert!(events.windows(2).all(|two| two[0].at <= two[1].at));
    assert_eq!(events.last().unwrap().worker, Some(1));
    assert!(events[0].type_name.unwrap().contains("see_21"));
}

#[test]
fn see_22_an_end_tells_how_it_came() {
    let (pool, _clock) = recorded();
    pool.execute(|| quiet_panic("expected")).unwrap();
    let (begin, begun) = channel();
    let told = pool.submit(move || {
        begin.send(()).unwrap();
        punctual::task::sleep(Duration::from_secs(1))
    });
    let told = told.unwrap();
    begun.recv().unwrap();
    told.cancel();
    let ready = pool.spawn(punctual::future::yield_now()).unwrap();
    ready.join().unwrap();
    assert!(pool.wait_idle(LONG));
    let events = pool.control().recent(0).events;
    let endings: Vec<Ending> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Ended(ending) => Some(ending),
            _ => None,
        })
        .collect();
    assert_eq!(
        endings,
        [
            Ending::Panicked,
            Ending::Cancelled,
            Ending::Suspended,
            Ending::Finished
        ]
    );
}

#[test]
fn see_23_who_reads_on_gets_only_what_is_new() {
    let (pool, _clock) = recorded();
    pool.execute(|| ()).unwrap();
    assert!(pool.wait_idle(LONG));
    let control = pool.control();
    let first = control.recent(0);
    assert_eq!((first.events.len(), first.next, first.is_cut), (3, 3, false));
    assert!(control.recent(first.next).events.is_empty());
    pool.execute(|| ()).unwrap();
    assert!(pool.wait_idle(LONG));
    let second = control.recent(first.next);
    assert_eq!(second.events.len(), 3);
    assert_eq!(second.events[0].sequence, first.next);
}

#[test]
fn see_24_what_is_kept_is_bounded_and_what_is_gone_is_said() {
    let pool = Pool::builder("small")
        .core_threads(1)
        .recorder(40)
        .build()
        .unwrap();
    for _ in 0..1_000 {
        pool.execute(|| ()).unwrap();
    }
    assert!(pool.wait_idle(LONG));
    let recent = pool.control().recent(0);
    assert!(recent.is_cut);
    assert!(
        (10..=40).contains(&recent.events.len()),
        "{}",
        recent.events.len()
    );
    for wrong in [0, punctual::MAX_EVENTS + 1] {
        let error = Pool::builder("p")
            .recorder(wrong)
            .build()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("recorder") && error.contains(&wrong.to_string()),
            "{error}"
        );
    }
}

#[test]
fn see_25_promotions_resizes_and_timers_are_recorded() {
    let clock = Clock::manual();
    let queue = Queue::priority(100).aging(Duration::from_secs(1));
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(queue)
        .clock(&clock)
        .recorder(100);
    let pool = pool.build().unwrap();
    pool.pause();
    drop(
        pool.task(|| ())
            .name("low")
            .priority(Priority::LOW)
            .submit()
            .unwrap(),
    );
    clock.advance(Duration::from_secs(10));
    drop(
        pool.task(|| ())
            .name("urgent")
            .priority(Priority::URGENT)
            .submit()
            .unwrap(),
    );
    pool.resume();
    assert!(pool.wait_idle(LONG));
    pool.resize(1, 3).unwrap();
    drop(pool.after(Duration::from_secs(5), || ()).unwrap());
    clock.advance(Duration::from_secs(5));
    assert!(pool.wait_idle(LONG));
    let events = pool.control().recent(0).events;
    let promoted: Vec<_> = events
        .iter()
        .filter(|event| event.kind == EventKind::Promoted)
        .collect();
    assert_eq!(promoted.len(), 1);
    assert_eq!(promoted[0].name.as_deref(), Some("low"));
    assert_eq!(promoted[0].level, Some(3));
    let resized = events.iter().find_map(|event| match event.kind {
        EventKind::Resized { from, to } => Some((from.max, to.max)),
        _ => None,
    });
    assert_eq!(resized, Some((1, 3)));
    let fired = events.iter().find_map(|event| match event.kind {
        EventKind::Fired { tasks, late } => Some((tasks, late)),
        _ => None,
    });
    assert_eq!(fired, Some((1, Duration::ZERO)));
}

#[test]
fn see_26_a_theft_is_recorded_with_the_thief() {
    let queue = Queue::stealing(Capacity::Unbounded);
    let pool = Pool::builder("s")
        .core_threads(2)
        .prestart(true)
        .queue(queue)
        .recorder(1_000)
        .build()
        .unwrap();
    // A worker that has not looked yet is left its first task in the shared queue.
    crate::support::until("both have looked", || pool.stats().parks >= 2);
    let own = pool.clone();
    let parent = pool.submit(move || {
        let (tell, told) = channel();
        own.execute(move || tell.send(()).unwrap()).unwrap();
        // It lies in this worker's deque, so somebody else must run it.
        told.recv_timeout(LONG).unwrap();
    });
    parent.unwrap().join().unwrap();
    assert!(kinds(&pool).iter().any(|(kind, _)| *kind == "stolen"));
}

#[test]
fn see_27_a_refusal_keeps_how_the_pool_was() {
    let pool = Pool::builder("full")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .recorder(100);
    let pool = pool.build().unwrap();
    let held = hold(&pool);
    pool.execute(|| ()).unwrap();
    let refused = pool.task(|| ()).name("late").submit();
    assert!(refused.unwrap_err().is_full());
    let rejected = pool.control().rejected();
    assert_eq!(rejected.len(), 1);
    let one = &rejected[0];
    assert_eq!(one.task.as_deref(), Some("late"));
    assert_eq!((one.queued, one.capacity), (1, Capacity::Bounded(1)));
    assert_eq!((one.threads, one.active, one.size.max), (1, 1, 1));
    assert_eq!((one.answer, &*one.part), ("refused", "full"));
    assert!(one.type_name.contains("see_27"));
    drop(held);
    let kinds = kinds(&pool);
    assert!(
        kinds.contains(&("rejected", Some("late".to_owned()))),
        "{kinds:?}"
    );
    assert!(
        !kinds.contains(&("submitted", Some("late".to_owned()))),
        "{kinds:?}"
    );
}

#[test]
fn see_28_refusals_are_kept_without_a_recorder_and_bounded() {
    let clock = Clock::manual();
    let pool = Pool::builder("storm")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .clock(&clock);
    let pool = pool.on_full(Reject::Discard).build().unwrap();
    pool.pause();
    pool.execute(|| ()).unwrap();
    for _ in 0..150 {
        for _ in 0..10 {
            pool.execute(|| ()).unwrap();
        }
        clock.advance(Duration::from_millis(2));
    }
    let rejected = pool.control().rejected();
    assert_eq!(rejected.len(), 100);
    assert!(
        rejected
            .iter()
            .all(|one| one.answer == "discarded" && one.like_it == 9)
    );
    assert_eq!(pool.stats().rejected.discarded, 1_500);
    pool.resume();
}

/// The recorder is told of each, and each is counted once among the refusals.
#[test]
fn see_32_with_a_recorder_a_refusal_is_counted_once_too() {
    let clock = Clock::manual();
    let pool = Pool::builder("storm")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .recorder(1_000)
        .clock(&clock);
    let pool = pool.on_full(Reject::Discard).build().unwrap();
    pool.pause();
    pool.execute(|| ()).unwrap();
    for _ in 0..3 {
        for _ in 0..10 {
            pool.execute(|| ()).unwrap();
        }
        clock.advance(Duration::from_millis(2));
    }
    let control = pool.control();
    let rejected = control.rejected();
    let like_it: Vec<u64> = rejected.iter().map(|one| one.like_it).collect();
    assert_eq!(like_it, [9, 9, 9]);
    let events = control.recent(0).events;
    let told = events.iter().filter(|event| event.kind == EventKind::Rejected);
    assert_eq!(told.count(), 30);
    pool.resume();
}

#[test]
fn see_33_a_refusal_tells_where_the_task_was_made_without_its_folder() {
    let pool = Pool::builder("site").core_threads(1).queue(Queue::bounded(1));
    let pool = pool.build().unwrap();
    pool.pause();
    let waiting = pool.task(|| ()).name("waiting").submit().unwrap();
    let line = line!() + 1;
    assert!(pool.task(|| ()).name("refused").submit().is_err());
    let expected = format!("recording.rs:{line}");
    let rejected = pool.control().rejected();
    assert_eq!(rejected[0].site.as_deref(), Some(&*expected));
    let dump = Json::read(&pool.dump().to_json());
    assert_eq!(dump.get("rejected").list()[0].get("site").text(), expected);
    let queued = dump.get("queued").list()[0].get("site").text().to_owned();
    assert!(queued.starts_with("recording.rs:"), "{queued}");
    pool.resume();
    waiting.join().unwrap();
}

#[test]
fn see_29_a_dump_is_json_whatever_names_say() {
    let nasty = "</script><img src=x onerror=alert(1)>\"\\\u{0}\u{2028}ü\n";
    let clock = Clock::manual();
    let pool = Pool::builder(nasty)
        .core_threads(1)
        .thread_name("t")
        .clock(&clock)
        .recorder(100);
    let pool = pool.queue(Queue::priority(1).levels(2)).build().unwrap();
    let every = Schedule::every(Duration::from_secs(60)).named(nasty);
    let _schedule = pool.schedule(every, |_| Err::<(), _>("failed")).unwrap();
    clock.advance(Duration::from_secs(1));
    pool.pause();
    let waiting = pool.task(|| ()).name(nasty).submit().unwrap();
    assert!(pool.task(|| ()).name("refused").submit().is_err());
    let text = pool.dump().to_json();
    assert!(!text.contains('<') && !text.contains('\u{2028}'));
    let json = Json::read(&text);
    assert_eq!(json.get("punctual_dump").number(), 1.0);
    assert_eq!(json.get("name").text(), nasty);
    assert_eq!(json.get("stats").get("queued").number(), 1.0);
    assert_eq!(json.get("stats").get("levels").list().len(), 2);
    assert_eq!(json.get("queued").list()[0].get("name").text(), nasty);
    assert!(json.get("queued").list()[0].get("why").text().contains("paused"));
    assert_eq!(json.get("schedules").list()[0].get("name").text(), nasty);
    assert_eq!(json.get("schedules").list()[0].get("upcoming").list().len(), 10);
    assert_eq!(json.get("schedules").list()[0].get("last_error").text(), "failed");
    assert_eq!(json.get("schedules").list()[0].get("outcome").text(), "failed");
    assert_eq!(json.get("schedules").list()[0].get("missed").number(), 0.0);
    assert_eq!(json.get("rejected").list()[0].get("task").text(), "refused");
    assert_eq!(json.get("workers").list().len(), 1);
    assert_eq!(json.get("settings").get("keep_alive").text(), "60s");
    let kinds: Vec<&str> = json
        .get("events")
        .list()
        .iter()
        .map(|event| event.get("kind").text())
        .collect();
    assert!(
        kinds.contains(&"fired") && kinds.contains(&"ended") && kinds.contains(&"submitted"),
        "{kinds:?}"
    );
    pool.resume();
    drop(waiting);
}

#[test]
fn see_30_a_recorded_worker_tells_exactly_how_long_it_runs() {
    let (pool, clock) = recorded();
    let (begin, begun) = channel();
    let task = pool.submit(move || {
        begin.send(()).unwrap();
        punctual::task::sleep(Duration::from_secs(50))
    });
    begun.recv().unwrap();
    clock.advance(Duration::from_secs(20));
    let dump = pool.dump();
    assert_eq!(
        dump.workers[0].running[0].running_for,
        Some(Duration::from_secs(20))
    );
    clock.advance(Duration::from_secs(30));
    let _ = task.unwrap().join();
}

#[test]
fn see_31_every_way_in_is_recorded_once() {
    let pool = Pool::builder("ways")
        .core_threads(1)
        .recorder(1_000)
        .build()
        .unwrap();
    let submitted = || {
        let events = pool.control().recent(0).events;
        events
            .iter()
            .filter(|event| event.kind == EventKind::Submitted)
            .count()
    };
    let large = [1_u64; 32];
    pool.execute(|| ()).unwrap();
    pool.execute(move || assert_eq!(large.len(), 32)).unwrap();
    assert_eq!(submitted(), 2);
    drop(pool.submit(|| ()).unwrap());
    drop(pool.task(|| ()).name("n").submit().unwrap());
    pool.task(|| ()).name("n").execute().unwrap();
    assert_eq!(submitted(), 5);
    drop(pool.spawn(async {}).unwrap());
    drop(pool.lane().submit(|| ()).unwrap());
    pool.limit(1).unwrap().execute(|| ()).unwrap();
    assert_eq!(submitted(), 8);
    assert_eq!(pool.execute_all([|| (), || ()]).unwrap(), 2);
    drop(pool.submit_timeout(LONG, || ()).unwrap());
    drop(crate::support::block_on(pool.submit_async(|| ())).unwrap());
    assert_eq!(submitted(), 12);
}
