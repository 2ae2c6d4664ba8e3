//! `serve`: runs, reloads good and bad, the end, and that nothing outlives it.

use crate::support::{Folder, LONG, is_alive, program, punctual, signal, text, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// The program, serving. Ended with the test, however that ends.
struct Serving {
    child: Child,
    events: Receiver<Value>,
    talk: Option<JoinHandle<String>>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    fn start(file: &str) -> Self {
        Serving::with(file, |_| ())
    }

    fn with(file: &str, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = program();
        command.args(["serve", "--no-page", "--json", file]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("kept"));
        let (tell, events) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap_or(Value::Null));
            }
        });
        // Read all the while: a full pipe would hold it up.
        let mut stderr = child.stderr.take().expect("kept");
        let talk = std::thread::spawn(move || {
            let mut talk = String::new();
            let _ = stderr.read_to_string(&mut talk);
            talk
        });
        let serving = Serving {
            child,
            events,
            talk: Some(talk),
        };
        serving.event("serving", |_| true);
        serving
    }

    /// The next event of a kind that is as wanted.
    fn event(&self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + LONG;
        let mut last = Value::Null;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left);
            let event = event.unwrap_or_else(|error| panic!("no {kind}: {error}; the last event was {last}"));
            last.clone_from(&event);
            if event["event"] == kind && wanted(&event) {
                return event;
            }
        }
    }

    fn run_of(&self, schedule: &str) -> Value {
        self.event("run", |run| run["schedule"] == schedule)
    }

    fn signal(&self, which: Signal) {
        signal(&self.child, which);
    }

    /// Asks it to end: its exit code, and all it said.
    fn end(self) -> (Option<i32>, String) {
        self.signal(Signal::TERM);
        self.ended()
    }

    /// Waits for its end.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut code = None;
        until("it ends", || match self.child.try_wait().expect("it is ours") {
            Some(status) => {
                code = status.code();
                true
            }
            None => false,
        });
        let talk = self.talk.take().expect("once").join().expect("text");
        (code, talk)
    }

    /// The process that does the work.
    fn inner(&self) -> String {
        let path = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = std::fs::read_to_string(path).expect("it is alive");
        children.trim().to_owned()
    }
}

#[test]
fn schedules_run_and_are_remembered_and_the_end_is_clean() {
    let folder = Folder::new();
    let file = folder.write(
        "jobs.toml",
        "[serve]\nhistory = 3\n[schedule.tick]\nevery = \"10ms\"\nsleep = \"0s\"\n\
         [schedule.bad]\nevery = \"20ms\"\nshell = \"echo oh no; exit 4\"\n",
    );
    let serving = Serving::start(&file);
    let bad = serving.run_of("bad");
    assert_eq!(
        (&bad["status"], &bad["reason"]),
        (&"failed".into(), &"exit code 4".into()),
        "{bad}"
    );
    assert_eq!(bad["output"], "oh no");
    for _ in 0..5 {
        assert_eq!(serving.run_of("tick")["status"], "succeeded");
    }
    serving.run_of("bad");
    serving.signal(Signal::USR1);
    let history = serving.event("history", |_| true);
    assert_eq!(history["kept"], 3, "{history}");
    assert!(history["total"].as_u64() >= Some(7), "{history}");
    let (code, talk) = serving.end();
    assert_eq!(code, Some(0), "{talk}");
    assert!(
        talk.contains("serving 2 schedules") && talk.contains("every 10 milliseconds"),
        "{talk}"
    );
    assert!(
        talk.contains("bad FAILED: exit code 4") && talk.contains("    | oh no"),
        "{talk}"
    );
}

#[test]
fn a_reload_keeps_what_is_the_same_and_says_what_is_not() {
    let folder = Folder::new();
    let pool = |threads: u32| format!("[pool.p]\nthreads = {threads}\n");
    let same = "[schedule.same]\nevery = \"20ms\"\nsleep = \"0s\"\n";
    let first = pool(1)
        + same
        + "[schedule.gone]\nevery = \"20ms\"\nsleep = \"0s\"\n[schedule.other]\nevery = \"1h\"\nsleep = \"0s\"\n";
    let second = pool(2)
        + same
        + "[schedule.other]\nevery = \"2h\"\nsleep = \"0s\"\n[schedule.new]\nevery = \"20ms\"\nsleep = \"0s\"\n";
    let file = folder.write("jobs.toml", &first);
    let serving = Serving::start(&file);
    serving.run_of("gone");
    // As editors do it: another file in its place.
    folder.write("jobs.toml.new", &second);
    std::fs::rename(folder.join("jobs.toml.new"), &file).expect("in the same folder");
    let reload = serving.event("reload", |_| true);
    let expected = [
        "~ pool p: core 1 -> 2, max 1 -> 2",
        "~ schedule other",
        "+ schedule new",
        "- schedule gone",
    ];
    assert_eq!(reload["changes"], serde_json::json!(expected), "{reload}");
    serving.run_of("new");
    serving.run_of("same");
    for _ in 0..10 {
        let run = serving.event("run", |_| true);
        assert_ne!(run["schedule"], "gone", "{run}");
    }
    // The same once more, on request: nothing changes.
    serving.signal(Signal::HUP);
    assert_eq!(
        serving.event("reload", |_| true)["changes"],
        serde_json::json!([])
    );
    assert_eq!(serving.end().0, Some(0));
}

#[test]
fn a_bad_file_changes_nothing_and_the_next_good_one_does() {
    let folder = Folder::new();
    let good = "[schedule.tick]\nevery = \"20ms\"\nsleep = \"0s\"\n";
    let file = folder.write("jobs.toml", good);
    let serving = Serving::start(&file);
    for bad in [
        "[schedule.tick]\nevry = \"20ms\"\n",
        "[schedule.tick\n",
        "[schedule.tick]\ncron = \"* * * *\"\nsleep = \"0s\"\n",
    ] {
        folder.write("jobs.toml", bad);
        let reload = serving.event("reload", |_| true);
        assert_eq!(reload["ok"], false, "{bad}: {reload}");
        assert!(
            reload["error"]
                .to_string()
                .contains("the last good file stays in force"),
            "{reload}"
        );
        serving.run_of("tick");
        serving.run_of("tick");
    }
    std::fs::remove_file(&file).expect("it is there");
    serving.signal(Signal::HUP);
    assert_eq!(serving.event("reload", |_| true)["ok"], false);
    serving.run_of("tick");
    folder.write("jobs.toml", "[schedule.tock]\nevery = \"20ms\"\nsleep = \"0s\"\n");
    assert_eq!(serving.event("reload", |_| true)["ok"], true);
    serving.run_of("tock");
    let (_, talk) = serving.end();
    assert!(talk.contains("error[E010]: there is no key \"evry\""), "{}", talk);
}

#[test]
fn a_reload_lets_a_running_task_finish() {
    let folder = Folder::new();
    let gate = folder.gate("gate");
    let file = folder.write(
        "jobs.toml",
        "[schedule.long]\nevery = \"1h\"\nshell = \"echo on > started; read x < gate; echo through\"\n",
    );
    let serving = Serving::start(&file);
    folder.line("started");
    folder.write("jobs.toml", "[schedule.tick]\nevery = \"20ms\"\nsleep = \"0s\"\n");
    serving.event("reload", |_| true);
    serving.run_of("tick");
    gate.open();
    let run = serving.run_of("long");
    assert_eq!(
        (&run["status"], &run["output"]),
        (&"succeeded".into(), &"through".into()),
        "{run}"
    );
    assert_eq!(serving.end().0, Some(0));
}

#[test]
fn the_first_signal_lets_runs_finish_and_the_second_stops_them() {
    let folder = Folder::new();
    let gate = folder.gate("gate");
    let patient = folder.write(
        "a.toml",
        "[schedule.long]\nevery = \"1h\"\nshell = \"echo on > started; read x < gate\"\n",
    );
    let serving = Serving::start(&patient);
    folder.line("started");
    serving.signal(Signal::INT);
    gate.open();
    assert_eq!(serving.run_of("long")["status"], "succeeded");
    assert_eq!(serving.ended().0, Some(0));

    let file = folder.write(
        "b.toml",
        "[schedule.stuck]\nevery = \"1h\"\nshell = \"echo $$ > stuck; sleep 1000\"\n",
    );
    let serving = Serving::start(&file);
    let process = folder.line("stuck");
    serving.signal(Signal::INT);
    serving.signal(Signal::USR1);
    serving.event("history", |_| true);
    assert!(is_alive(&process));
    serving.signal(Signal::INT);
    let run = serving.run_of("stuck");
    assert_eq!(run["reason"], "stopped", "{run}");
    assert_eq!(serving.ended().0, Some(0));
    until("it is gone", || !is_alive(&process));
}

/// A command with a child in its group, one that left the group and the session, and one that left all of its parents.
const FAMILY: &str = "[schedule.family]\nevery = \"1h\"\nshell = \"\"\"
sleep 1000 & echo $! > child
setsid sh -c 'echo $$ > session; sleep 1000' &
(setsid sh -c 'echo $$ > orphan; sleep 1000' &)
echo $$ > leader
wait\"\"\"\n";

fn family(folder: &Folder) -> Vec<String> {
    ["child", "session", "orphan", "leader"]
        .iter()
        .map(|name| folder.line(name))
        .collect()
}

fn must_be_gone(family: &[String]) {
    for process in family {
        until("no process is left behind", || !is_alive(process));
    }
}

#[test]
fn kill_9_leaves_no_process_behind() {
    let folder = Folder::new();
    let file = folder.write("jobs.toml", FAMILY);
    let mut serving = Serving::start(&file);
    let inner = serving.inner();
    let family = family(&folder);
    assert!(family.iter().all(|process| is_alive(process)));
    serving.signal(Signal::KILL);
    serving.child.wait().expect("it was killed");
    must_be_gone(&family);
    until("nor the inner process", || !is_alive(&inner));
}

#[test]
fn kill_9_of_the_inner_process_leaves_none_either() {
    let folder = Folder::new();
    let file = folder.write("jobs.toml", FAMILY);
    let serving = Serving::start(&file);
    let family = family(&folder);
    let inner: i32 = serving.inner().parse().expect("a number");
    kill_process(Pid::from_raw(inner).expect("a number"), Signal::KILL).expect("it is alive");
    let (code, talk) = serving.ended();
    assert_eq!(code, Some(1));
    assert!(talk.contains("killed by signal 9"), "{}", talk);
    must_be_gone(&family);
}

#[test]
fn a_usual_end_leaves_none_either() {
    let folder = Folder::new();
    let file = folder.write(
        "jobs.toml",
        "[schedule.leaves]\nevery = \"1h\"\nshell = \"setsid sh -c 'echo $$ > orphan; sleep 1000' > /dev/null 2>&1 &\"\n",
    );
    let serving = Serving::start(&file);
    assert_eq!(serving.run_of("leaves")["status"], "succeeded");
    let orphan = folder.line("orphan");
    assert!(is_alive(&orphan));
    assert_eq!(serving.end().0, Some(0));
    must_be_gone(&[orphan]);
}

#[test]
fn orphans_that_end_are_buried() {
    let folder = Folder::new();
    let file = folder.write(
        "jobs.toml",
        "[schedule.leaves]\nevery = \"1h\"\nshell = \"(sh -c 'echo $$ > orphan; read x < gate' &)\"\n",
    );
    let gate = folder.gate("gate");
    let serving = Serving::start(&file);
    let orphan = folder.line("orphan");
    serving.run_of("leaves");
    gate.open();
    until("it is no zombie", || {
        !Path::new(&format!("/proc/{orphan}")).exists()
    });
    serving.end();
}

#[test]
fn a_wrong_file_is_not_served() {
    let folder = Folder::new();
    let file = folder.write("jobs.toml", "[schedule.x]\nevery = 5\n");
    let output = punctual(&["serve", "--no-page", &file]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let talk = text(&output.stderr);
    assert!(talk.contains("error[E011]"), "{talk}");
}

fn libfaketime() -> Option<PathBuf> {
    let folders = [
        format!("/usr/lib/{}-linux-gnu/faketime", std::env::consts::ARCH),
        "/usr/lib/faketime".to_owned(),
        "/usr/lib64/faketime".to_owned(),
    ];
    let files = folders
        .iter()
        .map(|folder| Path::new(folder).join("libfaketimeMT.so.1"));
    files.into_iter().find(|file| file.exists())
}

/// A whole day, hour by hour: the wall clock is put, and each time the hour's run comes, once, at its time.
#[test]
fn a_day_goes_by_and_every_hour_has_its_run() {
    let Some(library) = libfaketime() else {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "libfaketime is needed where CI=true"
        );
        println!("skipped: libfaketime is not installed (`apt-get install faketime`)");
        return;
    };
    let folder = Folder::new();
    // The heartbeat makes the pool look at its clocks often.
    let file = folder.write(
        "jobs.toml",
        "[pool.p]\nthreads = 1\n[schedule.hourly]\ncron = \"0 * * * *\"\nzone = \"Asia/Seoul\"\nsleep = \"0s\"\n\
         [schedule.heart]\nevery = \"20ms\"\nsleep = \"0s\"\n[schedule.noon]\ncron = \"0 12 * * *\"\nsleep = \"0s\"\n",
    );
    let offset = folder.join("offset");
    let put = |text: &str| {
        // Whole or not at all: it is read whenever anybody asks what time it is.
        let next = folder.join("offset.next");
        std::fs::write(&next, text).expect("a folder");
        std::fs::rename(&next, &offset).expect("in the same folder");
    };
    put("@2027-06-01 00:30:00");
    let serving = Serving::with(&file, |command| {
        command
            .env("LD_PRELOAD", library)
            .env("FAKETIME_TIMESTAMP_FILE", &offset)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("TZ", "UTC");
    });
    let mut noons = 0;
    for hour in 1..=24 {
        let (day, of_day) = (1 + hour / 24, hour % 24);
        put(&format!("@2027-06-{day:02} {of_day:02}:00:01"));
        let expected = format!("2027-06-{day:02}T{of_day:02}:00:00.000Z");
        let wanted = if hour == 12 {
            ["hourly", "noon"]
        } else {
            ["hourly"; 2]
        };
        for _ in 0..usize::from(hour == 12) + 1 {
            let run = serving.event("run", |run| wanted.iter().any(|name| run["schedule"] == *name));
            assert_eq!(run["scheduled"], expected.as_str(), "{run}");
            assert_eq!(run["missed"], 0, "{run}");
            noons += u32::from(run["schedule"] == "noon");
        }
        // The next task of the only thread: the run has ended, also for the library. A tick during a run would be skipped.
        serving.run_of("heart");
    }
    assert_eq!(noons, 1);
    assert_eq!(serving.end().0, Some(0));
}
