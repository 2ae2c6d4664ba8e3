//! Every route, the guard in front of all of them, and the headers on every answer.
//!
//! In: requests. Out: pages, JSON, the stream. Paths are relative to wherever the router is mounted. The guard asks
//! [`crate::access`] before anything else is looked at; what is read is in `routes/read.rs`, what is changed in
//! `routes/write.rs`, bodies and queries are taken apart in `routes/input.rs`.

mod input;
mod read;
mod write;

use crate::access::{Ask, Refusal};
use crate::dashboard::{Shared, WayIn};
use crate::{assets, frame};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use std::sync::Arc;

/// No script but ours, no style but ours, nobody may frame it, nothing is loaded from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What the handlers know.
#[derive(Debug)]
pub(crate) struct App {
    shared: Arc<Shared>,
    way_in: WayIn,
    assets: String,
}

type Known = State<Arc<App>>;

pub(crate) fn router(shared: Arc<Shared>, way_in: WayIn) -> Router {
    let app = Arc::new(App {
        shared,
        way_in,
        assets: assets::version(),
    });
    let reads = Router::new()
        .route("/", get(read::page))
        .route("/page", get(read::page))
        .route("/assets/{version}/{name}", get(read::asset))
        .route("/metrics", get(read::metrics))
        .route("/api/v1/snapshot", get(read::snapshot))
        .route("/api/v1/stream", get(read::stream))
        .route("/api/v1/dump", get(read::loaded_dump))
        .route("/api/v1/pools/{pool}/history", get(read::history))
        .route("/api/v1/pools/{pool}/tasks", get(read::tasks))
        .route("/api/v1/pools/{pool}/rejects", get(read::rejects))
        .route("/api/v1/pools/{pool}/bars", get(read::bars))
        .route("/api/v1/pools/{pool}/advice", get(read::advice))
        .route("/api/v1/pools/{pool}/served", get(read::served))
        .route("/api/v1/pools/{pool}/preview", get(read::preview))
        .route("/api/v1/pools/{pool}/dump", get(read::dump))
        .route(
            "/api/v1/pools/{pool}/schedules/{id}/upcoming",
            get(read::upcoming),
        );
    let writes = Router::new()
        .route("/session", post(read::session))
        .route("/api/v1/pools/{pool}/resize", post(write::resize))
        .route("/api/v1/pools/{pool}/pause", post(write::pause))
        .route("/api/v1/pools/{pool}/resume", post(write::resume))
        .route("/api/v1/pools/{pool}/tasks/{id}/cancel", post(write::cancel))
        .route("/api/v1/pools/{pool}/tasks/{id}/run-next", post(write::run_next))
        .route("/api/v1/pools/{pool}/schedules/{id}/run", post(write::run_now))
        .route(
            "/api/v1/pools/{pool}/schedules/{id}/pause",
            post(write::pause_schedule),
        )
        .route(
            "/api/v1/pools/{pool}/schedules/{id}/resume",
            post(write::resume_schedule),
        );
    reads
        .merge(writes)
        .fallback(no_such_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(&app), guard))
        .with_state(app)
}

async fn guard(State(app): Known, request: Request, next: Next) -> Response {
    let ask = Ask::of(request.method(), request.uri().path());
    let checked = app.way_in.rules.check(ask, request.uri(), request.headers());
    let mut answer = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            if ask == Ask::Write {
                app.shared.audit.note_refused();
            }
            let mut answer = refusal.into_response();
            // What such a request still has to say is not listened to.
            answer
                .headers_mut()
                .insert(header::CONNECTION, HeaderValue::from_static("close"));
            answer
        }
    };
    protect(&mut answer);
    answer
}

fn protect(answer: &mut Response) {
    let headers = answer.headers_mut();
    let fixed: [(HeaderName, &'static str); 6] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let unless_said = headers.entry(header::CACHE_CONTROL);
    unless_said.or_insert(HeaderValue::from_static("no-store"));
}

async fn no_such_route() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "no_such_route",
        "there is nothing here; docs/dashboard-api.md lists what there is",
    )
}

async fn wrong_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "wrong_method",
        "what is read is asked for with GET, what is changed with POST",
    )
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: ErrorText<'a>,
}

#[derive(Serialize)]
struct ErrorText<'a> {
    code: &'a str,
    message: &'a str,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            error: ErrorText {
                code: self.code,
                message: &self.text,
            },
        };
        (
            self.status,
            [(header::CONTENT_TYPE, "application/json")],
            frame::json(&body),
        )
            .into_response()
    }
}

/// An answer in JSON.
fn json<T: Serialize>(value: &T) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, Body::from(frame::json(value))).into_response()
}
