//! The loop of one worker thread: take a task, run it, publish its outcome; search, park, leave.

use crate::base::settings::KeepAlive;
use crate::engine::Engine;
use crate::engine::idle::Searching;
use crate::sync::parker::Parker;
use crate::sync::unmodelled::Relaxed;
use crate::sync::{Arc, JoinHandle, is_multi_core, spin_loop, start_thread};
use crate::task::context;
use crate::task::runnable::Runnable;
use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

/// How long a worker without a task looks on before it parks. A submitter that waits for each result comes back within it.
const SPIN: Duration = Duration::from_micros(20);

/// Starts a worker of the engine.
pub(crate) fn spawn(engine: Arc<Engine>) -> io::Result<JoinHandle<()>> {
    let name = engine.name.to_string();
    start_thread(name, None, move || {
        context::become_worker_of(engine.identity());
        let tells_gate = engine.queue.tail().gate.counts_in_flight();
        let worker = Worker {
            engine: &engine,
            parker: Arc::new(Parker::new()),
            spins: is_multi_core(),
            tells_gate,
            is_new: Cell::new(true),
        };
        worker.work();
        engine.try_terminate();
    })
}

/// What a worker that found nothing does.
enum SleepDecision {
    /// Something waits after all.
    Work,
    /// Sleep, at most so long.
    Park(Option<Duration>),
    /// It is not counted as a thread any more.
    Leave,
}

struct Worker<'a> {
    engine: &'a Engine,
    parker: Arc<Parker>,
    spins: bool,
    /// The gate wants to know when a task has left.
    tells_gate: bool,
    /// It has not taken a task yet, and the gate keeps room for that.
    is_new: Cell<bool>,
}

impl Worker<'_> {
    /// Task after task, until the pool is closed and empty, or until the worker is one too many.
    fn work(&self) {
        let mut next = self.take();
        loop {
            match next.or_else(|| self.next_when_dry()) {
                Some(task) => self.run(task),
                None => return,
            }
            if self.engine.threads.has_surplus.load(Relaxed) && self.leaves_as_surplus() {
                return;
            }
            next = self.engine.queue.pop();
        }
    }

    fn take(&self) -> Option<Runnable> {
        if !self.is_new.get() {
            return self.engine.queue.pop();
        }
        let first = self.engine.queue.begin();
        self.is_new.set(first.is_none());
        first
    }

    #[inline]
    fn run(&self, task: Runnable) {
        let ran = task.run(|_| ());
        if self.tells_gate {
            self.engine.queue.task_left();
        }
        ran.publish();
    }

    /// After a task, in a pool that was made smaller.
    #[cold]
    fn leaves_as_surplus(&self) -> bool {
        let leaves = {
            let gate = &mut self.engine.queue.tail().gate;
            let leaves = gate.threads > gate.size.max;
            gate.threads -= usize::from(leaves);
            self.engine
                .threads
                .has_surplus
                .store(gate.threads > gate.size.max, Relaxed);
            leaves
        };
        if leaves {
            // A push may have counted on this worker.
            self.engine.idle.notify();
        }
        leaves
    }

    /// Searches and parks until there is a task. `None`: the worker has left.
    #[cold]
    fn next_when_dry(&self) -> Option<Runnable> {
        let idle = &self.engine.idle;
        let mut searching = idle.search();
        let mut is_idle_for_long = false;
        loop {
            if searching.is_some() {
                self.spin();
            }
            if let Some(task) = self.take() {
                self.pass_on(searching);
                return Some(task);
            }
            let asleep = idle.lie_down(&self.parker, searching.take());
            let awake = match self.decide(is_idle_for_long) {
                SleepDecision::Work => idle.get_up(&self.parker, asleep),
                SleepDecision::Leave => {
                    self.pass_on(Some(idle.get_up(&self.parker, asleep)));
                    return None;
                }
                SleepDecision::Park(limit) => {
                    let (awake, is_over) = idle.park(&self.parker, asleep, limit);
                    is_idle_for_long = is_over;
                    awake
                }
            };
            searching = Some(awake);
        }
    }

    /// The last look before a sleep, in one order with every push, close and resize.
    fn decide(&self, is_idle_for_long: bool) -> SleepDecision {
        let KeepAlive { limit, covers_core } = self.engine.threads.keep_alive;
        let mut tail = self.engine.queue.tail();
        if !self.engine.queue.is_empty(&tail) {
            return SleepDecision::Work;
        }
        let gate = &mut tail.gate;
        let may_leave = gate.threads > gate.size.core || covers_core;
        let is_over = may_leave && (is_idle_for_long || limit.is_zero());
        if gate.is_closed || gate.threads > gate.size.max || is_over {
            gate.threads -= 1;
            if self.is_new.get() {
                gate.begun();
            }
            return SleepDecision::Leave;
        }
        SleepDecision::Park(may_leave.then_some(limit))
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
