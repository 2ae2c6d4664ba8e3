//! Time zones: the one place that knows where they come from.

use crate::schedule::ScheduleError;
use jiff::Timestamp;
use jiff::tz::TimeZone;

#[derive(Clone)]
pub(super) struct Zone(TimeZone);

/// A stretch of time in which a zone's clocks are not changed.
pub(super) struct Stretch {
    /// Seconds from UTC to local time.
    pub(super) offset: i64,
    begin: Option<Change>,
    pub(super) end: Option<Change>,
}

/// A change of the clocks.
#[derive(Clone, Copy)]
pub(super) struct Change {
    /// The first second with the new offset.
    pub(super) at: i64,
    /// The offset on its far side.
    pub(super) other: i64,
}

impl Stretch {
    /// The local time until which the beginning repeats what was before, if it does.
    pub(super) fn repeats_until(&self) -> Option<i64> {
        let begin = self.begin.filter(|begin| begin.other > self.offset)?;
        Some(begin.at + begin.other)
    }

    /// The local time from which on the end is repeated by what comes after, if it is.
    pub(super) fn repeated_from(&self) -> Option<i64> {
        let end = self.end.filter(|end| end.other < self.offset)?;
        Some(end.at + end.other)
    }
}

impl Zone {
    pub(super) fn utc() -> Zone {
        Zone(TimeZone::UTC)
    }

    pub(super) fn named(iana: &str) -> Result<Zone, ScheduleError> {
        let known = TimeZone::get(iana).ok().filter(|zone| !zone.is_unknown());
        known.map(Zone).ok_or_else(|| {
            let shown: String = iana.chars().take(64).collect();
            ScheduleError::new(
                "zone",
                format_args!("{shown:?}"),
                "no time zone has this name",
                "write an IANA name such as Asia/Seoul, Europe/Paris or UTC",
            )
        })
    }

    /// All that have a name.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Zone> {
        let names = jiff::tz::db().available();
        names.filter_map(|name| Zone::named(name.as_str()).ok()).collect()
    }

    pub(super) fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The stretch that an instant lies in; `None` outside of the calendar (years -9999 to 9999).
    pub(super) fn stretch(&self, at: i64) -> Option<Stretch> {
        let begin = self.0.preceding(timestamp(at + 1)?).next();
        let end = self.0.following(timestamp(at)?).next();
        let begin = begin.map(|change| change.timestamp().as_second());
        Some(Stretch {
            offset: self.offset(at)?,
            begin: begin.and_then(|at| {
                Some(Change {
                    at,
                    other: self.offset(at - 1)?,
                })
            }),
            end: end.map(|change| Change {
                at: change.timestamp().as_second(),
                other: change.offset().seconds().into(),
            }),
        })
    }

    fn offset(&self, at: i64) -> Option<i64> {
        Some(self.0.to_offset(timestamp(at)?).seconds().into())
    }
}

fn timestamp(at: i64) -> Option<Timestamp> {
    Timestamp::from_second(at).ok()
}
