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

#![allow(unsafe_code)]

use super::admit::{Plan, Refused};
use super::crew::Crew;
use super::engine::{Attention, Engine};
use crate::Reason;
use crate::handle::end_waiting;
use crate::queue::Handed;
use crate::queue::producers::Producers;
use crate::sync::Arc;
use crate::sync::unmodelled::Relaxed;
use crate::task::Class;
use crate::task::block::{Entry, Header};
use crate::task::home::Removal;
use crate::task::record::{Payload, Slot, Woken};
use crate::task::state::Claim;
use crate::task::view::{Barred, Coming, Leaving, Left, Parked, Step, View};
use crate::time::Tick;

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

/// A task that was taken out of a line, and the view whose line it was.
pub(super) struct OutOfLine {
    pub(super) number: u64,
    pub(super) at: Arc<View>,
    pub(super) entry: Entry,
}

/// The view of a view's task, to hold on to.
fn view_of(task: &Header) -> Arc<View> {
    let view = task.view().expect("only a view's task comes here");
    Arc::clone(&view)
}

impl Engine {
    /// As [`Engine::admit`] for what does not go straight to the queue.
    #[inline(never)]
    pub(super) fn admit_apart<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        if class.is_delayed() {
            return self.admit_covered(class, payload);
        }
        match payload.into_entry() {
            Ok(entry) => {
                let view = view_of(entry.header());
                self.admit_to_view(&view, entry).map_err(|refused| Refused {
                    payload: P::of_entry(refused.payload),
                    reason: refused.reason,
                })
            }
            // A view's task is always a block; whoever brought this makes one.
            Err(payload) => Err(Refused {
                payload,
                reason: Reason::Forked,
            }),
        }
    }

    /// Lets a task of this view in.
    pub(crate) fn admit_to_view(
        self: &Arc<Self>,
        view: &Arc<View>,
        entry: Entry,
    ) -> Result<bool, Refused<Entry>> {
        // The first look is for the view's memory to be near when the lock is held, for which others wait; the second counts.
        let barred = view.admits().err();
        let mut producers = self.room.producers();
        if let Some(barred) = barred.or_else(|| view.admits().err()) {
            drop(producers);
            let reason = self.reason_of_barred(barred);
            return Err(Refused {
                payload: entry,
                reason,
            });
        }
        if !producers.is_open() {
            match self.plan(&mut producers, false) {
                Plan::Push => {}
                Plan::Refuse(refusal) => {
                    drop(producers);
                    let reason = self.reason_of(refusal);
                    return Err(Refused {
                        payload: entry,
                        reason,
                    });
                }
                Plan::Start | Plan::Wait => {
                    drop(producers);
                    return self.admit_slowly(entry.header().class, entry, true);
                }
            }
        }
        let is_in = self.enter(&mut producers, view, entry);
        drop(producers);
        Ok(is_in && self.idle.notify())
    }

    /// As [`Engine::admit_to_view`], of the view that the task has a share of.
    pub(crate) fn admit_to_own_view(self: &Arc<Self>, entry: Entry) -> Result<bool, Refused<Entry>> {
        let view = view_of(entry.header());
        self.admit_to_view(&view, entry)
    }

    /// Lets a task of this view in, if nobody has to be asked; else it comes back. `Ok`: whether it is in the queue, of which
    /// the caller tells the workers.
    pub(crate) fn admit_if_open(&self, view: &Arc<View>, entry: Entry) -> Result<bool, Entry> {
        let mut producers = self.room.producers();
        if !producers.is_open() || view.admits().is_err() {
            return Err(entry);
        }
        Ok(self.enter(&mut producers, view, entry))
    }

    /// As [`Engine::publish`] for what does not go straight to the queue: a permit is held.
    pub(super) fn publish_apart<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
        minds_lanes: bool,
    ) -> Result<bool, Refused<P>> {
        if class.is_delayed() {
            return self.publish_covered(class, payload);
        }
        let entry = match payload.into_entry() {
            Ok(entry) => entry,
            Err(_) => unreachable!("a view's task is a block"),
        };
        self.publish_to_view(entry, minds_lanes)
            .map_err(|refused| Refused {
                payload: P::of_entry(refused.payload),
                reason: refused.reason,
            })
    }

    fn publish_to_view(self: &Arc<Self>, entry: Entry, minds_lanes: bool) -> Result<bool, Refused<Entry>> {
        let view = view_of(entry.header());
        let mut producers = self.room.producers();
        // Once more: others may have filled the lane since the look with which the permit was reserved.
        let barred = match view.admits() {
            _ if producers.is_closed() => Some(Barred::Closed),
            Err(Barred::Full { .. }) if !minds_lanes => None,
            admitted => admitted.err(),
        };
        if let Some(barred) = barred {
            drop(producers);
            self.give_back(|_| ());
            self.serve_line();
            let reason = self.reason_of_barred(barred);
            return Err(Refused {
                payload: entry,
                reason,
            });
        }
        let is_in = self.enter(&mut producers, &view, entry);
        producers.unreserve();
        let is_put_off = !producers.has_reservations() && producers.gate.take_put_off();
        drop(producers);
        if is_put_off {
            self.idle.wake_all();
            return Ok(true);
        }
        Ok(is_in && self.idle.notify())
    }

    pub(super) fn reason_of_barred(&self, barred: Barred) -> Reason {
        match barred {
            Barred::Closed => Reason::ShutDown,
            Barred::Full { waiting, cap } => Reason::Full {
                queued: waiting,
                capacity: cap,
                threads: self.run_state.read().workers().saturating_sub(self.keepers()),
            },
        }
    }

    /// Whether a task of this view is refused by the view itself, whatever the pool says.
    pub(super) fn is_barred(&self, task: &Header) -> bool {
        task.view().is_some_and(|view| view.admits().is_err())
    }

    /// Sets a task that has just been accepted on its way. True: it is in the queue.
    fn enter(&self, producers: &mut Producers<Crew>, view: &Arc<View>, entry: Entry) -> bool {
        let class = entry.header().class;
        let coming = Coming {
            number: producers.accepted_so_far(),
            is_new: true,
        };
        match self.go_on(Some(view), entry, coming) {
            Step::Passed(entry) => {
                producers.push_surely(&self.room, class, entry, true, &self.clock);
                true
            }
            Step::Parked => {
                producers.put_aside(&self.room, class);
                false
            }
        }
    }

    /// Whether a task that gets a time has a view that will take it. Under the book's lock, as a disposal looks there.
    pub(super) fn is_kept_by_its_view(&self, entry: &Entry) -> bool {
        let Some(view) = entry.header().view() else {
            return true;
        };
        for view in view.chain() {
            view.had_delayed.store(true, Relaxed);
        }
        !view.is_closed()
    }

    /// Sets a task whose time has come on its way. Under the book's lock; what comes back must be settled without it.
    pub(super) fn enter_when_due(&self, entry: Entry) -> Option<Unsettled> {
        let view = view_of(entry.header());
        // First: whoever removes it from here on finds it counted.
        let due = &self.timers.due;
        due.producers().put_aside(due, entry.header().class);
        if view.is_closed() {
            view.chain().for_each(|view| view.arrive());
            return Some(Unsettled::Closed(entry));
        }
        let coming = Coming {
            number: self.room.accepted_so_far(),
            is_new: true,
        };
        let Step::Passed(entry) = self.go_on(Some(&view), entry, coming) else {
            return None;
        };
        if !entry.header().state.unpark() {
            return Some(Unsettled::Dead(entry));
        }
        self.write_due(entry);
        None
    }

    /// Without a lock: what [`Engine::enter_when_due`] could not do.
    pub(super) fn settle(&self, unsettled: Unsettled) {
        match unsettled {
            Unsettled::Closed(entry) => {
                // Its lane was disposed of.
                end_waiting_of(&entry);
                entry.let_go();
            }
            Unsettled::Dead(entry) => {
                let view = view_of(entry.header());
                self.move_on(|producers, wake| self.give_slots_back(producers, &view, None, wake));
                entry.let_go();
            }
        }
    }

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

    fn write_due(&self, entry: Entry) {
        let due = &self.timers.due;
        let class = entry.header().class;
        let mut producers = due.producers();
        producers.push_surely(due, class, entry, true, &self.clock);
        producers.no_longer_aside(due, class);
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
        if until.is_some_and(|until| Arc::ptr_eq(from, until)) {
            return;
        }
        if let Some(outer) = &from.parent {
            self.give_slots_back(producers, outer, until, wake);
        }
        self.hand_on(producers, from, wake);
    }

    /// A task that had all its slots has left: they go on, the outermost first.
    pub(super) fn release_slots(&self, view: &Arc<View>, how: Leaving) {
        if let Some(outer) = &view.parent {
            self.release_slots(outer, how);
        }
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

    /// A task that stands in a line was claimed, and stays there.
    pub(super) fn lose_from_line(&self, view: &Arc<View>) {
        for crowded in view.chain().filter(|view| view.lose()) {
            self.move_on(|producers, wake| {
                for dead in crowded.sweep() {
                    self.drop_dead(producers, dead.entry, crowded, wake);
                }
            });
        }
    }

    /// A claimed task of a view will not be run: its slots go on if it had them. (Not if somebody runs it in place.)
    pub(crate) fn leaves_view_unrun(&self, task: &Header, how: Removal) {
        let view = view_of(task);
        let is_run = how == Removal::Joined;
        if task.state.load().is_parked() {
            self.lose_from_line(&view);
            if !is_run {
                self.leave_without_slots(&view, false);
            }
        } else if !is_run {
            self.release_slots(&view, Leaving::Unrun);
        }
    }

    /// A claimed task that is out of every line and queue will not be run: its slots go on if it had them.
    pub(super) fn gone_from_view(&self, task: &Header) {
        if !task.class.is_viewed() {
            return;
        }
        let view = view_of(task);
        if task.state.load().is_parked() {
            self.leave_without_slots(&view, false);
        } else {
            self.release_slots(&view, Leaving::Unrun);
        }
    }

    /// Takes everybody out of all lines, in the order in which they were accepted, or came due. Under the producers' lock.
    pub(super) fn clear_lines(&self) -> Vec<OutOfLine> {
        self.clear_lines_of(|_| true)
    }

    pub(super) fn clear_lines_of(&self, is_wanted: impl Fn(&Arc<View>) -> bool) -> Vec<OutOfLine> {
        let mut all = Vec::new();
        for at in self.crowd.all().into_iter().filter(is_wanted) {
            all.extend(self.clear_line_of(&at));
        }
        all.sort_by_key(|each| each.number);
        all
    }

    pub(super) fn clear_line_of(&self, at: &Arc<View>) -> impl Iterator<Item = OutOfLine> + use<> {
        let (line, at) = (at.clear_line(), at.clone());
        line.into_iter().map(move |parked| OutOfLine {
            number: parked.number,
            at: at.clone(),
            entry: parked.entry,
        })
    }

    /// What a task that was taken out of a line holds further in goes back.
    pub(super) fn gives_back_inner(&self, task: &Header, at: &Arc<View>) {
        let own = view_of(task);
        if !Arc::ptr_eq(&own, at) {
            self.move_on(|producers, wake| self.give_slots_back(producers, &own, Some(at), wake));
        }
    }

    /// Throws a waiting task out and reserves its place for the caller. Without levels: the oldest of the queue, or, if there is
    /// none, of a view's line. With levels: the least urgent of both, of equally urgent ones the older, as far as their arrivals
    /// were noted. With `below`, one that is less urgent than that level.
    pub(super) fn evict_for_its_place(&self, below: Option<usize>) -> Option<Slot> {
        let of_queue = |below| self.room.evict_for_its_place(below, &self.clock);
        if !self.room.is_levelled() {
            return of_queue(below).or_else(|| self.evict_from_line(&self.last_in_line(below)?));
        }
        let Some(last) = self.last_in_line(below) else {
            return of_queue(below);
        };
        let oldest = self.room.oldest_of_levels()[last.level];
        let is_queue_older = oldest.is_none_or(|oldest| oldest <= last.arrived);
        let bar = if is_queue_older {
            last.level.checked_sub(1)
        } else {
            Some(last.level)
        };
        of_queue(bar)
            .or_else(|| self.evict_from_line(&last))
            // A worker, or a canceller, was faster.
            .or_else(|| of_queue(below))
    }

    /// The least urgent of those in line that may be thrown out, and the oldest of these.
    fn last_in_line(&self, below: Option<usize>) -> Option<LastInLine> {
        let mut last: Option<LastInLine> = None;
        let level_of = |task: &Header| self.level_to_evict(task, below);
        for at in self.crowd.each(usize::MAX).take(LINES_SEEN) {
            if let Some((level, arrived)) = at.least_urgent(level_of)
                && last
                    .as_ref()
                    .is_none_or(|last| level > last.level || (level == last.level && arrived < last.arrived))
            {
                last = Some(LastInLine { at, level, arrived });
            }
        }
        last
    }

    /// The level of a task that may be thrown out for one of the level `below`. A due task holds no place.
    fn level_to_evict(&self, task: &Header, below: Option<usize>) -> Option<usize> {
        let level = self.room.level_of(task.class);
        let may_go = !task.class.is_timed() && below.is_none_or(|below| level > below);
        may_go.then_some(level)
    }

    fn evict_from_line(&self, last: &LastInLine) -> Option<Slot> {
        let mut producers = self.room.producers();
        let claim = |task: &Header| {
            self.level_to_evict(task, None) == Some(last.level) && task.state.claim_to_remove() == Claim::Won
        };
        let entry = last.at.take_first(claim)?;
        self.room.remove_aside(Removal::Evicted, last.level);
        producers.reserve();
        drop(producers);
        self.gives_back_inner(entry.header(), &last.at);
        Some(Slot::holding(entry.header().class, entry))
    }
}

/// A task in a line that others are worth more than.
struct LastInLine {
    at: Arc<View>,
    level: usize,
    arrived: Tick,
}

/// See [`Engine::enter_when_due`].
pub(super) enum Unsettled {
    /// Its lane takes no tasks any more.
    Closed(Entry),
    /// It was claimed while it got its slots.
    Dead(Entry),
}

/// Cancels a task whose entry is out of every line. False: somebody else has claimed it.
pub(super) fn end_waiting_of(entry: &Entry) -> bool {
    // SAFETY: the entry is a share.
    unsafe { end_waiting(entry.pointer(), Removal::Cancelled) }
}
