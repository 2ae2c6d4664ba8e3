//! What few tasks need, kept out of the block until somebody asks.
//!
//! In: a name, a token, a `TaskRef`, a manual clock, a captured context, a failure nobody has read. Out: the same, for as long as the
//! block lives. A block has no room for these; the first who needs one makes the side record, and the block's link
//! leads to it instead of to the home (which the side record then remembers).

use super::block::{Delay, Options, Reference};
use super::decorate::Contexts;
use super::home::HomeRef;
use super::hooks::Hooks;
use super::record::Arrival;
use super::token::Token;
use super::watch::Limits;
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use crate::sync::{Arc, Lock, Weak};
use crate::time::{Clock, Tick};
use std::borrow::Cow;
use std::panic::Location;
use std::ptr::NonNull;
use std::time::Duration;

/// See the module's header.
pub(crate) struct Side {
    pub(super) home: *const HomeRef,
    /// Given at submission or never.
    pub(crate) name: Option<Cow<'static, str>>,
    /// The pool's clock where that is not the system's: handles wait on it without reaching for the engine.
    pub(crate) clock: Option<Clock>,
    /// How long it may wait in the queue.
    pub(crate) expires_in: Option<Duration>,
    pub(crate) limits: Limits,
    /// Of a view's task whose wait is measured.
    pub(crate) arrival: Option<Arrival>,
    pub(crate) site: Option<&'static Location<'static>>,
    /// When it was made, of one with a name.
    pub(crate) born: Option<Tick>,
    pub(crate) id: u64,
    /// How often it was moved inside its queue: the record of that number counts. Changes under both locks of the room.
    pub(crate) turn: AtomicU64,
    pub(crate) more: Lock<More>,
}

/// The part that changes.
#[derive(Default)]
pub(crate) struct More {
    pub(crate) token: Option<Token>,
    /// What the pool's decorators captured; taken out by whoever runs the task.
    pub(crate) contexts: Option<Contexts>,
    /// What all `TaskRef`s share, while there are any.
    pub(crate) reference: Weak<Reference>,
    /// Where the end of its patience lies in the timer store.
    pub(crate) expiry: Expiry,
    /// Who to tell of a panic that the handle's owner never looked at.
    pub(crate) unread: Option<Arc<Hooks>>,
}

impl Side {
    pub(super) fn new(home: *const HomeRef, options: Options) -> Self {
        Side {
            home,
            name: options.name,
            clock: options.clock,
            expires_in: options.expires_in,
            limits: options.limits,
            arrival: options.arrival,
            site: options.site,
            born: options.born,
            id: next_id(),
            turn: AtomicU64::new(0),
            more: Lock::new(More {
                token: options.token,
                contexts: options.contexts,
                ..More::default()
            }),
        }
    }
}

/// Of a task that may not wait for ever; changes under the timers' lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Expiry {
    #[default]
    NotYet,
    /// The timer store has it, and this is what it knows about it.
    Waiting(NonNull<Delay>),
    /// It waits no more, or the time has come.
    Over,
}

/// A task's number: made when somebody asks for it, unique in the process.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}
