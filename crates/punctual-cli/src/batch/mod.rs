//! A batch: every task of a plan once, each after what it waits for.
//!
//! In: a [`Plan`]. Out: [`Done`]. One thread, the one that calls, keeps the books: it submits what is ready, hears of
//! beginnings and ends, submits what became ready, tries again what failed. The work is done by the library's pools; waiting
//! between attempts is a delayed task. What a pool gives back, or never runs, is heard of too: a [`Ticket`] tells when it is
//! dropped.

pub(crate) mod job;
pub(crate) mod pools;
pub(crate) mod record;

use crate::file::plan::{Plan, TaskPlan};
use crate::interrupt;
use crate::progress::Display;
use job::{Attempt, Why};
use pools::Places;
use punctual::{Rejected, TaskHandle, task};
use record::{Done, Fate, PoolRecord, Record};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often a bar is drawn.
const FRAME: Duration = Duration::from_millis(100);

/// What the keeper of the books hears.
enum Event {
    Started(usize),
    Attempted(usize, Box<Attempt>, Duration),
    /// Nothing more will come from this submission.
    Over(usize),
    Interrupted,
}

/// Tells of its task's end, also if nothing else does.
struct Ticket {
    task: usize,
    to: Sender<Event>,
}

impl Ticket {
    fn say(&self, event: Event) {
        // Nobody hears it when the batch is over, and nobody needs to.
        let _ = self.to.send(event);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.say(Event::Over(self.task));
    }
}

/// Settings of a batch that are not the file's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) fail_fast: bool,
}

/// The books.
struct Batch<'a> {
    plan: Arc<Plan>,
    places: &'a Places,
    options: Options,
    records: Vec<Record>,
    /// For each task: how many it still waits for.
    waits: Vec<usize>,
    /// For each task: who waits for it.
    next: Vec<Vec<usize>>,
    /// Tasks without an end yet.
    open: usize,
    /// Refused for want of room, for each pool; they go in when somebody has come out.
    held: Vec<VecDeque<usize>>,
    held_back: Vec<u64>,
    /// Attempts whose time has not come.
    delayed: HashMap<usize, TaskHandle<()>>,
    /// For each task: how many of its tickets are out; being held back counts as one.
    tickets: Vec<u32>,
    running: Vec<usize>,
    to: Sender<Event>,
    /// How often we were asked to end.
    asked: usize,
    /// Nothing new is started. Tasks that try again by themselves look at it too.
    closing: Arc<AtomicBool>,
    chance: RandomState,
}

/// Runs all of it. Returns when every task has a fate and every pool is closed.
pub(crate) fn run(
    plan: Arc<Plan>,
    places: &Places,
    options: Options,
    display: &mut Display,
) -> std::io::Result<Done> {
    let began = Instant::now();
    let (to, events) = channel();
    let signals = to.clone();
    let ears = interrupt::listen(false, move |_| {
        let _ = signals.send(Event::Interrupted);
    })?;
    let mut batch = Batch::new(plan, places, options, to);
    batch.begin();
    batch.keep(&events, display);
    drop(ears);
    display.finish();
    let pools = places.pools.iter().zip(&batch.held_back).map(|(pool, held)| {
        let _ = pool.close();
        PoolRecord {
            stats: pool.stats(),
            advice: pool.advice(),
            held: *held,
        }
    });
    Ok(Done {
        pools: pools.collect(),
        plan: batch.plan,
        tasks: batch.records,
        began,
        took: began.elapsed(),
        interrupted: batch.asked > 0,
    })
}

impl<'a> Batch<'a> {
    fn new(plan: Arc<Plan>, places: &'a Places, options: Options, to: Sender<Event>) -> Self {
        let mut next = vec![Vec::new(); plan.tasks.len()];
        for (task, plan) in plan.tasks.iter().enumerate() {
            for before in &plan.after {
                next[*before].push(task);
            }
        }
        Batch {
            places,
            options,
            records: vec![Record::new(); plan.tasks.len()],
            waits: plan.tasks.iter().map(|task| task.after.len()).collect(),
            next,
            open: plan.tasks.iter().filter(|task| !task.scheduled).count(),
            held: vec![VecDeque::new(); plan.pools.len()],
            held_back: vec![0; plan.pools.len()],
            delayed: HashMap::new(),
            tickets: vec![0; plan.tasks.len()],
            running: Vec::new(),
            to,
            asked: 0,
            closing: Arc::default(),
            chance: RandomState::new(),
            plan,
        }
    }

    fn begin(&mut self) {
        let ready = self.plan.tasks.iter().enumerate();
        let ready = ready.filter(|(_, task)| task.after.is_empty() && !task.scheduled);
        for task in ready.map(|(task, _)| task).collect::<Vec<_>>() {
            self.submit(task);
        }
    }

    fn keep(&mut self, events: &Receiver<Event>, display: &mut Display) {
        display.begin(self.open);
        while self.open > 0 {
            let event = if display.is_live() {
                events.recv_timeout(FRAME)
            } else {
                events.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match event {
                Ok(event) => self.hear(event, display),
                Err(RecvTimeoutError::Timeout) => {}
                // We hold a sender ourselves.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if display.is_live() {
                let names = self.running.iter().map(|task| &*self.plan.tasks[*task].name);
                display.draw(names);
            }
        }
    }

    fn hear(&mut self, event: Event, display: &mut Display) {
        match event {
            Event::Started(task) => {
                self.delayed.remove(&task);
                self.running.push(task);
            }
            Event::Attempted(task, attempt, wait) => {
                self.running.retain(|running| *running != task);
                self.records[task].waits.push(wait);
                self.attempted(task, *attempt, display);
            }
            Event::Over(task) => self.over(task, display),
            Event::Interrupted => self.interrupted(display),
        }
    }

    /// A ticket has come back. If it was the last, that was all.
    fn over(&mut self, task: usize, display: &mut Display) {
        self.tickets[task] -= 1;
        let pool = self.plan.tasks[task].pool;
        if self.tickets[task] == 0 && self.records[task].fate == Fate::Open {
            let last = self.records[task].attempts.last();
            let fate = match last.map(|attempt| attempt.result.clone()) {
                Some(Err(why)) => Fate::Failed(why),
                _ => Fate::NotRun,
            };
            self.delayed.remove(&task);
            self.end(task, fate, display);
        }
        self.let_in(pool);
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }

    fn attempted(&mut self, task: usize, attempt: Attempt, display: &mut Display) {
        let plan = self.plan.tasks[task].clone();
        let result = attempt.result.clone();
        self.records[task].attempts.push(attempt);
        let tried = self.records[task].attempts.len() as u32;
        match result {
            Ok(()) => self.end(task, Fate::Succeeded, display),
            Err(Why::Stopped) => self.end(task, Fate::Failed(Why::Stopped), display),
            // Tasks with a key try again where they are, so that nobody overtakes them.
            Err(_) if tried <= plan.retries && plan.key.is_some() => {}
            Err(why) if tried <= plan.retries && !self.is_closing() => {
                let wait = plan.backoff.before(tried + 1, self.chance(task, tried));
                display.retry(&plan, &why, tried, wait);
                self.submit_later(task, wait);
            }
            Err(why) => self.end(task, Fate::Failed(why), display),
        }
    }

    fn chance(&self, task: usize, attempt: u32) -> f64 {
        self.chance.hash_one((task, attempt)) as f64 / u64::MAX as f64
    }

    /// Writes down how a task came out, and what follows for those that wait for it: a list, since chains may be long.
    fn end(&mut self, task: usize, fate: Fate, display: &mut Display) {
        let mut ends = vec![(task, fate)];
        while let Some((task, fate)) = ends.pop() {
            if self.records[task].fate != Fate::Open {
                continue;
            }
            let plan = self.plan.tasks[task].clone();
            display.ended(&plan, &fate, &self.records[task]);
            let goes_on = match &fate {
                Fate::Succeeded => true,
                Fate::Failed(why) => plan.may_fail && *why != Why::Stopped,
                _ => false,
            };
            let culprit = match fate {
                Fate::Skipped(culprit) => culprit,
                _ => task,
            };
            let failed = matches!(fate, Fate::Failed(_)) && !goes_on;
            let never_ran = fate == Fate::NotRun;
            self.records[task].fate = fate;
            self.open -= 1;
            if failed && self.options.fail_fast && !self.is_closing() {
                display.note(&format!("{} failed: nothing new is started", plan.name));
                ends.extend(self.start_nothing_new());
            }
            for next in self.next[task].clone() {
                self.waits[next] -= 1;
                let is_ready = self.waits[next] == 0;
                if never_ran || (goes_on && is_ready && self.is_closing()) {
                    ends.push((next, Fate::NotRun));
                } else if !goes_on {
                    ends.push((next, Fate::Skipped(culprit)));
                } else if is_ready && self.records[next].fate == Fate::Open {
                    self.submit(next);
                }
            }
        }
    }

    fn submit(&mut self, task: usize) {
        let body = self.body(task, Duration::ZERO);
        let plan = &self.plan.tasks[task];
        let submitted = self
            .places
            .of(plan)
            .task(body)
            .name(plan.name.to_string())
            .priority(plan.priority)
            .submit();
        self.records[task].ready = Some(Instant::now());
        match submitted {
            Ok(handle) => drop(handle),
            Err(rejected) => self.refused(task, rejected),
        }
    }

    fn submit_later(&mut self, task: usize, wait: Duration) {
        let body = self.body(task, wait);
        let plan = &self.plan.tasks[task];
        let submitted = self
            .places
            .of(plan)
            .task(body)
            .name(plan.name.to_string())
            .priority(plan.priority)
            .after(wait);
        self.records[task].ready = Some(Instant::now() + wait);
        match submitted {
            Ok(handle) => drop(self.delayed.insert(task, handle)),
            Err(rejected) => self.refused(task, rejected),
        }
    }

    /// A full queue is no failure of the task: it comes in when somebody has left.
    fn refused<F>(&mut self, task: usize, rejected: Rejected<F>) {
        if rejected.is_full() {
            let pool = self.plan.tasks[task].pool;
            self.tickets[task] += 1;
            self.held_back[pool] += 1;
            self.held[pool].push_back(task);
        }
        // Its ticket goes with it, and tells: held, or over.
    }

    fn let_in(&mut self, pool: usize) {
        if self.held[pool].is_empty() {
            return;
        }
        let room = self.places.pools[pool].stats();
        let free = match room.capacity {
            punctual::Capacity::Bounded(capacity) => capacity.saturating_sub(room.queued),
            punctual::Capacity::Unbounded => usize::MAX,
        };
        for _ in 0..free.min(self.held[pool].len()) {
            if let Some(task) = self.held[pool].pop_front() {
                self.tickets[task] -= 1;
                self.submit(task);
            }
        }
    }

    /// What a worker runs for a task.
    fn body(&mut self, task: usize, delay: Duration) -> impl FnOnce() + Send + 'static {
        self.tickets[task] += 1;
        let plan = self.plan.tasks[task].clone();
        let ticket = Ticket {
            task,
            to: self.to.clone(),
        };
        let chance = self.chance(task, u32::MAX);
        let closing = self.closing.clone();
        let ready = Instant::now() + delay;
        let tried = self.records[task].attempts.len() as u32;
        move || perform(&plan, &ticket, tried, ready, chance, &closing)
    }

    fn interrupted(&mut self, display: &mut Display) {
        self.asked += 1;
        match self.asked {
            1 => {
                display.note(&format!(
                    "interrupted: nothing new is started, {} running go on; again to stop them",
                    self.running.len()
                ));
                for (task, fate) in self.start_nothing_new() {
                    self.end(task, fate, display);
                }
            }
            2 => {
                display.note("interrupted again: running tasks are stopped");
                for pool in &self.places.pools {
                    drop(pool.stop());
                }
            }
            _ => {}
        }
    }

    /// Takes everything back that waits. Tickets tell of what was in a pool; the rest is given back.
    fn start_nothing_new(&mut self) -> Vec<(usize, Fate)> {
        self.closing.store(true, Relaxed);
        for pool in &self.places.pools {
            drop(pool.drain());
        }
        for handle in self.delayed.values() {
            let _ = handle.cancel();
        }
        let held = self.held.iter_mut().flat_map(|held| held.drain(..));
        held.map(|task| (task, Fate::NotRun)).collect()
    }
}

/// Does a task's work, after so many attempts before, and tells. A task with a key tries again here and now.
fn perform(plan: &TaskPlan, ticket: &Ticket, before: u32, ready: Instant, chance: f64, closing: &AtomicBool) {
    ticket.say(Event::Started(ticket.task));
    let mut ready = ready;
    for tried in 1..=plan.retries.saturating_add(1) {
        let attempt = job::attempt(plan, before + tried);
        let wait = attempt.started.saturating_duration_since(ready);
        let failed = matches!(&attempt.result, Err(why) if *why != Why::Stopped);
        ticket.say(Event::Attempted(ticket.task, Box::new(attempt), wait));
        if !failed || plan.key.is_none() || tried > plan.retries {
            return;
        }
        let wait = plan.backoff.before(tried + 1, chance);
        if closing.load(Relaxed) || task::sleep(wait).is_err() || closing.load(Relaxed) {
            return;
        }
        ready = Instant::now();
        ticket.say(Event::Started(ticket.task));
    }
}
