//! The command line: words in, a [`Command`] or a message out that names the word and what exists. Does nothing.

use std::ffi::OsString;

/// What the user asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// The default.
    Tour,
    /// Show [`HELP`].
    Help,
    /// Show the version.
    Version,
}

/// What exists, in an error's words.
const ALLOWED: &str = "tour, --help, --version";

/// The answer to `--help`.
pub(crate) const HELP: &str = "\
punctual: a tour of the Punctual executor on this machine

examples:
  punctual              run the tour: about a second, plain text, exit code 0 when every promise held
  punctual --version    say which version this is

usage: punctual [tour]

  tour             pools work off a mixed batch: results, borrowing tasks, joins inside tasks, growth, a panic, cancels,
                   a full queue, virtual time, a close
  -h, --help       this text
  -V, --version    the version
";

/// Reads the words after the program's name.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut command = None;
    for word in words {
        let this = match word.to_str() {
            // Help and version win over whatever stands beside them.
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--version" | "-V") => return Ok(Command::Version),
            Some("tour") => Command::Tour,
            _ => {
                return Err(format!(
                    "unknown argument '{}'; there are: {ALLOWED}",
                    word.to_string_lossy()
                ));
            }
        };
        if command.replace(this).is_some() {
            return Err("'tour' was given twice; give it once, or nothing".to_owned());
        }
    }
    Ok(command.unwrap_or(Command::Tour))
}
