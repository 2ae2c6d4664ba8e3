//! What every verb asks before it makes a task: what it is, where it belongs, what comes along.
//!
//! In: what the task says of itself. Out: its class, its origin, its options made complete; and a word to the recorder when it
//! was accepted. Nothing is let in here.

use super::Executor;
use crate::Reason;
use crate::sync::Arc;
use crate::task::block::{Entry, Options, Origin};
use crate::task::home::HomeRef;
use crate::task::record::Arrival;
use crate::task::view::View;
use crate::task::watch::Limits;
use crate::task::{Class, Priority, here};
use crate::time::Tick;
use std::borrow::Cow;

impl Executor {
    /// What a submission needs beyond the common way: in a forked child it is refused; waiters go by a manual clock;
    /// decorators capture their context.
    #[cold]
    pub(crate) fn prepare(&self, mut options: Options) -> Result<Options, Reason> {
        if self.engine().is_forked() {
            return Err(Reason::Forked);
        }
        let engine = self.engine();
        let has_limits = options.expires_in.is_some() || options.limits != Limits::default();
        if has_limits && engine.is_adapter() {
            return Err(Reason::NoTimer);
        }
        if engine.clock.is_manual() {
            options.clock = Some(engine.clock.clone());
        }
        if !engine.hooks.decorators.is_empty() {
            options.contexts = Some(engine.hooks.decorators.capture());
        }
        Ok(options)
    }

    /// What a task submitted here is: of its own priority, or this executor's, or where the pool says so its parent's.
    pub(crate) fn class_of(&self, own: Option<Priority>) -> Class {
        if let Some(priority) = own {
            return self.class.with_priority(priority);
        }
        if !self.class.is_given() && self.engine().config.inherits_priority {
            let engine = self.engine();
            // One of the same pool, whatever part of it.
            let is_ours =
                |home: &HomeRef| std::ptr::eq(home, &raw const engine.home) || engine.part_at(home).is_some();
            let parent = here(|here| here.class_in(is_ours));
            if let Some(parent) = parent {
                return self.class.inheriting(parent.priority());
            }
        }
        self.class
    }

    /// As [`Executor::class_of`], of a task with options.
    pub(super) fn class_with(&self, options: &Options) -> Class {
        let class = self.class_of(options.priority);
        if options.is_shared { class.shared() } else { class }
    }

    #[inline]
    pub(super) fn entry<F, T>(&self, class: Class, with_handle: bool, options: Option<Options>, f: F) -> Entry
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Entry::new(self.origin(class), with_handle, self.measured(class, options), f)
    }

    /// Where a task made now belongs: for one task, which it must become.
    #[inline]
    pub(crate) fn origin(&self, class: Class) -> Origin {
        let origin = self.engine().origin(class);
        match self.own_view() {
            None => origin,
            Some(view) => Origin {
                home: View::lend(view.into_owned()),
                ..origin
            },
        }
    }

    /// Notes when a task of a listed view came, for a sample of them.
    #[inline]
    pub(crate) fn measured(&self, class: Class, options: Option<Options>) -> Option<Options> {
        match &self.view {
            Some(view) if view.is_measured() && !class.is_timed() => self.sampled(view, options),
            _ => options,
        }
    }

    #[inline(never)]
    fn sampled(&self, view: &Arc<View>, mut options: Option<Options>) -> Option<Options> {
        let listed = view.chain().find(|view| view.shown.is_some());
        if let Some(weight) = listed.and_then(|view| view.sample()) {
            let tick = self.engine().clock.tick();
            options.get_or_insert_default().arrival = Some(Arrival { tick, weight });
        }
        options
    }

    /// A copy of the task's name, where the recorder will want it.
    pub(crate) fn name_for_record(&self, options: &Options) -> Option<Cow<'static, str>> {
        self.engine().recording.as_ref()?;
        options.name.clone()
    }

    /// Where the pool records: a task of this type was accepted, which was brought at that time.
    pub(crate) fn note_submitted<F>(&self, class: Class, name: Option<&str>, at: Option<Tick>) {
        self.engine().note_submitted(at, |recording| {
            let room = &self.engine().room;
            let level = room.is_levelled().then(|| room.level_of(class));
            recording.subject(std::any::type_name::<F>(), 0, name, level)
        });
    }
}
