//! What is looked at: the page, its files, figures, the stream.

use super::{App, Known, input, json};
use crate::access::Refusal;
use crate::detail;
use crate::frame::{self, RowJson};
use crate::page::{self, May};
use crate::served::{self, Stretch};
use crate::stream::{self, Topic};
use crate::tasks::{self as lists, RejectRow, TaskRow};
use crate::timeline::BarJson;
use crate::{assets, audit, history, schedules};
use axum::body::Body;
use axum::extract::{OriginalUri, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use punctual::prometheus;
use serde::Serialize;
use std::sync::atomic::Ordering::Acquire;
use std::time::SystemTime;

/// Points that a chart is given, however long a time it shows.
const MOST_POINTS: usize = 600;

/// The page; or, where a token is needed and there is none, the form for it.
pub(super) async fn page(
    State(app): Known,
    OriginalUri(asked): OriginalUri,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    // Relative addresses need the folder. Where the router is mounted at `/dash`, that is the whole address, and axum has
    // nothing at `/dash/`: the page is at `/dash/page` too. Said relatively, for whoever stands in between.
    let (_, last) = asked.path().rsplit_once('/').unwrap_or_default();
    if !last.is_empty() && uri.path() == "/" {
        let query = asked.query().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(place) = HeaderValue::from_str(&format!("{last}/page{query}")) {
            return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, place)]).into_response();
        }
    }
    let rules = &app.way_in.rules;
    let given = input::query(&asked, "token");
    let is_given = given.as_ref().is_some_and(|token| rules.token.is(token));
    if !is_given && !rules.may_read(&headers) {
        let html = page::door(&app.assets, given.is_some());
        return (StatusCode::UNAUTHORIZED, Html(html)).into_response();
    }
    let may = May {
        act: (is_given && !rules.read_only) || rules.may_act(&headers),
        is_read_only: rules.read_only,
    };
    let mut answer = Html(page::page(&app.shared, may, &app.assets)).into_response();
    if is_given {
        remember(&app, &mut answer);
    }
    answer
}

fn remember(app: &App, answer: &mut Response) {
    if let Ok(cookie) = HeaderValue::from_str(&app.way_in.rules.token.set_cookie()) {
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}

/// A token is handed in by the form.
pub(super) async fn session(State(app): Known, content: Body) -> Response {
    let bytes = match input::body(&app, content).await {
        Ok(bytes) => bytes,
        Err(refusal) => return refusal.into_response(),
    };
    let token = input::value(&String::from_utf8_lossy(&bytes), "token").unwrap_or_default();
    if !app.way_in.rules.token.is(&token) {
        return (StatusCode::UNAUTHORIZED, Html(page::door(&app.assets, true))).into_response();
    }
    // Where the router is mounted at a path, axum has nothing at that folder itself: see [`page`].
    let mut answer = (StatusCode::SEE_OTHER, [(header::LOCATION, "page")]).into_response();
    remember(&app, &mut answer);
    answer
}

pub(super) async fn asset(
    State(app): Known,
    Path((version, name)): Path<(String, String)>,
    asked: HeaderMap,
) -> Response {
    let Some(asset) = assets::find(&name).filter(|_| version == app.assets) else {
        return super::no_such_route().await.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::VARY, "accept-encoding"),
    ];
    if input::takes_gzip(&asked) {
        return (headers, [(header::CONTENT_ENCODING, "gzip")], asset.packed()).into_response();
    }
    (headers, asset.text).into_response()
}

/// The figures of all pools for Prometheus.
pub(super) async fn metrics(State(app): Known) -> Response {
    let entries = app.shared.registry.all();
    let text = prometheus::render(entries.iter().map(|entry| &entry.control));
    ([(header::CONTENT_TYPE, prometheus::CONTENT_TYPE)], text).into_response()
}

fn topic(app: &App, uri: &Uri) -> Result<Topic, Refusal> {
    match input::query(uri, "page").as_deref() {
        None | Some("overview") => Ok(Topic::Overview),
        Some("schedules") => Ok(Topic::Schedules),
        Some("audit") => Ok(Topic::Audit),
        Some("pool") => {
            let id: u64 = input::needed(uri, "pool")?;
            input::entry(app, &id.to_string()).map(|entry| Topic::Pool(entry.id))
        }
        Some(_) => {
            let text = "page is one of overview, pool (with pool=..), schedules, audit";
            Err(Refusal::new(StatusCode::BAD_REQUEST, "bad_query", text))
        }
    }
}

/// One frame.
pub(super) async fn snapshot(State(app): Known, uri: Uri) -> Result<Response, Refusal> {
    let topic = topic(&app, &uri)?;
    let since = input::number(&uri, "since")?.unwrap_or(0);
    Ok(json(&frame::first(&app.shared, topic, since)))
}

/// Frames without end.
pub(super) async fn stream(State(app): Known, uri: Uri, headers: HeaderMap) -> Result<Response, Refusal> {
    let topic = topic(&app, &uri)?;
    let last = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let since = match last {
        Some(last) => last,
        None => input::number(&uri, "since")?.unwrap_or(0),
    };
    let mut tries = 0;
    let feed = loop {
        tries += 1;
        let frame = frame::first(&app.shared, topic, since);
        let first = stream::event(frame.id, &frame::json(&frame));
        let feed = app.shared.hub.subscribe(topic, first);
        // A look between the two was told to those who listened already: once more, so that nothing is missing. They come
        // once a second; where that is too fast, a second of a chart may be.
        if app.shared.sampler.looked.load(Acquire) == frame.id || tries == 3 {
            break feed;
        }
    };
    let Some(feed) = feed else {
        let text = "as many tabs listen as may: close one, or raise max_streams";
        return Err(Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too_many_streams",
            text,
        ));
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // Proxies that collect answers before they pass them on.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::new(feed)).into_response())
}

/// The dump that the page was opened with.
pub(super) async fn loaded_dump(State(app): Known) -> Response {
    match &app.shared.settings.dump {
        Some(text) => ([(header::CONTENT_TYPE, "application/json")], text.to_string()).into_response(),
        None => super::no_such_route().await.into_response(),
    }
}

#[derive(Serialize)]
struct HistoryBody {
    rows: Vec<RowJson>,
}

/// Up to an hour of rows.
pub(super) async fn history(
    State(app): Known,
    Path(pool): Path<String>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let seconds = input::number(&uri, "seconds")?.unwrap_or(history::HOUR);
    let seen = entry.seen();
    let rows = seen
        .history
        .thinned(seconds, MOST_POINTS)
        .map(RowJson::of)
        .collect();
    Ok(json(&HistoryBody { rows }))
}

#[derive(Serialize)]
struct TasksBody {
    running: Vec<TaskRow>,
    queued: Vec<TaskRow>,
}

/// What runs and what waits, in full or by a filter.
pub(super) async fn tasks(
    State(app): Known,
    Path(pool): Path<String>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let filter = input::query(&uri, "filter").unwrap_or_default();
    let most = input::number(&uri, "most")?.unwrap_or(50).min(lists::LONG_LIST);
    Ok(json(&TasksBody {
        running: lists::running(&entry, most, &filter),
        queued: lists::queued(&entry, most, &filter),
    }))
}

#[derive(Serialize)]
struct RejectsBody {
    rejects: Vec<RejectRow>,
}

/// The last that were rejected: a frame has no room for them.
pub(super) async fn rejects(State(app): Known, Path(pool): Path<String>) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    Ok(json(&RejectsBody {
        rejects: lists::rejects(&entry),
    }))
}

#[derive(Serialize)]
struct BarsBody {
    bars: Vec<BarJson>,
    bars_at: u64,
}

/// What workers did, after the bar of that number: for who was told that a frame had no room for it.
pub(super) async fn bars(State(app): Known, Path(pool): Path<String>, uri: Uri) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let since = input::number(&uri, "since")?.unwrap_or(0);
    let seen = entry.seen();
    Ok(json(&BarsBody {
        bars: seen.timeline.since(since),
        bars_at: seen.timeline.looked(),
    }))
}

#[derive(Serialize)]
struct AdviceBody {
    advice_key: u32,
    #[serde(flatten)]
    advice: detail::AdvicePart,
}

/// What the pool's figures say, and its lints.
pub(super) async fn advice(State(app): Known, Path(pool): Path<String>) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let (advice_key, advice) = detail::advice(&entry);
    Ok(json(&AdviceBody { advice_key, advice }))
}

/// What workers ran in a stretch of time.
pub(super) async fn served(
    State(app): Known,
    Path(pool): Path<String>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let now = audit::milliseconds(SystemTime::now());
    let (from, to): (u64, u64) = (input::needed(&uri, "from")?, input::needed(&uri, "to")?);
    if from > to {
        let text = format!("from = {from} is after to = {to}; both are milliseconds since 1970");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "bad_query", text));
    }
    Ok(json(&served::of(&entry, Stretch { from, to }, now)))
}

#[derive(Serialize)]
struct PreviewBody {
    /// Whether it would be done.
    possible: bool,
    text: String,
}

/// What a resize would do; also if that is to refuse it.
pub(super) async fn preview(
    State(app): Known,
    Path(pool): Path<String>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let (core, max) = (input::needed(&uri, "core")?, input::needed(&uri, "max")?);
    let preview = entry.control.preview_resize(core, max);
    Ok(json(&PreviewBody {
        possible: preview.is_ok(),
        text: preview.map_or_else(|error| error.to_string(), |preview| preview.to_string()),
    }))
}

/// A pool's dump, as a file.
pub(super) async fn dump(State(app): Known, Path(pool): Path<String>) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let Some(dump) = entry.control.dump() else {
        let text = "the pool has ended: there is nothing to dump";
        return Err(Refusal::new(StatusCode::NOT_FOUND, "pool_is_gone", text));
    };
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"punctual-dump.json\"",
        ),
    ];
    Ok((headers, dump.to_json()).into_response())
}

#[derive(Serialize)]
struct UpcomingBody {
    /// Milliseconds since 1970.
    times: Vec<u64>,
    zone: Option<String>,
}

/// A schedule's next runs.
pub(super) async fn upcoming(
    State(app): Known,
    Path((pool, id)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let handle = super::write::schedule(&entry, &id)?;
    let times = handle.upcoming(schedules::PREVIEW);
    Ok(json(&UpcomingBody {
        times: times.into_iter().map(audit::milliseconds).collect(),
        zone: handle.schedule().zone_name().map(String::from),
    }))
}
