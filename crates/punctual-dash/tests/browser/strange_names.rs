//! Fault 34: markup in the names of pools, tasks, views and errors, on every page, in a filter and in an address. Nothing of it runs.

use crate::chrome::Chrome;
use crate::stage::{Names, of, set};
use punctual::Pool;
use punctual_dash::Dashboard;
use std::sync::mpsc::channel;

/// What has become code elsewhere.
const CORPUS: [&str; 12] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "'-alert(1)-'",
    "javascript:alert(1)",
    "</title><script>alert(1)</script>",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "<a href=\"javascript:alert(1)\">x</a>",
    "\u{202e}<iframe srcdoc=\"<script>alert(1)</script>\">",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "%3Cscript%3Ealert(1)%3C/script%3E/../?q=#",
];

/// What would be there if one of them had become markup.
const ELEMENTS: &str = "document.querySelectorAll('main script, main iframe, main img, main svg[onload], [onerror], [onload], a[href^=javascript]').length";

#[test]
fn names_that_would_like_to_be_code_are_text() {
    let all = CORPUS.join(" ");
    let names = Names {
        pool: &all,
        task: &all,
        error: &all,
    };
    let Some(mut it) = set(&names, |settings| settings) else {
        return;
    };
    for page in ["overview", "pool/1", "schedules", "audit"] {
        it.open(page);
        if page == "overview" {
            it.chrome
                .until(&format!("{}?.includes('<script>alert(1)</script>')", of("pools")));
        }
        if page == "pool/1" {
            it.chrome.until(&format!(
                "{}?.includes('<img src=x onerror=alert(1)>')",
                of("queued")
            ));
            it.chrome
                .until(&format!("{}?.includes('<script>')", of("pool-name")));
        }
        if page == "schedules" {
            it.hold.take();
            it.chrome.click("[data-testid=run-now]");
            it.chrome.until("document.querySelector('[data-testid=schedules] tbody').textContent.split('<svg onload=alert(1)>').length > 2");
            it.chrome.click("[data-testid=preview]");
            it.chrome
                .until("document.querySelectorAll('[data-testid=preview-dialog] li').length === 10");
        }
        if page == "audit" {
            it.chrome.until(&format!("{}?.includes('run now')", of("audit")));
        }
        assert_eq!(it.chrome.eval(ELEMENTS), 0, "{page}");
    }
    // By the link of the overview, so that the name goes through the address.
    it.open("overview");
    it.chrome.click("[data-testid=pools] a");
    it.chrome
        .until(&format!("{}?.includes('onerror=alert(1)')", of("pool-name")));
    for text in CORPUS {
        it.chrome.fill("[data-testid=filter]", text);
        let escaped = serde_json::to_string(text).unwrap();
        it.open(&format!("pool/{}/{}?q={}", "1", encoded(text), encoded(text)));
        it.chrome.until(&format!(
            "document.querySelector('[data-testid=filter]').value === {escaped}"
        ));
    }
    assert_eq!(it.chrome.eval(ELEMENTS), 0);
    it.is_clean();
}

#[test]
fn fault_34_names_in_a_dump_are_text() {
    let all = CORPUS.join(" ");
    let names = Names {
        pool: &all,
        task: &all,
        error: &all,
    };
    let Some(mut it) = set(&names, |settings| settings) else {
        return;
    };
    let server = Dashboard::from_dump(it.pool.dump().to_json()).serve().unwrap();
    it.chrome.open(server.url());
    it.chrome
        .until(&format!("{}?.includes('<script>')", of("pool-name")));
    it.chrome
        .until(&format!("{}?.includes('onerror=')", of("queued")));
    it.chrome
        .until(&format!("{}?.includes('onerror=')", of("rejects")));
    assert_eq!(it.chrome.eval(ELEMENTS), 0);
    it.is_clean();
}

#[test]
fn fault_34_names_of_views_are_text() {
    let Some(mut chrome) = Chrome::start() else { return };
    let pool = Pool::builder("views").core_threads(1).build().unwrap();
    let views = CORPUS.map(|name| pool.named(name));
    let (hold, held) = channel::<()>();
    let (begin, begun) = channel();
    let running = views[1].submit(move || {
        begin.send(()).unwrap();
        let _ = held.recv();
    });
    begun.recv().unwrap();
    let waiting = views[2].submit(|| ()).unwrap();
    let server = Dashboard::builder().pool(pool.control()).serve().unwrap();
    for page in ["overview", "pool/1/views"] {
        chrome.open("about:blank");
        chrome.open(&format!("{}#/{page}", server.url()));
        chrome.until(&format!("{} === 'live'", of("live")));
        if page == "overview" {
            for name in CORPUS {
                let escaped = serde_json::to_string(name).unwrap();
                chrome.until(&format!("{}?.includes({escaped})", of("views")));
            }
        } else {
            let escaped = serde_json::to_string(CORPUS[1]).unwrap();
            chrome.until(&format!("{}?.includes({escaped})", of("running")));
        }
        assert_eq!(chrome.eval(ELEMENTS), 0, "{page}");
    }
    assert!(chrome.complaints.is_empty(), "{:?}", chrome.complaints);
    assert_eq!(chrome.dialogs, 0);
    drop(hold);
    running.unwrap().join().unwrap();
    waiting.join().unwrap();
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}
