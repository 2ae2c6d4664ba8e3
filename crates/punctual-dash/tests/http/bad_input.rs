//! What is wrong is answered with what is wrong, and changes nothing.

use crate::support::{Answer, connect, get, pool, post, send, serve};
use punctual_dash::{Dashboard, Server};
use std::io::Read;

fn raw(server: &Server, text: &str) -> Option<Answer> {
    let address = server.address();
    send(address, text.replace("HOST", &address.to_string()).as_bytes())
}

#[test]
fn json_that_is_none_is_named() {
    let pool = pool("json");
    let server = serve(&pool);
    let resize = |body: &str| post("/api/v1/pools/1/resize", body).token().to(&server);
    for body in [
        "{",
        "[]",
        "null",
        "{\"core\":1}",
        "{\"core\":1,\"max\":2,\"extra\":3}",
        "{\"core\":-1,\"max\":2}",
        "{\"core\":1.5,\"max\":2}",
        "{\"core\":\"1\",\"max\":2}",
        "{\"core\":99999999999999999999,\"max\":2}",
        "\u{0}",
    ] {
        let answer = resize(body);
        assert_eq!((answer.status, &*answer.code()), (400, "bad_json"), "{body}");
    }
    assert!(
        resize("{\"core\":1}").json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("max")
    );
    let plain = post("/api/v1/pools/1/resize", "{}")
        .without("content-type")
        .with("content-type", "text/plain");
    assert_eq!(plain.token().to(&server).status, 415);
    assert_eq!(pool.stats().size.core, 1);
}

#[test]
fn deep_json_is_an_error_not_a_crash() {
    let pool = pool("deep");
    let server = serve(&pool);
    let body = format!("{{\"core\":{}", "[".repeat(15_000));
    let answer = post("/api/v1/pools/1/resize", &body).token().to(&server);
    assert_eq!(answer.status, 400);
    let body = format!("{}{}", "[".repeat(8_000), "]".repeat(8_000));
    assert_eq!(
        post("/api/v1/pools/1/resize", &body).token().to(&server).status,
        400
    );
    assert_eq!(get("/api/v1/snapshot").to(&server).status, 200);
}

#[test]
fn a_large_body_is_refused() {
    let pool = pool("large");
    let server = serve(&pool);
    let answer = post("/api/v1/pools/1/resize", &" ".repeat(200_000))
        .token()
        .to(&server);
    assert_eq!((answer.status, &*answer.code()), (413, "body_too_large"));
    let form = post("/session", &"x".repeat(200_000)).to(&server);
    assert_eq!(form.status, 413);
}

#[test]
fn a_megabyte_of_headers_is_refused() {
    let pool = pool("heads");
    let server = serve(&pool);
    let one = format!(
        "GET / HTTP/1.1\r\nhost: HOST\r\nx: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    let many: String = (0..20_000).map(|n| format!("x-{n}: {n}\r\n")).collect();
    let many = format!("GET / HTTP/1.1\r\nhost: HOST\r\n{many}\r\n");
    let line = format!("GET /{} HTTP/1.1\r\nhost: HOST\r\n\r\n", "a".repeat(1 << 20));
    for text in [one, many, line] {
        // Closed without an answer is an answer too: not everybody reads while writing.
        if let Some(answer) = raw(&server, &text) {
            assert!((400..500).contains(&answer.status), "{answer:?}");
        }
        assert_eq!(get("/api/v1/snapshot").to(&server).status, 200);
    }
}

#[test]
fn two_lengths_are_refused() {
    let pool = pool("lengths");
    let server = serve(&pool);
    let head = "POST /api/v1/pools/1/pause HTTP/1.1\r\nhost: HOST\r\nx-punctual: 1\r\nauthorization: Bearer a-token-for-the-tests\r\n";
    let bodies = [
        "content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "transfer-encoding: chunked\r\n\r\nzz\r\n\r\n",
        "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "content-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "content-length: -1\r\n\r\n",
        "content-length: 99999999999999999999\r\n\r\n",
    ];
    for body in bodies {
        if let Some(answer) = raw(&server, &format!("{head}{body}")) {
            assert!((400..500).contains(&answer.status), "{body:?}: {answer:?}");
        }
    }
    assert!(!pool.stats().paused);
}

#[test]
fn what_is_no_request_is_closed() {
    let pool = pool("noise");
    let server = serve(&pool);
    for text in [
        "\u{0}\u{1}\u{2}\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nhost HOST\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        if let Some(answer) = raw(&server, text) {
            assert!((400..600).contains(&answer.status), "{text:?}: {answer:?}");
        }
    }
    // Half a request and then nothing: the other end is told at once.
    let mut half = connect(server.address());
    std::io::Write::write_all(&mut half, b"GET / HTTP/1.1\r\nho").unwrap();
    half.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    half.read_to_end(&mut rest).unwrap();
    assert_eq!(get("/api/v1/snapshot").to(&server).status, 200);
}

#[test]
fn numbers_and_names_in_paths_are_checked() {
    let pool = pool("paths");
    let server = serve(&pool);
    let not_found = [
        "/api/v1/pools/0/tasks",
        "/api/v1/pools/x/tasks",
        "/api/v1/pools/99999999999999999999/dump",
        "/api/v1/pools/1/schedules/7/upcoming",
        "/api/v2/snapshot",
        "/..%2f..%2fetc/passwd",
        "/assets/x/../../Cargo.toml",
    ];
    for path in not_found {
        assert_eq!(get(path).to(&server).status, 404, "{path}");
    }
    for path in [
        "/api/v1/snapshot?page=none",
        "/api/v1/snapshot?page=pool",
        "/api/v1/snapshot?page=pool&pool=x",
        "/api/v1/snapshot?since=x",
        "/api/v1/pools/1/preview?core=1",
        "/api/v1/pools/1/history?seconds=-1",
        "/api/v1/pools/1/tasks?most=x",
    ] {
        assert_eq!(get(path).to(&server).status, 400, "{path}");
    }
    assert_eq!(
        post("/api/v1/pools/1/tasks/12345678/cancel", "")
            .token()
            .to(&server)
            .status,
        404
    );
}

#[test]
fn names_with_markup_are_text_in_the_page_and_in_json() {
    let name = "</script><img src=x onerror=alert(1)>\"'&\u{2028}\n";
    let pool = pool(name);
    let server = serve(&pool);
    let page = get("/").to(&server).body;
    assert!(!page.contains("<img src=x"), "{page}");
    assert!(page.contains("&lt;img src=x"), "{page}");
    let json = get("/api/v1/snapshot").to(&server);
    assert_eq!(json.header("content-type"), Some("application/json"));
    assert_eq!(json.json()["pools"][0]["name"], name);
    assert_eq!(json.body.lines().count(), 1, "an event of the stream is one line");
}

#[test]
fn settings_that_cannot_be_are_named() {
    let wrong = [
        (Dashboard::builder().token("short"), "token"),
        (Dashboard::builder().token("with spaces and more"), "token"),
        (Dashboard::builder().hosts(["http://x/"]), "hosts"),
        (Dashboard::builder().hosts([""]), "hosts"),
        (Dashboard::builder().max_streams(0), "max_streams"),
        (Dashboard::builder().max_connections(0), "max_connections"),
        (Dashboard::from_dump("{"), "dump"),
        (Dashboard::from_dump("{}"), "dump"),
    ];
    for (builder, setting) in wrong {
        let error = builder.build().unwrap_err();
        assert_eq!(error.setting(), setting, "{error}");
        assert!(
            !error.to_string().contains("with spaces"),
            "a token is not told: {error}"
        );
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = Dashboard::builder()
        .bind(taken.local_addr().unwrap())
        .serve()
        .unwrap_err();
    assert_eq!(error.setting(), "bind");
    assert!(std::error::Error::source(&error).is_some());
}
