//! Which level first, and who first inside it: PRI-01, PRI-02, PRI-03, F65, F66.

use super::{Log, NAMED, pool, queue, rules};
use crate::support::{LONG, Random, block_on, hold, until};
use punctual::{Pool, Priority, Queue, task};
use std::time::{Duration, Instant};

#[test]
fn pri_01_behind_a_held_worker_the_order_is_urgent_high_normal_low() {
    for (rule, queue) in [("strict", queue().strict()), ("aging", queue())] {
        let pool = pool(queue);
        let held = hold(&pool);
        let log = Log::new();
        for priority in NAMED.into_iter().rev() {
            pool.task(log.writing(priority))
                .priority(priority)
                .execute()
                .unwrap();
        }
        drop(held);
        let _ = pool.close();
        assert_eq!(log.words(), NAMED, "{rule}");
    }
}

#[test]
fn pri_01_in_a_paused_pool_the_order_is_that_under_every_rule() {
    for (rule, queue) in rules() {
        let pool = pool(queue);
        pool.pause();
        let log = Log::new();
        for priority in NAMED.into_iter().rev() {
            pool.at_priority(priority).execute(log.writing(priority)).unwrap();
        }
        let _ = pool.close();
        assert_eq!(log.words(), NAMED, "{rule}");
    }
}

#[test]
fn pri_02_and_f66_inside_a_level_the_order_of_submission_is_kept_under_every_rule() {
    for (rule, queue) in rules() {
        let mut random = Random::from_seed(7);
        let pool = pool(queue);
        let held = hold(&pool);
        let log = Log::new();
        for number in 0..3_000_u64 {
            let level = random.below(4);
            let task = pool.task(log.writing((level, number)));
            let task = task.priority(Priority::level(level as u8));
            // Both kinds of records, in turns.
            if random.below(2) == 0 {
                task.execute().unwrap();
            } else {
                drop(task.submit().unwrap());
            }
        }
        drop(held);
        let _ = pool.close();
        let ran = log.words();
        assert_eq!(ran.len(), 3_000, "{rule}");
        for level in 0..4 {
            let of_level = ran.iter().filter(|(of, _)| *of == level);
            assert!(of_level.is_sorted(), "{rule}: level {level} is out of order");
        }
    }
}

#[test]
fn pri_02_strictly_the_whole_order_is_by_level_and_then_by_submission() {
    let mut random = Random::from_seed(11);
    let pool = pool(queue().levels(8).strict());
    let held = hold(&pool);
    let log = Log::new();
    let mut expected = Vec::new();
    for number in 0..2_000_u64 {
        let level = random.below(8) as u8;
        pool.at_priority(Priority::level(level))
            .execute(log.writing((level, number)))
            .unwrap();
        expected.push((level, number));
    }
    drop(held);
    let _ = pool.close();
    expected.sort_by_key(|(level, _)| *level);
    assert_eq!(log.words(), expected);
}

#[test]
fn pri_02_a_task_without_a_priority_is_normal() {
    let pool = pool(queue().strict());
    let held = hold(&pool);
    let log = Log::new();
    let at = |priority, word| pool.task(log.writing(word)).priority(priority).execute().unwrap();
    at(Priority::LOW, "low");
    at(Priority::NORMAL, "first");
    pool.execute(log.writing("second")).unwrap();
    at(Priority::NORMAL, "third");
    at(Priority::HIGH, "high");
    drop(held);
    let told = pool.submit(|| task::current().unwrap().priority()).unwrap();
    assert_eq!(told.join().unwrap(), Priority::NORMAL);
    let _ = pool.close();
    assert_eq!(log.words(), ["high", "first", "second", "third", "low"]);
}

#[test]
fn f65_every_verb_takes_a_priority_and_what_it_submits_needs_no_order_of_its_own() {
    let pool = pool(queue().strict());
    let low = pool.at_priority(Priority::LOW);
    let held = hold(&pool);
    let log = Log::new();
    low.execute(log.writing("execute")).unwrap();
    drop(low.submit(log.writing("submit")).unwrap());
    low.execute_all([log.writing("execute_all")]).unwrap();
    let mut group = low.group();
    drop(group.submit(log.writing("group")).unwrap());
    // Larger than what lies in the queue itself.
    let (write, ballast) = (log.writing("boxed"), [0_u64; 20]);
    low.execute(move || {
        assert_eq!(ballast.len(), 20);
        write();
    })
    .unwrap();
    drop(
        low.downgrade()
            .upgrade()
            .unwrap()
            .submit(log.writing("weak"))
            .unwrap(),
    );
    let write = log.writing("spawn");
    drop(low.spawn(async move { write() }).unwrap());
    drop(block_on(low.submit_async(log.writing("submit_async"))).unwrap());
    drop(low.submit_timeout(LONG, log.writing("submit_timeout")).unwrap());
    let write = log.writing("any");
    let tell_any = move || {
        write();
        Ok::<_, String>(())
    };
    std::thread::scope(|scope| {
        // These wait for their tasks; the next comes when the one before waits in the queue.
        let queued = |many| until("it waits in its level", || pool.stats().levels[3].queued == many);
        queued(9);
        scope.spawn(|| low.all([log.writing("all")]).unwrap());
        queued(10);
        scope.spawn(|| low.any([tell_any]).is_ok());
        queued(11);
        scope.spawn(|| low.scope(|scope| scope.execute(log.writing("scope"))));
        queued(12);
        pool.at_priority(Priority::URGENT)
            .execute(log.writing("urgent"))
            .unwrap();
        drop(held);
    });
    while group.next().is_some() {}
    let _ = pool.close();
    let expected = [
        "urgent",
        "execute",
        "submit",
        "execute_all",
        "group",
        "boxed",
        "weak",
        "spawn",
        "submit_async",
        "submit_timeout",
        "all",
        "any",
        "scope",
    ];
    assert_eq!(log.words(), expected);
}

#[test]
fn a_priority_beyond_the_last_level_means_the_last_one() {
    let pool = pool(queue().levels(2).strict());
    let held = hold(&pool);
    let log = Log::new();
    for level in [254, 1, 4, 0] {
        pool.at_priority(Priority::level(level))
            .execute(log.writing(level))
            .unwrap();
    }
    let queued: Vec<usize> = pool.stats().levels.iter().map(|level| level.queued).collect();
    assert_eq!(queued, [1, 3]);
    drop(held);
    let _ = pool.close();
    assert_eq!(log.words(), [0, 254, 1, 4]);
}

#[test]
fn a_plain_queue_ignores_priorities_but_tells_them() {
    let (tell, told) = std::sync::mpsc::channel();
    let pool = Pool::builder("plain")
        .core_threads(1)
        .queue(Queue::unbounded())
        .before_task(move |task| tell.send(task.priority).unwrap())
        .build()
        .unwrap();
    let held = hold(&pool);
    let log = Log::new();
    for priority in [Priority::LOW, Priority::level(200), Priority::URGENT] {
        pool.at_priority(priority).execute(log.writing(priority)).unwrap();
    }
    drop(held);
    let _ = pool.close();
    let expected = [Priority::LOW, Priority::level(200), Priority::URGENT];
    assert_eq!(log.words(), expected);
    assert_eq!(told.iter().skip(1).take(3).collect::<Vec<_>>(), expected);
}

#[test]
fn a_task_s_own_priority_goes_before_its_executor_s_and_that_before_its_parent_s() {
    let pool = Pool::builder("levels")
        .core_threads(1)
        .queue(queue())
        .inherit_priority(true)
        .build()
        .unwrap();
    let priority = || task::current().unwrap().priority();
    let parent = pool.task(move || {
        let here = task::current_executor().unwrap();
        let inherited = here.submit(priority).unwrap();
        let grandchild = here
            .submit(move || task::current_executor().unwrap().submit(priority).unwrap())
            .unwrap();
        let executors = here.at_priority(Priority::LOW).submit(priority).unwrap();
        let own = here.at_priority(Priority::LOW);
        let own = own.task(priority).priority(Priority::URGENT).submit().unwrap();
        [
            inherited.join().unwrap(),
            grandchild.join().unwrap().join().unwrap(),
            executors.join().unwrap(),
            own.join().unwrap(),
        ]
    });
    let told = parent.priority(Priority::HIGH).submit().unwrap().join().unwrap();
    let expected = [Priority::HIGH, Priority::HIGH, Priority::LOW, Priority::URGENT];
    assert_eq!(told, expected);
    // From outside there is nothing to inherit.
    assert_eq!(pool.submit(priority).unwrap().join().unwrap(), Priority::NORMAL);
}

#[test]
fn pri_03_idle_workers_of_a_priority_pool_sleep_and_are_woken_by_nothing_but_work() {
    let pool = Pool::builder("pri03")
        .core_threads(2)
        .queue(queue())
        .build()
        .unwrap();
    for priority in NAMED {
        pool.task(|| ())
            .priority(priority)
            .submit()
            .unwrap()
            .join()
            .unwrap();
    }
    let parks = || pool.stats().parks;
    until("the tasks have ended", || parks() > 0 && pool.stats().active == 0);
    let begin = Instant::now();
    let mut last = parks();
    let mut quiet_since = begin;
    until("a second without a wake-up", || {
        if parks() != last {
            (last, quiet_since) = (parks(), Instant::now());
        }
        std::thread::park_timeout(Duration::from_millis(20));
        quiet_since.elapsed() >= Duration::from_secs(1)
    });
    // A poll every 100 ms would never have let a quiet second pass; a worker that does not sleep at all would be seen below.
    assert!(begin.elapsed() < Duration::from_secs(30));
    #[cfg(target_os = "linux")]
    {
        let before = ticks_of("pri03");
        assert_eq!(before.len(), 2, "both workers");
        std::thread::park_timeout(Duration::from_secs(1));
        assert_eq!(ticks_of("pri03"), before, "a second without processor time");
    }
}

/// Of each thread of this pool, how long it has had a processor, in hundredths of a second or so.
#[cfg(target_os = "linux")]
fn ticks_of(pool: &str) -> Vec<u64> {
    let threads = std::fs::read_dir("/proc/self/task").expect("this is Linux");
    let ticks = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("stat")).ok()?;
        let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
        // The fourteenth and fifteenth fields; the third comes first here.
        let fields: Vec<u64> = rest
            .split_whitespace()
            .filter_map(|each| each.parse().ok())
            .collect();
        let is_ours = name.starts_with(pool);
        // Without the state, which is a letter.
        is_ours.then(|| fields[10] + fields[11])
    };
    threads.flatten().filter_map(ticks).collect()
}

#[test]
fn the_line_of_a_view_is_first_in_first_out_whatever_the_levels() {
    for (rule, queue) in rules() {
        let pool = pool(queue);
        let view = pool.limit(1).unwrap();
        let log = Log::new();
        pool.pause();
        for (priority, word) in [
            (Priority::HIGH, "high"),
            (Priority::LOW, "low"),
            (Priority::URGENT, "urgent"),
        ] {
            drop(view.task(log.writing(word)).priority(priority).submit().unwrap());
        }
        // What is not the view's goes by its level, between them.
        pool.at_priority(Priority::NORMAL)
            .execute(log.writing("beside"))
            .unwrap();
        let _ = pool.close();
        let of_view: Vec<_> = log.words().into_iter().filter(|word| *word != "beside").collect();
        assert_eq!(of_view, ["high", "low", "urgent"], "{rule}");
        if rule == "strict" {
            assert_eq!(log.words(), ["high", "beside", "low", "urgent"]);
        }
    }
}
