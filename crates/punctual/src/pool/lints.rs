//! Settings that are allowed and often a mistake.
//!
//! In: what a pool is, or would be, built with. Out: a [`Lint`] for each, with a code that stays. Not here: what is wrong,
//! which is refused ([`builder`](super::builder)), and what a running pool's figures say ([`Advice`]).

use super::builder::OnBlocking;
use super::crew::Growth;
use super::engine::Engine;
use super::owner::OnDrop;
use super::reject::Reject;
use crate::observe::{Advice, Lint};
use crate::queue::{Capacity, Queue};
use crate::sync::parallelism;

/// Threads for each core beyond which a pool is large for work that computes.
const MANY_PER_CORE: usize = 16;

/// What is looked at.
pub(super) struct Settings<'a> {
    pub(super) core: usize,
    pub(super) max: usize,
    pub(super) growth: Growth,
    pub(super) queue: &'a Queue,
    /// Not the queue's, which is what it was built with.
    pub(super) capacity: Capacity,
    pub(super) reject: &'a Reject,
    pub(super) on_drop: OnDrop,
    pub(super) keeps_idle: bool,
    pub(super) must_not_block: bool,
}

impl Settings<'_> {
    pub(super) fn lints(&self) -> Vec<Lint> {
        let mut lints = Vec::new();
        let mut add = |code, text: String| lints.push(Lint { code, text });
        if self.capacity == Capacity::Unbounded && self.growth == Growth::QueueFirst {
            add(
                "W001",
                format!(
                    "an unbounded queue before {} threads: what comes faster than it runs fills the memory; give the queue a bound \
                     and choose what happens at it with on_full",
                    self.max
                ),
            );
        }
        if matches!(self.reject, Reject::DiscardOldest) && self.queue.has_levels() {
            add(
                "W002",
                "DiscardOldest with priorities drops the oldest task of the least urgent level, whatever is submitted; EvictLower \
                 makes room only for something more urgent"
                    .to_owned(),
            );
        }
        let many = parallelism().saturating_mul(MANY_PER_CORE);
        if self.must_not_block && self.max > parallelism() {
            add(
                "W003",
                format!(
                    "{} threads that must not block on {} cores: more of them than cores only take turns; max_threads({}) is enough",
                    self.max,
                    parallelism(),
                    parallelism()
                ),
            );
        } else if self.core > many {
            add(
                "W003",
                format!(
                    "{} core threads on {} cores: too many for work that computes, and for work that blocks Lanes or blocking() let \
                     them go when they are idle",
                    self.core,
                    parallelism()
                ),
            );
        }
        if self.on_drop == OnDrop::Detach {
            add(
                "W004",
                "OnDrop::Detach: nobody waits for the pool's end, and what it has not run is lost when the process ends; close it, \
                 or leave on_drop at Close"
                    .to_owned(),
            );
        }
        if self.queue.is_strict() {
            add(
                "W005",
                "strict priorities: as long as urgent tasks come, others wait, for ever if need be; aging(..) or shares(..) end \
                 that"
                .to_owned(),
            );
        }
        if self.max > self.core && !self.keeps_idle {
            add(
                "W006",
                "keep_alive(0): a thread beyond core_threads leaves as soon as it is idle, and the next task starts a new one; some \
                 seconds keep them through a burst"
                    .to_owned(),
            );
        }
        lints
    }
}

impl Engine {
    /// What its figures and its settings say.
    pub(super) fn advice(&self) -> Advice {
        Advice::new(
            parallelism(),
            &self.stats(),
            self.stalled(),
            self.observed.split.read(),
            self.lints(),
        )
    }

    /// Of its settings as they are now.
    pub(super) fn lints(&self) -> Vec<Lint> {
        let size = self.size();
        let reject = self.reject();
        // Before the rest: the guard must be gone.
        let capacity = self.room.producers().capacity();
        let settings = Settings {
            core: size.core,
            max: size.max,
            growth: self.config.growth,
            queue: &self.config.queue,
            capacity,
            reject: &reject,
            on_drop: self.config.on_drop,
            keeps_idle: !self.keep_alive().is_zero(),
            must_not_block: self.config.on_blocking == OnBlocking::Error,
        };
        settings.lints()
    }
}
