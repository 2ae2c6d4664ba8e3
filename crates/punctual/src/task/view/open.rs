//! Whether a view lets a task come at all: lanes have a bound, and an end.
//!
//! In: a question for one more task, and the word that closes a lane. Out: yes, or why not. What came in goes to the
//! [gate](super::gate), where it may have to wait.

use super::{ANY_NUMBER, Kind, MAY_REFUSE, View};
use crate::sync::Arc;
use crate::sync::unmodelled::{Acquire, Relaxed, Release};
use crate::task::block::Header;
use std::ptr::NonNull;

/// Why a view lets no task in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barred {
    Closed,
    Full { waiting: usize, cap: usize },
}

impl View {
    /// Whether one more task may come, here and further out. Exact where closing and acceptance are under one lock. Without
    /// the gate's, mostly: those that wait are among those that are here.
    #[inline]
    pub(crate) fn admits(self: &Arc<Self>) -> Result<(), Barred> {
        if self.nature & MAY_REFUSE == 0 {
            return Ok(());
        }
        self.admits_one_more()
    }

    fn admits_one_more(self: &Arc<Self>) -> Result<(), Barred> {
        let may_refuse = |view: &View| view.nature & MAY_REFUSE != 0;
        for view in self.chain().take_while(|view| may_refuse(view)) {
            if view.is_closed.load(Acquire) {
                return Err(Barred::Closed);
            }
            if view.present.load(Relaxed) < view.cap {
                continue;
            }
            let waiting = view.gate.lock().waiting(view);
            if view.cap != ANY_NUMBER && waiting >= view.cap as usize {
                let cap = view.cap as usize;
                // For good, if one further out is closed.
                let full = Barred::Full { waiting, cap };
                return Err(if self.is_closed() { Barred::Closed } else { full });
            }
        }
        Ok(())
    }

    /// Whether it refuses tasks for good, or one that it is inside of does.
    pub(crate) fn is_closed(self: &Arc<Self>) -> bool {
        self.chain().any(|view| view.is_closed.load(Acquire))
    }

    /// Refuses tasks from now on. Gives, while its lock is held, the task that has the slot to `reach`.
    pub(crate) fn close<R>(&self, reach: impl FnOnce(NonNull<Header>) -> R) -> Option<R> {
        let gate = self.gate.lock();
        self.is_closed.store(true, Release);
        let address = gate.mark as usize;
        let holder = NonNull::new(std::ptr::with_exposed_provenance_mut(address));
        holder.filter(|_| self.kind == Kind::Lane).map(reach)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::pool::engine::Engine;
    use crate::sync::Weak;
    use crate::task::Class;
    use crate::task::block::{Entry, Origin};
    use crate::task::home::HomeRef;
    use crate::task::record::Slot;
    use crate::task::state::End;
    use crate::task::view::{Coming, Crowd, Leaving, Left, Plan, Step};
    use crate::time::Clock;

    fn task_of(lane: &Arc<View>) -> Entry {
        let origin = Origin {
            class: Class::ROOT.viewed(),
            fork: 0,
            home: View::lend(lane.clone()),
        };
        Entry::new(origin, false, None, || ())
    }

    fn end(task: Entry) {
        Slot::holding(task.header().class, task).end_unrun(End::Cancelled, None);
    }

    /// A task that was cancelled in the line gets the slot, is found dead and is let go of, before the slot goes to a next one that
    /// takes another way: meanwhile a lane that is disposed of must not find it.
    #[test]
    fn a_lane_whose_slot_is_still_to_be_given_has_no_holder() {
        let home = HomeRef::new(Weak::<Engine>::new());
        let plan = Plan {
            kind: Kind::Lane,
            limit: 1,
            cap: ANY_NUMBER,
            name: None,
        };
        let lane = View::new(home, None, plan);
        let (crowd, clock) = (Crowd::new(), Clock::system());
        let coming = Coming {
            number: 0,
            is_new: true,
        };
        let holder = || lane.close(|task| task);
        let Step::Passed(first) = lane.pass(task_of(&lane), coming, &crowd, &clock) else {
            panic!("the slot is free");
        };
        assert_eq!(holder(), Some(first.pointer()));
        for _ in 0..2 {
            assert!(matches!(
                lane.pass(task_of(&lane), coming, &crowd, &clock),
                Step::Parked
            ));
        }
        assert_eq!(lane.leave(Leaving::Unrun), Left::Slot);
        assert_eq!(holder(), None);
        end(first);
        let second = lane.next(|_| true).expect("it is in line").entry;
        assert_eq!(holder(), Some(second.pointer()));
        assert_eq!(lane.next(|_| false).err(), Some(Left::Slot));
        assert_eq!(holder(), None, "the second may be gone");
        end(second);
        let third = lane.next(|_| true).expect("it is in line").entry;
        assert_eq!(lane.next(|_| true).err(), Some(Left::Nothing));
        assert_eq!(holder(), None);
        end(third);
    }
}
