//! Spans for tasks, as a subscriber of the test's own sees them.

use crate::support::LONG;
use punctual::{Clock, Pool, PoolBuilder, Schedule};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::dispatcher::{Dispatch, set_default, with_default};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber, info, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// What was seen: of each span its name, its parents' names and its fields; of each event the spans it was in.
#[derive(Default, Clone)]
struct Book(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    spans: Vec<(Vec<&'static str>, BTreeMap<&'static str, String>)>,
    entered: Vec<u64>,
    events: Vec<Vec<&'static str>>,
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        self.0.insert(field.name(), text.trim_matches('"').to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Book {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let names = span.scope().from_root().map(|span| span.name()).collect();
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        self.0.lock().unwrap().spans.push((names, fields));
    }
    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        self.0.lock().unwrap().entered.push(id.into_u64());
    }
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let scope = context.event_scope(event);
        let names = scope.map(|scope| scope.from_root().map(|span| span.name()).collect());
        self.0.lock().unwrap().events.push(names.unwrap_or_default());
    }
}

/// A book, and a subscriber that writes it, for this thread and for workers.
fn watched() -> (Book, Dispatch) {
    let book = Book::default();
    let dispatch = Dispatch::new(Registry::default().with(book.clone()));
    (book, dispatch)
}

fn pool(dispatch: &Dispatch) -> PoolBuilder {
    let dispatch = dispatch.clone();
    Pool::builder("web")
        .core_threads(1)
        .enter(move || set_default(&dispatch))
        .tracing()
}

#[test]
fn see_60_a_task_runs_in_a_span_below_the_one_it_was_submitted_in() {
    let (book, dispatch) = watched();
    let pool = pool(&dispatch).build().unwrap();
    with_default(&dispatch, || {
        let _request = info_span!("request").entered();
        pool.execute(|| info!("plain")).unwrap();
        let named = pool.task(|| info!("named")).name("report").submit().unwrap();
        named.join().unwrap();
    });
    assert!(pool.wait_idle(LONG));
    let pages = book.0.lock().unwrap();
    assert_eq!(pages.events, [["request", "task"], ["request", "task"]]);
    let tasks: Vec<_> = pages
        .spans
        .iter()
        .filter(|(names, _)| names.last() == Some(&"task"))
        .collect();
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[1].1["pool"], "web");
    assert_eq!(tasks[1].1["task"], "report");
    assert!(tasks[0].1["task"].contains("see_60"));
    assert_ne!(tasks[0].1["id"], tasks[1].1["id"]);
}

#[test]
fn see_61_a_delayed_task_and_each_run_of_a_schedule_have_spans_of_their_own() {
    let (book, dispatch) = watched();
    let clock = Clock::manual();
    let pool = pool(&dispatch).clock(&clock).build().unwrap();
    with_default(&dispatch, || {
        let _request = info_span!("request").entered();
        drop(pool.after(Duration::from_secs(1), || info!("delayed")).unwrap());
        let every = Schedule::every(Duration::from_secs(5)).times(2).named("flush");
        drop(pool.schedule(every, |_| info!("run")).unwrap());
    });
    clock.advance(Duration::from_secs(10));
    let pages = book.0.lock().unwrap();
    assert_eq!(pages.events, [["request", "task"]; 3]);
    let ids: std::collections::BTreeSet<_> = pages
        .spans
        .iter()
        .filter_map(|(_, fields)| fields.get("id"))
        .collect();
    assert_eq!(ids.len(), 3, "{:?}", pages.spans);
    let runs = pages
        .spans
        .iter()
        .filter(|(_, fields)| fields.get("task").is_some_and(|task| task == "flush"));
    assert_eq!(runs.count(), 2);
}

#[test]
fn see_62_a_future_is_in_one_span_during_all_its_polls() {
    let (book, dispatch) = watched();
    let pool = pool(&dispatch).build().unwrap();
    with_default(&dispatch, || {
        let future = async {
            for _ in 0..3 {
                info!("step");
                punctual::future::yield_now().await;
            }
        };
        pool.spawn(future).unwrap().join().unwrap();
    });
    let pages = book.0.lock().unwrap();
    assert_eq!(pages.events, [["task"]; 3]);
    assert_eq!(pages.spans.len(), 1);
    assert_eq!(pages.entered.len(), 4, "one for each poll");
}

#[test]
fn see_63_the_key_takes_it_away_again() {
    let (book, dispatch) = watched();
    let pool = pool(&dispatch).undecorate("tracing").build().unwrap();
    with_default(&dispatch, || {
        pool.submit(|| info!("bare")).unwrap().join().unwrap()
    });
    let pages = book.0.lock().unwrap();
    assert_eq!(pages.events, [[""; 0]]);
    assert!(pages.spans.is_empty());
}
