//! [`Control`](punctual::Control): lists, verbs, and what is left when the pool is gone.

use crate::support::{LONG, hold, in_time, single, until};
use punctual::{Cancel, Capacity, Clock, Pool, Priority, Queue, Schedule, State, Status};
use std::sync::mpsc::channel;
use std::time::Duration;

fn names(tasks: &[punctual::TaskRef]) -> Vec<String> {
    tasks
        .iter()
        .map(|task| task.name().unwrap_or("-").to_owned())
        .collect()
}

#[test]
fn see_01_a_control_does_not_keep_a_pool_open() {
    let pool = single();
    let control = pool.control();
    assert_eq!(control.state(), Some(State::Running));
    in_time(move || drop(pool));
    assert!(control.stats().is_none());
    assert!(control.state().is_none());
    assert!(control.advice().is_none());
    assert!(control.queued(10).is_empty());
    assert!(control.running().is_empty());
    assert!(control.workers().is_empty());
    assert!(control.schedules().is_empty());
    assert!(control.lints().is_empty());
    assert_eq!(&*control.name(), "single");
    let error = control.resize(2, 2).unwrap_err().to_string();
    assert!(error.contains("single") && error.contains("gone"), "{error}");
    control.pause();
    control.resume();
}

#[test]
fn see_02_waiting_tasks_are_listed_in_the_order_in_which_they_are_taken() {
    let pool = single();
    let held = hold(&pool);
    for name in ["a", "b", "c"] {
        drop(pool.task(|| ()).name(name).submit().unwrap());
        pool.execute(|| ()).unwrap();
    }
    let control = pool.control();
    assert_eq!(names(&control.queued(10)), ["a", "b", "c"]);
    assert_eq!(names(&control.queued(2)), ["a", "b"]);
    assert!(control.queued(0).is_empty());
    assert!(control.queued(10)[2].run_next());
    assert_eq!(names(&control.queued(10)), ["c", "a", "b"]);
    assert_eq!(control.queued(10)[1].cancel(), Cancel::Removed);
    assert_eq!(names(&control.queued(10)), ["c", "b"]);
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert!(control.queued(10).is_empty());
}

#[test]
fn see_03_waiting_tasks_of_levels_are_listed_as_their_rule_would_take_them() {
    let clock = Clock::manual();
    let queue = Queue::priority(100).aging(Duration::from_secs(10));
    let pool = Pool::builder("levels")
        .core_threads(1)
        .clock(&clock)
        .queue(queue)
        .build()
        .unwrap();
    pool.pause();
    let submit = |name: &'static str, priority| {
        drop(pool.task(|| ()).name(name).priority(priority).submit().unwrap());
    };
    submit("old and low", Priority::LOW);
    clock.advance(Duration::from_secs(30));
    submit("low", Priority::LOW);
    submit("urgent", Priority::URGENT);
    submit("normal", Priority::NORMAL);
    let control = pool.control();
    assert_eq!(
        names(&control.queued(10)),
        ["old and low", "urgent", "normal", "low"]
    );
    pool.resume();
    assert!(pool.wait_idle(LONG));
}

#[test]
fn see_04_tasks_in_the_line_of_a_view_are_listed_with_its_name() {
    let pool = single();
    let lane = pool.lane();
    let held = hold(&lane);
    let task = lane.task(|| ()).name("second").submit().unwrap();
    let control = pool.control();
    let listed = control.queued(10);
    assert_eq!(names(&listed), ["second"]);
    assert_eq!(listed[0].view().as_deref(), Some("single/lane"));
    assert_eq!(listed[0].id(), task.task_ref().id());
    drop(held);
    task.join().unwrap();
    assert_eq!(listed[0].view(), None, "it has ended");
}

#[test]
fn see_05_running_tasks_are_listed_and_can_be_cancelled() {
    let pool = Pool::fixed(2).unwrap();
    let (begin, begun) = channel();
    let task = pool
        .submit(move || {
            begin.send(()).unwrap();
            punctual::task::sleep(Duration::from_secs(3600))
        })
        .unwrap();
    begun.recv().unwrap();
    let control = pool.control();
    let running = control.running();
    assert_eq!(running.len(), 1);
    assert_eq!(running[0].status(), Status::Running);
    assert_eq!(running[0].id(), task.task_ref().id());
    assert!(running[0].type_name().contains("see_05"));
    assert_eq!(control.task(running[0].id()).unwrap().id(), running[0].id());
    assert_eq!(running[0].cancel(), Cancel::Signalled);
    assert!(task.join().unwrap_err().is_cancelled());
    assert!(pool.wait_idle(LONG));
    until("nothing runs", || control.running().is_empty());
}

#[test]
fn see_06_a_task_that_runs_another_in_place_is_listed_with_it() {
    let pool = single();
    let own = pool.clone();
    let (open, gate) = channel::<()>();
    let (begin, begun) = channel();
    let outer = pool
        .task(move || {
            let inner = own.task(move || {
                begin.send(()).unwrap();
                let _ = gate.recv();
            });
            inner.name("inner").submit().unwrap().join().unwrap();
        })
        .name("outer")
        .submit()
        .unwrap();
    begun.recv().unwrap();
    let control = pool.control();
    assert_eq!(names(&control.running()), ["outer", "inner"]);
    drop(open);
    outer.join().unwrap();
}

#[test]
fn see_07_a_worker_tells_the_type_of_a_task_without_a_handle_and_for_how_long_it_runs() {
    let clock = Clock::manual();
    let pool = Pool::builder("w").core_threads(1).clock(&clock).build().unwrap();
    let (begin, begun) = channel();
    pool.execute(move || {
        begin.send(()).unwrap();
        let _ = punctual::task::sleep(Duration::from_secs(100));
    })
    .unwrap();
    begun.recv().unwrap();
    let control = pool.control();
    let workers = control.workers();
    assert_eq!((workers.len(), workers[0].number), (1, 1));
    assert!(workers[0].running[0].type_name.contains("see_07"));
    assert_eq!(workers[0].running[0].at_least, Duration::ZERO);
    clock.advance(Duration::from_secs(40));
    let workers = control.workers();
    assert_eq!(workers[0].running[0].at_least, Duration::from_secs(40));
    clock.advance(Duration::from_secs(60));
    until("it is idle", || control.workers()[0].running.is_empty());
    assert_eq!(control.workers()[0].ended, 1);
}

#[test]
fn see_08_a_task_of_a_scope_is_not_referred_to() {
    let pool = single();
    let control = pool.control();
    let (open, gate) = channel::<()>();
    let (begin, begun) = channel();
    let text = String::from("borrowed");
    std::thread::scope(|threads| {
        threads.spawn(|| {
            pool.scope(|scope| {
                let (begin, text) = (begin.clone(), &text);
                scope.execute(move || {
                    begin.send(text.len()).unwrap();
                    let _ = gate.recv();
                });
                drop(scope.submit(|| text.len()));
            });
        });
        assert_eq!(begun.recv().unwrap(), 8);
        until("the second waits", || control.stats().unwrap().queued == 1);
        assert!(control.running().is_empty());
        assert!(control.queued(10).is_empty());
        assert_eq!(control.workers()[0].running.len(), 1);
        drop(open);
    });
}

#[test]
fn see_09_schedules_are_listed_until_they_end() {
    let clock = Clock::manual();
    let pool = Pool::builder("s").core_threads(1).clock(&clock).build().unwrap();
    let every = Schedule::every(Duration::from_secs(5)).named("flush");
    let flush = pool.schedule(every, |_| ()).unwrap();
    let control = pool.control();
    let listed = control.schedules();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].name().as_deref(), Some("flush"));
    assert_eq!(listed[0].schedule().to_string(), "every 5 seconds");
    assert!(!listed[0].is_paused());
    listed[0].pause();
    assert!(flush.is_paused());
    flush.resume();
    flush.cancel();
    assert!(control.schedules().is_empty());
    assert!(flush.upcoming(3).is_empty());
}

#[test]
fn see_10_the_runs_to_come_are_told_as_far_as_they_are_known() {
    let clock = Clock::manual();
    let pool = Pool::builder("s").core_threads(1).clock(&clock).build().unwrap();
    let start = clock.now();
    let at = move |seconds| start + Duration::from_secs(seconds);
    let flush = pool
        .schedule(Schedule::every(Duration::from_secs(5)).times(4), |_| ())
        .unwrap();
    clock.advance(Duration::from_secs(7));
    assert_eq!(flush.upcoming(1), [at(10)]);
    assert_eq!(flush.upcoming(9), [at(10), at(15)]);
    flush.pause();
    clock.advance(Duration::from_secs(60));
    assert_eq!(flush.upcoming(1), [at(70)], "as if it were resumed now");
    let asked = pool
        .schedule(Schedule::trigger(move |_| Some(at(200))), |_| ())
        .unwrap();
    assert_eq!(asked.upcoming(5), [at(200)], "nobody is asked for more");
}

#[test]
fn see_11_a_resize_is_foretold_and_then_done() {
    let pool = Pool::builder("r")
        .core_threads(4)
        .max_threads(4)
        .queue(Queue::bounded(10))
        .build()
        .unwrap();
    assert_eq!(pool.prestart(), 4);
    let held = hold(&pool);
    let control = pool.control();
    until("three sleep", || {
        control.preview_resize(1, 1).unwrap().end_at_once == 3
    });
    let preview = control.preview_resize(0, 0);
    assert!(preview.is_err());
    let preview = control.preview_resize(1, 1).unwrap();
    assert_eq!(
        (preview.end_at_once, preview.end_after_task, preview.can_start),
        (3, 0, 0)
    );
    assert_eq!(
        preview.to_string(),
        "core 4 to 1, max 4 to 1: 3 idle threads would end at once"
    );
    let larger = control.preview_resize(4, 6).unwrap();
    assert_eq!(larger.can_start, 2);
    let lazier = control.preview_resize(2, 4).unwrap();
    assert_eq!((lazier.end_at_once, lazier.end_after_keep_alive), (0, 2));
    assert_eq!(pool.size().max, 4, "nothing has changed");
    assert_eq!(control.resize(1, 1).unwrap().max, 4);
    until("they leave", || control.stats().unwrap().threads == 1);
    drop(held);
}

#[test]
fn see_12_what_waits_behind_many_without_a_handle_is_found_within_bounds() {
    let pool = single();
    let held = hold(&pool);
    let control = pool.control();
    for _ in 0..5_000 {
        pool.execute(|| ()).unwrap();
    }
    drop(pool.task(|| ()).name("behind").submit().unwrap());
    assert_eq!(names(&control.queued(usize::MAX)), ["behind"]);
    for _ in 0..2_000 {
        drop(pool.submit(|| ()).unwrap());
    }
    assert_eq!(control.queued(usize::MAX).len(), punctual::Control::MOST_LISTED);
    drop(held);
}

#[test]
fn see_13_tasks_of_blocking_threads_are_listed_with_those_of_their_pool() {
    let pool = Pool::builder("b").core_threads(1).build().unwrap();
    let blocking = pool.blocking().unwrap();
    let _held = hold(&pool);
    let (open, gate) = channel::<()>();
    let (begin, begun) = channel();
    let read = blocking.task(move || {
        begin.send(()).unwrap();
        let _ = gate.recv();
    });
    let read = read.name("read").submit().unwrap();
    begun.recv().unwrap();
    let control = pool.control();
    assert_eq!(names(&control.running()), ["read"]);
    let parts: Vec<_> = control.workers().into_iter().map(|worker| worker.part).collect();
    assert_eq!(
        parts.iter().map(|part| &**part).collect::<Vec<_>>(),
        ["b", "b/blocking"]
    );
    drop(open);
    read.join().unwrap();
}

#[test]
fn see_14_a_named_task_tells_where_and_when_it_was_made() {
    let clock = Clock::manual();
    let queue = Queue::stealing(Capacity::Unbounded);
    let pool = Pool::builder("n")
        .core_threads(1)
        .clock(&clock)
        .queue(queue)
        .build()
        .unwrap();
    let line = line!() + 1;
    let task = pool.task(|| ());
    let task = task
        .name("n")
        .priority(Priority::HIGH)
        .after(Duration::from_secs(9));
    let task = task.unwrap().task_ref();
    let site = task.site().unwrap();
    assert!(site.file().ends_with("controlling.rs"));
    assert_eq!(site.line(), line);
    assert_eq!(task.priority(), Priority::HIGH);
    assert_eq!(task.age(), Some(Duration::ZERO));
    clock.advance(Duration::from_secs(5));
    assert_eq!(task.age(), Some(Duration::from_secs(5)));
    let plain = pool.submit(|| ()).unwrap().task_ref();
    assert_eq!((plain.site(), plain.age()), (None, None));
}

#[test]
fn see_17_lints_are_of_the_settings_as_they_are_now() {
    let pool = Pool::builder("p").core_threads(1).queue(Queue::bounded(10));
    let pool = pool.build().unwrap();
    let codes = || -> Vec<&str> { pool.control().lints().iter().map(|lint| lint.code).collect() };
    assert_eq!(codes(), [""; 0]);
    pool.set_capacity(Capacity::Unbounded).unwrap();
    assert_eq!(codes(), ["W001"]);
    pool.set_capacity(Capacity::Bounded(10)).unwrap();
    assert_eq!(codes(), [""; 0]);
}
