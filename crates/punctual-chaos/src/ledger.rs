//! The ledger: what was made, run and dropped in one round.
//!
//! Each closure or future carries a [`Probe`], each result is a [`Value`]. The ledger fails the round at once when a body runs
//! twice, a probe is dropped twice, or a value arrives at a handle that is not its own; at the end of the round it tells what
//! was never dropped. A failure prints the seed and aborts the process, so that the supervisor sees it whatever thread it is on.

use punctual::{Control, Pool, Stats};
use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// The most closures of one round.
const MOST: usize = 1 << 16;

const RAN: u8 = 1;
const DROPPED: u8 = 2;
const VALUE_MADE: u8 = 4;
const VALUE_DROPPED: u8 = 8;

thread_local! {
    /// The action that this thread is in; tasks make closures too.
    pub(crate) static DOING: Cell<&'static str> = const { Cell::new("a task") };
}

/// The seed of the round that this process is in.
pub(crate) static SEED: AtomicU64 = AtomicU64::new(0);

/// The pool of the round, for the report of a failure.
pub(crate) static POOL: Mutex<Option<Control>> = Mutex::new(None);

/// A process that has failed stays for a debugger.
pub(crate) static HOLD: AtomicBool = AtomicBool::new(false);

/// The payload of each panic that the round makes itself.
#[derive(Debug)]
pub(crate) struct Own;

/// The error of schedules that fail: a run that was taken out and run gives it as its payload.
pub(crate) const FAILURE: &str = "fails now and then";

/// Ends the process: the round has failed.
pub(crate) fn fail(what: &str) -> ! {
    eprintln!("chaos: seed {}: {what}", SEED.load(Relaxed));
    let control = POOL.lock().map_or(None, |pool| pool.clone());
    // On a thread of its own: it may hang on what the round failed with.
    let (tell, told) = channel();
    std::thread::spawn(move || drop(tell.send(control.and_then(|control| control.stats()))));
    if let Ok(Some(stats)) = told.recv_timeout(Duration::from_secs(2)) {
        let Stats {
            state,
            threads,
            idle,
            spare,
            keepers,
            active,
            queued,
            suspended,
            pending_timers,
            ..
        } = stats;
        eprintln!("pool: {state:?}, {threads} threads, {idle} idle, {spare} spare, {keepers} watchdogs");
        eprintln!("tasks: {active} active, {queued} queued, {suspended} suspended, {pending_timers} delayed");
    }
    eprintln!("{}", std::backtrace::Backtrace::force_capture());
    while HOLD.load(Relaxed) {
        eprintln!("held for a debugger: process {}", std::process::id());
        std::thread::park();
    }
    std::process::abort();
}

/// Drops what a call gave: here it is only called.
pub(crate) fn ignore<T>(_: T) {}

/// Waits for the end of a pool that must end; the watch of the round tells if it does not.
pub(crate) fn await_the_end(pool: &Pool) {
    if !pool.await_termination(Duration::from_secs(3_600)) {
        fail("a pool that was ended has not terminated");
    }
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
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    if payload.downcast_ref::<Own>().is_none() && text != Some(FAILURE) {
        fail(&format!(
            "a panic arrived with a payload that no body made: {text:?}"
        ));
    }
}

#[derive(Debug)]
pub(crate) struct Ledger {
    slots: Box<[AtomicU8]>,
    makers: Box<[OnceLock<&'static str>]>,
    /// The last choice of each body, for the report of a lock-up.
    choices: Box<[AtomicU8]>,
    next: AtomicUsize,
}

impl Ledger {
    pub(crate) fn new() -> Arc<Ledger> {
        Arc::new(Ledger {
            slots: (0..MOST).map(|_| AtomicU8::new(0)).collect(),
            makers: (0..MOST).map(|_| OnceLock::new()).collect(),
            choices: (0..MOST).map(|_| AtomicU8::new(0)).collect(),
            next: AtomicUsize::new(0),
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
        let _ = self.makers[id].set(DOING.get());
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

    /// What a body is about to do.
    pub(crate) fn note(&self, id: usize, choice: u8) {
        self.choices[id].store(choice, Relaxed);
    }

    /// The bodies that have begun and not ended, with their makers and their last choices.
    pub(crate) fn begun(&self) -> Vec<String> {
        let is_begun = |id: &usize| self.has_run(*id) && !self.is_dropped(*id);
        let text = |id: usize| {
            let maker = self.makers[id].get().unwrap_or(&"?");
            format!("{id} of {maker} at choice {}", self.choices[id].load(Relaxed))
        };
        (0..self.made()).filter(is_begun).map(text).collect()
    }

    /// The end of the round: everything that was made has been dropped.
    pub(crate) fn check(&self) {
        self.check_that("closures", |slot| slot & DROPPED == 0);
        self.check_that("values", |slot| slot & (VALUE_MADE | VALUE_DROPPED) == VALUE_MADE);
    }

    fn check_that(&self, what: &str, is_kept: impl Fn(u8) -> bool) {
        let kept: Vec<String> = (0..self.made())
            .filter(|&id| is_kept(self.slots[id].load(SeqCst)))
            .map(|id| format!("{id} of {}", self.makers[id].get().unwrap_or(&"?")))
            .collect();
        if !kept.is_empty() {
            fail(&format!(
                "{} {what} were never dropped: {}",
                kept.len(),
                kept.join(", ")
            ));
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
        ledger.mark(id, VALUE_MADE, "made a value");
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
        self.ledger.mark(self.id, VALUE_DROPPED, "had its value dropped");
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
