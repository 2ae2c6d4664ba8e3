//! What a page loads, how it goes on where something is missing, and what a schedule's page says of clocks that change.

use crate::chrome::Chrome;
use crate::stage::{PLAIN, of, set};
use punctual::{Pool, Schedule};
use punctual_dash::Dashboard;
use std::io::{Read, Write};
use std::net::TcpStream;

/// The scripts that were loaded, and how many bytes were sent for them.
const SCRIPTS: &str =
    "performance.getEntriesByType('resource').filter((entry) => entry.name.endsWith('.js'))";

fn names() -> String {
    format!("{SCRIPTS}.map((entry) => entry.name.split('/').pop()).sort().join()")
}

#[test]
fn a_page_loads_what_it_shows_and_no_more() {
    let Some(mut it) = set(&PLAIN, |settings| settings) else {
        return;
    };
    it.open("overview");
    assert_eq!(it.chrome.eval(&names()), "app.js,dom.js,pages.js");
    it.chrome.click("[data-testid=pools] a");
    it.chrome.until(&format!("{} === 'orders'", of("pool-name")));
    assert_eq!(
        it.chrome.eval(&names()),
        "app.js,charts.js,dom.js,pages.js,pool.js"
    );
    let sent = format!("{SCRIPTS}.reduce((sum, entry) => sum + entry.encodedBodySize, 0)");
    let sent = it.chrome.eval(&sent).as_u64().unwrap();
    assert!((1..20 * 1024).contains(&sent), "{sent} bytes of script");
    it.is_clean();
}

#[test]
fn who_goes_on_before_a_page_has_come_stays_there() {
    let Some(mut it) = set(&PLAIN, |settings| settings) else {
        return;
    };
    it.open("overview");
    // The page of a pool has to be loaded first; the next one is there at once.
    it.chrome.eval("{ location.hash = '#/pool/1/orders'; }");
    it.chrome
        .until("performance.getEntriesByType('resource').some((entry) => entry.name.endsWith('/pool.js'))");
    it.chrome.until(&format!("{} === 'orders'", of("pool-name")));
    let there_and_back = "(async () => { const tick = () => new Promise((next) => addEventListener('hashchange', next, { once: true }));\
         for (const page of ['overview', 'pool/1/orders', 'audit']) { const changed = tick(); location.hash = '#/' + page; await changed; }\
         await fetch('api/v1/snapshot'); await fetch('api/v1/snapshot'); return document.querySelector('main').firstChild.dataset.testid; })()";
    assert_eq!(it.chrome.eval(there_and_back), "page-audit");
    it.is_clean();
}

#[test]
fn a_pool_that_does_not_move_is_called_stalled() {
    let Some(mut it) = set(&PLAIN, |settings| settings) else {
        return;
    };
    it.open("overview");
    it.chrome
        .until(&format!("{}?.includes('stalled 5')", of("pools")));
    it.chrome
        .until("document.querySelector('[data-testid=pools] .badge.bad') !== null");
    it.hold.take();
    it.chrome.until(&format!(
        "{0}?.includes('running') && !{0}.includes('stalled')",
        of("pools")
    ));
    it.is_clean();
}

#[test]
fn where_streams_do_not_get_through_it_asks() {
    let Some(mut it) = set(&PLAIN, |settings| settings.max_streams(1)) else {
        return;
    };
    // Somebody else has the only one.
    let address = it.server.address();
    let mut other = TcpStream::connect(address).unwrap();
    write!(other, "GET /api/v1/stream HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    let mut first = [0; 12];
    other.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    it.chrome.open(&format!("{}#/overview", it.server.url()));
    it.chrome.until(&format!("{} === 'polling'", of("live")));
    it.chrome.until(&format!("{} === '12'", of("tile-queued")));
    // What workers did goes on as well.
    it.chrome.click("[data-testid=pools] a");
    it.chrome.until(&format!("{} === 'orders'", of("pool-name")));
    it.chrome.until(&format!("{} === 'polling'", of("live")));
    let bars = "Number(document.querySelector('[data-testid=chart-workers]').dataset.bars)";
    it.chrome.until(&format!("{bars} === 1"));
    it.hold.take();
    it.chrome.until(&format!("{} === '0'", of("pool-queued")));
    it.chrome.until(&format!("{bars} > 1"));
}

#[test]
fn the_next_runs_show_that_clocks_change() {
    let Some(mut chrome) = Chrome::start() else {
        return;
    };
    let pool = Pool::fixed(1).unwrap();
    let monthly = Schedule::cron("30 2 1 * *")
        .unwrap()
        .zone("Europe/Amsterdam")
        .unwrap();
    let _monthly = pool.schedule(monthly, |_| ()).unwrap();
    let server = Dashboard::builder().pool(pool.control()).serve().unwrap();
    let dump = Dashboard::from_dump(pool.dump().to_json()).serve().unwrap();
    for address in [server.url(), dump.url()] {
        chrome.open("about:blank");
        chrome.open(&format!("{address}#/schedules"));
        // A dump is shown by the page of its pool first.
        chrome.until(&format!(
            "{} === 'live' || {} === 'fixed'",
            of("live"),
            of("pool-name")
        ));
        chrome.click("[data-testid=tab-schedules]");
        chrome.click("[data-testid=preview]");
        let items = "[...document.querySelectorAll('[data-testid=preview-dialog] li span')].map((item) => item.textContent)";
        chrome.until(&format!("{items}.length === 10"));
        // Ten months have both, and the hour stays the same.
        for offset in ["02:30:00 GMT+1", "02:30:00 GMT+2"] {
            chrome.until(&format!("{items}.some((text) => text.includes('{offset}'))"));
        }
        assert_eq!(
            chrome.eval(&format!("{items}.every((text) => text.includes('02:30:00'))")),
            true
        );
    }
    assert!(chrome.complaints.is_empty(), "{:?}", chrome.complaints);
}
