//! The file that `run`, `serve` and `check` take: TOML in, a [`Plan`] and [`Problem`]s out.
//!
//! [`load`] takes the text, [`section`] reads tables key by key, [`pools`], [`tasks`] and [`schedules`] know the keys,
//! [`graph`] looks at what waits for what, [`lint`] at what is allowed and often a mistake. A file with an error gives no
//! plan; all errors are found in one go.

pub(crate) mod graph;
pub(crate) mod lint;
pub(crate) mod plan;
mod pools;
pub(crate) mod problem;
mod schedules;
mod section;
mod tasks;
pub(crate) mod units;

pub(crate) use plan::Plan;
pub(crate) use pools::cores;
pub(crate) use problem::{Problem, Source, Weight};
use section::{Problems, Section};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A file of more is no file for this program; 100 000 tasks take a tenth of it.
const MOST_BYTES: u64 = 16 << 20;

/// A file that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) source: Source,
    /// Only if there is no error.
    pub(crate) plan: Option<Plan>,
    /// Errors and warnings, in the order of the file.
    pub(crate) problems: Vec<Problem>,
}

impl Loaded {
    pub(crate) fn errors(&self) -> usize {
        self.of(Weight::Error)
    }

    pub(crate) fn warnings(&self) -> usize {
        self.of(Weight::Warning)
    }

    fn of(&self, weight: Weight) -> usize {
        let of_weight = |problem: &&Problem| problem.weight() == weight;
        self.problems.iter().filter(of_weight).count()
    }
}

/// Reads a file, whatever is in it.
pub(crate) fn load(path: &Path) -> Loaded {
    let name = path.display().to_string();
    match text_of(path) {
        Ok(text) => parse(Source { name, text }, path.parent().unwrap_or(Path::new(""))),
        Err((what, help)) => Loaded {
            source: Source {
                name,
                text: String::new(),
            },
            plan: None,
            problems: vec![Problem {
                code: "E002",
                what,
                help,
                bytes: None,
            }],
        },
    }
}

fn text_of(path: &Path) -> Result<String, (String, String)> {
    let cannot = |error: std::io::Error| {
        (
            format!("cannot read {}: {error}", path.display()),
            "give the path of a TOML file; `punctual --help` shows one".to_owned(),
        )
    };
    let file = File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    // One more than allowed tells that there is more, whatever the file says of its length.
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err((
            format!("{} has more than {} MB", path.display(), MOST_BYTES >> 20),
            "is it the right file? for many equal tasks use `repeat` or `items`, or `punctual run -- cmd {}`"
                .to_owned(),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        (
            format!("{}:{line}: byte {at} is not UTF-8", path.display()),
            "TOML is UTF-8; save the file as that".to_owned(),
        )
    })
}

/// Reads a text. Paths in it are relative to `folder`.
pub(crate) fn parse(source: Source, folder: &Path) -> Loaded {
    let document = match toml_edit::Document::parse(source.text.as_str()) {
        Ok(document) => document,
        Err(error) => {
            let problem = Problem {
                code: "E001",
                what: format!("this is not TOML: {}", error.message().trim().replace('\n', "; ")),
                help: "the line with the mark is where reading stopped; texts need quotes, and a table is [task.name]"
                    .to_owned(),
                bytes: error.span(),
            };
            return Loaded {
                source,
                plan: None,
                problems: vec![problem],
            };
        }
    };
    let problems = Problems::default();
    let root = Section::new("", document.as_table(), None, &problems);
    let plan = plan(&root, folder);
    root.finish();
    let mut problems = problems.into_inner();
    problems.extend(graph::problems(&plan));
    let is_error = |problem: &Problem| problem.weight() == Weight::Error;
    let sound = !problems.iter().any(is_error);
    if sound {
        problems.extend(lint::problems(&plan));
    }
    problems.sort_by_key(|problem| problem.bytes.as_ref().map_or(0, |bytes| bytes.start));
    let sound = sound && !problems.iter().any(is_error);
    Loaded {
        plan: sound.then_some(plan),
        source,
        problems,
    }
}

fn plan(root: &Section<'_>, folder: &Path) -> Plan {
    let mut plan = Plan {
        pools: pools::pools(root),
        ..Plan::default()
    };
    plan.limits = pools::limits(root, &plan.pools);
    let groups = tasks::tasks(root, folder, &mut plan);
    schedules::schedules(root, folder, &groups, &mut plan);
    if let Some(section) = root.inner("serve") {
        if let Some(bind) = section.text("bind", "\"127.0.0.1:7070\"") {
            plan.serve.bind = bind.value;
        }
        if let Some(history) = section.count("history", 1..=1_000_000) {
            plan.serve.history = history as usize;
        }
        section.finish();
    }
    plan
}

#[cfg(test)]
mod tests;
