//! Loom models of a look at tasks that end meanwhile.
//!
//! Each runs the product's own runner and blocks. Loom fails a model in which a block is touched after it was freed, or its
//! value is dropped twice or never. The light half of the asymmetric fence is an ordinary one here.

use crate::models::model_with_fences;
use crate::task::Class;
use crate::task::block::{Entry, Origin};
use crate::task::models::{Books, entry, work_visibly};
use crate::task::record::{Boxed, Payload};
use crate::task::shown::Shown;
use crate::task::watch::Visible;
use loom::sync::Arc as Counted;
use loom::thread;
use std::sync::Arc;

#[test]
fn a_task_that_ends_while_somebody_looks() {
    model_with_fences(3, || {
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

/// A future gives up what those who could wake it hold of its block, as soon as it has ended and there is none of them; and
/// may be looked at after that, until it is hidden. The look is then one more, and the first again: red where it takes the
/// share for given ([`Waking::come`](crate::task::waking::Waking::come)).
#[test]
fn a_detached_future_that_ends_while_somebody_looks() {
    model_with_fences(2, || {
        let home = Books::new();
        let visible = Arc::new(Visible::new());
        let held = Counted::new(());
        let origin = Origin {
            class: Class::ROOT.future(),
            fork: 0,
            home: home.home(),
        };
        let entry = Entry::future(origin, false, None, (), async move { drop(held) });
        let looker = thread::spawn({
            let visible = visible.clone();
            move || {
                let seen = visible.stage.look();
                let tasks: Vec<_> = seen.into_iter().filter_map(|seen| seen.task).collect();
                thread::yield_now();
                for task in tasks {
                    let after = task.header().state.load();
                    assert!(!after.is_everyone_gone(), "its share is gone: {after:?}");
                }
            }
        });
        work_visibly(&home, entry, &visible);
        looker.join().unwrap();
    });
}

#[test]
fn a_nested_task_that_ends_while_somebody_looks() {
    model_with_fences(2, || {
        let visible = Arc::new(Visible::new());
        let looker = thread::spawn({
            let visible = visible.clone();
            move || {
                for seen in visible.stage.look() {
                    assert_eq!(seen.type_name, "nothing", "a frame that was left is looked at");
                }
            }
        });
        let nested = Shown::new();
        nested.begin_closure(None);
        visible.stage.enter(&nested);
        visible.stage.leave(&nested);
        // Its memory is used for something else from here on.
        nested.begin_closure(Some(&<Boxed<fn()> as Payload>::TABLE));
        looker.join().unwrap();
    });
}
