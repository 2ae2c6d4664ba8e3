//! Runs that are futures.
//!
//! In: a schedule's run whose time has come. Out: its future made and polled, as one task of the pool: the run is in progress until
//! the future has ended, whether it is ready, panics, or is dropped because it was cancelled. Decorators are put round each
//! poll.

use super::{Body, Engine, Firing, Ran, Repeating, What, decorated};
use crate::sync::Arc;
use crate::task::contain;
use crate::task::decorate::Contexts;
use crate::time::{Run, Tick};
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::Poll;

/// What one run does; the text of its failure.
pub(crate) type RunFuture = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// The body of a schedule whose runs are futures.
pub(crate) struct Spawning {
    pub(crate) make: Box<dyn FnMut(Run) -> RunFuture + Send>,
    pub(crate) contexts: Option<Contexts>,
}

/// A run in progress; if it is dropped with its task it has ended all the same.
struct InProgress {
    of: Arc<Repeating>,
    engine: Arc<Engine>,
    run: Run,
    began: Tick,
    what: What,
    body: Option<Box<Spawning>>,
    is_over: bool,
}

impl Firing {
    pub(super) async fn run_future(mut self) {
        let Some(of) = self.of.take() else { return };
        let (number, what) = (self.number, self.what);
        let Some(engine) = of.engine.upgrade() else { return };
        let Some((run, began, _)) = of.begin(&engine, number, what) else {
            of.arm_next();
            return;
        };
        let body = match &mut *of.body.lock() {
            Body::Spawning(body) => body.take(),
            _ => None,
        };
        let mut progress = InProgress {
            of,
            engine,
            run,
            began,
            what,
            body,
            is_over: false,
        };
        progress.poll_to_its_end().await;
    }
}

impl InProgress {
    async fn poll_to_its_end(&mut self) {
        let mut future = None;
        let ran = poll_fn(|context| {
            let Some(body) = &mut self.body else {
                return Poll::Ready(Ran::Well);
            };
            let mut answer = Poll::Pending;
            let mut is_polled = false;
            let Spawning { make, contexts } = &mut **body;
            let run = &self.run;
            let ran = decorated(&self.engine, contexts.as_mut(), || {
                is_polled = true;
                let future = future.get_or_insert_with(|| make(run.clone()));
                answer = future.as_mut().poll(context);
                None
            });
            match (ran, std::mem::replace(&mut answer, Poll::Pending)) {
                (Ran::Panicked(payload), _) => Poll::Ready(Ran::Panicked(payload)),
                (_, Poll::Ready(Some(text))) => Poll::Ready(Ran::Failed(text)),
                (_, Poll::Ready(None)) => Poll::Ready(Ran::Well),
                // Not run by its decorators: the run is left out.
                (_, Poll::Pending) if !is_polled => Poll::Ready(Ran::Well),
                (_, Poll::Pending) => Poll::Pending,
            }
        })
        .await;
        // Before the next run is armed: one at a time.
        contain(|| drop(future));
        self.end(Some(&ran));
        match ran {
            Ran::Well => {}
            Ran::Failed(text) => resume_unwind(Box::new(text)),
            Ran::Panicked(payload) => resume_unwind(payload),
        }
    }

    /// `None`: it was dropped before its end.
    fn end(&mut self, ran: Option<&Ran>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        if let Some(spawning) = self.body.take() {
            let mut body = self.of.body.lock();
            if let Body::Spawning(place) = &mut *body {
                *place = Some(spawning);
            } else {
                // Ended meanwhile.
                drop(body);
                contain(|| drop(spawning));
            }
        }
        let failure = ran.and_then(|ran| self.of.tell_failure(&self.engine, &self.run, ran));
        let run = (self.run.clone(), self.began);
        self.of.ended(&self.engine, run, false, None, self.what, failure);
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.end(None);
    }
}
