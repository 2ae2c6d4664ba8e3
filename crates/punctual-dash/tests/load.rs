//! Two hundred tabs and a thousand requests a second, for a short while: everybody is served, and timers go on. How late they
//! are beside a quiet pool is measured by `--example load`.

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
    let done = load::clients(server.address(), Duration::from_secs(4)).unwrap();
    println!(
        "{done:?}, {} runs, {:?}",
        timer.stats().runs,
        pool.stats().lateness
    );
    assert!(
        done.frames >= 400,
        "each tab has its first frame and one more: {done:?}"
    );
    assert!(done.answers >= 100, "{done:?}");
    assert!(timer.stats().runs >= 100, "timers go on");
}
