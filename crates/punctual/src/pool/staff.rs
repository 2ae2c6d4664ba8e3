//! The workers of a pool, as the pool knows them.
//!
//! In: a worker that begins or leaves. Out: sums over those that live and those that lived. Each worker has a
//! [`Post`]; the list is read under its lock, by snapshots and by a pool that stops.

use super::engine::Engine;
use super::state::State;
use crate::observe::counters::{Counters, Totals};
use crate::queue::yielded::OwnYields;
use crate::sync::atomic::Ordering::AcqRel;
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use crate::sync::{Arc, JoinHandle, Lock, Padded};
use crate::task::Token;
use crate::task::watch::Visible;
use crate::time::Tick;
use crate::worker::idle::Bed;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

/// What others may see of a worker.
#[derive(Debug)]
pub(crate) struct Post {
    /// Of its thread's name; 0 for a thread that comes for one task.
    pub(crate) number: usize,
    pub(crate) counters: Padded<Counters>,
    /// Of the tasks that it ran in place, inside others: they occupy no worker of their own.
    pub(crate) aside: Counters,
    /// Futures that it keeps, where it does.
    pub(crate) yields: Arc<OwnYields>,
    pub(crate) bed: Arc<Bed>,
    pub(crate) visible: Visible,
    /// The running task's name, where somebody may have to name it.
    pub(crate) label: Lock<Option<String>>,
    /// When somebody looked first at the task that it runs, and how many it had ended then. Written by those who look.
    seen: Lock<Option<(u64, Tick)>>,
    /// Where runs are recorded: when the one it is at began; 0 if there is none.
    pub(crate) began: AtomicU64,
}

impl Post {
    pub(crate) fn new(number: usize) -> Self {
        Post {
            number,
            counters: Padded(Counters::new()),
            aside: Counters::new(),
            yields: OwnYields::new(),
            bed: Arc::new(Bed::new()),
            visible: Visible::new(),
            label: Lock::new(None),
            seen: Lock::new(None),
            began: AtomicU64::new(0),
        }
    }
}

impl Post {
    /// For how long it has run what it runs, as far as those who looked can know: since the first look that found it at
    /// the same task.
    pub(super) fn busy_for(&self, now: Tick) -> Duration {
        let began = self.began.load(Relaxed);
        if began > 0 {
            return Duration::from_nanos(now.saturating_sub(began));
        }
        let ended = self.counters.read().turns();
        let mut seen = self.seen.lock();
        let since = match *seen {
            Some((count, since)) if count == ended => since,
            _ => now,
        };
        *seen = Some((ended, since));
        Duration::from_nanos(now.saturating_sub(since))
    }

    /// A look found it without a task.
    pub(super) fn is_free(&self) {
        *self.seen.lock() = None;
    }
}

/// The list.
#[derive(Debug, Default)]
pub(super) struct Staff {
    posts: Vec<Arc<Post>>,
    /// What the workers that left had counted.
    past: Sums,
    next_number: usize,
    /// By number. A worker that leaves before its starter has put the thread here leaves a `None` for it.
    threads: BTreeMap<usize, Option<JoinHandle<()>>>,
}

/// What workers counted.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    own: Totals,
    aside: Totals,
}

impl Sums {
    fn add(&mut self, post: &Post) {
        self.own += post.counters.read();
        self.aside += post.aside.read();
    }
}

/// A reading of the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    sums: Sums,
}

impl Reading {
    /// All tasks that ended.
    pub(super) fn totals(&self) -> Totals {
        let mut totals = self.sums.own;
        totals += self.sums.aside;
        totals
    }

    /// How often a worker was done with a task of its own: it ended, or was suspended.
    pub(super) fn own_ends(&self) -> u64 {
        self.sums.own.left()
    }
}

impl Staff {
    /// The number a new thread is named after; the first is 1.
    pub(super) fn next_number(&mut self) -> usize {
        self.next_number += 1;
        self.next_number
    }

    pub(super) fn begin(&mut self, post: Arc<Post>) {
        self.posts.push(post);
    }

    pub(super) fn leave(&mut self, post: &Arc<Post>) {
        self.posts.retain(|each| !Arc::ptr_eq(each, post));
        self.past.add(post);
    }

    /// Keeps a thread to be joined when the pool has ended. (Gives back one that is not worth it: its worker has left.)
    pub(super) fn keep(&mut self, number: usize, thread: JoinHandle<()>) -> Option<JoinHandle<()>> {
        match self.threads.entry(number) {
            Entry::Vacant(place) => {
                place.insert(Some(thread));
                None
            }
            Entry::Occupied(left) => {
                left.remove();
                Some(thread)
            }
        }
    }

    /// The thread of a worker that leaves a running pool: it is not joined by anybody.
    pub(super) fn dismiss(&mut self, number: usize) -> Option<JoinHandle<()>> {
        match self.threads.entry(number) {
            Entry::Occupied(kept) => kept.remove(),
            Entry::Vacant(place) => {
                place.insert(None);
                None
            }
        }
    }

    pub(super) fn take_threads(&mut self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.threads)
            .into_values()
            .flatten()
            .collect()
    }

    pub(super) fn read(&self) -> Reading {
        let mut sums = self.past;
        for post in &self.posts {
            sums.add(post);
        }
        Reading { sums }
    }

    /// The tokens of running tasks, for a pool that stops.
    pub(super) fn tokens(&self) -> Vec<Token> {
        self.posts
            .iter()
            .flat_map(|post| post.visible.tokens.lock().clone())
            .collect()
    }

    /// What may be seen of running tasks.
    pub(super) fn visible(&self) -> impl Iterator<Item = &Visible> {
        self.posts.iter().map(|post| &post.visible)
    }

    /// Of those who live.
    pub(super) fn posts(&self) -> &[Arc<Post>] {
        &self.posts
    }

    pub(super) fn labels(&self) -> Vec<String> {
        self.posts
            .iter()
            .filter_map(|post| post.label.lock().clone())
            .collect()
    }
}

/// Why a worker left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Departure {
    /// The pool is closed and nothing waits.
    Closed,
    /// It was idle for the keep-alive time.
    Idle,
    /// There were more workers than the pool may have: it was resized, or a spare was no longer needed.
    Surplus,
}

impl Engine {
    pub(crate) fn next_worker_number(&self) -> usize {
        self.staff.lock().next_number()
    }

    pub(crate) fn keep_thread(&self, number: usize, thread: JoinHandle<()>) {
        let gone = self.staff.lock().keep(number, thread);
        drop(gone);
    }

    /// A thread that nobody will join.
    pub(super) fn dismiss_thread(&self, number: usize) {
        let thread = self.staff.lock().dismiss(number);
        drop(thread);
    }

    pub(crate) fn worker_begins(&self, post: Arc<Post>) {
        self.staff.lock().begin(post);
    }

    /// A thread of another part of the pool is about to run a task of this one in place. The task still counts as waiting.
    pub(crate) fn visitor_comes(&self, post: &Arc<Post>) {
        self.life.visitors.fetch_add(1, AcqRel);
        self.staff.lock().begin(post.clone());
    }

    /// It has run the task.
    pub(crate) fn visitor_leaves(&self, post: &Arc<Post>) {
        self.staff.lock().leave(post);
        self.life.visitors.fetch_sub(1, AcqRel);
        self.tell_idle_watchers();
        self.look_after_waits();
        // It may have been the last task of a closed pool.
        self.try_terminate();
    }

    /// A worker's last act: nothing of it is counted or asked for after this. The crew was told when it decided to leave.
    pub(crate) fn worker_leaves(&self, post: &Arc<Post>, number: usize, departure: Departure) {
        let thread = {
            let mut staff = self.staff.lock();
            staff.leave(post);
            // Whoever closes the pool joins those that were there to the end.
            if departure == Departure::Closed {
                None
            } else {
                staff.dismiss(number)
            }
        };
        drop(thread);
        if departure == Departure::Surplus {
            // What it put back after its last poll it did not call anybody for.
            self.idle.notify();
            // A clock could have no keeper while there were too many.
            self.offer_spare();
        }
        // Somebody may wait for the place of a thread that it does without.
        let is_less = self.room.producers().gate.has_given_up();
        if let Some(root) = self.root.as_ref().filter(|_| is_less) {
            root.count_ceded(self);
        }
        let _ = self.run_state.leave();
        if self.state() >= State::Shutdown {
            self.release_keeper();
        }
        self.clock.hint();
        // It may have left right after the last task.
        self.tell_idle_watchers();
        self.try_terminate();
    }

    pub(super) fn take_threads(&self) -> Vec<JoinHandle<()>> {
        self.staff.lock().take_threads()
    }

    /// Tasks that workers have run to their end, without those run in place.
    pub(super) fn ended_tasks(&self) -> u64 {
        self.staff.lock().read().own_ends()
    }
}
