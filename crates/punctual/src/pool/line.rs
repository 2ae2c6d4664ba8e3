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
use super::crew::Crew;
use super::engine::Engine;
use crate::Reason;
use crate::queue::Refusal;
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
const GRANTED: u32 = 1;
const CLOSED: u32 = 2;
const NO_THREAD: u32 = 3;
const ANSWER: u32 = 3;

/// A place in the queue, held for whoever has this: it must be published with, or given back.
#[derive(Debug)]
#[must_use = "a permit that is forgotten keeps its place in the queue for ever"]
pub(crate) struct Permit {
    /// Whether a lane that is full by now refuses its task.
    minds_lanes: bool,
}

impl Permit {
    /// For whoever has just reserved it.
    pub(super) fn of_plan() -> Self {
        Permit { minds_lanes: true }
    }

    /// For a task that a lane's own bound does not concern.
    pub(super) fn beyond_lanes(self) -> Self {
        Permit { minds_lanes: false }
    }

    /// Its place will be written to; says whether a lane may still refuse the task.
    pub(super) fn spend(self) -> bool {
        self.minds_lanes
    }
}

/// Answer of [`Engine::get_in_line`].
pub(crate) enum Line {
    Granted(Permit),
    Waiting(Arc<Waiter>),
    Refused(Reason),
}

impl Waiter {
    fn new() -> Arc<Self> {
        Arc::new(Waiter {
            word: WaitWord::new(0),
            waker: Lock::new(None),
        })
    }

    /// In the section that takes it out of the line: a waiter that does not find itself there finds the answer.
    fn answer(&self, answer: u32) {
        self.word.0.fetch_or(answer, AcqRel);
    }

    /// After that section: a waker is user code.
    fn tell(&self) {
        self.word.wake_all();
        let waker = self.waker.lock().take();
        if let Some(waker) = waker {
            crate::task::contain(|| waker.wake());
        }
    }

    /// The answer, if it is there.
    pub(crate) fn look(&self) -> Option<Result<Permit, Reason>> {
        match self.word.load() & ANSWER {
            0 => None,
            GRANTED => Some(Ok(Permit::of_plan())),
            CLOSED => Some(Err(Reason::ShutDown)),
            _ => Some(Err(Reason::NoThread)),
        }
    }

    /// Leaves a waker; the answer if it came meanwhile.
    pub(crate) fn look_or_register(&self, waker: &Waker) -> Option<Result<Permit, Reason>> {
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
    type Output = Result<Permit, Reason>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.waiter.is_none() {
            match self.engine.get_in_line() {
                Line::Granted(permit) => return Poll::Ready(Ok(permit)),
                Line::Refused(reason) => return Poll::Ready(Err(reason)),
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
            && let Some(Ok(permit)) = self.engine.leave_line(&waiter)
        {
            self.engine.release(permit);
        }
    }
}

impl Crew {
    /// Takes the first out of the line, with its answer.
    fn answer_first(&mut self, answer: u32) -> Option<Arc<Waiter>> {
        let first = self.line.pop_front()?;
        first.answer(answer);
        Some(first)
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
    pub(super) fn wait_for_room(self: &Arc<Self>, limit: Option<Duration>) -> Result<Permit, Option<Reason>> {
        let waiter = match self.get_in_line() {
            Line::Granted(permit) => return Ok(permit),
            Line::Refused(reason) => return Err(Some(reason)),
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
        loop {
            let mut waiter = None;
            let plan = self.room.attend(|producers| {
                let plan = if producers.gate.line.is_empty() || producers.is_closed() {
                    self.plan(producers, true)
                } else {
                    Plan::Wait
                };
                self.reserve(producers, plan);
                if !matches!(plan, Plan::Push | Plan::Start | Plan::Refuse(Refusal::Closed)) {
                    let place = Waiter::new();
                    producers.gate.line.push_back(place.clone());
                    producers.shut();
                    waiter = Some(place);
                }
                plan
            });
            match (waiter, plan) {
                (Some(waiter), _) => {
                    // A cancel that raised its count after the look above finds the line; one before it is seen now.
                    atomic::fence(SeqCst);
                    // So it is with a task that is taken from a deque.
                    self.room.settle_deques();
                    self.offer_room();
                    return Line::Waiting(waiter);
                }
                (None, Plan::Push) => return Line::Granted(Permit::of_plan()),
                (None, Plan::Start) => match self.start_for_permit() {
                    Ok(permit) => return Line::Granted(permit),
                    Err(Some(reason)) => {
                        self.serve_line();
                        return Line::Refused(reason);
                    }
                    Err(None) => {}
                },
                (None, _) => return Line::Refused(Reason::ShutDown),
            }
        }
    }

    /// Gives up a place in line; the answer, if there is one already.
    pub(crate) fn leave_line(&self, waiter: &Arc<Waiter>) -> Option<Result<Permit, Reason>> {
        let mut producers = self.room.producers();
        let line = &mut producers.gate.line;
        let Some(index) = line.iter().position(|each| Arc::ptr_eq(each, waiter)) else {
            drop(producers);
            let answer = waiter.look();
            debug_assert!(answer.is_some(), "taken out of the line without an answer");
            return answer;
        };
        line.remove(index);
        producers.shut();
        None
    }

    /// Gives a permit back, and to the next in line.
    pub(crate) fn release(&self, permit: Permit) {
        let _ = permit.spend();
        self.give_back(|_| ());
        self.offer_room();
    }

    /// Hands permits to those in line, first come first served. Where a worker must be started for the first of them it is
    /// started here: a place in line may belong to a future that nobody polls. True: nobody waits any more.
    pub(super) fn serve_own_line(&self) -> bool {
        loop {
            let mut answered = Vec::new();
            let mut is_served = false;
            let starts = {
                let mut producers = self.room.producers();
                loop {
                    if producers.gate.line.is_empty() {
                        is_served = true;
                        break false;
                    }
                    let plan = self.plan(&mut producers, true);
                    let answer = match plan {
                        Plan::Refuse(Refusal::Closed) => CLOSED,
                        Plan::Refuse(_) | Plan::Wait => break false,
                        Plan::Push => GRANTED,
                        Plan::Start => {
                            self.reserve(&mut producers, plan);
                            break true;
                        }
                    };
                    self.reserve(&mut producers, plan);
                    answered.extend(producers.gate.answer_first(answer));
                }
            };
            answered.iter().for_each(|waiter| waiter.tell());
            if !starts {
                return is_served;
            }
            let Some(me) = self.me.upgrade() else { return true };
            let answer = match me.start_for_permit() {
                Ok(permit) => {
                    let _ = permit.spend();
                    GRANTED
                }
                Err(Some(_)) => NO_THREAD,
                // Others are alive: one of them will serve the line.
                Err(None) => return false,
            };
            let first = self.room.producers().gate.answer_first(answer);
            match first {
                Some(waiter) => waiter.tell(),
                None if answer == GRANTED => self.give_back(|_| ()),
                None => {}
            }
        }
    }

    /// Something changed that those in line may have waited for: each gets an answer of its own.
    pub(crate) fn serve_line(&self) {
        if self.room.is_waited_for() {
            self.offer_room();
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
