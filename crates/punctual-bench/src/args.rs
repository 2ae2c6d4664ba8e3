//! The command line: words in, a [`Command`] or a message out that names the bad value and what is allowed. Not
//! here: doing anything.

use std::{path::PathBuf, str::FromStr};

use crate::catalog::{Kind, Peer, Scenario, Sizes};
use crate::cost::Cost;

/// Fewer rounds show more of the noise than of the pools, see `--gate`.
pub(crate) const GATE_ROUNDS: usize = 6;

const FULL_ROUNDS: usize = 8;

pub(crate) const HELP: &str = "\
punctual-bench: Punctual and its peers, interleaved in one run

usage: punctual-bench [OPTIONS]
       punctual-bench ir A|B|C|G PEER TASKS   one bare pass, for valgrind --tool=callgrind
       punctual-bench cost [--tasks N] [--rounds N] [--against OTHER] [--gate]   what statistics and the recorder cost

  --quick        smaller sizes, 6 rounds: a good quarter of an hour instead of more than an hour
  --only X       only this scenario, by its letter, or one part of it, as G-churn (repeatable; see --list)
  --peer NAME    only this peer beside ours (repeatable; see --list)
  --rounds N     rounds per scenario; scenarios without a bar run half as many
  --scale F      multiply all sizes by F, above 0; below 1 also the time for which K is watched
  --seed N       order of the children inside the rounds, as printed by an earlier run
  --json         rows as JSON on standard output, everything else on standard error
  --svg DIR      also write one bar chart per scenario into DIR
  --gate         exit code 1 when a must of the bar is missed or not judged (needs at least 6 rounds)
  --list         scenarios, sizes and peers
  --help         this text
";

#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    List,
    Run(Options),
    /// Hidden: what the parent starts.
    Child(Scenario, Peer, Sizes),
    Ir(Scenario, Peer, u64),
    Cost(Cost),
}

#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) scenarios: Vec<Scenario>,
    /// Without ours, which always takes part.
    pub(crate) peers: Vec<Peer>,
    pub(crate) rounds: usize,
    pub(crate) scale: f64,
    pub(crate) seed: Option<u64>,
    pub(crate) json: bool,
    pub(crate) svg: Option<PathBuf>,
    pub(crate) gate: bool,
}

pub(crate) fn parse<I: IntoIterator<Item = String>>(words: I) -> Result<Command, String> {
    let mut words = words.into_iter();
    let mut options = Options {
        quick: false,
        scenarios: Vec::new(),
        peers: Vec::new(),
        rounds: 0,
        scale: 1.0,
        seed: None,
        json: false,
        svg: None,
        gate: false,
    };
    let mut rounds = None;
    while let Some(word) = words.next() {
        let mut value = |what: &str| {
            words
                .next()
                .ok_or_else(|| format!("{word} needs a value: {what}"))
        };
        match word.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--list" => return Ok(Command::List),
            "child" => return child(words),
            "ir" => return instructions(words),
            "cost" => return Cost::parse(words).map(Command::Cost),
            "--quick" => options.quick = true,
            "--json" => options.json = true,
            "--gate" => options.gate = true,
            "--only" => options.scenarios.extend(by_letter(&value("a scenario letter")?)?),
            "--peer" => options.peers.push(rival(&value("a peer's name")?)?),
            "--rounds" => rounds = Some(number("--rounds", &value("a number")?, 1, 1000)?),
            "--seed" => options.seed = Some(number("--seed", &value("a number")?, 0, u64::MAX)?),
            "--scale" => options.scale = scale(&value("a factor")?)?,
            "--svg" => options.svg = Some(PathBuf::from(value("a directory")?)),
            other => return Err(format!("unknown argument '{other}', allowed are those of --help")),
        }
    }
    options.rounds = rounds.unwrap_or(if options.quick { GATE_ROUNDS } else { FULL_ROUNDS });
    if options.gate && options.rounds < GATE_ROUNDS {
        return Err(format!(
            "--gate with --rounds {}: a gate needs at least {GATE_ROUNDS} interleaved rounds",
            options.rounds
        ));
    }
    fill_in_all(&mut options);
    Ok(Command::Run(options))
}

/// No filter means everything; a scenario given twice runs once.
fn fill_in_all(options: &mut Options) {
    if options.scenarios.is_empty() {
        options.scenarios.extend(Scenario::ALL);
    }
    options.scenarios.sort_unstable();
    options.scenarios.dedup();
    if options.peers.is_empty() {
        options
            .peers
            .extend(Peer::ALL.into_iter().filter(|peer| peer.kind() != Kind::Ours));
    }
}

fn by_letter(letter: &str) -> Result<Vec<Scenario>, String> {
    let matching: Vec<Scenario> = Scenario::ALL
        .into_iter()
        .filter(|scenario| scenario.letter() == letter || scenario.id() == letter)
        .collect();
    if matching.is_empty() {
        let mut allowed: Vec<&str> = Scenario::ALL.into_iter().map(Scenario::letter).collect();
        allowed.dedup();
        return Err(format!(
            "unknown scenario '{letter}' for --only, allowed are {}",
            allowed.join(", ")
        ));
    }
    Ok(matching)
}

fn rival(name: &str) -> Result<Peer, String> {
    let peer: Peer = name.parse()?;
    match peer.kind() {
        Kind::Ours => Err(format!(
            "--peer '{name}': ours always takes part, allowed are its rivals (see --list)"
        )),
        _ => Ok(peer),
    }
}

fn number<N: FromStr + PartialOrd + ToString>(
    flag: &str,
    text: &str,
    least: N,
    most: N,
) -> Result<N, String> {
    match text.parse::<N>() {
        Ok(n) if n >= least && n <= most => Ok(n),
        _ => Err(format!(
            "bad value '{text}' for {flag}, allowed is a number from {} to {}",
            least.to_string(),
            most.to_string()
        )),
    }
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= 100.0 => Ok(factor),
        _ => Err(format!(
            "bad value '{text}' for --scale, allowed is a factor above 0 and at most 100"
        )),
    }
}

fn child(words: impl Iterator<Item = String>) -> Result<Command, String> {
    let words: Vec<String> = words.collect();
    let [scenario, peer, sizes] = words.as_slice() else {
        return Err(format!(
            "child takes SCENARIO PEER SIZES, got {} words",
            words.len()
        ));
    };
    Ok(Command::Child(scenario.parse()?, peer.parse()?, sizes.parse()?))
}

fn instructions(words: impl Iterator<Item = String>) -> Result<Command, String> {
    let words: Vec<String> = words.collect();
    let [scenario, peer, tasks] = words.as_slice() else {
        return Err(format!("ir takes SCENARIO PEER TASKS, got {} words", words.len()));
    };
    let scenario = match scenario.as_str() {
        "A" => Scenario::A,
        "B" => Scenario::B,
        "C" => Scenario::C,
        "G" => Scenario::GInsert,
        other => {
            return Err(format!(
                "unknown scenario '{other}' for ir, allowed are A, B, C, G"
            ));
        }
    };
    let peer: Peer = peer.parse()?;
    if peer.kind() == Kind::Jvm {
        return Err(format!(
            "peer '{}' for ir runs in a JVM, allowed are ours and the Rust peers",
            peer.name()
        ));
    }
    Ok(Command::Ir(scenario, peer, number("TASKS", tasks, 1, u64::MAX)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    fn options(line: &str) -> Options {
        match parsed(line) {
            Ok(Command::Run(options)) => options,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn nothing_means_everything_in_full() {
        let all = options("");
        assert_eq!(all.scenarios, Scenario::ALL);
        assert_eq!(
            (all.quick, all.rounds, all.gate, all.json),
            (false, FULL_ROUNDS, false, false)
        );
        assert!(all.peers.contains(&Peer::OursAgain) && all.peers.contains(&Peer::JFjp));
    }

    #[test]
    fn quick_keeps_the_rounds_of_a_gate() {
        assert_eq!(options("--quick").rounds, GATE_ROUNDS);
        assert_eq!(options("--quick --rounds 9").rounds, 9);
    }

    #[test]
    fn filters_repeat_and_a_letter_stands_for_all_its_parts() {
        assert_eq!(
            options("--only G").scenarios,
            [
                Scenario::GInsert,
                Scenario::GBytes,
                Scenario::GChurn,
                Scenario::GGrowth
            ]
        );
        assert_eq!(options("--only G-churn").scenarios, [Scenario::GChurn]);
        let some = options("--only L --only A2 --only L --peer rayon --peer j-fjp");
        assert_eq!(
            some.scenarios,
            [Scenario::A2, Scenario::LExecute, Scenario::LSubmit]
        );
        assert_eq!(some.peers, [Peer::Rayon, Peer::JFjp]);
    }

    #[test]
    fn the_other_flags_arrive() {
        let some = options("--json --svg out --seed 7 --scale 0.5 --gate");
        assert_eq!(
            (some.json, some.gate, some.seed, some.scale),
            (true, true, Some(7), 0.5)
        );
        assert_eq!(some.svg, Some(PathBuf::from("out")));
    }

    #[test]
    fn help_list_child_and_ir_are_commands() {
        assert_eq!(parsed("--help"), Ok(Command::Help));
        assert_eq!(parsed("--quick --list"), Ok(Command::List));
        assert_eq!(
            parsed("child L-submit tokio 10x1"),
            Ok(Command::Child(Scenario::LSubmit, Peer::Tokio, Sizes::new(10, 1)))
        );
        assert_eq!(
            parsed("ir C crossbeam 20000"),
            Ok(Command::Ir(Scenario::C, Peer::Crossbeam, 20_000))
        );
    }

    #[test]
    fn errors_name_the_value_and_what_is_allowed() {
        for (line, value, allowed) in [
            (
                "--only Z",
                "'Z'",
                "A, A2, B, C, D, E, F, G, H, I, J, K, L, M, N1, N2, N3, N4, N5",
            ),
            ("--only", "--only", "letter"),
            ("--peer go", "'go'", "rayon"),
            ("--peer ours-bounded", "'ours-bounded'", "rivals"),
            ("--rounds 0", "'0'", "from 1 to 1000"),
            ("--rounds many", "'many'", "from 1 to 1000"),
            ("--scale -1", "'-1'", "above 0"),
            ("--scale nan", "'nan'", "above 0"),
            ("--seed x", "'x'", "number"),
            ("--fast", "'--fast'", "--help"),
            ("--gate --rounds 5", "--rounds 5", "at least 6"),
            ("child A", "1 words", "SCENARIO PEER SIZES"),
            ("child A rayon 5", "'5'", "COUNTxREPEAT"),
            ("ir E rayon 5", "'E'", "A, B, C, G"),
            ("ir A j-fjp 5", "'j-fjp'", "Rust peers"),
            ("ir A rayon none", "'none'", "number"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(
                error.contains(value) && error.contains(allowed),
                "{line}: {error}"
            );
        }
    }
}
