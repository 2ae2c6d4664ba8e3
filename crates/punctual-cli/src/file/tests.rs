//! Texts in, plans and problems out.

use super::plan::{Order, When, Work};
use super::*;
use std::time::Duration;

fn parsed(text: &str) -> Loaded {
    let source = Source {
        name: "x.toml".to_owned(),
        text: text.to_owned(),
    };
    parse(source, Path::new("base"))
}

fn plan(text: &str) -> Plan {
    let loaded = parsed(text);
    assert_eq!(loaded.errors(), 0, "{:#?}", loaded.problems);
    loaded.plan.expect("no error, so a plan")
}

fn codes(text: &str) -> Vec<&'static str> {
    parsed(text).problems.iter().map(|problem| problem.code).collect()
}

#[test]
fn defaults_are_filled_in_and_can_be_said_otherwise() {
    let plan = plan(
        "[defaults]\ntimeout = \"1m\"\nretries = 2\n[task.a]\nshell = \"x\"\n[task.b]\nshell = \"y\"\ntimeout = \"1s\"\nretries = 0\n",
    );
    let [a, b] = &plan.tasks[..] else { panic!() };
    assert_eq!((a.timeout, a.retries), (Some(Duration::from_secs(60)), 2));
    assert_eq!((b.timeout, b.retries), (Some(Duration::from_secs(1)), 0));
    assert_eq!(&*plan.pools[0].name, "main");
    let Work::Command(command) = &a.work else { panic!() };
    assert_eq!(command.argv, ["/bin/sh", "-c", "x"]);
    assert_eq!(
        command.cwd.as_deref(),
        Some(Path::new("base")),
        "where the file is"
    );
}

#[test]
fn items_are_spread_out_and_waited_for_together() {
    let plan = plan(
        "[task.a]\nrun = [\"cp\", \"{}\", \"to\"]\nitems = [\"x\", \"y\"]\nkey = \"k {}\"\n[task.b]\nsleep = \"0s\"\nafter = \"a\"\n",
    );
    let names: Vec<&str> = plan.tasks.iter().map(|task| &*task.name).collect();
    assert_eq!(names, ["a#1", "a#2", "b"]);
    assert_eq!(plan.tasks[2].after, [0, 1]);
    assert_eq!(plan.tasks[1].key.as_deref(), Some("k y"));
    let Work::Command(command) = &plan.tasks[1].work else {
        panic!()
    };
    assert_eq!(command.argv, ["cp", "y", "to"]);
}

#[test]
fn pools_come_as_they_are_written() {
    let plan = plan(
        "[pool.a]\ncore = 1\nmax = 4\nqueue = 10\nshares = [3, 1]\n[pool.b]\nqueue = \"unbounded\"\norder = \"fifo\"\nthreads = 3\n\
         [limit.l]\npool = \"b\"\nmax = 2\n[task.t]\nsleep = \"1s\"\nlimit = \"l\"\n",
    );
    let [a, b] = &plan.pools[..] else { panic!() };
    assert_eq!(
        (a.core, a.max, a.queue, &a.order),
        (1, 4, Some(10), &Order::Shares(vec![3, 1]))
    );
    assert_eq!((b.core, b.max, b.queue, &b.order), (3, 3, None, &Order::Fifo));
    assert_eq!(plan.tasks[0].pool, 1, "where its limit is");
}

#[test]
fn schedules_name_tasks_or_have_one_inside() {
    let plan = plan(
        "[task.t]\nsleep = \"1s\"\n[schedule.a]\ntask = \"t\"\nevery = \"5s\"\n[schedule.b]\nshell = \"x\"\ntimeout = \"1s\"\n\
         grace = \"1s\"\ncron = \"0 9 * * MON\"\nzone = \"Asia/Seoul\"\n[schedule.c]\nspin = \"1s\"\nat = 2099-01-01T00:00:00Z\n",
    );
    assert_eq!(
        plan.schedules
            .iter()
            .map(|schedule| schedule.task)
            .collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert!(!plan.tasks[0].scheduled && plan.tasks[1].scheduled && plan.tasks[2].scheduled);
    assert!(matches!(plan.schedules[0].when, When::Every(every) if every == Duration::from_secs(5)));
    assert!(matches!(&plan.schedules[1].when, When::Cron(_, zone) if zone.iana_name() == Some("Asia/Seoul")));
}

#[test]
fn what_is_often_a_mistake_is_said() {
    let schedule = |rest: &str| format!("[schedule.s]\nshell = \"true\"\n{rest}");
    assert_eq!(codes(""), ["W101"]);
    assert_eq!(
        codes("[pool.p]\nqueue = \"unbounded\"\n[task.t]\nsleep = \"1s\"\n"),
        ["W001"]
    );
    assert_eq!(
        codes("[pool.p]\nthreads = 1000\n[task.t]\nspin = \"1s\"\n"),
        ["W003", "W104"]
    );
    assert_eq!(codes(&schedule("every = \"1s\"\ncwd = \"/\"\n")), ["W103"]);
    let gap = schedule("cron = \"30 2 * * *\"\nzone = \"Europe/Berlin\"\ntimeout = \"9s\"\ncwd = \"/\"\n");
    assert_eq!(codes(&gap), ["W105"]);
    assert_eq!(
        codes("[task.t]\nrun = [\"no-such-program\"]\ncwd = \"/\"\n"),
        ["W106"]
    );
    assert_eq!(
        codes("[task.t]\nshell = \"true\"\ncwd = \"/no/such\"\n"),
        ["W107"]
    );
    assert_eq!(
        codes("[task.t]\nshell = \"true\"\ncwd = \"/\"\ntimeout = \"1s\"\n"),
        ["W108"]
    );
    let past = schedule("at = 2001-01-01T00:00:00Z\ntimeout = \"9s\"\ncwd = \"/\"\n");
    assert_eq!(codes(&past), ["W109"]);
    let after = "[task.a]\nsleep = \"1s\"\n[task.b]\nsleep = \"1s\"\nafter = [\"a\"]\n[schedule.s]\ntask = \"b\"\nevery = \"1s\"\n";
    assert_eq!(codes(after), ["W102"]);
}

#[test]
fn two_circles_are_two_problems_and_what_hangs_on_them_none() {
    let task = |name: &str, after: &str| format!("[task.{name}]\nsleep = \"0s\"\nafter = [\"{after}\"]\n");
    let text = [("a", "b"), ("b", "a"), ("c", "c"), ("d", "a")].map(|(name, after)| task(name, after));
    assert_eq!(codes(&text.concat()), ["E021", "E021"]);
}

/// Texts that are nearly right: every cut, every swap of a piece, thousands of random bytes. Nothing may panic, every
/// problem has its place inside the text. The fuzz target `file` does the same with more patience.
#[test]
fn no_text_is_too_strange() {
    let seed = include_str!("../../../../examples/day.toml");
    let mut random = Random(0x5eed);
    let pieces = [
        "[",
        "]",
        "\"",
        "=",
        "'''",
        "\n",
        "{}",
        "\u{0}",
        "\u{1F600}",
        "-1",
        "1e999",
        "9999999999999999999",
        "task",
        ".",
    ];
    for round in 0..400 {
        let mut text = seed.to_owned();
        for _ in 0..=random.below(4) {
            let mut at = random.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let piece = pieces[random.below(pieces.len())];
            match random.below(3) {
                0 => text.insert_str(at, piece),
                1 => text.truncate(at),
                _ => {
                    let mut end = (at + random.below(20)).min(text.len());
                    while !text.is_char_boundary(end) {
                        end += 1;
                    }
                    text.replace_range(at..end, piece);
                }
            }
        }
        let loaded = parsed(&text);
        assert_eq!(
            loaded.plan.is_some(),
            loaded.errors() == 0,
            "round {round}: {text}"
        );
        for problem in &loaded.problems {
            assert!(!problem.what.is_empty() && !problem.help.is_empty());
            let shown = loaded.source.show(problem, false);
            assert!(shown.contains("x.toml"), "{shown}");
        }
    }
}

/// A small generator: the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}
