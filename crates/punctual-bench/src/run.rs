//! A run: for each scenario, rounds; in each round every peer once, in a fresh process, in shuffled order. In: the
//! options. Out: samples. Not here: how a child is started, and what is made of the numbers.

use std::{
    io::{self, Write},
    time::Duration,
};

use crate::{
    args::Options,
    catalog::{Kind, Peer, Scenario},
    rng::Shuffler,
    samples::Samples,
    spawn::Spawner,
};

/// Where people are talked to: standard output, or standard error when that one is for JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Talk {
    json: bool,
}

impl Talk {
    pub(crate) fn new(json: bool) -> Self {
        Talk { json }
    }

    /// A reader who has gone away (`| head`) is no reason to fail.
    pub(crate) fn say(self, line: &str) {
        if self.json {
            let _ = writeln!(io::stderr(), "{line}");
        } else {
            let _ = writeln!(io::stdout(), "{line}");
        }
    }
}

/// Measures everything that was asked for.
pub(crate) fn all(options: &Options, spawner: &Spawner, seed: u64) -> Samples {
    let mut samples = Samples::default();
    let mut shuffler = Shuffler::new(seed);
    for scenario in &options.scenarios {
        let peers = taking_part(*scenario, options, spawner);
        for round in 0..rounds_of(*scenario, options.rounds) {
            let mut order = peers.clone();
            shuffler.shuffle(&mut order);
            one_round(*scenario, &order, round, options, spawner, &mut samples);
        }
    }
    samples
}

/// Where nothing is timed, a few are enough.
pub(crate) fn rounds_of(scenario: Scenario, rounds: usize) -> usize {
    rounds.min(scenario.most_rounds())
}

fn taking_part(scenario: Scenario, options: &Options, spawner: &Spawner) -> Vec<Peer> {
    let wanted = |peer: &Peer| peer.kind() == Kind::Ours || options.peers.contains(peer);
    scenario
        .peers()
        .into_iter()
        .filter(wanted)
        .filter(|peer| spawner.can_run(*peer))
        .collect()
}

fn one_round(
    scenario: Scenario,
    order: &[Peer],
    round: usize,
    options: &Options,
    spawner: &Spawner,
    samples: &mut Samples,
) {
    // Progress is never part of the report.
    let _ = writeln!(io::stderr(), "{} round {}", scenario.id(), round + 1);
    if let Some(watch) = scenario.watch() {
        // The watch of calendar work is as long as the days that it stands for; at sizes that are only good for a test it is shorter.
        let scale = match scenario {
            Scenario::KCalendar => options.scale.min(1.0),
            _ => 1.0,
        };
        let watch = watch.mul_f64(scale).max(Duration::from_secs(1));
        for (peer, answer) in spawner.watch_idle(scenario, watch, order, scenario.sizes(options.quick)) {
            samples.add(scenario, peer, round, answer);
        }
        return;
    }
    for peer in order {
        let sizes = scenario.sizes_for(*peer, options.quick, options.scale);
        samples.add(scenario, *peer, round, spawner.measure(scenario, *peer, sizes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{self, Command};

    #[test]
    fn rivals_are_filtered_and_a_missing_jvm_is_left_out() {
        let words = ["--peer", "rayon", "--peer", "j-fjp"].map(str::to_owned);
        let Ok(Command::Run(options)) = args::parse(words) else {
            panic!("good arguments")
        };
        let spawner = Spawner::new(None);
        let peers = taking_part(Scenario::A, &options, &spawner);
        assert_eq!(
            peers,
            [Peer::Ours, Peer::OursBounded, Peer::OursStealing, Peer::Rayon]
        );
        assert_eq!(taking_part(Scenario::F, &options, &spawner), [Peer::Ours]);
    }

    #[test]
    fn only_scenarios_that_are_timed_get_all_rounds() {
        assert_eq!(rounds_of(Scenario::A, 6), 6);
        assert_eq!(rounds_of(Scenario::D, 7), 7);
        assert_eq!(rounds_of(Scenario::F, 7), 7);
        assert_eq!(rounds_of(Scenario::KCalendar, 7), 2);
        assert_eq!(rounds_of(Scenario::KCalendar, 1), 1);
    }
}
