//! A dashboard that nobody serves does nothing, and one that has ended leaves nothing behind: in a process of its own, whose threads
//! are counted.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "the other tests need the rest")]
#[path = "http/support.rs"]
mod support;

use punctual_dash::Dashboard;

/// The threads of this process that are a dashboard's, by name.
fn threads() -> Vec<String> {
    let folder = std::fs::read_dir("/proc/self/task").unwrap();
    // One may end while it is looked at.
    let names = folder.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    let ours = names.filter(|name| ["punctual-look", "punctual-dash"].contains(&name.trim()));
    let mut ours: Vec<String> = ours.map(|name| name.trim().to_owned()).collect();
    ours.sort();
    ours
}

#[test]
fn without_a_page_nothing_runs_and_nothing_is_left_of_one() {
    let pool = support::pool("quiet");
    let none = [""; 0];
    let dashboard = Dashboard::builder().pool(pool.control()).build().unwrap();
    assert_eq!(threads(), none, "it is built, and nobody serves it");
    // One that is mounted looks; the one that answers is the application's.
    let router = dashboard.router();
    support::until(|| threads() == ["punctual-look"], "somebody looks");
    let server = dashboard.serve().unwrap();
    support::until(
        || threads() == ["punctual-dash", "punctual-look"],
        "one serves, and the same one looks",
    );
    server.shutdown();
    support::until(|| threads() == ["punctual-look"], "nobody serves");
    drop(router);
    assert_eq!(threads(), ["punctual-look"], "a handle is still there");
    drop(dashboard);
    support::until(|| threads() == none, "nothing of it runs");
    let dump = Dashboard::from_dump(pool.dump().to_json()).build().unwrap();
    let _router = dump.router();
    assert_eq!(threads(), none, "a dump does not change: nobody looks");
}
