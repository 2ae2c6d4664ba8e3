//! Starting the program, folders for one test, waiting for what must come.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Nothing takes that long; it ends a hang.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The program, with no settings of the caller's.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.stdin(Stdio::null()).env_remove("NO_COLOR");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PUNCTUAL_") {
            command.env_remove(name);
        }
    }
    command
}

pub(crate) fn punctual(args: &[&str]) -> Output {
    program().args(args).output().expect("the program starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("plain text")
}

pub(crate) fn json(output: &Output) -> Value {
    let stdout = text(&output.stdout);
    serde_json::from_str(&stdout)
        .unwrap_or_else(|error| panic!("{error}: {stdout}\n{}", text(&output.stderr)))
}

/// A folder for one test, gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "punctual-program-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, and says where it is.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a folder for temporary files");
        path.to_str().expect("a plain path").to_owned()
    }

    /// What is in a file, as soon as there is a whole line in it.
    pub(crate) fn line(&self, name: &str) -> String {
        let path = self.0.join(name);
        let mut found = String::new();
        until(&format!("{name} has a line"), || {
            found = fs::read_to_string(&path).unwrap_or_default();
            found.ends_with('\n')
        });
        found.trim().to_owned()
    }

    /// A pipe with a name, at which commands can wait.
    pub(crate) fn gate(&self, name: &str) -> Gate {
        let path = self.0.join(name);
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        Gate(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `read x < gate` waits until it opens.
pub(crate) struct Gate(PathBuf);

impl Gate {
    pub(crate) fn open(&self) {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .open(&self.0)
            .expect("somebody waits");
        file.write_all(b"go\n").expect("somebody waits");
    }
}

/// Looks until it is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LONG, "not within {LONG:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is there and has not ended.
pub(crate) fn is_alive(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some(Some('Z' | 'X')))
}

pub(crate) fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(pid(child), signal).expect("it is alive");
}

/// Waits for the end, at most so long.
pub(crate) fn finish(child: Child) -> Output {
    let number = pid(&child);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(child.wait_with_output()));
    match told.recv_timeout(LONG) {
        Ok(output) => output.expect("the program ends"),
        Err(_) => {
            let _ = kill_process(number, Signal::KILL);
            let output = told.recv().expect("it was killed").expect("it was killed");
            panic!(
                "not within {LONG:?}: {}{}",
                text(&output.stdout),
                text(&output.stderr)
            );
        }
    }
}

/// Starts it with all of its output kept.
pub(crate) fn start(args: &[&str]) -> Child {
    let mut command = program();
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}
