//! Durations and sizes as people write them: `250ms`, `1h30m`, `64kB`.
//!
//! In: text. Out: a value, or a sentence that says what is possible. Pure.

use std::time::Duration;

/// The units of a duration, and their length in nanoseconds. `ms` before `m` and `s`: the longest name wins.
const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Longer than any run; times beyond it are mistakes of a unit.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

/// What a duration may look like, for messages.
pub(crate) const DURATION_FORM: &str =
    "write a number and a unit (ns, us, ms, s, m, h, d), as in \"250ms\" or \"1h30m\"";

/// `1h30m`, `0.5s`, `250ms`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is no duration; {DURATION_FORM}");
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(bad)?;
        let (number, after) = rest.split_at(digits);
        let letters = after
            .find(|c: char| !c.is_ascii_lowercase())
            .unwrap_or(after.len());
        let (unit, tail) = after.split_at(letters);
        let (_, nanoseconds) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?;
        total = total
            .checked_add(product(number, *nanoseconds).ok_or_else(bad)?)
            .filter(|total| *total <= LONGEST)
            .ok_or_else(|| format!("{text:?} is longer than a hundred years; {DURATION_FORM}"))?;
        rest = tail;
    }
    Ok(total)
}

/// Exact for whole numbers; fractions are of a unit.
fn product(number: &str, nanoseconds: u64) -> Option<Duration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    let seconds = u128::from(whole) * u128::from(nanoseconds);
    let part = (fraction * nanoseconds as f64).round() as u64;
    let nanoseconds = u64::try_from(seconds).ok()?.checked_add(part)?;
    Some(Duration::from_nanos(nanoseconds))
}

/// `4096`, `64kB`, `1MB`: powers of 1024, and no unit is bytes.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let bad = || format!("{text:?} is no size; write a number and B, kB, MB or GB, as in \"64kB\"");
    let text_ = text.trim();
    let digits = text_.find(|c: char| !c.is_ascii_digit()).unwrap_or(text_.len());
    let (number, unit) = text_.split_at(digits);
    let shift = match unit.trim() {
        "" | "B" => 0,
        "k" | "kB" | "KB" => 10,
        "M" | "MB" => 20,
        "G" | "GB" => 30,
        _ => return Err(bad()),
    };
    let number: usize = number.parse().map_err(|_| bad())?;
    number.checked_mul(1 << shift).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_add_up_their_parts() {
        for (text, milliseconds) in [
            ("250ms", 250),
            ("0s", 0),
            ("1.5s", 1_500),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            (" 10s ", 10_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(duration("1us20ns"), Ok(Duration::from_nanos(1_020)));
    }

    #[test]
    fn what_is_no_duration_says_what_is_one() {
        for text in [
            "",
            "5",
            "s",
            "1 s",
            "-1s",
            "1.s",
            ".5s",
            "1w",
            "1e3s",
            "1..2s",
            "１s",
            "99999999999d",
        ] {
            let error = duration(text).expect_err(text);
            assert!(error.contains("1h30m"), "{error}");
        }
    }

    #[test]
    fn sizes_are_powers_of_two() {
        for (text, size) in [
            ("0", 0),
            ("12", 12),
            ("64kB", 65_536),
            ("1MB", 1 << 20),
            ("2 GB", 2 << 30),
        ] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "k", "1TB", "-1", "99999999999999999GB"] {
            assert!(bytes(text).expect_err(text).contains("64kB"));
        }
    }
}
