//! The views of a pool that have somebody in line.
//!
//! In: views whose line begins. Out: all that have one, for whoever looks for waiting tasks. A view whose line has ended stays
//! among them until somebody looks and finds it without one, or until it is gone: a short line begins and ends with every few
//! tasks, mostly on two cores, and whoever only wants to submit or to end a task should not have to tell all others of
//! it. So whoever looks pays, once for each line that has begun since the last look.
//!
//! Under a lock of its own, inside a gate's: a view comes, and is found to have no line, while its gate is locked.

use super::View;
use crate::sync::unmodelled::{AtomicBool, Relaxed};
use crate::sync::{Arc, Lock, Weak};

/// So many are looked at in one section.
const PIECE: usize = 64;

/// Of somebody who wants to know how things are, and not all of it.
const MOST_LOOKS: usize = 16 * 1024;

/// A list that had more places gives memory back as it empties.
const KEPT_PLACES: usize = 1024;

/// See the module's header.
pub(crate) struct Crowd {
    members: Lock<Vec<Weak<View>>>,
    /// Whether somebody came since the last [`Crowd::tidy`], and nobody sees to it.
    is_used: AtomicBool,
}

/// Instead of a place: it is not among them.
pub(super) const NO_PLACE: u32 = u32::MAX;

impl Crowd {
    pub(crate) fn new() -> Self {
        Crowd {
            members: Lock::new(Vec::new()),
            is_used: AtomicBool::new(false),
        }
    }

    /// Under the gate's lock, as the first in line comes.
    #[inline]
    pub(super) fn add(&self, view: &Arc<View>) {
        if view.place.load(Relaxed) == NO_PLACE {
            self.add_new(view);
        }
    }

    #[cold]
    fn add_new(&self, view: &Arc<View>) {
        let member = Arc::downgrade(view);
        self.is_used.store(true, Relaxed);
        let mut members = self.members.lock();
        view.place.store(members.len() as u32, Relaxed);
        members.push(member);
    }

    /// Under the gate's lock, or by the last who knows of it.
    pub(crate) fn remove(&self, view: &View) {
        let mut members = self.members.lock();
        let place = view.place.load(Relaxed);
        if place == NO_PLACE {
            return;
        }
        view.place.store(NO_PLACE, Relaxed);
        let gone = members.swap_remove(place as usize);
        if let Some(moved) = members.get(place as usize) {
            View::set_place(moved, place);
        }
        if members.capacity() > KEPT_PLACES && members.len() < members.capacity() / 4 {
            let half = members.capacity() / 2;
            members.shrink_to(half);
        }
        drop(members);
        drop(gone);
    }

    /// Those that have somebody in line, from the last place down, and at most so many looks. Each piece is looked up when it is
    /// asked for: nothing is held in between. Who leaves meanwhile is replaced by the last, which has been looked at.
    pub(crate) fn each(&self, looks: usize) -> impl Iterator<Item = Arc<View>> + '_ {
        let mut next = usize::MAX;
        let mut left = looks;
        let pieces = std::iter::from_fn(move || {
            let members = self.members.lock();
            let end = next.min(members.len());
            next = end.saturating_sub(PIECE.min(left));
            left -= end - next;
            let piece = members[next..end].iter().rev().filter_map(Weak::upgrade);
            (next < end).then(|| piece.collect::<Vec<_>>())
        });
        pieces.flatten().filter(|view| view.has_line(self))
    }

    /// As [`Crowd::each`], at most so many of them.
    pub(crate) fn some(&self, most: usize) -> Vec<Arc<View>> {
        self.each(MOST_LOOKS).take(most).collect()
    }

    /// Whether there may be anything to [`tidy`](Crowd::tidy); if so, the caller sees to it, or [puts it off](Crowd::put_off).
    pub(crate) fn see_to(&self) -> bool {
        self.is_used.load(Relaxed) && self.is_used.swap(false, Relaxed)
    }

    /// Somebody else is to see to it.
    pub(crate) fn put_off(&self) {
        self.is_used.store(true, Relaxed);
    }

    /// Whoever has no line goes, and with the last the memory.
    pub(crate) fn tidy(&self) {
        self.each(usize::MAX).for_each(drop);
    }

    pub(crate) fn all(&self) -> Vec<Arc<View>> {
        self.each(usize::MAX).collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::sync::yield_now;
    use crate::{Executor, Pool};

    /// Somebody in line of each lane, who goes when `go` says so.
    fn crowded(pool: &Executor, lanes: usize, go: &Arc<AtomicBool>) -> Vec<crate::Lane> {
        let lanes: Vec<_> = (0..lanes).map(|_| pool.lane()).collect();
        for lane in &lanes {
            let go = go.clone();
            lane.execute(move || {
                while !go.load(Relaxed) {
                    yield_now();
                }
            })
            .unwrap();
            lane.execute(|| ()).unwrap();
        }
        lanes
    }

    #[test]
    fn who_has_no_line_any_more_goes_when_somebody_looks() {
        let pool = Pool::builder("looked at").core_threads(1).build().unwrap();
        let go = Arc::new(AtomicBool::new(false));
        let lanes = crowded(&pool, 200, &go);
        let crowd = &pool.engine().crowd;
        assert_eq!(crowd.each(10).count(), 10);
        assert_eq!(crowd.some(70).len(), 70);
        assert_eq!(crowd.all().len(), 200);
        go.store(true, Relaxed);
        assert!(
            lanes
                .iter()
                .all(|lane| lane.close_timeout(std::time::Duration::MAX))
        );
        assert_eq!(crowd.members.lock().len(), 200, "nobody has looked");
        crowd.tidy();
        assert!(crowd.members.lock().is_empty());
    }

    /// Or a worker would get up every few seconds for as long as there is a line.
    #[test]
    fn one_worker_sees_to_all_that_came_and_once() {
        let crowd = Crowd::new();
        assert!(!crowd.see_to());
        crowd.put_off();
        assert!(crowd.see_to());
        assert!(!crowd.see_to());
    }

    #[test]
    fn a_view_that_goes_leaves() {
        let pool = Pool::builder("left").core_threads(1).build().unwrap();
        let go = Arc::new(AtomicBool::new(true));
        let lanes = crowded(&pool, 100, &go);
        assert!(
            lanes
                .iter()
                .all(|lane| lane.close_timeout(std::time::Duration::MAX))
        );
        let crowd = &pool.engine().crowd;
        // One after the other, from the middle: each time another gets its place.
        let mut lanes = lanes;
        while !lanes.is_empty() {
            drop(lanes.swap_remove(lanes.len() / 2));
        }
        // The worker may be about to let go of the last task.
        while !crowd.members.lock().is_empty() {
            yield_now();
        }
    }
}
