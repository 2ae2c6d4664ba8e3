//! What strangers can make it hold is bounded, and does not touch the pools.

use crate::support::{builder, connect, get, pool, serve, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

#[test]
fn a_head_that_does_not_come_ends_the_connection() {
    let pool = pool("slow");
    let server = serve(&pool);
    let mut silent = connect(server.address());
    let mut dripping = connect(server.address());
    dripping.write_all(b"GET / HTTP/1.1\r\nhost: ").unwrap();
    // And one that was answered, and has nothing more to say.
    let mut kept = connect(server.address());
    kept.write_all(&get("/api/v1/snapshot").bytes(&server.address().to_string()))
        .unwrap();
    kept.read_exact(&mut [0; 12]).unwrap();
    for stream in [&mut silent, &mut dripping, &mut kept] {
        // A refusal may come first; then the end.
        let mut rest = Vec::new();
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(
                error.kind(),
                std::io::ErrorKind::ConnectionReset,
                "it is the server that ends it"
            );
        }
    }
    assert_eq!(get("/api/v1/snapshot").to(&server).status, 200);
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let pool = pool("slow");
    let server = serve(&pool);
    let mut stream = connect(server.address());
    let host = server.address();
    write!(stream, "POST /api/v1/pools/1/resize HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer a-token-for-the-tests\r\nx-punctual: 1\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{{\"core\":").unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert_eq!(pool.stats().size.core, 1);
}

#[test]
fn connections_beyond_the_limit_are_closed_and_the_others_served() {
    let pool = pool("crowd");
    let server = builder(&pool).max_connections(8).serve().unwrap();
    // A request that was answered: these are surely inside.
    let mut inside: Vec<TcpStream> = (0..8).map(|_| connect(server.address())).collect();
    let ask = get("/api/v1/snapshot").bytes(&server.address().to_string());
    for stream in &mut inside {
        stream.write_all(&ask).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    for _ in 0..200 {
        let mut beyond = connect(server.address());
        // It may be closed before this is written.
        let _ = beyond.write_all(&ask);
        let mut rest = Vec::new();
        let _ = beyond.read_to_end(&mut rest);
        assert!(rest.is_empty(), "closed without a word");
    }
    inside.clear();
    until(
        || crate::support::send(server.address(), &ask).is_some_and(|answer| answer.status == 200),
        "there is room again",
    );
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let pool = pool("deaf");
    let server = serve(&pool);
    let mut deaf = connect(server.address());
    let ask = get("/").bytes(&server.address().to_string());
    let begin = Instant::now();
    deaf.set_nonblocking(true).unwrap();
    // Pipelined requests whose answers nobody reads fill the way back: the connection ends within its patience.
    // Each try fills it as far as it goes; the next goes on in the middle of the request where this one stopped.
    let mut written = 0;
    let mut is_over = || loop {
        match deaf.write(&ask[written..]) {
            Ok(bytes) => written = (written + bytes) % ask.len(),
            Err(error) => break error.kind() != std::io::ErrorKind::WouldBlock,
        }
    };
    until(&mut is_over, "the server gives up on who does not read");
    assert!(begin.elapsed() < crate::support::LONG);
    assert_eq!(get("/api/v1/snapshot").to(&server).status, 200);
}
