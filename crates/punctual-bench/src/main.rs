//! Punctual measured against its peers, in one run on one machine.
//!
//! Absolute figures do not carry over to another machine or day, so everything that matters is a ratio between
//! values of the same run. For each scenario there are rounds; in a round every peer runs once, in a process of its
//! own, in shuffled order; inside a process there are several passes, of which the first (cold) and the last (warm)
//! are reported. A row compares medians over the rounds and shows the smallest and the largest ratio of a single
//! round beside it. `ours-again` is ours under a second name: what its row shows is noise.
//!
//! The way through the files: `args` says what to do, `catalog` what there is, `run` makes the rounds, `spawn` starts
//! the children (`jvm` those in Java), a child goes through `child` into `measure`, which drives a pool through
//! `contend` and counts with `count`. What knows time goes through `measure/timers` and `contend/timers`, what knows levels
//! through `measure/levels`, what knows keys through `measure/keyed`, what blocks through `measure/elastic`. Answers are collected in `samples` and shown by `table`, `bar`, `json`, `svg`.
//!
//! # Counting instructions
//!
//! Comparisons of a few percent are below the noise of any clock here. `ir` runs one bare pass, so that two sizes can
//! be subtracted and start-up falls out:
//!
//! ```text
//! for n in 20000 120000; do
//!   valgrind --tool=callgrind --callgrind-out-file=/dev/null punctual-bench ir A ours $n
//! done
//! # instructions per task = (refs of the second - refs of the first) / 100000
//! ```
//!
//! (G: a pass puts in and takes out twice, so the figure is that of two pairs.)
//!
//! What levels may cost in A, B and C: `ours-strict` at most 1.25 times the instructions of `ours`, `ours-aging` and
//! `ours-shares` at most 1.6 times.
//!
//! valgrind runs one thread at a time: it ranks the work, not the traffic between the cores.

mod alloc;
mod args;
mod bar;
mod catalog;
mod child;
mod contend;
mod cores;
mod cost;
mod count;
mod json;
mod jvm;
mod measure;
mod proc;
mod rng;
mod run;
mod samples;
mod spawn;
mod stats;
mod svg;
mod table;

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
};

use args::{Command, Options};
use catalog::{Kind, Peer, Scenario};
use jvm::Jvm;
use run::Talk;
use samples::{Row, Samples};
use spawn::Spawner;

fn main() -> ExitCode {
    match args::parse(env::args().skip(1)) {
        Ok(Command::Help) => Talk::new(false).say(args::HELP.trim_end()),
        Ok(Command::List) => Talk::new(false).say(&list()),
        Ok(Command::Child(scenario, peer, sizes)) => return child::run(scenario, peer, sizes),
        Ok(Command::Cost(cost)) => return cost.run(),
        Ok(Command::Ir(scenario, peer, tasks)) => return child::run_once(scenario, peer, tasks),
        Ok(Command::Run(options)) => return bench(&options),
        Err(message) => {
            eprintln!("punctual-bench: {message}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn list() -> String {
    let mut out = "scenarios (full size, quick size):\n".to_owned();
    for scenario in Scenario::ALL {
        let (full, quick) = (
            scenario.sizes(false).to_string(),
            scenario.sizes(true).to_string(),
        );
        out += &format!(
            "  {:<10} {full:>12} {quick:>12}  {}\n",
            scenario.id(),
            scenario.title()
        );
    }
    out += "peers:";
    for peer in Peer::ALL {
        out += &format!(" {}", peer.name());
    }
    out
}

fn bench(options: &Options) -> ExitCode {
    let talk = Talk::new(options.json);
    let seed = options.seed.unwrap_or_else(rng::Shuffler::fresh_seed);
    talk.say(&format!(
        "seed {seed}, {} rounds, {} workers each",
        options.rounds,
        contend::WORKERS
    ));
    talk.say(&cores::verdict(cores::cores_for_two_threads()));
    if alloc::live_bytes().is_some() {
        talk.say("WARNING: allocations are counted, no time below is comparable with anything");
    }
    let spawner = Spawner::new(prepare_jvm(options, talk));

    let samples = run::all(options, &spawner, seed);
    talk.say(&format!(
        "at the end {}",
        cores::verdict(cores::cores_for_two_threads())
    ));
    let missed = report(options, &samples, talk);
    // A bench in which ours does not get through is broken, with or without a gate.
    let ours_failed = samples
        .failures()
        .iter()
        .any(|failure| failure.peer.kind() == Kind::Ours);
    if ours_failed || (options.gate && missed) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn prepare_jvm(options: &Options, talk: Talk) -> Option<Jvm> {
    if !options.peers.iter().any(|peer| peer.kind() == Kind::Jvm) {
        return None;
    }
    Jvm::prepare()
        .map_err(|reason| talk.say(&format!("JVM peers skipped: {reason}")))
        .ok()
}

/// Shows everything; true when a must was missed or could not be judged.
fn report(options: &Options, samples: &Samples, talk: Talk) -> bool {
    for scenario in &options.scenarios {
        talk.say(table::scenario(samples, *scenario).trim_end());
    }
    let rows: Vec<Row> = options
        .scenarios
        .iter()
        .flat_map(|scenario| samples.rows(*scenario))
        .collect();
    talk.say(table::losses(&rows).trim_end());
    for failure in samples.failures() {
        let (scenario, peer) = (failure.scenario.id(), failure.peer.name());
        talk.say(&format!(
            "FAILED: {scenario} {peer} in round {}: {}",
            failure.round + 1,
            failure.reason
        ));
    }
    let verdicts = bar::judge(samples, &options.scenarios);
    talk.say(table::bar(&verdicts, options.rounds).trim_end());
    if options.json {
        // A reader who has gone away is no reason to fail.
        let _ = writeln!(io::stdout(), "{}", json::document(&rows));
    }
    if let Some(dir) = &options.svg {
        match svg::write_all(dir, samples, &options.scenarios) {
            Ok(()) => talk.say(&format!("\ncharts are in {}", dir.display())),
            Err(error) => talk.say(&format!(
                "\nno charts, {} cannot be written: {error}",
                dir.display()
            )),
        }
    }
    verdicts.iter().any(|verdict| !verdict.is_met())
}
