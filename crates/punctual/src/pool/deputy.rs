//! Who watches the clock while the leader is at work for a moment: its deputy.
//!
//! In: a worker that lies down beside a leader, and leaders that come back. Out: fewer wake-ups. A leader that takes a due
//! task has to see to it that somebody watches the clock meanwhile, and to wake another worker for that takes longer than
//! most tasks do; it comes before the task, too, which is late by as much. So where leaders have been coming back at once for
//! a while (the pool is *brisk*), a second worker sleeps until a little after the leader's time, and a leader that goes to
//! work leaves the clock to it. Usually the leader is back when the deputy gets up, and that one lies down again.
//!
//! Nothing is lost by that: *the task takes long after all*, and the deputy finds the clock unwatched and leads, at most
//! [`GRACE`] after the first time that was left to it; from then on leaders are replaced at once again, until they come back
//! as quickly as before. *The deputy is called* for something else: it is a worker like any other from then on, and passes
//! the lead on when it goes to work. *An earlier time comes in* meanwhile: whoever brings it sees whether the deputy sleeps
//! longer than that, under the book's lock, and wakes it (model `an_earlier_timer_calls_the_deputy`). A pool in which
//! something must not wait (limits, expiries, `on_late`) has no deputies, nor has one whose clock is moved by hand: their
//! time is exact.

use super::engine::Engine;
use super::timers::Book;
use crate::sync::Arc;
use crate::sync::atomic::Ordering::Acquire;
use crate::time::{Tick, deadline_after};
use crate::worker::idle::Bed;
use std::time::Duration;

/// How long after the leader its deputy looks, and so how late something may be if a task takes long unexpectedly.
const GRACE: Duration = if cfg!(loom) {
    Duration::ZERO
} else {
    Duration::from_millis(2)
};

/// A leader that is back within this was quick.
const QUICK: Tick = 200_000;

/// After so many quick ones in a row the pool is brisk.
const ENOUGH: u32 = if cfg!(loom) { 0 } else { 8 };

/// Only where leaders get up this often a deputy is worth it: beyond, nobody would be saved from anything.
const OFTEN: Tick = if cfg!(loom) { Tick::MAX } else { 20_000_000 };

/// Sleeps beside the leader, until a little after its time.
pub(super) struct Deputy {
    bed: Arc<Bed>,
    until: Tick,
    /// When the leader got up that is at work now and has left the clock to it.
    alone_since: Option<Tick>,
}

/// How quickly leaders come back.
#[derive(Debug, Default)]
pub(super) struct Pace {
    quick: u32,
    /// How long the last of them took for a task, or for none.
    each: Tick,
    /// When it came back.
    last: Tick,
}

/// From the moment at which a leader gets up because of the time to the one at which it lies down again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stint {
    pub(crate) began: Tick,
    /// Due tasks it has run.
    pub(crate) tasks: u32,
}

impl Pace {
    fn note(&mut self, stint: Stint, now: Tick) {
        let took = now.saturating_sub(stint.began);
        let is_quick = took <= QUICK;
        let is_soon = stint.began.saturating_sub(self.last) <= OFTEN;
        self.quick = if is_quick && is_soon {
            self.quick.saturating_add(1)
        } else {
            0
        };
        self.each = took / Tick::from(stint.tasks.max(1));
        self.last = now;
    }

    fn is_brisk(&self) -> bool {
        self.quick >= ENOUGH
    }
}

impl Book {
    /// A leader is back.
    pub(super) fn note_stint(&mut self, stint: Stint, now: Tick) {
        self.pace.note(stint, now);
        if let Some(deputy) = &mut self.deputy {
            deputy.alone_since = None;
        }
    }

    /// Whether somebody who sleeps will look in time for this, though nobody leads.
    pub(super) fn is_covered(&self, look: Tick) -> bool {
        let latest = deadline_after(look, GRACE).unwrap_or(Tick::MAX);
        self.deputy.as_ref().is_some_and(|deputy| deputy.until <= latest)
    }

    /// Until when a deputy of the present leader sleeps, if one is wanted. (That one may be late itself.)
    fn deputy_until(&self, now: Tick) -> Option<Tick> {
        let leader = self.leader.as_ref()?;
        let is_soon = leader.until.saturating_sub(self.pace.last) <= OFTEN;
        let is_wanted = self.pace.is_brisk() && is_soon && !leader.is_keeper;
        deadline_after(leader.until.max(now), GRACE).filter(|_| is_wanted)
    }

    fn is_deputy(&self, bed: &Arc<Bed>) -> bool {
        self.deputy
            .as_ref()
            .is_some_and(|deputy| Arc::ptr_eq(&deputy.bed, bed))
    }
}

impl Engine {
    /// Whether anything here goes without exact times.
    pub(super) fn may_have_deputies(&self) -> bool {
        !self.clock.is_manual() && self.config.on_late.is_none() && !self.timers.is_watched()
    }

    /// A worker lies down beside a leader: until when, if it is to be its deputy.
    pub(super) fn stand_by(&self, book: &mut Book, bed: &Arc<Bed>) -> Option<Tick> {
        if book.deputy.is_some() || !self.may_have_deputies() {
            return None;
        }
        let until = book.deputy_until(0)?;
        book.deputy = Some(Deputy {
            bed: bed.clone(),
            until,
            alone_since: None,
        });
        Some(until)
    }

    /// A deputy's time has come. It lies where it lay, until the time that comes back, if there is a leader or that one has
    /// left only a moment ago; otherwise it is to get up.
    pub(crate) fn stand_by_again(&self, bed: &Arc<Bed>) -> Option<Option<Tick>> {
        let now = self.clock.tick();
        let mut book = self.timers.book.lock();
        if !book.is_deputy(bed) {
            return None;
        }
        let is_led = book.leader.is_some();
        let until = if is_led {
            // In the models it may have passed, and the leader is about to get up.
            book.deputy_until(now).filter(|until| *until > now)
        } else {
            let since = book.deputy.as_ref().and_then(|deputy| deputy.alone_since);
            let end = since.and_then(|since| deadline_after(since, GRACE));
            end.filter(|end| *end > now)
        };
        match (&mut book.deputy, until) {
            (Some(deputy), Some(until)) => deputy.until = until,
            (deputy, _) if is_led => *deputy = None,
            _ => {
                // It takes long, whatever the leader does.
                book.pace.quick = 0;
                return None;
            }
        }
        Some(until)
    }

    /// A deputy is up.
    pub(crate) fn stand_down(&self, bed: &Arc<Bed>) {
        let mut book = self.timers.book.lock();
        if book.is_deputy(bed) {
            book.deputy = None;
        }
    }

    /// Whether a leader on such a stint may go on with what is due and leave the clock to its deputy. It does, then.
    pub(super) fn leave_it_to_the_deputy(&self, book: &mut Book, stint: Option<Stint>, now: Tick) -> bool {
        let Some(stint) = stint.filter(|stint| now.saturating_sub(stint.began) <= QUICK) else {
            return false;
        };
        let waiting = self.timers.due.glance().1;
        // What waits already is to be looked after as soon as what is due now would be.
        let first = if waiting > 0 {
            stint.began
        } else {
            self.timers.next.load(Acquire).max(stint.began)
        };
        let is_left = waiting.saturating_mul(book.pace.each) <= QUICK
            && book.leader.is_none()
            && book.pace.is_brisk()
            && book.is_covered(first)
            && self.may_have_deputies();
        if let Some(deputy) = book.deputy.as_mut().filter(|_| is_left) {
            deputy.alone_since = Some(stint.began);
        }
        is_left
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::{Pool, TaskHandle};
    use std::sync::{Arc, Barrier, mpsc};
    use std::time::{Duration, Instant};

    /// Only so that a test ends.
    const LONG: Duration = Duration::from_secs(60);
    const SOON: Duration = Duration::from_millis(1);

    /// Of two workers one leads and the other is its deputy, which takes some short tasks to come about.
    fn brisk_pool() -> Pool {
        let pool = Pool::fixed(2).unwrap();
        // Somebody leads all the time.
        drop(pool.after(Duration::from_secs(3600), || ()).unwrap());
        let begin = Instant::now();
        while pool.engine().timers.book.lock().deputy.is_none() {
            assert!(begin.elapsed() < LONG, "no leader was quick");
            pool.after(SOON, || ()).unwrap().join().unwrap();
        }
        pool
    }

    fn joined<T: Send + 'static>(task: TaskHandle<T>) -> T {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || tell.send(task.join().unwrap()));
        told.recv_timeout(LONG).expect("nobody watches the clock")
    }

    #[test]
    fn a_leader_whose_task_takes_long_is_replaced() {
        for _ in 0..20 {
            let pool = brisk_pool();
            let (open, gate) = mpsc::channel();
            let waiting = pool.after(SOON, move || gate.recv().unwrap()).unwrap();
            let opening = pool.after(3 * SOON, move || open.send(7).unwrap()).unwrap();
            joined(opening);
            assert_eq!(joined(waiting), 7);
        }
    }

    #[test]
    fn two_that_are_due_at_once_and_wait_for_each_other_meet() {
        for _ in 0..20 {
            let pool = brisk_pool();
            let barrier = Arc::new(Barrier::new(2));
            let other = barrier.clone();
            let one = pool.after(SOON, move || _ = barrier.wait()).unwrap();
            let another = pool.after(SOON, move || _ = other.wait()).unwrap();
            joined(one);
            joined(another);
        }
    }

    #[test]
    fn a_pool_that_is_quiet_again_has_no_deputy() {
        let pool = brisk_pool();
        let begin = Instant::now();
        while pool.engine().timers.book.lock().deputy.is_some() {
            assert!(begin.elapsed() < LONG, "the deputy gets up for nothing");
            std::thread::yield_now();
        }
    }
}
