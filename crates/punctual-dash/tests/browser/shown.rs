//! Figures that come while a page is open, tables that have their own columns for their own figures, and a page below a path.

use crate::chrome::Chrome;
use crate::stage::{PLAIN, Stage, of, set};
use axum::Router;
use punctual::{Capacity, Clock, Pool, Queue, Schedule};
use punctual_dash::Dashboard;
use std::sync::mpsc::channel;
use std::time::Duration;

fn stage() -> Option<Stage> {
    set(&PLAIN, |settings| settings)
}

/// The text of a table's cell under that title, in its first row.
fn cell(table: &str, title: &str) -> String {
    format!(
        "document.querySelector('[data-testid=\"{table}\"] tbody td[data-label=\"{title}\"]')?.textContent"
    )
}

fn has_line(chart: &str) -> String {
    format!(
        "document.querySelector('[data-testid=\"chart-{chart}\"] path.line')?.getAttribute('d').includes('L')"
    )
}

#[test]
fn a_pool_tells_what_it_counted_and_what_to_change() {
    let Some(mut it) = stage() else { return };
    it.open("pool/1/orders");
    it.chrome.until(&format!(
        "{}?.startsWith('stage.rs:')",
        cell("running", "Submitted at")
    ));
    // It has run for a while, and for longer a second later.
    let age = cell("running", "For at least");
    it.chrome.until(&format!("/^[0-9.]+ (ms|s|min)/.test({age})"));
    let before = it.chrome.eval(&age);
    it.chrome.until(&format!("{age} !== {before}"));
    for (total, value) in [
        ("submitted", "13"),
        ("full", "1"),
        ("no_thread", "0"),
        ("schedules", "1"),
    ] {
        it.chrome
            .until(&format!("{} === '{value}'", of(&format!("total-{total}"))));
    }
    it.chrome.until(&format!(
        "{}?.startsWith('stage.rs:')",
        cell("rejects", "Submitted at")
    ));
    let advice = of("advice");
    it.chrome.until(&format!("{advice}?.length > 20"));
    assert_eq!(
        it.chrome
            .eval("document.querySelectorAll('[data-testid=lints] li').length"),
        0
    );
    // The waits are known when the tasks have started.
    it.hold.take();
    it.chrome.until(&has_line("wait"));
    it.chrome.until(&format!("{} === '13'", of("total-finished")));
    it.chrome
        .until(&format!("/^[0-9.]+ (µs|ms|s)/.test({})", of("pool-wait")));
    it.is_clean();
}

#[test]
fn lints_come_while_the_page_is_open() {
    let Some(mut chrome) = Chrome::start() else { return };
    let pool = Pool::builder("odd").core_threads(1).max_threads(1);
    let pool = pool.queue(Queue::bounded(10)).build().unwrap();
    let server = Dashboard::builder().pool(pool.control()).serve().unwrap();
    chrome.open(&format!("{}#/pool/1/odd", server.url()));
    chrome.until(&format!("{} === 'live'", of("live")));
    let lints =
        "[...document.querySelectorAll('[data-testid=lints] li')].map((item) => item.textContent).join()";
    chrome.until(&format!("{}?.length > 0", of("advice")));
    assert_eq!(chrome.eval(lints), "");
    // A queue without a bound, which threads beyond core are never started for.
    pool.set_capacity(Capacity::Unbounded).unwrap();
    chrome.until(&format!("{lints}.includes('W0')"));
    assert!(chrome.complaints.is_empty(), "{:?}", chrome.complaints);
}

#[test]
fn rejects_come_while_the_page_is_open_and_all_of_them() {
    let Some(mut it) = stage() else { return };
    it.open("pool/1/orders");
    let rows = "document.querySelectorAll('[data-testid=rejects] tbody tr').length";
    it.chrome.until(&format!("{rows} === 1"));
    // One for each millisecond is kept: more than a frame has room for.
    let mut kept = 1;
    while kept < 60 {
        let late = it
            .pool
            .task(|| ())
            .name("a name of some length, as tasks have it");
        assert!(late.execute().is_err());
        kept = it.pool.control().rejected().len();
    }
    it.chrome.until(&format!("{rows} === {kept}"));
    // Those that are only counted are counted on the page, too.
    let total = it.pool.stats().rejected.full;
    let shown = "[...document.querySelectorAll('[data-testid=rejects] tbody td:nth-child(2)')]\
        .reduce((sum, cell) => sum + 1 + Number(cell.textContent.match(/ and ([0-9]+) more$/)?.[1] ?? 0), 0)";
    it.chrome.until(&format!("{shown} === {total}"));
    it.is_clean();
}

#[test]
fn views_and_lanes_have_tables_of_their_own() {
    let Some(mut it) = stage() else { return };
    it.open("overview");
    let is_hidden =
        |table: &str| format!("document.querySelector('[data-testid={table}]').closest('.card').hidden");
    it.chrome
        .until(&format!("{} && {}", is_hidden("views"), is_hidden("lanes")));
    it.hold.take();
    assert!(it.pool.wait_idle(Duration::from_secs(60)));
    it.pool.pause();
    let limited = it.pool.limit(1).unwrap().named("database");
    let lane = it.pool.lane();
    let tasks = [&limited, &limited, &lane, &lane, &lane].map(|view| view.submit(|| ()).unwrap());
    it.chrome
        .until(&format!("{}?.includes('limit(1)/database')", of("views")));
    it.chrome.until(&format!("{} === '2'", cell("views", "Waiting")));
    it.chrome
        .until(&format!("{} === 'orders'", cell("lanes", "Lanes and keys of")));
    it.chrome.until(&format!(
        "{} === '0' && {} === '1'",
        cell("lanes", "Lanes that run"),
        cell("lanes", "Lanes with a line")
    ));
    it.chrome
        .until(&format!("!{} && !{}", is_hidden("views"), is_hidden("lanes")));
    it.pool.resume();
    tasks.into_iter().for_each(|task| task.join().unwrap());
    it.chrome.until(&is_hidden("lanes"));
    it.is_clean();
}

#[test]
fn a_schedule_counts_down_tells_what_was_missed_and_is_paused_by_a_button() {
    let Some(mut chrome) = Chrome::start() else { return };
    let clock = Clock::manual();
    let pool = Pool::builder("jobs")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let minute = Duration::from_secs(60);
    let plan = Schedule::every(minute)
        .starting_in(minute)
        .named("a nightly report");
    let report = pool.schedule(plan, |_| ()).unwrap();
    // The worker is away while three are due: one run makes up for two.
    let (begin, begun) = channel();
    let away = pool.submit(move || {
        begin.send(()).unwrap();
        punctual::task::sleep(3 * minute)
    });
    begun.recv().unwrap();
    let server = Dashboard::builder().pool(pool.control()).serve().unwrap();
    chrome.open(&format!("{}#/schedules", server.url()));
    chrome.until(&format!("{} === 'live'", of("live")));
    let next = cell("schedules", "Next");
    chrome.until(&format!("/^in [0-9]+/.test({next})"));
    let before = chrome.eval(&next);
    chrome.until(&format!("{next} !== {before}"));
    let last = cell("schedules", "Last run");
    assert_eq!(chrome.eval(&last), "–");
    until_asleep(&pool);
    clock.advance(3 * minute);
    away.unwrap().join().unwrap().unwrap();
    assert!(pool.wait_idle(Duration::from_secs(60)));
    chrome.until(&format!(
        "{} === '1 / 0' && {} === '2 / 0'",
        cell("schedules", "Runs / failed"),
        cell("schedules", "Missed / skipped")
    ));
    chrome.until(&format!("{} === 'went well'", cell("schedules", "Outcome")));
    chrome.until(&format!("/ ago, took [0-9.]+ /.test({last})"));
    // The buttons are there without scrolling, at the width of a small laptop.
    chrome.window(1280, 720, "light");
    assert_eq!(
        chrome.eval(
            "document.querySelector('[data-testid=pause-schedule]').getBoundingClientRect().right < 1260"
        ),
        true
    );
    for (is_paused, text) in [(true, "Resume"), (false, "Pause")] {
        chrome.click("[data-testid=pause-schedule]");
        chrome.until(&format!("{} === '{text}'", of("pause-schedule")));
        chrome.until(&format!("({next} === 'paused') === {is_paused}"));
        assert_eq!(report.is_paused(), is_paused);
    }
    report.cancel();
    chrome.until("document.querySelectorAll('[data-testid=schedules] tbody tr').length === 0");
    assert!(chrome.complaints.is_empty(), "{:?}", chrome.complaints);
}

/// The worker sleeps by the manual clock.
fn until_asleep(pool: &Pool) {
    while pool.stats().active == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn keys_lead_to_the_pages() {
    let Some(mut it) = stage() else { return };
    it.open("pool/1/orders");
    for (key, page) in [("a", "audit"), ("o", "overview"), ("s", "schedules")] {
        it.chrome.key(key);
        it.chrome.until(&format!(
            "document.querySelector('[data-testid=page-{page}]') !== null"
        ));
    }
    it.is_clean();
}

#[test]
fn what_was_refused_at_the_door_is_counted_on_the_audit_page() {
    let Some(mut it) = stage() else { return };
    it.open("audit");
    let foreign = "fetch('api/v1/pools/1/pause', {method: 'POST'}).then((answer) => answer.status)";
    assert_eq!(it.chrome.eval(foreign), 403);
    it.chrome.complaints.clear();
    it.chrome.until(&format!(
        "{}?.startsWith('1 changes were refused')",
        of("audit-refused")
    ));
    it.chrome.key("o");
    it.chrome
        .until("document.querySelector('[data-testid=page-overview]') !== null");
    it.is_clean();
}

/// In an application of somebody else's, through its door: every address on the page is relative.
#[test]
fn it_works_below_a_path() {
    let Some(mut it) = stage() else { return };
    let settings = Dashboard::builder().pool(it.pool.control()).read_only(false);
    let dashboard = settings.build().unwrap();
    let app = Router::new().nest("/ops/pools", dashboard.router());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        runtime.unwrap().block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
    });
    it.chrome.open(&format!("http://{address}/ops/pools"));
    it.chrome.until(
        "document.querySelector('input[name=token]') !== null && location.pathname === '/ops/pools/page'",
    );
    // The door itself is answered with 401, which the browser's log has.
    it.chrome.complaints.clear();
    it.chrome.fill("input[name=token]", dashboard.token());
    it.chrome.click("button[type=submit]");
    it.chrome.until(&format!("{} === 'live'", of("live")));
    it.chrome.click("[data-testid=pools] a");
    it.chrome.until(&format!("{} === 'orders'", of("pool-name")));
    it.chrome.until(&has_line("queue"));
    it.chrome.click("[data-testid=pause]");
    it.chrome.until(&format!("{} === 'Resume'", of("pause")));
    assert!(it.pool.stats().paused);
    assert_eq!(it.chrome.eval("location.pathname"), "/ops/pools/page");
    it.is_clean();
}
