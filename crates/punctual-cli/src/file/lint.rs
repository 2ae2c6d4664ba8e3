//! What is allowed and often a mistake, with codes that stay. `W0..` come from the library's own look at a pool.

use super::plan::{Plan, SchedulePlan, TaskPlan, When, Work};
use super::pools::cores;
use super::problem::Problem;
use crate::batch::pools::builder;
use crate::cron::odd_days;
use std::path::Path;
use std::time::SystemTime;

/// Threads for each core beyond which tasks that only compute take turns.
const MANY_PER_CORE: usize = 8;

pub(super) fn problems(plan: &Plan) -> Vec<Problem> {
    let mut problems = Vec::new();
    for pool in &plan.pools {
        for lint in builder(pool).lints() {
            problems.push(Problem {
                code: lint.code,
                what: format!("pool {:?}: {}", pool.name, lint.text),
                help: "allowed; see docs/program.md".to_owned(),
                bytes: None,
            });
        }
    }
    if plan.tasks.is_empty() {
        problems.push(Problem {
            code: "W101",
            what: "there is no task in it".to_owned(),
            help: "add [task.hello] with shell = \"echo hello\" below".to_owned(),
            bytes: None,
        });
    }
    let mut last = None;
    for task in &plan.tasks {
        // One of a group is enough.
        if last.replace(&task.group) != Some(&task.group) {
            of_task(plan, task, &mut problems);
        }
    }
    for schedule in &plan.schedules {
        of_schedule(plan, schedule, &mut problems);
    }
    problems
}

fn of_task(plan: &Plan, task: &TaskPlan, problems: &mut Vec<Problem>) {
    let mut warn = |code, what: String, help: &str| {
        problems.push(Problem {
            code,
            what,
            help: help.to_owned(),
            bytes: task.bytes.clone(),
        });
    };
    let name = &task.group;
    match &task.work {
        Work::Command(command) => {
            if !exists(&command.argv[0], command.cwd.as_deref()) {
                warn(
                    "W106",
                    format!("task {name:?}: there is no program {:?} here", command.argv[0]),
                    "install it, or give its path; the task will fail, the others run",
                );
            }
            let folders = [("cwd", &command.cwd), ("stdin", &command.stdin)];
            for (key, path) in folders
                .iter()
                .filter_map(|(key, path)| Some((key, path.as_ref()?)))
            {
                // An empty path is the folder we are in.
                if !path.as_os_str().is_empty() && !path.exists() {
                    warn(
                        "W107",
                        format!("task {name:?}: {key} = {:?} is not there", path.display()),
                        "make it, or correct the path; it is relative to the file's folder",
                    );
                }
            }
        }
        Work::Spin(_) if plan.pools[task.pool].max > MANY_PER_CORE * cores() => {
            let pool = &plan.pools[task.pool];
            warn(
                "W104",
                format!(
                    "task {name:?} computes in pool {:?}, which has {} threads for {} cores",
                    pool.name,
                    pool.max,
                    cores()
                ),
                "more threads than cores only take turns: give it a pool of its own",
            );
        }
        _ => {}
    }
    if task.timeout.is_some_and(|timeout| task.grace > timeout) && matches!(task.work, Work::Command(_)) {
        warn(
            "W108",
            format!("task {name:?}: its grace is longer than its timeout"),
            "grace is what is left to it after the timeout, before it is killed",
        );
    }
}

fn of_schedule(plan: &Plan, schedule: &SchedulePlan, problems: &mut Vec<Problem>) {
    let mut warn = |code, what: String, help: &str| {
        problems.push(Problem {
            code,
            what,
            help: help.to_owned(),
            bytes: schedule.bytes.clone(),
        });
    };
    let task = &plan.tasks[schedule.task];
    let name = &schedule.name;
    if !task.after.is_empty() {
        warn(
            "W102",
            format!(
                "schedule {name:?} runs task {:?}, whose `after` holds in `run` only",
                task.name
            ),
            "put the steps into one task, or leave `after` out",
        );
    }
    if matches!(task.work, Work::Command(_)) && task.timeout.is_none() {
        warn(
            "W103",
            format!(
                "schedule {name:?}: nothing ends its task {:?} if it hangs",
                task.name
            ),
            "add timeout = \"10m\" to the task or to [defaults]",
        );
    }
    match &schedule.when {
        When::Cron(cron, zone) => {
            for day in odd_days(cron, zone, SystemTime::now()).into_iter().take(1) {
                warn(
                    "W105",
                    format!("schedule {name:?}: {day}"),
                    "fine if you know it; another hour, or zone = \"UTC\", is not affected",
                );
            }
        }
        When::At(at) if *at < SystemTime::now() => warn(
            "W109",
            format!("schedule {name:?}: its time has passed"),
            "it runs once, as soon as `serve` starts; remove it if that is not meant",
        ),
        _ => {}
    }
}

/// Whether a program can be found as the system would.
pub(crate) fn exists(program: &str, cwd: Option<&Path>) -> bool {
    if program.contains('/') {
        return cwd.unwrap_or(Path::new("")).join(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
