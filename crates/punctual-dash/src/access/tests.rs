//! Every rule, by a table of requests.

use super::*;
use axum::http::HeaderValue;

const TOKEN: &str = "0123456789abcdef-token";

fn rules(reads_need_token: bool, read_only: bool) -> Rules {
    Rules {
        hosts: Hosts::of_loopback("127.0.0.1:7000".parse().unwrap(), &["dash.test".into()]),
        token: Token::chosen(TOKEN).unwrap(),
        reads_need_token,
        read_only,
    }
}

fn ask(rules: &Rules, method: Method, path: &str, with: &[(&'static str, &str)]) -> u16 {
    let mut headers = HeaderMap::new();
    if !with.iter().any(|(name, _)| *name == "host") {
        headers.insert("host", HeaderValue::from_static("127.0.0.1:7000"));
    }
    for (name, value) in with {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    let uri: Uri = path.parse().unwrap();
    match rules.check(Ask::of(&method, path), &uri, &headers) {
        Ok(()) => 200,
        Err(refusal) => refusal.status.as_u16(),
    }
}

#[test]
fn names_of_the_host_are_exact() {
    let rules = rules(false, false);
    let answers = [
        ("127.0.0.1:7000", 200),
        ("LOCALHOST:7000", 200),
        ("[::1]:7000", 200),
        ("dash.test", 200),
        ("127.0.0.1", 421),
        ("127.0.0.1:7001", 421),
        ("evil.test:7000", 421),
        ("localhost.evil.test:7000", 421),
        ("", 421),
    ];
    for (host, expected) in answers {
        assert_eq!(
            ask(&rules, Method::GET, "/api/v1/snapshot", &[("host", host)]),
            expected,
            "{host}"
        );
    }
    let two = [("host", "127.0.0.1:7000"), ("host", "127.0.0.1:7000")];
    assert_eq!(ask(&rules, Method::GET, "/", &two), 421);
}

#[test]
fn a_mounted_router_answers_to_this_machine_and_its_list() {
    let hosts = Hosts::Mounted(vec!["app.example".into()]);
    for (host, expected) in [
        ("localhost", true),
        ("127.0.0.1:1", true),
        ("[::1]:99", true),
        ("app.example", true),
        ("app.example:81", false),
        ("localhost.evil", false),
        ("10.0.0.1", false),
    ] {
        assert_eq!(hosts.contains(host), expected, "{host}");
    }
    let arrived = Hosts::Arrived("10.0.0.7:80".parse().unwrap(), Vec::new());
    assert!(arrived.contains("10.0.0.7") && arrived.contains("10.0.0.7:80") && !arrived.contains("10.0.0.8"));
}

#[test]
fn foreign_pages_are_refused_whatever_they_ask() {
    let rules = rules(false, false);
    for path in ["/", "/api/v1/snapshot", "/metrics", "/assets/x/app.js"] {
        assert_eq!(
            ask(&rules, Method::GET, path, &[("origin", "http://evil.test")]),
            403,
            "{path}"
        );
        assert_eq!(
            ask(&rules, Method::GET, path, &[("origin", "null")]),
            403,
            "{path}"
        );
        assert_eq!(
            ask(&rules, Method::GET, path, &[("origin", "http://127.0.0.1:7000")]),
            200,
            "{path}"
        );
    }
    assert_eq!(
        ask(
            &rules,
            Method::GET,
            "/metrics",
            &[("sec-fetch-site", "cross-site")]
        ),
        403
    );
    assert_eq!(
        ask(
            &rules,
            Method::GET,
            "/metrics",
            &[("sec-fetch-site", "same-site")]
        ),
        403
    );
    assert_eq!(
        ask(&rules, Method::GET, "/", &[("sec-fetch-site", "cross-site")]),
        200
    );
}

#[test]
fn a_change_needs_token_and_header() {
    let rules = rules(false, false);
    let cookie = format!("a=b; {}={TOKEN}", rules.token.cookie_name());
    let bearer = format!("Bearer {TOKEN}");
    let post = |with: &[(&'static str, &str)]| ask(&rules, Method::POST, "/api/v1/pools/1/pause", with);
    assert_eq!(post(&[("x-punctual", "1")]), 401);
    assert_eq!(post(&[("cookie", &cookie)]), 403);
    assert_eq!(post(&[("cookie", &cookie), ("x-punctual", "1")]), 200);
    assert_eq!(post(&[("authorization", &bearer), ("x-punctual", "1")]), 200);
    assert_eq!(
        post(&[
            ("authorization", "Bearer 0123456789abcdef-tokem"),
            ("x-punctual", "1")
        ]),
        401
    );
    assert_eq!(
        post(&[
            ("authorization", &bearer),
            ("x-punctual", "1"),
            ("origin", "http://x")
        ]),
        403
    );
    let chunked = [
        ("authorization", &*bearer),
        ("x-punctual", "1"),
        ("transfer-encoding", "chunked"),
    ];
    assert_eq!(post(&chunked), 411);
    for method in [Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
        assert_eq!(Ask::of(&method, "/assets/x/app.js"), Ask::Write);
    }
}

#[test]
fn beyond_loopback_reads_need_it_too_and_changes_are_off() {
    let rules = rules(true, true);
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(ask(&rules, Method::GET, "/metrics", &[]), 401);
    assert_eq!(
        ask(&rules, Method::GET, "/metrics", &[("authorization", &bearer)]),
        200
    );
    let with = [("authorization", &*bearer), ("x-punctual", "1")];
    assert_eq!(ask(&rules, Method::POST, "/api/v1/pools/1/pause", &with), 403);
}

#[test]
fn tokens_are_whole_or_wrong() {
    let token = Token::chosen(TOKEN).unwrap();
    assert!(token.is(TOKEN));
    for wrong in [
        "",
        "0",
        "0123456789abcdef-toke",
        "0123456789abcdef-tokenn",
        "0123456789abcdef-Token",
    ] {
        assert!(!token.is(wrong), "{wrong}");
    }
    assert!(Token::chosen("short").is_err() && Token::chosen("spaces are not allowed here").is_err());
    let (one, two) = (Token::random().unwrap(), Token::random().unwrap());
    assert!(!one.is(two.text()) && one.text().len() == 32);
    assert!(!format!("{one:?}").contains(one.text()));
}
