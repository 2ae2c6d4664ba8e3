//! Verdicts on made-up runs.

use super::*;
use crate::{catalog::Kind, samples::filled};

fn standings(scenario: Scenario, value: impl Fn(Peer) -> f64) -> Vec<Standing> {
    judge(&filled(scenario, value), &[scenario])
        .into_iter()
        .map(|verdict| verdict.standing)
        .collect()
}

fn ours_and(ours: f64, rust: f64, jvm: f64) -> impl Fn(Peer) -> f64 {
    move |peer| match peer.kind() {
        Kind::Ours | Kind::Control => ours,
        Kind::Rust | Kind::Limit => rust,
        Kind::Jvm => jvm,
    }
}

#[test]
fn ratios_are_judged_for_each_configuration() {
    use Standing::{Goal, Met, Missed};
    assert_eq!(standings(Scenario::A, ours_and(10.0, 60.0, 20.0)), [Goal; 4]);
    assert_eq!(standings(Scenario::A, ours_and(10.0, 35.0, 12.0)), [Met; 4]);
    assert_eq!(standings(Scenario::A, ours_and(10.0, 34.9, 11.9)), [Missed; 4]);
    let bounded_is_slow = |peer| {
        if peer == Peer::OursBounded {
            20.0
        } else {
            ours_and(10.0, 40.0, 20.0)(peer)
        }
    };
    assert_eq!(
        standings(Scenario::A2, bounded_is_slow),
        [Met, Missed, Goal, Missed]
    );
}

#[test]
fn forking_is_judged_for_the_queue_that_is_made_for_it() {
    let d = |ours| {
        standings(Scenario::D, move |peer| match peer {
            Peer::OursStealing => ours,
            Peer::Ours => 100.0,
            other => ours_and(10.0, 40.0, 11.0)(other),
        })
    };
    assert_eq!(d(5.0), [Standing::Goal; 2]);
    assert_eq!(d(10.0), [Standing::Met; 2]);
    assert_eq!(d(10.1), [Standing::Missed; 2]);
}

#[test]
fn the_best_rust_peer_counts_and_the_jvm_is_no_rust_peer() {
    let one_is_fast = |peer| match peer {
        Peer::Crossbeam => 21.0,
        other => ours_and(10.0, 300.0, 1.0)(other),
    };
    assert_eq!(
        standings(Scenario::B, one_is_fast),
        [Standing::Missed, Standing::Missed]
    );
    let verdict = &judge(&filled(Scenario::B, one_is_fast), &[Scenario::B])[0];
    assert!(
        verdict.measured.contains("crossbeam") && verdict.measured.starts_with("2.10x"),
        "{verdict:?}"
    );
}

#[test]
fn the_best_of_all_counts_where_the_bar_says_so() {
    let f = |rust, jvm| standings(Scenario::F, ours_and(100.0, rust, jvm));
    assert_eq!(f(105.0, 200.0), [Standing::Goal]);
    assert_eq!(f(200.0, 95.0), [Standing::Met]);
    assert_eq!(f(94.9, 200.0), [Standing::Missed]);
}

/// Rounds of one scenario with one metric's values for ours and the same for all peers.
fn rounds(scenario: Scenario, ours: &[f64], theirs: f64, without: &[Peer]) -> Samples {
    let mut samples = Samples::default();
    for peer in scenario
        .peers()
        .into_iter()
        .filter(|peer| !without.contains(peer))
    {
        for (round, ours) in ours.iter().enumerate() {
            let value = if peer.kind() == Kind::Ours { *ours } else { theirs };
            let values = vec![Some(value); scenario.metrics().len()];
            samples.add(scenario, peer, round, Ok(values));
        }
    }
    samples
}

#[test]
fn a_must_is_missed_by_the_upper_quartile_and_a_goal_reached_by_the_median() {
    // F against 100: the ratio is 100 / ours; must 0.95, goal 1.05.
    let f = |ours: &[f64]| judge(&rounds(Scenario::F, ours, 100.0, &[]), &[Scenario::F])[0].standing;
    let (slow, fair, fast) = (200.0, 100.0, 50.0);
    assert_eq!(f(&[slow, slow, slow, slow, fair, fair]), Standing::Met);
    assert_eq!(f(&[slow, slow, slow, slow, slow, fast]), Standing::Missed);
    assert_eq!(f(&[slow, slow, slow, fair, fast, fast]), Standing::Met);
    assert_eq!(f(&[slow, slow, fast, fast, fast, fast]), Standing::Goal);
}

#[test]
fn a_limit_from_above_is_missed_by_the_lower_quartile() {
    let l =
        |ours: &[f64]| judge(&rounds(Scenario::LExecute, ours, 1.0, &[]), &[Scenario::LExecute])[0].standing;
    assert_eq!(l(&[97.0, 97.0, 97.0, 97.0, 96.0, 96.0]), Standing::Met);
    assert_eq!(l(&[97.0, 97.0, 97.0, 97.0, 97.0, 60.0]), Standing::Missed);
    assert_eq!(l(&[97.0, 97.0, 72.0, 72.0, 72.0, 72.0]), Standing::Goal);
}

#[test]
fn one_lost_tick_in_one_round_is_a_fault() {
    let lost = |ours: &[f64]| {
        let verdicts = judge(&rounds(Scenario::J, ours, 1.0, &[]), &[Scenario::J]);
        let lost = verdicts.iter().find(|verdict| verdict.what.contains("lost"));
        lost.map(|verdict| verdict.standing)
    };
    assert_eq!(lost(&[0.0; 6]), Some(Standing::Met));
    assert_eq!(lost(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), Some(Standing::Missed));
}

#[test]
fn a_missing_peer_takes_the_verdict_away_only_where_it_would_pass() {
    let f = |ours| {
        let samples = rounds(Scenario::F, &[ours; 6], 100.0, &[Peer::JFixedAbq]);
        judge(&samples, &[Scenario::F]).remove(0)
    };
    let passing = f(50.0);
    assert_eq!(passing.words(), "NOT JUDGED (missing: j-fixed-abq)");
    assert!(!passing.is_met() && passing.measured.starts_with("2.00x"));
    assert_eq!(f(200.0).words(), "MISSED");
    // A peer that the demand is not about is not missed.
    let b = rounds(Scenario::B, &[10.0; 6], 100.0, &[Peer::JFixedLbq]);
    assert!(judge(&b, &[Scenario::B]).iter().all(Verdict::is_met));
}

#[test]
fn rounds_without_a_pair_are_not_judged() {
    let mut samples = Samples::default();
    samples.add(Scenario::D, Peer::OursStealing, 0, Ok(vec![Some(1.0), Some(1.0)]));
    samples.add(Scenario::D, Peer::Rayon, 1, Ok(vec![Some(9.0), Some(9.0)]));
    let verdict = judge(&samples, &[Scenario::D]).remove(0);
    assert_eq!(verdict.words(), "NOT JUDGED (missing: a round with both)");
}

#[test]
fn absolute_limits_need_no_peer() {
    assert_eq!(standings(Scenario::K, |_| 0.0), [Standing::Goal]);
    assert_eq!(standings(Scenario::K, |_| 0.34), [Standing::Missed]);
    assert_eq!(standings(Scenario::LExecute, |_| 96.0), [Standing::Met]);
    assert_eq!(standings(Scenario::LSubmit, |_| 112.1), [Standing::Missed]);
}

#[test]
fn the_strict_limit_of_the_ping_tail_is_strict() {
    let verdicts = judge(&filled(Scenario::E, |_| 5.0), &[Scenario::E]);
    let tail = verdicts.iter().find(|verdict| verdict.what.contains("busy_p99"));
    assert_eq!(tail.map(|verdict| verdict.standing), Some(Standing::Missed));
}

#[test]
fn what_was_not_measured_is_said_and_not_asked_for_is_silent() {
    let nothing = Samples::default();
    let verdicts = judge(&nothing, &[Scenario::K]);
    assert_eq!(
        verdicts
            .iter()
            .map(|verdict| verdict.standing)
            .collect::<Vec<_>>(),
        [Standing::NotJudged]
    );
    assert_eq!(verdicts[0].words(), "NOT JUDGED (missing: ours)");
    assert_eq!(judge(&nothing, &[]), []);
}

fn standing_of(scenario: Scenario, what: &str, must: &str, value: impl Fn(Peer) -> f64) -> Option<Standing> {
    judge(&filled(scenario, value), &[scenario])
        .into_iter()
        .find(|verdict| verdict.what.contains(what) && verdict.must.contains(must))
        .map(|verdict| verdict.standing)
}

#[test]
fn an_insertion_must_beat_the_rust_peers_that_keep_closures() {
    let one_has_no_closure = |peer| match peer {
        Peer::Ours => 100.0,
        Peer::TokioDelayQueue => 90.0,
        Peer::JStpe => 10.0,
        _ => 120.0,
    };
    let standing = |what| standing_of(Scenario::GInsert, what, "best Rust owner", one_has_no_closure);
    assert_eq!(standing("insert_warm"), Some(Standing::Met));
    assert_eq!(standing("insert_cold"), Some(Standing::Goal));
    let owner_is_faster = |peer| if peer == Peer::SchedTp { 99.0 } else { 100.0 };
    let standing = |what| standing_of(Scenario::GInsert, what, "best Rust owner", owner_is_faster);
    assert_eq!(standing("insert_cold"), Some(Standing::Missed));
}

#[test]
fn a_peer_that_only_marks_has_no_say_in_cancels() {
    let marking_is_fast = |peer| match peer {
        Peer::Ours => 100.0,
        Peer::SchedTp => 20.0,
        _ => 160.0,
    };
    let standing = standing_of(Scenario::GInsert, "cancel_random", "best peer", marking_is_fast);
    assert_eq!(standing, Some(Standing::Goal));
}

#[test]
fn a_limit_is_kept_near_and_the_better_one_counts() {
    let late = |ours: f64| {
        standing_of(Scenario::H, "p50", "of bare", move |peer| match peer {
            Peer::Ours => ours,
            Peer::BareNanosleepSlack1 => 10.0,
            Peer::BareFutexSlack1 => 12.0,
            _ => 1.0,
        })
    };
    assert_eq!(late(10.0), Some(Standing::Goal));
    assert_eq!(late(13.0), Some(Standing::Met));
    assert_eq!(late(13.1), Some(Standing::Missed));
    // And a limit is not the best peer.
    let against_peers = standing_of(Scenario::H, "p50", "1.1x best peer", |peer| match peer.kind() {
        Kind::Limit => 1.0,
        Kind::Ours => 10.0,
        _ => 11.0,
    });
    assert_eq!(against_peers, Some(Standing::Met));
}

#[test]
fn flatness_and_wake_ups_are_absolute() {
    let flat = |value| standing_of(Scenario::GGrowth, "flatness", "at most 3", move |_| value);
    assert_eq!(flat(3.0), Some(Standing::Met));
    assert_eq!(flat(3.01), Some(Standing::Missed));
    assert_eq!(standings(Scenario::KTimers, |_| 0.34), [Standing::Missed]);
    assert_eq!(standings(Scenario::KCalendar, |_| 1.0), [Standing::Goal]);
    assert_eq!(standings(Scenario::KCalendar, |_| 1.1), [Standing::Missed]);
}

#[test]
fn every_rule_of_levels_must_beat_the_heap_and_the_jvm_is_only_shown() {
    use Standing::{Goal, Met, Missed};
    let m = |ours, heap, jvm| standings(Scenario::M, ours_and(ours, heap, jvm));
    assert_eq!(m(10.0, 100.0, 1.0), [Goal; 3]);
    // Strict and shares first, then aging, of which less is asked.
    assert_eq!(m(10.0, 40.0, 1.0), [Met; 3]);
    assert_eq!(m(10.0, 30.0, 1.0), [Missed, Missed, Met]);
    let shares_are_slow = |peer| match peer {
        Peer::OursShares => 10.1,
        other => ours_and(10.0, 50.0, 1.0)(other),
    };
    assert_eq!(standings(Scenario::N1, shares_are_slow), [Met, Met, Missed]);
}

#[test]
fn an_urgent_task_must_beat_both_pools_without_levels() {
    let n2 = |fifo, tokio| {
        standings(Scenario::N2, move |peer| match peer {
            Peer::OursFifo => fifo,
            Peer::Tokio => tokio,
            _ => 20.0,
        })
    };
    // Of both metrics only the tail is judged.
    assert_eq!(n2(100.0, 500.0), [Standing::Met]);
    assert_eq!(n2(99.0, 500.0), [Standing::Missed]);
    assert_eq!(n2(500.0, 99.0), [Standing::Missed]);
    assert_eq!(standings(Scenario::N5, |_| 5.0), [Standing::Met]);
    assert_eq!(standings(Scenario::N5, |_| 5.1), [Standing::Missed]);
}

#[test]
fn an_order_must_beat_the_map_and_stay_near_the_pool_without_one() {
    use Standing::{Met, Missed};
    let n4 = |ours, map| {
        standings(Scenario::N4, move |peer| match peer {
            Peer::MapInFront => map,
            Peer::OursUnordered => 30.0,
            _ => ours,
        })
    };
    assert_eq!(n4(180.0, 450.0), [Met, Met]);
    assert_eq!(n4(180.1, 450.0), [Missed, Missed]);
    // Better than the pool without an order is better than asked for.
    assert_eq!(n4(20.0, 49.0), [Missed, Standing::Goal]);
    let nothing = judge(&Samples::default(), &[Scenario::N4]);
    assert!(
        nothing
            .iter()
            .all(|verdict| verdict.standing == Standing::NotJudged)
    );
}

#[test]
fn every_demand_is_on_a_metric_and_on_peers_that_exist() {
    for demand in BAR {
        let (scenario, metric) = (demand.scenario, demand.metric);
        let known = scenario.metrics();
        assert!(
            known.iter().any(|known| known.name == metric),
            "{} has no {metric}",
            scenario.id()
        );
        let peers = scenario.peers();
        assert!(demand.ours.iter().all(|ours| peers.contains(ours)));
        let has_rival = peers
            .iter()
            .any(|peer| demand.against.takes(*peer, scenario, metric));
        assert!(
            has_rival != demand.against.is_alone(),
            "{} {metric} is held against nothing",
            scenario.id()
        );
    }
}
