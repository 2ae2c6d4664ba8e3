//! Every route x {no token, wrong Host, foreign Origin, GET for a change}: refused, and nothing happens.

use crate::support::{Ask, TOKEN, builder, get, pool, post, serve};
use punctual::{Pool, Schedule};
use punctual_dash::Server;
use std::collections::BTreeSet;
use std::time::Duration;

/// Everything that is read; numbers are those of the pool, task and schedule of [`furnished`].
const READS: [&str; 15] = [
    "/",
    "/page",
    "/metrics",
    "/api/v1/snapshot",
    "/api/v1/stream",
    "/api/v1/dump",
    "/api/v1/pools/1/history",
    "/api/v1/pools/1/tasks",
    "/api/v1/pools/1/rejects",
    "/api/v1/pools/1/bars?since=0",
    "/api/v1/pools/1/advice",
    "/api/v1/pools/1/served?from=1&to=2",
    "/api/v1/pools/1/preview?core=1&max=2",
    "/api/v1/pools/1/dump",
    "/api/v1/pools/1/schedules/SCHEDULE/upcoming",
];

/// Everything that changes something, with its body.
const WRITES: [(&str, &str); 8] = [
    ("/api/v1/pools/1/resize", r#"{"core":3,"max":3}"#),
    ("/api/v1/pools/1/pause", ""),
    ("/api/v1/pools/1/resume", ""),
    ("/api/v1/pools/1/tasks/TASK/cancel", ""),
    ("/api/v1/pools/1/tasks/TASK/run-next", ""),
    ("/api/v1/pools/1/schedules/SCHEDULE/run", ""),
    ("/api/v1/pools/1/schedules/SCHEDULE/pause", ""),
    ("/api/v1/pools/1/schedules/SCHEDULE/resume", ""),
];

struct Furnished {
    pool: Pool,
    server: Server,
    task: punctual::TaskHandle<()>,
    schedule: punctual::ScheduleHandle,
}

/// A paused pool with a waiting task and a schedule.
fn furnished(is_read_only: bool) -> Furnished {
    let pool = pool("guarded");
    pool.pause();
    let task = pool.task(|| ()).name("waiting").submit().unwrap();
    let later = Schedule::every(Duration::from_secs(3600)).starting_in(Duration::from_secs(3600));
    let schedule = pool.schedule(later, |_| ()).unwrap();
    let server = builder(&pool).read_only(is_read_only).serve().unwrap();
    Furnished {
        pool,
        server,
        task,
        schedule,
    }
}

impl Furnished {
    fn path(&self, path: &str) -> String {
        path.replace("TASK", &self.task.task_ref().id().to_string())
            .replace("SCHEDULE", &self.schedule.id().to_string())
    }

    fn writes(&self) -> impl Iterator<Item = Ask> + '_ {
        WRITES.iter().map(|(path, body)| post(&self.path(path), body))
    }

    fn reads(&self) -> impl Iterator<Item = Ask> + '_ {
        READS.iter().map(|path| get(&self.path(path)))
    }

    /// Nothing that any of the changes would have done has been done.
    fn is_untouched(&self) {
        let stats = self.pool.stats();
        assert_eq!(
            (stats.size.core, stats.paused, stats.queued, stats.cancelled),
            (1, true, 1, 0)
        );
        assert!(!self.schedule.is_paused());
        assert_eq!(self.schedule.stats().runs, 0);
    }
}

/// A route that is added and not listed above is noticed; the two beside the lists have their own lines in the tests.
#[test]
fn fault_34_every_route_is_asked() {
    let listed = READS.iter().copied().chain(WRITES.iter().map(|(path, _)| *path));
    let asked = listed.chain(["/assets/{version}/{name}", "/session"]);
    let general = |path: &str| {
        let path = path.split('?').next().unwrap();
        path.replace("/1/", "/{pool}/")
            .replace("TASK", "{id}")
            .replace("SCHEDULE", "{id}")
    };
    let asked: BTreeSet<String> = asked.map(general).collect();
    let source = include_str!("../../src/routes.rs");
    let routes = source.split(".route(").skip(1);
    let there: BTreeSet<String> = routes
        .map(|piece| piece.split('"').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(asked, there);
}

#[test]
fn no_change_without_the_token() {
    let it = furnished(false);
    for ask in it.writes() {
        let answer = ask.to(&it.server);
        assert_eq!((answer.status, &*answer.code()), (401, "no_token"), "{ask:?}");
        let wrong = ask.with("authorization", "Bearer another-token-altogether");
        assert_eq!(wrong.to(&it.server).status, 401, "{wrong:?}");
    }
    it.is_untouched();
}

#[test]
fn no_change_without_the_header_that_foreign_pages_cannot_send() {
    let it = furnished(false);
    for ask in it.writes() {
        let ask = ask.token().without("x-punctual");
        let answer = ask.to(&it.server);
        assert_eq!(
            (answer.status, &*answer.code()),
            (403, "no_action_header"),
            "{ask:?}"
        );
    }
    it.is_untouched();
}

#[test]
fn a_wrong_host_is_refused_by_every_route() {
    let it = furnished(false);
    let port = it.server.address().port();
    let foreign = [
        format!("evil.test:{port}"),
        "evil.test".into(),
        "127.0.0.1:1".into(),
        String::new(),
    ];
    for host in &foreign {
        for ask in it.reads().chain(it.writes()).chain([
            get("/assets/x/app.js"),
            get("/nothing"),
            post("/session", "x"),
        ]) {
            let ask = ask.token().with("host", host);
            let answer = ask.to(&it.server);
            assert_eq!((answer.status, &*answer.code()), (421, "wrong_host"), "{ask:?}");
        }
    }
    it.is_untouched();
}

#[test]
fn a_foreign_origin_is_refused_by_every_route() {
    let it = furnished(false);
    for origin in ["http://evil.test", "null", "https://127.0.0.1", "file://"] {
        for ask in it.reads().chain(it.writes()).chain([get("/assets/x/app.js")]) {
            let ask = ask.token().with("origin", origin);
            let answer = ask.to(&it.server);
            assert_eq!(
                (answer.status, &*answer.code()),
                (403, "foreign_origin"),
                "{ask:?}"
            );
        }
    }
    // Only a form without an origin, which no referrer policy leaves it, may hand in a token.
    for (origin, status) in [("http://evil.test", 403), ("null", 401)] {
        assert_eq!(
            post("/session", "x").with("origin", origin).to(&it.server).status,
            status
        );
    }
    for ask in it.writes() {
        let ask = ask.token().with("sec-fetch-site", "cross-site");
        assert_eq!(ask.to(&it.server).status, 403, "{ask:?}");
    }
    it.is_untouched();
}

#[test]
fn a_change_is_not_made_by_looking() {
    let it = furnished(false);
    for method in ["GET", "HEAD"] {
        for ask in it.writes().chain([post("/session", "x")]) {
            let ask = ask.token().method(method);
            assert_eq!(ask.to(&it.server).status, 405, "{ask:?}");
        }
    }
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
        for ask in it.writes().chain(it.reads()) {
            let ask = ask.token().with("x-punctual", "1").method(method);
            assert_eq!(ask.to(&it.server).status, 405, "{ask:?}");
        }
    }
    it.is_untouched();
}

#[test]
fn read_only_refuses_every_change_from_whoever() {
    let it = furnished(true);
    for ask in it.writes() {
        let ask = ask.token();
        let answer = ask.to(&it.server);
        assert_eq!((answer.status, &*answer.code()), (403, "read_only"), "{ask:?}");
    }
    it.is_untouched();
    assert!(
        get("/")
            .token()
            .to(&it.server)
            .body
            .contains("data-read-only=\"yes\"")
    );
}

#[test]
fn with_everything_right_each_change_is_made() {
    let it = furnished(false);
    let origin = format!("http://{}", it.server.address());
    for ask in it.writes() {
        let ask = ask
            .token()
            .with("origin", &origin)
            .with("sec-fetch-site", "same-origin");
        let answer = ask.to(&it.server);
        // Resumed in between, the task may have run: then it is too late for it, or it is not found.
        assert!(matches!(answer.status, 200 | 404 | 409), "{ask:?}: {answer:?}");
    }
    assert_eq!(it.pool.stats().size.core, 3);
}

#[test]
fn beyond_loopback_nothing_is_shown_without_the_token() {
    let pool = pool("public");
    let bound = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
    let server = builder(&pool).bind(bound).serve().unwrap();
    let here = std::net::SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    let ask = |ask: Ask| crate::support::send(here, &ask.bytes(&here.to_string())).unwrap();
    for path in READS {
        let answer = ask(get(path));
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.body.contains("public"), "{path} tells a name");
    }
    assert_eq!(ask(get("/metrics").token()).status, 200);
    let with_token = ask(get(&format!("/?token={TOKEN}")));
    assert_eq!(with_token.status, 200);
    let cookie = with_token.header("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(ask(get("/api/v1/snapshot").with("cookie", pair)).status, 200);
    let change = ask(post("/api/v1/pools/1/pause", "").token());
    assert_eq!(
        (change.status, &*change.code()),
        (403, "read_only"),
        "off unless asked for"
    );
    // By the name that a browser on another machine would use, were it rebound.
    assert_eq!(
        ask(get("/metrics")
            .token()
            .with("host", &format!("evil.test:{}", here.port())))
        .status,
        421
    );
}

#[test]
fn the_form_takes_the_token_and_nothing_else() {
    let pool = pool("door");
    let server = builder(&pool).open_reads(false).serve().unwrap();
    let door = get("/").to(&server);
    assert_eq!(door.status, 401);
    assert!(door.body.contains("action=\"session\""), "{}", door.body);
    let hand_in = |token: &str| {
        let form = post("/session", &format!("token={token}"));
        form.without("content-type")
            .with("content-type", "application/x-www-form-urlencoded")
            .to(&server)
    };
    assert_eq!(hand_in("wrong-wrong-wrong-wrong").status, 401);
    let good = hand_in(TOKEN);
    assert_eq!((good.status, good.header("location")), (303, Some("page")));
    let pair = good
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let page = get("/").with("cookie", &pair).to(&server);
    assert!(page.body.contains("data-may-act=\"yes\""), "{}", page.body);
    assert_eq!(get(&format!("/?token=x{TOKEN}")).to(&server).status, 401);
}

#[test]
fn every_answer_carries_the_headers_that_protect_the_page() {
    let pool = pool("headers");
    let server = serve(&pool);
    for (path, host) in [
        ("/", None),
        ("/api/v1/snapshot", None),
        ("/nothing", None),
        ("/", Some("evil.test")),
    ] {
        let ask = host.map_or(get(path), |host| get(path).with("host", host));
        let answer = ask.to(&server);
        let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
        assert_eq!(answer.header("content-security-policy"), Some(policy));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        for header in ["cross-origin-resource-policy", "cross-origin-opener-policy"] {
            assert_eq!(answer.header(header), Some("same-origin"));
        }
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let page = get("/").to(&server).body;
    let begin = page.find("assets/").unwrap();
    let style = &page[begin..begin + page[begin..].find('"').unwrap()];
    let asset = get(&format!("/{style}")).to(&server);
    assert_eq!(
        asset.header("cache-control"),
        Some("public, max-age=31536000, immutable")
    );
    assert_eq!(get("/assets/0000000000000000/app.js").to(&server).status, 404);
}
