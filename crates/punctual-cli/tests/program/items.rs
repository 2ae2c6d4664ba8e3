//! `run -j N -- cmd {}`: items, output, order, memory, what goes wrong.

use crate::support::{Folder, LONG, finish, program, signal, text};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Output, Stdio};

fn start(args: &[&str]) -> Child {
    let mut command = program();
    command.arg("run").args(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn run(args: &[&str], input: &[u8]) -> Output {
    let mut child = start(args);
    let mut stdin = child.stdin.take().expect("kept");
    let input = input.to_vec();
    // It may be gone before it has read all.
    std::thread::spawn(move || stdin.write_all(&input));
    finish(child)
}

fn lines(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn each_item_is_a_command() {
    let output = run(
        &["-j", "3", "--", "echo", "<{}>", "{.}", "{/}", "{#}"],
        b"a/b.c\n\nx y\n",
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut lines = lines(&output);
    lines.sort_unstable();
    assert_eq!(lines, ["<a/b.c> a/b b.c 1", "<x y> x y x y 2"]);
    assert!(
        text(&output.stderr).starts_with("2 done, 0 failed in "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn without_a_place_the_item_comes_last_and_zero_bytes_separate() {
    let output = run(&["-0", "-k", "--", "printf", "[%s]"], b"a\nb\0c\0");
    assert_eq!(text(&output.stdout), "[a\nb][c]");
}

#[test]
fn order_is_kept_on_request() {
    let output = run(
        &[
            "-j",
            "4",
            "-k",
            "--",
            "sh",
            "-c",
            "sleep 0.0$((9 - $1 % 10)); echo $1",
            "sh",
            "{}",
        ],
        (1..=40)
            .map(|number| format!("{number}\n"))
            .collect::<String>()
            .as_bytes(),
    );
    let expected: Vec<String> = (1..=40).map(|number| number.to_string()).collect();
    assert_eq!(lines(&output), expected, "{}", text(&output.stderr));
}

#[test]
fn lines_of_different_commands_do_not_mix_however_long() {
    // More than is kept of one command, so that some write straight through.
    let script = "i=0; while [ $i -lt 4000 ]; do echo $1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1; i=$((i+1)); done";
    for order in [&["-k"][..], &[]] {
        let args = [order, &["-j", "4", "--", "sh", "-c", script, "sh", "{}"]].concat();
        let output = run(&args, b"a\nb\nc\nd\ne\n");
        let letters: Vec<char> = lines(&output)
            .iter()
            .filter_map(|line| line.chars().next())
            .collect();
        assert_eq!(letters.len(), 20_000, "nothing is lost");
        let mut runs = letters.clone();
        runs.dedup();
        assert_eq!(runs.len(), 5, "{runs:?}");
        if !order.is_empty() {
            assert_eq!(runs, ['a', 'b', 'c', 'd', 'e']);
        }
    }
}

#[test]
fn failures_are_said_and_the_rest_runs() {
    let output = run(
        &["-k", "--", "sh", "-c", "echo $1; exit $1", "sh", "{}"],
        b"0\n7\n0\n",
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(lines(&output), ["0", "7", "0"]);
    let talk = text(&output.stderr);
    assert!(talk.contains("FAILED item 2 \"7\": exit code 7"), "{talk}");
    assert!(talk.contains("2 done, 1 failed in "), "{talk}");
}

#[test]
fn a_program_that_is_not_there_and_items_that_cannot_be_are_said() {
    let output = run(&["--", "no-such-program-here"], b"a\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there is no program \"no-such-program-here\""));
    let long = [&vec![b'x'; 200_000][..], b"\nok\n\xff\xfe\n"].concat();
    let output = run(&["-k", "--", "echo"], &long);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("FAILED item 1 \"\": 200000 bytes; an argument has at most 131071")
    );
    assert_eq!(
        output.stdout, b"ok\n\xff\xfe\n",
        "bytes that are not UTF-8 are passed on as they are"
    );
}

#[test]
fn a_command_is_tried_again_and_ended_in_time() {
    let folder = Folder::new();
    let there = folder.join("there");
    let there = there.to_str().expect("a plain path");
    let script = "test -e $1 || { touch $1; exit 1; }";
    let output = run(
        &["--retries", "1", "--", "sh", "-c", script, "sh"],
        format!("{there}\n").as_bytes(),
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = run(&["--timeout", "200ms", "--", "sleep"], b"1000\n");
    assert!(
        text(&output.stderr).contains("not done within 200 ms"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn json_is_a_line_for_each_and_a_summary() {
    let output = run(
        &["--json", "-k", "--", "sh", "-c", "echo hi $1; exit $1", "sh"],
        b"0\n1\n",
    );
    let values: Vec<Value> = lines(&output)
        .iter()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(values.len(), 3);
    assert_eq!(
        (&values[0]["status"], &values[0]["output"]),
        (&"succeeded".into(), &"hi 0".into())
    );
    assert_eq!(
        (&values[1]["reason"], &values[1]["number"]),
        (&"exit code 1".into(), &2.into())
    );
    assert_eq!(
        (&values[2]["summary"]["ok"], &values[2]["summary"]["failed"]),
        (&false.into(), &1.into())
    );
}

#[test]
fn ctrl_c_ends_it_although_input_stays_open() {
    let folder = Folder::new();
    let gate = folder.gate("gate");
    let path = folder.path().to_str().expect("a plain path");
    let script = format!("cd {path}; echo $1 > started; read x < gate; echo done $1");
    let mut child = start(&["-j", "1", "--", "sh", "-c", &script, "sh"]);
    let mut stdin = child.stdin.take().expect("kept");
    stdin.write_all(b"1\n2\n3\n").expect("it reads");
    folder.line("started");
    signal(&child, Signal::INT);
    let mut talk = BufReader::new(child.stderr.take().expect("kept"));
    let mut said = String::new();
    talk.read_line(&mut said).expect("text");
    assert!(said.starts_with("interrupted: nothing new is started"), "{said}");
    gate.open();
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(text(&output.stdout), "done 1\n");
    drop(stdin);
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let mut child = start(&["-j", "2", "--", "echo"]);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("kept");
    std::thread::spawn(move || while stdin.write_all(b"x\n").is_ok() {});
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("the reader of standard output went away"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_full_disk_is_said_and_ends_it() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let mut child = program()
        .args(["run", "-j", "2", "--", "echo"])
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("kept");
    std::thread::spawn(move || while stdin.write_all(b"x\n").is_ok() {});
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("cannot write to standard output: No space left"),
        "{}",
        text(&output.stderr)
    );
}

/// `PUNCTUAL_TEST_ITEMS` says how many; the gate runs a hundred thousand.
#[test]
fn many_items_need_bounded_memory_and_come_out_in_order() {
    let count: u64 =
        std::env::var("PUNCTUAL_TEST_ITEMS").map_or(3_000, |text| text.parse().expect("a number"));
    let mut child = start(&["-j", "4", "-k", "--", "echo"]);
    let mut stdin = child.stdin.take().expect("kept");
    let stdout = BufReader::new(child.stdout.take().expect("kept"));
    let writes = std::thread::spawn(move || {
        for number in 0..count {
            writeln!(stdin, "{number}").expect("it reads");
        }
        // Kept open, so that it is still there when its memory is looked at.
        stdin
    });
    let mut next = 0;
    let mut rest = stdout.lines();
    while next < count {
        let line = rest.next().expect("one for each").expect("text");
        assert_eq!(line, next.to_string());
        next += 1;
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it is alive");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a peak");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < 40_000, "{peak} kB for {count} items");
    drop(writes.join().expect("it reads"));
    let output = finish(child);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let _ = LONG;
}
