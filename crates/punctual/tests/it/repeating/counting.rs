//! The snapshot never contradicts itself, whatever happens to delayed tasks and schedules.

use super::{SECOND, at, books, builder, nap};
use crate::support::{Random, assert_all_settled, quiet_panic};
use punctual::{Missed, Overlap, Pool, Queue, Run, Schedule, ScheduleHandle, TaskHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

const OVERLAPS: [Overlap; 2] = [Overlap::Skip, Overlap::Queue];
const MISSED: [Missed; 4] = [Missed::Once, Missed::Skip, Missed::Delay, Missed::Burst];

/// What a random walk has made.
#[derive(Default)]
struct Made {
    tasks: Vec<TaskHandle<()>>,
    schedules: Vec<ScheduleHandle>,
}

fn schedule(random: &mut Random) -> Schedule {
    let period = Duration::from_secs(1 + random.below(20));
    let schedule = match random.below(4) {
        0 => Schedule::with_delay(period),
        1 => Schedule::once_at(at(random.below(10_000))),
        _ => Schedule::every(period),
    };
    let schedule = schedule
        .overlap(OVERLAPS[random.below(2) as usize])
        .missed(MISSED[random.below(4) as usize])
        .starting_in(Duration::from_secs(random.below(30)));
    if random.below(2) == 0 {
        schedule.times(1 + random.below(10))
    } else {
        schedule
    }
}

/// A body that sometimes takes long, and sometimes fails.
fn body(seed: u64) -> impl Fn(&Run) -> Result<(), &'static str> + Send + Sync + 'static {
    move |run| {
        let mut random = Random::from_seed(seed ^ super::seconds(run.actual));
        nap(random.below(3) * random.below(15));
        match random.below(10) {
            0 => Err("broken"),
            1 => quiet_panic("broken"),
            _ => Ok(()),
        }
    }
}

fn step(pool: &Pool, made: &mut Made, random: &mut Random) {
    let seed = random.next();
    match random.below(14) {
        0 | 1 => {
            let delay = Duration::from_secs(random.below(40));
            made.tasks.push(pool.after(delay, move || nap(seed % 5)).unwrap());
        }
        2 => made.tasks.push(pool.at(at(random.below(10_000)), || ()).unwrap()),
        3 => {
            let work = body(seed);
            made.schedules
                .push(pool.schedule(schedule(random), move |run| work(run)).unwrap());
        }
        4 => {
            let at_once = 1 + random.below(3) as usize;
            let handle = pool.schedule_overlapping(schedule(random), at_once, body(seed));
            made.schedules.push(handle.unwrap());
        }
        5 if !made.tasks.is_empty() => {
            let place = random.below(made.tasks.len() as u64) as usize;
            made.tasks.swap_remove(place).cancel();
        }
        6 => pool.pause(),
        7 => pool.resume(),
        8 => drop(pool.drain()),
        9 => _ = pool.execute(move || nap(seed % 8)),
        _ if made.schedules.is_empty() => {}
        other => {
            let place = random.below(made.schedules.len() as u64) as usize;
            let handle = &made.schedules[place];
            match other {
                10 => handle.pause(),
                11 => handle.resume(),
                // An ended one refuses both.
                12 => _ = handle.run_now(),
                _ if random.below(2) == 0 => _ = handle.reschedule(schedule(random)),
                _ => _ = handle.cancel(),
            }
        }
    }
}

#[test]
fn every_snapshot_of_a_random_walk_balances() {
    let mut random = Random::printed("a random walk");
    for _ in 0..20 {
        let (builder, clock) = builder(1 + random.below(3) as usize);
        let pool = builder.queue(Queue::unbounded()).build().unwrap();
        let mut made = Made::default();
        for _ in 0..100 {
            step(&pool, &mut made, &mut random);
            books(&pool);
            clock.advance(Duration::from_secs(random.below(10)));
            let stats = books(&pool);
            let live = made
                .schedules
                .iter()
                .filter(|handle| !handle.is_finished())
                .count();
            assert_eq!(stats.schedules, live);
        }
        let unrun = pool.stop();
        clock.advance(100 * SECOND);
        assert!(pool.close().terminated);
        let stats = books(&pool);
        assert_all_settled(&stats);
        assert_eq!((stats.schedules, stats.pending_timers), (0, 0));
        assert!(stats.returned >= unrun.len() as u64);
        assert!(made.schedules.iter().all(ScheduleHandle::is_finished));
        assert!(made.tasks.iter().all(TaskHandle::is_finished));
        let failures: u64 = made.schedules.iter().map(|handle| handle.stats().failures).sum();
        assert_eq!(stats.panicked, failures);
    }
}

#[test]
fn a_snapshot_taken_at_any_moment_balances() {
    let pool = Pool::fixed(2).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let watcher = std::thread::spawn({
        let (pool, over) = (pool.clone(), over.clone());
        move || {
            let mut looks = 0_u64;
            while !over.load(SeqCst) {
                books(&pool);
                looks += 1;
            }
            looks
        }
    });
    let micros = Duration::from_micros;
    let schedules: Vec<_> = (1..=4)
        .map(|n| pool.schedule(Schedule::every(micros(100 * n)), |_| ()).unwrap())
        .collect();
    for round in 0..5_000_u64 {
        let task = pool.after(micros(round % 300), || ()).unwrap();
        if round % 3 == 0 {
            task.cancel();
        }
        if round % 100 == 0 {
            let handle = &schedules[round as usize / 100 % 4];
            handle.run_now().unwrap();
            handle.pause();
            handle.resume();
        }
    }
    for handle in &schedules {
        handle.cancel();
    }
    over.store(true, SeqCst);
    assert!(watcher.join().unwrap() > 0);
    assert!(pool.close().terminated);
    assert_all_settled(&books(&pool));
}
