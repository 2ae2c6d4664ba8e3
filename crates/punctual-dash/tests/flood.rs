//! Ten thousand connections, in a process of their own: its memory is measured.

#[allow(dead_code, reason = "the other tests need the rest")]
#[path = "http/support.rs"]
mod support;

use std::net::TcpStream;
use std::time::Instant;

/// Fault 35 of the list: ten thousand connections, most of them at once as far as the system lets them.
#[test]
fn ten_thousand_connections_leave_the_pool_alone() {
    let pool = support::pool("flood");
    let server = support::serve(&pool);
    let before = resident();
    let begin = Instant::now();
    let mut held = Vec::new();
    for _ in 0..10_000 {
        match TcpStream::connect(server.address()) {
            Ok(stream) => held.push(stream),
            // Our own end has no more descriptors: give some back, and go on.
            Err(_) => held.truncate(held.len() / 2),
        }
        if held.len() >= 400 {
            held.drain(..200);
        }
    }
    pool.submit(|| ()).unwrap().join().unwrap();
    drop(held);
    support::until(
        || {
            let ask = support::get("/api/v1/snapshot").bytes(&server.address().to_string());
            support::send(server.address(), &ask).is_some_and(|answer| answer.status == 200)
        },
        "it answers again",
    );
    let grown = resident().saturating_sub(before);
    assert!(
        grown < 64 << 20,
        "grown by {grown} bytes in {:?}",
        begin.elapsed()
    );
}

/// Bytes of this process in memory; 0 where the system does not tell.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
