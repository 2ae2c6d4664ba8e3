//! Every weekday at 09:00 by the clocks of Seoul: a week of it, on a clock that is moved by hand.

use punctual::{Clock, Pool, Schedule};
use std::sync::mpsc::channel;
use std::time::{Duration, UNIX_EPOCH};

const DAY: Duration = Duration::from_secs(86_400);
const NAMES: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // 1970 began on a Thursday, at nine o'clock in Seoul; nine hours earlier it was midnight there.
    let clock = Clock::manual_at(UNIX_EPOCH - Duration::from_secs(9 * 3_600));
    let pool = Pool::builder("office").core_threads(1).clock(&clock).build()?;

    let opening = Schedule::cron("0 9 * * MON-FRI")?.zone("Asia/Seoul")?;
    assert_eq!(opening.to_string(), "every weekday at 09:00, Asia/Seoul");

    let (tell, told) = channel();
    let open = pool.schedule(opening.named("open"), move |run| {
        tell.send(run.scheduled).map_err(|_| "nobody listens")
    })?;
    assert_eq!(open.next_run(), Some(UNIX_EPOCH));

    clock.advance(7 * DAY);
    let days: Vec<&str> = told
        .try_iter()
        .map(|at| {
            let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            NAMES[(since.as_secs() / DAY.as_secs() % 7) as usize]
        })
        .collect();
    println!("open on {}", days.join(", "));
    assert_eq!(days, ["Thursday", "Friday", "Monday", "Tuesday", "Wednesday"]);
    assert_eq!(open.stats().failures, 0);
    Ok(())
}
