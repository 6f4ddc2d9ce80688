//! How a command ends when it does not end well.

use std::process::ExitCode;

/// Exit code of a command that was asked for the impossible; clap uses the same.
const EXIT_USAGE: u8 = 2;

/// A failed command: the text is the one line a person sees.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// The command line is right, the thing failed.
    #[error("{0}")]
    Failed(String),
}

impl CommandError {
    /// A failure told by any error.
    pub fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// A wrong use told by any error.
    pub fn usage(error: impl std::fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// 1 the thing failed, 2 wrong use.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(EXIT_USAGE),
            Self::Failed(_) => ExitCode::FAILURE,
        }
    }
}
