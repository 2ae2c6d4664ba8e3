//! Colours, where they are wanted: `--color`, `NO_COLOR`, and whether there is a terminal.

use crate::args::When;
use std::io::IsTerminal;

/// Whether to paint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) on: bool,
}

impl Paint {
    /// For standard error. `NO_COLOR` with any text in it wins over everything but a flag.
    pub(crate) fn for_talk(when: When) -> Self {
        Paint::of(when, std::io::stderr().is_terminal())
    }

    /// For standard output.
    pub(crate) fn for_data(when: When) -> Self {
        Paint::of(when, std::io::stdout().is_terminal())
    }

    fn of(when: When, is_terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let on = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => is_terminal && !refused,
        };
        Paint { on }
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
