//! Fault 10: submissions race the end of their pool.

use crate::support::{Random, assert_all_settled, in_time};
use punctual::Pool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier};

#[test]
fn fault_10_a_submission_racing_the_end_is_accepted_and_resolved_or_refused() {
    const ROUNDS: usize = 300;
    const SUBMITTERS: usize = 3;
    let mut random = Random::printed("submit racing shutdown");
    in_time(move || {
        for round in 0..ROUNDS {
            let stops = round % 2 == 0;
            let pool = Pool::fixed(2).unwrap();
            let begin = Arc::new(Barrier::new(SUBMITTERS + 1));
            let ran = Arc::new(AtomicUsize::new(0));
            let submitters: Vec<_> = (0..SUBMITTERS)
                .map(|_| {
                    let (pool, begin, ran) = (pool.clone(), begin.clone(), ran.clone());
                    let mut random = Random::from_seed(random.next());
                    std::thread::spawn(move || {
                        let (mut tasks, mut executed, mut refused) = (Vec::new(), 0_u64, 0_u64);
                        begin.wait();
                        while refused < 3 {
                            let ran = ran.clone();
                            let body = move || ran.fetch_add(1, SeqCst);
                            if random.below(2) == 0 {
                                match pool.submit(body) {
                                    Ok(task) => tasks.push(task),
                                    Err(back) => {
                                        assert!(back.is_shutdown());
                                        refused += 1;
                                    }
                                }
                            } else {
                                match pool.execute(move || _ = body()) {
                                    Ok(()) => executed += 1,
                                    Err(back) => {
                                        assert!(back.is_shutdown());
                                        refused += 1;
                                    }
                                }
                            }
                        }
                        (tasks, executed, refused)
                    })
                })
                .collect();
            begin.wait();
            random.dawdle(3_000);
            let unrun = if stops {
                pool.stop()
            } else {
                pool.shutdown();
                Vec::new()
            };
            let (mut accepted, mut refused, mut values, mut cancelled) = (0, 0, 0, 0);
            for submitter in submitters {
                let (tasks, executed, no) = submitter.join().unwrap();
                accepted += tasks.len() as u64 + executed;
                refused += no;
                for task in tasks {
                    match task.join() {
                        Ok(_) => values += 1,
                        Err(error) => {
                            assert!(stops && error.is_cancelled(), "{error}");
                            cancelled += 1;
                        }
                    }
                }
            }
            assert!(pool.close().terminated);
            let stats = pool.stats();
            assert_all_settled(&stats);
            assert_eq!((stats.submitted, stats.rejected.shutdown), (accepted, refused));
            assert_eq!(stats.returned, unrun.len() as u64);
            assert_eq!(
                stats.finished,
                ran.load(SeqCst) as u64,
                "what finished ran, and only that"
            );
            assert_eq!(stats.finished + stats.returned, accepted);
            assert!(values <= stats.finished && cancelled <= stats.returned);
        }
    });
}
