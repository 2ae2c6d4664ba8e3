//! `run FILE`: order, priorities, limits, keys, retries, output, reports.

use crate::support::{Folder, json, program, punctual, text};
use serde_json::Value;

/// The tasks of a report by name.
fn task<'a>(report: &'a Value, name: &str) -> &'a Value {
    let tasks = report["tasks"].as_array().expect("tasks");
    let found = tasks.iter().find(|task| task["name"] == name);
    found.unwrap_or_else(|| panic!("no task {name} in {report:#}"))
}

fn run(folder: &Folder, file: &str) -> (Option<i32>, Value) {
    let file = folder.write("batch.toml", file);
    let output = punctual(&["run", "--json", &file]);
    (output.status.code(), json(&output))
}

fn start(task: &Value) -> f64 {
    task["attempts"][0]["start_seconds"].as_f64().expect("it ran")
}

fn end(task: &Value) -> f64 {
    let attempts = task["attempts"].as_array().expect("it ran");
    attempts[attempts.len() - 1]["end_seconds"]
        .as_f64()
        .expect("it ran")
}

#[test]
fn the_main_job_ends_well_with_report_and_drawing() {
    let folder = Folder::new();
    let svg = folder.join("day.svg");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/day.toml");
    let output = program()
        .args(["run", example, "--svg"])
        .arg(&svg)
        .output()
        .expect("the program starts");
    let (report, progress) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{report}{progress}");
    for words in [
        "done",
        "pool \"cpu\"",
        "pool \"io\"",
        "wait p50",
        "critical path",
        "advice: wait/compute",
        "utilisation",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
    assert!(progress.contains("[306/306]"), "{progress}");
    let drawing = std::fs::read_to_string(svg).expect("a drawing");
    assert!(drawing.starts_with("<svg") && drawing.ends_with("</svg>\n"));
    assert!(drawing.contains("aggregate") && drawing.contains("io-1"));
}

#[test]
fn a_task_starts_after_all_it_waits_for() {
    let folder = Folder::new();
    let (code, report) = run(
        &folder,
        "[pool.p]\nthreads = 4\n[task.a]\nsleep = \"30ms\"\nrepeat = 3\n[task.b]\nsleep = \"1ms\"\nafter = [\"a\"]\n\
         [task.c]\nsleep = \"1ms\"\nafter = [\"a\", \"b\"]\n",
    );
    assert_eq!(code, Some(0), "{report:#}");
    for number in 1..=3 {
        assert!(
            start(task(&report, "b")) >= end(task(&report, &format!("a#{number}"))),
            "{report:#}"
        );
    }
    assert!(start(task(&report, "c")) >= end(task(&report, "b")), "{report:#}");
    let path = report["critical_path"].as_array().expect("a path");
    let names: Vec<&str> = path.iter().filter_map(|link| link["task"].as_str()).collect();
    assert_eq!(names[1..], ["b", "c"], "{report:#}");
}

#[test]
fn urgent_tasks_go_first() {
    let folder = Folder::new();
    let (_, report) = run(
        &folder,
        "[pool.p]\nthreads = 1\norder = \"strict\"\n[task.first]\nsleep = \"50ms\"\n\
         [task.low]\nsleep = \"1ms\"\npriority = \"low\"\n[task.urgent]\nsleep = \"1ms\"\npriority = \"urgent\"\n",
    );
    assert!(
        start(task(&report, "urgent")) < start(task(&report, "low")),
        "{report:#}"
    );
}

#[test]
fn a_limit_and_a_key_keep_tasks_apart() {
    let folder = Folder::new();
    let (_, report) = run(
        &folder,
        "[pool.p]\nthreads = 8\n[limit.two]\nmax = 2\n[task.l]\nsleep = \"20ms\"\nrepeat = 6\nlimit = \"two\"\n\
         [task.k]\nsleep = \"5ms\"\nrepeat = 4\nkey = \"same\"\n",
    );
    let spans = |name: &str, count: usize| -> Vec<(f64, f64)> {
        let tasks = (1..=count).map(|number| task(&report, &format!("{name}#{number}")));
        tasks.map(|task| (start(task), end(task))).collect()
    };
    let limited = spans("l", 6);
    for (begin, _) in &limited {
        let at_once = limited
            .iter()
            .filter(|(from, to)| from <= begin && begin < to)
            .count();
        assert!(at_once <= 2, "{limited:?}");
    }
    let keyed = spans("k", 4);
    assert!(
        keyed.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "in order, never at once: {keyed:?}"
    );
}

#[test]
fn a_failure_is_retried_shown_and_keeps_others_from_starting() {
    let folder = Folder::new();
    let file = folder.write(
        "batch.toml",
        "[task.bad]\nshell = \"echo to be seen; echo x >> tries; exit 3\"\nretries = 2\nbackoff = \"1ms\"\n\
         [task.child]\nsleep = \"1ms\"\nafter = [\"bad\"]\n[task.grandchild]\nsleep = \"1ms\"\nafter = [\"child\"]\n\
         [task.other]\nsleep = \"1ms\"\n",
    );
    let output = punctual(&["run", &file]);
    let (report, talk) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{report}{talk}");
    assert!(
        report.contains("1 done, 1 failed, 2 skipped, 2 retries in"),
        "{report}"
    );
    assert!(
        report.contains("failed bad: exit code 3 after 3 attempts"),
        "{report}"
    );
    assert!(report.contains("skipped grandchild: bad failed"), "{report}");
    assert!(talk.contains("    | to be seen"), "{talk}");
    assert!(talk.contains("retry bad: exit code 3; again in"), "{talk}");
    let tries = std::fs::read_to_string(folder.join("tries")).expect("it ran in the file's folder");
    assert_eq!(tries, "x\nx\nx\n");
}

#[test]
fn a_task_with_a_key_is_retried_before_the_next_of_its_key() {
    let folder = Folder::new();
    let (code, report) = run(
        &folder,
        "[pool.p]\nthreads = 2\n[task.one]\nshell = \"test -e there || { touch there; exit 1; }\"\nretries = 1\n\
         backoff = \"20ms\"\nkey = \"k\"\n[task.two]\nsleep = \"1ms\"\nkey = \"k\"\n",
    );
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(
        task(&report, "one")["attempts"].as_array().map(Vec::len),
        Some(2),
        "{report:#}"
    );
    assert!(
        end(task(&report, "one")) <= start(task(&report, "two")),
        "{report:#}"
    );
}

#[test]
fn a_failure_that_may_be_is_reported_and_is_none() {
    let folder = Folder::new();
    let (code, report) = run(
        &folder,
        "[task.bad]\nshell = \"exit 1\"\nmay_fail = true\n[task.next]\nsleep = \"1ms\"\nafter = [\"bad\"]\n",
    );
    assert_eq!((code, &report["ok"]), (Some(0), &Value::Bool(true)), "{report:#}");
    assert_eq!(task(&report, "next")["status"], "succeeded");
}

#[test]
fn fail_fast_starts_nothing_new() {
    let folder = Folder::new();
    let file = folder.write(
        "batch.toml",
        "[pool.p]\nthreads = 1\n[task.bad]\nshell = \"exit 1\"\n[task.later]\nsleep = \"1ms\"\nrepeat = 50\n",
    );
    let output = punctual(&["run", "--json", "--fail-fast", &file]);
    let report = json(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(report["counts"]["not_run"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn environment_folder_and_input_are_the_tasks_own() {
    let folder = Folder::new();
    std::fs::create_dir(folder.join("sub")).expect("a folder");
    folder.write("input.txt", "from a file\n");
    let (code, report) = run(
        &folder,
        "[defaults.env]\nA = \"default\"\nB = \"default\"\n[task.t]\nshell = \"cat; echo $A $B; pwd\"\nstdin = \"input.txt\"\n\
         cwd = \"sub\"\n[task.t.env]\nB = \"own\"\n[task.argv]\nrun = [\"echo\", \"$A\", \"a  b\"]\n",
    );
    assert_eq!(code, Some(0), "{report:#}");
    let output = task(&report, "t")["output"].as_str().expect("output").to_owned();
    assert!(
        output.starts_with("from a file\ndefault own\n") && output.ends_with("/sub"),
        "{output}"
    );
    assert_eq!(task(&report, "argv")["output"], "$A a  b", "no shell in between");
}

#[test]
fn endless_and_binary_output_costs_its_cap_only() {
    let folder = Folder::new();
    let (code, report) = run(
        &folder,
        "[task.endless]\nshell = \"printf 'begin\\\\n\\\\377\\\\033'; head -c 50000000 /dev/zero; echo end\"\noutput = \"4kB\"\n",
    );
    assert_eq!(code, Some(0), "{report:#}");
    let task = task(&report, "endless");
    assert_eq!(task["output_bytes"], 50_000_012_u64);
    let output = task["output"].as_str().expect("output");
    assert!(
        output.len() < 20_000 && output.starts_with("begin\n\u{fffd}\u{fffd}"),
        "{}",
        output.len()
    );
    assert!(output.ends_with("end") && output.contains("bytes left out"));
}

#[test]
fn a_full_queue_loses_nothing() {
    let folder = Folder::new();
    let (code, report) = run(
        &folder,
        "[pool.p]\nthreads = 2\nqueue = 3\n[task.t]\nsleep = \"1ms\"\nrepeat = 200\n",
    );
    assert_eq!(
        (code, &report["counts"]["succeeded"]),
        (Some(0), &Value::from(200)),
        "{report:#}"
    );
    assert!(report["pools"][0]["held_back"].as_u64() > Some(0));
    assert!(
        report["pools"][0]["advice"]
            .to_string()
            .contains("queue was full"),
        "{report:#}"
    );
}

#[test]
fn a_long_chain_that_fails_at_its_head_is_skipped_to_its_end() {
    let folder = Folder::new();
    let mut file = String::from("[task.t0]\nshell = \"exit 1\"\n");
    for number in 1..20_000 {
        file += &format!(
            "[task.t{number}]\nsleep = \"0s\"\nafter = [\"t{}\"]\n",
            number - 1
        );
    }
    let (code, report) = run(&folder, &file);
    assert_eq!(
        (code, &report["counts"]["skipped"]),
        (Some(1), &Value::from(19_999))
    );
}

#[test]
fn flags_win_over_variables_and_these_over_the_file() {
    let folder = Folder::new();
    let file = folder.write("batch.toml", "[pool.p]\nthreads = 7\n[task.t]\nsleep = \"1ms\"\n");
    let max = |flags: &[&str], variable: Option<&str>| {
        let mut command = program();
        command.args(["run", "--json", &file]).args(flags);
        if let Some(jobs) = variable {
            command.env("PUNCTUAL_JOBS", jobs);
        }
        json(&command.output().expect("the program starts"))["pools"][0]["max"].as_u64()
    };
    assert_eq!(max(&[], None), Some(7));
    assert_eq!(max(&[], Some("3")), Some(3));
    assert_eq!(max(&["-j", "2"], Some("3")), Some(2));
}

#[test]
fn colours_are_for_terminals_and_those_who_ask() {
    let folder = Folder::new();
    let file = folder.write("batch.toml", "[task.t]\nsleep = \"1ms\"\n");
    let painted = |flag: &[&str]| {
        let output = program()
            .args(["run", &file])
            .args(flag)
            .env("NO_COLOR", "1")
            .output();
        let output = output.expect("the program starts");
        (output.stdout.contains(&0x1b), output.stderr.contains(&0x1b))
    };
    assert_eq!(painted(&[]), (false, false));
    assert_eq!(painted(&["--color", "always"]), (true, true));
}

/// The shape of the report, as docs/program.md describes it: name, and what kind of thing.
#[test]
fn the_json_report_has_its_shape() {
    let folder = Folder::new();
    let (_, report) = run(
        &folder,
        "[task.good]\nshell = \"echo x\"\n[task.bad]\nshell = \"exit 1\"\n[task.left]\nsleep = \"1ms\"\nafter = [\"bad\"]\n",
    );
    let shape = |value: &Value, keys: &[(&str, &str)]| {
        let object = value.as_object().expect("an object");
        let mut names: Vec<&str> = object.keys().map(String::as_str).collect();
        let mut wanted: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
        names.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(names, wanted, "{value:#}");
        for (key, kinds) in keys {
            let kind = match &value[key] {
                Value::Null => "null",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "text",
                Value::Array(_) => "list",
                Value::Object(_) => "object",
            };
            assert!(
                kinds.split('|').any(|wanted| wanted == kind),
                "{key} is {kind}: {value:#}"
            );
        }
    };
    shape(
        &report,
        &[
            ("punctual", "number"),
            ("ok", "bool"),
            ("interrupted", "bool"),
            ("seconds", "number"),
            ("counts", "object"),
            ("pools", "list"),
            ("critical_path", "list"),
            ("tasks", "list"),
        ],
    );
    let counts = ["succeeded", "failed", "skipped", "not_run", "retries"].map(|key| (key, "number"));
    shape(&report["counts"], &counts);
    shape(
        &report["pools"][0],
        &[
            ("name", "text"),
            ("core", "number"),
            ("max", "number"),
            ("queue", "number|null"),
            ("largest", "number"),
            ("rejected", "number"),
            ("held_back", "number"),
            ("utilisation", "number"),
            ("levels", "list"),
            ("advice", "list"),
        ],
    );
    shape(
        &report["pools"][0]["levels"][0],
        &[
            ("level", "number"),
            ("name", "text"),
            ("succeeded", "number"),
            ("failed", "number"),
            ("aged_up", "number"),
            ("wait_seconds", "object"),
            ("run_seconds", "object"),
        ],
    );
    for name in ["good", "bad", "left"] {
        shape(
            task(&report, name),
            &[
                ("name", "text"),
                ("status", "text"),
                ("reason", "text|null"),
                ("may_fail", "bool"),
                ("work", "text"),
                ("pool", "text"),
                ("level", "number"),
                ("attempts", "list"),
                ("output", "text|null"),
                ("output_bytes", "number"),
                ("output_left_out", "number"),
            ],
        );
    }
    shape(
        &task(&report, "bad")["attempts"][0],
        &[
            ("worker", "text"),
            ("start_seconds", "number"),
            ("end_seconds", "number"),
            ("wait_seconds", "number"),
            ("cpu_seconds", "number|null"),
            ("error", "text|null"),
        ],
    );
}
