//! Scenario L: bytes per queued task. Both workers are held by a task that waits; then everything queued stays
//! queued. In: a pool, how many tasks. Out: growth of the resident size per task, and of the live heap when the
//! `count-alloc` feature is on.

use std::{
    hint::black_box,
    sync::{Arc, Condvar, Mutex},
};

use super::{Figures, throughput::touched_places};
use crate::{
    alloc,
    contend::{Contender, WORKERS},
    count::{Tally, ran},
    proc,
};

pub(crate) fn execute<P: Contender>(pool: &'static P, tasks: u64) -> Figures {
    let held = Held::workers_of(pool);
    let tally = Tally::start();
    let before = Reading::take();
    for i in 0..tasks {
        pool.execute(move || ran(i));
    }
    let figures = before.growth("execute", "execute_heap", tasks);
    held.release();
    tally.wait_for(tasks);
    figures
}

pub(crate) fn submit<P: Contender>(pool: &'static P, tasks: u64) -> Figures {
    let mut handles = touched_places::<P::Handle>(tasks);
    let held = Held::workers_of(pool);
    let before = Reading::take();
    for (i, place) in (0..tasks).zip(&mut handles) {
        *place = Some(pool.submit(move || black_box(i)));
    }
    let figures = before.growth("submit", "submit_heap", tasks);
    held.release();
    for handle in handles.into_iter().flatten() {
        P::join(handle);
    }
    figures
}

/// Memory of this process at one moment, to be compared with now.
pub(super) struct Reading {
    resident: u64,
    heap: Option<u64>,
}

impl Reading {
    pub(super) fn take() -> Self {
        Reading {
            resident: proc::resident_bytes().expect("/proc/self/statm is readable"),
            heap: alloc::live_bytes(),
        }
    }

    /// Bytes per task since this was taken; what became less has not grown.
    pub(super) fn resident_growth(&self, tasks: u64) -> f64 {
        per_task(self.resident, Reading::take().resident, tasks)
    }

    /// The same as figures, with the live heap where it is counted.
    pub(super) fn growth(&self, resident: &'static str, heap: &'static str, tasks: u64) -> Figures {
        let now = Reading::take();
        let mut figures = vec![(resident, per_task(self.resident, now.resident, tasks))];
        if let (Some(before), Some(after)) = (self.heap, now.heap) {
            figures.push((heap, per_task(before, after, tasks)));
        }
        figures
    }
}

fn per_task(before: u64, after: u64, tasks: u64) -> f64 {
    after.saturating_sub(before) as f64 / tasks as f64
}

#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    waiting: usize,
    open: bool,
}

/// Every worker of a pool stands in a task until released.
pub(super) struct Held(Arc<Gate>);

impl Held {
    /// One holding task at a time, each waited for: a worker that takes several tasks in one go would otherwise sit
    /// on the second one while it stands in the first.
    pub(super) fn workers_of<P: Contender>(pool: &'static P) -> Self {
        Self::some_of(pool, WORKERS)
    }

    /// The same of a pool with so many.
    pub(super) fn some_of<P: Contender>(pool: &'static P, workers: usize) -> Self {
        let gate = Arc::new(Gate::default());
        for held in 1..=workers {
            let inside = Arc::clone(&gate);
            pool.execute(move || {
                inside.update(|state| state.waiting += 1);
                inside.wait_until(|state| state.open);
            });
            gate.wait_until(|state| state.waiting == held);
        }
        Held(gate)
    }

    pub(super) fn release(self) {
        self.0.update(|state| state.open = true);
    }
}

impl Gate {
    fn update(&self, change: impl FnOnce(&mut GateState)) {
        change(&mut self.state.lock().expect("nothing panics under the gate's lock"));
        self.changed.notify_all();
    }

    fn wait_until(&self, ready: impl Fn(&GateState) -> bool) {
        let state = self.state.lock().expect("nothing panics under the gate's lock");
        drop(self.changed.wait_while(state, |state| !ready(state)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_per_task_and_never_negative() {
        assert_eq!(per_task(1000, 4200, 100), 32.0);
        assert_eq!(per_task(4200, 1000, 100), 0.0);
    }
}
