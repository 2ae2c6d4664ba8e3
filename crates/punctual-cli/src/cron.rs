//! `punctual cron`: what a cron text means, its next runs, and the days on which the clocks are put.
//!
//! In: the text, a zone. Out: a sentence and times on standard output, or the library's error with the field marked.

use crate::args::CronArgs;
use crate::outcome::{Failure, Outcome};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use punctual::{CronDialect, Fold, Gap, Schedule};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::time::SystemTime;

pub(crate) fn run(args: &CronArgs, json: bool, out: &mut dyn Write) -> Outcome {
    let schedule = schedule(args)?;
    let zone = zone(args)?;
    let from = match &args.from {
        Some(text) => moment(text, &zone)?,
        None => SystemTime::now(),
    };
    let runs = schedule
        .preview(from, args.number.into())
        .map_err(|error| Failure::usage(format!("{error:#}")))?;
    let notes = odd_days(&schedule, &zone, from);
    let zoned = |time: &SystemTime| Timestamp::try_from(*time).map(|time| time.to_zoned(zone.clone()));
    let runs: Vec<Zoned> = runs.iter().filter_map(|time| zoned(time).ok()).collect();
    let here = zone.iana_name().unwrap_or("UTC");
    if json {
        let runs: Vec<String> = runs
            .iter()
            .map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
            .collect();
        let value = json!({
            "cron": args.expression, "zone": here, "sentence": schedule.to_string(), "next": runs, "notes": notes,
        });
        writeln!(out, "{value:#}")?;
        return Ok(());
    }
    writeln!(out, "{schedule}")?;
    if runs.is_empty() {
        writeln!(out, "no run is left")?;
    }
    let now = Timestamp::try_from(from).unwrap_or_else(|_| Timestamp::now());
    for time in &runs {
        let shown = time.strftime("%a %Y-%m-%d %H:%M:%S %Z (%:z)");
        writeln!(out, "  {shown}  in {}", until(now, time.timestamp()))?;
    }
    for note in notes.iter().take(4) {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

fn schedule(args: &CronArgs) -> Result<Schedule, Failure> {
    let wrong = |error: punctual::ScheduleError| Failure::usage(format!("{error:#}"));
    let mut schedule = Schedule::cron(&args.expression).map_err(wrong)?;
    if args.spring {
        schedule = schedule.dialect(CronDialect::Spring).map_err(wrong)?;
    }
    match &args.tz {
        Some(zone) => schedule.zone(zone).map_err(wrong),
        None => Ok(schedule),
    }
}

fn zone(args: &CronArgs) -> Result<TimeZone, Failure> {
    match &args.tz {
        Some(name) => TimeZone::get(name).map_err(|error| Failure::usage(error.to_string())),
        // As the library.
        None => Ok(TimeZone::UTC),
    }
}

fn moment(text: &str, zone: &TimeZone) -> Result<SystemTime, Failure> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant.into());
    }
    let local = text.parse::<jiff::civil::DateTime>();
    let zoned = local.and_then(|local| local.to_zoned(zone.clone()));
    zoned.map(|zoned| zoned.timestamp().into()).map_err(|_| {
        Failure::usage(format!(
            "--from {text:?} is no date and time; write 2027-03-28T00:00 or 2027-03-28T00:00:00Z"
        ))
    })
}

/// `2 h 5 min`, roughly.
fn until(now: Timestamp, then: Timestamp) -> String {
    let seconds = then.duration_since(now).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..172_800 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// How many runs ahead are looked at: a year of one that runs eight times a day.
const LOOKS_AHEAD: usize = 3_000;

/// Runs that clocks which are put forward or back move, drop or double, a sentence each: what the library does, and what it
/// would do under its other rules, side by side.
pub(crate) fn odd_days(schedule: &Schedule, zone: &TimeZone, from: SystemTime) -> Vec<String> {
    let ahead = |schedule: Schedule| schedule.preview(from, LOOKS_AHEAD).unwrap_or_default();
    let usual = ahead(schedule.clone());
    let without_gaps = ahead(schedule.clone().gap(Gap::Skip));
    let doubled = ahead(schedule.clone().fold(Fold::Both));
    let ends = [&usual, &without_gaps, &doubled].map(|runs| runs.last().copied());
    let Some(end) = ends.into_iter().flatten().min() else {
        return Vec::new();
    };
    let only_in = |these: &[SystemTime], those: &[SystemTime]| {
        let those: BTreeSet<&SystemTime> = those.iter().collect();
        let missing = these.iter().filter(|time| **time < end && !those.contains(time));
        let zoned = missing.filter_map(|time| Some(Timestamp::try_from(*time).ok()?.to_zoned(zone.clone())));
        zoned.collect::<Vec<Zoned>>()
    };
    let mut notes = Vec::new();
    for time in only_in(&usual, &without_gaps) {
        let (day, at) = (time.strftime("%a %Y-%m-%d"), time.strftime("%H:%M"));
        notes.push((
            time.clone(),
            format!("{day}: clocks go forward over its time; it runs at {at}, when they have"),
        ));
    }
    for time in only_in(&doubled, &usual) {
        let (day, at) = (time.strftime("%a %Y-%m-%d"), time.strftime("%H:%M"));
        notes.push((
            time.clone(),
            format!("{day}: clocks go back, {at} comes twice; it runs once"),
        ));
    }
    notes.sort_by(|a, b| a.0.cmp(&b.0));
    notes.into_iter().map(|(_, note)| note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::ToSpan;

    fn notes(cron: &str) -> Vec<String> {
        let schedule = Schedule::cron(cron).unwrap().zone("Europe/Berlin").unwrap();
        let from: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
        odd_days(&schedule, &TimeZone::get("Europe/Berlin").unwrap(), from.into())
    }

    #[test]
    fn a_time_in_the_gap_and_in_the_fold_is_said() {
        let notes = notes("30 2 * * *");
        assert!(
            notes[0].starts_with("Sun 2027-03-28: clocks go forward over its time; it runs at 03:00"),
            "{notes:?}"
        );
        assert!(
            notes[1].starts_with("Sun 2027-10-31: clocks go back, 02:30 comes twice"),
            "{notes:?}"
        );
    }

    #[test]
    fn other_times_are_not() {
        assert!(notes("0 9 * * *").is_empty());
    }

    /// Texts that are nearly right. The fuzz target `cron` does the same with more patience.
    #[test]
    fn no_cron_text_is_too_strange() {
        let seeds = [
            "30 2 * * *",
            "0 9 * * MON-FRI",
            "*/10 1-5 L,15W 2 5#3",
            "@daily",
            "0 0 0 29 2 ?",
            "* * * * * *",
        ];
        let pieces = [
            "*",
            "/",
            "-",
            ",",
            "L",
            "W",
            "#",
            "?",
            "0",
            "59",
            "99999999999",
            " ",
            "MON",
            "feb",
            "@",
            "\u{1F600}",
            "~",
        ];
        let mut state = 0x5eed_u64;
        let mut below = |limit: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % limit as u64) as usize
        };
        for _ in 0..3_000 {
            let mut text: Vec<char> = seeds[below(seeds.len())].chars().collect();
            for _ in 0..=below(3) {
                let at = below(text.len() + 1);
                let end = (at + below(3)).min(text.len());
                text.splice(at..end, pieces[below(pieces.len())].chars());
            }
            crate::fuzz::cron(&text.into_iter().collect::<String>());
        }
    }

    #[test]
    fn times_to_come_are_told_in_words() {
        let now: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
        let texts = [5, 65, 7_500, 400_000].map(|seconds| until(now, now + seconds.seconds()));
        assert_eq!(texts, ["5 s", "1 min 5 s", "2 h 5 min", "4 days"]);
    }
}
