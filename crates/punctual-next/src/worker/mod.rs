//! The loop of one worker thread: take a task, run it, publish its outcome; search, park, leave.

use crate::engine::Engine;
use crate::engine::idle::Searching;
use crate::sync::parker::Parker;
use crate::sync::{Arc, JoinHandle, is_multi_core, spin_loop, start_thread};
use crate::task::context;
use crate::task::runnable::Runnable;
use std::io;
use std::time::{Duration, Instant};

/// How long a worker without a task looks on before it parks. A submitter that waits for each result comes back within it.
const SPIN: Duration = Duration::from_micros(20);

/// Starts a worker of the engine.
pub(crate) fn spawn(engine: Arc<Engine>) -> io::Result<JoinHandle<()>> {
    let name = engine.name.to_string();
    start_thread(name, None, move || {
        context::become_worker_of(engine.identity());
        let worker = Worker {
            engine: &engine,
            parker: Arc::new(Parker::new()),
            spins: is_multi_core(),
        };
        worker.work();
        engine.try_terminate();
    })
}

struct Worker<'a> {
    engine: &'a Engine,
    parker: Arc<Parker>,
    spins: bool,
}

impl Worker<'_> {
    /// Task after task, until the pool is closed and empty.
    fn work(&self) {
        loop {
            match self.engine.queue.pop() {
                Some(task) => self.run(task),
                None => match self.next_when_dry() {
                    Some(task) => self.run(task),
                    None => return,
                },
            }
        }
    }

    #[inline]
    fn run(&self, task: Runnable) {
        task.run(|_| ()).publish();
    }

    /// Searches and parks until there is a task. `None`: the worker has left.
    #[cold]
    fn next_when_dry(&self) -> Option<Runnable> {
        let idle = &self.engine.idle;
        let mut searching = idle.search();
        loop {
            if searching.is_some() {
                self.spin();
            }
            if let Some(task) = self.engine.queue.pop() {
                self.pass_on(searching);
                return Some(task);
            }
            let asleep = idle.lie_down(&self.parker, searching.take());
            let (has_work, leaves) = {
                let mut tail = self.engine.queue.tail();
                let has_work = !self.engine.queue.is_empty(&tail);
                let leaves = !has_work && tail.gate.is_closed;
                if leaves {
                    tail.gate.threads -= 1;
                }
                (has_work, leaves)
            };
            let awake = match has_work || leaves {
                true => idle.get_up(&self.parker, asleep),
                false => idle.park(&self.parker, asleep),
            };
            if leaves {
                self.pass_on(Some(awake));
                return None;
            }
            searching = Some(awake);
        }
    }

    /// Leaves the searchers. The last one wakes another worker if there is more.
    fn pass_on(&self, searching: Option<Searching>) {
        if let Some(searching) = searching
            && self.engine.idle.stop_searching(searching)
            && self.engine.queue.has_work()
        {
            self.engine.idle.notify();
        }
    }

    /// Looks on for a moment, until something waits.
    fn spin(&self) {
        if !self.spins {
            return;
        }
        let (begin, mut pauses) = (Instant::now(), 1);
        while self.engine.queue.looks_empty() && begin.elapsed() < SPIN {
            (0..pauses).for_each(|_| spin_loop());
            pauses = (pauses * 2).min(16);
        }
    }
}
