//! Both branches of `join`, scopes and lanes that are disposed of around them.

use crate::support::{LONG, in_time, on_worker, quiet_panic, single, until};
use punctual::{Capacity, Clock, Executor, Lane, Pool, Queue, future, task};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Panics with any payload, and without the message on standard error.
fn throw(payload: impl std::any::Any + Send) -> ! {
    resume_unwind(Box::new(payload))
}

/// A pool whose before hook tells of each task and then waits until it is let go.
struct Hooked {
    pool: Pool,
    entered: Mutex<Receiver<()>>,
    go: Sender<()>,
}

fn hooked() -> Hooked {
    let (enter, entered) = channel();
    let (go, gone) = channel();
    let (enter, gone) = (Mutex::new(enter), Mutex::new(gone));
    let pool = Pool::builder("hooked")
        .core_threads(2)
        .before_task(move |_| {
            let _ = enter.lock().unwrap().send(());
            let _ = gone.lock().unwrap().recv_timeout(LONG);
        })
        .build()
        .unwrap();
    Hooked {
        pool,
        entered: Mutex::new(entered),
        go,
    }
}

impl Hooked {
    fn await_hook(&self) {
        self.entered.lock().unwrap().recv_timeout(LONG).unwrap();
    }
}

/// Claimed by a worker that has not come to its first step: `join` gets the branch back and runs it, once, and the worker
/// never touches what `join` borrowed.
#[test]
fn a_branch_of_a_lane_that_is_disposed_of_before_its_first_step_runs_once_and_in_time() {
    let hooked = hooked();
    let lane = hooked.pool.lane();
    let runs = Arc::new(AtomicUsize::new(0));
    let mut text = String::from("on the caller's stack");
    let (is_disposed, length) = lane.join(
        || {
            hooked.await_hook();
            lane.dispose() == 0
        },
        || {
            runs.fetch_add(1, SeqCst);
            text.push('!');
            text.len()
        },
    );
    assert!(is_disposed, "none waited: the branch was claimed");
    assert_eq!((length, runs.load(SeqCst)), (22, 1));
    hooked.go.send(()).unwrap();
    assert!(hooked.pool.close_timeout(LONG).terminated);
    assert_eq!(
        (text.len(), runs.load(SeqCst)),
        (22, 1),
        "the worker ran it again"
    );
    let stats = hooked.pool.stats();
    assert_eq!((stats.cancelled, stats.finished), (1, 0), "{stats:?}");
}

/// The same of a scope: the brace does not wait for a worker that will not come to the closure any more.
#[test]
fn a_scoped_task_of_a_lane_that_is_disposed_of_before_its_first_step_is_dropped_unrun() {
    let hooked = hooked();
    let lane = hooked.pool.lane();
    let mut runs = 0;
    let outcome = lane.scope(|s| {
        let task = s.submit(|| runs += 1);
        hooked.await_hook();
        lane.dispose();
        task.join()
    });
    assert!(outcome.unwrap_err().is_cancelled());
    hooked.go.send(()).unwrap();
    assert!(hooked.pool.close_timeout(LONG).terminated);
    assert_eq!((runs, hooked.pool.stats().cancelled), (0, 1));
}

/// Whether the thread of this kernel number sleeps.
#[cfg(target_os = "linux")]
fn is_asleep(thread: &std::path::Path) -> bool {
    let stat = std::fs::read_to_string(thread.join("stat")).unwrap();
    // "7 (the name) S ..."
    stat.rsplit(')').next().unwrap().trim_start().starts_with('S')
}

/// A branch that has begun is asked to stop, and waited for: asleep, and to its end.
#[cfg(target_os = "linux")]
#[test]
fn the_caller_of_join_sleeps_until_a_branch_that_was_disposed_of_has_ended() {
    let (length, is_asked) = in_time(|| {
        let pool = Pool::fixed(2).unwrap();
        let lane = pool.lane();
        let caller = std::path::Path::new("/proc").join(std::fs::read_link("/proc/thread-self").unwrap());
        let (begin, begun) = channel();
        let disposed = AtomicBool::new(false);
        let text = String::from("what the branch borrows");
        let (lane, is_disposed) = (&lane, &disposed);
        let (_, answer) = lane.join(
            move || {
                let () = begun.recv().unwrap();
                lane.dispose();
                is_disposed.store(true, SeqCst);
            },
            || {
                begin.send(()).unwrap();
                until("the lane is disposed of", || disposed.load(SeqCst));
                until("the caller sleeps", || is_asleep(&caller));
                (text.len(), task::current().unwrap().token().is_cancelled())
            },
        );
        answer
    });
    assert_eq!(length, 23);
    assert!(is_asked, "its token has fired");
}

/// What runs a closure on the lane and disposes of it meanwhile; the closure says when it runs, and ends when it is told.
fn disposed_while_it_runs(lane: &Lane, is_scope: bool) {
    let (begin, begun) = channel::<()>();
    let (go, gone) = channel::<()>();
    let mut is_over = false;
    let over = &mut is_over;
    let body = move || {
        begin.send(()).unwrap();
        let _ = gone.recv();
        *over = true;
        7
    };
    std::thread::scope(|threads| {
        threads.spawn(move || {
            begun.recv().unwrap();
            lane.dispose();
            drop(go);
        });
        if is_scope {
            let outcome = lane.scope(|s| s.submit(body).join());
            assert_eq!(outcome.unwrap(), 7, "asked to stop, it has ended all the same");
        } else {
            assert_eq!(lane.join(|| 1, body), (1, 7));
        }
    });
    assert!(is_over);
}

#[test]
fn a_borrower_that_runs_while_its_lane_is_disposed_of_gives_its_value() {
    in_time(|| {
        let pool = Pool::fixed(2).unwrap();
        for is_scope in [false, true] {
            for _ in 0..20 {
                disposed_while_it_runs(&pool.lane(), is_scope);
            }
        }
        assert!(pool.close_timeout(LONG).terminated);
        assert_eq!(pool.stats().cancelled, 0);
    });
}

/// A panic of a closure that borrows is not lost because it was asked to stop.
#[test]
fn the_panic_of_a_borrower_goes_on_although_its_lane_was_disposed_of() {
    let pool = Pool::fixed(2).unwrap();
    let lane = pool.lane();
    let (begin, begun) = channel::<()>();
    let (go, gone) = channel::<()>();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        lane.scope(|s| {
            s.execute(move || {
                begin.send(()).unwrap();
                let _ = gone.recv();
                throw(29_u64);
            });
            begun.recv().unwrap();
            lane.dispose();
            drop(go);
        });
    }));
    assert_eq!(*caught.unwrap_err().downcast::<u64>().unwrap(), 29);
}

/// Claim, first step and disposal meet at ever different places: the branch runs once, and nothing borrowed is touched late.
#[test]
fn a_join_in_a_lane_meets_its_disposal_and_runs_both_branches_once() {
    let pool = Pool::builder("meeting")
        .core_threads(2)
        .before_task(|_| std::thread::yield_now())
        .build()
        .unwrap();
    for _ in 0..crate::support::full_size(4_000, 1_000) {
        let lane = pool.lane();
        let other = lane.clone();
        let disposer = pool.submit(move || other.dispose()).unwrap();
        let mut runs = 0;
        let mut text = String::from("borrowed");
        let (one, two) = lane.join(
            || 1,
            || {
                runs += 1;
                text.push('!');
                text.len()
            },
        );
        assert_eq!((one, two, runs), (1, 9, 1));
        assert_eq!(text, "borrowed!");
        let _ = disposer.join().unwrap();
    }
    assert!(pool.close_timeout(LONG).terminated);
}

/// A payload that is no text.
#[derive(Debug, PartialEq)]
struct Special(u32);

fn payload_of(f: impl FnOnce()) -> Special {
    let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    *payload
        .downcast::<Special>()
        .expect("what the task panicked with")
}

#[test]
fn a_scopes_panic_arrives_with_its_own_payload() {
    let told = Arc::new(AtomicUsize::new(0));
    let by_sink = told.clone();
    let pool = Pool::builder("payloads")
        .core_threads(1)
        .on_failure(move |_, outcome| {
            let punctual::Outcome::Panicked(payload) = outcome else {
                return;
            };
            assert!(payload.is::<Special>());
            by_sink.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    assert_eq!(
        payload_of(|| pool.scope(|s| s.execute(|| throw(Special(1))))),
        Special(1)
    );
    assert_eq!(
        told.load(SeqCst),
        1,
        "the sink is told of a panic that no handle can read"
    );
    let dropped = || pool.scope(|s| drop(s.submit(|| throw(Special(2)))));
    assert_eq!(payload_of(dropped), Special(2));
    let own = pool.clone();
    let inside = on_worker(&pool, move |_| {
        payload_of(|| own.scope(|s| s.execute(|| throw(Special(3)))))
    });
    assert_eq!(inside, Special(3), "from a worker, which runs it in place");
    pool.shutdown();
    assert_eq!(
        payload_of(|| pool.scope(|s| s.execute(|| throw(Special(4))))),
        Special(4)
    );
    assert_eq!(told.load(SeqCst), 3);
}

#[test]
fn the_sink_is_told_of_every_panic_of_a_scope_and_one_goes_on() {
    let told = Arc::new(AtomicUsize::new(0));
    let by_sink = told.clone();
    let pool = Pool::builder("sink")
        .core_threads(2)
        .on_failure(move |_, _| _ = by_sink.fetch_add(1, SeqCst))
        .build()
        .unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|s| (0..50).for_each(|_| s.execute(|| quiet_panic("one of many"))));
    }));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "one of many");
    assert_eq!(told.load(SeqCst), 50);
}

/// The order in which one worker runs the children of a scope that it waits for itself.
fn order_of_children(pool: &Pool) -> Vec<usize> {
    on_worker(pool, |pool| {
        let order = Mutex::new(Vec::new());
        let order_of = &order;
        pool.scope(|s| (0..6).for_each(|n| s.execute(move || order_of.lock().unwrap().push(n))));
        order.into_inner().unwrap()
    })
}

#[test]
fn a_scope_inside_a_worker_runs_its_children_in_the_order_of_its_queue() {
    assert_eq!(order_of_children(&single()), [0, 1, 2, 3, 4, 5]);
    let stealing = Pool::builder("stealing")
        .core_threads(1)
        .queue(Queue::stealing(Capacity::Unbounded))
        .build()
        .unwrap();
    assert_eq!(
        order_of_children(&stealing),
        [5, 4, 3, 2, 1, 0],
        "a deque's owner takes the newest"
    );
}

/// Deeper than any stack would take one call for each.
const DEEP: usize = 20_000;

fn deep(pool: &Pool, make: impl Fn(&Executor) -> Executor) -> Executor {
    (0..DEEP).fold(pool.executor(), |outer, _| make(&outer))
}

#[test]
fn views_nested_twenty_thousand_deep_run_and_go() {
    let pool = Pool::fixed(2).unwrap();
    let innermost = deep(&pool, Executor::sequential);
    assert_eq!(innermost.submit(|| 1).unwrap().join().unwrap(), 1);
    // One in line, and one that is cancelled there.
    let (go, gone) = channel::<()>();
    let first = innermost.submit(move || _ = gone.recv()).unwrap();
    let (second, third) = (innermost.submit(|| 2).unwrap(), innermost.submit(|| 3).unwrap());
    assert_eq!(second.cancel(), punctual::Cancel::Removed);
    drop(go);
    first.join().unwrap();
    assert_eq!(third.join().unwrap(), 3);
    let mut sum = 0;
    innermost.scope(|s| s.execute(|| sum += 1));
    assert_eq!(innermost.join(|| 4, || 5), (4, 5));
    assert_eq!(sum, 1);
    assert_eq!(innermost.view_stats().name.matches("/sequential").count(), DEEP);
    assert_eq!(pool.spawn(async { 6 }).unwrap().join().unwrap(), 6);
    // A full stop, with some in line: what they hold goes back.
    let lane = innermost.lane();
    let (go, gone) = channel::<()>();
    lane.execute(move || _ = gone.recv()).unwrap();
    lane.execute(|| ()).unwrap();
    lane.dispose();
    drop(go);
    drop((lane, innermost));
    assert!(pool.close_timeout(LONG).terminated);
}

#[test]
fn a_scope_that_its_submitter_runs_takes_slots_twenty_thousand_deep() {
    let pool = Pool::fixed(1).unwrap();
    let innermost = deep(&pool, Executor::sequential);
    pool.shutdown();
    let mut sum = 0;
    innermost.scope(|s| s.execute(|| sum += 1));
    assert_eq!(sum, 1);
    drop(pool);
    drop(innermost);
}

#[test]
fn views_of_a_pool_that_has_ended_go_without_a_deep_stack() {
    let pool = Pool::fixed(1).unwrap();
    let innermost = deep(&pool, Executor::sequential);
    let kept = deep(&pool, Executor::sequential);
    drop(pool);
    std::thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(move || drop(innermost))
        .unwrap()
        .join()
        .unwrap();
    drop(kept);
}

/// What a thread-local's destructor asked for, and what it got.
struct Last {
    pool: Executor,
    tell: Sender<Option<u32>>,
}

impl Drop for Last {
    fn drop(&mut self) {
        let slept = self.pool.block_on(async {
            future::sleep(Duration::from_millis(1)).await;
            3
        });
        let _ = self.tell.send(slept.ok());
        // Views go there too.
        let deep = self.pool.sequential().sequential();
        let _ = self
            .tell
            .send(deep.submit(|| 4).ok().and_then(|task| task.join().ok()));
    }
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// The library's own thread-locals are gone by then, or not: the order is the system's.
#[test]
fn block_on_in_the_destructor_of_a_thread_local_gives_its_value() {
    let pool = Pool::fixed(2).unwrap();
    let (tell, told) = channel();
    let last = Last {
        pool: pool.executor(),
        tell,
    };
    std::thread::spawn(move || {
        let pool = last.pool.clone();
        LAST.with(|place| *place.borrow_mut() = Some(last));
        // Made after the other, so gone before it.
        pool.block_on(async { future::sleep(Duration::from_millis(1)).await })
            .unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(told.into_iter().collect::<Vec<_>>(), [Some(3), Some(4)]);
}

/// A branch that its caller runs, from outside of a pool whose workers have left, is the last that the pool waits for: the clock that
/// it waits for can be moved.
#[test]
fn a_branch_run_outside_of_a_closed_pool_can_wait_for_a_manual_clock() {
    in_time(|| {
        let clock = Clock::manual();
        let pool = Pool::builder("branches")
            .core_threads(1)
            .clock(&clock)
            .build()
            .expect("valid settings");
        // No worker takes the branch.
        pool.pause();
        let (begun, has_begun) = channel();
        let caller = pool.clone();
        let joins = std::thread::spawn(move || {
            caller.join(
                || (),
                || {
                    begun.send(()).expect("the test waits for this");
                    task::sleep(Duration::from_secs(1)).expect("not asked to stop");
                },
            )
        });
        has_begun.recv().expect("the caller runs the branch");
        pool.shutdown();
        while pool.stats().threads > 0 {
            std::thread::yield_now();
        }
        // It is no thread of the pool: the clock does not wait for it to lie down.
        while !joins.is_finished() {
            clock.advance(Duration::from_secs(1));
        }
        joins.join().expect("no panic");
        assert!(pool.close().terminated);
    });
}
