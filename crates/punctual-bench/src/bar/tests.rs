//! Verdicts on made-up runs.

use super::*;
use crate::samples::filled;

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
    // The last is that of the queue with deques, against the plain one.
    assert_eq!(standings(Scenario::A, ours_and(10.0, 90.0, 25.0)), [Goal; 5]);
    assert_eq!(
        standings(Scenario::A, ours_and(10.0, 40.0, 13.0)),
        [Met, Met, Met, Met, Goal]
    );
    assert_eq!(
        standings(Scenario::A, ours_and(10.0, 39.9, 12.9)),
        [Missed, Missed, Missed, Missed, Goal]
    );
    let bounded_is_slow = |peer| {
        if peer == Peer::OursBounded {
            20.0
        } else {
            ours_and(10.0, 40.0, 25.0)(peer)
        }
    };
    assert_eq!(
        standings(Scenario::A2, bounded_is_slow),
        [Met, Missed, Goal, Missed, Goal]
    );
}

#[test]
fn forking_is_judged_for_the_queue_that_is_made_for_it() {
    let stealing = |ours, plain| {
        move |peer| match peer {
            Peer::OursStealing => ours,
            Peer::Ours => plain,
            other => ours_and(10.0, 40.0, 13.0)(other),
        }
    };
    let d = |ours| standings(Scenario::D, stealing(ours, 100.0));
    assert_eq!(d(10.0), [Standing::Met, Standing::Goal]);
    assert_eq!(d(10.9), [Standing::Missed, Standing::NotYet]);
    let b = |ours| standings(Scenario::B, stealing(ours, 10.0)).pop();
    assert_eq!(b(12.5), Some(Standing::Met));
    assert_eq!(b(12.6), Some(Standing::Missed));
}

#[test]
fn the_best_rust_peer_counts_and_the_jvm_is_no_rust_peer() {
    let one_is_fast = |peer| match peer {
        Peer::Crossbeam => 29.0,
        other => ours_and(10.0, 300.0, 1.0)(other),
    };
    assert_eq!(
        standings(Scenario::B, one_is_fast),
        [Standing::Missed, Standing::Missed, Standing::Goal]
    );
    let verdict = &judge(&filled(Scenario::B, one_is_fast), &[Scenario::B])[0];
    assert!(
        verdict.measured.contains("crossbeam") && verdict.measured.starts_with("2.90x"),
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

#[test]
fn a_mere_goal_cannot_be_missed() {
    assert_eq!(
        standings(Scenario::C, ours_and(10.0, 40.0, 5.0)),
        [Standing::Met, Standing::NotYet, Standing::Goal]
    );
}

#[test]
fn absolute_limits_need_no_peer() {
    assert_eq!(standings(Scenario::K, |_| 0.0), [Standing::Goal]);
    assert_eq!(standings(Scenario::K, |_| 0.34), [Standing::Missed]);
    assert_eq!(standings(Scenario::LExecute, |_| 32.0), [Standing::Met]);
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
        [Standing::NotMeasured]
    );
    assert_eq!(judge(&nothing, &[]), []);
}

fn standing_of(scenario: Scenario, what: &str, must: &str, value: impl Fn(Peer) -> f64) -> Option<Standing> {
    judge(&filled(scenario, value), &[scenario])
        .into_iter()
        .find(|verdict| verdict.what.contains(what) && verdict.must.contains(must))
        .map(|verdict| verdict.standing)
}

#[test]
fn an_insertion_must_beat_those_that_keep_closures_and_wants_to_beat_all() {
    let one_has_no_closure = |peer| match peer {
        Peer::Ours => 100.0,
        Peer::TokioDelayQueue => 90.0,
        Peer::JStpe => 10.0,
        _ => 120.0,
    };
    let standing = |must| standing_of(Scenario::GInsert, "insert_warm", must, one_has_no_closure);
    assert_eq!(standing("1.2x best Rust owner"), Some(Standing::Met));
    assert_eq!(standing("-"), Some(Standing::NotYet));
    let owner_is_faster = |peer| if peer == Peer::SchedTp { 99.0 } else { 100.0 };
    let standing = |what| standing_of(Scenario::GInsert, what, "best Rust owner", owner_is_faster);
    assert_eq!(standing("insert_cold"), Some(Standing::Missed));
}

#[test]
fn whoever_only_marks_has_no_say_in_cancels() {
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
    assert_eq!(late(11.0), Some(Standing::Goal));
    assert_eq!(late(13.0), Some(Standing::Met));
    assert_eq!(late(13.1), Some(Standing::Missed));
    // And a limit is nobody's best peer.
    let against_peers = standing_of(Scenario::H, "p50", "1.1x best peer", |peer| match peer.kind() {
        Kind::Limit => 1.0,
        Kind::Ours => 10.0,
        _ => 11.0,
    });
    assert_eq!(against_peers, Some(Standing::Met));
}

#[test]
fn flatness_and_wake_ups_are_absolute() {
    let flat = |value| standing_of(Scenario::GGrowth, "flatness", "at most 2", move |_| value);
    assert_eq!(flat(2.0), Some(Standing::Met));
    assert_eq!(flat(2.01), Some(Standing::Missed));
    assert_eq!(standings(Scenario::KTimers, |_| 0.34), [Standing::Missed]);
    assert_eq!(standings(Scenario::KCalendar, |_| 1.0), [Standing::Goal]);
    assert_eq!(standings(Scenario::KCalendar, |_| 1.1), [Standing::Missed]);
}

#[test]
fn every_rule_of_levels_must_beat_the_heap_and_the_jvm_is_only_shown() {
    use Standing::{Goal, Met, Missed};
    let m = |ours, heap, jvm| standings(Scenario::M, ours_and(ours, heap, jvm));
    assert_eq!(m(10.0, 100.0, 1.0), [Goal; 3]);
    assert_eq!(m(10.0, 50.0, 1.0), [Met; 3]);
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
    assert_eq!(n4(180.0, 540.0), [Met, Met]);
    assert_eq!(n4(180.1, 540.0), [Missed, Missed]);
    // Better than the pool without an order is better than asked for.
    assert_eq!(n4(20.0, 50.0), [Missed, Met]);
    let nothing = judge(&Samples::default(), &[Scenario::N4]);
    assert!(
        nothing
            .iter()
            .all(|verdict| verdict.standing == Standing::NotMeasured)
    );
}

#[test]
fn every_demand_is_on_a_metric_that_exists() {
    for demand in BAR {
        let known = demand.scenario.metrics();
        assert!(
            known.iter().any(|metric| metric.name == demand.metric),
            "{} has no {}",
            demand.scenario.id(),
            demand.metric
        );
    }
}
