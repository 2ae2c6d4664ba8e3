//! Runs rounds in child processes, so that a crash, a sanitizer's report or a lock-up is known by its seed.
//!
//! A child prints each seed before it plays it. When a child ends badly, its last seed is repeated sixty times, each in a
//! process of its own, to tell how often it fails.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How often a seed that failed is played again.
const REPEATS: u64 = 60;

/// How often a kept seed is played.
const KEPT_REPEATS: u64 = 20;

/// Seeds that failed once, one a line, with the reason behind `#`.
const KEPT: &str = include_str!("../seeds.txt");

/// What children played.
#[derive(Default)]
struct Tally {
    rounds: u64,
    closures: u64,
}

/// Plays the kept seeds, then new ones from `first` on for so long.
pub(crate) fn run(first: u64, time: Duration, hold: bool) -> ExitCode {
    let began = Instant::now();
    let mut tally = Tally::default();
    let kept = KEPT
        .lines()
        .filter_map(|line| line.split('#').next()?.trim().parse().ok());
    for seed in kept {
        if let Err(seed) = child(
            &mut tally,
            &["--seed", &text(seed), "--repeat", &text(KEPT_REPEATS)],
            hold,
        ) {
            return failed(seed, &tally);
        }
    }
    println!(
        "chaos: kept seeds played in {:?}; new ones from {first} on",
        began.elapsed()
    );
    let seconds = time.as_secs();
    let played = child(
        &mut tally,
        &["--first", &text(first), "--seconds", &text(seconds)],
        hold,
    );
    if let Err(seed) = played {
        return failed(seed, &tally);
    }
    let Tally { rounds, closures } = tally;
    println!(
        "chaos: {rounds} rounds, {closures} closures, 0 failures in {:?}",
        began.elapsed()
    );
    ExitCode::SUCCESS
}

fn text(number: u64) -> String {
    number.to_string()
}

/// Runs one child to its end; the seed it was at if it ended badly.
fn child(tally: &mut Tally, arguments: &[&str], hold: bool) -> Result<(), u64> {
    let program = std::env::current_exe().expect("a program knows its own path");
    let mut command = Command::new(program);
    command.arg("--child").args(arguments).stdout(Stdio::piped());
    if hold {
        command.arg("--hold");
    }
    let mut child = command.spawn().expect("the program starts itself");
    let output = child.stdout.take().expect("piped above");
    let mut last = 0;
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("seed", seed)) => last = seed.parse().unwrap_or(last),
            Some(("made", made)) => {
                tally.rounds += 1;
                tally.closures += made.parse::<u64>().unwrap_or(0);
            }
            _ => println!("{line}"),
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(last),
    }
}

fn failed(seed: u64, tally: &Tally) -> ExitCode {
    println!(
        "chaos: seed {seed} failed after {} rounds; it is repeated {REPEATS} times",
        tally.rounds
    );
    let again = (0..REPEATS)
        .filter(|_| child(&mut Tally::default(), &["--seed", &text(seed)], false).is_err())
        .count();
    println!("chaos: seed {seed} failed again in {again} of {REPEATS} repeats");
    println!(
        "chaos: again: punctual-chaos --seed {seed} --repeat {REPEATS}; keep it in seeds.txt when it is mended"
    );
    ExitCode::FAILURE
}
