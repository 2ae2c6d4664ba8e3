//! What can be wrong with a dashboard's settings, as a value that names the setting, its value and the fix.

use std::fmt;

/// A setting that cannot be, or an address that cannot be bound.
///
/// ```
/// let error = punctual_dash::Dashboard::builder().token("short").build().unwrap_err();
/// assert!(error.to_string().starts_with("token"), "{error}");
/// ```
pub struct DashError {
    setting: &'static str,
    value: String,
    why: String,
    help: &'static str,
    source: Option<std::io::Error>,
}

impl DashError {
    #[cold]
    pub(crate) fn new(
        setting: &'static str,
        value: impl fmt::Display,
        why: impl Into<String>,
        help: &'static str,
    ) -> Self {
        DashError {
            setting,
            value: value.to_string(),
            why: why.into(),
            help,
            source: None,
        }
    }

    #[cold]
    pub(crate) fn caused(mut self, source: std::io::Error) -> Self {
        self.source = Some(source);
        self
    }

    /// The setting it is about: `bind`, `token`, `hosts`, ..
    #[must_use]
    pub fn setting(&self) -> &str {
        self.setting
    }
}

impl fmt::Display for DashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DashError {
            setting,
            value,
            why,
            help,
            ..
        } = self;
        write!(f, "{setting} = {value}: {why}; {help}")
    }
}

impl fmt::Debug for DashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DashError({self})")
    }
}

impl std::error::Error for DashError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
