//! Loom models of a look at tasks that end meanwhile.
//!
//! Each runs the product's own runner and blocks. Loom fails a model in which a block is touched after it was freed, or its
//! value is dropped twice or never. The light half of the asymmetric fence is an ordinary one here.

use crate::models::model;
use crate::sync::asymmetric::IS_MODELLED;
use crate::task::models::{Books, entry, work_visibly};
use crate::task::shown::Shown;
use crate::task::watch::Visible;
use loom::sync::Arc as Counted;
use loom::thread;
use std::sync::Arc;

fn with_fences(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    IS_MODELLED.set(true);
    model(preemptions, f);
    IS_MODELLED.set(false);
}

#[test]
fn a_task_that_ends_while_somebody_looks() {
    with_fences(3, || {
        let home = Books::new();
        let visible = Arc::new(Visible::new());
        let value = Counted::new(());
        let (entry, handle) = entry(&home, {
            let value = value.clone();
            move || value
        });
        // Nobody but the task and whoever looks holds it.
        drop(handle);
        let looker = thread::spawn({
            let visible = visible.clone();
            move || {
                for seen in visible.stage.look() {
                    let task = seen.task.expect("it has a block");
                    // Its memory, also after the worker has let go.
                    assert!(task.header().side().is_some());
                }
            }
        });
        work_visibly(&home, entry, &visible);
        looker.join().unwrap();
    });
}

#[test]
fn a_nested_task_that_ends_while_somebody_looks() {
    with_fences(2, || {
        let visible = Arc::new(Visible::new());
        let looker = thread::spawn({
            let visible = visible.clone();
            move || drop(visible.stage.look())
        });
        // A frame on the stack: loom's words in it are dropped with it, and a look at them after that fails.
        let nested = Shown::new();
        visible.stage.enter(&nested);
        nested.begin_closure(None);
        nested.end();
        visible.stage.leave(&nested);
        drop(nested);
        looker.join().unwrap();
    });
}
