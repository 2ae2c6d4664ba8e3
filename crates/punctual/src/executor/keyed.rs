//! Tasks of views on their way in, and those of a key above all.
//!
//! In: closures. Out: blocks, in the queue or in their view's line. An executor of a key has no view, only the key: for each
//! task the view is looked up where the pool keeps it, and the task goes in while that place is locked. So the executor
//! costs no share of the view, and the view's memory, which a worker wrote last, is on its way while the block is made.
//!
//! Locks: a shard of the keys, then the producers', then a gate's.

use super::Executor;
use crate::pool::admit::Refused;
use crate::pool::keys::Key;
use crate::sync::Arc;
use crate::task::block::{Entry, Header, Origin};
use crate::task::view::{ANY_NUMBER, Kind, Plan, View};
use std::borrow::Cow;
use std::ptr::NonNull;

/// The block of a task, and whether a worker was woken for it.
type Entered = (NonNull<Header>, Result<bool, Refused<Entry>>);

impl Executor {
    /// The view its tasks are in; of a key, made now if there is none.
    pub(crate) fn own_view(&self) -> Option<Cow<'_, Arc<View>>> {
        match self.key {
            None => self.view.as_ref().map(Cow::Borrowed),
            Some(key) => Some(Cow::Owned(self.find(key))),
        }
    }

    /// The view of a lane's executor.
    pub(crate) fn lanes_view(&self) -> Option<&Arc<View>> {
        self.view.as_ref()
    }

    fn find(&self, key: Key) -> Arc<View> {
        self.engine().keys.with(key, || self.view_of_key(), Arc::clone)
    }

    fn view_of_key(&self) -> Arc<View> {
        let plan = Plan {
            kind: Kind::Keyed,
            limit: 1,
            cap: ANY_NUMBER,
            name: None,
        };
        View::new(self.engine().home.clone(), self.view.clone(), plan)
    }

    /// The block of a task of this view, without options.
    #[inline(always)]
    fn entry_of<F, T>(&self, view: &Arc<View>, with_handle: bool, f: F) -> Entry
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let origin = Origin {
            home: View::address(view),
            ..self.engine().origin(self.class)
        };
        let entry = Entry::new(origin, with_handle, None, f);
        // After the block: until now the view's memory was on its way.
        View::share(view);
        entry
    }

    /// Makes a task without options, and lets it in. Inside its callers: what it returns is large, and mostly not looked at.
    #[inline(always)]
    pub(super) fn enter_view<F, T>(&self, with_handle: bool, f: F) -> Entered
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // What is measured is a matter of what a key is inside of.
        let is_measured = self.view.as_ref().is_some_and(|view| view.is_measured());
        let key = match (self.key, &self.view) {
            (Some(key), _) if !is_measured => key,
            (None, Some(view)) if !is_measured => {
                View::prefetch(view);
                let entry = self.entry_of(view, with_handle, f);
                return (entry.pointer(), self.engine().admit_to_view(view, entry));
            }
            _ => {
                let entry = self.entry(self.class, with_handle, None, f);
                let block = entry.pointer();
                let admitted = match &self.view {
                    Some(view) if self.key.is_none() => self.engine().admit_to_view(view, entry),
                    _ => self.engine().admit_any(self.class, entry),
                };
                return (block, admitted);
            }
        };
        let enter = |view: &Arc<View>| {
            let entry = self.entry_of(view, with_handle, f);
            (entry.pointer(), self.engine().admit_if_open(view, entry))
        };
        match self.engine().keys.with(key, || self.view_of_key(), enter) {
            (block, Ok(is_in)) => (block, Ok(is_in && self.engine().idle.notify())),
            // It may have to wait, which nobody does under that lock.
            (block, Err(entry)) => (block, self.engine().admit_to_own_view(entry)),
        }
    }
}
