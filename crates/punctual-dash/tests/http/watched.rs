//! What is sent to who watches: little, whatever is in it; all of it to who asks; and nothing is looked at that nobody sees.

use crate::streams::Listener;
use crate::support::{builder, get, pool, post, serve, until};
use punctual::{Capacity, Pool, Priority, Queue, Schedule};
use serde_json::Value;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// What a frame may take, with what goes round it in a stream.
const MOST: usize = 4 * 1024;

/// A name that is as long as it is awkward: as JSON its letters take up to six bytes.
fn awkward(number: usize) -> String {
    format!("{number} {}", "\u{1}\"ü🦀 a name that does not end ".repeat(60))
}

/// A worker of the pool is at a task of that name until the answer is dropped.
fn occupied(pool: &Pool, name: String) -> Sender<()> {
    let (hold, held) = channel::<()>();
    let (begin, begun) = channel();
    let task = pool.task(move || {
        begin.send(()).unwrap();
        let _ = held.recv();
    });
    task.name(name).execute().unwrap();
    begun.recv().unwrap();
    hold
}

#[test]
fn a_frame_is_small_whatever_names_say_and_however_many_work() {
    let queue = Queue::priority(200).levels(8).aging(Duration::from_secs(1));
    let pool = Pool::builder(awkward(0))
        .core_threads(64)
        .thread_name("t")
        .queue(queue)
        .recorder(10_000)
        .build()
        .unwrap();
    let views: Vec<_> = (0..60)
        .map(|number| pool.limit(1).unwrap().named(awkward(number)))
        .collect();
    let holds: Vec<_> = (0..64).map(|number| occupied(&pool, awkward(number))).collect();
    let waiting = (0..50_u8).map(|number| {
        let task = views[usize::from(number)]
            .task(|| ())
            .name(awkward(usize::from(number)));
        task.priority(Priority::level(number % 8)).submit().unwrap()
    });
    let waiting: Vec<_> = waiting.collect();
    let server = serve(&pool);
    let mut tab = Listener::new(&server, "/api/v1/stream?page=pool&pool=1", None);
    let mut overview = Listener::new(&server, "/api/v1/stream", None);
    let (first, _) = (tab.next().unwrap(), overview.next().unwrap());
    for _ in 0..2 {
        for listener in [&mut tab, &mut overview] {
            let (_, frame) = listener.next().unwrap();
            let bytes = listener.last_bytes();
            assert!(bytes <= MOST, "{bytes} bytes: {frame}");
        }
    }
    let (_, frame) = tab.next().unwrap();
    let detail = &frame["detail"];
    // The rows that there is room for are there, and cut names say so.
    let queued = detail["queued"].as_array().unwrap();
    assert!(!queued.is_empty(), "{frame}");
    assert!(queued[0]["name"].as_str().unwrap().ends_with('…'));
    assert_eq!(detail["levels"].as_array().unwrap().len(), 8);
    let (_, row) = overview.next().unwrap();
    let shown = row["pools"][0]["views"].as_array().unwrap().len();
    assert!(shown >= 5, "{shown}");
    // A limit is a view, and what it is named another.
    assert_eq!(row["pools"][0]["more_views"], 120 - shown);
    // Sixty-four bars do not go in: they are left out, told of, and there for who asks.
    assert_eq!(
        (&detail["bars_cut"], detail["bars"].as_array().unwrap().len()),
        (&true.into(), 0)
    );
    let bars = get("/api/v1/pools/1/bars?since=0").to(&server).json();
    let workers: std::collections::BTreeSet<u64> = bars["bars"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bar| bar[1].as_u64().unwrap())
        .collect();
    assert_eq!(workers.len(), 64);
    assert_eq!(
        first.1["detail"]["bars"].as_array().unwrap().len(),
        64,
        "who comes first has them"
    );
    // Tasks are there in full for who asks.
    let tasks = get("/api/v1/pools/1/tasks?most=5").to(&server).json();
    let name = tasks["queued"][0]["name"].as_str().unwrap();
    assert!(name.len() > 1_000, "{name}");
    drop(holds);
    waiting.into_iter().for_each(|task| task.join().unwrap());
}

#[test]
fn rejects_are_there_in_full_for_who_asks() {
    let pool = pool("storm");
    pool.pause();
    for _ in 0..10 {
        pool.execute(|| ()).unwrap();
    }
    let server = serve(&pool);
    let mut tab = Listener::new(&server, "/api/v1/stream?page=pool&pool=1", None);
    let first = tab.next().unwrap().1;
    assert_eq!(first["detail"]["rejects"].as_array().unwrap().len(), 0);
    let storm = |tasks| (0..tasks).for_each(|_| assert!(pool.task(|| ()).name("late").execute().is_err()));
    let counted = || {
        let json = get("/api/v1/pools/1/rejects").to(&server).json();
        let rows = json["rejects"].as_array().unwrap().clone();
        let like_it = |row: &Value| row["like_it"].as_u64().unwrap_or(0);
        let sum: u64 = rows.iter().map(|row| 1 + like_it(row)).sum();
        assert!(
            rows.iter()
                .all(|row| row["task"] == "late" && row["reason"].is_string())
        );
        assert!(
            rows[0]["site"].as_str().unwrap().starts_with("watched.rs:"),
            "{rows:?}"
        );
        sum
    };
    storm(500);
    assert_eq!(counted(), 500);
    // Those within a millisecond of the last one are counted with it, also when it was told before.
    storm(500);
    assert_eq!(counted(), 1_000);
    until(
        || {
            let (_, frame) = tab.next().unwrap();
            assert!(frame["detail"]["rejects"].is_null(), "{frame}");
            frame["pools"][0]["rejected"] == 1_000
        },
        "the stream tells how many there are",
    );
    let fresh = get("/api/v1/snapshot?page=pool&pool=1").to(&server).json();
    assert!(!fresh["detail"]["rejects"].as_array().unwrap().is_empty());
    pool.resume();
}

#[test]
fn advice_is_told_by_a_key_and_there_for_who_asks() {
    let pool = pool("advised");
    let server = serve(&pool);
    let mut tab = Listener::new(&server, "/api/v1/stream?page=pool&pool=1", None);
    let first = tab.next().unwrap().1;
    let asked = get("/api/v1/pools/1/advice").to(&server).json();
    for field in ["advice", "lints", "advice_key"] {
        assert_eq!(first["detail"][field], asked[field]);
    }
    assert_eq!(first["detail"]["lints"], Value::Array(vec![]));
    // A queue without a bound is often a mistake.
    pool.set_capacity(Capacity::Unbounded).unwrap();
    until(
        || tab.next().unwrap().1["detail"]["advice_key"] != first["detail"]["advice_key"],
        "it says something else",
    );
    let asked = get("/api/v1/pools/1/advice").to(&server).json();
    assert_eq!(asked["lints"][0]["code"], "W001");
}

/// Where streams do not get through the page asks every two seconds.
#[test]
fn who_asks_now_and_then_is_told_what_workers_do() {
    let pool = pool("polled");
    let server = serve(&pool);
    let hold = occupied(&pool, "long".into());
    let ask = || get("/api/v1/snapshot?page=pool&pool=1").to(&server).json()["detail"].clone();
    let first = ask();
    assert_eq!(first["bars"][0][4], "long", "{first}");
    let at = first["bars_at"].as_u64().unwrap();
    until(|| ask()["bars_at"].as_u64().unwrap() > at, "the next look");
    drop(hold);
    // The open bar has become one that is over.
    let is_over = |bar: &Value| bar[0].as_u64().unwrap() > 0 && bar[4] == "long";
    until(
        || ask()["bars"].as_array().unwrap().iter().any(is_over),
        "what it was at is known",
    );
}

#[test]
fn workers_are_not_looked_at_for_other_pages() {
    let pool = pool("unseen");
    let server = serve(&pool);
    let hold = occupied(&pool, "unseen".into());
    for page in ["overview", "audit", "schedules"] {
        let mut tab = Listener::new(&server, &format!("/api/v1/stream?page={page}"), None);
        (0..3).for_each(|_| drop(tab.next().unwrap()));
        let bars = get("/api/v1/pools/1/bars").to(&server).json();
        assert_eq!(
            (&bars["bars_at"], &bars["bars"]),
            (&0.into(), &Value::Array(vec![])),
            "{page}"
        );
    }
    drop(hold);
}

#[test]
fn the_audit_is_sent_once_and_counts_what_was_refused() {
    let pool = pool("audited");
    let server = serve(&pool);
    let change = |path: &str| {
        post(&format!("/api/v1/pools/1/{path}"), "")
            .token()
            .to(&server)
            .status
    };
    assert_eq!(change("pause"), 200);
    let mut tab = Listener::new(&server, "/api/v1/stream?page=audit", None);
    let numbers = |frame: &Value| -> Vec<u64> {
        let entries = frame["audit"]["entries"].as_array().unwrap().iter();
        entries.map(|entry| entry["number"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&tab.next().unwrap().1), [1]);
    assert_eq!(change("resume"), 200);
    let mut seen = Vec::new();
    until(
        || {
            seen.extend(numbers(&tab.next().unwrap().1));
            seen.contains(&2)
        },
        "the new one comes",
    );
    assert_eq!(numbers(&tab.next().unwrap().1), [0; 0], "and is not sent again");
    for _ in 0..3 {
        assert_eq!(post("/api/v1/pools/1/pause", "").to(&server).status, 401);
    }
    let (mut listed, mut refused) = (Vec::new(), 0);
    until(
        || {
            let (_, frame) = tab.next().unwrap();
            listed.extend(numbers(&frame));
            refused = frame["audit"]["refused"].as_u64().unwrap();
            refused > 0
        },
        "they are counted",
    );
    assert_eq!((listed, refused), (vec![], 3), "counted, not listed");
    let all = get("/api/v1/snapshot?page=audit").to(&server).json();
    assert_eq!(numbers(&all), [1, 2]);
}

#[test]
fn schedules_are_sent_again_when_they_change() {
    let pool = pool("planned");
    let later = Duration::from_secs(3600);
    let plan = |name: &'static str| Schedule::every(later).starting_in(later).named(name);
    let handles = ["one", "two", "three"].map(|name| pool.schedule(plan(name), |_| ()).unwrap());
    let server = builder(&pool).serve().unwrap();
    let mut tab = Listener::new(&server, "/api/v1/stream?page=schedules", None);
    let names = |frame: &Value| -> Vec<String> {
        let rows = frame["schedules"].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&tab.next().unwrap().1), ["one", "two", "three"]);
    // The first look tells all of them once more; from then on nothing changes.
    tab.next().unwrap();
    assert_eq!(names(&tab.next().unwrap().1), [""; 0]);
    handles[1].pause();
    let mut sent = Vec::new();
    until(
        || {
            let (_, frame) = tab.next().unwrap();
            sent.extend(names(&frame));
            !sent.is_empty()
        },
        "the one that was paused comes",
    );
    assert_eq!(sent, ["two"]);
    handles[0].cancel();
    until(
        || {
            let (_, frame) = tab.next().unwrap();
            assert_eq!(names(&frame), [""; 0]);
            frame["schedules_gone"] == serde_json::json!([[1, handles[0].id()]])
        },
        "the one that ended is gone",
    );
}
