//! The workers of a pool, as the pool knows them.
//!
//! In: a worker that begins or leaves. Out: sums over those that live and those that lived. Each worker has a
//! [`Post`]; the list is read under its lock, by snapshots and by a pool that stops.

use super::engine::Engine;
use crate::observe::counters::{Counters, Totals};
use crate::sync::{Arc, JoinHandle, Lock, Padded};
use crate::task::Token;
use crate::worker::idle::Bed;

/// What others may see of a worker.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) counters: Padded<Counters>,
    pub(crate) bed: Arc<Bed>,
    /// The running task's token, if anybody asked for it.
    pub(crate) token: Lock<Option<Token>>,
    /// The running task's name, where somebody may have to name it.
    pub(crate) label: Lock<Option<String>>,
}

impl Post {
    pub(crate) fn new() -> Self {
        Post {
            counters: Padded(Counters::new()),
            bed: Arc::new(Bed::new()),
            token: Lock::new(None),
            label: Lock::new(None),
        }
    }
}

/// The list.
#[derive(Debug, Default)]
pub(super) struct Staff {
    posts: Vec<Arc<Post>>,
    /// What the workers that left had counted.
    past: Totals,
    started: u64,
    stopped: u64,
    largest: usize,
    next_number: usize,
    threads: Vec<JoinHandle<()>>,
}

/// A reading of the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) totals: Totals,
    pub(super) threads: usize,
    pub(super) largest: usize,
    pub(super) started: u64,
    pub(super) stopped: u64,
}

impl Staff {
    /// The number a new thread is named after; the first is 1.
    pub(super) fn next_number(&mut self) -> usize {
        self.next_number += 1;
        self.next_number
    }

    pub(super) fn begin(&mut self, post: Arc<Post>) {
        self.posts.push(post);
        self.started += 1;
        self.largest = self.largest.max(self.posts.len());
    }

    pub(super) fn leave(&mut self, post: &Arc<Post>) {
        self.posts.retain(|each| !Arc::ptr_eq(each, post));
        self.past += post.counters.read();
        self.stopped += 1;
    }

    /// Keeps a thread to be joined when the pool has ended.
    pub(super) fn keep(&mut self, thread: JoinHandle<()>) {
        self.threads.push(thread);
    }

    pub(super) fn take_threads(&mut self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.threads)
    }

    pub(super) fn read(&self) -> Reading {
        let mut totals = self.past;
        for post in &self.posts {
            totals += post.counters.read();
        }
        Reading {
            totals,
            threads: self.posts.len(),
            largest: self.largest,
            started: self.started,
            stopped: self.stopped,
        }
    }

    /// The tokens of running tasks, for a pool that stops.
    pub(super) fn tokens(&self) -> Vec<Token> {
        self.posts
            .iter()
            .filter_map(|post| post.token.lock().clone())
            .collect()
    }

    pub(super) fn labels(&self) -> Vec<String> {
        self.posts
            .iter()
            .filter_map(|post| post.label.lock().clone())
            .collect()
    }
}

impl Engine {
    pub(crate) fn next_worker_number(&self) -> usize {
        self.staff.lock().next_number()
    }

    pub(crate) fn keep_thread(&self, thread: JoinHandle<()>) {
        self.staff.lock().keep(thread);
    }

    pub(crate) fn worker_begins(&self, post: Arc<Post>) {
        self.staff.lock().begin(post);
    }

    /// A worker's last act: nothing of it is counted or asked for after this.
    pub(crate) fn worker_leaves(&self, post: &Arc<Post>) {
        self.staff.lock().leave(post);
        {
            let mut producers = self.room.producers();
            producers.gate.workers -= 1;
            producers.shut();
        }
        let _ = self.run_state.leave();
        self.clock.hint();
        self.try_terminate();
    }
}
