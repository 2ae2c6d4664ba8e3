//! The stream: frames come by themselves, carry on where a client left off, and end.

use crate::support::{builder, connect, get, pool, serve, until};
use punctual::{Pool, Queue};
use punctual_dash::Server;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// A client that reads events.
struct Listener {
    lines: BufReader<TcpStream>,
}

impl Listener {
    fn new(server: &Server, path: &str, last: Option<u64>) -> Listener {
        let mut stream = connect(server.address());
        let ask = last.map_or(get(path), |last| {
            get(path).with("last-event-id", &last.to_string())
        });
        stream
            .write_all(&ask.bytes(&server.address().to_string()))
            .unwrap();
        Listener {
            lines: BufReader::new(stream),
        }
    }

    /// The next event: its number and its frame. `None`: the stream has ended.
    fn next(&mut self) -> Option<(u64, Value)> {
        let mut id = None;
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.trim().parse().ok();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((id?, serde_json::from_str(data).unwrap()));
            }
        }
    }
}

#[test]
fn the_first_frame_comes_at_once_and_more_follow() {
    let pool = pool("beats");
    let server = serve(&pool);
    let mut tab = Listener::new(&server, "/api/v1/stream?page=pool&pool=1", None);
    let (_, first) = tab.next().unwrap();
    assert_eq!(
        (&first["first"], &first["pools"][0]["name"]),
        (&true.into(), &"beats".into())
    );
    let (one, frame) = tab.next().unwrap();
    let (two, _) = tab.next().unwrap();
    assert!(two > one && frame["first"] == false);
    assert!(
        (500..5_000).contains(&(two - one)),
        "one a second, {} ms",
        two - one
    );
    pool.pause();
    pool.execute(|| ()).unwrap();
    until(
        || tab.next().unwrap().1["pools"][0]["queued"] == 1,
        "the page sees what changes",
    );
}

#[test]
fn a_client_that_comes_back_is_sent_what_it_missed_only() {
    let pool = pool("missed");
    let server = serve(&pool);
    until(
        || {
            get("/api/v1/pools/1/history").to(&server).json()["rows"]
                .as_array()
                .unwrap()
                .len()
                >= 3
        },
        "three rows",
    );
    let rows = get("/api/v1/pools/1/history").to(&server).json()["rows"].clone();
    let seen = rows[1][0].as_u64().unwrap();
    let path = "/api/v1/stream?page=pool&pool=1";
    for mut tab in [
        Listener::new(&server, path, Some(seen)),
        Listener::new(&server, &format!("{path}&since={seen}"), None),
    ] {
        let (_, frame) = tab.next().unwrap();
        let sent = frame["detail"]["rows"].as_array().unwrap();
        assert!(
            !sent.is_empty() && sent.iter().all(|row| row[0].as_u64().unwrap() > seen),
            "{frame}"
        );
    }
    let mut fresh = Listener::new(&server, path, None);
    assert!(
        fresh.next().unwrap().1["detail"]["rows"]
            .as_array()
            .unwrap()
            .len()
            >= 3
    );
}

#[test]
fn there_are_only_so_many_streams_and_a_closed_one_makes_room() {
    let pool = pool("crowd");
    let server = builder(&pool).max_streams(2).serve().unwrap();
    let path = "/api/v1/stream";
    let mut tabs: Vec<Listener> = (0..2).map(|_| Listener::new(&server, path, None)).collect();
    tabs.iter_mut().for_each(|tab| drop(tab.next().unwrap()));
    let mut refused = connect(server.address());
    refused
        .write_all(&get(path).bytes(&server.address().to_string()))
        .unwrap();
    let mut begin = [0; 12];
    std::io::Read::read_exact(&mut refused, &mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 503");
    assert_eq!(
        get("/api/v1/snapshot").to(&server).status,
        200,
        "who asks once is answered"
    );
    tabs.pop();
    // It is noticed with the next frame, or by the next who comes.
    until(
        || Listener::new(&server, path, None).next().is_some(),
        "there is room again",
    );
}

#[test]
fn streams_end_with_the_server() {
    let pool = pool("ends");
    let server = serve(&pool);
    let mut tab = Listener::new(&server, "/api/v1/stream", None);
    assert!(tab.next().is_some());
    server.shutdown();
    while tab.next().is_some() {}
}

#[test]
fn a_frame_of_a_pool_is_small() {
    let pool = Pool::builder("small")
        .core_threads(1)
        .queue(Queue::bounded(1_000))
        .build()
        .unwrap();
    pool.pause();
    let submit = |n| {
        pool.task(|| ())
            .name(format!("task number {n}"))
            .submit()
            .unwrap()
    };
    let handles: Vec<_> = (0..500).map(submit).collect();
    let server = serve(&pool);
    let mut tab = Listener::new(&server, "/api/v1/stream?page=pool&pool=1", None);
    tab.next().unwrap();
    let (_, frame) = tab.next().unwrap();
    let bytes = frame.to_string().len();
    assert!(bytes < 6 * 1024, "{bytes} bytes: {frame}");
    assert_eq!(handles.len(), 500);
    let mut overview = Listener::new(&server, "/api/v1/stream", None);
    overview.next().unwrap();
    let bytes = overview.next().unwrap().1.to_string().len();
    assert!(bytes < 4 * 1024, "{bytes} bytes");
}
