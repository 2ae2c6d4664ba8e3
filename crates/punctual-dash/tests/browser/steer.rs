//! Every page shows figures, charts move, buttons do what they say, and who may only look has none.

use crate::stage::{PLAIN, Stage, of, set};
use punctual::Status;

fn stage() -> Option<Stage> {
    set(&PLAIN, |settings| settings)
}

/// How many rows a table has.
fn rows(table: &str) -> String {
    format!("document.querySelectorAll('[data-testid=\"{table}\"] tbody tr').length")
}

#[test]
fn the_overview_shows_every_pool() {
    let Some(mut it) = stage() else { return };
    it.open("overview");
    it.chrome.until(&format!("{} === 1", rows("pools")));
    let row = it.chrome.text("pools");
    assert!(
        row.contains("orders") && row.contains("1 of 1 busy") && row.contains("12 / 12"),
        "{row}"
    );
    it.chrome.until(&format!("{} === '12'", of("tile-queued")));
    it.chrome
        .until("document.querySelector('.spark path.line').getAttribute('d').length > 10");
    it.is_clean();
}

#[test]
fn a_pool_is_shown_in_full_and_its_charts_move() {
    let Some(mut it) = stage() else { return };
    it.open("pool/1/orders");
    it.chrome.until(&format!("{} > 0", rows("running")));
    it.chrome.until(&format!("{} > 5", rows("queued")));
    assert!(it.chrome.text("running").contains("refresh running"));
    assert!(
        it.chrome.text("queued").contains("it waits"),
        "why: {}",
        it.chrome.text("queued")
    );
    assert!(
        it.chrome.text("queued").contains("stage.rs:"),
        "where it came from"
    );
    it.chrome
        .until(&format!("{}.includes('refresh rejected')", of("rejects")));
    it.chrome.until(&format!("{} === 4", rows("levels")));
    for chart in ["queue", "threads", "rate"] {
        it.chrome.until(&format!("document.querySelector('[data-testid=\"chart-{chart}\"] path.line')?.getAttribute('d').split('L').length > 1"));
    }
    let line = "document.querySelector('[data-testid=\"chart-queue\"] path.line').getAttribute('d')";
    let before = it.chrome.eval(line);
    it.chrome.until(&format!("{line} !== {before}"));
    it.chrome
        .until("document.querySelector('[data-testid=\"chart-workers\"]').dataset.bars > 0");
    // Let go: what waited too long was lifted, and is marked.
    it.hold.take();
    it.chrome
        .until("document.querySelector('[data-testid=\"chart-levels\"]').dataset.lifts > 0");
    it.chrome.until(&format!("{} === '0'", of("pool-queued")));
    it.is_clean();
}

#[test]
fn a_resize_is_previewed_made_and_undone() {
    let Some(mut it) = stage() else { return };
    it.open("pool/1/orders");
    it.chrome.click("[data-testid=resize]");
    it.chrome
        .until(&format!("{}.includes('no thread would')", of("resize-preview")));
    it.chrome.fill("[data-testid=resize-max]", "3");
    it.chrome
        .until(&format!("{}.includes('max 1 to 3')", of("resize-preview")));
    it.chrome.fill("[data-testid=resize-core]", "9");
    it.chrome
        .until("document.querySelector('[data-testid=resize-apply]').disabled");
    it.chrome.fill("[data-testid=resize-core]", "2");
    it.chrome
        .until("!document.querySelector('[data-testid=resize-apply]').disabled");
    assert_eq!(it.pool.stats().size.max, 1, "nothing has changed yet");
    it.chrome.click("[data-testid=resize-apply]");
    it.chrome
        .until(&format!("{}.includes('was core 1 max 1')", of("toasts")));
    assert_eq!((it.pool.stats().size.core, it.pool.stats().size.max), (2, 3));
    it.chrome.click("[data-testid=toasts] button");
    it.chrome
        .until(&format!("{}.includes('was core 2 max 3')", of("toasts")));
    assert_eq!(it.pool.stats().size.max, 1);
    it.open("audit");
    it.chrome.until(&format!("{} === 2", rows("audit")));
    it.is_clean();
}

#[test]
fn a_pool_is_paused_and_resumed_by_a_button() {
    let Some(mut it) = stage() else { return };
    it.open("pool/1/orders");
    it.chrome.click("[data-testid=pause]");
    it.chrome.until(&format!("{} === 'Resume'", of("pause")));
    assert!(it.pool.stats().paused);
    it.chrome.click("[data-testid=pause]");
    it.chrome.until(&format!("{} === 'Pause'", of("pause")));
    assert!(!it.pool.stats().paused);
    it.is_clean();
}

#[test]
fn a_task_is_put_first_and_another_cancelled() {
    let Some(mut it) = stage() else { return };
    it.open("pool/1/orders?q=refresh%208");
    it.chrome.until(&format!("{} === 1", rows("queued")));
    it.chrome.click("[data-testid=run-next]");
    it.chrome
        .until(&format!("{}.includes('moved to the front')", of("toasts")));
    it.chrome.fill("[data-testid=filter]", "refresh 4");
    it.chrome.until(&format!(
        "{}.includes('refresh 4') && {} === 1",
        of("queued"),
        rows("queued")
    ));
    it.chrome.click("[data-testid=queued] [data-testid=cancel]");
    it.chrome.until(&format!("{}.includes('sure?')", of("queued")));
    assert_eq!(
        it.waiting[4].task_ref().status(),
        Status::Queued,
        "asked once more before"
    );
    it.chrome.click("[data-testid=queued] [data-testid=cancel]");
    it.chrome.until(&format!("{}.includes('removed')", of("toasts")));
    assert_eq!(it.waiting[4].task_ref().status(), Status::Cancelled);
    it.is_clean();
}

#[test]
fn a_schedule_runs_now_and_shows_what_is_next() {
    let Some(mut it) = stage() else { return };
    it.hold.take();
    it.open("schedules");
    it.chrome
        .until(&format!("{}.includes('every hour')", of("schedules")));
    it.chrome.click("[data-testid=run-now]");
    it.chrome
        .until(&format!("{}.includes('no luck')", of("schedules")));
    assert_eq!(it.schedule.stats().runs, 1);
    it.chrome.click("[data-testid=preview]");
    it.chrome
        .until("document.querySelectorAll('[data-testid=preview-dialog] li').length === 10");
    it.is_clean();
}

#[test]
fn the_filter_is_in_the_address_and_works_by_keyboard() {
    let Some(mut it) = stage() else { return };
    it.open("overview");
    it.chrome.until(&format!("{} === 1", rows("pools")));
    it.chrome.key("/");
    it.chrome
        .until("document.activeElement.dataset.testid === 'filter'");
    it.chrome.fill("[data-testid=filter]", "nothing like it");
    it.chrome.until(&format!(
        "{} === 0 && location.hash.includes('q=nothing')",
        rows("pools")
    ));
    it.chrome.fill("[data-testid=filter]", "ORD");
    it.chrome.until(&format!("{} === 1", rows("pools")));
    it.chrome.eval("document.activeElement.blur()");
    it.chrome.key("s");
    it.chrome
        .until("document.querySelector('[data-testid=page-schedules]')");
    it.open("overview?q=zzz");
    it.chrome.until(&format!(
        "{} === 0 && document.querySelector('[data-testid=filter]').value === 'zzz'",
        rows("pools")
    ));
    it.is_clean();
}

#[test]
fn who_has_no_token_sees_no_buttons() {
    let Some(mut it) = stage() else { return };
    let open = format!("http://{}/#/pool/1/orders", it.server.address());
    it.go(&open);
    it.chrome.until(&format!("{} > 5", rows("queued")));
    for button in ["pause", "resize", "cancel", "run-next"] {
        assert_eq!(
            it.chrome.eval(&format!(
                "document.querySelectorAll('[data-testid={button}]').length"
            )),
            0,
            "{button}"
        );
    }
    // What the page does not offer the server does not do either.
    let script = "fetch('api/v1/pools/1/pause', {method: 'POST', headers: {'x-punctual': '1'}}).then((answer) => answer.status)";
    assert_eq!(it.chrome.eval(script), 401);
    it.chrome.complaints.clear();
    // The token can be given on the page.
    let token = it.server.token().to_owned();
    it.chrome.fill("input[name=token]", &token);
    it.chrome.click("[data-testid=rights] button");
    it.chrome.until(&format!("{} === 'may act'", of("rights")));
    it.chrome.click("[data-testid=pause]");
    it.chrome.until(&format!("{} === 'Resume'", of("pause")));
    assert!(it.pool.stats().paused);
    it.is_clean();
}

#[test]
fn read_only_hides_and_refuses() {
    let Some(mut it) = set(&PLAIN, |settings| settings.read_only(true)) else {
        return;
    };
    it.open("pool/1/orders");
    it.chrome.until(&format!("{} > 5", rows("queued")));
    assert_eq!(it.chrome.text("rights"), "read-only");
    assert_eq!(
        it.chrome
            .eval("document.querySelectorAll('[data-testid=pause], [data-testid=cancel]').length"),
        0
    );
    let script = "fetch('api/v1/pools/1/pause', {method: 'POST', headers: {'x-punctual': '1'}}).then((answer) => answer.status)";
    assert_eq!(it.chrome.eval(script), 403);
    assert!(!it.pool.stats().paused);
}

#[test]
fn the_token_leaves_the_address_and_colours_can_be_chosen() {
    let Some(mut it) = stage() else { return };
    it.open("overview");
    assert_eq!(it.chrome.eval("location.search"), "");
    assert_eq!(it.chrome.eval("document.cookie"), "", "no script can read it");
    let back = "getComputedStyle(document.documentElement).backgroundColor";
    it.chrome.window(1280, 800, "dark");
    let dark = it.chrome.eval(back);
    it.chrome.click("[data-testid=theme]");
    it.chrome.until(&format!("{back} !== {dark}"));
    it.open("overview");
    assert_eq!(
        it.chrome.eval("document.documentElement.dataset.theme"),
        "light",
        "it is remembered"
    );
    it.is_clean();
}

#[test]
fn a_phone_shows_it_without_scrolling_sideways() {
    let Some(mut it) = stage() else { return };
    it.chrome.window(390, 844, "light");
    for page in ["overview", "pool/1/orders", "schedules", "audit"] {
        it.open(page);
        let wide = it.chrome.eval("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= 390, "{page} is {wide} wide");
    }
    it.is_clean();
}

#[test]
fn a_hidden_tab_listens_no_longer_and_comes_back() {
    let Some(mut it) = stage() else { return };
    it.open("pool/1/orders");
    let hide = |is_hidden: bool| {
        format!(
            "Object.defineProperty(document, 'hidden', {{value: {is_hidden}, configurable: true}}); document.dispatchEvent(new Event('visibilitychange'))"
        )
    };
    it.chrome.eval(&hide(true));
    it.chrome.until(&format!("{} === 'paused'", of("live")));
    let watchers =
        "fetch('api/v1/snapshot').then((answer) => answer.json()).then((frame) => frame.cost.watchers)";
    it.chrome.until(&format!("(await {watchers}) === 0"));
    it.chrome.eval(&hide(false));
    it.chrome.until(&format!("{} === 'live'", of("live")));
    it.is_clean();
}
