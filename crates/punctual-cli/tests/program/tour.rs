//! The tour, as it is printed.

use crate::support::{program, punctual, text};
use std::process::Stdio;

#[test]
fn the_tour_shows_every_stop_and_the_books_balance() {
    let output = punctual(&["tour"]);
    let (tour, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{tour}{error}");
    for line in [
        "\nfire and forget  1 000 000 closures accepted and run in ",
        "\nresults          200 000 tasks submitted, kept and joined: ",
        "; a handle is 8 bytes\n",
        "\nthere and back   submit one, wait for it, again: p50 ",
        "\nscope            8 tasks borrow a vector of 1 000 000 numbers and sum it in ",
        "\njoin inside      fibonacci(16) by 1 597 tasks that join each other, on 1 thread: 987 in ",
        "\ngrowth           4 tasks that end only when all of them run: from 1 thread to 4, all done in ",
        "idle threads may stay for 20.0 ms: 1 is left ",
        "\na panic          stays in its task; the join says: the task panicked: no stock (on purpose)\n",
        "the failure sink heard: ship: no address (on purpose)\n",
        "\ncancel           a waiting task: removed, never starts",
        "asleep for an hour: obeyed their tokens within ",
        "\na full queue     task rejected: the queue is full: 2 of 2 places are taken",
        "\ncaller runs      20 000 orders, 64 places, 1 worker: it ran ",
        "; none was refused, ",
        "\nvirtual time     8 tasks sleep an hour each on 2 threads: 4 hours on the manual clock, ",
        "\nclose            terminated true, still running 0, dropped 0; ",
        "\nPool(\"tour\", Terminated, 0 of ",
        "+ panicked 2 + cancelled ",
        "\n  refused  queue full 0, shut down 1, no thread 0\n",
        "\n  times ",
        "\n  waited ",
        "\n  ran ",
    ] {
        assert!(tour.contains(line), "{line:?} is missing in:\n{tour}");
    }
    assert!(
        error.is_empty(),
        "the planned panics are kept off the terminal: {error}"
    );
    assert!(
        tour.lines().all(|line| line.len() <= 150),
        "lines fit a screen:\n{tour}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = program()
        .arg("tour")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
