//! One mix on its way through the stages, and the comparison with what must come out.

use super::{Body, End, Handle, Mix, Outcome, Time, When};
use crate::support::{Dropped, Held, assert_all_settled, block_on, hold, quiet_panic, until};
use punctual::{
    Cancel, Clock, JoinError, ManualClock, Pool, Queue, State, Status, TaskHandle, TaskRef, Unrun, task,
};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The pool, the task and all that is counted, on the way through one mix.
pub(super) struct Scene {
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
    pub(super) fn new(mix: Mix) -> Scene {
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

    pub(super) fn play(mut self) {
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
