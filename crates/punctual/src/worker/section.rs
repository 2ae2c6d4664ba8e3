//! A worker whose task is about to block on something this library knows nothing of.
//!
//! In: a closure that blocks, inside a task. Out: what it returns; while it runs, one thread more may work for the pool, as
//! while a task waits for another ([`spare`](super::spare)), so the others find a hand. The thread is one of those of
//! `blocking()`, which has one less meanwhile: a pool never has more threads than it was given. If all of those are at work
//! or idle, one of them leaves first; its place is there when it has left.
//!
//! Lock order: the producers' lock of the annex behind `blocking()`, then the pool's.

use crate::pool::engine::Engine;
use crate::sync::Arc;
use crate::task::{Here, here};
use crate::worker::spare::engine_of;
use std::cell::Cell;

/// Runs `f`, which blocks, and lets another thread work for the pool meanwhile: a file, a lock, a socket, `Command::wait`
/// inside a task then costs the pool none of its parallelism. There are as many such threads as
/// [`blocking_threads`](crate::PoolBuilder::blocking_threads) says, less one, and less those that
/// [`blocking`](crate::Executor::blocking) uses; when all are in use, `f` runs without. Sections inside a section count once.
/// Outside a pool's own workers, and on the threads of `blocking` and `reserve`, it just runs `f`.
///
/// For a task that does nothing but block, [`Executor::blocking`](crate::Executor::blocking) is cheaper. Joins, sleeps and
/// waits of this library need neither.
///
/// ```
/// use punctual::{Pool, task};
/// use std::sync::mpsc::channel;
///
/// let pool = Pool::builder("one").core_threads(1).build()?;
/// let (tell, told) = channel();
/// let waits = pool.submit(move || task::blocking_section(|| told.recv().unwrap()))?;
/// // The pool's only worker blocks, and the next task runs all the same.
/// pool.execute(move || tell.send(7).unwrap())?;
/// assert_eq!(waits.join()?, 7);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub fn blocking_section<T>(f: impl FnOnce() -> T) -> T {
    here(|here| {
        let _section = Section::enter(here);
        f()
    })
}

/// While it lives, the pool may have a thread more.
struct Section<'a> {
    pool: Arc<Engine>,
    blocking: Arc<Engine>,
    /// Of the worker.
    is_inside: &'a Cell<bool>,
}

impl<'a> Section<'a> {
    fn enter(here: Here<'a>) -> Option<Self> {
        let host = here.host_of_task().filter(|host| !host.is_in_section.get())?;
        let pool = engine_of(host.home).filter(|engine| engine.root.is_none() && !engine.is_forked())?;
        let blocking = pool.blocking().ok()?;
        if !blocking.cede_thread() {
            return None;
        }
        host.is_in_section.set(true);
        (host.give_away)();
        pool.count_ceded(&blocking);
        Some(Section {
            pool,
            blocking,
            is_inside: host.is_in_section,
        })
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        self.is_inside.set(false);
        self.blocking.room.look(|producers, _| {
            producers.shut();
            producers.gate.reclaim();
        });
        self.pool.count_ceded(&self.blocking);
        // It may have a thread more again.
        self.blocking.staff_up(false);
        self.blocking.serve_line();
    }
}

impl Engine {
    /// Of the annex behind `blocking()`: it goes without one thread. False: it has none to spare.
    fn cede_thread(&self) -> bool {
        let (is_ceded, has_surplus) = self.room.look(|producers, _| {
            producers.shut();
            let is_ceded = producers.gate.cede();
            (is_ceded, producers.gate.has_surplus())
        });
        if has_surplus {
            // If it is idle it leaves now.
            self.bar_takers(|_| ());
        }
        self.look_after_waits();
        is_ceded
    }

    /// Of a pool: as many threads more may work for it as `blocking` has done without.
    pub(crate) fn count_ceded(self: &Arc<Self>, blocking: &Engine) {
        let (before, now, has_surplus) = blocking.room.look(|theirs, _| {
            let ceded = theirs.gate.ceded();
            self.room.look(|producers, _| {
                producers.shut();
                let before = producers.gate.set_gained(ceded);
                (before, ceded, producers.gate.has_surplus())
            })
        });
        if has_surplus {
            self.bar_takers(|_| ());
        }
        if now > before {
            self.staff_up(true);
            self.serve_line();
            self.tell_waits();
        } else if now < before {
            // One that sleeps without a limit may be beyond core now.
            self.idle.notify();
            self.look_after_waits();
        }
    }
}
