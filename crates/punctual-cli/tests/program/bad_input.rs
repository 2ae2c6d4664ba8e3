//! Whatever is wrong in a file: a code, a place, a way out, exit code 3, and nothing is run.

use crate::support::{Folder, punctual, text};

#[test]
fn every_mistake_has_its_code_and_its_place() {
    let folder = Folder::new();
    for (file, code, place, words) in [
        ("[task.a\n", "E001", ":1:", "this is not TOML"),
        (
            "[task.a]\nsleep = \"1s\"\n[task.a]\nsleep = \"1s\"\n",
            "E001",
            ":3:",
            "duplicate",
        ),
        (
            "[task.a]\nslepe = \"1s\"\nsleep = \"1s\"\n",
            "E010",
            ":2:1",
            "did you mean \"sleep\"?",
        ),
        (
            "[tasks.a]\nsleep = \"1s\"\n",
            "E010",
            ":1:2",
            "did you mean \"task\"?",
        ),
        (
            "[task.a]\ncommand = [\"x\"]\n",
            "E010",
            ":2:1",
            "did you mean \"run\"?",
        ),
        ("[task.a]\nsleep = 1\n", "E011", ":2:9", "a duration, as text"),
        ("[task.a]\nsleep = \"1 week\"\n", "E012", ":2:9", "1h30m"),
        ("[task.a]\nrun = [1]\n", "E011", ":2:8", "holds an integer"),
        ("[task.a]\nrun = []\n", "E012", ":2:1", "names no program"),
        ("[task.a]\nrun = [\"a\\u0000b\"]\n", "E011", ":2:8", "zero byte"),
        (
            "[task.a]\nsleep = \"1s\"\nspin = \"1s\"\n",
            "E013",
            ":3:1",
            "sleep and spin",
        ),
        (
            "[task.a]\nsleep = \"1s\"\npool = \"cpu\"\n",
            "E020",
            ":3:8",
            "there are: main",
        ),
        (
            "[task.a]\nsleep = \"1s\"\nlimit = \"x\"\n",
            "E020",
            ":3:9",
            "add [limit.x]",
        ),
        (
            "[task.a]\nsleep = \"1s\"\nretries = -1\n",
            "E012",
            ":3:11",
            "between 0 and 1000",
        ),
        (
            "[task.a]\nsleep = \"1s\"\nrepeat = 200000\n",
            "E012",
            ":3:10",
            "between 1 and 100000",
        ),
        (
            "[task.a]\nsleep=\"1s\"\nrepeat=99999\n[task.b]\nsleep=\"1s\"\nrepeat=9\n",
            "E012",
            ":6:1",
            "more than 100000",
        ),
        (
            "[task.a]\nsleep = \"1s\"\njitter = 2\n",
            "E012",
            ":3:10",
            "between 0 and 1",
        ),
        (
            "[task.a]\nsleep = \"1s\"\nenv = { \"A=B\" = \"c\" }\n",
            "E012",
            ":3:",
            "is no variable",
        ),
        ("[pool.p]\ncore = 20\nmax = 16\n", "E031", ":1:", "core"),
        ("[pool.p]\nthreads = 0\n", "E012", ":2:11", "between 1 and"),
        ("[pool.p]\nshares = [0]\n", "E031", ":1:", "shares"),
        (
            "[pool.p]\nqueue = \"endless\"\n",
            "E012",
            ":2:9",
            "there are: unbounded",
        ),
        ("[limit.l]\n", "E013", ":1:", "does not say how many"),
        (
            "[task.a]\nsleep=\"1s\"\nafter=[\"b\"]\n[task.b]\nsleep=\"1s\"\nafter=[\"a\"]\n",
            "E021",
            ":1:",
            "a waits for b waits for a",
        ),
        (
            "[schedule.s]\nsleep = \"1s\"\ncron = \"0 25 * * *\"\n",
            "E030",
            ":3:8",
            "hours go from 0 to 23",
        ),
        (
            "[schedule.s]\nsleep = \"1s\"\ncron = \"@daily\"\nzone = \"Mars/Base\"\n",
            "E030",
            ":4:8",
            "Mars/Base",
        ),
        (
            "[schedule.s]\nsleep = \"1s\"\n",
            "E013",
            ":1:",
            "does not say when",
        ),
        (
            "[schedule.s]\nevery = \"1s\"\n",
            "E013",
            ":1:",
            "does not say what to do",
        ),
        (
            "[schedule.s]\nsleep = \"1s\"\nat = \"tomorrow\"\n",
            "E012",
            ":3:6",
            "is no date and time",
        ),
        (
            "[schedule.s]\nsleep=\"1s\"\nevery=\"1s\"\non_failure={}\n",
            "E013",
            ":4:1",
            "stop_after",
        ),
    ] {
        let path = folder.write("bad.toml", file);
        let output = punctual(&["run", &path]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{file}: {error}");
        for expected in [
            &format!("error[{code}]: "),
            &format!("bad.toml{place}"),
            words,
            "help: ",
            "nothing was run",
        ] {
            assert!(error.contains(expected), "{expected:?} for {file}: {error}");
        }
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn files_that_are_none() {
    let folder = Folder::new();
    let missing = folder.join("missing.toml");
    let huge = folder.join("huge.toml");
    let file = std::fs::File::create(&huge).expect("a file");
    file.set_len(1 << 40).expect("a file with a hole");
    let binary = folder.join("binary.toml");
    std::fs::write(&binary, b"a = 1\n\xff\xfe\n").expect("a file");
    for (path, words) in [
        (missing.as_path(), "No such file"),
        (&huge, "has more than 16 MB"),
        (&binary, "binary.toml:2: byte 6 is not UTF-8"),
        (folder.path(), "Is a directory"),
    ] {
        let output = punctual(&["run", path.to_str().expect("a plain path")]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(
            error.contains("error[E002]") && error.contains(words),
            "{words}: {error}"
        );
    }
}

#[test]
fn a_command_that_is_not_there_fails_and_the_others_run() {
    let folder = Folder::new();
    let file = folder.write(
        "batch.toml",
        "[task.none]\nrun = [\"no-such-program-here\"]\n[task.good]\nsleep = \"1ms\"\n",
    );
    let output = punctual(&["run", &file]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(report.contains("1 done, 1 failed"), "{report}");
    assert!(
        report.contains("failed none: there is no program \"no-such-program-here\"; install it"),
        "{report}"
    );
}

#[test]
fn a_drawing_that_cannot_be_written_is_said_after_the_report() {
    let folder = Folder::new();
    let file = folder.write("batch.toml", "[task.good]\nsleep = \"1ms\"\n");
    let output = punctual(&["run", &file, "--svg", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("1 done"));
    let error = text(&output.stderr);
    assert!(
        error.contains("cannot write the drawing to /dev/full") && error.contains("the batch itself is done"),
        "{error}"
    );
}
