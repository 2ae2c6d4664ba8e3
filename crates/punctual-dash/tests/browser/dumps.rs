//! The same page opens a dump: of a file, and where it was started with one.

use crate::chrome::Chrome;
use crate::stage::{PLAIN, of, set};
use punctual_dash::Dashboard;

/// Shown as it was when the dump was made, and nothing to act with.
fn shows_the_dump(chrome: &mut Chrome) {
    chrome.until(&format!("{}?.startsWith('dump of')", of("live")));
    chrome.until(&format!("{} === 'orders'", of("pool-name")));
    chrome.until(&format!("{}?.includes('refresh running')", of("running")));
    chrome.until(&format!("{}?.includes('it waits')", of("queued")));
    chrome.until(&format!("{}?.includes('refresh rejected')", of("rejects")));
    chrome.until("document.querySelector('[data-testid=\"chart-workers\"]').dataset.bars > 0");
    // The oldest of the least urgent level waits longer and longer: its line falls on the screen's axis, it is not flat.
    let heights = "[...document.querySelector('[data-testid=\"chart-levels\"] path.line.l3').getAttribute('d').matchAll(/[ML][0-9.]+ ([0-9.]+)/g)].map((point) => Number(point[1]))";
    chrome.until(&format!("{heights}.length > 20"));
    assert_eq!(
        chrome.eval(&format!("{heights}[1] - {heights}.at(-1) > 10")),
        true,
        "{}",
        chrome.eval(heights)
    );
    assert_eq!(chrome.eval("document.querySelectorAll('[data-testid=pause], [data-testid=cancel], [data-testid=dump]').length"), 0);
    chrome.click("[data-testid=tab-schedules]");
    chrome.until(&format!("{}?.includes('every hour')", of("schedules")));
    chrome.click("[data-testid=preview]");
    chrome.until("document.querySelectorAll('[data-testid=preview-dialog] li').length === 10");
}

#[test]
fn a_dump_is_opened_from_a_file_while_the_page_is_live() {
    let Some(mut it) = set(&PLAIN, |settings| settings) else {
        return;
    };
    it.open("overview");
    let dump = serde_json::to_string(&it.pool.dump().to_json()).unwrap();
    let choose = |text: &str| {
        format!(
            "{{ const input = document.querySelector('[data-testid=dump-file]'); const files = new DataTransfer();\
             files.items.add(new File([{text}], 'dump.json')); input.files = files.files; input.dispatchEvent(new Event('change')); }}"
        )
    };
    it.chrome.eval(&choose("'{\"some\": 1}'"));
    it.chrome
        .until(&format!("{}?.includes('this is no dump')", of("toasts")));
    it.chrome.eval(&choose(&dump));
    shows_the_dump(&mut it.chrome);
    it.is_clean();
}

#[test]
fn a_page_is_started_with_a_dump_when_its_pool_is_long_gone() {
    let Some(it) = set(&PLAIN, |settings| settings) else {
        return;
    };
    let dump = it.pool.dump().to_json();
    drop(it);
    let server = Dashboard::from_dump(dump).serve().unwrap();
    let mut chrome = Chrome::start().expect("there was one a moment ago");
    chrome.open(server.url());
    shows_the_dump(&mut chrome);
    assert!(chrome.complaints.is_empty(), "{:?}", chrome.complaints);
}
