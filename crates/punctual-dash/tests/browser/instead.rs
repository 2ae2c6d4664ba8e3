//! A click on a stretch in which a level waited tells what was served instead; so do the keys.

use crate::chrome::Chrome;
use crate::stage::{PLAIN, of, set};
use punctual::{Pool, Priority, Queue};
use punctual_dash::Dashboard;
use std::time::Duration;

/// Clicks into the middle of the last second of a level's band.
fn click_level(level: usize) -> String {
    format!(
        "{{ const plot = document.querySelector('[data-testid=chart-levels]'); const box = plot.getBoundingClientRect();\
         plot.dispatchEvent(new MouseEvent('click', {{ bubbles: true, clientX: box.left + box.width - 64, clientY: box.top + {level} * 44 + 22 }})); }}"
    )
}

fn press(key: &str) -> String {
    format!(
        "{{ const plot = document.querySelector('[data-testid=chart-levels]'); plot.focus();\
         plot.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true, cancelable: true }})); }}"
    )
}

/// The last level waits: its band is above the line at the end.
const LOW_WAITS: &str = "document.querySelectorAll('[data-testid=chart-levels] path.line.l3').length > 0 &&\
     document.querySelector('[data-testid=chart-levels] path.line.l3').getAttribute('d').split('L').length > 2";

#[test]
fn a_click_on_a_level_that_waits_tells_what_was_served_instead() {
    let Some(mut it) = set(&PLAIN, |settings| settings) else {
        return;
    };
    it.open("pool/1/orders");
    it.chrome.until(LOW_WAITS);
    it.chrome.eval(&click_level(3));
    it.chrome
        .until(&format!("{}?.includes('low waited from')", of("served")));
    it.chrome.until(&format!(
        "{}?.includes('Taken meanwhile: urgent 0')",
        of("served")
    ));
    // The one that keeps the worker busy all the time.
    it.chrome
        .until(&format!("{}?.includes('refresh running')", of("served-tasks")));
    it.chrome
        .until("document.querySelector('[data-testid=chart-levels] .picked') !== null");
    it.chrome.click("[data-testid=served] button");
    it.chrome
        .until("document.querySelector('[data-testid=served]').hidden && !document.querySelector('.picked')");
    // High: nothing of it ever waited.
    it.chrome.eval(&click_level(1));
    it.chrome.until(&format!(
        "{}?.includes('No task of level high waited then')",
        of("served")
    ));
    it.is_clean();
}

#[test]
fn the_keys_do_the_same() {
    let Some(mut it) = set(&PLAIN, |settings| settings) else {
        return;
    };
    it.open("pool/1/orders");
    it.chrome.until(LOW_WAITS);
    it.chrome.eval(&press("ArrowLeft"));
    it.chrome
        .until("document.querySelector('[data-testid=chart-levels] .cursor') !== null");
    it.chrome.eval(&press("Enter"));
    it.chrome
        .until(&format!("{}?.includes('low waited from')", of("served")));
    for _ in 0..3 {
        it.chrome.eval(&press("ArrowUp"));
    }
    it.chrome.eval(&press("Enter"));
    it.chrome
        .until(&format!("{}?.includes('urgent waited from')", of("served")));
    it.is_clean();
}

#[test]
fn without_a_recorder_it_says_that_the_tasks_are_not_known() {
    let Some(mut chrome) = Chrome::start() else {
        return;
    };
    let queue = Queue::priority(12).strict();
    let pool = Pool::builder("silent")
        .core_threads(1)
        .queue(queue)
        .build()
        .unwrap();
    pool.pause();
    let waiting = pool.task(|| ()).priority(Priority::LOW).submit().unwrap();
    let server = Dashboard::builder().pool(pool.control()).serve().unwrap();
    chrome.open(&format!("{}#/pool/1/silent", server.url()));
    chrome.until(LOW_WAITS);
    chrome.eval(&click_level(3));
    chrome.until(&format!("{}?.includes('the pool has no recorder')", of("served")));
    // And there is nothing that a recorder would cost.
    chrome.until(&format!("{}?.includes('there is no recorder')", of("task-cost")));
    assert!(chrome.complaints.is_empty(), "{:?}", chrome.complaints);
    pool.resume();
    waiting.join().unwrap();
}

#[test]
fn a_dump_tells_it_too_and_what_counting_took_is_shown_live() {
    let Some(mut it) = set(&PLAIN, |settings| settings) else {
        return;
    };
    it.open("pool/1/orders");
    it.chrome.until(&format!(
        "/counting and timing take [0-9.]+ ns for each task, the recorder [0-9.]+ ns/.test({})",
        of("task-cost")
    ));
    // Events, so that there is a past.
    let quick = it.pool.executor();
    assert!(
        quick.task(|| ()).name("late").execute().is_err(),
        "the queue is full"
    );
    let dump = it.pool.dump().to_json();
    let server = Dashboard::from_dump(dump).serve().unwrap();
    let mut chrome = Chrome::start().expect("there was one a moment ago");
    chrome.open(server.url());
    chrome.until(&format!("{} === 'orders'", of("pool-name")));
    chrome.until(LOW_WAITS);
    chrome.eval(&click_level(3));
    chrome.until(&format!("{}?.includes('low waited from')", of("served")));
    chrome.until(&format!("{}?.includes('refresh running')", of("served-tasks")));
    assert!(chrome.complaints.is_empty(), "{:?}", chrome.complaints);
    it.is_clean();
}

#[test]
fn tasks_in_deques_are_counted_where_they_are_not_listed() {
    let Some(mut chrome) = Chrome::start() else {
        return;
    };
    let pool = Pool::builder("thieves")
        .core_threads(1)
        .queue(Queue::stealing(100))
        .build()
        .unwrap();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let inner = pool.executor();
    let parent = pool.submit(move || {
        for _ in 0..3 {
            inner.execute(|| ()).unwrap();
        }
        let _ = held.recv();
    });
    let parent = parent.unwrap();
    let server = Dashboard::builder().pool(pool.control()).serve().unwrap();
    chrome.open(&format!("{}#/pool/1/thieves", server.url()));
    chrome.until(&format!(
        "{}?.includes('3 more wait in the deques')",
        of("deques")
    ));
    drop(hold);
    parent.join().unwrap();
    chrome.until(&format!("{} === ''", of("deques")));
    assert!(pool.wait_idle(Duration::from_secs(60)));
    assert!(chrome.complaints.is_empty(), "{:?}", chrome.complaints);
}
