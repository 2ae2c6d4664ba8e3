//! Who waits for whom, among the workers of a pool.
//!
//! In: a note for each worker whose task waits, without a limit, for tasks of its own pool. Out: whether a wait could ever
//! end. Two troubles are seen: waits that only each other could end (a circle, through joins, groups and braces), and a
//! pool all of whose workers wait. Not seen: circles through another pool, a lock or a channel.

use crate::sync::{Arc, Lock};
use crate::task::Token;
use std::collections::HashSet;
use std::fmt;

/// A worker's wait, without a limit, for tasks of its own pool.
#[derive(Debug)]
pub(crate) struct WaitNote {
    /// Tells one note from another.
    pub(crate) number: usize,
    /// The tasks, by address, that the waiting thread is in the middle of.
    pub(crate) running: Vec<usize>,
    pub(crate) awaits: Awaits,
    /// Whether the wait goes on: nothing has happened yet that ends it. Called under the producers' lock, under which
    /// the note is taken out before what this looks at may go.
    pub(crate) goes_on: GoesOn,
    /// Fired when nobody could ever end the wait; `None` for one that must be waited all the same.
    pub(crate) alarm: Option<Token>,
}

/// What a worker waits for, by address.
#[derive(Debug)]
pub(crate) enum Awaits {
    /// Any one of these.
    OneOf(Vec<usize>),
    /// All of these, of which some may end meanwhile.
    All(Arc<Lock<HashSet<usize>>>),
    /// Tasks that are not known here.
    Unknown,
}

impl Awaits {
    /// Whether none of it can come as long as the tasks for which `never_ends` holds do not end.
    fn is_hopeless(&self, never_ends: impl Fn(&usize) -> bool) -> bool {
        match self {
            Awaits::OneOf(tasks) => !tasks.is_empty() && tasks.iter().all(never_ends),
            Awaits::All(tasks) => tasks.lock().iter().any(never_ends),
            Awaits::Unknown => false,
        }
    }
}

/// See [`WaitNote::goes_on`].
pub(crate) struct GoesOn(pub(crate) Box<dyn Fn() -> bool + Send>);

impl fmt::Debug for GoesOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", (self.0)())
    }
}

impl WaitNote {
    fn goes_on(&self) -> bool {
        (self.goes_on.0)()
    }
}

/// Nobody could ever end the wait.
#[derive(Debug)]
pub(crate) struct Stuck;

/// Waits that nobody will end, and one among them that can be called off, if there is one.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) way_out: Option<Token>,
}

/// The notes, in no order but that the newest is the last.
#[derive(Debug, Default)]
pub(crate) struct Waits(Vec<WaitNote>);

impl Waits {
    pub(super) fn add(&mut self, note: WaitNote) {
        self.0.push(note);
    }

    /// The newest wait is not begun after all.
    pub(super) fn take_back(&mut self) {
        self.0.pop();
    }

    pub(super) fn remove(&mut self, number: usize) {
        let index = self.0.iter().position(|each| each.number == number);
        self.0.remove(index.expect("a wait that ends was noted"));
    }

    /// Whether as many wait as there are workers.
    pub(super) fn everybody(&self, workers: usize) -> Option<Trouble> {
        let waiting = self.0.iter().filter(|each| each.goes_on()).count();
        (waiting == workers).then(|| Trouble::among(&self.0.iter().collect::<Vec<_>>()))
    }

    /// Waits that can only be ended by each other, with the newest among them.
    ///
    /// Begins with all waits that go on as suspects, and acquits, until nothing changes, those that wait for something
    /// which does not depend on a suspect.
    pub(super) fn only_for_each_other(&self) -> Option<Trouble> {
        let mut suspects: Vec<&WaitNote> = self.0.iter().filter(|each| each.goes_on()).collect();
        loop {
            let before = suspects.len();
            let never_ends = |task: &usize| suspects.iter().any(|other| other.running.contains(task));
            let guilty = suspects.iter().filter(|each| each.awaits.is_hopeless(never_ends));
            let guilty: Vec<&WaitNote> = guilty.copied().collect();
            if guilty.len() == before {
                break;
            }
            suspects = guilty;
        }
        let newest = self.0.last()?.number;
        let is_concerned = suspects.iter().any(|each| each.number == newest);
        is_concerned.then(|| Trouble::among(&suspects))
    }
}

impl Trouble {
    fn among(notes: &[&WaitNote]) -> Self {
        Trouble {
            way_out: notes.iter().rev().find_map(|each| each.alarm.clone()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A wait that goes on for ever, of the thread that runs this task.
    pub(in crate::pool) fn forever(running: usize, awaits: Awaits) -> WaitNote {
        WaitNote {
            number: running,
            running: vec![running],
            awaits,
            goes_on: GoesOn(Box::new(|| true)),
            alarm: Some(Token::new()),
        }
    }

    fn join(running: usize, target: usize) -> WaitNote {
        forever(running, Awaits::OneOf(vec![target]))
    }

    fn is_hopeless(waits: &mut Waits, note: WaitNote) -> bool {
        waits.add(note);
        waits.only_for_each_other().is_some()
    }

    #[test]
    fn a_circle_is_seen_by_whoever_closes_it() {
        let mut waits = Waits::default();
        assert!(!is_hopeless(&mut waits, join(1, 2)));
        assert!(!is_hopeless(&mut waits, join(2, 3)));
        assert!(is_hopeless(&mut waits, join(3, 1)), "1 waits for 2, 2 for 3");
        waits.take_back();
        assert!(!is_hopeless(&mut waits, join(3, 4)));
        waits.remove(2);
        assert!(!is_hopeless(&mut waits, join(4, 1)), "2 goes on, so 1 will");
    }

    #[test]
    fn a_circle_leads_through_one_of_several_only_if_all_of_them_do() {
        let mut waits = Waits::default();
        assert!(!is_hopeless(&mut waits, forever(1, Awaits::OneOf(vec![2, 3]))));
        assert!(!is_hopeless(&mut waits, join(2, 1)), "3 may end");
        assert!(is_hopeless(&mut waits, join(3, 1)), "neither will");
    }

    #[test]
    fn a_wait_that_is_over_acquits_those_that_depend_on_it() {
        let mut waits = Waits::default();
        let mut over = join(1, 2);
        over.goes_on = GoesOn(Box::new(|| false));
        waits.add(over);
        assert!(!is_hopeless(&mut waits, join(2, 1)));
        assert!(waits.everybody(2).is_none());
    }

    #[test]
    fn where_one_must_wait_another_is_called_off() {
        let mut waits = Waits::default();
        let child = join(2, 1);
        let alarm = child.alarm.clone().unwrap();
        waits.add(child);
        let mut brace = forever(1, Awaits::All(Arc::new(Lock::new(HashSet::from([2, 9])))));
        brace.alarm = None;
        waits.add(brace);
        let trouble = waits
            .only_for_each_other()
            .expect("the child waits for its parent");
        assert!(trouble.way_out.unwrap().is_same(&alarm));
    }
}
