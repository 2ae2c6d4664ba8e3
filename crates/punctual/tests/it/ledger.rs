//! The ledger: every task that was accepted ended in exactly one way, under stress, and every snapshot says so.
//!
//! The seed is printed; `PUNCTUAL_SEED` runs it again, `PUNCTUAL_LEDGER_TASKS` sets the size.

/// What somebody who looks all the time sees.
mod snapshots;

use crate::support::{
    LONG, Random, assert_all_settled, assert_books_balance, block_on, env_number, quiet_panic,
};
use punctual::{Cancel, Pool, Queue, Rejected, State, TaskHandle};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex};

// What is known of a task; its page in the ledger is the sum of these.
const ACCEPTED: u8 = 1;
const STARTED: u8 = 2;
/// The body is one that panics.
const PANICS: u8 = 4;
const REMOVED: u8 = 8;
const SIGNALLED: u8 = 16;

const PRODUCERS: usize = 3;
/// Handles that a producer keeps before it settles one.
const PENDING: usize = 100;

struct Ledger {
    pages: Vec<AtomicU8>,
    refused: AtomicU64,
    // What must never happen.
    started_twice: AtomicU64,
    started_after_the_end: AtomicU64,
    over: AtomicBool,
    /// Handles that tasks cancel from inside.
    victims: Mutex<Vec<(usize, TaskHandle<usize>)>>,
}

impl Ledger {
    fn new(tasks: usize) -> Arc<Self> {
        Arc::new(Ledger {
            pages: (0..tasks).map(|_| AtomicU8::new(0)).collect(),
            refused: AtomicU64::new(0),
            started_twice: AtomicU64::new(0),
            started_after_the_end: AtomicU64::new(0),
            over: AtomicBool::new(false),
            victims: Mutex::default(),
        })
    }

    fn note(&self, id: usize, what: u8) -> u8 {
        self.pages[id].fetch_or(what, SeqCst)
    }

    fn cancelled(&self, id: usize, answer: Cancel) {
        match answer {
            Cancel::Removed => _ = self.note(id, REMOVED),
            Cancel::Signalled => _ = self.note(id, SIGNALLED),
            Cancel::TooLate => {}
        }
    }

    /// A task's body.
    fn run(&self, id: usize, panics: bool, cancels: bool) -> usize {
        if self.note(id, STARTED) & STARTED != 0 {
            self.started_twice.fetch_add(1, SeqCst);
        }
        if self.over.load(SeqCst) {
            self.started_after_the_end.fetch_add(1, SeqCst);
        }
        if cancels {
            let victim = self.victims.lock().unwrap().pop();
            if let Some((victim, task)) = victim {
                self.cancelled(victim, task.cancel());
            }
        }
        if panics {
            quiet_panic("one in ten");
        }
        id
    }

    /// Each page read as one of the four ends: accepted, finished, panicked, cancelled, returned.
    fn ends(&self) -> [u64; 5] {
        let mut ends = [0; 5];
        for (id, page) in self.pages.iter().enumerate() {
            let page = page.load(SeqCst);
            if page & ACCEPTED == 0 {
                assert_eq!(page & !PANICS, 0, "task {id} was refused, and yet: {page:#b}");
                continue;
            }
            ends[0] += 1;
            let end = match page & (STARTED | REMOVED | SIGNALLED) {
                STARTED if page & PANICS != 0 => 2,
                STARTED => 1,
                REMOVED => 3,
                s if s == STARTED | SIGNALLED => 3,
                0 => 4,
                _ => panic!("task {id} ended in two ways: {page:#b}"),
            };
            ends[end] += 1;
        }
        ends
    }
}

/// What happens to a task's handle.
enum Way {
    Forget,
    Drop,
    Join,
    Await,
    CancelNow,
    CancelLater,
    Victim,
}

struct Producer {
    ledger: Arc<Ledger>,
    pool: Pool,
    random: Random,
    pending: Vec<(usize, Way, TaskHandle<usize>)>,
}

impl Producer {
    /// Offers one task until it is accepted; false once the pool has been shut down.
    fn offer(&mut self, id: usize) -> bool {
        let panics = self.random.below(10) == 0;
        let cancels = self.random.below(8) == 0;
        if panics {
            self.ledger.note(id, PANICS);
        }
        let way = match self.random.below(12) {
            0..=3 => Way::Forget,
            4 => Way::Drop,
            5..=6 => Way::Join,
            7 => Way::Await,
            8 => Way::CancelNow,
            9..=10 => Way::CancelLater,
            _ => Way::Victim,
        };
        let ledger = self.ledger.clone();
        let body = move || ledger.run(id, panics, cancels);
        let accepted = if matches!(way, Way::Forget) {
            self.insist(move || _ = body(), |pool, body| pool.execute(body))
                .is_some()
        } else {
            let task = self.insist(body, |pool, body| pool.submit(body));
            let accepted = task.is_some();
            if let Some(task) = task {
                self.keep(id, way, task);
            }
            accepted
        };
        if accepted {
            self.ledger.note(id, ACCEPTED);
        }
        accepted
    }

    /// Offers the closure that comes back from a full queue again.
    fn insist<F, R>(&mut self, mut body: F, offer: impl Fn(&Pool, F) -> Result<R, Rejected<F>>) -> Option<R> {
        loop {
            match offer(&self.pool, body) {
                Ok(accepted) => return Some(accepted),
                Err(refused) if refused.is_shutdown() => {
                    self.ledger.refused.fetch_add(1, SeqCst);
                    return None;
                }
                Err(refused) => body = refused.into_task(),
            }
            self.settle_one();
            std::thread::yield_now();
        }
    }

    fn keep(&mut self, id: usize, way: Way, task: TaskHandle<usize>) {
        match way {
            Way::Forget | Way::Drop => drop(task),
            Way::CancelNow => self.ledger.cancelled(id, task.cancel()),
            Way::Victim => self.ledger.victims.lock().unwrap().push((id, task)),
            Way::Join | Way::Await | Way::CancelLater => self.pending.push((id, way, task)),
        }
        if self.pending.len() > PENDING {
            self.settle_one();
        }
    }

    fn settle_one(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let index = self.random.below(self.pending.len() as u64) as usize;
        let (id, way, task) = self.pending.swap_remove(index);
        let joined = match way {
            Way::CancelLater => return self.ledger.cancelled(id, task.task_ref().cancel()),
            Way::Await => block_on(task),
            _ => task.join(),
        };
        match joined {
            Ok(value) => assert_eq!(value, id, "the value of another task"),
            Err(error) => assert!(error.is_panic() || error.is_cancelled(), "{error}"),
        }
    }
}

#[test]
fn ledger_every_accepted_task_ends_in_exactly_one_way() {
    let tasks = env_number("PUNCTUAL_LEDGER_TASKS").unwrap_or(200_000) as usize;
    let mut random = Random::printed("ledger");
    let ledger = Ledger::new(tasks);
    let pool = Pool::builder("ledger")
        .core_threads(3)
        .queue(Queue::bounded(4_096))
        .build()
        .unwrap();
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|first| {
            let mut producer = Producer {
                ledger: ledger.clone(),
                pool: pool.clone(),
                random: Random::from_seed(random.next()),
                pending: Vec::new(),
            };
            std::thread::spawn(move || {
                let mut ids = (first..tasks).step_by(PRODUCERS);
                let stopped = ids.find(|id| !producer.offer(*id)).is_some();
                while !producer.pending.is_empty() {
                    producer.settle_one();
                }
                stopped
            })
        })
        .collect();
    // The end comes while all are busy, not after.
    let enough = tasks as u64 * 9 / 10;
    let mut samples = 0_u64;
    loop {
        let stats = pool.stats();
        assert_books_balance(&stats);
        samples += 1;
        if stats.submitted >= enough {
            break;
        }
        std::thread::yield_now();
    }
    let unrun = pool.stop();
    let returned = unrun.len() as u64;
    drop(unrun);
    assert!(pool.await_termination(LONG));
    ledger.over.store(true, SeqCst);
    let mut refused_producers = 0;
    for producer in producers {
        refused_producers += u64::from(producer.join().expect("a producer's checks hold"));
    }
    ledger.victims.lock().unwrap().clear();

    let stats = pool.stats();
    assert_eq!(stats.state, State::Terminated);
    assert_all_settled(&stats);
    let [accepted, finished, panicked, cancelled, given_back] = ledger.ends();
    assert_eq!(
        given_back, returned,
        "neither started nor cancelled: it came back"
    );
    assert_eq!(
        [
            stats.submitted,
            stats.finished,
            stats.panicked,
            stats.cancelled,
            stats.returned
        ],
        [accepted, finished, panicked, cancelled, returned],
        "the pool counts as the test does"
    );
    assert_eq!(stats.rejected.shutdown, ledger.refused.load(SeqCst));
    assert_eq!(refused_producers, ledger.refused.load(SeqCst));
    assert_eq!(ledger.started_twice.load(SeqCst), 0);
    assert_eq!(ledger.started_after_the_end.load(SeqCst), 0);
    println!(
        "accepted {accepted} = finished {finished} + panicked {panicked} + cancelled {cancelled} + returned {returned}; \
         {samples} snapshots"
    );
}
