//! Loom models of a block: claim, outcome, waker, cancel, and who frees.
//!
//! Each runs the product's own `Entry`, `TaskHandle` and `TaskRef`. The closure and its value hold a loom `Arc`, so
//! loom fails a model in which either is dropped twice or never; the payload lies in a loom cell, so it fails when two
//! sides touch it at once.

#![allow(unsafe_code)]

use super::block::{Entry, Header, Origin, Reference};
use super::home::{Destination, Forgotten, Home, HomeRef, Removal, Removed};
use super::state::{Claim, End, Resolved, Signal, State};
use super::view::{ANY_NUMBER, Kind, Plan, View};
use super::{Class, Outcome, TaskInfo};
use crate::handle::{Cancel, TaskHandle};
use crate::models::model;
use crate::observe::counters::Counters;
use crate::observe::{Explanation, Place};
use crate::sync::Lock;
use crate::task::alarm::Alarm;
use crate::task::hooks::Hooks;
use crate::task::record::{Slot, Woken};
use crate::task::run::Runner;
use crate::task::watch::Visible;
use crate::task::{Frame, Host};
use crate::time::{Clock, Tick};
use loom::sync::Arc as Counted;
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::thread;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// A home that only counts.
pub(super) struct Books {
    me: HomeRef,
    removed: AtomicUsize,
    /// Futures that were woken.
    woken: Lock<Vec<Entry>>,
}

impl Books {
    pub(super) fn new() -> Arc<Self> {
        Arc::new_cyclic(|me: &std::sync::Weak<Books>| Books {
            me: HomeRef::new(me.clone()),
            removed: AtomicUsize::new(0),
            woken: Lock::new(Vec::new()),
        })
    }

    pub(super) fn home(&self) -> *const HomeRef {
        &raw const self.me
    }

    /// Woken futures that wait for a worker.
    pub(super) fn waiting(&self) -> usize {
        self.woken.lock().len()
    }
}

impl Home for Books {
    fn remove(&self, _: NonNull<Header>, _: Class, how: Removal) -> Removed {
        assert_eq!(how, Removal::Cancelled);
        self.removed.fetch_add(1, SeqCst);
        Removed::FROM_QUEUE
    }
    fn forget(&self, _: NonNull<Header>) -> Option<Forgotten> {
        None
    }
    fn is_told_of_ends(&self) -> bool {
        false
    }
    fn tell_removed(&self, _: &TaskInfo<'_>, _: Outcome<'_>) {}
    fn forget_expiry(&self, _: &Header) {}
    fn look_at(&self, _: Tick) {}
    fn relocate(&self, _: &Arc<Reference>, _: Destination) -> bool {
        false
    }
    fn explain(&self, _: &Header, _: Option<Duration>, _: bool) -> Explanation {
        Explanation::of(Place::Queue)
    }
    fn view_name(&self, _: &Arc<View>) -> Arc<str> {
        "view".into()
    }
    fn removed(&self, _: bool) {}
    fn is_stopping(&self) -> bool {
        false
    }
    fn leave_view(&self, _: &Arc<View>, _: bool) {}
    fn pause_in_view(&self, _: &Arc<View>) {}
    fn woken(&self, entry: Entry) {
        self.woken.lock().push(entry);
    }
    fn forget_view(&self, _: &View) {}
    fn still_woken(&self, entry: Entry) {
        self.woken.lock().push(entry);
    }
    fn set_alarm(&self, _: &Arc<Alarm>) {}
    fn clear_alarm(&self, _: &Arc<Alarm>) {}
    fn list(&self, _: NonNull<Header>) -> bool {
        true
    }
    fn unlist(&self, _: NonNull<Header>) {}
}

pub(super) fn entry<T: Send + 'static>(
    home: &Arc<Books>,
    f: impl FnOnce() -> T + Send + 'static,
) -> (Entry, TaskHandle<T>) {
    let entry = Entry::new(
        Origin {
            class: Class::ROOT,
            fork: 0,
            home: &raw const home.me,
        },
        true,
        None,
        f,
    );
    // SAFETY: made with a handle's share, for a closure that returns `T`.
    let handle = unsafe { TaskHandle::new(entry.pointer(), true) };
    (entry, handle)
}

/// What a worker does with the futures that were woken, until there is none.
pub(super) fn work_woken(home: &Books) {
    loop {
        let woken = home.woken.lock().pop();
        let Some(entry) = woken else { return };
        run(
            home,
            Slot::holding(entry.header().class, Woken(entry)),
            Hooks::default(),
        );
    }
}

/// What a worker does with an entry it popped.
pub(super) fn work(home: &Books, entry: Entry, hooks: Hooks) {
    match entry.header().state.claim() {
        Claim::Lost => entry.let_go(),
        Claim::Won => run(home, Slot::holding(Class::ROOT, entry), hooks),
    }
}

fn run(home: &Books, slot: Slot, hooks: Hooks) {
    run_visibly(home, slot, hooks, &Visible::new());
}

/// As a worker whose tasks others see there.
fn run_visibly(home: &Books, mut slot: Slot, hooks: Hooks, visible: &Visible) {
    let clock = Clock::system();
    let counters = Counters::new();
    let is_in_section = std::cell::Cell::new(false);
    let host = Host {
        home: &home.me,
        identity: 1,
        pool: 0,
        aside: &counters,
        give_away: &|| (),
        visible,
        is_in_section: &is_in_section,
    };
    let frame = Frame::of_worker(host, &clock);
    let hooks = Arc::new(hooks);
    frame.enter(|| {
        let runner = Runner {
            frame: &frame,
            hooks: &hooks,
            home,
            counters: &counters,
            watched: hooks.watch_tasks(),
            names: None,
            tape: None,
            again: None,
            notes: hooks.watch_tasks(),
        };
        runner.run(&mut slot);
    });
}

/// What a worker does with an entry it popped, where others see it.
pub(super) fn work_visibly(home: &Books, entry: Entry, visible: &Visible) {
    assert!(entry.header().state.claim() == Claim::Won, "nobody else wants it");
    run_visibly(home, Slot::holding(Class::ROOT, entry), Hooks::default(), visible);
}

#[test]
fn one_claim_wins() {
    model(3, || {
        let home = Books::new();
        let (entry, handle) = entry(&home, || ());
        let other = handle.task_ref();
        let canceller = thread::spawn(move || usize::from(other.remove()));
        let mine = usize::from(handle.cancel() == Cancel::Removed);
        assert_eq!(mine + canceller.join().unwrap(), 1);
        entry.let_go();
        assert_eq!(home.removed.load(SeqCst), 1);
    });
}

#[test]
fn join_sees_the_value() {
    model(3, || {
        let home = Books::new();
        let value = Counted::new(7);
        let (entry, handle) = entry(&home, move || value);
        let worker = thread::spawn(move || work(&home, entry, Hooks::default()));
        assert_eq!(*handle.join().unwrap(), 7);
        worker.join().unwrap();
    });
}

#[test]
fn await_is_woken() {
    model(3, || {
        let home = Books::new();
        let value = Counted::new(7);
        let (entry, handle) = entry(&home, move || value);
        let worker = thread::spawn(move || work(&home, entry, Hooks::default()));
        assert_eq!(*loom::future::block_on(handle).unwrap(), 7);
        worker.join().unwrap();
    });
}

#[test]
fn cancel_meets_run() {
    model(3, || {
        let home = Books::new();
        let runs = Arc::new(AtomicUsize::new(0));
        let (captured, count) = (Counted::new(()), runs.clone());
        let (entry, handle) = entry(&home, move || {
            count.fetch_add(1, SeqCst);
            captured
        });
        let books = home.clone();
        let worker = thread::spawn(move || work(&books, entry, Hooks::default()));
        let cancel = handle.cancel();
        worker.join().unwrap();
        let runs = runs.load(SeqCst);
        let result = handle.join();
        match cancel {
            Cancel::Removed => assert_eq!((runs, home.removed.load(SeqCst)), (0, 1)),
            Cancel::Signalled => assert_eq!(runs, 1),
            Cancel::TooLate => assert_eq!((runs, result.is_ok()), (1, true)),
        }
        if cancel != Cancel::TooLate {
            assert!(result.unwrap_err().is_cancelled());
        }
    });
}

/// What a task borrows: its lender and the task touch it in turn, or loom objects.
struct Lent(loom::cell::UnsafeCell<u32>);

// SAFETY: that no two touch it at once is what the model shows.
unsafe impl Sync for Lent {}
// SAFETY: a number.
unsafe impl Send for Lent {}

/// A branch of `join` in a lane that is disposed of, at whatever step its worker is: when its outcome is there the lender has
/// all it lent to itself, and the body ran once or never. (Resolved by the canceller at once, as other tasks are, it fails; and so
/// it does if the runner or the canceller does not look at what the other has done.)
#[test]
fn a_borrower_is_over_when_its_closure_is_gone() {
    model(2, || {
        let home = Books::new();
        let plan = Plan {
            kind: Kind::Lane,
            limit: 1,
            cap: ANY_NUMBER,
            name: None,
        };
        let view = View::new(home.me.clone(), None, plan);
        let origin = Origin {
            class: Class::ROOT.viewed(),
            fork: 0,
            home: View::lend(view),
        };
        let lent = Arc::new(Lent(loom::cell::UnsafeCell::new(0)));
        let (captured, borrowed) = (Counted::new(()), Touches(lent.clone()));
        let body = move || {
            borrowed.touch(1);
            drop(captured);
        };
        // SAFETY: what it borrows is shared; whether the lender could end it is what is shown below.
        let entry = unsafe { Entry::scoped(origin, true, None, body) };
        // SAFETY: made with a handle's share, for a closure that returns `()`.
        let handle = unsafe { TaskHandle::<()>::new(entry.pointer(), true) };
        let watcher = handle.task_ref();
        let worker = thread::spawn(move || work(&home, entry, Hooks::default()));
        let canceller = thread::spawn(move || watcher.cancel());
        let outcome = handle.join();
        // SAFETY: the model's question.
        let runs = lent.0.with_mut(|lent| unsafe { *lent });
        assert_eq!(outcome.is_ok(), runs == 1, "{runs}");
        worker.join().unwrap();
        let cancel = canceller.join().unwrap();
        if outcome.is_err() {
            assert_ne!(cancel, Cancel::TooLate);
        }
    });
}

/// A closure's hold on what it borrows: it touches that when it runs and when it is dropped.
struct Touches(Arc<Lent>);

impl Touches {
    fn touch(&self, more: u32) {
        // SAFETY: the model's question.
        self.0.0.with_mut(|lent| unsafe { *lent += more });
    }
}

impl Drop for Touches {
    fn drop(&mut self) {
        self.touch(0);
    }
}

#[test]
fn last_one_frees() {
    model(3, || {
        let home = Books::new();
        let value = Counted::new(());
        let (entry, handle) = entry(&home, move || value);
        let watcher = handle.task_ref();
        let worker = thread::spawn(move || work(&home, entry, Hooks::default()));
        let other = thread::spawn(move || drop(watcher));
        drop(handle);
        worker.join().unwrap();
        other.join().unwrap();
    });
}

/// The handle goes while the task ends, and a reference stays: whichever of the two is later drops the value, or the panic's
/// payload.
#[test]
fn a_reference_keeps_no_result() {
    for is_panic in [false, true] {
        model(3, move || {
            let home = Books::new();
            let seen = Counted::new(());
            let value = seen.clone();
            let (entry, handle) = entry(&home, move || {
                if is_panic {
                    std::panic::resume_unwind(Box::new(value));
                }
                value
            });
            let watcher = handle.task_ref();
            let worker = thread::spawn(move || work(&home, entry, Hooks::default()));
            drop(handle);
            worker.join().unwrap();
            assert_eq!(Counted::strong_count(&seen), 1, "the reference keeps it");
            drop(watcher);
        });
    }
}

#[test]
fn unread_failure_is_told_once() {
    std::panic::set_hook(Box::new(|_| ()));
    model(3, || {
        let home = Books::new();
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        let hooks = Hooks {
            failure: Some(Box::new(move |_, outcome| {
                assert!(matches!(outcome, Outcome::Panicked(_)));
                count.fetch_add(1, SeqCst);
            })),
            ..Hooks::default()
        };
        let (entry, handle) = entry(&home, || -> () { std::panic::panic_any(7) });
        let worker = thread::spawn(move || work(&home, entry, hooks));
        drop(handle);
        worker.join().unwrap();
        assert_eq!(told.load(SeqCst), 1);
    });
}

#[test]
fn signal_meets_a_token_being_made() {
    model(3, || {
        let home = Books::new();
        let seen = Arc::new(std::sync::Mutex::new(None));
        let made = seen.clone();
        let (entry, handle) = entry(&home, move || {
            let token = crate::task::current().unwrap().token();
            *made.lock().unwrap() = Some(token);
        });
        let watcher = handle.task_ref();
        let worker = thread::spawn(move || work(&home, entry, Hooks::default()));
        let cancel = watcher.cancel();
        worker.join().unwrap();
        // Either the canceller found the token, or its maker saw the signal: a token that stays quiet was missed by both.
        if cancel == Cancel::Signalled {
            let token = seen.lock().unwrap().take().expect("a signalled task ran");
            assert!(token.is_cancelled());
            assert!(handle.join().unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn two_waiters_both_wake() {
    model(3, || {
        let home = Books::new();
        let (entry, handle) = entry(&home, || 7);
        let handle = Arc::new(handle);
        let other = handle.clone();
        let waiter = thread::spawn(move || other.wait());
        work(&home, entry, Hooks::default());
        handle.wait();
        waiter.join().unwrap();
    });
}

/// What a task's home is to whoever looks at it: there until the outcome is fixed, and then gone.
struct Gone(loom::cell::UnsafeCell<()>);

// SAFETY: loom itself fails the model in which two touch the cell at once.
unsafe impl Sync for Gone {}
// SAFETY: as above.
unsafe impl Send for Gone {}

/// Whoever is on his way to a task's home without a claim holds up the outcome, and so the home's end: here the home is a
/// cell that whoever fixes the outcome writes after that.
#[test]
fn a_pin_holds_up_the_end_of_the_home() {
    model(3, || {
        let state = Arc::new(State::new(true, false));
        let home = Arc::new(Gone(loom::cell::UnsafeCell::new(())));
        let (seen, reached) = (state.clone(), home.clone());
        let visitor = thread::spawn(move || seen.pin(|| reached.0.with(|_| ())).is_some());
        assert_eq!(state.claim(), Claim::Won);
        assert!(matches!(state.resolve(End::Finished, false), Resolved::Fixed(_)));
        home.0.with_mut(|_| ());
        visitor.join().unwrap();
        assert!(state.pin(|| ()).is_none(), "it has ended");
    });
}

/// The same where a canceller fixes the outcome of a running task: only then may its runner go on to the end.
#[test]
fn a_pin_holds_up_a_signal_as_well() {
    model(2, || {
        let state = Arc::new(State::new(true, false));
        let home = Arc::new(Gone(loom::cell::UnsafeCell::new(())));
        let (seen, reached) = (state.clone(), home.clone());
        let visitor = thread::spawn(move || seen.pin(|| reached.0.with(|_| ())).is_some());
        let asked = state.clone();
        let canceller = thread::spawn(move || matches!(asked.signal(), Signal::Signalled(_)));
        assert_eq!(state.claim(), Claim::Won);
        let is_ours = matches!(state.resolve(End::Finished, false), Resolved::Fixed(_));
        home.0.with_mut(|_| ());
        visitor.join().unwrap();
        assert_ne!(canceller.join().unwrap(), is_ours, "one of them fixed it");
    });
}

/// A canceller that does not own the home takes the task out of the store only where nobody is on his way to the home, and
/// later nobody sets out; otherwise it claims, and the outcome waits.
#[test]
fn a_cancel_in_the_store_meets_a_pin() {
    for has_to_be_dropped in [false, true] {
        model(3, move || {
            let state = Arc::new(State::new(true, false));
            state.mark_delayed();
            let home = Arc::new(Gone(loom::cell::UnsafeCell::new(())));
            let (seen, reached) = (state.clone(), home.clone());
            let visitor = thread::spawn(move || seen.pin(|| reached.0.with(|_| ())).is_some());
            let after = state.cancel_delayed(has_to_be_dropped);
            assert!(after.is_none_or(|after| after.is_resolved() != has_to_be_dropped));
            if after.is_none() {
                assert_eq!(state.claim_to_remove(), Claim::Won);
                let _ = state.resolve(End::Cancelled, true);
            }
            home.0.with_mut(|_| ());
            visitor.join().unwrap();
            assert!(state.cancel_delayed(has_to_be_dropped).is_none(), "it is claimed");
        });
    }
}

/// A task moves to another level while it is claimed: the claimer reads the level of before or after, never something else,
/// and nothing moves once it is claimed.
#[test]
fn a_relocation_meets_the_claim() {
    model(3, || {
        let state = Arc::new(State::new(true, false));
        let other = state.clone();
        let mover = thread::spawn(move || other.relocate(Some(5)));
        assert_eq!(state.claim(), Claim::Won);
        let level = state.load().level();
        let moved = mover.join().unwrap();
        assert_eq!(level, moved.then_some(5));
        assert_eq!((state.load().level(), state.load().is_moved()), (level, moved));
        assert!(!state.relocate(Some(2)), "it is claimed");
    });
}
