//! A random test of Punctual's whole public API.
//!
//! A round makes one pool with random settings, and 4 to 8 threads that do random things with every public verb. Checked: every
//! closure is dropped, none runs twice, every handle resolves with its own value, every snapshot balances, nothing waits or runs
//! at the end, no borrow is touched late, no view holds too many, nothing locks up, no panic but the test's own.
//!
//! `ledger` counts, `settings` draws the pool, `body` is what tasks do, `actions` is the table of verbs, `round` plays, and
//! `supervisor` plays rounds in processes of their own.

mod actions;
mod body;
mod gate;
mod ledger;
mod round;
mod settings;
mod supervisor;
mod world;

use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};

const HELP: &str = "\
A random test of Punctual's whole public API.

punctual-chaos [--seconds N] [--first SEED] [--hold]   new seeds for so long (60 seconds, a seed from the clock)
punctual-chaos --seed SEED [--repeat N] [--hold]       one seed, so often (once)
punctual-chaos --list                                  the actions, their weights and their verbs

--hold  keeps a process that has failed for a debugger
";

#[derive(Default)]
struct Arguments {
    seconds: Option<u64>,
    first: Option<u64>,
    seed: Option<u64>,
    repeat: Option<u64>,
    hold: bool,
    child: bool,
    list: bool,
    help: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut read = Arguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--seconds" => &mut read.seconds,
            "--first" => &mut read.first,
            "--seed" => &mut read.seed,
            "--repeat" => &mut read.repeat,
            flag => {
                match flag {
                    "--hold" => read.hold = true,
                    "--child" => read.child = true,
                    "--list" => read.list = true,
                    "--help" | "-h" => read.help = true,
                    other => return Err(format!("unknown argument {other:?}; --help lists them")),
                }
                continue;
            }
        };
        let value = words
            .next()
            .ok_or_else(|| format!("{word} needs a number behind it"))?;
        let value = value
            .parse()
            .map_err(|_| format!("{word} {value:?} is not a whole number of 0 or more"))?;
        *place = Some(value);
    }
    Ok(read)
}

fn main() -> ExitCode {
    let read = match arguments() {
        Ok(read) => read,
        Err(text) => {
            eprintln!("punctual-chaos: {text}");
            return ExitCode::from(2);
        }
    };
    if read.help {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    if read.list {
        list();
        return ExitCode::SUCCESS;
    }
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let first = read
        .first
        .unwrap_or_else(|| clock.map_or(0, |clock| clock.as_secs()));
    let time = Duration::from_secs(read.seconds.unwrap_or(60));
    if read.child || read.seed.is_some() {
        play(&read, first, time);
        return ExitCode::SUCCESS;
    }
    supervisor::run(first, time, read.hold)
}

/// Plays rounds in this process; the first failure ends it.
fn play(read: &Arguments, first: u64, time: Duration) {
    ledger::allow_own_panics_only();
    ledger::HOLD.store(read.hold, Relaxed);
    let began = Instant::now();
    let one = |seed| {
        println!("seed {seed}");
        println!("made {}", round::run(seed));
    };
    if let Some(seed) = read.seed {
        (0..read.repeat.unwrap_or(1)).for_each(|_| one(seed));
    } else {
        (first..).take_while(|_| began.elapsed() < time).for_each(one);
    }
}

fn list() {
    for action in actions::ACTIONS.iter().chain(actions::ENDS) {
        println!(
            "{:>3}  {:<22} {}",
            action.weight,
            action.name,
            action.verbs.join(", ")
        );
    }
    for (name, seed, why) in actions::OFF {
        println!("off  {name:<22} seed {seed}: {why}");
    }
}
