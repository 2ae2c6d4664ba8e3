//! Annexes: threads of their own under a pool's roof.
//!
//! In: `blocking()`, once per pool, and `reserve(n)`. Out: an [`Engine`] beside the pool's, with the same code, settings,
//! hooks, clock and queue kind, whose threads come when they are needed and leave when they are idle. No thread of an annex
//! takes a task of the pool, or the other way round, so each keeps its own parallelism whatever the others do. What ends,
//! pauses or counts a pool does so with its annexes too: a pool has terminated when they have. Where their tasks wait for
//! room says [`lent`](super::lent).
//!
//! Who holds whom: an annex holds its pool; the pool holds an annex until that has ended. An annex made by `reserve` ends
//! when its last executor is dropped and its tasks, delayed ones and schedules included, have ended.
//!
//! Which race this prevents: an annex is made while the pool ends. It gets into the list under the list's lock, and only if
//! the pool is open; whoever closes the pool reads the list after that, and whoever ends it looks at the list again.

use super::builder::{Config, DEFAULT_KEEP_ALIVE};
use super::crew::Growth;
use super::engine::Engine;
use super::owner::Owner;
use super::state::State;
use super::timers::AtShutdown;
use super::{MAX_THREADS, Size};
use crate::ConfigError;
use crate::observe::{Figure, Stats};
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use crate::sync::{Arc, JoinHandle, Lock, Weak};
use crate::task::block::Header;
use crate::task::home::HomeRef;
use std::time::Duration;

/// The annexes of a pool.
pub(super) struct Annexes {
    list: Lock<List>,
    /// Mirror of how many there are, for those who look without the lock.
    count: AtomicUsize,
}

#[derive(Default)]
struct List {
    live: Vec<Arc<Engine>>,
    /// The one behind `blocking()`; it is among `live`.
    blocking: Option<Arc<Engine>>,
    /// What those that have ended had counted.
    past: Option<Box<Stats>>,
    /// Their threads, to be joined when the pool has ended.
    threads: Vec<JoinHandle<()>>,
}

impl Annexes {
    pub(super) fn new() -> Self {
        Annexes {
            list: Lock::new(List::default()),
            count: AtomicUsize::new(0),
        }
    }

    /// Those that have not ended.
    pub(super) fn all(&self) -> Vec<Arc<Engine>> {
        if !self.look_occupied() {
            return Vec::new();
        }
        self.list.lock().live.clone()
    }

    /// Whether there are any, without a lock.
    pub(super) fn look_occupied(&self) -> bool {
        self.count.load(Acquire) > 0
    }

    /// As [`Annexes::look_occupied`], for whoever ends the pool: who registers after this sees that it is closed.
    pub(super) fn is_occupied(&self) -> bool {
        !self.list.lock().live.is_empty()
    }

    pub(super) fn take_threads(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.list.lock().threads)
    }
}

/// Which threads an annex is to have.
struct Kind {
    /// Its name, after that of the pool.
    name: String,
    threads: usize,
}

impl Engine {
    /// The annex behind `blocking()`, made on first use.
    pub(crate) fn blocking(self: &Arc<Self>) -> Result<Arc<Engine>, ConfigError> {
        self.check_here()?;
        let threads = self.config.blocking_threads;
        if threads == 0 {
            return Err(ConfigError::new(
                "blocking_threads",
                0,
                "this pool has no threads for blocking tasks",
                "set blocking_threads to 1 or more, or use reserve",
            ));
        }
        if let Some(annex) = self.annexes.list.lock().blocking.clone() {
            return Ok(annex);
        }
        let name = String::from("blocking");
        // It ends with the pool, whose owners keep it open.
        let annex = self.make_annex(&Kind { name, threads }, self.owner.clone());
        let first = {
            let mut list = self.annexes.list.lock();
            let first = list.blocking.get_or_insert_with(|| annex.clone()).clone();
            if Arc::ptr_eq(&first, &annex) && !self.register(&mut list, &annex) {
                list.blocking = None;
            }
            first
        };
        if self.state() >= State::Shutdown || !Arc::ptr_eq(&first, &annex) {
            // Nobody else has it, or the pool is closed: it ends at once.
            annex.shutdown();
        }
        Ok(first)
    }

    /// An annex of `threads` threads, and what keeps it open.
    pub(crate) fn reserve_annex(
        self: &Arc<Self>,
        owner: &Arc<Owner>,
        threads: usize,
    ) -> Result<Arc<Owner>, ConfigError> {
        self.check_here()?;
        let most = MAX_THREADS - self.config.spare_threads;
        if threads == 0 {
            return Err(ConfigError::new(
                "reserve",
                0,
                "an executor needs at least one thread",
                "reserve 1 or more",
            ));
        }
        if threads > most {
            return Err(ConfigError::new(
                "reserve",
                threads,
                format!("at most {most} threads, beside the spare ones, can be told apart"),
                "reserve fewer; more tasks than threads can wait in the queue",
            ));
        }
        let name = format!("reserve({threads})");
        let kind = Kind { name, threads };
        let reserved = Arc::new_cyclic(|me: &Weak<Owner>| {
            Owner::of_annex(self.make_annex(&kind, me.clone()), owner.clone())
        });
        let is_registered = self.register(&mut self.annexes.list.lock(), &reserved.engine);
        if !is_registered {
            reserved.engine.shutdown();
        }
        Ok(reserved)
    }

    fn make_annex(self: &Arc<Self>, kind: &Kind, owner: Weak<Owner>) -> Arc<Engine> {
        let parent = &self.config;
        let config = Config {
            name: format!("{}/{}", parent.name, kind.name).into(),
            size: Size {
                core: 0,
                max: kind.threads,
            },
            growth: Growth::ThreadsFirst,
            keep_alive: self.keep_alive_of_annexes(),
            core_timeout: false,
            // The pool's is asked.
            reject: super::Reject::default(),
            queue: parent.queue.unlimited(),
            thread_name: format!("{}-{}", parent.thread_name, kind.name),
            ..parent.clone()
        };
        let spares = self.room.producers().gate.spares().clone();
        let annex = Engine::make(config, self.hooks.clone(), spares, owner, Some(self.clone()));
        // In the room's own words too: whatever is taken there is followed by a look at what it holds.
        annex.room.attend(|producers| producers.gate.lent = Some(0));
        annex
    }

    /// The pool's, unless it says nothing because none of its threads ever leaves: then as long as by default.
    pub(super) fn keep_alive_of_annexes(&self) -> Duration {
        let keep_alive = self.keep_alive();
        let size = self.size();
        if keep_alive.is_zero() && size.core == size.max {
            return DEFAULT_KEEP_ALIVE;
        }
        keep_alive
    }

    /// False: the pool is closed.
    fn register(&self, list: &mut List, annex: &Arc<Engine>) -> bool {
        if self.state() >= State::Shutdown {
            return false;
        }
        list.live.push(annex.clone());
        self.annexes.count.store(list.live.len(), Release);
        // Under the lock under which the others are paused.
        if self.room.is_paused() {
            annex.set_paused(true);
        }
        true
    }

    /// An annex has terminated.
    pub(super) fn annex_ended(&self, annex: &Engine) {
        annex.return_places(self);
        let last = annex.own_stats();
        let threads = annex.take_threads();
        self.dropped_delayed.fetch_add(annex.dropped_delayed(), AcqRel);
        self.dropped_repeating
            .fetch_add(annex.dropped_repeating(), AcqRel);
        let mut list = self.annexes.list.lock();
        let index = list
            .live
            .iter()
            .position(|each| std::ptr::eq(&raw const **each, annex));
        let Some(index) = index else { return };
        let gone = list.live.swap_remove(index);
        self.annexes.count.store(list.live.len(), Release);
        let is_blocking = list
            .blocking
            .as_ref()
            .is_some_and(|each| Arc::ptr_eq(each, &gone));
        let blocking = if is_blocking { list.blocking.take() } else { None };
        match &mut list.past {
            Some(past) => past.add(&last),
            past => *past = Some(Box::new(last)),
        }
        // Those of a pool that goes on are joined by nobody, as when a worker leaves.
        let detached = if self.state() >= State::Shutdown {
            list.threads.extend(threads);
            Vec::new()
        } else {
            threads
        };
        drop(list);
        drop((gone, blocking, detached));
    }

    /// The part of the same pool, itself or an annex, that has this home.
    pub(crate) fn part_at(&self, home: &HomeRef) -> Option<Arc<Engine>> {
        self.part_where(|engine| engine.home.is_same(home))
    }

    /// The part of the same pool to which a task belongs. The caller holds a share of the block; its home is compared and
    /// not followed, since it may be gone with the task's end.
    pub(crate) fn part_of(&self, block: &Header) -> Option<Arc<Engine>> {
        match block.view() {
            Some(view) => self.part_at(view.home()),
            None => self.part_where(|engine| std::ptr::eq(&raw const engine.home, block.home())),
        }
    }

    fn part_where(&self, is_it: impl Fn(&Engine) -> bool) -> Option<Arc<Engine>> {
        let pool = self.root.clone().or_else(|| self.me.upgrade());
        let pool = pool.filter(|engine| is_it(engine));
        pool.or_else(|| self.top().annexes.all().into_iter().find(|engine| is_it(engine)))
    }

    /// A reading of the pool and its annexes: each does not contradict itself, so neither does the sum.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.own_stats();
        if self.is_forked() {
            return stats;
        }
        let (live, past) = {
            let list = self.annexes.list.lock();
            (list.live.clone(), list.past.clone())
        };
        for annex in live {
            let theirs = annex.own_stats();
            stats.views.push(theirs.as_view(annex.name.clone()));
            stats.add(&theirs);
        }
        if let Some(past) = past {
            stats.add(&past);
        }
        self.lately.look(&mut stats.levels, self.clock.tick());
        stats
    }

    /// Delayed tasks that a shutdown has dropped, here and in the annexes.
    pub(super) fn all_dropped_delayed(&self) -> usize {
        let annexes = self.annexes.all();
        let theirs: usize = annexes.iter().map(|annex| annex.dropped_delayed()).sum();
        self.dropped_delayed() + theirs
    }

    /// Schedules that a shutdown has ended, here and in the annexes.
    pub(super) fn all_dropped_repeating(&self) -> usize {
        let annexes = self.annexes.all();
        let theirs: usize = annexes.iter().map(|annex| annex.dropped_repeating()).sum();
        self.dropped_repeating() + theirs
    }

    /// Pauses, or the other way round, the pool and its annexes: the annexes that changed, if the pool did. A new one comes
    /// before this or after it.
    pub(super) fn pause_all(&self, paused: bool) -> Option<Vec<Arc<Engine>>> {
        let list = self.annexes.list.lock();
        if !self.set_paused(paused) {
            return None;
        }
        let annexes = list.live.iter().filter(|annex| annex.set_paused(paused));
        Some(annexes.cloned().collect())
    }

    /// The pool has been shut down: so are its annexes, by its rules for what is delayed.
    pub(super) fn shut_annexes_down(&self) {
        let annexes = self.annexes.all();
        if annexes.is_empty() {
            return;
        }
        let (delayed, repeating) = self.timers.at_shutdown();
        for annex in annexes {
            annex.set_delayed_at_shutdown(delayed);
            annex.set_repeating_at_shutdown(repeating);
            annex.shutdown();
        }
    }

    /// The pool's own; of a pool that has been shut down, its annexes' too.
    pub(super) fn set_all_delayed_at_shutdown(&self, policy: AtShutdown) {
        self.set_delayed_at_shutdown(policy);
        for annex in self.shut_annexes() {
            annex.set_delayed_at_shutdown(policy);
        }
    }

    pub(super) fn set_all_repeating_at_shutdown(&self, policy: AtShutdown) {
        self.set_repeating_at_shutdown(policy);
        for annex in self.shut_annexes() {
            annex.set_repeating_at_shutdown(policy);
        }
    }

    fn shut_annexes(&self) -> Vec<Arc<Engine>> {
        if self.state() >= State::Shutdown {
            self.annexes.all()
        } else {
            // They get the pool's rules when it is shut down.
            Vec::new()
        }
    }

    /// The last executor of an annex is gone: nothing can be submitted to it any more. What is there, delayed tasks and
    /// schedules too, goes on as if nothing had happened, until the pool is shut down.
    pub(super) fn retire(&self, root: &Engine) {
        {
            // Under the list's lock: a pool that is being shut down sets its own rules after this.
            let _list = root.annexes.list.lock();
            if root.state() >= State::Shutdown {
                return;
            }
            self.timers.set_at_shutdown(AtShutdown::Run, AtShutdown::Run);
        }
        self.shutdown();
    }
}
