//! Which tasks wait for which, among the workers of all pools of this process.
//!
//! In: a note for each worker whose task waits, without a limit, for tasks of some pool. Out: whether a wait could ever
//! end. Two troubles are seen: waits that only each other could end (a circle, through joins, groups, braces and the gates
//! of views), and parts (pools, and the annexes of pools) all of whose workers wait for tasks of these parts, while no
//! thread can come to any of them. Not seen: circles through a lock, a channel or a future.
//!
//! **When it is asked.** A wait that begins asks ([`Engine::trouble`]), and so does every event after which there is a hand
//! less, or one that could have come cannot any more: all of them call [`Engine::look_after_waits`]. Each asks after its own
//! change, so of two that change something at once the later one sees both.
//!
//! The notes are those of a process, behind one lock, so that all of them can be looked at in one moment. Lock order:
//! producers, then this, then a scope's live tasks.

use super::crew::Crew;
use super::engine::Engine;
use crate::sync::process::generation;
use crate::sync::{Arc, Guard, Lock, Weak};
use crate::task::Token;
use crate::task::block::Header;
use crate::task::view::{ANY_NUMBER, View};
use std::collections::HashSet;
use std::fmt;

/// A worker's wait, without a limit, for tasks of a pool.
#[derive(Debug)]
pub(crate) struct WaitNote {
    /// The part whose worker waits, and the part whose tasks it waits for.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The first of the two.
    pub(crate) engine: Weak<Engine>,
    /// Tells one note from another.
    pub(crate) number: usize,
    /// The tasks, by address, that the waiting thread is in the middle of.
    pub(crate) running: Vec<usize>,
    /// The parts whose tasks are among these although the thread is none of their workers, once for each such task.
    pub(crate) visits: Vec<usize>,
    /// The gates, by their views' addresses, in which these have a slot.
    pub(crate) slots: Vec<usize>,
    pub(crate) awaits: Awaits,
    /// Whether the wait goes on: nothing has happened yet that ends it. Called under the lock of the notes, under which
    /// the note is taken out before what this looks at may go.
    pub(crate) goes_on: Look,
    /// Whether the waiting thread could run what it waits for, as the last resort
    /// ([`run_strangers_in_place`](crate::worker::spare::run_strangers_in_place)). As that.
    pub(crate) may_run: Look,
    /// Fired when the wait could never end; `None` for one that must be waited all the same.
    pub(crate) alarm: Option<Token>,
}

/// What a worker waits for, by address.
#[derive(Debug)]
pub(crate) enum Awaits {
    /// Any one of these.
    OneOf(Vec<Awaited>),
    /// All of these, by address, of which some may end meanwhile; and the gates they go through.
    All(Arc<Lock<HashSet<usize>>>, Vec<Passage>),
    /// The end of this part: of all its tasks, so of its workers' waits.
    EndOf(usize),
    /// Tasks that are not known here.
    Unknown,
}

/// A task that is awaited.
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
    /// of gates for which `is_shut` holds; a worker of a part for which `is_held` holds runs such a task.
    fn is_hopeless(
        &self,
        never_ends: impl Fn(usize) -> bool,
        is_shut: impl Fn(&Passage) -> bool,
        is_held: impl Fn(usize) -> bool,
    ) -> bool {
        match self {
            Awaits::OneOf(tasks) => {
                let is_hopeless = |each: &Awaited| never_ends(each.task) || each.gates.iter().any(&is_shut);
                !tasks.is_empty() && tasks.iter().all(is_hopeless)
            }
            Awaits::All(tasks, gates) => {
                let tasks = tasks.lock();
                tasks.iter().any(|task| never_ends(*task)) || (!tasks.is_empty() && gates.iter().any(is_shut))
            }
            Awaits::EndOf(part) => is_held(*part),
            Awaits::Unknown => false,
        }
    }
}

/// A look at a wait as it is now: see [`WaitNote::goes_on`].
pub(crate) struct Look(pub(crate) Box<dyn Fn() -> bool + Send>);

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", (self.0)())
    }
}

impl WaitNote {
    fn goes_on(&self) -> bool {
        (self.goes_on.0)()
    }
}

/// The wait could never end.
#[derive(Debug)]
pub(crate) struct Stuck;

/// Waits that nothing will end, and one among them that can be called off, if there is one.
#[derive(Debug)]
pub(crate) struct Trouble {
    way_out: Option<(usize, Token)>,
    /// Whose workers wait.
    parts: Vec<usize>,
}

/// The workers of a part to which no thread will come as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crowd {
    pub(crate) part: usize,
    pub(crate) workers: usize,
    /// Threads that are none of its workers and run one of its tasks.
    pub(crate) visitors: usize,
    /// Workers that were ever hired: tells whether there was another meanwhile.
    pub(crate) hired: u64,
}

/// The notes, in no order but that the newest is the last.
#[derive(Debug)]
pub(crate) struct Waits {
    notes: Vec<WaitNote>,
    /// Of the process that wrote them.
    generation: u16,
}

/// All notes of this process.
pub(crate) fn all() -> Guard<'static, Waits> {
    let mut waits = registry().lock();
    if waits.generation != generation() {
        // Of threads that are not in this process: nothing there may be looked at, nor dropped.
        std::mem::forget(std::mem::take(&mut waits.notes));
        waits.generation = generation();
    }
    waits
}

#[cfg(not(any(loom, shuttle)))]
fn registry() -> &'static Lock<Waits> {
    static ALL: Lock<Waits> = Lock::new(Waits::new());
    &ALL
}

#[cfg(loom)]
fn registry() -> &'static Lock<Waits> {
    loom::lazy_static! {
        static ref ALL: Lock<Waits> = Lock::new(Waits::new());
    }
    &ALL
}

#[cfg(shuttle)]
fn registry() -> &'static Lock<Waits> {
    shuttle::lazy_static! {
        static ref ALL: Lock<Waits> = Lock::new(Waits::new());
    }
    &ALL
}

/// Takes the lock before a fork, so that no other thread holds it in the moment of the copy.
#[cfg(all(unix, not(any(loom, shuttle))))]
pub(super) fn hold_for_fork() {
    registry().hold();
}

/// The other half of [`hold_for_fork`], in the parent and in the child.
#[cfg(all(unix, not(any(loom, shuttle))))]
pub(super) fn let_go_after_fork() {
    registry().let_go();
}

impl Waits {
    const fn new() -> Self {
        Waits {
            notes: Vec::new(),
            generation: 0,
        }
    }

    /// A wait begins. `Err`: it closes a circle, and is not begun; if it must be waited all the same, the answer is
    /// another one to be called off.
    pub(crate) fn begin(&mut self, note: WaitNote) -> Result<Option<Token>, Stuck> {
        let must_wait = note.alarm.is_none();
        self.notes.push(note);
        match self.only_for_each_other() {
            None => Ok(None),
            Some(trouble) if must_wait => Ok(trouble.way_out()),
            Some(_) => {
                self.notes.pop();
                Err(Stuck)
            }
        }
    }

    pub(crate) fn remove(&mut self, number: usize) {
        let index = self.notes.iter().position(|each| each.number == number);
        self.notes.remove(index.expect("a wait that ends was noted"));
    }

    /// How many workers of this part wait.
    pub(crate) fn waiting_in(&self, part: usize) -> usize {
        self.going_on().filter(|each| each.from == part).count()
    }

    /// The parts whose workers wait.
    pub(crate) fn engines(&self) -> Vec<Arc<Engine>> {
        let mut parts = HashSet::new();
        let firsts = self.notes.iter().filter(|each| parts.insert(each.from));
        firsts.filter_map(|each| each.engine.upgrade()).collect()
    }

    fn going_on(&self) -> impl Iterator<Item = &WaitNote> {
        self.notes.iter().filter(|each| each.goes_on())
    }

    /// Whether all workers of this part wait for tasks of parts all of whose workers wait for tasks of these parts.
    pub(crate) fn everybody_in(&self, part: usize, crowds: &[Crowd]) -> Option<Trouble> {
        let waiting: Vec<&WaitNote> = self.going_on().collect();
        let mut stuck: Vec<&Crowd> = crowds.iter().collect();
        loop {
            let before = stuck.clone();
            let is_among = |part: usize| before.iter().any(|each| each.part == part);
            stuck.retain(|crowd| {
                let there = waiting.iter().filter(|each| each.from == crowd.part);
                let visits = waiting.iter().flat_map(|each| &each.visits);
                there.clone().count() == crowd.workers
                    && visits.filter(|part| **part == crowd.part).count() == crowd.visitors
                    && there.clone().all(|each| is_among(each.to))
            });
            if stuck.len() == before.len() {
                break;
            }
        }
        stuck.iter().find(|crowd| crowd.part == part)?;
        // Those that the part depends on; others may be stuck for reasons of their own.
        let mut parts = vec![part];
        let mut next = 0;
        while let Some(part) = parts.get(next).copied() {
            for each in waiting.iter().filter(|each| each.from == part) {
                if !parts.contains(&each.to) {
                    parts.push(each.to);
                }
            }
            next += 1;
        }
        let concerned = waiting.into_iter().filter(|each| parts.contains(&each.from));
        Some(Trouble::among(&concerned.collect::<Vec<_>>()))
    }

    /// Waits that can only be ended by each other, with the newest among them.
    ///
    /// Begins with all waits that go on as suspects, and acquits, until nothing changes, those that wait for something
    /// which does not depend on a suspect. If suspects have all slots of a gate, no other is past it.
    fn only_for_each_other(&self) -> Option<Trouble> {
        let mut suspects: Vec<&WaitNote> = self.going_on().collect();
        loop {
            let before = suspects.len();
            let never_ends = |task: usize| suspects.iter().any(|other| other.running.contains(&task));
            let is_shut = |passage: &Passage| {
                let slots = suspects.iter().flat_map(|other| &other.slots);
                slots.filter(|gate| **gate == passage.gate).count() >= passage.limit as usize
            };
            let is_held = |part: usize| suspects.iter().any(|other| other.from == part);
            let is_guilty = |each: &&&WaitNote| each.awaits.is_hopeless(never_ends, is_shut, is_held);
            let guilty = suspects.iter().filter(is_guilty);
            let guilty: Vec<&WaitNote> = guilty.copied().collect();
            if guilty.len() == before {
                break;
            }
            suspects = guilty;
        }
        let newest = self.notes.last()?.number;
        let is_concerned = suspects.iter().any(|each| each.number == newest);
        is_concerned.then(|| Trouble::among(&suspects))
    }
}

impl Trouble {
    fn among(notes: &[&WaitNote]) -> Self {
        let way_out = |each: &&WaitNote| Some((each.number, each.alarm.clone()?));
        // One that can go on by itself has no need to be told.
        let may_run = notes.iter().filter(|each| (each.may_run.0)());
        let first = may_run.rev().find_map(way_out);
        Trouble {
            way_out: first.or_else(|| notes.iter().rev().find_map(way_out)),
            parts: notes.iter().map(|each| each.from).collect(),
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

impl Engine {
    /// Whether waits of this part's workers, all of them, could never end: see [`Waits::everybody_in`].
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        // Most often one look is enough.
        if !self.are_all_noted() {
            return None;
        }
        let engines = all().engines();
        // The notes are read at one moment, the workers one part after the other: if those of the parts concerned are the
        // same before and after that, and none was hired meanwhile, they were so at that moment. Otherwise the thread that
        // changed it looks again. (What others do in parts of their own is no reason to look away.)
        let read = |is_meant: &dyn Fn(usize) -> bool| -> Vec<Crowd> {
            let meant = engines.iter().filter(|part| is_meant(part.identity()));
            meant.filter_map(|part| part.crowd_as_it_stays()).collect()
        };
        let before = read(&|_| true);
        let trouble = all().everybody_in(self.identity(), &before)?;
        let is_meant = |part: usize| trouble.parts.contains(&part);
        let concerned = before.iter().copied().filter(|crowd| is_meant(crowd.part));
        let is_same = read(&is_meant).into_iter().eq(concerned);
        is_same.then_some(trouble)
    }

    /// The workers of this part, if there are some and no other will come as it is: there may be no more, the system
    /// refuses more, or none would have something to do.
    fn crowd_as_it_stays(&self) -> Option<Crowd> {
        self.room.look(|producers, is_empty| {
            let crew = &producers.gate;
            let may_come = crew.workers() < crew.ceiling() && !crew.is_refused();
            let is_wanted =
                || !is_empty || !self.timers.due.looks_empty() || self.has_suspended_seen_by(producers);
            let stays = crew.workers() > 0 && !(may_come && is_wanted());
            stays.then(|| Crowd {
                part: self.identity(),
                workers: crew.workers(),
                visitors: self.visitors(),
                hired: crew.hired(),
            })
        })
    }

    /// There is a hand less here, or one less that could have come: if what the others wait for was left to it, a thread is
    /// started, or one of them is told. The one place that every such event calls, after the event and without a lock.
    pub(crate) fn look_after_waits(&self) {
        if !self.are_all_noted() {
            return;
        }
        if let Some(me) = self.me.upgrade() {
            me.staff_up(true);
        }
        self.tell_waits();
    }

    /// As [`Engine::look_after_waits`], where a thread could not be started.
    pub(crate) fn tell_waits(&self) {
        if let Some(trouble) = self.trouble() {
            trouble.end();
        }
    }

    /// At a glance: a wait may be over, and its note still there.
    fn are_all_noted(&self) -> bool {
        let producers = self.room.producers();
        let crew = &producers.gate;
        crew.noted > 0 && crew.noted >= crew.workers()
    }

    /// Whether this worker is the only one here whose task, if it has one, does not wait for another. Under the
    /// producers' lock.
    pub(crate) fn is_last_hand(&self, crew: &Crew) -> bool {
        crew.workers() <= 1 + crew.noted
            && (crew.noted == 0 || crew.workers() <= 1 + all().waiting_in(self.identity()))
    }

    /// A worker of this part begins to wait: see [`Waits::begin`]. Under the producers' lock.
    pub(crate) fn begin_wait(&self, crew: &mut Crew, note: WaitNote) -> Result<Option<Token>, Stuck> {
        let answer = all().begin(note);
        crew.noted += usize::from(answer.is_ok());
        answer
    }

    /// That wait is over. Under the producers' lock.
    pub(crate) fn end_wait(&self, crew: &mut Crew, number: usize) {
        all().remove(number);
        crew.noted -= 1;
    }
}

impl Trouble {
    /// One of the waits is called off. Where none can be, another thread comes, whatever number was set: it is that or a
    /// wait without an end.
    pub(crate) fn end(self) {
        if let Some((_, alarm)) = self.way_out {
            return alarm.cancel();
        }
        let engines = all().engines();
        for engine in engines
            .iter()
            .filter(|each| self.parts.contains(&each.identity()))
        {
            engine.stand_in_regardless();
        }
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
            engine: Weak::new(),
            number: running,
            running: vec![running],
            visits: Vec::new(),
            slots: Vec::new(),
            awaits,
            goes_on: Look(Box::new(|| true)),
            may_run: Look(Box::new(|| false)),
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
        waits.notes.push(note);
        waits.only_for_each_other().is_some()
    }

    #[test]
    fn a_circle_is_seen_by_whoever_closes_it() {
        let mut waits = Waits::new();
        assert!(!is_hopeless(&mut waits, join(1, 2)));
        assert!(!is_hopeless(&mut waits, join(2, 3)));
        assert!(is_hopeless(&mut waits, join(3, 1)), "1 waits for 2, 2 for 3");
        waits.notes.pop();
        assert!(!is_hopeless(&mut waits, join(3, 4)));
        waits.remove(2);
        assert!(!is_hopeless(&mut waits, join(4, 1)), "2 goes on, so 1 will");
    }

    #[test]
    fn a_circle_leads_through_one_of_several_only_if_all_of_them_do() {
        let mut waits = Waits::new();
        assert!(!is_hopeless(&mut waits, forever(1, one_of(&[2, 3], &[]))));
        assert!(!is_hopeless(&mut waits, join(2, 1)), "3 may end");
        assert!(is_hopeless(&mut waits, join(3, 1)), "neither will");
    }

    fn crowd(part: usize, workers: usize) -> Crowd {
        Crowd {
            part,
            workers,
            visitors: 0,
            hired: workers as u64,
        }
    }

    #[test]
    fn the_workers_of_a_part_that_all_wait_for_its_own_tasks_are_stuck() {
        let mut waits = Waits::new();
        waits.notes.push(forever(1, Awaits::Unknown));
        assert!(
            waits.everybody_in(0, &[crowd(0, 2)]).is_none(),
            "one does not wait"
        );
        waits.notes.push(forever(2, Awaits::Unknown));
        assert!(waits.everybody_in(0, &[crowd(0, 2)]).is_some());
        assert!(waits.everybody_in(0, &[]).is_none(), "a thread may come");
    }

    #[test]
    fn parts_all_of_whose_workers_wait_for_each_other_are_stuck() {
        let mut waits = Waits::new();
        let between = |number: usize, from: usize, to: usize| WaitNote {
            from,
            to,
            ..forever(number, Awaits::Unknown)
        };
        waits.notes.push(between(1, 0, 1));
        assert!(
            waits.everybody_in(0, &[crowd(0, 1)]).is_none(),
            "the other part may end it"
        );
        waits.notes.push(between(2, 1, 0));
        assert!(waits.everybody_in(1, &[crowd(0, 1), crowd(1, 1)]).is_some());
        assert!(
            waits.everybody_in(1, &[crowd(0, 1), crowd(1, 2)]).is_none(),
            "one worker there does not wait"
        );
        waits.notes.push(between(3, 1, 7));
        assert!(
            waits.everybody_in(1, &[crowd(0, 1), crowd(1, 2)]).is_none(),
            "one waits for a part that may go on"
        );
    }

    #[test]
    fn only_those_that_the_part_depends_on_are_called_off() {
        let mut waits = Waits::new();
        let elsewhere = WaitNote {
            from: 5,
            to: 5,
            ..forever(2, Awaits::Unknown)
        };
        let own = forever(1, Awaits::Unknown);
        let alarm = own.alarm.clone().unwrap();
        waits.notes.push(own);
        waits.notes.push(elsewhere);
        let trouble = waits.everybody_in(0, &[crowd(0, 1), crowd(5, 1)]);
        assert!(trouble.unwrap().way_out().unwrap().is_same(&alarm));
    }

    #[test]
    fn a_visitor_that_does_not_wait_may_end_what_it_runs() {
        let mut waits = Waits::new();
        waits.notes.push(forever(1, Awaits::Unknown));
        let mut visited = crowd(0, 1);
        visited.visitors = 1;
        assert!(waits.everybody_in(0, &[visited]).is_none());
        waits.notes.push(WaitNote {
            from: 3,
            visits: vec![0],
            ..forever(2, Awaits::Unknown)
        });
        assert!(
            waits.everybody_in(0, &[visited]).is_some(),
            "the visitor waits too"
        );
    }

    #[test]
    fn a_circle_leads_through_a_gate_whose_slots_all_wait() {
        let gate = Passage { gate: 77, limit: 2 };
        let mut waits = Waits::new();
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
        waits.notes.pop();
        assert!(
            !is_hopeless(&mut waits, join(2, 9)),
            "the second has no slot there"
        );
    }

    #[test]
    fn a_wait_that_is_over_acquits_those_that_depend_on_it() {
        let mut waits = Waits::new();
        let mut over = join(1, 2);
        over.goes_on = Look(Box::new(|| false));
        waits.notes.push(over);
        assert!(!is_hopeless(&mut waits, join(2, 1)));
        assert!(waits.everybody_in(0, &[crowd(0, 2)]).is_none());
    }

    #[test]
    fn where_one_must_wait_another_is_called_off() {
        let mut waits = Waits::new();
        let child = join(2, 1);
        let alarm = child.alarm.clone().unwrap();
        waits.notes.push(child);
        let mut brace = forever(1, Awaits::All(Arc::new(Lock::new(HashSet::from([2, 9]))), vec![]));
        brace.alarm = None;
        waits.notes.push(brace);
        let trouble = waits
            .only_for_each_other()
            .expect("the child waits for its parent");
        assert!(trouble.way_out().unwrap().is_same(&alarm));
    }
}
