//! The program itself, as a user starts it: children, JSON, charts, errors. Tiny sizes and no asserted times.

use std::{
    env, fs,
    path::PathBuf,
    process::{self, Command, Output},
};

fn bench(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual-bench"))
        .args(args)
        .output()
        .expect("the program starts")
}

/// How long the idle pools are watched: in the gate, which sets `PUNCTUAL_FULL_SIZE`, as long as in a real run.
fn watch_scale() -> &'static str {
    if env::var_os("PUNCTUAL_FULL_SIZE").is_some() {
        "1"
    } else {
        "0.1"
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn bad_arguments_end_with_two_and_name_the_value() {
    for (args, value) in [
        (&["--only", "Z"][..], "'Z'"),
        (&["--rounds", "x"], "'x'"),
        (&["--wat"], "'--wat'"),
    ] {
        let output = bench(args);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains(value) && stderr(&output).contains("allowed"),
            "{}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn help_and_list_tell() {
    let help = bench(&["--help"]);
    assert!(help.status.success() && stdout(&help).contains("--only"));
    let list = bench(&["--list"]);
    assert!(list.status.success() && stdout(&list).contains("A2") && stdout(&list).contains("rusty_pool"));
}

#[test]
fn a_small_run_prints_table_control_and_bar_and_draws() {
    let dir: PathBuf = env::temp_dir().join(format!("punctual-bench-test-{}", process::id()));
    let svg = dir.to_string_lossy().into_owned();
    let output = bench(&[
        "--quick",
        "--scale",
        "0.002",
        "--rounds",
        "2",
        "--only",
        "A",
        "--only",
        "L",
        "--peer",
        "crossbeam",
        "--peer",
        "ours-again",
        "--seed",
        "5",
        "--svg",
        &svg,
    ]);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    for part in [
        "seed 5",
        "two threads get",
        "OURS bounded with room",
        "A/A control",
        "crossbeam",
        "losses",
        "== bar",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    for file in ["A.svg", "L.svg"] {
        assert!(
            fs::read_to_string(dir.join(file))
                .expect("a chart was written")
                .starts_with("<svg")
        );
    }
    fs::remove_dir_all(&dir).expect("the charts can be removed");
}

#[test]
fn json_mode_has_only_json_on_standard_output() {
    let output = bench(&[
        "--json",
        "--scale",
        "0.001",
        "--rounds",
        "1",
        "--only",
        "C",
        "--peer",
        "threadpool",
    ]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        text.starts_with("{\"rows\":[{\"scenario\":\"C\",\"metric\":\"unbounded warm\""),
        "{text}"
    );
    assert!(
        text.trim_end().ends_with("]}") && text.lines().count() == 1,
        "{text}"
    );
    assert!(stderr(&output).contains("== bar"));
}

#[test]
fn an_idle_pool_is_watched_from_outside() {
    let output = bench(&[
        "--json",
        "--rounds",
        "1",
        "--scale",
        watch_scale(),
        "--only",
        "K",
        "--peer",
        "crossbeam",
    ]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for part in [
        "\"metric\":\"unbounded switches\"",
        "\"metric\":\"unbounded cpu\"",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn an_idle_pool_with_timers_is_watched_too() {
    let output = bench(&["--rounds", "1", "--only", "K-timers", "--peer", "sched-tp"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    for part in [
        "K-timers: idle pool with far timers",
        "timer_switches",
        "at most 0",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

/// Half a minute in the gate, three seconds elsewhere.
#[test]
fn an_idle_pool_with_calendar_work_is_watched_for_half_a_minute() {
    let output = bench(&[
        "--rounds",
        "1",
        "--scale",
        watch_scale(),
        "--only",
        "K-calendar",
        "--peer",
        "sched-tp",
    ]);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    for part in ["calendar_switches, 1/30s", "at most 1"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn timers_are_measured_beside_the_limits_of_the_machine() {
    let mut args = vec!["--scale", "0.002", "--rounds", "1"];
    for letter in ["G", "H", "I", "J"] {
        args.extend(["--only", letter]);
    }
    for peer in [
        "sched-tp",
        "tokio-delayqueue",
        "tokio-interval",
        "bare-futex-slack1",
    ] {
        args.extend(["--peer", peer]);
    }
    let output = bench(&args);
    let text = stdout(&output);
    assert!(
        output.status.success() && !text.contains("FAILED"),
        "{text}{}",
        stderr(&output)
    );
    for part in [
        "sched-tp (only marks)",
        "tokio-delayqueue (no closure)",
        "bare-futex-slack1 (limit)",
        "within 1.3x of bare",
        "G flatness, unbounded",
        "spread_behind",
        "tokio-interval",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn the_jvm_timers_answer_in_every_scenario_or_are_skipped_with_a_reason() {
    let mut args = vec!["--scale", "0.0002", "--rounds", "1", "--peer", "j-stpe"];
    for letter in ["G", "H", "I", "J", "K-timers"] {
        args.extend(["--only", letter]);
    }
    let output = bench(&args);
    let text = stdout(&output);
    assert!(
        output.status.success() && !text.contains("FAILED"),
        "{text}{}",
        stderr(&output)
    );
    let tables = text.split("== losses").next().unwrap_or_default();
    if !text.contains("JVM peers skipped: ") {
        // G: four, two of memory, two of churn, one of growth; six in H; three each in I; five in J; two in K.
        assert_eq!(tables.matches("\n  j-stpe").count(), 28, "{text}");
    }
}

#[test]
fn the_jvm_peers_answer_in_every_scenario_or_are_skipped_with_a_reason() {
    let mut args = vec![
        "--scale",
        "0.0002",
        "--rounds",
        "1",
        "--peer",
        "j-fjp",
        "--peer",
        "j-fixed-abq",
    ];
    for letter in ["A", "A2", "B", "C", "D", "E", "F", "L"] {
        args.extend(["--only", letter]);
    }
    let output = bench(&args);
    let text = stdout(&output);
    assert!(
        output.status.success() && !text.contains("FAILED"),
        "{text}{}",
        stderr(&output)
    );
    let tables = text.split("== losses").next().unwrap_or_default();
    if text.contains("JVM peers skipped: ") {
        assert!(!tables.contains("  j-fjp"), "{text}");
    } else {
        // Two metrics in A, A2, B, C, D, four in E, none in F, two in L.
        assert_eq!(tables.matches("\n  j-fjp").count(), 16, "{text}");
        assert_eq!(
            tables.matches("\n  j-fixed-abq").count(),
            18,
            "and it takes part in F: {text}"
        );
    }
}

#[test]
fn levels_are_measured_for_every_rule_and_against_heaps() {
    let mut args = vec!["--scale", "0.0005", "--rounds", "1"];
    for letter in ["M", "N1", "N2", "N5"] {
        args.extend(["--only", letter]);
    }
    for peer in ["heap-pool", "j-tpe-pbq", "ours-fifo", "tokio", "ours-again"] {
        args.extend(["--peer", peer]);
    }
    let output = bench(&args);
    let text = stdout(&output);
    assert!(
        output.status.success() && !text.contains("FAILED"),
        "{text}{}",
        stderr(&output)
    );
    for part in [
        "OURS 4 levels, strict",
        "OURS 4 levels, aging",
        "OURS 4 levels, shares",
        "ours again (A/A control)",
        "ours-fifo",
        "5x heap-pool",
        "N2 urgent_p99, 4 levels, strict",
        "share_error, %",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let tables = text.split("== losses").next().unwrap_or_default();
    assert_eq!(tables.matches("\n  heap-pool").count(), 7, "{text}");
    if !text.contains("JVM peers skipped: ") {
        assert_eq!(tables.matches("\n  j-tpe-pbq").count(), 7, "{text}");
    }
}

#[test]
fn order_by_keys_is_measured_beside_a_map_and_the_pool_without_order() {
    let output = bench(&["--scale", "0.005", "--rounds", "1", "--only", "N4"]);
    let text = stdout(&output);
    assert!(
        output.status.success() && !text.contains("FAILED"),
        "{text}{}",
        stderr(&output)
    );
    for part in [
        "OURS keyed",
        "ours again (A/A control)",
        "map-in-front",
        "ours-unordered (limit)",
        "2.5x map-in-front",
        "ours-unordered + 150",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn a_bare_pass_runs_for_callgrind() {
    for scenario in ["A", "B", "C", "G"] {
        assert!(bench(&["ir", scenario, "ours", "500"]).status.success());
    }
    for peer in ["ours-strict", "ours-aging", "ours-shares"] {
        for scenario in ["A", "B", "C"] {
            assert!(bench(&["ir", scenario, peer, "500"]).status.success());
        }
    }
}

#[test]
fn a_gate_does_not_open_for_what_could_not_be_judged() {
    // The only demand on O2 is held against a peer that this run leaves out.
    let args = [
        "--only",
        "O2",
        "--peer",
        "crossbeam",
        "--scale",
        "0.002",
        "--rounds",
        "6",
    ];
    let open = bench(&args);
    assert!(open.status.success(), "{}{}", stdout(&open), stderr(&open));
    assert!(
        stdout(&open).contains("NOT JUDGED (missing: ours-pinned)"),
        "{}",
        stdout(&open)
    );
    let gated = bench(&[&args[..], &["--gate"]].concat());
    assert_eq!(gated.status.code(), Some(1), "{}", stdout(&gated));
}
