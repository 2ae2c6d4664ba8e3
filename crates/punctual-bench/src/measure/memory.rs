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
    let figures = growth(tasks, "execute", "execute_heap", || {
        for i in 0..tasks {
            pool.execute(move || ran(i));
        }
    });
    held.release();
    tally.wait_for(tasks);
    figures
}

pub(crate) fn submit<P: Contender>(pool: &'static P, tasks: u64) -> Figures {
    let mut handles = touched_places::<P::Handle>(tasks);
    let held = Held::workers_of(pool);
    let figures = growth(tasks, "submit", "submit_heap", || {
        for (i, place) in (0..tasks).zip(&mut handles) {
            *place = Some(pool.submit(move || black_box(i)));
        }
    });
    held.release();
    for handle in handles.into_iter().flatten() {
        P::join(handle);
    }
    figures
}

fn growth(tasks: u64, resident: &'static str, heap: &'static str, fill: impl FnOnce()) -> Figures {
    let read = || proc::resident_bytes().expect("/proc/self/statm is readable");
    let (resident_before, heap_before) = (read(), alloc::live_bytes());
    fill();
    let per_task = |after: u64, before: u64| after.saturating_sub(before) as f64 / tasks as f64;
    let mut figures = vec![(resident, per_task(read(), resident_before))];
    if let (Some(after), Some(before)) = (alloc::live_bytes(), heap_before) {
        figures.push((heap, per_task(after, before)));
    }
    figures
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
struct Held(Arc<Gate>);

impl Held {
    /// One holding task at a time, each waited for: a worker that takes several tasks in one go would otherwise sit
    /// on the second one while it stands in the first.
    fn workers_of<P: Contender>(pool: &'static P) -> Self {
        let gate = Arc::new(Gate::default());
        for held in 1..=WORKERS {
            let inside = Arc::clone(&gate);
            pool.execute(move || {
                inside.update(|state| state.waiting += 1);
                inside.wait_until(|state| state.open);
            });
            gate.wait_until(|state| state.waiting == held);
        }
        Held(gate)
    }

    fn release(self) {
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
