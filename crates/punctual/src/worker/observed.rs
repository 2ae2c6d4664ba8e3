//! Running a task, and measuring some of them.
//!
//! In: a task in the slot. Out: it has run; a sample of the runs was timed, each is on the tape of a pool that records, and
//! where the queue has levels its end is counted by its own.

use super::Worker;
use crate::observe::named::stride;
use crate::queue::kind;
use crate::task::record::Slot;
use crate::task::run::Runner;
use crate::task::tape::Tape;
use crate::time::{MEASURES, Tick};
use std::time::Duration;

/// One run in this many is timed, once a worker is warm; the doublings before make a short burst visible too.
const TIME_EVERY: u64 = 64;

impl Worker<'_> {
    #[inline(always)]
    pub(super) fn run<const KIND: u8>(&mut self, runner: &Runner<'_>, slot: &mut Slot) {
        let count = self.since_rest;
        self.since_rest += 1;
        let timed = MEASURES && count == self.next_timed;
        if !timed && slot.arrival.is_none() && !runner.notes {
            runner.run(slot);
        } else {
            self.run_observed(runner, slot, count);
        }
        if KIND != kind::PLAIN {
            // An emptied slot still tells what it held.
            self.post.counters.ended_at(slot.class().priority().number());
        }
    }

    #[cold]
    pub(super) fn run_observed(&mut self, runner: &Runner<'_>, slot: &mut Slot, count: u64) {
        let timed = MEASURES && count == self.next_timed;
        // A timed task stands for those up to the next timed one, so the weights add up to the number of tasks.
        let about = count.clamp(1, TIME_EVERY);
        let engine = self.engine;
        let begin = self.tape.map_or_else(|| engine.clock.tick(), Tape::now);
        let weight = stride(about, begin ^ count.rotate_left(32) ^ self.post.number as u64);
        if timed {
            self.next_timed += weight;
        }
        if let Some(tape) = self.tape {
            self.begin_tape(tape, slot, begin);
        }
        if let Some(arrival) = slot.arrival.take() {
            let waited = begin.saturating_sub(arrival.tick);
            if slot.is_woken() {
                engine.observed.wake.record(waited, arrival.weight);
            } else {
                engine.observed.wait.record(waited, arrival.weight);
                let level = engine.room.level_of(slot.class());
                if let Some(recorder) = engine.observed.levels.get(level) {
                    recorder.record(waited, arrival.weight);
                }
            }
        }
        if engine.clock.is_manual() {
            let name = slot
                .peek_entry()
                .and_then(|entry| entry.header().side()?.name.clone());
            let label = name.map_or_else(|| slot.label().to_owned(), String::from);
            *self.post.label.lock() = Some(label);
        }
        // A manual clock does not tell how long anything takes.
        let is_split = timed && !engine.clock.is_manual();
        if is_split {
            self.looker.begin();
        }
        let is_named = slot
            .peek_entry()
            .and_then(|entry| entry.header().side())
            .is_some_and(|side| side.name.is_some());
        let level = engine.room.level_of(slot.class());
        runner.run_apart(slot);
        if timed {
            let took = engine.clock.tick().saturating_sub(begin);
            engine.observed.run.record(took, weight);
            if !is_named {
                engine.top().observed.names.record_nameless(level, took, weight);
            }
            if is_split {
                let took = Duration::from_nanos(took);
                self.looker.end(took, weight, &engine.observed.split);
            }
        }
        if engine.clock.is_manual() {
            self.post.label.lock().take();
        }
    }

    /// Notes the task in the slot, and what came of it on its way.
    pub(super) fn begin_tape(&self, tape: &Tape<'_>, slot: &mut Slot, begin: Tick) {
        let Some(recording) = &self.engine.recording else {
            return;
        };
        let room = &self.engine.room;
        let of_class = room.is_levelled().then(|| room.level_of(slot.class()));
        let subject = match slot.peek_entry() {
            Some(entry) => {
                let level = of_class.map(|_| room.level_of_task(entry.header()));
                recording.subject_of_block(entry.header(), level)
            }
            None => recording.subject(slot.label(), 0, None, of_class),
        };
        if std::mem::take(&mut slot.promoted) {
            recording.promoted(self.post.number, subject, begin);
        }
        if std::mem::take(&mut slot.stolen) {
            recording.stole(self.post.number, subject, begin);
        }
        tape.begin(subject, begin);
    }
}
