//! Every mix of body, cancel, handle and pool, checked against a small model of what must come out.
//!
//! Each mix is one task with a life in three stages: it waits behind a held worker, it runs, it has ended. Cancels and
//! the pool's end come at a stage. Gates and a manual clock lead through the stages; nothing sleeps.

use crate::support::{Dropped, Held, assert_all_settled, block_on, hold, in_time, quiet_panic, until};
use punctual::{
    Cancel, Clock, JoinError, ManualClock, Pool, Queue, State, Status, TaskHandle, TaskRef, Unrun, task,
};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Body {
    Returns,
    Panics,
    /// Sleeps for an hour on the pool's clock, or until its token fires; then returns.
    WaitsForToken,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    Never,
    BeforeStart,
    WhileRunning,
    AfterEnd,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Handle {
    Joined,
    TimedOutThenJoined,
    Awaited,
    DroppedBefore,
    DroppedAfter,
    OnlyRefLeft,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Stays,
    Stop(When),
    Close,
}

const BODIES: [Body; 3] = [Body::Returns, Body::Panics, Body::WaitsForToken];
const CANCELS: [When; 4] = [When::Never, When::BeforeStart, When::WhileRunning, When::AfterEnd];
const HANDLES: [Handle; 6] = [
    Handle::Joined,
    Handle::TimedOutThenJoined,
    Handle::Awaited,
    Handle::DroppedBefore,
    Handle::DroppedAfter,
    Handle::OnlyRefLeft,
];
const ENDS: [End; 5] = [
    End::Stays,
    End::Stop(When::BeforeStart),
    End::Stop(When::WhileRunning),
    End::Stop(When::AfterEnd),
    End::Close,
];

/// Whether the pool has a manual clock. One that has describes each task before and after; without, a task's result
/// and its share of the memory go in one step: two ways through the runner.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Time {
    System,
    Manual,
}

#[derive(Debug, Clone, Copy)]
struct Mix {
    time: Time,
    body: Body,
    cancel: When,
    handle: Handle,
    end: End,
}

/// What must come out.
#[derive(Debug, PartialEq)]
struct Outcome {
    cancel: Option<Cancel>,
    /// What the handle, or the last reference, says in the end.
    status: Status,
    /// Finished, panicked, cancelled, returned.
    counted: [u64; 4],
    started: bool,
    /// How often the failure sink is called.
    unread: usize,
}

impl Mix {
    /// On the system's clock nobody can let the hour pass.
    fn is_possible(self) -> bool {
        let expected = self.expected();
        let wakes = expected.cancel == Some(Cancel::Signalled) || self.end == End::Stop(When::WhileRunning);
        self.time == Time::Manual || self.body != Body::WaitsForToken || !expected.started || wakes
    }

    /// The specification, in one place.
    fn expected(self) -> Outcome {
        let Mix {
            body,
            cancel,
            handle,
            end,
            ..
        } = self;
        let removed = cancel == When::BeforeStart;
        // The cancel comes first where both come at the same stage.
        let returned = !removed && end == End::Stop(When::BeforeStart);
        let started = !removed && !returned;
        let signalled = started && cancel == When::WhileRunning;
        let answer = match cancel {
            When::Never => None,
            When::BeforeStart => Some(Cancel::Removed),
            When::WhileRunning if started => Some(Cancel::Signalled),
            When::WhileRunning | When::AfterEnd => Some(Cancel::TooLate),
        };
        let status = if removed || signalled {
            Status::Cancelled
        } else if returned {
            Status::Returned
        } else if body == Body::Panics {
            Status::Panicked
        } else {
            Status::Finished
        };
        let counted = match status {
            Status::Finished => [1, 0, 0, 0],
            Status::Panicked => [0, 1, 0, 0],
            Status::Cancelled => [0, 0, 1, 0],
            _ => [0, 0, 0, 1],
        };
        let read = matches!(
            handle,
            Handle::Joined | Handle::TimedOutThenJoined | Handle::Awaited
        );
        Outcome {
            cancel: answer,
            status,
            counted,
            started,
            unread: usize::from(status == Status::Panicked && !read),
        }
    }
}

/// The pool, the task and all that is counted, on the way through one mix.
struct Scene {
    mix: Mix,
    clock: ManualClock,
    pool: Pool,
    held: Option<Held>,
    /// Dropped to let a running body go on.
    gate: Option<Sender<()>>,
    has_begun: Receiver<()>,
    handle: Option<TaskHandle<Dropped>>,
    left: Option<TaskRef>,
    answer: Option<Cancel>,
    unrun: Vec<Unrun>,
    closure_drops: Arc<AtomicUsize>,
    value_drops: Arc<AtomicUsize>,
    unread: Arc<AtomicUsize>,
}

impl Scene {
    fn new(mix: Mix) -> Scene {
        let clock = Clock::manual();
        let unread = Arc::new(AtomicUsize::new(0));
        let told = unread.clone();
        let time = match mix.time {
            Time::System => Clock::system(),
            Time::Manual => Clock::from(&clock),
        };
        let pool = Pool::builder("mix")
            .core_threads(1)
            .queue(Queue::unbounded())
            .clock(time)
            .on_failure(move |_, _| _ = told.fetch_add(1, SeqCst))
            .build()
            .unwrap();
        let held = hold(&pool);
        let (gate, gated) = channel::<()>();
        let (begun, has_begun) = channel();
        let [closure_drops, value_drops] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let captured = Dropped(closure_drops.clone());
        let value = Dropped(value_drops.clone());
        let handle = pool
            .submit(move || {
                let _captured = captured;
                begun.send(()).unwrap();
                match mix.body {
                    Body::Returns => _ = gated.recv(),
                    Body::Panics => {
                        let _ = gated.recv();
                        drop(value);
                        quiet_panic("a mix");
                    }
                    Body::WaitsForToken => _ = task::sleep(Duration::from_secs(3_600)),
                }
                value
            })
            .unwrap();
        Scene {
            mix,
            clock,
            pool,
            held: Some(held),
            gate: Some(gate),
            has_begun,
            // Where the handle can do it alone there is no reference beside it.
            left: matches!(mix.handle, Handle::DroppedBefore | Handle::OnlyRefLeft)
                .then(|| handle.task_ref()),
            handle: Some(handle),
            answer: None,
            unrun: Vec::new(),
            closure_drops,
            value_drops,
            unread,
        }
    }

    fn stage(&mut self, now: When) {
        if self.mix.cancel == now {
            let by_handle = self.handle.as_ref().map(TaskHandle::cancel);
            self.answer = by_handle.or_else(|| self.left.as_ref().map(TaskRef::cancel));
        }
        let last_use = self.mix.cancel == now || self.mix.cancel == When::Never;
        if self.mix.handle == Handle::DroppedBefore && last_use {
            // From here on nobody refers to the task but the pool.
            drop(self.left.take());
        }
        match self.mix.end {
            End::Stop(when) if when == now => self.unrun = self.pool.stop(),
            // Closing waits, so it begins here and ends with the mix.
            End::Close if now == When::BeforeStart => self.pool.shutdown(),
            _ => {}
        }
    }

    fn play(mut self) {
        let expected = self.mix.expected();
        if self.mix.handle == Handle::TimedOutThenJoined {
            let handle = self.handle.as_mut().expect("kept");
            assert!(handle.join_timeout(Duration::ZERO).unwrap_err().is_timeout());
        }
        if matches!(self.mix.handle, Handle::DroppedBefore | Handle::OnlyRefLeft) {
            drop(self.handle.take());
        }
        self.stage(When::BeforeStart);
        self.held.take();
        let begun = expected.started && {
            self.has_begun.recv().expect("nobody took it out, so it starts");
            true
        };
        assert_eq!(begun, expected.started);
        self.stage(When::WhileRunning);
        self.gate.take();
        let token_fired =
            expected.answered(Cancel::Signalled) || self.mix.end == End::Stop(When::WhileRunning);
        if begun && self.mix.body == Body::WaitsForToken && !token_fired {
            self.clock.advance(Duration::from_secs(3_600));
        }
        assert!(self.pool.wait_idle(Duration::MAX));
        // Counted is not yet published: the outcome follows the count.
        if let Some(handle) = &self.handle {
            handle.wait();
        }
        if let Some(left) = &self.left {
            until("the outcome is there", || {
                !matches!(left.status(), Status::Queued | Status::Running)
            });
        }
        self.stage(When::AfterEnd);
        self.check_handle(&expected);
        self.unrun.clear();
        if self.mix.end != End::Stays {
            assert!(self.pool.close().terminated);
            assert_eq!(self.pool.state(), State::Terminated);
        }
        self.check_counts(&expected);
    }

    fn check_handle(&mut self, expected: &Outcome) {
        if let Some(left) = self.left.take() {
            assert_eq!(left.status(), expected.status);
            assert_eq!(left.cancel(), Cancel::TooLate, "it has ended");
        }
        let Some(mut handle) = self.handle.take() else {
            return;
        };
        assert!(handle.is_finished());
        assert_eq!(handle.cancel(), Cancel::TooLate, "it has ended");
        match self.mix.handle {
            Handle::Joined => Self::check_answer(expected, handle.join()),
            Handle::Awaited => Self::check_answer(expected, block_on(handle)),
            Handle::TimedOutThenJoined => {
                Self::check_answer(expected, handle.join_timeout(Duration::MAX));
                let again = handle.join().expect_err("the value can be taken once");
                let has_result = matches!(expected.status, Status::Finished | Status::Panicked);
                assert!(again.is_taken() || !has_result && again.is_cancelled());
            }
            Handle::DroppedBefore | Handle::DroppedAfter | Handle::OnlyRefLeft => drop(handle),
        }
    }

    fn check_answer(expected: &Outcome, joined: Result<Dropped, JoinError>) {
        match joined {
            Ok(value) => {
                assert_eq!(expected.status, Status::Finished);
                drop(value);
            }
            Err(error) if error.is_panic() => {
                assert_eq!(expected.status, Status::Panicked);
                assert_eq!(error.to_string(), "the task panicked: a mix");
            }
            Err(error) => {
                assert!(error.is_cancelled(), "{error}");
                assert!(matches!(expected.status, Status::Cancelled | Status::Returned));
            }
        }
    }

    fn check_counts(&self, expected: &Outcome) {
        assert_eq!(self.answer, expected.cancel);
        let stats = self.pool.stats();
        assert_all_settled(&stats);
        // The task that held the worker has finished too.
        let counted = [
            stats.finished - 1,
            stats.panicked,
            stats.cancelled,
            stats.returned,
        ];
        assert_eq!(counted, expected.counted);
        until("the closure is dropped", || self.closure_drops.load(SeqCst) > 0);
        until("the value is dropped", || self.value_drops.load(SeqCst) > 0);
        until("the sink is told", || self.unread.load(SeqCst) >= expected.unread);
        assert_eq!(self.closure_drops.load(SeqCst), 1, "closure");
        assert_eq!(self.value_drops.load(SeqCst), 1, "value");
        assert_eq!(self.unread.load(SeqCst), expected.unread, "sink");
    }
}

impl Outcome {
    fn answered(&self, answer: Cancel) -> bool {
        self.cancel == Some(answer)
    }
}

#[test]
fn every_mix_of_body_cancel_handle_and_end_comes_out_as_specified() {
    let mut played = 0;
    for body in BODIES {
        for cancel in CANCELS {
            for handle in HANDLES {
                for end in ENDS {
                    for time in [Time::System, Time::Manual] {
                        played += usize::from(play(Mix {
                            time,
                            body,
                            cancel,
                            handle,
                            end,
                        }));
                    }
                }
            }
        }
    }
    assert!(played > 600, "only {played} mixes were possible");
}

fn play(mix: Mix) -> bool {
    if mix.is_possible() {
        let played = std::panic::catch_unwind(|| in_time(move || Scene::new(mix).play()));
        assert!(played.is_ok(), "{mix:?}: expected {:?}", mix.expected());
    }
    mix.is_possible()
}
