//! Ctrl-C once and twice; timeouts that end whole process groups.

use crate::support::{Folder, finish, is_alive, json, punctual, signal, start, text, until};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read};

/// Reads what the program says until it has said this; gives back the rest to be read.
fn wait_for(reader: &mut impl BufRead, words: &str) {
    let mut said = String::new();
    while !said.contains(words) {
        let length = reader.read_line(&mut said).expect("text");
        assert!(length > 0, "it ended without {words:?}: {said}");
    }
}

#[test]
fn the_first_ctrl_c_starts_nothing_new_and_lets_running_tasks_finish() {
    let folder = Folder::new();
    let gate = folder.gate("gate");
    let file = folder.write(
        "batch.toml",
        "[pool.p]\nthreads = 1\n[task.running]\nshell = \"echo now > started; read x < gate\"\n[task.waiting]\nsleep = \"1ms\"\n\
         repeat = 5\n[task.behind]\nsleep = \"1ms\"\nafter = [\"running\"]\n",
    );
    let mut child = start(&["run", "--json", &file]);
    folder.line("started");
    let mut talk = BufReader::new(child.stderr.take().expect("kept"));
    signal(&child, Signal::INT);
    wait_for(&mut talk, "interrupted: nothing new is started, 1 running go on");
    gate.open();
    std::thread::spawn(move || talk.read_to_string(&mut String::new()));
    let output = finish(child);
    let report = json(&output);
    assert_eq!(output.status.code(), Some(130), "{report:#}");
    assert_eq!(report["interrupted"], true);
    assert_eq!(
        (&report["counts"]["succeeded"], &report["counts"]["not_run"]),
        (&1.into(), &6.into()),
        "{report:#}"
    );
}

#[test]
fn the_second_ctrl_c_ends_running_tasks_and_their_children() {
    let folder = Folder::new();
    let file = folder.write(
        "batch.toml",
        "[task.running]\nshell = \"sleep 1000 & echo $! > grandchild; wait\"\n",
    );
    let mut child = start(&["run", "--json", &file]);
    let grandchild = folder.line("grandchild");
    let mut talk = BufReader::new(child.stderr.take().expect("kept"));
    signal(&child, Signal::INT);
    wait_for(&mut talk, "again to stop them");
    assert!(is_alive(&grandchild));
    signal(&child, Signal::INT);
    wait_for(&mut talk, "interrupted again");
    std::thread::spawn(move || talk.read_to_string(&mut String::new()));
    let output = finish(child);
    let report = json(&output);
    assert_eq!(output.status.code(), Some(130), "{report:#}");
    assert_eq!(report["tasks"][0]["reason"], "stopped");
    until("the grandchild is gone", || !is_alive(&grandchild));
}

#[test]
fn a_timeout_ends_the_whole_group_politely_first() {
    let folder = Folder::new();
    let file = folder.write(
        "batch.toml",
        "[task.slow]\nshell = \"trap 'echo bye > said; exit' TERM; sleep 1000 & echo $! > grandchild; wait\"\n\
         timeout = \"300ms\"\ngrace = \"30s\"\n",
    );
    let output = punctual(&["run", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).contains("failed slow: not done within 300 ms"),
        "{}",
        text(&output.stdout)
    );
    assert_eq!(folder.line("said"), "bye");
    let grandchild = folder.line("grandchild");
    until("the grandchild is gone", || !is_alive(&grandchild));
}

#[test]
fn who_ignores_the_polite_signal_is_killed_after_the_grace_with_all_of_its_group() {
    let folder = Folder::new();
    let file = folder.write(
        "batch.toml",
        "[task.deaf]\nshell = \"trap '' TERM; sh -c 'echo $$ > grandchild; while :; do sleep 1; done' & wait\"\n\
         timeout = \"300ms\"\ngrace = \"100ms\"\n\
         [task.leader-goes]\nshell = \"sh -c 'trap \\\"\\\" TERM; echo $$ > second; while :; do sleep 1; done' & wait\"\n\
         timeout = \"300ms\"\ngrace = \"100ms\"\n",
    );
    let output = punctual(&["run", "-j", "2", &file]);
    assert_eq!(output.status.code(), Some(1));
    for name in ["grandchild", "second"] {
        let process = folder.line(name);
        until("it is gone", || !is_alive(&process));
    }
}
