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
use super::waits::{Trouble, Waits};
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

    /// The notes of those that wait: they are all with the pool.
    pub(crate) fn with_waits<R>(&self, crew: &mut Crew, f: impl FnOnce(&mut Waits) -> R) -> R {
        match &self.root {
            None => f(&mut crew.waits),
            Some(root) => root.room.look(|producers, _| f(&mut producers.gate.waits)),
        }
    }

    /// How many workers there are, if nobody else runs a task of this part in place.
    pub(crate) fn if_alone(&self, crew: &Crew) -> Option<usize> {
        (self.life.visitors.load(Acquire) == 0).then(|| crew.workers())
    }

    /// Whether this part and others, to which no thread can come any more, wait for each other alone.
    pub(crate) fn trouble_between_parts(&self, number: usize) -> Option<Trouble> {
        let top = self.top();
        if !top.annexes.look_occupied() {
            return None;
        }
        let parts: Vec<Arc<Engine>> = top.me.upgrade().into_iter().chain(top.annexes.all()).collect();
        // The notes are read at one moment, the workers one part after the other: if they are the same before and after
        // that, and nobody was started meanwhile, they were so at that moment.
        let read = || -> Vec<(usize, usize, u64)> {
            let complete = parts.iter().filter_map(|part| part.workers_if_complete());
            complete.collect()
        };
        let before = read();
        let workers: Vec<(usize, usize)> = before
            .iter()
            .map(|(part, workers, _)| (*part, *workers))
            .collect();
        let trouble = top
            .room
            .look(|producers, _| producers.gate.waits.everybody_in(&workers, number));
        trouble.filter(|_| read() == before)
    }

    /// Which part this is, how many workers it has, and how many were ever started, if no other can come or help out.
    fn workers_if_complete(&self) -> Option<(usize, usize, u64)> {
        self.room.look(|producers, _| {
            let crew = &producers.gate;
            let workers = self
                .if_alone(crew)
                .filter(|workers| *workers > 0 && crew.is_complete())?;
            Some((self.identity(), workers, crew.read().starts))
        })
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
        }
    }
}
