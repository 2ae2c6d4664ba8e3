//! The stream: frames come by themselves, carry on where a client left off, and end.

use crate::support::{builder, connect, get, pool, serve, until};
use punctual::{Pool, Queue};
use punctual_dash::Server;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// A client that reads events.
pub(crate) struct Listener {
    lines: BufReader<TcpStream>,
    bytes: usize,
}

impl Listener {
    pub(crate) fn new(server: &Server, path: &str, last: Option<u64>) -> Listener {
        let mut stream = connect(server.address());
        let ask = last.map_or(get(path), |last| {
            get(path).with("last-event-id", &last.to_string())
        });
        stream
            .write_all(&ask.bytes(&server.address().to_string()))
            .unwrap();
        Listener {
            lines: BufReader::new(stream),
            bytes: 0,
        }
    }

    /// What the last frame took.
    pub(crate) fn last_bytes(&self) -> usize {
        self.bytes
    }

    /// The next event: its number and its frame. `None`: the stream has ended.
    pub(crate) fn next(&mut self) -> Option<(u64, Value)> {
        let mut id = None;
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.trim().parse().ok();
            } else if let Some(data) = line.strip_prefix("data: ") {
                self.bytes = line.len();
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
    let (two, third) = tab.next().unwrap();
    // What seldom changes is not sent again.
    assert!(first["detail"]["advice"].is_string() && first["detail"]["lints"].is_array());
    assert!(third["detail"]["advice"].is_null() && third["detail"]["lints"].is_null());
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
    // With levels, a recorder, and workers that are at something: everything that a frame can have.
    let pool = Pool::builder("small")
        .core_threads(4)
        .queue(Queue::priority(1_000))
        .recorder(1_000)
        .build()
        .unwrap();
    let holds: Vec<_> = (0..4)
        .map(|n| {
            let (hold, held) = std::sync::mpsc::channel::<()>();
            let (begin, begun) = std::sync::mpsc::channel();
            let task = pool.task(move || {
                begin.send(()).unwrap();
                let _ = held.recv();
            });
            task.name(format!("running number {n}")).execute().unwrap();
            begun.recv().unwrap();
            hold
        })
        .collect();
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
    assert!(bytes <= 4 * 1024, "{bytes} bytes: {frame}");
    let listed = frame["detail"]["queued"].as_array().unwrap().len();
    assert!(handles.len() == 500 && listed >= 4, "{listed} of them");
    drop(holds);
    let mut overview = Listener::new(&server, "/api/v1/stream", None);
    overview.next().unwrap();
    let bytes = overview.next().unwrap().1.to_string().len();
    assert!(bytes < 4 * 1024, "{bytes} bytes");
}

#[test]
fn a_frame_of_a_busy_pool_is_small_too() {
    let pool = Pool::builder("busy with many orders")
        .core_threads(4)
        .queue(Queue::priority(100))
        .recorder(10_000)
        .build()
        .unwrap();
    let server = serve(&pool);
    let mut tab = Listener::new(&server, "/api/v1/stream?page=pool&pool=1", None);
    tab.next().unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        // Tasks of several names and levels, one after the other and never none; most of them find the queue full.
        threads.spawn(|| {
            let mut turn = 0_usize;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                turn += 1;
                let name = ["refresh the orders", "send a mail", "write a report"][turn % 3];
                let nap = move || std::thread::sleep(std::time::Duration::from_millis(1 + turn as u64 % 5));
                let task = pool
                    .task(nap)
                    .name(name)
                    .priority(punctual::Priority::level(turn as u8 % 4));
                if task.submit().is_err() {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            }
        });
        let frames: Vec<Value> = (0..5).filter_map(|_| Some(tab.next()?.1)).collect();
        // Before anything can fail.
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(frames.len(), 5);
        for frame in frames {
            let bytes = frame.to_string().len();
            let parts: Vec<_> = frame["detail"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, part)| (name, part.to_string().len()))
                .collect();
            assert!(bytes <= 4 * 1024, "{bytes} bytes: {parts:?} {frame}");
        }
    });
}
