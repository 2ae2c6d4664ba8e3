//! The catalogue against itself: names, sizes, who takes part.

use super::{sizes::MOST_PASSES, *};

#[test]
fn names_and_sizes_survive_the_command_line() {
    for scenario in Scenario::ALL {
        assert_eq!(scenario.id().parse(), Ok(scenario));
        let sizes = scenario.sizes(true);
        assert_eq!(sizes.to_string().parse(), Ok(sizes));
    }
    for peer in Peer::ALL {
        assert_eq!(peer.name().parse(), Ok(peer));
    }
}

#[test]
fn bad_names_are_named_with_what_is_allowed() {
    let error = "Z".parse::<Scenario>().unwrap_err();
    assert!(error.contains("'Z'") && error.contains("A2"), "{error}");
    let error = "go".parse::<Peer>().unwrap_err();
    assert!(error.contains("'go'") && error.contains("j-fjp"), "{error}");
    for bad in ["", "x", "5", "0x1", "1x", "-1x2"] {
        assert!(bad.parse::<Sizes>().unwrap_err().contains(&format!("'{bad}'")));
    }
}

#[test]
fn quick_is_smaller_and_scaling_keeps_the_passes() {
    for scenario in Scenario::ALL {
        assert!(scenario.sizes(true).count <= scenario.sizes(false).count);
    }
    assert_eq!(Sizes::new(1000, 4).scaled(Scenario::A, 0.1), Sizes::new(100, 4));
    assert_eq!(
        Sizes::new(1000, 400).scaled(Scenario::E, 0.1),
        Sizes::new(100, 40)
    );
}

#[test]
fn a_jvm_gets_as_many_warm_tasks_in_quick_as_in_full() {
    let sizes = |scenario: Scenario, peer, quick, scale| scenario.sizes_for(peer, quick, scale);
    assert_eq!(
        sizes(Scenario::A, Peer::JFjp, false, 1.0),
        Sizes::new(2_000_000, 4)
    );
    assert_eq!(sizes(Scenario::A, Peer::JFjp, true, 1.0), Sizes::new(400_000, 16));
    assert_eq!(
        sizes(Scenario::A, Peer::JFjp, true, 0.001),
        Sizes::new(400, MOST_PASSES)
    );
    assert_eq!(sizes(Scenario::A, Peer::Rayon, true, 1.0), Sizes::new(400_000, 3));
    assert_eq!(sizes(Scenario::E, Peer::JFjp, true, 1.0), Scenario::E.sizes(true));
    assert_eq!(sizes(Scenario::LSubmit, Peer::JFjp, true, 1.0).repeat, 1);
}

#[test]
fn pools_and_what_knows_time_do_not_mix() {
    assert!(Scenario::A.peers().iter().all(|peer| peer.is_pool()));
    for scenario in Scenario::ALL.into_iter().filter(|scenario| scenario.is_timed()) {
        let mut rivals = scenario.peers().into_iter().filter(|peer| peer.is_rival());
        assert!(rivals.all(|peer| !peer.is_pool()), "{}", scenario.id());
        assert!(scenario.peers().contains(&Peer::Ours));
    }
}

#[test]
fn levels_are_measured_against_those_that_have_them_and_the_pool_that_has_none() {
    use Peer::{HeapPool, JTpePbq, OursAgain, OursAging, OursFifo, OursShares, OursStrict, Tokio};
    for scenario in [Scenario::M, Scenario::N1] {
        assert_eq!(
            scenario.peers(),
            [OursStrict, OursAging, OursShares, OursAgain, HeapPool, JTpePbq]
        );
    }
    assert_eq!(Scenario::N2.peers(), [OursStrict, OursAgain, Tokio, OursFifo]);
    assert_eq!(Scenario::N5.peers(), [OursShares]);
    assert_eq!(
        Scenario::N4.peers(),
        [Peer::OursKeyed, OursAgain, Peer::MapInFront, Peer::OursUnordered]
    );
    for scenario in Scenario::ALL {
        let control = scenario.peers().contains(&OursAgain);
        assert!(!control || scenario.peers().contains(&scenario.controlled()));
        let is_plain = |peer: &Peer| !peer.is_levelled();
        assert!(scenario.is_levelled() || scenario.peers().iter().all(is_plain));
    }
}

#[test]
fn who_keeps_a_closure_depends_on_what_is_asked_of_it() {
    assert!(
        Peer::SchedTp.owns_closure(Scenario::GInsert)
            && Peer::TokioSpawnSleep.owns_closure(Scenario::GInsert)
    );
    assert!(
        !Peer::TokioSleep.owns_closure(Scenario::GInsert)
            && !Peer::TokioDelayQueue.owns_closure(Scenario::ISame)
    );
    assert!(!Peer::AsyncIo.owns_closure(Scenario::GInsert) && Peer::AsyncIo.owns_closure(Scenario::ISame));
}

#[test]
fn a_mark_is_no_cancellation_but_its_memory_is_memory() {
    assert!(!Scenario::GInsert.compares("cancel_random", Peer::SchedTp));
    assert!(!Scenario::GChurn.compares("churn", Peer::SchedTp));
    assert!(Scenario::GInsert.compares("insert_warm", Peer::SchedTp));
    assert!(
        Scenario::GChurn.compares("grown", Peer::SchedTp) && Scenario::GBytes.compares("kept", Peer::SchedTp)
    );
    assert!(Scenario::GInsert.compares("cancel_random", Peer::TokioSleep));
}

#[test]
fn a_letter_stands_for_all_its_parts() {
    let letters: Vec<&str> = Scenario::ALL.into_iter().map(Scenario::letter).collect();
    assert_eq!(letters.iter().filter(|letter| **letter == "G").count(), 4);
    assert_eq!(letters.iter().filter(|letter| **letter == "K").count(), 3);
    assert!(letters.is_sorted(), "charts and filters take neighbours together");
}
