//! Who waits for whom, among the workers of a pool and its annexes.
//!
//! In: a note for each worker whose task waits, without a limit, for tasks of its own pool. Out: whether a wait could ever
//! end. Two troubles are seen: waits that only each other could end (a circle, through joins, groups, braces and the gates
//! of views, and from one part of the pool to another), and a part all of whose workers wait for tasks of that part. Not seen:
//! circles through another pool, a lock or a channel. The notes of annexes are among those of their pool, so that parts that
//! wait for each other are seen too.

use crate::sync::{Arc, Lock};
use crate::task::Token;
use crate::task::block::Header;
use crate::task::view::{ANY_NUMBER, View};
use std::collections::HashSet;
use std::fmt;

/// A worker's wait, without a limit, for tasks of its own pool.
#[derive(Debug)]
pub(crate) struct WaitNote {
    /// The part of the pool whose worker waits, and the part whose tasks it waits for.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Tells one note from another.
    pub(crate) number: usize,
    /// The tasks, by address, that the waiting thread is in the middle of.
    pub(crate) running: Vec<usize>,
    /// The gates, by their views' addresses, in which these have a slot.
    pub(crate) slots: Vec<usize>,
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
    OneOf(Vec<Awaited>),
    /// All of these, by address, of which some may end meanwhile; and the gates they go through.
    All(Arc<Lock<HashSet<usize>>>, Vec<Passage>),
    /// Tasks that are not known here.
    Unknown,
}

/// A task that somebody waits for.
#[derive(Debug)]
pub(crate) struct Awaited {
    task: usize,
    gates: Vec<Passage>,
}

/// A gate that a task has to pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    gate: usize,
    limit: u32,
}

impl Awaited {
    pub(crate) fn task(task: &Header) -> Self {
        Awaited {
            task: std::ptr::from_ref(task).addr(),
            gates: task.view().map_or_else(Vec::new, |view| Passage::all(&view)),
        }
    }
}

impl Passage {
    pub(crate) fn all(view: &Arc<View>) -> Vec<Self> {
        view.chain()
            .filter(|view| view.limit() != ANY_NUMBER)
            .map(|view| Passage {
                gate: view.identity(),
                limit: view.limit(),
            })
            .collect()
    }
}

impl Awaits {
    /// Whether none of it can come as long as the tasks for which `never_ends` holds do not end, nor give back the slots
    /// of gates for which `is_shut` holds.
    fn is_hopeless(&self, never_ends: impl Fn(usize) -> bool, is_shut: impl Fn(&Passage) -> bool) -> bool {
        match self {
            Awaits::OneOf(tasks) => {
                let is_hopeless = |each: &Awaited| never_ends(each.task) || each.gates.iter().any(&is_shut);
                !tasks.is_empty() && tasks.iter().all(is_hopeless)
            }
            Awaits::All(tasks, gates) => {
                let tasks = tasks.lock();
                tasks.iter().any(|task| never_ends(*task)) || (!tasks.is_empty() && gates.iter().any(is_shut))
            }
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
    way_out: Option<(usize, Token)>,
}

/// The notes, in no order but that the newest is the last.
#[derive(Debug, Default)]
pub(crate) struct Waits(Vec<WaitNote>);

impl Waits {
    /// A worker of a part with so many workers, if all of them may be in trouble, begins to wait. `Err`: nobody could
    /// ever end that wait, and it is not begun; if it must be waited all the same, the answer is somebody else to be called
    /// off.
    pub(crate) fn begin(&mut self, note: WaitNote, workers: Option<usize>) -> Result<Option<Token>, Stuck> {
        let must_wait = note.alarm.is_none();
        let part = (note.from == note.to).then_some(note.from);
        self.add(note);
        let everybody = |waits: &Self| waits.everybody(part?, workers?);
        match self.only_for_each_other().or_else(|| everybody(self)) {
            None => Ok(None),
            Some(trouble) if must_wait => Ok(trouble.way_out()),
            Some(_) => {
                self.take_back();
                Err(Stuck)
            }
        }
    }

    fn add(&mut self, note: WaitNote) {
        self.0.push(note);
    }

    /// The newest wait is not begun after all.
    fn take_back(&mut self) {
        self.0.pop();
    }

    pub(crate) fn remove(&mut self, number: usize) {
        let index = self.0.iter().position(|each| each.number == number);
        self.0.remove(index.expect("a wait that ends was noted"));
    }

    /// Whether as many wait for tasks of their own part as it has workers.
    pub(crate) fn everybody(&self, part: usize, workers: usize) -> Option<Trouble> {
        let is_there = |each: &&WaitNote| (each.from, each.to) == (part, part);
        let there: Vec<&WaitNote> = self.0.iter().filter(is_there).collect();
        let waiting = there.iter().filter(|each| each.goes_on()).count();
        (waiting == workers).then(|| Trouble::among(&there))
    }

    /// Whether nobody is left who could end this wait, in several parts that wait for each other: of each of them, with so
    /// many workers, all wait for tasks of these parts.
    pub(crate) fn everybody_in(&self, parts: &[(usize, usize)], number: usize) -> Option<Trouble> {
        let waiting: Vec<&WaitNote> = self.0.iter().filter(|each| each.goes_on()).collect();
        let mut stuck: Vec<(usize, usize)> = parts.to_vec();
        loop {
            let before = stuck.clone();
            let is_among = |part: usize| before.iter().any(|(each, _)| *each == part);
            stuck.retain(|(part, workers)| {
                let there = waiting.iter().filter(|each| each.from == *part);
                there.clone().count() == *workers && there.clone().all(|each| is_among(each.to))
            });
            if stuck.len() == before.len() {
                break;
            }
        }
        let is_stuck = |each: &&WaitNote| stuck.iter().any(|(part, _)| *part == each.from);
        let concerned: Vec<&WaitNote> = waiting.into_iter().filter(is_stuck).collect();
        let is_it = |each: &&WaitNote| each.number == number;
        concerned.iter().any(is_it).then(|| Trouble::among(&concerned))
    }

    /// Waits that can only be ended by each other, with the newest among them.
    ///
    /// Begins with all waits that go on as suspects, and acquits, until nothing changes, those that wait for something
    /// which does not depend on a suspect. If suspects have all slots of a gate, nobody else is past it.
    fn only_for_each_other(&self) -> Option<Trouble> {
        let mut suspects: Vec<&WaitNote> = self.0.iter().filter(|each| each.goes_on()).collect();
        loop {
            let before = suspects.len();
            let never_ends = |task: usize| suspects.iter().any(|other| other.running.contains(&task));
            let is_shut = |passage: &Passage| {
                let slots = suspects.iter().flat_map(|other| &other.slots);
                slots.filter(|gate| **gate == passage.gate).count() >= passage.limit as usize
            };
            let is_guilty = |each: &&&WaitNote| each.awaits.is_hopeless(never_ends, is_shut);
            let guilty = suspects.iter().filter(is_guilty);
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
        let way_out = |each: &&WaitNote| Some((each.number, each.alarm.clone()?));
        Trouble {
            way_out: notes.iter().rev().find_map(way_out),
        }
    }

    /// What calls that wait off.
    pub(crate) fn way_out(self) -> Option<Token> {
        self.way_out.map(|(_, alarm)| alarm)
    }

    /// Whether it is this wait that is called off. Several may find the same trouble in the same moment, and one of them is
    /// enough.
    pub(crate) fn is_ended_by(&self, number: usize) -> bool {
        self.way_out.as_ref().is_some_and(|(each, _)| *each == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait that goes on for ever, of the thread that runs this task.
    fn forever(running: usize, awaits: Awaits) -> WaitNote {
        WaitNote {
            from: 0,
            to: 0,
            number: running,
            running: vec![running],
            slots: Vec::new(),
            awaits,
            goes_on: GoesOn(Box::new(|| true)),
            alarm: Some(Token::new()),
        }
    }

    fn one_of(tasks: &[usize], gates: &[Passage]) -> Awaits {
        let awaited = tasks.iter().map(|task| Awaited {
            task: *task,
            gates: gates.to_vec(),
        });
        Awaits::OneOf(awaited.collect())
    }

    fn join(running: usize, target: usize) -> WaitNote {
        forever(running, one_of(&[target], &[]))
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
        assert!(!is_hopeless(&mut waits, forever(1, one_of(&[2, 3], &[]))));
        assert!(!is_hopeless(&mut waits, join(2, 1)), "3 may end");
        assert!(is_hopeless(&mut waits, join(3, 1)), "neither will");
    }

    #[test]
    fn the_last_worker_of_a_part_may_not_wait_for_its_own_tasks_when_no_spare_is_left() {
        let mut waits = Waits::default();
        assert!(waits.begin(forever(1, Awaits::Unknown), Some(2)).is_ok());
        assert!(waits.begin(forever(2, Awaits::Unknown), Some(2)).is_err());
        assert!(
            waits.begin(forever(2, Awaits::Unknown), None).is_ok(),
            "a spare may come"
        );
        waits.remove(2);
        let mut elsewhere = forever(2, Awaits::Unknown);
        elsewhere.to = 1;
        assert!(waits.begin(elsewhere, Some(2)).is_ok(), "others may end it");
    }

    #[test]
    fn parts_all_of_whose_workers_wait_for_each_other_are_stuck() {
        let mut waits = Waits::default();
        let between = |number: usize, from: usize, to: usize| WaitNote {
            from,
            to,
            ..forever(number, Awaits::Unknown)
        };
        waits.add(between(1, 0, 1));
        assert!(
            waits.everybody_in(&[(0, 1)], 1).is_none(),
            "the other part may end it"
        );
        waits.add(between(2, 1, 0));
        assert!(waits.everybody_in(&[(0, 1), (1, 1)], 2).is_some());
        assert!(
            waits.everybody_in(&[(0, 1), (1, 2)], 2).is_none(),
            "one worker there does not wait"
        );
        waits.add(between(3, 1, 7));
        assert!(
            waits.everybody_in(&[(0, 1), (1, 2)], 2).is_none(),
            "one waits for somebody who may come"
        );
    }

    #[test]
    fn a_circle_leads_through_a_gate_whose_slots_all_wait() {
        let gate = Passage { gate: 77, limit: 2 };
        let mut waits = Waits::default();
        let inside = |running: usize, target: usize| WaitNote {
            slots: vec![gate.gate],
            ..forever(running, one_of(&[target], &[gate]))
        };
        assert!(
            !is_hopeless(&mut waits, inside(1, 8)),
            "the other slot may come back"
        );
        assert!(
            is_hopeless(&mut waits, inside(2, 9)),
            "both wait for what is outside"
        );
        waits.take_back();
        assert!(
            !is_hopeless(&mut waits, join(2, 9)),
            "the second has no slot there"
        );
    }

    #[test]
    fn a_wait_that_is_over_acquits_those_that_depend_on_it() {
        let mut waits = Waits::default();
        let mut over = join(1, 2);
        over.goes_on = GoesOn(Box::new(|| false));
        waits.add(over);
        assert!(!is_hopeless(&mut waits, join(2, 1)));
        assert!(waits.everybody(0, 2).is_none());
    }

    #[test]
    fn where_one_must_wait_another_is_called_off() {
        let mut waits = Waits::default();
        let child = join(2, 1);
        let alarm = child.alarm.clone().unwrap();
        waits.add(child);
        let mut brace = forever(1, Awaits::All(Arc::new(Lock::new(HashSet::from([2, 9]))), vec![]));
        brace.alarm = None;
        waits.add(brace);
        let trouble = waits
            .only_for_each_other()
            .expect("the child waits for its parent");
        assert!(trouble.way_out().unwrap().is_same(&alarm));
    }
}
