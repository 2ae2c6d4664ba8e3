//! How a command of this program ends: [`Outcome`], and the exit codes.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | a task failed, or something could not be written |
//! | 2 | the command line is wrong |
//! | 3 | the file is wrong |
//! | 4 | an address cannot be used or reached |
//! | 130 | interrupted before everything was done |

use std::fmt;
use std::io;
use std::process::ExitCode;

/// What a command gives back.
pub(crate) type Outcome = Result<(), Failure>;

/// Why a command did not end well: what is said on standard error, if anything is left to say, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

pub(crate) const TASK_FAILED: u8 = 1;
pub(crate) const WRONG_FILE: u8 = 3;
pub(crate) const NO_ADDRESS: u8 = 4;
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Failure {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(2, message)
    }

    /// Everything has been said already.
    pub(crate) fn silent(code: u8) -> Self {
        Failure::new(code, "")
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The reader has seen enough (`punctual | head -1`): no failure of ours.
            io::ErrorKind::BrokenPipe => Failure::silent(0),
            io::ErrorKind::StorageFull => Failure::new(
                TASK_FAILED,
                format!("cannot write: {error}; make room and run again"),
            ),
            _ => Failure::new(TASK_FAILED, error.to_string()),
        }
    }
}
