//! What the routes do, seen on the pool; and that it is listed.

use crate::support::{builder, get, pool, post, serve, until};
use punctual::{Cancel, Pool, Priority, Queue, Schedule, Status};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Keeps the only worker busy until the sender is dropped.
fn hold(pool: &Pool) -> Sender<()> {
    let (hold, held) = channel::<()>();
    let (begin, begun) = channel();
    let task = pool.task(move || {
        begin.send(()).unwrap();
        let _ = held.recv();
    });
    task.name("held").execute().unwrap();
    begun.recv().unwrap();
    hold
}

#[test]
fn a_resize_changes_the_pool_and_can_be_undone() {
    let pool = pool("sized");
    let server = serve(&pool);
    let preview = get("/api/v1/pools/1/preview?core=2&max=4").to(&server).json();
    assert!(
        preview["text"].as_str().unwrap().contains("max 1 to 4"),
        "{preview}"
    );
    assert_eq!(pool.stats().size.max, 1, "a preview changes nothing");
    let done = post("/api/v1/pools/1/resize", r#"{"core":2,"max":2}"#)
        .token()
        .to(&server);
    assert_eq!(done.status, 200, "{done:?}");
    assert_eq!((pool.stats().size.core, pool.stats().size.max), (2, 2));
    let before = done.json()["before"].to_string();
    assert_eq!(
        post("/api/v1/pools/1/resize", &before).token().to(&server).status,
        200
    );
    assert_eq!(pool.stats().size.core, 1);
    let entries = get("/api/v1/snapshot?page=audit").to(&server).json()["audit"]["entries"].clone();
    assert_eq!(entries.as_array().unwrap().len(), 2);
    assert_eq!(
        (&entries[0]["action"], &entries[0]["what"]),
        (&"resize".into(), &"core 2 max 2".into())
    );
    assert!(
        entries[0]["from"].as_str().unwrap().starts_with("127.0.0.1:"),
        "{entries}"
    );
}

#[test]
fn a_size_that_cannot_be_is_an_error_that_says_why() {
    let pool = pool("sized");
    let server = serve(&pool);
    let answer = post("/api/v1/pools/1/resize", r#"{"core":5,"max":2}"#)
        .token()
        .to(&server);
    assert_eq!((answer.status, &*answer.code()), (400, "bad_size"));
    let text = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(text.contains('5') && text.contains('2'), "{text}");
    let preview = get("/api/v1/pools/1/preview?core=5&max=2").to(&server).json();
    assert_eq!(preview["possible"], false, "{preview}");
    let entry = get("/api/v1/snapshot?page=audit").to(&server).json()["audit"]["entries"][0].clone();
    assert_eq!(entry["done"], false, "{entry}");
}

#[test]
fn a_pool_is_paused_and_goes_on() {
    let pool = pool("paused");
    let server = serve(&pool);
    assert_eq!(post("/api/v1/pools/1/pause", "").token().to(&server).status, 200);
    assert!(pool.stats().paused);
    let row = get("/api/v1/snapshot").to(&server).json()["pools"][0].clone();
    assert_eq!(row["paused"], true);
    assert_eq!(post("/api/v1/pools/1/resume", "").token().to(&server).status, 200);
    assert!(!pool.stats().paused);
}

#[test]
fn tasks_are_listed_with_why_they_wait_and_can_be_moved_and_cancelled() {
    let pool = pool("tasks");
    let server = serve(&pool);
    let hold = hold(&pool);
    let first = pool.task(|| ()).name("first").submit().unwrap();
    let second = pool.task(|| ()).name("second").submit().unwrap();
    let list = |query: &str| get(&format!("/api/v1/pools/1/tasks{query}")).to(&server).json();
    let all = list("");
    assert_eq!(all["running"][0]["name"], "held", "{all}");
    assert_eq!(
        (&all["queued"][0]["name"], &all["queued"][1]["name"]),
        (&"first".into(), &"second".into())
    );
    assert!(
        all["queued"][1]["why"].as_str().unwrap().starts_with("it waits"),
        "{all}"
    );
    assert!(
        all["queued"][0]["site"]
            .as_str()
            .unwrap()
            .starts_with("actions.rs:"),
        "{all}"
    );
    assert_eq!(list("?filter=SECO")["queued"].as_array().unwrap().len(), 1);
    assert_eq!(list("?filter=none")["queued"].as_array().unwrap().len(), 0);
    let act = |id: u64, verb: &str| {
        post(&format!("/api/v1/pools/1/tasks/{id}/{verb}"), "")
            .token()
            .to(&server)
    };
    assert_eq!(act(second.task_ref().id(), "run-next").status, 200);
    assert_eq!(list("")["queued"][0]["name"], "second");
    assert_eq!(act(first.task_ref().id(), "cancel").status, 200);
    assert_eq!(first.task_ref().status(), Status::Cancelled);
    assert_eq!(act(first.task_ref().id(), "cancel").status, 404);
    drop(hold);
    second.join().unwrap();
}

#[test]
fn a_running_task_is_asked_to_stop() {
    let pool = pool("signals");
    let server = serve(&pool);
    let (begin, begun) = channel();
    let running = pool.task(move || {
        begin.send(()).unwrap();
        let _ = punctual::task::sleep(Duration::from_secs(3600));
    });
    let running = running.name("sleeper").submit().unwrap();
    begun.recv().unwrap();
    let id = running.task_ref().id();
    let answer = post(&format!("/api/v1/pools/1/tasks/{id}/cancel"), "")
        .token()
        .to(&server);
    assert!(
        answer.json()["outcome"]
            .as_str()
            .unwrap()
            .starts_with("asked to stop"),
        "{answer:?}"
    );
    assert!(running.join().unwrap_err().is_cancelled());
}

#[test]
fn a_schedule_is_shown_run_paused_and_resumed() {
    let pool = pool("plans");
    let server = serve(&pool);
    let plan = Schedule::cron("30 2 * * *")
        .unwrap()
        .zone("Europe/Amsterdam")
        .unwrap()
        .named("nightly");
    let handle = pool.schedule(plan, |_| Err::<(), _>("no luck")).unwrap();
    let row = || get("/api/v1/snapshot?page=schedules").to(&server).json()["schedules"][0].clone();
    let before = row();
    assert_eq!(
        (&before["name"], &before["zone"]),
        (&"nightly".into(), &"Europe/Amsterdam".into()),
        "{before}"
    );
    assert!(before["next"].as_u64() > before["last"].as_u64());
    let act = |verb: &str| {
        let path = format!("/api/v1/pools/1/schedules/{}/{verb}", handle.id());
        post(&path, "").token().to(&server).status
    };
    assert_eq!(act("run"), 200);
    until(|| handle.stats().failures == 1, "it ran");
    until(|| row()["outcome"] == "failed", "it is shown");
    assert_eq!(row()["error"], "no luck");
    assert_eq!(act("pause"), 200);
    assert!(handle.is_paused() && row()["paused"] == true);
    assert_eq!(act("resume"), 200);
    assert!(!handle.is_paused());
    let path = format!("/api/v1/pools/1/schedules/{}/upcoming", handle.id());
    let upcoming = get(&path).to(&server).json();
    assert_eq!(upcoming["times"].as_array().unwrap().len(), 10, "{upcoming}");
    assert_eq!(handle.cancel(), Cancel::Removed);
    assert_eq!(act("run"), 404);
}

#[test]
fn levels_shares_and_views_are_told() {
    let queue = Queue::priority(100).shares([50, 30, 15, 5]);
    let pool = Pool::builder("levels")
        .core_threads(1)
        .queue(queue)
        .build()
        .unwrap();
    let view = pool.limit(1).unwrap().named("database");
    view.submit(|| ()).unwrap().join().unwrap();
    pool.pause();
    pool.task(|| ()).priority(Priority::LOW).execute().unwrap();
    let server = serve(&pool);
    let frame = get("/api/v1/snapshot?page=pool&pool=1").to(&server).json();
    let levels = frame["detail"]["levels"].as_array().unwrap();
    assert_eq!(
        (levels.len(), &levels[3]["queued"], &levels[0]["share_target"]),
        (4, &1.into(), &0.5.into())
    );
    let names: Vec<_> = frame["pools"][0]["views"]
        .as_array()
        .unwrap()
        .iter()
        .map(|view| &view["name"])
        .collect();
    assert!(
        names.iter().any(|name| **name == "levels/limit(1)/database"),
        "{names:?}"
    );
    assert!(frame["pools"][0]["lanes"].is_null(), "none has anything to do");
    let lane = pool.lane();
    let two = [lane.submit(|| ()).unwrap(), lane.submit(|| ()).unwrap()];
    let frame = get("/api/v1/snapshot").to(&server).json();
    let lanes = &frame["pools"][0]["lanes"];
    assert_eq!((&lanes["running"], &lanes["waiting"]), (&0.into(), &1.into()));
    assert!(lanes["oldest"].is_number(), "{lanes}");
    pool.resume();
    two.into_iter().for_each(|task| task.join().unwrap());
}

#[test]
fn pools_come_and_go() {
    let first = pool("first");
    let dashboard = builder(&first).build().unwrap();
    let server = dashboard.serve().unwrap();
    let names = || {
        let json = get("/api/v1/snapshot").to(&server).json();
        let pools = json["pools"].as_array().unwrap().iter();
        pools
            .map(|pool| pool["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let second = pool("second");
    let shown = dashboard.add(second.control());
    assert_eq!(names(), ["first", "second"]);
    assert!(dashboard.remove(shown) && !dashboard.remove(shown));
    assert_eq!(names(), ["first"]);
    drop(first);
    let row = get("/api/v1/snapshot").to(&server).json()["pools"][0].clone();
    assert_eq!(row["state"], "gone", "{row}");
    assert_eq!(get("/api/v1/pools/1/dump").to(&server).status, 404);
}

#[test]
fn a_dashboard_holds_no_pool_and_ends_with_its_handles() {
    let pool = pool("free");
    let server = serve(&pool);
    let address = server.address();
    assert!(pool.close_timeout(Duration::from_secs(60)).terminated);
    server.shutdown();
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn rows_of_the_last_minutes_are_kept() {
    let pool = pool("rows");
    let server = serve(&pool);
    let rows = || {
        get("/api/v1/pools/1/history?seconds=60").to(&server).json()["rows"]
            .as_array()
            .unwrap()
            .len()
    };
    until(|| rows() >= 2, "two rows");
    pool.submit(|| ()).unwrap().join().unwrap();
    let path = "/api/v1/pools/1/history?seconds=0";
    assert_eq!(get(path).to(&server).json()["rows"].as_array().unwrap().len(), 0);
}
