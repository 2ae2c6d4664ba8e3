//! Random scopes: nested, on several threads at once, with panics, drops, stops and every way to wait.

use super::builder;
use crate::support::{Random, assert_all_settled, env_number, in_time, quiet_panic};
use punctual::{Pool, Queue, Scope};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::thread;

/// Borrowed by every closure of one scope: counts those that live, and what they did.
#[derive(Default)]
struct Book {
    alive: AtomicUsize,
    made: AtomicUsize,
    runs: AtomicUsize,
    panics: AtomicUsize,
}

/// One closure's entry in the book, for as long as it lives.
struct Alive<'a>(&'a Book);

impl<'a> Alive<'a> {
    fn new(book: &'a Book) -> Self {
        book.made.fetch_add(1, Relaxed);
        book.alive.fetch_add(1, SeqCst);
        Alive(book)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, SeqCst);
    }
}

fn fill<'scope>(pool: &'scope Pool, s: &'scope Scope<'scope, '_>, book: &'scope Book, seed: u64, depth: u64) {
    let mut random = Random::from_seed(seed);
    for _ in 0..random.below(6) {
        let (alive, seed) = (Alive::new(book), random.next());
        let body = move || {
            let _alive = alive;
            let mut random = Random::from_seed(seed);
            book.runs.fetch_add(1, Relaxed);
            random.dawdle(200);
            if depth > 0 {
                match random.below(3) {
                    0 => fill(pool, s, book, random.next(), depth - 1),
                    1 => run(pool, random.next(), depth - 1),
                    _ => {}
                }
            }
            if random.below(20) == 0 {
                book.panics.fetch_add(1, Relaxed);
                quiet_panic("at random");
            }
            seed
        };
        match random.below(5) {
            0 => s.execute(move || {
                body();
            }),
            1 => drop(s.submit(body)),
            2 => {
                let task = s.submit(body);
                random.dawdle(2_000);
                drop(task);
            }
            _ => match s.submit(body).join() {
                Ok(value) => assert_eq!(value, seed),
                // Taken over here, so that it is not counted as one that goes on.
                Err(error) if error.is_panic() => {
                    book.panics.fetch_sub(1, Relaxed);
                }
                // Removed by a stop or a drain; or a stop told the task that waits here, while the other runs on to the brace.
                Err(error) => assert!(error.is_cancelled() || error.is_interrupted(), "{error}"),
            },
        }
    }
}

/// One scope with its own book, which must be closed at the brace.
fn run(pool: &Pool, seed: u64, depth: u64) {
    let book = Book::default();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|s| fill(pool, s, &book, seed, depth))
    }));
    assert_eq!(book.alive.load(SeqCst), 0, "the brace waited for every closure");
    assert!(book.runs.load(SeqCst) <= book.made.load(SeqCst));
    if ended.is_err() {
        assert!(book.panics.load(SeqCst) > 0, "a panic comes from a task");
    }
}

fn rounds() -> u64 {
    env_number("PUNCTUAL_ROUNDS").unwrap_or(20)
}

#[test]
fn scope_random_scopes_on_several_threads_leave_nothing_behind() {
    let mut random = Random::printed("random_scopes");
    for _ in 0..rounds() {
        let mut settings = builder(1 + random.below(3) as usize).spare_threads(random.below(3) as usize);
        if random.below(2) == 0 {
            settings = settings.queue(Queue::bounded(1 + random.below(4) as usize));
        }
        let pool = settings.build().unwrap();
        let seeds: Vec<u64> = (0..3).map(|_| random.next()).collect();
        in_time(move || {
            thread::scope(|threads| {
                for seed in seeds {
                    let pool = &pool;
                    threads.spawn(move || run(pool, seed, 3));
                }
            });
            assert!(pool.close().terminated);
            assert_all_settled(&pool.stats());
        });
    }
}

#[test]
fn scope_random_scopes_meet_drain_and_stop() {
    let mut random = Random::printed("random_scopes_meet_stop");
    for _ in 0..rounds() {
        let pool = builder(1 + random.below(3) as usize)
            .spare_threads(random.below(2) as usize)
            .build()
            .unwrap();
        let seeds: Vec<u64> = (0..3).map(|_| random.next()).collect();
        let mut random = Random::from_seed(random.next());
        in_time(move || {
            thread::scope(|threads| {
                for seed in seeds {
                    let pool = &pool;
                    threads.spawn(move || run(pool, seed, 2));
                }
                for _ in 0..5 {
                    random.dawdle(20_000);
                    assert!(pool.drain().is_empty(), "scoped tasks are never given out");
                }
                random.dawdle(20_000);
                assert!(pool.stop().is_empty());
            });
            assert!(pool.close().terminated);
            assert_all_settled(&pool.stats());
        });
    }
}
