//! Ten thousand connections at once, in a process of their own: its memory and its descriptors are measured.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "the other tests need the rest")]
#[path = "http/support.rs"]
mod support;

use punctual::{Pool, Schedule};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Beyond what the server takes: it is 512 unless it is set.
const MANY: usize = 10_000;

/// What the process needs beside them: the server's own ends, and all the rest.
const OTHERS: usize = 1_000;

/// Fault 35 of the list: all of them at once, as far as the system lets one process have so many descriptors.
#[test]
fn fault_35_ten_thousand_connections_leave_the_pool_alone() {
    let room = descriptors();
    let many = MANY.min(room.saturating_sub(OTHERS));
    assert!(many > 1_024, "{room} descriptors are too few to be a flood");
    let pool = Pool::builder("flood").core_threads(2).build().unwrap();
    let server = support::serve(&pool);
    let timer = pool
        .schedule(Schedule::every(Duration::from_millis(5)), |_| ())
        .unwrap();
    let before = resident();
    let begin = Instant::now();
    let mut held = Vec::new();
    while held.len() < many {
        // Who is not accepted fast enough is refused, and comes again.
        held.extend(TcpStream::connect(server.address()));
        assert!(begin.elapsed() < support::LONG, "{} of {many}", held.len());
    }
    pool.submit(|| ()).unwrap().join().unwrap();
    // Timers went on, all the while; the limit is wide, as the machine may be busy with all sorts of things.
    let late = pool.stats().lateness.quantile(0.99).unwrap();
    assert!(late < Duration::from_millis(250), "{late:?}");
    assert!(timer.stats().runs > 0);
    let grown = resident().saturating_sub(before);
    let took = begin.elapsed();
    println!("{many} connections in {took:?}: {grown} bytes, timers late by {late:?}");
    assert!(grown < 64 << 20, "grown by {grown} bytes");
    drop(held);
    support::until(
        || {
            let ask = support::get("/api/v1/snapshot").bytes(&server.address().to_string());
            support::send(server.address(), &ask).is_some_and(|answer| answer.status == 200)
        },
        "it answers again",
    );
}

/// As many descriptors as the process may have.
fn descriptors() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    let allowed = getrlimit(Resource::Nofile).current;
    allowed.map_or(usize::MAX, |allowed| {
        usize::try_from(allowed).unwrap_or(usize::MAX)
    })
}

/// Bytes of this process in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages = text.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
    pages * 4096
}
