//! Arguments, help, `check`, `cron`, `completions`, `bench`.

use crate::support::{Folder, json, punctual, text};

#[test]
fn wrong_arguments_end_with_two_and_say_what_exists() {
    for (args, word) in [
        (&["--fast"][..], "--fast"),
        (&["rum"], "run"),
        (&["run"], "FILE"),
        (&["run", "x.toml", "--", "true"], "cannot be used with"),
        (&["run", "-j", "0", "--", "true"], "1..=10000"),
        (&["run", "--timeout", "5", "--", "true"], "1h30m"),
        (&["run", "-k", "x.toml"], "--keep-order is for items"),
        (&["tour", "now"], "now"),
        (&["cron"], "EXPRESSION"),
        (&["cron", "61 * * * *"], "minutes go from 0 to 59"),
        (&["cron", "* * * * *", "--tz", "Mars/Base"], "Mars/Base"),
        (&["cron", "* * * * *", "--from", "soon"], "2027-03-28T00:00"),
    ] {
        let output = punctual(args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(word), "{args:?}: {error}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn help_has_examples_and_nothing_at_all_is_help_too() {
    for args in [&["--help"][..], &["-h"], &["help"], &[]] {
        let output = punctual(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let help = text(&output.stdout);
        for word in [
            "Usage: punctual",
            "run",
            "serve",
            "check",
            "cron",
            "Examples:",
            "Exit codes: 0 done",
        ] {
            assert!(help.contains(word), "{args:?}: {word}: {help}");
        }
    }
    let version = punctual(&["--version"]);
    assert_eq!(
        text(&version.stdout),
        format!("punctual {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn check_finds_everything_in_one_go_with_code_line_and_column() {
    let folder = Folder::new();
    let file = folder.write(
        "bad.toml",
        "[task.a]\nshel = \"true\"\ntimeout = 5\n[task.b]\nsleep = \"1s\"\nafter = [\"c\"]\npriority = \"hihg\"\n",
    );
    let output = punctual(&["check", &file]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for expected in [
        "error[E010]: there is no key \"shel\" in [task.a]".to_owned(),
        format!("--> {file}:2:1"),
        "help: did you mean \"shell\"?".to_owned(),
        "error[E011]: timeout in [task.a] is an integer".to_owned(),
        format!("--> {file}:3:11"),
        "error[E013]: [task.a] does not say what to do".to_owned(),
        "error[E020]: [task.b] names the task \"c\", which is not there".to_owned(),
        "did you mean \"high\"?".to_owned(),
        "bad.toml: 5 errors".to_owned(),
    ] {
        assert!(said.contains(&expected), "{expected}: {said}");
    }
}

#[test]
fn check_says_as_json_what_it_says_as_text() {
    let folder = Folder::new();
    let file = folder.write("bad.toml", "[task.a]\nsleep = \"1s\"\nafter = [\"a\"]\n");
    let output = punctual(&["check", "--json", &file]);
    assert_eq!(output.status.code(), Some(3));
    let value = json(&output);
    assert_eq!(value["ok"], false);
    let problem = &value["problems"][0];
    assert_eq!(
        (problem["code"].as_str(), problem["line"].as_u64()),
        (Some("E021"), Some(1)),
        "{value}"
    );
}

#[test]
fn warnings_are_no_errors_unless_they_are_to_be() {
    let folder = Folder::new();
    let file = folder.write("odd.toml", "[task.a]\nrun = [\"no-such-program-here\"]\n");
    let lenient = punctual(&["check", &file]);
    assert_eq!(lenient.status.code(), Some(0));
    assert!(text(&lenient.stdout).contains("warning[W106]: task \"a\": there is no program"));
    assert_eq!(punctual(&["check", "--strict", &file]).status.code(), Some(3));
}

#[test]
fn cron_says_a_sentence_the_next_runs_and_what_clocks_do() {
    let from = "2027-03-26T12:00";
    let output = punctual(&[
        "cron",
        "30 2 * * *",
        "--tz",
        "Europe/Berlin",
        "-n",
        "3",
        "--from",
        from,
    ]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let expected = "every day at 02:30, Europe/Berlin\n  \
        Sat 2027-03-27 02:30:00 CET (+01:00)  in 14 h 30 min\n  \
        Sun 2027-03-28 03:00:00 CEST (+02:00)  in 38 h 0 min\n  \
        Mon 2027-03-29 02:30:00 CEST (+02:00)  in 2 days\n\
        note: Sun 2027-03-28: clocks go forward over its time; it runs at 03:00, when they have\n";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn cron_gives_json_too() {
    let args = [
        "cron",
        "0 9 * * MON",
        "--json",
        "-n",
        "2",
        "--from",
        "2027-01-01T00:00:00Z",
    ];
    let value = json(&punctual(&args));
    assert_eq!(value["next"][0], "2027-01-04T09:00:00+00:00");
    assert_eq!(
        (&value["zone"], &value["cron"]),
        (&"UTC".into(), &"0 9 * * MON".into())
    );
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let output = punctual(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("serve"), "{shell}");
    }
}

#[test]
fn bench_measures_and_says_of_what() {
    let value = json(&punctual(&["bench", "--quick", "--json"]));
    let figures = value["figures"].as_array().expect("figures");
    assert_eq!(figures.len(), 6, "{value}");
    assert!(
        figures.iter().all(|figure| figure["nanoseconds"].is_u64()),
        "{value}"
    );
}
