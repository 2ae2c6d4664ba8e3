//! Cron by the clocks of a place: what a text means, and when it will run, before anything is started.

use punctual::{CronDialect, Gap, Schedule};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let opening = Schedule::cron("0 9 * * MON-FRI")?.zone("Asia/Seoul")?;
    println!("{opening}:");
    for run in opening.preview(SystemTime::now(), 5)? {
        println!(
            "  in {} minutes",
            run.duration_since(SystemTime::now())?.as_secs() / 60
        );
    }

    // The last night of March 2013: Amsterdam's clocks go from 02:00 to 03:00, and 02:10 does not exist.
    let midnight = UNIX_EPOCH + Duration::from_secs(1_364_684_400);
    let nightly = Schedule::cron("10 2 * * *")?.zone("Europe/Amsterdam")?;
    let hours = |runs: Vec<SystemTime>| -> Vec<u64> {
        let hours = |run: SystemTime| {
            run.duration_since(midnight)
                .map_or(0, |wait| wait.as_secs() / 3_600)
        };
        runs.into_iter().map(hours).collect()
    };
    assert_eq!(hours(nightly.preview(midnight, 2)?), [2, 25]); // right after the gap, then 02:10 again
    assert_eq!(hours(nightly.gap(Gap::Skip).preview(midnight, 2)?), [25, 49]);

    // Crontabs mean either of the two day fields, Spring means both.
    let either = Schedule::cron("0 0 13 * FRI")?;
    println!("{either}\n{}", either.clone().dialect(CronDialect::Spring)?);

    // What can never run is refused when it is written, and the error shows where.
    let error = Schedule::cron("0 0 31 JUN *").unwrap_err();
    println!("{error:#}");
    assert_eq!(error.field(), "day of month");
    Ok(())
}
