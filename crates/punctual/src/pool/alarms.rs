//! Alarms in the timer store: futures that sleep.
//!
//! In: an [`Alarm`]. Out: rung at its time, or taken out before. An alarm is no task: it counts for nothing, keeps no pool from
//! ending, and goes on in a pool that is closed, because the futures that wait for it do.

use super::engine::Engine;
use super::timers::Timer;
use crate::sync::Arc;
use crate::task::alarm::Alarm;

impl Engine {
    pub(super) fn keep_alarm(&self, alarm: &Arc<Alarm>) {
        let mut book = self.timers.book.lock();
        alarm.set_kept(true);
        book.ticks.insert(Timer::alarm(alarm.clone()));
        let when = book.ticks.take_earlier_check().unwrap_or(alarm.when());
        self.look_no_later_than(when, book);
    }

    pub(super) fn drop_alarm(&self, alarm: &Arc<Alarm>) {
        let dropped = {
            let mut book = self.timers.book.lock();
            if !alarm.set_kept(false) {
                return;
            }
            let timer = Timer::of_alarm(alarm);
            book.ticks.remove(timer);
            let dropped = timer.open();
            self.nothing_to_wait_for(book);
            dropped
        };
        drop(dropped);
    }
}
