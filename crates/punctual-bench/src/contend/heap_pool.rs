//! A priority pool as it is written by hand: a binary heap of boxed closures behind a lock, a condition variable, and
//! threads. A number in each entry keeps those of one level in their order, which a heap alone does not.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};

use super::{Contender, Levels, Reply, replying, wait_for};

/// Of tasks that name none.
const NORMAL: usize = 2;

pub(crate) struct HeapPool(Arc<Shared>);

#[derive(Default)]
struct Shared {
    line: Mutex<Line>,
    ready: Condvar,
}

#[derive(Default)]
struct Line {
    heap: BinaryHeap<Entry>,
    next: u64,
    /// Asleep; whoever finds none need not call.
    idle: usize,
}

struct Entry {
    /// Level and number, the smallest first.
    order: Reverse<(usize, u64)>,
    job: Box<dyn FnOnce() + Send>,
}

impl HeapPool {
    pub(crate) fn open(workers: usize) -> Self {
        let shared = Arc::new(Shared::default());
        for _ in 0..workers {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                loop {
                    let job = shared.take();
                    job();
                }
            });
        }
        HeapPool(shared)
    }
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().expect("nothing panics under the lock")
    }

    fn put(&self, level: usize, job: Box<dyn FnOnce() + Send>) {
        let mut line = self.line();
        let order = Reverse((level, line.next));
        line.next += 1;
        line.heap.push(Entry { order, job });
        let anybody = line.idle > 0;
        drop(line);
        if anybody {
            self.ready.notify_one();
        }
    }

    fn take(&self) -> Box<dyn FnOnce() + Send> {
        let mut line = self.line();
        loop {
            if let Some(entry) = line.heap.pop() {
                return entry.job;
            }
            line.idle += 1;
            line = self.ready.wait(line).expect("nothing panics under the lock");
            line.idle -= 1;
        }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

impl Contender for HeapPool {
    type Handle = Reply;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.execute_at(NORMAL, task);
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Reply {
        let (task, reply) = replying(task);
        self.execute(task);
        reply
    }

    fn join(handle: Reply) -> u64 {
        wait_for(handle)
    }
}

impl Levels for HeapPool {
    fn execute_at<F: FnOnce() + Send + 'static>(&self, level: usize, task: F) {
        self.0.put(level, Box::new(task));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_urgent_go_first_and_equals_in_their_order() {
        let pool = HeapPool::open(1);
        let (open, gate) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        pool.execute_at(0, move || gate.recv().expect("the test opens it"));
        for (i, level) in [3, 1, 3, 0, 1].into_iter().enumerate() {
            let tell = tell.clone();
            pool.execute_at(level, move || tell.send((level, i)).expect("the test listens"));
        }
        open.send(()).expect("the worker waits for it");
        drop(tell);
        // The first is held by the worker before or after the others come: urgent as it is, it goes first either way.
        assert_eq!(
            told.iter().collect::<Vec<_>>(),
            [(0, 3), (1, 1), (1, 4), (3, 0), (3, 2)]
        );
    }
}
