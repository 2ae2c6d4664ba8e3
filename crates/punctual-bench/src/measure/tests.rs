//! Every scenario end to end with ours, at tiny sizes. No times are asserted, only that the numbers are there and
//! are numbers: a lost task would hang the pass, a wrong result would panic in it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;
use crate::catalog::Kind;

/// Tasks are counted per process, so two scenarios must not run at once.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn assert_measures(scenario: Scenario, peer: Peer, sizes: Sizes) {
    let _alone = alone();
    let figures = run(scenario, peer, sizes).unwrap();
    for metric in scenario
        .metrics()
        .iter()
        .filter(|metric| is_always_there(metric.name))
    {
        let value = figures
            .iter()
            .find(|(name, _)| *name == metric.name)
            .map(|(_, value)| *value);
        let what = format!("{} {} {}", scenario.id(), peer.name(), metric.name);
        assert!(
            value.is_some_and(|value| value.is_finite() && value >= 0.0),
            "{what}: {value:?}"
        );
    }
}

/// What only a counting allocator can tell is not in a plain build; sizes of a test do not reach the steps of the growth;
/// only ours has a result block.
fn is_always_there(metric: &str) -> bool {
    let step = metric == "flatness" || (metric.starts_with("at_") && metric != "at_10k");
    !metric.ends_with("_heap") && !step && metric != "bytes_without_result"
}

/// K waits for its parent and is tested through the program.
fn in_process() -> impl Iterator<Item = Scenario> {
    Scenario::ALL
        .into_iter()
        .filter(|scenario| scenario.watch().is_none())
}

#[test]
fn ours_gets_through_every_scenario() {
    for scenario in in_process() {
        for peer in scenario
            .peers()
            .into_iter()
            .filter(|peer| peer.kind() == Kind::Ours)
        {
            assert_measures(scenario, peer, Sizes::new(1000, 2));
        }
    }
}

#[test]
fn every_rust_peer_gets_through_every_scenario() {
    for scenario in in_process() {
        for peer in scenario
            .peers()
            .into_iter()
            .filter(|peer| matches!(peer.kind(), Kind::Rust | Kind::Limit))
        {
            assert_measures(scenario, peer, Sizes::new(200, 2));
        }
    }
}

#[test]
fn a_window_smaller_than_the_work_is_kept_moving() {
    assert_measures(Scenario::A2, Peer::Ours, Sizes::new(50_000, 1));
}

#[test]
fn an_overloaded_pool_runs_everything_once() {
    // More than the queue holds, so that the caller runs some.
    assert_measures(Scenario::F, Peer::Ours, Sizes::new(5_000, 2));
}

#[test]
fn what_does_not_go_together_is_said() {
    assert!(
        run(Scenario::F, Peer::Rayon, Sizes::new(1, 1))
            .unwrap_err()
            .contains("rayon")
    );
    assert!(
        run(Scenario::A, Peer::JFjp, Sizes::new(1, 1))
            .unwrap_err()
            .contains("j-fjp")
    );
    for (scenario, peer) in [
        (Scenario::GInsert, Peer::Rayon),
        (Scenario::H, Peer::TokioSleep),
        (Scenario::J, Peer::JStpe),
        (Scenario::A, Peer::SchedTp),
        (Scenario::M, Peer::Rayon),
        (Scenario::N1, Peer::JTpePbq),
        (Scenario::N2, Peer::OursAging),
        (Scenario::N4, Peer::Tokio),
        (Scenario::N5, Peer::OursStrict),
    ] {
        let error = run(scenario, peer, Sizes::new(1, 1)).unwrap_err();
        assert!(
            error.contains(peer.name()) && error.contains(scenario.id()),
            "{error}"
        );
    }
}

#[test]
fn ours_tells_what_a_timer_takes_without_its_result() {
    let _alone = alone();
    let figures = run(Scenario::GBytes, Peer::Ours, Sizes::new(20_000, 1)).unwrap();
    let value = |name| {
        figures
            .iter()
            .find(|(figure, _)| *figure == name)
            .map(|(_, value)| *value)
    };
    let (all, rest) = (value("bytes").unwrap(), value("bytes_without_result").unwrap());
    assert!(rest > 0.0 && rest < all, "{figures:?}");
}

#[test]
fn the_tree_has_as_many_tasks_as_asked_for_or_fewer() {
    for (tasks, depth, nodes) in [
        (1, 0, 1),
        (3, 1, 3),
        (6, 1, 3),
        (7, 2, 7),
        ((1 << 21) - 1, 20, (1 << 21) - 1),
    ] {
        assert_eq!(throughput::depth_for(tasks), depth, "{tasks}");
        assert_eq!(throughput::nodes(depth), nodes);
    }
}
