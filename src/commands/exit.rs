//! How a command ends that did not go well.

use database::Error;
use shell::{PrintError, Style, failure};
use std::io;
use std::process::ExitCode;

/// Why a command ends early.
#[derive(Debug)]
pub enum Exit {
    /// The request failed; said on standard error.
    Failed(Box<Error>),
    /// It was said already.
    Said,
    /// The reader of the output is gone, as in `… | head`: nobody is left to complain to.
    OutputClosed,
}

impl Exit {
    /// Says what there is to say.
    pub fn report(self) -> ExitCode {
        match self {
            Exit::Failed(error) => world::files::say(failure(&error, &Style::of_stderr())),
            Exit::Said => {}
            Exit::OutputClosed => return ExitCode::SUCCESS,
        }
        ExitCode::FAILURE
    }
}

impl From<Error> for Exit {
    fn from(error: Error) -> Exit {
        Exit::Failed(Box::new(error))
    }
}

impl From<io::Error> for Exit {
    fn from(error: io::Error) -> Exit {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Exit::OutputClosed;
        }
        Error::new("Tanglewood.DatabaseError.General.Io", error.to_string()).into()
    }
}

impl From<world::disk::DiskError> for Exit {
    fn from(error: world::disk::DiskError) -> Exit {
        Error::new("Tanglewood.DatabaseError.General.Io", error.to_string()).into()
    }
}

impl From<PrintError> for Exit {
    fn from(error: PrintError) -> Exit {
        match error {
            PrintError::Query(error) => error.into(),
            PrintError::Output(error) => error.into(),
        }
    }
}
