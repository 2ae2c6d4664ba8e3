//! [`ScheduleError`]: why a schedule cannot be, and where in its text.

use std::fmt;
use std::ops::Range;

/// A schedule that cannot be: which field, its value, the limit, and what to do.
///
/// `{}` is one line; `{:#}` adds the cron text with the field underlined.
///
#[cfg_attr(feature = "cron", doc = "```")]
#[cfg_attr(not(feature = "cron"), doc = "```ignore")]
/// use punctual::Schedule;
///
/// let error = Schedule::cron("0 25 * * *").unwrap_err();
/// assert_eq!(error.field(), "hour");
/// assert_eq!(
///     error.to_string(),
///     "hour (field 2 of 5) = 25: hours go from 0 to 23; write an hour in that range, or * for every hour"
/// );
/// assert!(format!("{error:#}").ends_with("\n  0 25 * * *\n    ^^"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ScheduleError(Box<Fault>);

#[derive(Clone, PartialEq, Eq)]
struct Fault {
    parts: ErrorParts,
    place: Option<Place>,
}

/// What an error says, in its parts: for an engine that has an error type of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorParts {
    /// The setting's name, or the cron field's.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// Which limit it breaks.
    pub limit: String,
    /// What to do.
    pub fix: String,
}

/// Where in a cron text the fault is.
#[derive(Clone, PartialEq, Eq)]
struct Place {
    text: String,
    /// Bytes of the text; it is ASCII wherever a place is known.
    bytes: Range<usize>,
    /// Number of the field and of all fields, if the text could be cut into fields.
    number: Option<(usize, usize)>,
}

impl ScheduleError {
    #[cold]
    pub(crate) fn new(
        field: &'static str,
        value: impl fmt::Display,
        limit: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        ScheduleError(Box::new(Fault {
            parts: ErrorParts {
                field,
                value: value.to_string(),
                limit: limit.into(),
                fix: fix.into(),
            },
            place: None,
        }))
    }

    /// Points at bytes of a cron text, and says which of its fields they are.
    #[cfg(feature = "cron")]
    pub(crate) fn at(mut self, text: &str, bytes: Range<usize>, number: Option<(usize, usize)>) -> Self {
        self.0.place = Some(Place {
            // On one line, and as wide as it is long.
            text: text.replace(|c: char| c.is_ascii_whitespace(), " "),
            bytes,
            number,
        });
        self
    }

    /// What cannot be: the setting's name, or the cron field's.
    #[must_use]
    pub fn field(&self) -> &str {
        self.0.parts.field
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { parts, place } = &*self.0;
        let ErrorParts {
            field,
            value,
            limit,
            fix,
        } = parts;
        f.write_str(field)?;
        if let Some(Place {
            number: Some((number, of)),
            ..
        }) = place
        {
            write!(f, " (field {number} of {of})")?;
        }
        write!(f, " = {value}: {limit}; {fix}")?;
        match place {
            Some(Place { text, bytes, .. }) if f.alternate() => {
                write!(
                    f,
                    "\n  {text}\n  {:2$}{:^<3$}",
                    "",
                    "",
                    bytes.start,
                    bytes.len().max(1)
                )
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScheduleError({self})")
    }
}

impl std::error::Error for ScheduleError {}

impl From<ScheduleError> for ErrorParts {
    fn from(error: ScheduleError) -> Self {
        error.0.parts
    }
}
