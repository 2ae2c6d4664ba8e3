//! The router inside an application of somebody else's, below a path.

use crate::support::{Answer, Ask, TOKEN, builder, get, pool, post, send};
use axum::Router;
use std::net::SocketAddr;

/// Serves it with axum's own server until the process ends.
fn application(router: Router) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new()
        .nest("/ops/pools", router)
        .route("/", axum::routing::get(|| async { "the application" }));
    std::thread::spawn(move || {
        // Without a timer: the router must not need one.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
    });
    address
}

fn ask(address: SocketAddr, ask: &Ask) -> Answer {
    send(address, &ask.bytes(&address.to_string())).unwrap()
}

#[test]
fn it_is_closed_and_read_only_unless_it_is_opened() {
    let pool = pool("mounted");
    let address = application(builder(&pool).router().unwrap());
    assert_eq!(ask(address, &get("/")).body, "the application");
    assert_eq!(ask(address, &get("/ops/pools/api/v1/snapshot")).status, 401);
    assert_eq!(ask(address, &get("/ops/pools/metrics")).status, 401);
    let snapshot = ask(address, &get("/ops/pools/api/v1/snapshot").token());
    assert_eq!(snapshot.json()["pools"][0]["name"], "mounted");
    let change = ask(address, &post("/ops/pools/api/v1/pools/1/pause", "").token());
    assert_eq!((change.status, &*change.code()), (403, "read_only"));
    assert_eq!(
        ask(address, &get("/ops/pools").with("host", "evil.test")).status,
        421
    );
}

#[test]
fn it_works_below_a_path_with_relative_addresses_only() {
    let pool = pool("below");
    let address = application(
        builder(&pool)
            .open_reads(true)
            .read_only(false)
            .hosts(["app.example"])
            .router()
            .unwrap(),
    );
    let without = ask(address, &get("/ops/pools?token=abc"));
    assert_eq!(
        (without.status, without.header("location")),
        (307, Some("pools/page?token=abc"))
    );
    let page = ask(
        address,
        &get(&format!("/ops/pools/page?token={TOKEN}")).with("host", "app.example"),
    );
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("data-may-act=\"yes\""));
    for attribute in ["src=\"", "href=\"", "action=\""] {
        for (index, _) in page.body.match_indices(attribute) {
            let rest = &page.body[index + attribute.len()..];
            assert!(
                rest.starts_with("assets/") || rest.starts_with("session"),
                "{}",
                &rest[..40.min(rest.len())]
            );
        }
    }
    assert!(
        !page
            .header("set-cookie")
            .unwrap()
            .to_lowercase()
            .contains("path="),
        "the folder is the browser's to know"
    );
    let change = ask(
        address,
        &post("/ops/pools/api/v1/pools/1/resize", "{\"core\":2,\"max\":2}").token(),
    );
    assert_eq!(change.status, 200, "{change:?}");
    assert_eq!(pool.stats().size.core, 2);
    assert_eq!(
        ask(address, &post("/ops/pools/api/v1/pools/1/resize", "{").token()).status,
        400
    );
}

/// What the form of the door does: it sends the token, and the browser goes where the answer says.
#[test]
fn a_token_that_is_handed_in_below_a_path_leads_to_the_page() {
    let pool = pool("door");
    let address = application(builder(&pool).router().unwrap());
    let door = ask(address, &get("/ops/pools/page"));
    assert_eq!(door.status, 401);
    let form = post("/ops/pools/session", &format!("token={TOKEN}"))
        .without("content-type")
        .without("x-punctual")
        .with("content-type", "application/x-www-form-urlencoded");
    let handed_in = ask(address, &form);
    assert_eq!(handed_in.status, 303, "{handed_in:?}");
    // Relative to the folder of the form's address, as browsers take it.
    let next = format!("/ops/pools/{}", handed_in.header("location").unwrap());
    let cookie = handed_in.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let page = ask(address, &get(&next).with("cookie", cookie));
    assert_eq!(page.status, 200, "{next}: {page:?}");
    assert!(page.body.contains("data-may-act"));
}
