//! How the tasks of views come to the queue, and what becomes of their slots.
//!
//! In: tasks of a view (see [`task::view`](crate::task::view)) that were accepted or whose time has come, and tasks that
//! have left. Out: each in the queue, or in the due room, as soon as it has a slot in each of its view's gates; in a
//! gate's line until then. A task in a line holds its permit, and is seen by `stop`, `drain`, statistics, cancel, expiry.
//! There is no pump: what moves a task is the end of another.
//!
//! **Locks.** A task goes on, and enters the queue, under the producers' lock, with one gate's lock inside at a time; so the
//! order of a line is the order of the queue. A due task goes through its gates under the book's lock instead. A slot for
//! which nobody stands in line is given back under the gate's lock alone. One that goes to the next in line, where there is no
//! other gate and no level, is given under the consumers' lock, and the task waits on their side
//! ([`Handed`]): the producers are not held up by tasks that end.
//!
//! Not here: being let in ([`admit`]), coming when it is time ([`due`]), leaving without a run ([`removed`]), making way for another
//! ([`evicted`]).

mod admit;
mod due;
mod evicted;
mod removed;

use super::crew::Crew;
use super::engine::{Attention, Engine};
use crate::queue::Handed;
use crate::queue::producers::Producers;
use crate::sync::Arc;
use crate::task::block::{Entry, Header};
use crate::task::record::Woken;
use crate::task::view::{Coming, Leaving, Left, Parked, Step, View};
pub(super) use due::Unsettled;
pub(super) use removed::{OutOfLine, end_waiting_of};

/// So many lines are looked through for one task: there may be a hundred thousand, and they are much alike then.
pub(super) const LINES_SEEN: usize = 1024;

/// What moving tasks on left to be done when the locks are free.
#[derive(Default)]
struct Wake {
    /// Something can be taken.
    is_work: bool,
    is_due: bool,
    /// Somebody watches a view.
    tells: bool,
    /// Entries whose task was claimed while they stood in a line.
    dead: Vec<Entry>,
}

/// The view of a view's task, to hold on to.
fn view_of(task: &Header) -> Arc<View> {
    let view = task.view().expect("only a view's task comes here");
    Arc::clone(&view)
}

impl Engine {
    /// From gate to gate, outwards, to a slot in each or to a place in line. A new one is counted in all of them.
    pub(super) fn go_on(&self, from: Option<&Arc<View>>, entry: Entry, coming: Coming) -> Step {
        let mut entry = entry;
        let mut next = from;
        while let Some(view) = next {
            next = view.parent.as_ref();
            match view.pass(entry, coming, &self.crowd, &self.clock) {
                Step::Passed(back) => entry = back,
                Step::Parked => {
                    if coming.is_new
                        && let Some(outer) = next
                    {
                        outer.chain().for_each(|view| view.arrive());
                    }
                    return Step::Parked;
                }
            }
        }
        Step::Passed(entry)
    }

    /// Moves tasks on under the producers' lock, and then does what is to be done without it.
    fn move_on(&self, f: impl FnOnce(&mut Producers<Crew>, &mut Wake)) {
        let mut wake = Wake::default();
        f(&mut self.room.producers(), &mut wake);
        if wake.is_due {
            self.attention.set(Attention::DUE, true);
        }
        if wake.is_work || wake.is_due {
            self.idle.notify();
        }
        if wake.tells {
            self.tell();
        }
        for entry in wake.dead {
            entry.let_go();
        }
    }

    /// Gives the caller's slot to the next in line, or back.
    fn hand_on(&self, producers: &mut Producers<Crew>, view: &Arc<View>, wake: &mut Wake) {
        loop {
            let Parked { entry, number, .. } = match view.next(|_| true) {
                Ok(parked) => parked,
                Err(left) => {
                    wake.tells |= left == Left::Tell;
                    return;
                }
            };
            if entry.is_dead_in_line() {
                self.drop_dead(producers, entry, view, wake);
                continue;
            }
            let coming = Coming {
                number,
                is_new: false,
            };
            let Step::Passed(entry) = self.go_on(view.parent.as_ref(), entry, coming) else {
                return;
            };
            if entry.is_begun() {
                let class = entry.header().class.inheriting(entry.header().priority());
                entry.header().state.unpark_begun();
                producers.push_surely(&self.room, class, Woken(entry), true, &self.clock);
                producers.no_longer_aside(&self.room, class);
                wake.is_work = true;
                return;
            }
            if entry.header().state.unpark() {
                if entry.header().class.is_timed() {
                    self.write_due(entry);
                    wake.is_due = true;
                } else {
                    let class = entry.header().class;
                    producers.push_surely(&self.room, class, entry, true, &self.clock);
                    producers.no_longer_aside(&self.room, class);
                    wake.is_work = true;
                }
                return;
            }
            // Claimed while it went on: what it got further out goes back, and the slot here is still to be given.
            if let Some(outer) = &view.parent {
                self.give_slots_back(producers, outer, None, wake);
            }
            self.drop_dead(producers, entry, view, wake);
        }
    }

    /// A task that was claimed in this view's line, and is out of it: what it holds further in goes back.
    fn drop_dead(&self, producers: &mut Producers<Crew>, entry: Entry, at: &Arc<View>, wake: &mut Wake) {
        let own = view_of(entry.header());
        self.give_slots_back(producers, &own, Some(at), wake);
        wake.dead.push(entry);
    }

    /// Gives slots back from the outermost in: those of `from` and outwards, up to `until`, which is not among them.
    fn give_slots_back(
        &self,
        producers: &mut Producers<Crew>,
        from: &Arc<View>,
        until: Option<&Arc<View>>,
        wake: &mut Wake,
    ) {
        let is_until = |view: &Arc<View>| until.is_some_and(|until| Arc::ptr_eq(view, until));
        let views: Vec<_> = from.chain().take_while(|view| !is_until(view)).collect();
        for view in views.into_iter().rev() {
            self.hand_on(producers, view, wake);
        }
    }

    /// A task that had all its slots has left: they go on, the outermost first.
    pub(super) fn release_slots(&self, view: &Arc<View>, how: Leaving) {
        if view.parent.is_some() {
            // No recursion: a view may be inside of thousands of others.
            let outer: Vec<_> = view.chain().skip(1).collect();
            outer
                .into_iter()
                .rev()
                .for_each(|view| self.release_slot(view, how));
        }
        self.release_slot(view, how);
    }

    fn release_slot(&self, view: &Arc<View>, how: Leaving) {
        match view.leave(how) {
            Left::Nothing => {}
            Left::Tell => self.tell(),
            Left::Slot => self.hand_over(view),
        }
    }

    /// Gives the caller's slot to the next in line without the producers' lock, if there is no gate further out and no
    /// level to go to.
    fn hand_over(&self, view: &Arc<View>) {
        let is_plain = view.parent.is_none() && !self.room.is_levelled();
        let left = if is_plain {
            self.hand_to_consumers(view)
        } else {
            Some(Left::Slot)
        };
        match left {
            // It can be taken.
            None => {
                self.idle.notify();
            }
            Some(Left::Slot) => self.move_on(|producers, wake| self.hand_on(producers, view, wake)),
            Some(Left::Tell) => self.tell(),
            Some(Left::Nothing) => {}
        }
    }

    /// `Some`: nobody was there; or, with [`Left::Slot`], somebody who cannot go that way: a future that has begun, or a task
    /// of the due room.
    fn hand_to_consumers(&self, view: &Arc<View>) -> Option<Left> {
        let mut dead = Vec::new();
        let is_direct = |entry: &Entry| !entry.header().class.is_timed() && !entry.is_begun();
        // In one section with the queue's consumers: a drain finds the task in the line or in the queue.
        let taken_in = self.room.take_in(|| {
            loop {
                let Parked {
                    entry,
                    arrived,
                    number,
                } = view.next(is_direct)?;
                // Claimed in line, or as it left: the slot here is still to be given.
                if !entry.is_dead_in_line() && entry.header().state.unpark() {
                    return Ok(Handed {
                        entry,
                        number,
                        arrived,
                    });
                }
                dead.push(entry);
            }
        });
        for entry in dead {
            // One of a view inside this one has a slot there.
            self.gives_back_inner(entry.header(), view);
            entry.let_go();
        }
        taken_in.err()
    }

    /// A slot that was taken on trial goes back; nobody has to hear of it.
    pub(super) fn release_one(&self, view: &Arc<View>) {
        if view.leave(Leaving::Unrun) == Left::Slot {
            self.hand_over(view);
        }
    }

    /// A task without its slots has left.
    pub(super) fn leave_without_slots(&self, view: &Arc<View>, ran: bool) {
        let tells = view.chain().fold(false, |tells, view| {
            tells | (view.leave_without_slot(ran) == Left::Tell)
        });
        if tells {
            self.tell();
        }
    }
}
