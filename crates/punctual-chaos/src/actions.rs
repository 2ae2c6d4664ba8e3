//! The table of actions: what an actor does at one step.
//!
//! A new public verb is one line here: its name goes to the action that calls it, or to a new one. A test fails when a public
//! verb of `Executor`, `Pool`, `TaskHandle`, `TaskRef` or `Control` is in no line, and when a line names a verb that no action
//! calls. Weights say how often an action is drawn. [`ENDS`] are drawn rarely: after one of them most verbs are refused.

use crate::body::Work;
use crate::world::{Kept, View, World};
use fastrand::Rng;
use punctual::{Rejected, TaskHandle};
use std::sync::Arc;

mod futures;
mod handles;
mod life;
mod many;
mod submits;
mod timed;
mod views;
mod watching;

/// One thread of a round.
pub(crate) struct Actor {
    pub(crate) world: Arc<World>,
    pub(crate) rng: Rng,
}

impl Actor {
    /// A closure for a random view.
    fn work(&mut self) -> Option<(View, Work)> {
        if !self.world.ledger.has_room() {
            return None;
        }
        let view = self.world.view(&mut self.rng)?;
        let work = Work::new(&self.world, &mut self.rng, &view.gates, 0);
        Some((view, work))
    }

    /// Keeps a handle, or drops it, or joins it; a refused closure is run or dropped here.
    fn keep<F>(
        &mut self,
        id: usize,
        is_far: bool,
        submitted: Result<TaskHandle<crate::ledger::Value>, Rejected<F>>,
    ) {
        let handle = match submitted {
            Ok(handle) => handle,
            Err(refused) => return drop(refused.into_task()),
        };
        if self.rng.u8(0..3) == 0 {
            self.world.refs.put(&mut self.rng, handle.task_ref());
        }
        match self.rng.u8(0..8) {
            0 => drop(handle),
            1 if !is_far => self.world.settle(id, handle.join()),
            _ => self.world.kept.put(&mut self.rng, Kept { handle, id, is_far }),
        }
    }
}

/// What an actor may do at one step.
pub(crate) struct Action {
    pub(crate) name: &'static str,
    /// The public verbs that it calls.
    #[cfg_attr(
        not(test),
        allow(dead_code, reason = "read by the test of verbs and by --list")
    )]
    pub(crate) verbs: &'static [&'static str],
    pub(crate) weight: u32,
    pub(crate) run: fn(&mut Actor),
}

const fn action(
    name: &'static str,
    weight: u32,
    verbs: &'static [&'static str],
    run: fn(&mut Actor),
) -> Action {
    Action {
        name,
        verbs,
        weight,
        run,
    }
}

/// Drawn at every step.
pub(crate) const ACTIONS: &[Action] = &[
    action("execute", 60, &["Executor::execute"], submits::execute),
    action(
        "execute_all",
        10,
        &["Executor::execute_all"],
        submits::execute_all,
    ),
    action(
        "submit",
        90,
        &["Executor::submit", "TaskHandle::task_ref", "TaskHandle::join"],
        submits::submit,
    ),
    action(
        "submit_timeout",
        15,
        &["Executor::submit_timeout"],
        submits::submit_timeout,
    ),
    action("build", 40, &["Executor::task"], submits::build),
    action(
        "adapters",
        4,
        &["Executor::immediate", "Executor::from_fn"],
        submits::adapters,
    ),
    action("after", 40, &["Executor::after"], timed::after),
    action("at", 10, &["Executor::at"], timed::at),
    action("schedule", 8, &["Executor::schedule"], timed::schedule),
    action(
        "schedule_overlapping",
        4,
        &["Executor::schedule_overlapping"],
        timed::schedule_overlapping,
    ),
    action(
        "schedule_future",
        4,
        &["Executor::schedule_future"],
        timed::schedule_future,
    ),
    action("steer_schedule", 12, &["Control::schedules"], timed::steer),
    action("jump_wall", 1, &[], timed::jump_wall),
    action("spawn", 50, &["Executor::spawn"], futures::spawn),
    action(
        "submit_async",
        8,
        &["Executor::submit_async"],
        futures::submit_async,
    ),
    action("block_on", 6, &["Executor::block_on"], futures::block_on),
    action("fire", 30, &[], futures::fire),
    action("wake", 10, &[], futures::wake),
    action("poll_handle", 10, &[], futures::poll_handle),
    action("scope", 15, &["Executor::scope"], many::scope),
    action("join", 15, &["Executor::join"], many::join),
    action("all", 6, &["Executor::all", "Executor::all_timeout"], many::all),
    action("any", 6, &["Executor::any", "Executor::any_timeout"], many::any),
    action("group", 8, &["Executor::group"], many::group),
    action(
        "views",
        12,
        &[
            "Executor::limit",
            "Executor::sequential",
            "Executor::keyed",
            "Executor::lane",
            "Executor::lane_bounded",
            "Executor::named",
            "Executor::at_priority",
        ],
        views::make,
    ),
    action(
        "apart",
        4,
        &["Executor::blocking", "Executor::reserve"],
        views::apart,
    ),
    action(
        "look_at_view",
        6,
        &["Executor::view_stats", "Executor::downgrade"],
        views::look,
    ),
    action("end_lane", 4, &[], views::end_lane),
    action("drop_view", 4, &[], views::forget),
    action(
        "join_kept",
        30,
        &["TaskHandle::join", "TaskHandle::is_finished"],
        handles::join,
    ),
    action(
        "wait_kept",
        20,
        &[
            "TaskHandle::join_timeout",
            "TaskHandle::wait",
            "TaskHandle::wait_timeout",
        ],
        handles::wait,
    ),
    action("cancel_kept", 30, &["TaskHandle::cancel"], handles::cancel),
    action(
        "steer_ref",
        30,
        &[
            "TaskRef::cancel",
            "TaskRef::remove",
            "TaskRef::set_priority",
            "TaskRef::run_next",
        ],
        handles::steer,
    ),
    action(
        "look_at_ref",
        15,
        &[
            "TaskRef::status",
            "TaskRef::remaining",
            "TaskRef::explain",
            "TaskRef::id",
            "TaskRef::name",
            "TaskRef::type_name",
            "TaskRef::priority",
            "TaskRef::site",
            "TaskRef::age",
            "TaskRef::view",
        ],
        handles::look,
    ),
    action(
        "find_refs",
        15,
        &["Control::queued", "Control::running", "Control::task"],
        watching::find,
    ),
    action("stats", 15, &["Pool::stats", "Control::stats"], watching::stats),
    action(
        "observe",
        6,
        &[
            "Control::name",
            "Control::state",
            "Control::advice",
            "Control::lints",
            "Control::preview_resize",
            "Control::workers",
            "Control::stalled",
            "Control::task_times",
            "Control::lanes",
            "Control::cost",
            "Pool::name",
            "Pool::size",
            "Pool::state",
            "Pool::keep_alive",
            "Pool::core_timeout",
            "Pool::reject",
            "Pool::advice",
            "Pool::control",
            "Pool::executor",
        ],
        watching::observe,
    ),
    action(
        "dump",
        3,
        &[
            "Pool::dump",
            "Control::dump",
            "Control::recent",
            "Control::records",
            "Control::rejected",
        ],
        watching::dump,
    ),
    action(
        "pause",
        3,
        &["Pool::pause", "Pool::resume", "Control::pause", "Control::resume"],
        life::pause,
    ),
    action("resize", 6, &["Pool::resize", "Control::resize"], life::resize),
    action(
        "set",
        4,
        &[
            "Pool::set_keep_alive",
            "Pool::set_core_timeout",
            "Pool::set_capacity",
            "Pool::set_reject",
            "Pool::set_delayed_at_shutdown",
            "Pool::set_repeating_at_shutdown",
        ],
        life::set,
    ),
    action(
        "prestart",
        3,
        &["Pool::prestart", "Pool::prestart_one"],
        life::prestart,
    ),
    action("drain", 3, &["Pool::drain"], life::drain),
    action("unrun", 6, &[], life::unrun),
    action("wait_idle", 3, &["Pool::wait_idle"], life::wait_idle),
    action(
        "await_termination",
        1,
        &["Pool::await_termination"],
        life::await_termination,
    ),
    action(
        "short_pool",
        2,
        &[
            "Pool::builder",
            "Pool::fixed",
            "Pool::single",
            "Pool::cached",
            "Pool::pinned",
        ],
        life::short_pool,
    ),
    action("fork", 1, &[], life::fork),
];

/// Drawn near the end of a round, seldom.
pub(crate) const ENDS: &[Action] = &[
    action("shutdown", 3, &["Pool::shutdown"], life::shutdown),
    action("stop", 3, &["Pool::stop"], life::stop),
    action("close", 1, &["Pool::close"], life::close),
    action("close_timeout", 2, &["Pool::close_timeout"], life::close_timeout),
    action("close_with", 1, &["Pool::close_with"], life::close_with),
];

/// Actions that are switched off: name, the seed that failed, why. Empty means that everything is on.
pub(crate) const OFF: &[(&str, u64, &str)] = &[];

/// One of them by its weight.
pub(crate) fn draw(rng: &mut Rng, from: &'static [Action]) -> &'static Action {
    let sum: u32 = from.iter().map(|action| action.weight).sum();
    let mut at = rng.u32(0..sum);
    for action in from {
        if at < action.weight {
            return action;
        }
        at -= action.weight;
    }
    unreachable!("drawn below the sum")
}

#[cfg(test)]
mod tests;
