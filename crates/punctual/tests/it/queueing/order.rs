//! First in, first out: whoever the producers are, a submission that returned before another began is taken first.

use crate::support::{LONG, hold, single};
use punctual::{Pool, Queue};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

#[test]
fn one_worker_takes_tasks_in_the_order_of_their_submission() {
    const TASKS: usize = 20_000;
    let pool = single();
    let order: Arc<Mutex<Vec<usize>>> = Arc::default();
    for index in 0..TASKS {
        let order = order.clone();
        // Records of different lengths, which cross the queue's segments at different places.
        match index % 4 {
            0 => pool.execute(move || order.lock().unwrap().push(index)).unwrap(),
            1 => drop(pool.submit(move || order.lock().unwrap().push(index)).unwrap()),
            2 => {
                let more = [index; 3];
                pool.execute(move || order.lock().unwrap().push(more[2])).unwrap();
            }
            _ => {
                let batch = std::iter::once(move || order.lock().unwrap().push(index));
                assert_eq!(pool.execute_all(batch).unwrap(), 1);
            }
        }
    }
    assert!(pool.wait_idle(LONG));
    assert!(order.lock().unwrap().iter().copied().eq(0..TASKS));
}

#[test]
fn cancelled_tasks_leave_the_order_of_the_others_alone() {
    const TASKS: usize = 6_000;
    let pool = single();
    let held = hold(&pool);
    let order: Arc<Mutex<Vec<usize>>> = Arc::default();
    let tasks: Vec<_> = (0..TASKS)
        .map(|index| {
            let order = order.clone();
            pool.submit(move || order.lock().unwrap().push(index)).unwrap()
        })
        .collect();
    // So many that the dead entries are swept out of the queue.
    let survives = |index: usize| index.is_multiple_of(7);
    for (index, task) in tasks.iter().enumerate() {
        if !survives(index) {
            assert_eq!(task.cancel(), punctual::Cancel::Removed);
        }
    }
    let after = order.clone();
    pool.execute(move || after.lock().unwrap().push(TASKS)).unwrap();
    drop(held);
    assert!(pool.wait_idle(LONG));
    let expected = (0..TASKS).filter(|index| survives(*index)).chain([TASKS]);
    assert!(order.lock().unwrap().iter().copied().eq(expected));
}

/// When a submission began and when it had returned, by one clock that all producers share.
#[derive(Clone, Copy)]
struct Interval {
    producer: usize,
    number: usize,
    begun: u64,
}

#[test]
fn a_submission_that_returned_before_another_began_is_taken_first() {
    const PRODUCERS: usize = 4;
    const EACH: usize = 3_000;
    let pool = Pool::builder("order")
        .core_threads(1)
        .queue(Queue::unbounded())
        .build()
        .unwrap();
    let tickets = Arc::new(AtomicU64::new(0));
    let taken: Arc<Mutex<Vec<Interval>>> = Arc::default();
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|producer| {
            let (pool, tickets, taken) = (pool.clone(), tickets.clone(), taken.clone());
            std::thread::spawn(move || {
                let mut returned = Vec::with_capacity(EACH);
                for number in 0..EACH {
                    let taken = taken.clone();
                    let begun = tickets.fetch_add(1, SeqCst);
                    let interval = Interval {
                        producer,
                        number,
                        begun,
                    };
                    let body = move || taken.lock().unwrap().push(interval);
                    if number % 2 == 0 {
                        pool.execute(body).unwrap();
                    } else {
                        drop(pool.submit(body).unwrap());
                    }
                    returned.push(tickets.fetch_add(1, SeqCst));
                }
                returned
            })
        })
        .collect();
    let returned: Vec<Vec<u64>> = producers
        .into_iter()
        .map(|producer| producer.join().unwrap())
        .collect();
    assert!(pool.wait_idle(LONG));
    let taken = taken.lock().unwrap();
    assert_eq!(taken.len(), PRODUCERS * EACH);
    let mut next = [0; PRODUCERS];
    // Seen from the end: nothing taken later may have returned before this one began.
    let mut earliest_return_later = u64::MAX;
    for interval in taken.iter().rev() {
        assert!(
            earliest_return_later > interval.begun,
            "overtaken by a task submitted after it had returned"
        );
        earliest_return_later = earliest_return_later.min(returned[interval.producer][interval.number]);
    }
    for interval in taken.iter() {
        assert_eq!(interval.number, next[interval.producer], "a producer's own order");
        next[interval.producer] += 1;
    }
}
