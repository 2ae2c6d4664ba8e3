//! This binary again, as a process whose clocks and whose running can be changed from outside.

use crate::support::LONG;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const MARK: &str = "PUNCTUAL_TEST_ALONE";
const OFFSET: &str = "FAKETIME_TIMESTAMP_FILE";

/// What a child prints when it wants something done to it.
const READY: &str = "ready for the other process";

/// Longer than a test's own patience, which ends with a message.
const LIMIT: Duration = Duration::from_secs(90);

/// A test's second process, as the first sees it.
pub(crate) struct Other {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Other {
    pub(crate) fn pid(&self) -> libc::pid_t {
        self.child.id() as libc::pid_t
    }

    /// Waits until the other process calls [`say_ready`].
    pub(crate) fn await_ready(&mut self) {
        loop {
            match self.lines.recv_timeout(LONG) {
                Ok(line) if line.ends_with(READY) => return,
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("{error}; it said {:?}", self.seen),
            }
        }
    }
}

/// Tells the first process that this one is where it should be.
pub(crate) fn say_ready() {
    println!("{READY}");
}

/// Runs `body`, the whole of a test, in a process of its own: this binary, asked for that test only. `meanwhile` is what
/// this process does.
pub(crate) fn alone<F: FnOnce()>(body: F, meanwhile: impl FnOnce(&mut Other)) {
    alone_with(|_| (), body, meanwhile);
}

/// As [`alone`], with a wall clock that [`put_the_wall`] moves. Says why if that cannot be had.
pub(crate) fn with_a_wall_clock_of_its_own<F: FnOnce()>(body: F) {
    let Some(library) = libfaketime() else {
        println!("skipped: libfaketime is not installed (`apt-get install faketime`)");
        return;
    };
    let name = format!(
        "punctual-wall-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    let offset = std::env::temp_dir().join(name.replace(['(', ')'], ""));
    let prepare = |command: &mut Command| {
        std::fs::write(&offset, "+0").expect("a folder for temporary files");
        command
            .env("LD_PRELOAD", library)
            .env(OFFSET, &offset)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    };
    alone_with(prepare, body, |_| ());
    let _ = std::fs::remove_file(&offset);
}

/// From now on this process's wall clock is off by so many seconds. Its monotonic clock goes on as before.
pub(crate) fn put_the_wall(seconds: i64) {
    let file = std::env::var_os(OFFSET).expect("a wall clock of its own");
    // Whole or not at all: the file is read whenever anybody asks what time it is.
    let next = Path::new(&file).with_extension("next");
    std::fs::write(&next, format!("{seconds:+}")).expect("a folder for temporary files");
    std::fs::rename(&next, &file).expect("in the same folder");
}

fn libfaketime() -> Option<PathBuf> {
    let arch = std::env::consts::ARCH;
    let folders = [
        format!("/usr/lib/{arch}-linux-gnu/faketime"),
        "/usr/lib/faketime".to_owned(),
        "/usr/lib64/faketime".to_owned(),
        "/usr/local/lib/faketime".to_owned(),
    ];
    let files = folders
        .iter()
        .map(|folder| Path::new(folder).join("libfaketimeMT.so.1"));
    files.into_iter().find(|file| file.exists())
}

fn alone_with<F: FnOnce()>(prepare: impl FnOnce(&mut Command), body: F, meanwhile: impl FnOnce(&mut Other)) {
    // "clocks::wall::the_test::{{closure}}"
    let name = std::any::type_name::<F>();
    let name = name.strip_suffix("::{{closure}}").expect("a closure in the test");
    let (_, name) = name.split_once("::").expect("a test in a module");
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().expect("this binary has a path"));
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(MARK, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    prepare(&mut command);
    let mut child = command.spawn().expect("a second process");
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (tell, lines) = channel();
    let out = std::thread::spawn(move || {
        for line in BufReader::new(out.expect("piped")).lines() {
            // An error means that the test has ended.
            let _ = tell.send(line.expect("text"));
        }
    });
    let err = std::thread::spawn(move || {
        let mut text = String::new();
        err.expect("piped").read_to_string(&mut text).expect("text");
        text
    });
    let mut other = Other {
        child,
        lines,
        seen: Vec::new(),
    };
    meanwhile(&mut other);
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = other.child.try_wait().expect("our own child") {
            break Some(status);
        }
        if begin.elapsed() > LIMIT {
            other.child.kill().expect("our own child");
            other.child.wait().expect("our own child");
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    out.join().expect("read");
    other.seen.extend(other.lines.try_iter());
    println!("{}", other.seen.join("\n"));
    eprint!("{}", err.join().expect("read"));
    match status {
        None => panic!("it hangs: no end within {LIMIT:?}"),
        Some(status) => assert!(status.success(), "{status}: see above"),
    }
    assert!(
        other.seen.iter().any(|line| line.contains("1 passed")),
        "{name} is not what the test is called; it did not run"
    );
}
