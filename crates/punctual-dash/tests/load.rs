//! Two hundred tabs and a thousand requests a second, for a short while: everybody is served, and timers go on. How late they
//! are beside a quiet pool is measured by `--example load`; here the clients are in the same process and nothing is optimised, so the
//! limits are wide.

#[allow(dead_code, reason = "the example's own main")]
#[path = "../examples/load.rs"]
mod load;

use punctual::{Pool, Schedule};
use punctual_dash::Dashboard;
use std::time::Duration;

#[test]
fn two_hundred_tabs_and_a_thousand_requests_a_second_are_served() {
    let pool = Pool::builder("timed").core_threads(2).build().unwrap();
    let server = Dashboard::builder().pool(pool.control()).serve().unwrap();
    let timer = pool
        .schedule(Schedule::every(Duration::from_millis(5)), |_| ())
        .unwrap();
    let seconds = 4;
    let done = load::clients(server.address(), Duration::from_secs(seconds)).unwrap();
    let late = pool.stats().lateness.quantile(0.99).unwrap();
    println!("{done:?}, {} runs, late by {late:?}", timer.stats().runs);
    assert!(
        done.frames >= 200 * 3,
        "each tab has its first frame and at least two more: {done:?}"
    );
    assert!(done.answers >= 1_000, "of 4000: {done:?}");
    let due = seconds * 1_000 / 5;
    assert!(timer.stats().runs >= due / 4, "timers go on");
    assert!(late < Duration::from_millis(250), "{late:?}");
}
