//! Places in a pool's queue that the tasks of its annexes hold.
//!
//! In: a task for an annex, none of whose threads is free. Out: it waits there with a place of the pool's queue, or there
//! is none left and the pool's policy answers. An annex has no bound of its own: "bounded" counts what waits under the whole
//! roof. A task for which a thread is free, or may be started, needs no place, so a pool whose queue is full does not stop
//! those whose threads are idle.
//!
//! How many places an annex holds is a number, not a mark on each task: as many as it has tasks beyond its threads. A
//! submission borrows one when that number rises; whoever takes or removes a task gives back what is too many
//! ([`Engine::return_places`]). Lock order: the annex's producers, then the pool's.

use super::admit::Plan;
use super::crew::Crew;
use super::engine::Engine;
use crate::queue::Refusal;
use crate::queue::producers::Producers;
use crate::sync::Arc;
use crate::sync::atomic::Ordering::Acquire;

impl Engine {
    /// The pool that this one belongs to: itself, if it is no annex.
    pub(crate) fn top(&self) -> &Engine {
        self.root.as_deref().unwrap_or(self)
    }

    /// Tasks here for which there is no thread.
    fn beyond_threads(&self, producers: &Producers<Crew>) -> u64 {
        if producers.is_paused() {
            return producers.held(&self.room);
        }
        let kept = producers.kept(&self.room) + self.timers.due.kept();
        let hands = producers.gate.workers().min(producers.gate.max()) as u64;
        let beyond = kept.saturating_sub(self.ended_tasks()).saturating_sub(hands);
        // Tasks whose time has come need no place.
        beyond.min(producers.held(&self.room))
    }

    /// One more task for an annex whose threads are all at work.
    pub(super) fn plan_with_place(&self, root: &Engine, producers: &mut Producers<Crew>) -> Plan {
        let needed = self.beyond_threads(producers) + 1;
        let lent = producers.gate.lent.get_or_insert(0);
        // A submission that has to bring a segment comes here twice.
        if *lent >= needed {
            return Plan::Push;
        }
        let mut places = root.room.producers();
        if places.is_closed() {
            return Plan::Refuse(Refusal::Closed);
        }
        let (occupied, capacity) = (places.occupied(&root.room), places.capacity());
        if !places.gate.line.is_empty() || occupied >= capacity.limit() {
            return self.full(occupied, capacity);
        }
        places.lend();
        *lent += 1;
        Plan::Push
    }

    /// Gives back what an annex holds beyond its waiting tasks.
    pub(super) fn return_places(&self, root: &Engine) {
        let surplus = {
            let mut producers = self.room.producers();
            match producers.gate.lent {
                None | Some(0) => 0,
                Some(lent) => {
                    let needed = self.beyond_threads(&producers).min(lent);
                    producers.gate.lent = Some(needed);
                    lent - needed
                }
            }
        };
        if surplus > 0 {
            root.room.producers().uncover(surplus);
            root.permit_came_back();
        }
    }

    /// Something came back or was added: whoever waits for room is looked at again, here and in the annexes.
    ///
    /// A submission that waits before an annex waits for one of its threads, or for a place in the pool's queue. For the
    /// second it leaves word with the pool, and looks once more after that: a place that came back before is seen then, and
    /// whoever gives one back later finds the word.
    pub(crate) fn offer_room(&self) {
        let Some(root) = &self.root else {
            if self.serve_own_line() && self.take_word_of_annexes() {
                for annex in self.annexes.all() {
                    annex.offer_room();
                }
            }
            return;
        };
        self.return_places(root);
        if !self.serve_own_line() {
            root.room
                .attend(|producers| producers.gate.is_awaited_elsewhere = true);
            self.serve_own_line();
        }
    }

    fn take_word_of_annexes(&self) -> bool {
        std::mem::take(&mut self.room.producers().gate.is_awaited_elsewhere)
    }

    /// Threads that are none of this part's workers and run one of its tasks in place.
    pub(crate) fn visitors(&self) -> usize {
        self.life.visitors.load(Acquire)
    }

    /// A spare thread is to be had again, here or in another part of the pool: whatever gives one back comes here. A worker that
    /// waits may want it to stand in, so that a thread runs what waits in the queue, in line or in the due room; or a clock that
    /// must be kept has no keeper.
    pub(crate) fn offer_spare(&self) {
        self.offer_stand_in();
        self.parts().for_each(|part| part.keep_the_clock());
    }

    /// As [`Engine::offer_spare`], for workers that wait alone.
    pub(super) fn offer_stand_in(&self) {
        self.parts().for_each(|part| part.stand_in_if_wanted());
    }

    /// The pool and its annexes.
    fn parts(&self) -> impl Iterator<Item = Arc<Engine>> {
        let top = self.top();
        let annexes = if top.annexes.look_occupied() {
            top.annexes.all()
        } else {
            Vec::new()
        };
        top.me.upgrade().into_iter().chain(annexes)
    }

    fn stand_in_if_wanted(self: &Arc<Self>) {
        let is_wanted = {
            let mut producers = self.room.producers();
            let is_wanted = producers.gate.stand_in();
            if is_wanted {
                producers.shut();
            }
            is_wanted
        };
        if is_wanted {
            self.staff_up(true);
            self.serve_line();
            self.tell_waits();
        }
    }

    /// One thread more than there may be, for a worker whose wait could not end otherwise.
    pub(super) fn stand_in_regardless(self: &Arc<Self>) {
        self.room.look(|producers, _| {
            producers.gate.stand_in_regardless();
            producers.shut();
        });
        self.staff_up(true);
        self.serve_line();
    }
}
