//! Waiting for room: the line before a full pool.
//!
//! In: a submission that is willing to wait, blocking or as a future. Out: a *grant*: a permit that nobody else can
//! take, in the order of the line; or the news that the pool is closed. While somebody stands in line, whoever will not
//! wait is refused, so nobody slips past.
//!
//! Which race this prevents: a permit comes back between the look that found none and the sleep. Getting into line and
//! the look are one section under both locks of the room; a worker takes its tasks under the consumers' lock and sees
//! there that somebody waits ([`Room::attend`](crate::queue::Room)). So either the look sees the permit, or the worker
//! sees the line. A cancel gives its permit back without that lock; it raises its count before, and looks at the line
//! after, a fence, and so does the one who gets into line, the other way round.

use super::admit::Plan;
use super::engine::Engine;
use crate::Reason;
use crate::sync::atomic::Ordering::{AcqRel, SeqCst};
use crate::sync::{Arc, Lock, WaitWord, atomic};
use crate::task::here;
use crate::time::{Wait, Waked, deadline_after};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A place in line.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// 0 while it waits, then one of the answers below.
    word: WaitWord,
    /// Of a submission that is a future.
    waker: Lock<Option<Waker>>,
}

/// A permit is reserved.
const PUSH: u32 = 1;
/// A permit is reserved and a worker hired, whom the waiter must start.
const START: u32 = 2;
const CLOSED: u32 = 3;
const ANSWER: u32 = 3;

/// A permit, held for whoever has this: it must be published with or released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a grant that is forgotten keeps its place in the queue for ever"]
pub(crate) enum Grant {
    Push,
    Start,
}

/// Answer of [`Engine::get_in_line`].
pub(crate) enum Line {
    Granted(Grant),
    Waiting(Arc<Waiter>),
    Closed,
}

impl Waiter {
    fn new() -> Arc<Self> {
        Arc::new(Waiter {
            word: WaitWord::new(0),
            waker: Lock::new(None),
        })
    }

    fn answer(&self, answer: u32) {
        self.word.0.fetch_or(answer, AcqRel);
        self.word.wake_all();
        let waker = self.waker.lock().take();
        if let Some(waker) = waker {
            crate::task::contain(|| waker.wake());
        }
    }

    /// The answer, if it is there.
    pub(crate) fn look(&self) -> Option<Result<Grant, Reason>> {
        match self.word.load() & ANSWER {
            0 => None,
            PUSH => Some(Ok(Grant::Push)),
            START => Some(Ok(Grant::Start)),
            _ => Some(Err(Reason::ShutDown)),
        }
    }

    /// Leaves a waker; the answer if it came meanwhile.
    pub(crate) fn look_or_register(&self, waker: &Waker) -> Option<Result<Grant, Reason>> {
        let new = waker.clone();
        let old = self.waker.lock().replace(new);
        crate::task::contain(|| drop(old));
        // After: an answer that did not find the waker is seen here.
        self.look()
    }
}

/// A place in line as a future; dropped, it is given up.
pub(crate) struct InLine {
    engine: Arc<Engine>,
    waiter: Option<Arc<Waiter>>,
}

impl Future for InLine {
    type Output = Result<Grant, Reason>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.waiter.is_none() {
            match self.engine.get_in_line() {
                Line::Granted(grant) => return Poll::Ready(Ok(grant)),
                Line::Closed => return Poll::Ready(Err(Reason::ShutDown)),
                Line::Waiting(waiter) => self.waiter = Some(waiter),
            }
        }
        let answer = self
            .waiter
            .as_ref()
            .and_then(|waiter| waiter.look_or_register(cx.waker()));
        match answer {
            None => Poll::Pending,
            Some(answer) => {
                self.waiter = None;
                Poll::Ready(answer)
            }
        }
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter.take()
            && !self.engine.is_forked()
            && let Some(Ok(grant)) = self.engine.leave_line(&waiter)
        {
            self.engine.release(grant);
        }
    }
}

impl Engine {
    pub(crate) fn wait_in_line(self: &Arc<Self>) -> InLine {
        InLine {
            engine: self.clone(),
            waiter: None,
        }
    }

    /// Waits for a permit, at most `limit`. `Err(None)`: the limit has passed.
    pub(super) fn wait_for_room(self: &Arc<Self>, limit: Option<Duration>) -> Result<Grant, Option<Reason>> {
        let waiter = match self.get_in_line() {
            Line::Granted(grant) => return Ok(grant),
            Line::Closed => return Err(Some(Reason::ShutDown)),
            Line::Waiting(waiter) => waiter,
        };
        let waked = here(|here| {
            let token = here.token();
            let wait = Wait {
                word: &waiter.word,
                mask: ANSWER,
                expected: 0,
                interrupt: token.as_ref(),
                deadline: limit.and_then(|limit| deadline_after(self.clock.tick(), limit)),
            };
            self.clock.wait(&wait, here.place())
        });
        if waked != Waked::Ready
            && let Some(answer) = self.leave_line(&waiter)
        {
            // It came in the last moment, and is as good as any.
            return answer.map_err(Some);
        }
        match waiter.look() {
            Some(answer) => answer.map_err(Some),
            None => Err(None),
        }
    }

    /// A permit at once, or a place at the end of the line.
    pub(crate) fn get_in_line(self: &Arc<Self>) -> Line {
        let waiter = Waiter::new();
        let line = self.room.attend(|producers| {
            if producers.gate.line.is_empty() {
                match self.plan(producers, true) {
                    Plan::Refuse(crate::queue::Refusal::Closed) => return Line::Closed,
                    Plan::Refuse(_) | Plan::Wait => {}
                    plan => return Line::Granted(self.reserve(producers, plan)),
                }
            } else if producers.is_closed() {
                return Line::Closed;
            }
            producers.gate.line.push_back(waiter.clone());
            producers.shut();
            Line::Waiting(waiter.clone())
        });
        if matches!(line, Line::Waiting(_)) {
            // A cancel that raised its count after the look above finds the line; one before it is seen now.
            atomic::fence(SeqCst);
            self.offer_room();
        }
        line
    }

    /// Gives up a place in line; the answer, if there is one already.
    pub(crate) fn leave_line(&self, waiter: &Arc<Waiter>) -> Option<Result<Grant, Reason>> {
        let mut producers = self.room.producers();
        let line = &mut producers.gate.line;
        let Some(index) = line.iter().position(|each| Arc::ptr_eq(each, waiter)) else {
            drop(producers);
            // Taken out by somebody who is about to answer, if the answer is not there yet.
            return Some(loop {
                if let Some(answer) = waiter.look() {
                    break answer;
                }
                crate::sync::yield_now();
            });
        };
        line.remove(index);
        producers.shut();
        None
    }

    /// Gives a grant back, and to the next in line.
    pub(crate) fn release(self: &Arc<Self>, grant: Grant) {
        {
            let mut producers = self.room.producers();
            producers.unreserve();
            if grant == Grant::Start {
                producers.gate.unhire();
                let _ = self.run_state.leave();
            }
        }
        self.try_terminate();
        self.offer_room();
    }

    /// Something came back or was added: hands permits to those in line, first come first served.
    pub(crate) fn offer_room(&self) {
        let mut answers = Vec::new();
        {
            let mut producers = self.room.producers();
            while !producers.gate.line.is_empty() {
                let answer = match self.plan(&mut producers, true) {
                    Plan::Refuse(crate::queue::Refusal::Closed) => CLOSED,
                    Plan::Refuse(_) | Plan::Wait => break,
                    plan => match self.reserve(&mut producers, plan) {
                        Grant::Push => PUSH,
                        Grant::Start => START,
                    },
                };
                answers.extend(producers.gate.line.pop_front().map(|waiter| (waiter, answer)));
            }
        }
        // Outside the lock: a waker is user code.
        for (waiter, answer) in answers {
            waiter.answer(answer);
        }
    }

    /// A permit came back outside the consumers' lock (a cancel, an in-place run): see the module's header.
    pub(super) fn permit_came_back(&self) {
        atomic::fence(SeqCst);
        if self.room.is_waited_for() {
            self.offer_room();
        }
    }
}
