//! [`State`]: the file in force, its pools and its schedules; and the step to another file, whole or not at all.

use super::change::{self, Fate};
use super::engine::Event;
use super::job::Job;
use crate::batch::pools::Places;
use crate::file::Plan;
use punctual::{Executor, Pool};
use std::sync::mpsc::SyncSender;

/// What is in force.
pub(crate) struct State {
    pub(crate) plan: Plan,
    places: Places,
    pub(crate) jobs: Vec<Job>,
    /// Schedules that are no more, whose last run goes on.
    retiring: Vec<Job>,
    /// Pools that are no more, and not yet empty.
    leaving: Vec<Pool>,
    to: SyncSender<Event>,
}

impl State {
    pub(crate) fn new(plan: Plan, to: SyncSender<Event>) -> Result<State, String> {
        let places = Places::new(&plan).map_err(|error| error.to_string())?;
        let jobs = start(&plan, &places, &vec![Fate::New; plan.schedules.len()], &to)?;
        Ok(State {
            plan,
            places,
            jobs: jobs.into_iter().flatten().collect(),
            retiring: Vec::new(),
            leaving: Vec::new(),
            to,
        })
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Goes over to another file. Everything that can be refused comes first; after an error nothing has changed.
    pub(crate) fn change(&mut self, plan: Plan) -> Result<(), String> {
        let pool_fates = change::pools(&self.plan, &plan);
        let schedule_fates = change::schedules(&self.plan, &plan, &pool_fates);
        let places = Places::with(&plan, |pool| match pool_fates[pool] {
            Fate::Kept(old) | Fate::Resized(old) => {
                Some((self.places.pools[old].clone(), self.places.numbers[old]))
            }
            Fate::New => None,
        });
        let places = places.map_err(|error| error.to_string())?;
        let mut sizes = Vec::new();
        for (pool, fate) in plan.pools.iter().zip(&pool_fates) {
            if let Fate::Resized(old) = fate {
                let old = &self.places.pools[*old];
                match old.resize(pool.core, pool.max) {
                    Ok(size) => sizes.push((old.clone(), size)),
                    Err(error) => {
                        undo(&sizes);
                        return Err(error.to_string());
                    }
                }
            }
        }
        let new = match start(&plan, &places, &schedule_fates, &self.to) {
            Ok(new) => new,
            Err(error) => {
                undo(&sizes);
                return Err(error);
            }
        };
        self.switch(plan, places, &pool_fates, &schedule_fates, new);
        Ok(())
    }

    fn switch(
        &mut self,
        plan: Plan,
        places: Places,
        pools: &[Fate],
        schedules: &[Fate],
        new: Vec<Option<Job>>,
    ) {
        let mut old: Vec<Option<Job>> = self.jobs.drain(..).map(Some).collect();
        for (fate, new) in schedules.iter().zip(new) {
            match fate {
                Fate::Kept(index) | Fate::Resized(index) => self.jobs.extend(old[*index].take()),
                Fate::New => self.jobs.extend(new),
            }
        }
        for job in old.into_iter().flatten() {
            job.retire();
            self.retiring.push(job);
        }
        let stays = |index: usize| {
            pools
                .iter()
                .any(|fate| matches!(fate, Fate::Kept(old) | Fate::Resized(old) if *old == index))
        };
        let leaving = self
            .places
            .pools
            .iter()
            .enumerate()
            .filter(|(index, _)| !stays(*index));
        self.leaving.extend(leaving.map(|(_, pool)| pool.clone()));
        self.places = places;
        self.plan = plan;
        self.tidy();
    }

    /// Lets go of what has ended.
    pub(crate) fn tidy(&mut self) {
        for job in &self.retiring {
            job.retire();
        }
        self.retiring.retain(Job::is_running);
        if self.retiring.is_empty() {
            for pool in self.leaving.drain(..) {
                pool.shutdown();
            }
        }
    }

    pub(crate) fn running(&self) -> usize {
        self.jobs
            .iter()
            .chain(&self.retiring)
            .filter(|job| job.is_running())
            .count()
    }

    /// No schedule starts another run.
    pub(crate) fn retire(&self) {
        for job in &self.jobs {
            job.retire();
        }
    }

    /// Running tasks are asked to end: their processes are terminated, and killed after their grace.
    pub(crate) fn stop(&self) {
        for pool in self.places.pools.iter().chain(&self.leaving) {
            drop(pool.stop());
        }
    }

    pub(crate) fn close(&self) {
        for pool in self.places.pools.iter().chain(&self.leaving) {
            let _ = pool.close();
        }
    }
}

fn undo(sizes: &[(Pool, punctual::Size)]) {
    for (pool, size) in sizes {
        // It had this size a moment ago.
        let _ = pool.resize(size.core, size.max);
    }
}

/// Starts the schedules that are new; all, or none.
fn start(
    plan: &Plan,
    places: &Places,
    fates: &[Fate],
    to: &SyncSender<Event>,
) -> Result<Vec<Option<Job>>, String> {
    let mut jobs: Vec<Option<Job>> = Vec::new();
    for (schedule, fate) in plan.schedules.iter().zip(fates) {
        if *fate != Fate::New {
            jobs.push(None);
            continue;
        }
        let task = plan.tasks[schedule.task].clone();
        let place: Executor = places.of(&task);
        match Job::start(schedule, task, &place, to.clone()) {
            Ok(job) => jobs.push(Some(job)),
            Err(error) => {
                jobs.iter().flatten().for_each(Job::retire);
                return Err(error);
            }
        }
    }
    Ok(jobs)
}
