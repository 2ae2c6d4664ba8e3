//! The page and /metrics, of `serve`, of `run` and of a dump; addresses that cannot be used.

use crate::support::{Folder, finish, program, punctual, signal, start, text};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

/// The answer to a request: its status, and the rest.
fn get(url: &str, path: &str, with_token: bool) -> (u16, String) {
    let (host, token) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once("/?token="))
        .unwrap_or_else(|| panic!("no address with a token: {url}"));
    let mut stream = TcpStream::connect(host).expect("it listens");
    let token = if with_token {
        format!("Authorization: Bearer {token}\r\n")
    } else {
        String::new()
    };
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\n{token}Connection: close\r\n\r\n"
    )
    .expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no answer: {answer}")), answer)
}

/// Reads until a line has these words.
fn line_with(reader: &mut impl BufRead, words: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(
            reader.read_line(&mut line).expect("text") > 0,
            "it ended without {words:?}"
        );
        if line.contains(words) {
            return line;
        }
    }
}

#[test]
fn serve_has_a_page_and_figures() {
    let folder = Folder::new();
    let file = folder.write(
        "jobs.toml",
        "[pool.mail]\nthreads = 1\n[schedule.tick]\nevery = \"50ms\"\nsleep = \"0s\"\n",
    );
    let mut child = start(&["serve", "--json", "--bind", "127.0.0.1:0", &file]);
    let mut stdout = BufReader::new(child.stdout.take().expect("kept"));
    let serving: Value = serde_json::from_str(&line_with(&mut stdout, "\"serving\"")).expect("JSON");
    let url = serving["page"].as_str().expect("an address");
    line_with(&mut stdout, "\"run\"");
    let (status, page) = get(url, "/", true);
    assert_eq!(status, 200);
    assert!(page.contains("<html"), "{page}");
    let (status, metrics) = get(url, "/metrics", true);
    assert_eq!(status, 200);
    assert!(
        metrics.contains("executor_pool_size_threads{name=\"mail\"}"),
        "{metrics}"
    );
    signal(&child, Signal::TERM);
    std::thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
    let output = finish(child);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn an_address_for_others_needs_the_token() {
    let folder = Folder::new();
    let file = folder.write("jobs.toml", "[schedule.tick]\nevery = \"1h\"\nsleep = \"0s\"\n");
    let mut child = start(&["serve", "--json", "--bind", "0.0.0.0:0", &file]);
    let mut stdout = BufReader::new(child.stdout.take().expect("kept"));
    let serving: Value = serde_json::from_str(&line_with(&mut stdout, "\"serving\"")).expect("JSON");
    let url = serving["page"].as_str().expect("an address");
    assert_eq!(get(url, "/metrics", false).0, 401);
    assert_eq!(get(url, "/metrics", true).0, 200);
    signal(&child, Signal::TERM);
    std::thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
    assert_eq!(finish(child).status.code(), Some(0));
}

#[test]
fn a_batch_has_a_page_while_it_runs() {
    let folder = Folder::new();
    let gate = folder.gate("gate");
    let file = folder.write(
        "batch.toml",
        "[task.held]\nshell = \"echo on > started; read x < gate\"\n",
    );
    let mut child = start(&["run", "--dashboard=127.0.0.1:0", &file]);
    let mut stderr = BufReader::new(child.stderr.take().expect("kept"));
    let line = line_with(&mut stderr, "page http://");
    let url = line.trim().strip_prefix("page ").expect("an address");
    folder.line("started");
    let (status, metrics) = get(url, "/metrics", true);
    assert_eq!(status, 200);
    assert!(
        metrics.contains("executor_active_threads{name=\"main\"} 1"),
        "{metrics}"
    );
    gate.open();
    std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
    assert_eq!(finish(child).status.code(), Some(0));
}

#[test]
fn addresses_that_cannot_be_used_end_with_four() {
    let folder = Folder::new();
    let file = folder.write(
        "jobs.toml",
        "[schedule.tick]\nevery = \"1h\"\nsleep = \"0s\"\n[task.t]\nsleep = \"0s\"\n",
    );
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = listener.local_addr().expect("bound").to_string();
    for (args, words) in [
        (&["serve", "--bind", &taken, &file][..], "in use"),
        (&["serve", "--bind", "somewhere", &file], "127.0.0.1:7070"),
        (&["run", &format!("--dashboard={taken}"), &file], "in use"),
    ] {
        let output = punctual(args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{args:?}: {error}");
        assert!(error.contains(words), "{args:?}: {error}");
    }
}

#[test]
fn a_dump_can_be_looked_at_later() {
    let folder = Folder::new();
    let pool = punctual::Pool::builder("orders")
        .core_threads(1)
        .recorder(100)
        .build()
        .expect("a pool");
    pool.submit(|| ()).expect("room").join().expect("it runs");
    let dump = folder.write("dump.json", &pool.dump().to_json());
    let mut child = start(&["view", "--json", "--bind", "127.0.0.1:0", &dump]);
    let mut stdout = BufReader::new(child.stdout.take().expect("kept"));
    let url: Value = serde_json::from_str(&line_with(&mut stdout, "url")).expect("JSON");
    let url = url["url"].as_str().expect("an address").to_owned();
    assert_eq!(get(&url, "/", true).0, 200);
    signal(&child, Signal::INT);
    assert_eq!(finish(child).status.code(), Some(0));

    let bad = folder.write("bad.json", "{}");
    let output = program()
        .args(["view", "--bind", "127.0.0.1:0", &bad])
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(punctual(&["view", "/no/such/dump"]).status.code(), Some(3));
}
