//! The ledger: what was made, run and dropped in one round.
//!
//! Each closure or future carries a [`Probe`], each result is a [`Value`]. The ledger fails the round at once when a body runs
//! twice, a probe is dropped twice, or a value arrives at a handle that is not its own; at the end of the round it tells what
//! was never dropped. A failure prints the seed and aborts the process, so that the supervisor sees it whatever thread it is on.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, AtomicUsize};

/// The most closures of one round.
const MOST: usize = 1 << 16;

const RAN: u8 = 1;
const DROPPED: u8 = 2;

/// The seed of the round that this process is in.
pub(crate) static SEED: AtomicU64 = AtomicU64::new(0);

/// The payload of each panic that the round makes itself: the number of the body that panicked, or [`HOOK`].
#[derive(Debug)]
pub(crate) struct Own(pub(crate) usize);

/// The number in panics of hooks, decorators and drops.
pub(crate) const HOOK: usize = usize::MAX;

/// Ends the process: the round has failed.
pub(crate) fn fail(what: &str) -> ! {
    eprintln!("chaos: seed {}: {what}", SEED.load(Relaxed));
    eprintln!("{}", std::backtrace::Backtrace::force_capture());
    std::process::abort();
}

/// From here on a panic that is not an [`Own`] fails the round.
pub(crate) fn allow_own_panics_only() {
    std::panic::set_hook(Box::new(|panic| {
        if panic.payload().downcast_ref::<Own>().is_none() {
            fail(&format!("a panic of the library: {panic}"));
        }
    }));
}

/// Fails unless a payload that the library handed out is one that the round made.
pub(crate) fn check_payload(payload: &(dyn Any + Send)) {
    if payload.downcast_ref::<Own>().is_none() {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        fail(&format!("a panic arrived with a payload that no body made: {text:?}"));
    }
}

#[derive(Debug)]
pub(crate) struct Ledger {
    slots: Box<[AtomicU8]>,
    next: AtomicUsize,
    values: AtomicI64,
}

impl Ledger {
    pub(crate) fn new() -> Arc<Ledger> {
        Arc::new(Ledger {
            slots: (0..MOST).map(|_| AtomicU8::new(0)).collect(),
            next: AtomicUsize::new(0),
            values: AtomicI64::new(0),
        })
    }

    /// Room for another closure, with a margin for those that bodies make.
    pub(crate) fn has_room(&self) -> bool {
        self.next.load(Relaxed) < MOST - 1024
    }

    pub(crate) fn made(&self) -> usize {
        self.next.load(Relaxed)
    }

    fn probe(self: &Arc<Self>) -> usize {
        let id = self.next.fetch_add(1, Relaxed);
        if id >= MOST {
            fail("the ledger is full: the round makes too many closures");
        }
        id
    }

    fn mark(&self, id: usize, bit: u8, what: &str) {
        if self.slots[id].fetch_or(bit, SeqCst) & bit != 0 {
            fail(&format!("closure {id} {what} twice"));
        }
    }

    pub(crate) fn has_run(&self, id: usize) -> bool {
        self.slots[id].load(SeqCst) & RAN != 0
    }

    pub(crate) fn is_dropped(&self, id: usize) -> bool {
        self.slots[id].load(SeqCst) & DROPPED != 0
    }

    /// The end of the round: everything that was made has been dropped.
    pub(crate) fn check(&self) {
        let made = self.made();
        let kept: Vec<usize> = (0..made).filter(|&id| !self.is_dropped(id)).collect();
        if !kept.is_empty() {
            fail(&format!("{} of {made} closures were never dropped: {kept:?}", kept.len()));
        }
        let values = self.values.load(SeqCst);
        if values != 0 {
            fail(&format!("{values} values were never dropped, although no handle is left"));
        }
    }
}

/// What is done when a closure or a value is dropped.
pub(crate) type AtDrop = Option<Box<dyn FnOnce() + Send>>;

/// In each closure and future: its number, and what it does when it is dropped.
pub(crate) struct Probe {
    pub(crate) id: usize,
    ledger: Arc<Ledger>,
    at_drop: AtDrop,
}

impl Probe {
    pub(crate) fn new(ledger: &Arc<Ledger>, at_drop: AtDrop) -> Probe {
        Probe {
            id: ledger.probe(),
            ledger: ledger.clone(),
            at_drop,
        }
    }

    /// The body begins.
    pub(crate) fn run(&self) {
        if self.ledger.is_dropped(self.id) {
            fail(&format!("closure {} runs after its drop", self.id));
        }
        self.ledger.mark(self.id, RAN, "ran");
    }

    /// The end of the body: its closure is dropped, then its value is made.
    pub(crate) fn into_value(self, at_drop: AtDrop) -> Value {
        let (id, ledger) = (self.id, self.ledger.clone());
        // Not at the end of the body: a drop that panics there would leak the value that is being returned.
        drop(self);
        ledger.values.fetch_add(1, SeqCst);
        Value { id, ledger, at_drop }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.ledger.mark(self.id, DROPPED, "was dropped");
        at_drop(self.at_drop.take());
    }
}

/// What each body returns: the number of its closure.
pub(crate) struct Value {
    pub(crate) id: usize,
    ledger: Arc<Ledger>,
    at_drop: AtDrop,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.ledger.values.fetch_sub(1, SeqCst);
        at_drop(self.at_drop.take());
    }
}

/// A second panic while one unwinds would abort, as everywhere in Rust.
fn at_drop(act: AtDrop) {
    if let Some(act) = act
        && !std::thread::panicking()
    {
        act();
    }
}

/// Something on the caller's stack that closures borrow: a touch after its end fails the round.
pub(crate) struct Borrowed(AtomicU64);

const ALIVE: u64 = 0x1eaf_ca11_ab1e_feed;

impl Borrowed {
    pub(crate) fn new() -> Borrowed {
        Borrowed(AtomicU64::new(ALIVE))
    }

    pub(crate) fn touch(&self) {
        if self.0.load(SeqCst) != ALIVE {
            fail("a borrow was touched after the call that lent it had returned");
        }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.0.store(0, SeqCst);
    }
}
