//! A gate counts the threads inside one view: no more than the view allows.
//!
//! A task that runs in place on a thread that is inside already is a part of the task that waits for it.

use crate::ledger::fail;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

thread_local! {
    /// This thread runs a closure that was given back: it is in no view.
    static IS_OUTSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a closure that was given back, which is in no view any more.
pub(crate) fn outside<R>(run: impl FnOnce() -> R) -> R {
    struct Until(bool);
    impl Drop for Until {
        fn drop(&mut self) {
            IS_OUTSIDE.set(self.0);
        }
    }
    let _until = Until(IS_OUTSIDE.replace(true));
    run()
}

#[derive(Debug)]
pub(crate) struct Gate {
    most: usize,
    inside: Mutex<HashMap<ThreadId, usize>>,
}

impl Gate {
    pub(crate) fn new(most: usize) -> Arc<Gate> {
        Arc::new(Gate {
            most,
            inside: Mutex::default(),
        })
    }

    /// Whether it is a lane's.
    pub(crate) fn is_single(&self) -> bool {
        self.most == 1
    }

    pub(crate) fn enter(self: &Arc<Self>) -> Option<Inside> {
        if IS_OUTSIDE.get() {
            return None;
        }
        let me = std::thread::current().id();
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        *inside.entry(me).or_default() += 1;
        if inside.len() > self.most {
            fail(&format!(
                "{} threads inside a view of {}",
                inside.len(),
                self.most
            ));
        }
        Some(Inside(self.clone()))
    }
}

/// Until it is dropped, this thread is inside.
pub(crate) struct Inside(Arc<Gate>);

impl Drop for Inside {
    fn drop(&mut self) {
        let me = std::thread::current().id();
        let mut inside = self.0.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(depth) = inside.get_mut(&me) {
            *depth -= 1;
            if *depth == 0 {
                inside.remove(&me);
            }
        }
    }
}
