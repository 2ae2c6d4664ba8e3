//! What is told of a pool's past and of what watching costs; what is sent compressed.

use crate::support::{builder, get, pool, serve, until};
use punctual::{Pool, Priority, Queue};

/// Milliseconds since 1970, far later than any test.
const LATER: &str = "9999999999999";

fn levelled(recorder: Option<usize>) -> Pool {
    let mut pool = Pool::builder("levels")
        .core_threads(1)
        .queue(Queue::priority(100));
    if let Some(events) = recorder {
        pool = pool.recorder(events);
    }
    pool.build().unwrap()
}

#[test]
fn what_was_served_is_told_by_name_and_level() {
    let pool = levelled(Some(1_000));
    let server = serve(&pool);
    for (name, priority) in [
        ("mail", Priority::URGENT),
        ("mail", Priority::URGENT),
        ("report", Priority::LOW),
    ] {
        let task = pool.task(|| ()).name(name).priority(priority);
        task.submit().unwrap().join().unwrap();
    }
    let served = get(&format!("/api/v1/pools/1/served?from=0&to={LATER}"))
        .to(&server)
        .json();
    assert_eq!(
        (&served["records"], &served["cut"]),
        (&true.into(), &false.into()),
        "{served}"
    );
    let tasks = served["tasks"].as_array().unwrap();
    let of = |name: &str| tasks.iter().find(|task| task["name"] == name).unwrap();
    assert_eq!(
        (&of("mail")["runs"], &of("mail")["level"]),
        (&2.into(), &0.into())
    );
    assert_eq!(
        (&of("report")["runs"], &of("report")["level"]),
        (&1.into(), &3.into())
    );
    // Nothing ran before there was a pool.
    let before = get("/api/v1/pools/1/served?from=0&to=1000").to(&server).json();
    assert_eq!(before["tasks"].as_array().unwrap().len(), 0);
}

#[test]
fn levels_are_counted_without_a_recorder_and_the_tasks_are_not_known() {
    let pool = levelled(None);
    let server = serve(&pool);
    let path = format!("/api/v1/pools/1/served?from=0&to={LATER}");
    until(
        || {
            // In each second some: a row is the difference of two readings.
            let task = pool.task(|| ()).priority(Priority::HIGH);
            task.submit().unwrap().join().unwrap();
            get(&path).to(&server).json()["levels"][1].as_u64() > Some(0)
        },
        "the level is counted",
    );
    let served = get(&path).to(&server).json();
    assert_eq!(served["records"], false);
    assert_eq!(
        (served["levels"].as_array().unwrap().len(), &served["levels"][3]),
        (4, &0.into())
    );
    assert_eq!(served["tasks"].as_array().unwrap().len(), 0);
}

#[test]
fn a_stretch_that_cannot_be_is_named() {
    let pool = pool("stretch");
    let server = serve(&pool);
    for (query, text) in [
        ("", "from is missing"),
        ("?from=1", "to is missing"),
        ("?from=x&to=2", "from = \"x\""),
        ("?from=3&to=2", "from = 3 is after to = 2"),
    ] {
        let answer = get(&format!("/api/v1/pools/1/served{query}")).to(&server);
        assert_eq!((answer.status, &*answer.code()), (400, "bad_query"));
        assert!(
            answer.body.contains(&text.replace('"', "\\\"")),
            "{}",
            answer.body
        );
    }
}

#[test]
fn what_watching_costs_is_told_of_a_pool() {
    let pool = levelled(Some(100));
    let server = serve(&pool);
    for _ in 0..20 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    let cost = get("/api/v1/snapshot?page=pool&pool=1").to(&server).json()["cost"].clone();
    let nanoseconds = |field: &str| cost[field].as_f64().unwrap_or_else(|| panic!("{cost}"));
    assert!(
        nanoseconds("statistics") > 0.0 && nanoseconds("recorder") > 0.0,
        "{cost}"
    );
    let overview = get("/api/v1/snapshot").to(&server).json()["cost"].clone();
    assert!(overview["statistics"].is_null(), "{overview}");
}

#[test]
fn the_files_of_the_page_are_sent_compressed_to_who_takes_it() {
    let pool = pool("packed");
    let server = builder(&pool).serve().unwrap();
    let page = get("/").to(&server).body;
    let script = page.split('"').find(|part| part.ends_with("/app.js")).unwrap();
    let path = format!("/{}", script.trim_start_matches("./"));
    let plain = get(&path).to(&server);
    assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
    assert!(plain.body.starts_with("// The page"));
    let packed = get(&path)
        .with("accept-encoding", "gzip, br")
        .with("connection", "close")
        .to(&server);
    assert_eq!(
        (packed.status, packed.header("content-encoding")),
        (200, Some("gzip"))
    );
    assert_eq!(packed.header("vary"), Some("accept-encoding"));
    let length: usize = packed.header("content-length").unwrap().parse().unwrap();
    assert!(length < plain.body.len() / 2, "{length}");
}
