//! Scenarios of a pool that is short of room or hands: growth, retirement, policies, the line, spares, scopes.

use super::{Marks, assert_all_settled, explore};
use crate::{Pool, PoolBuilder, Queue, Reject};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::thread;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn builder() -> PoolBuilder {
    Pool::builder("scenario")
}

/// One worker, room for one waiting task.
fn narrow(reject: Reject) -> Pool {
    let builder = builder().core_threads(1).queue(Queue::bounded(1));
    builder.on_full(reject).build().unwrap()
}

/// No core threads, and nobody stays without a task.
fn fleeting(max: usize, queue: Queue) -> Pool {
    let builder = builder().core_threads(0).max_threads(max).queue(queue);
    builder.keep_alive(Duration::ZERO).build().unwrap()
}

/// Workers that leave at once, sizes that change, submitters and a closer: what was accepted has run.
#[test]
fn resize_submit_retire_shutdown() {
    explore(|| {
        let pool = fleeting(2, Queue::bounded(1));
        let marks = Marks::default();
        let submitters: Vec<_> = (0..2)
            .map(|_| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || (0..2).filter(|_| pool.submit(marks.closure()).is_ok()).count())
            })
            .collect();
        let other = pool.clone();
        let resizer = thread::spawn(move || {
            other.resize(1, 1).unwrap();
            other.resize(0, 3).unwrap();
        });
        pool.shutdown();
        let accepted: usize = submitters.into_iter().map(|each| each.join().unwrap()).sum();
        resizer.join().unwrap();
        assert!(pool.close().terminated);
        assert_eq!((marks.runs(), marks.drops()), (accepted, 4));
        assert_all_settled(&pool.stats());
    });
}

/// The last worker of a pool without core threads leaves while a task comes: somebody runs it.
#[test]
fn retire_meets_submit() {
    explore(|| {
        let pool = fleeting(1, Queue::unbounded());
        for n in 0..2 {
            let task = pool.submit(move || n).unwrap();
            assert_eq!(task.join().unwrap(), n);
        }
        let _ = pool.close();
        assert_all_settled(&pool.stats());
    });
}

/// Submitters that wait for room, and a stop: each is accepted and resolved, or refused.
#[test]
fn block_stop() {
    explore(|| {
        let pool = narrow(Reject::Block(Duration::MAX));
        let marks = Marks::default();
        let submitters: Vec<_> = (0..3)
            .map(|_| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || match pool.submit(marks.closure()) {
                    Ok(task) => {
                        let joined = task.join();
                        assert!(joined.is_ok() || joined.unwrap_err().is_cancelled());
                    }
                    Err(refused) => assert!(refused.is_shutdown()),
                })
            })
            .collect();
        drop(pool.stop());
        for submitter in submitters {
            submitter.join().unwrap();
        }
        assert!(pool.close().terminated);
        assert_eq!(marks.drops(), 3);
        assert_all_settled(&pool.stats());
    });
}

/// Submitters that wait for room, without a stop: a place that comes back, by a run or by a cancel, reaches one of them.
#[test]
fn every_waiter_gets_room() {
    explore(|| {
        let pool = narrow(Reject::Block(Duration::MAX));
        let submitters: Vec<_> = (0..3)
            .map(|_| {
                let pool = pool.clone();
                thread::spawn(move || pool.submit(|| 1).unwrap().cancel())
            })
            .collect();
        for submitter in submitters {
            submitter.join().unwrap();
        }
        assert!(pool.close().terminated);
        assert_eq!(pool.stats().submitted, 3);
        assert_all_settled(&pool.stats());
    });
}

/// A place in line that is given up, before or after it was granted, goes to the next.
#[test]
fn a_place_given_up_goes_to_the_next() {
    explore(|| {
        let pool = narrow(Reject::Abort);
        let (pool2, pool3) = (pool.clone(), pool.clone());
        let fickle = thread::spawn(move || {
            let mut submission = pin!(pool2.submit_async(|| 1));
            let ready = submission.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            matches!(ready, Poll::Ready(Ok(_)))
        });
        let patient =
            thread::spawn(move || pool3.submit_timeout(Duration::MAX, || 2).unwrap().join().unwrap());
        let mine = pool.submit_timeout(Duration::MAX, || 3).unwrap();
        assert_eq!(mine.join().unwrap(), 3);
        assert_eq!(patient.join().unwrap(), 2);
        let accepted = 2 + u64::from(fickle.join().unwrap());
        assert!(pool.close().terminated);
        assert_eq!(pool.stats().submitted, accepted);
        assert_all_settled(&pool.stats());
    });
}

/// A worker whose result was joined is free for the next task of a pool without a queue.
#[test]
fn a_joined_worker_is_free() {
    explore(|| {
        let pool = Pool::cached(1).unwrap();
        for n in 0..3 {
            assert_eq!(
                pool.submit(move || n)
                    .expect("the worker is free")
                    .join()
                    .unwrap(),
                n
            );
        }
        let _ = pool.close();
        assert_all_settled(&pool.stats());
    });
}

/// Waiters before a pool without a queue are served as its workers become free.
#[test]
fn a_hand_that_is_free_serves_the_line() {
    explore(|| {
        let pool = Pool::cached(1).unwrap();
        let submitters: Vec<_> = (0..3)
            .map(|n| {
                let pool = pool.clone();
                thread::spawn(move || {
                    pool.submit_timeout(Duration::MAX, move || n)
                        .unwrap()
                        .join()
                        .unwrap()
                })
            })
            .collect();
        let sum: usize = submitters.into_iter().map(|each| each.join().unwrap()).sum();
        assert_eq!(sum, 3);
        let _ = pool.close();
        assert_all_settled(&pool.stats());
    });
}

/// Parents on every worker wait for children: in place, by a spare, or told that it cannot be; nobody hangs.
#[test]
fn spare_join() {
    explore(|| {
        let pool = builder()
            .core_threads(2)
            .spare_threads(1)
            .queue(Queue::unbounded())
            .build()
            .unwrap();
        let parents: Vec<_> = (0..2)
            .map(|n| {
                let inner = pool.clone();
                let parent = move || {
                    let child = inner.submit(move || n).unwrap();
                    inner.execute(|| ()).unwrap();
                    child.join().unwrap()
                };
                pool.submit(parent).unwrap()
            })
            .collect();
        let sum: usize = parents.into_iter().map(|parent| parent.join().unwrap()).sum();
        assert_eq!(sum, 1);
        assert!(pool.stats().largest <= 3);
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

/// Two tasks that wait for each other: one of them is told, and both end.
#[test]
fn a_circle_is_told() {
    explore(|| {
        let pool = super::pool(2);
        let (give, take) = shuttle::sync::mpsc::channel::<crate::TaskHandle<bool>>();
        let (give_back, take_back) = shuttle::sync::mpsc::channel::<crate::TaskHandle<bool>>();
        let told =
            |joined: Result<bool, crate::JoinError>| joined.is_err_and(|error| error.is_would_deadlock());
        let first = pool.submit(move || told(take.recv().unwrap().join())).unwrap();
        let second = pool
            .submit(move || told(take_back.recv().unwrap().join()))
            .unwrap();
        give.send(second).unwrap();
        give_back.send(first).unwrap();
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

/// A task of this pool that joins the second in a lane's line: it cannot be run in place, and needs another worker.
fn joins_the_second_in_line(pool: &Pool) -> crate::TaskHandle<bool> {
    let own = pool.clone();
    let joins = move || {
        let lane = own.lane();
        lane.execute(|| ()).unwrap();
        match lane.submit(|| ()).unwrap().join() {
            Ok(()) => true,
            Err(error) => {
                assert!(error.is_would_deadlock(), "{error}");
                false
            }
        }
    };
    pool.submit(joins).unwrap()
}

/// The only other worker is sent home, by a new size, while a task waits for what it could run: it runs it, or the wait is told.
#[test]
fn a_wait_meets_a_resize() {
    explore(|| {
        let pool = builder()
            .core_threads(2)
            .spare_threads(0)
            .queue(Queue::unbounded())
            .build()
            .unwrap();
        pool.execute(|| ()).unwrap();
        let waiter = joins_the_second_in_line(&pool);
        let other = pool.clone();
        let resizer = thread::spawn(move || _ = other.resize(1, 1).unwrap());
        waiter.join().unwrap();
        resizer.join().unwrap();
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

/// The same, by the end of a blocking section.
#[test]
fn a_wait_meets_the_end_of_a_section() {
    explore(|| {
        let pool = builder()
            .core_threads(1)
            .spare_threads(0)
            .blocking_threads(2)
            .queue(Queue::unbounded())
            .build()
            .unwrap();
        let (end, ended) = shuttle::sync::mpsc::channel::<()>();
        let section = pool
            .submit(move || crate::task::blocking_section(|| ended.recv().is_err()))
            .unwrap();
        let waiter = joins_the_second_in_line(&pool);
        drop(end);
        assert!(section.join().unwrap());
        waiter.join().unwrap();
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

/// Tasks of two pools that join each other, deeper than both have threads: by a spare, by the waiting thread itself, or told.
#[test]
fn pools_that_join_each_other() {
    fn dive(own: Pool, other: Pool, left: usize) -> Result<usize, crate::JoinError> {
        if left == 0 {
            return Ok(0);
        }
        let (there, back) = (other.clone(), own);
        let deeper = other.submit(move || dive(there, back, left - 1));
        Ok(deeper.unwrap().join()?? + 1)
    }
    for spares in [0, 1] {
        explore(move || {
            let pool = || {
                let builder = builder().core_threads(1).spare_threads(spares);
                builder.queue(Queue::unbounded()).build().unwrap()
            };
            let pools = [pool(), pool()];
            let dives = [(0, 1), (1, 0)].map(|(own, other)| {
                let (first, second) = (pools[own].clone(), pools[other].clone());
                pools[own].submit(move || dive(first, second, 2)).unwrap()
            });
            for task in dives {
                match task.join().unwrap() {
                    Ok(depth) => assert_eq!(depth, 2),
                    Err(error) => assert!(error.is_would_deadlock(), "{error}"),
                }
            }
            for pool in pools {
                assert!(pool.close().terminated);
                assert_all_settled(&pool.stats());
            }
        });
    }
}

/// A scope, a stop and a cancel: when the brace is reached no closure lives, whatever became of it.
#[test]
fn scope_stop() {
    explore(|| {
        let pool = super::pool(1);
        let other = pool.clone();
        let stopper =
            thread::spawn(move || assert!(other.stop().is_empty(), "a scoped task is never given out"));
        let runs = AtomicUsize::new(0);
        let joined = pool.scope(|scope| {
            scope.execute(|| _ = runs.fetch_add(1, SeqCst));
            scope.submit(|| runs.fetch_add(1, SeqCst)).join().is_ok()
        });
        let runs = runs.into_inner();
        assert!(runs <= 2 && (!joined || runs >= 1));
        stopper.join().unwrap();
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

/// The oldest makes room for the newest, while workers take from the same end.
#[test]
fn discard_oldest() {
    explore(|| {
        let pool = narrow(Reject::DiscardOldest);
        let marks = Marks::default();
        let submitters: Vec<_> = (0..2)
            .map(|_| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || {
                    let tasks: Vec<_> = (0..2).map(|_| pool.submit(marks.closure()).unwrap()).collect();
                    tasks
                        .into_iter()
                        .filter(|task| task.wait_timeout(Duration::MAX))
                        .count()
                })
            })
            .collect();
        for submitter in submitters {
            assert_eq!(submitter.join().unwrap(), 2, "every handle resolves");
        }
        assert!(pool.close().terminated);
        let stats = pool.stats();
        assert_eq!((stats.submitted, marks.drops()), (4, 4));
        assert_eq!(stats.finished as usize, marks.runs());
        assert_all_settled(&stats);
    });
}

/// A pause, tasks, a resume: nothing is taken in between, and nothing stays behind.
#[test]
fn pause_resume() {
    explore(|| {
        let pool = super::pool(2);
        pool.pause();
        let runs = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let runs = runs.clone();
            pool.execute(move || _ = runs.fetch_add(1, SeqCst)).unwrap();
        }
        assert_eq!(runs.load(SeqCst), 0);
        let other = pool.clone();
        let resumer = thread::spawn(move || other.resume());
        assert!(pool.wait_idle(Duration::MAX));
        assert_eq!(runs.load(SeqCst), 2);
        resumer.join().unwrap();
        let _ = pool.close();
    });
}

/// Tasks that note how many of them run at once.
#[derive(Clone, Default)]
struct AtOnce(Arc<AtomicUsize>);

impl AtOnce {
    fn closure(&self) -> impl FnOnce() + Send + 'static + use<> {
        let running = self.0.clone();
        move || {
            assert_eq!(running.fetch_add(1, SeqCst), 0, "the pool is smaller than that");
            thread::yield_now();
            running.fetch_sub(1, SeqCst);
        }
    }
}

/// A pool is made smaller while its workers begin, run, search and sleep: what is taken from then on is taken by no more than it says.
#[test]
fn resize_meets_takers() {
    explore(|| {
        let pool = super::pool(2);
        pool.execute(|| ()).unwrap();
        pool.execute(|| ()).unwrap();
        pool.resize(1, 1).unwrap();
        let at_once = AtOnce::default();
        drop(pool.after(Duration::ZERO, at_once.closure()).unwrap());
        let tasks = [0; 2].map(|_| pool.submit(at_once.closure()).unwrap());
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert!(pool.close().terminated);
        assert_eq!(pool.stats().panicked, 0);
        assert_all_settled(&pool.stats());
    });
}

/// The same where workers have deques, and one of them keeps futures that yield.
#[test]
fn resize_meets_thieves_and_futures() {
    explore(|| {
        for queue in [Queue::stealing(8), Queue::unbounded()] {
            let pool = builder().core_threads(2).queue(queue).build().unwrap();
            let at_once = AtOnce::default();
            let (inner, children) = (pool.clone(), at_once.clone());
            let parent = move || {
                let other = inner.submit(|| ()).unwrap();
                inner.resize(1, 1).unwrap();
                drop(other);
                // They begin when this one has ended, unless another worker takes one of them: this one counts as the first.
                let own = children.closure();
                (0..2).for_each(|_| inner.execute(children.closure()).unwrap());
                own();
            };
            let yields = pool.spawn(crate::future::yield_now()).unwrap();
            pool.submit(parent).unwrap().join().unwrap();
            yields.join().unwrap();
            assert!(pool.close().terminated);
            assert_eq!(pool.stats().panicked, 0);
            assert_all_settled(&pool.stats());
        }
    });
}

/// A spare is one too many once the wait that it stood in for is over: it takes nothing after that.
#[test]
fn a_wait_that_is_over_meets_takers() {
    explore(|| {
        let builder = builder().core_threads(1).spare_threads(1);
        let pool = builder.queue(Queue::unbounded()).build().unwrap();
        let at_once = AtOnce::default();
        let (inner, children) = (pool.clone(), at_once.clone());
        let parent = move || {
            // A future is not run in place.
            inner.spawn(async {}).unwrap().join().unwrap();
            let own = children.closure();
            (0..2).for_each(|_| inner.execute(children.closure()).unwrap());
            own();
        };
        pool.submit(parent).unwrap().join().unwrap();
        assert!(pool.close().terminated);
        assert_eq!(pool.stats().panicked, 0);
        assert_all_settled(&pool.stats());
    });
}
