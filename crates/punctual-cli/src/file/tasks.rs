//! `[task.*]` and `[defaults]`: what is run, and how.

use super::plan::{Backoff, CommandPlan, Plan, TaskPlan, Work};
use super::pools::{named, pool_of};
use super::section::Section;
use punctual::Priority;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Of all tasks of a file, spread out.
const MOST_TASKS: u64 = 100_000;

/// Which tasks a name in the file stands for.
pub(super) type Groups = BTreeMap<String, Range<usize>>;

/// What holds for tasks that say nothing themselves.
#[derive(Debug, Clone)]
struct Defaults {
    timeout: Option<Duration>,
    grace: Duration,
    retries: u32,
    backoff: Backoff,
    output: usize,
    env: BTreeMap<String, String>,
}

impl Default for Defaults {
    fn default() -> Self {
        Defaults {
            timeout: None,
            grace: Duration::from_secs(5),
            retries: 0,
            backoff: Backoff {
                first: Duration::from_secs(1),
                most: Duration::from_secs(60),
                jitter: 0.2,
            },
            output: 64 << 10,
            env: BTreeMap::new(),
        }
    }
}

impl Defaults {
    /// These, where a section does not say otherwise.
    fn with(&self, section: &Section<'_>) -> Defaults {
        let mut env = self.env.clone();
        env.extend(section.environment("env"));
        let old = &self.backoff;
        Defaults {
            timeout: section.positive("timeout").or(self.timeout),
            grace: section.duration("grace").unwrap_or(self.grace),
            retries: section
                .count("retries", 0..=1_000)
                .map_or(self.retries, |retries| retries as u32),
            backoff: Backoff {
                first: section.duration("backoff").unwrap_or(old.first),
                most: section.duration("max_backoff").unwrap_or(old.most),
                jitter: section.ratio("jitter").unwrap_or(old.jitter),
            },
            output: section.size("output").unwrap_or(self.output),
            env,
        }
    }
}

/// Reads all tasks into the plan.
pub(super) fn tasks(root: &Section<'_>, folder: &Path, plan: &mut Plan) -> Groups {
    let defaults = defaults(root);
    let sections = root.named("task");
    let mut groups = Groups::new();
    let mut waits = Vec::new();
    for (name, section) in &sections {
        let first = plan.tasks.len();
        let copies = copies(section, MOST_TASKS - first as u64);
        let task = task(name, section, &defaults, folder, plan);
        waits.push((first..first + copies.len(), section.texts("after", "[\"fetch\"]")));
        section.finish();
        plan.tasks.extend(spread(&task, &copies).map(Arc::new));
        groups.insert(name.clone(), first..plan.tasks.len());
    }
    for ((tasks, after), (_, section)) in waits.into_iter().zip(&sections) {
        let mut before = Vec::new();
        for name in after.into_iter().flatten() {
            match groups.get(&name.value) {
                Some(group) => before.extend(group.clone()),
                // Only to say so: it looks at all names.
                None => drop(named(section, "task", &name, groups.keys().map(String::as_str))),
            }
        }
        before.sort_unstable();
        before.dedup();
        for task in &mut plan.tasks[tasks] {
            Arc::make_mut(task).after.clone_from(&before);
        }
    }
    groups
}

fn defaults(root: &Section<'_>) -> Defaults {
    let mut defaults = Defaults::default();
    if let Some(section) = root.inner("defaults") {
        defaults = defaults.with(&section);
        section.finish();
    }
    defaults
}

/// A task that a schedule has inside of it.
pub(super) fn inline(
    name: &str,
    root: &Section<'_>,
    section: &Section<'_>,
    folder: &Path,
    plan: &Plan,
) -> TaskPlan {
    // Read again, and quietly: what is wrong in it has been said.
    let quiet = super::section::Problems::default();
    let mut inherited = Defaults::default();
    if let Some(of_the_file) = root.inner_quietly("defaults", &quiet) {
        inherited = inherited.with(&of_the_file);
    }
    task(name, section, &inherited, folder, plan)
}

/// What each copy of a task puts into the place of `{}`; one without a text for a task that is no group.
fn copies(section: &Section<'_>, most: u64) -> Vec<Option<String>> {
    let repeat = section.count("repeat", 1..=MOST_TASKS);
    let items = section.texts("items", "[\"a\", \"b\"]");
    let copies: Vec<Option<String>> = match (repeat, items) {
        (Some(_), Some(_)) => {
            section.problem(
                "E013",
                section.key_bytes("items"),
                format!("[{}] has both repeat and items", section.name),
                "items already says how many: leave repeat out",
            );
            vec![None]
        }
        (Some(repeat), None) => (1..=repeat).map(|number| Some(number.to_string())).collect(),
        (None, Some(items)) if items.is_empty() => {
            section.problem(
                "E012",
                section.key_bytes("items"),
                format!("items in [{}] is empty", section.name),
                "name at least one, or leave the task out",
            );
            vec![None]
        }
        (None, Some(items)) => items.into_iter().map(|item| Some(item.value)).collect(),
        (None, None) => vec![None],
    };
    if copies.len() as u64 > most {
        section.problem(
            "E012",
            section.key_bytes("repeat").or_else(|| section.key_bytes("items")),
            format!(
                "with [{}] the file has more than {MOST_TASKS} tasks",
                section.name
            ),
            "for endless work use `punctual run -j N -- cmd {}` and standard input",
        );
        return vec![None];
    }
    copies
}

fn spread<'a>(task: &'a TaskPlan, copies: &'a [Option<String>]) -> impl Iterator<Item = TaskPlan> + 'a {
    copies.iter().enumerate().map(|(index, item)| {
        let mut copy = task.clone();
        if let Some(item) = item {
            copy.name = Arc::from(format!("{}#{}", task.group, index + 1));
            if let Work::Command(command) = &mut copy.work {
                for word in &mut command.argv {
                    *word = word.replace("{}", item);
                }
                command.shown = command.shown.replace("{}", item);
            }
            if let Some(key) = &mut copy.key {
                *key = key.replace("{}", item);
            }
        }
        copy
    })
}

fn task(name: &str, section: &Section<'_>, defaults: &Defaults, folder: &Path, plan: &Plan) -> TaskPlan {
    let settings = defaults.with(section);
    let work = work(section, &settings, folder);
    let (priority, level) = priority(section);
    let pool = pool_of(section, &plan.pools);
    let limit = section.text("limit", "\"disk\"").and_then(|limit| {
        let names = plan.limits.iter().map(|limit| &*limit.name);
        named(section, "limit", &limit, names)
    });
    let pool = match (pool, limit.map(|limit| &plan.limits[limit])) {
        (Some(pool), Some(limit)) if pool != limit.pool => {
            section.problem(
                "E013",
                section.key_bytes("pool"),
                format!(
                    "[{}] is in pool {:?}, its limit {:?} in pool {:?}",
                    section.name, plan.pools[pool].name, limit.name, plan.pools[limit.pool].name
                ),
                "a limit is a view of one pool: name the same pool in both, or leave it out here",
            );
            pool
        }
        (pool, Some(limit)) => pool.unwrap_or(limit.pool),
        (pool, None) => pool.unwrap_or(0),
    };
    TaskPlan {
        name: Arc::from(name),
        group: Arc::from(name),
        work,
        pool,
        priority,
        level,
        after: Vec::new(),
        timeout: settings.timeout,
        grace: settings.grace,
        retries: settings.retries,
        backoff: settings.backoff,
        limit,
        key: section.text("key", "\"customer 7\"").map(|key| key.value),
        output: settings.output,
        may_fail: section.flag("may_fail").unwrap_or(false),
        scheduled: false,
        bytes: section.bytes.clone(),
    }
}

fn work(section: &Section<'_>, settings: &Defaults, folder: &Path) -> Work {
    let argv = section.texts("run", "[\"make\", \"-j2\"]");
    let shell = section.text("shell", "\"make | tail -n 1\"");
    let sleep = section.duration("sleep");
    let spin = section.duration("spin");
    let relative = |path: String| folder.join(path);
    let cwd = section.text("cwd", "\"build\"").map(|path| relative(path.value));
    let stdin = section
        .text("stdin", "\"input.txt\"")
        .map(|path| relative(path.value));
    let keys = ["run", "shell", "sleep", "spin"];
    let given: Vec<&str> = keys.into_iter().filter(|key| section.has(key)).collect();
    if given.len() != 1 {
        let what = if given.is_empty() {
            format!("[{}] does not say what to do", section.name)
        } else {
            format!(
                "[{}] says {}: that is more than one thing to do",
                section.name,
                given.join(" and ")
            )
        };
        section.problem(
            "E013",
            given.get(1).and_then(|key| section.key_bytes(key)),
            what,
            "give one of run = [\"program\", \"argument\"], shell = \"..\", sleep = \"1s\", spin = \"1s\"",
        );
    }
    let command = |argv: Vec<String>, shown: String| {
        Work::Command(CommandPlan {
            argv,
            shown,
            env: settings.env.clone(),
            // A file's commands run where the file is, wherever the program was started.
            cwd: cwd
                .clone()
                .or_else(|| Some(folder.to_owned()).filter(|folder| folder != Path::new(""))),
            stdin: stdin.clone(),
        })
    };
    if let Some(argv) = argv {
        let argv: Vec<String> = argv.into_iter().map(|word| word.value).collect();
        if argv.first().is_none_or(String::is_empty) {
            section.problem(
                "E012",
                section.key_bytes("run"),
                format!("run in [{}] names no program", section.name),
                "for example: run = [\"make\", \"-j2\"]",
            );
        }
        let shown = argv.join(" ");
        return command(argv, shown);
    }
    if let Some(shell) = shell {
        let argv = ["/bin/sh", "-c", &shell.value].map(str::to_owned);
        return command(argv.into(), shell.value);
    }
    match (sleep, spin) {
        (_, Some(spin)) => Work::Spin(spin),
        (sleep, None) => Work::Sleep(sleep.unwrap_or_default()),
    }
}

fn priority(section: &Section<'_>) -> (Priority, usize) {
    let level = if section.is_text("priority") {
        section.word(
            "priority",
            &[("urgent", 0), ("high", 1), ("normal", 2), ("low", 3)],
        )
    } else {
        section.count("priority", 0..=7)
    };
    let level = level.unwrap_or(2);
    (Priority::level(level as u8), level as usize)
}
