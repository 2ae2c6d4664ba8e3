//! The flight recorder: the last things that happened, in rings.
//!
//! In: one short record for each submission and each run, and for what is rare. Out: [`Event`]s in order, with numbers, for
//! those who read. Off unless a pool asks for it; then each record is one short section under one of a few locks: workers
//! write to their own, submitters to one that their thread was given, so that two hardly ever meet.
//!
//! Events get their numbers when somebody reads: then all rings are emptied into one log, sorted by time, and counted.
//! What nobody reads is overwritten, the oldest first. A run is written once, at its end, with both its times; it is read as
//! two events. What runs still is not in here: [`Control::workers`](crate::Control::workers) knows it.

use super::event::{Ending, Event, EventKind, Recent};
use crate::Size;
use crate::sync::unmodelled::{AtomicUsize, Relaxed};
use crate::sync::{Arc, Lock, Padded, local};
use crate::time::Tick;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Rings for workers, and as many for submitters.
const SHARDS: usize = 4;

/// Names beyond this many are not kept: they are meant to be few.
const NAMES: usize = 256;

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Flight {
    /// When the pool was built.
    born: Tick,
    events: usize,
    rings: [Padded<Lock<Ring>>; 2 * SHARDS],
    log: Lock<Log>,
    names: Lock<Names>,
    parts: Lock<Vec<Arc<str>>>,
}

/// A pool's, or an annex's, way to it.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) flight: Arc<Flight>,
    part: u8,
}

/// The task that a record is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) type_name: &'static str,
    pub(crate) task: u64,
    /// A number of [`Names`], or 0.
    pub(crate) name: u16,
    /// Of the queue, where it has levels.
    pub(crate) level: Option<u8>,
}

/// What a ring keeps.
#[derive(Debug, Clone, Copy)]
struct Record {
    at: Tick,
    what: What,
    subject: Option<Subject>,
    worker: u32,
    part: u8,
}

/// An [`EventKind`] in few bytes.
#[derive(Debug, Clone, Copy)]
enum What {
    Ran { began: Tick, ending: Ending },
    Submitted,
    Rejected,
    Stolen,
    Promoted,
    Resized { from: [u32; 2], to: [u32; 2] },
    Fired { tasks: u32, late: Tick },
}

fn size(numbers: [u32; 2]) -> Size {
    let [core, max] = numbers.map(|number| number as usize);
    Size { core, max }
}

#[derive(Debug, Default)]
struct Ring {
    records: VecDeque<Record>,
    /// Overwritten since somebody read last.
    lost: u64,
    /// Ever written.
    written: u64,
}

#[derive(Debug, Default)]
struct Log {
    events: VecDeque<Event>,
    next: u64,
    /// The number before which something is missing.
    gap: Option<u64>,
}

#[derive(Debug, Default)]
struct Names {
    known: BTreeMap<Arc<str>, u16>,
    list: Vec<Arc<str>>,
}

local! {
    /// Which ring a thread's submissions go to; 0: not given yet.
    static RING: Cell<usize> = Cell::new(0);
}

impl Flight {
    pub(crate) fn new(events: usize, born: Tick) -> Arc<Self> {
        Arc::new(Flight {
            born,
            events,
            rings: std::array::from_fn(|_| Padded(Lock::new(Ring::default()))),
            log: Lock::new(Log::default()),
            names: Lock::new(Names::default()),
            parts: Lock::new(Vec::new()),
        })
    }

    /// For a part of the pool.
    pub(crate) fn recording(self: &Arc<Self>, name: &Arc<str>) -> Recording {
        let mut parts = self.parts.lock();
        // An annex that comes and goes is the same part.
        let part = parts.iter().position(|each| each == name).unwrap_or_else(|| {
            parts.push(name.clone());
            parts.len() - 1
        });
        Recording {
            flight: self.clone(),
            part: u8::try_from(part).unwrap_or(u8::MAX),
        }
    }

    fn since_birth(&self, tick: Tick) -> Duration {
        Duration::from_nanos(tick.saturating_sub(self.born))
    }

    /// The number of a name, 0 if there are too many.
    fn name(&self, name: &str) -> u16 {
        let mut names = self.names.lock();
        if let Some(number) = names.known.get(name) {
            return *number;
        }
        if names.list.len() == NAMES {
            return 0;
        }
        let name: Arc<str> = name.into();
        names.list.push(name.clone());
        let number = names.list.len() as u16;
        names.known.insert(name, number);
        number
    }

    fn write(&self, ring: usize, record: Record) {
        let most = self.events.div_ceil(SHARDS);
        let mut ring = self.rings[ring].lock();
        if ring.records.len() >= most {
            ring.records.pop_front();
            ring.lost += 1;
        }
        ring.records.push_back(record);
        ring.written += 1;
    }

    /// How many records were ever written.
    pub(crate) fn written(&self) -> u64 {
        self.rings.iter().map(|ring| ring.lock().written).sum()
    }

    /// Takes everything out of the rings and puts it into the log.
    fn collect(&self, log: &mut Log) {
        let mut fresh = Vec::new();
        let mut lost = 0;
        for ring in &self.rings {
            // Swapped, not read: whoever writes waits for a few words only.
            let records = {
                let mut ring = ring.lock();
                lost += std::mem::take(&mut ring.lost);
                std::mem::take(&mut ring.records)
            };
            for record in records {
                fresh.extend(self.events_of(&record));
            }
        }
        fresh.sort_by_key(|event| event.at);
        if lost > 0 {
            log.gap = Some(log.next);
        }
        for mut event in fresh {
            event.sequence = log.next;
            log.next += 1;
            if log.events.len() >= self.events {
                log.events.pop_front();
            }
            log.events.push_back(event);
        }
    }

    /// One record as the events it stands for; the numbers come later.
    fn events_of(&self, record: &Record) -> impl Iterator<Item = Event> {
        let subject = record.subject;
        let name = subject.and_then(|subject| {
            let number = usize::from(subject.name).checked_sub(1)?;
            self.names.lock().list.get(number).cloned()
        });
        let part = self.parts.lock().get(usize::from(record.part)).cloned();
        let event = |at, kind| Event {
            sequence: 0,
            at: self.since_birth(at),
            kind,
            part: part.clone().unwrap_or_else(|| "".into()),
            worker: (record.worker > 0).then_some(record.worker as usize),
            level: subject.and_then(|subject| subject.level.map(usize::from)),
            task: subject.and_then(|subject| (subject.task > 0).then_some(subject.task)),
            name: name.clone(),
            type_name: subject.map(|subject| subject.type_name),
        };
        let (first, second) = match record.what {
            What::Ran { began, ending } => (
                event(began, EventKind::Taken),
                Some(event(record.at, EventKind::Ended(ending))),
            ),
            What::Submitted => (event(record.at, EventKind::Submitted), None),
            What::Rejected => (event(record.at, EventKind::Rejected), None),
            What::Stolen => (event(record.at, EventKind::Stolen), None),
            What::Promoted => (event(record.at, EventKind::Promoted), None),
            What::Resized { from, to } => {
                let (from, to) = (size(from), size(to));
                (event(record.at, EventKind::Resized { from, to }), None)
            }
            What::Fired { tasks, late } => {
                let (tasks, late) = (tasks.into(), Duration::from_nanos(late));
                (event(record.at, EventKind::Fired { tasks, late }), None)
            }
        };
        std::iter::once(first).chain(second)
    }

    /// Those that have this number or a later one.
    pub(crate) fn recent(&self, since: u64, now: Tick) -> Recent {
        let mut log = self.log.lock();
        self.collect(&mut log);
        let first = log.events.front().map_or(log.next, |event| event.sequence);
        let skipped = since.saturating_sub(first) as usize;
        Recent {
            events: log.events.iter().skip(skipped).cloned().collect(),
            next: log.next,
            is_cut: since < first || log.gap.is_some_and(|gap| since <= gap),
            now: self.since_birth(now),
        }
    }
}

impl Recording {
    /// A task as records name it; `name` if it has one.
    pub(crate) fn subject(
        &self,
        type_name: &'static str,
        task: u64,
        name: Option<&str>,
        level: Option<usize>,
    ) -> Subject {
        Subject {
            type_name,
            task,
            name: name.map_or(0, |name| self.flight.name(name)),
            level: level.map(|level| level as u8),
        }
    }

    /// A worker ran a task, or polled it.
    pub(crate) fn ran(&self, worker: usize, subject: Subject, began: Tick, at: Tick, ending: Ending) {
        let record = self.record(at, What::Ran { began, ending }, Some(subject), worker);
        self.flight.write(worker % SHARDS, record);
    }

    /// A worker took a task from another's deque.
    pub(crate) fn stole(&self, worker: usize, subject: Subject, at: Tick) {
        self.flight.write(
            worker % SHARDS,
            self.record(at, What::Stolen, Some(subject), worker),
        );
    }

    /// The task that a worker takes was brought forward by its wait.
    pub(crate) fn promoted(&self, worker: usize, subject: Subject, at: Tick) {
        self.flight.write(
            worker % SHARDS,
            self.record(at, What::Promoted, Some(subject), worker),
        );
    }

    pub(crate) fn submitted(&self, subject: Subject, at: Tick) {
        self.somebody_did(at, What::Submitted, Some(subject));
    }

    pub(crate) fn rejected(&self, subject: Subject, at: Tick) {
        self.somebody_did(at, What::Rejected, Some(subject));
    }

    pub(crate) fn resized(&self, at: Tick, from: Size, to: Size) {
        let numbers = |size: Size| [size.core as u32, size.max as u32];
        let (from, to) = (numbers(from), numbers(to));
        self.somebody_did(at, What::Resized { from, to }, None);
    }

    /// So many delayed tasks came due, the first of them so late.
    pub(crate) fn fired(&self, at: Tick, tasks: usize, late: Tick) {
        let tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
        self.somebody_did(at, What::Fired { tasks, late }, None);
    }

    fn somebody_did(&self, at: Tick, what: What, subject: Option<Subject>) {
        self.flight
            .write(SHARDS + own_ring(), self.record(at, what, subject, 0));
    }

    fn record(&self, at: Tick, what: What, subject: Option<Subject>, worker: usize) -> Record {
        Record {
            at,
            what,
            subject,
            worker: worker as u32,
            part: self.part,
        }
    }
}

/// The ring that the calling thread writes to.
fn own_ring() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let given = RING.try_with(Cell::get).unwrap_or(1);
    if given > 0 {
        return (given - 1) % SHARDS;
    }
    let ring = NEXT.fetch_add(1, Relaxed) % SHARDS;
    let _ = RING.try_with(|own| own.set(ring + 1));
    ring
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn subject(recording: &Recording, name: &str) -> Subject {
        recording.subject("closure", 0, Some(name), None)
    }

    #[test]
    fn a_run_is_two_events_in_the_order_of_time() {
        let flight = Flight::new(100, 1_000);
        let recording = flight.recording(&"web".into());
        let one = subject(&recording, "one");
        recording.ran(2, one, 1_300, 1_500, Ending::Panicked);
        recording.submitted(one, 1_200);
        let recent = flight.recent(0, 2_000);
        let seen: Vec<_> = recent
            .events
            .iter()
            .map(|event| (event.sequence, event.at.as_nanos(), event.kind.name()))
            .collect();
        assert_eq!(
            seen,
            [(0, 200, "submitted"), (1, 300, "taken"), (2, 500, "ended")]
        );
        assert_eq!(recent.events[2].worker, Some(2));
        assert_eq!(recent.events[2].name.as_deref(), Some("one"));
        assert_eq!(recent.events[2].kind, EventKind::Ended(Ending::Panicked));
        assert_eq!((recent.next, recent.is_cut), (3, false));
        assert_eq!(recent.now, Duration::from_nanos(1_000));
    }

    #[test]
    fn who_reads_on_gets_what_is_new_and_is_told_what_is_gone() {
        let flight = Flight::new(8, 0);
        let recording = flight.recording(&"web".into());
        let one = subject(&recording, "one");
        let submit = |at| recording.submitted(one, at);
        submit(1);
        let first = flight.recent(0, 1);
        assert_eq!(first.events.len(), 1);
        submit(2);
        let second = flight.recent(first.next, 2);
        assert_eq!((second.events.len(), second.events[0].sequence), (1, 1));
        assert!(!second.is_cut);
        assert!(flight.recent(second.next, 2).events.is_empty());
        // A ring holds a quarter, the log all of them.
        (3..=7).for_each(submit);
        let third = flight.recent(second.next, 7);
        assert_eq!(third.events.len(), 2);
        assert!(third.is_cut);
        for at in 8..=20 {
            submit(at);
            let _ = flight.recent(0, at);
        }
        let all = flight.recent(0, 20);
        assert_eq!(all.events.len(), 8);
        assert!(all.is_cut);
        assert_eq!(all.events[7].sequence + 1, all.next);
    }

    #[test]
    fn names_are_few() {
        let flight = Flight::new(8, 0);
        for number in 0..NAMES + 5 {
            let number_of_name = flight.name(&format!("task {number}"));
            assert_eq!(number_of_name == 0, number >= NAMES);
        }
        assert_eq!(flight.name("task 0"), 1);
    }
}
