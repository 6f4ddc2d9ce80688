//! Runs of the binary `im` to their end, as at a shell.

use crate::server;
use std::io::Write;
use std::process::{Command, Stdio};

/// What is left of a command.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `im` with nothing on its stdin.
pub fn im(args: &[&str]) -> Ended {
    im_reading(args, "")
}

/// Runs `im` with `stdin`.
pub fn im_reading(args: &[&str], stdin: &str) -> Ended {
    let mut child = Command::new(server::program())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("im can be started");
    // One that does not read has closed it: that is no fault.
    let _ = child.stdin.take().expect("stdin is piped").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("im can be waited for");
    let text = |bytes| String::from_utf8(bytes).expect("im writes UTF-8");
    Ended {
        code: output.status.code().expect("im is not killed"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

impl Ended {
    /// Expects success, and gives the lines of stdout.
    #[track_caller]
    pub fn done(&self) -> Vec<&str> {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout.lines().collect()
    }

    /// Expects success without a word on stderr, and gives the lines of stdout.
    #[track_caller]
    pub fn quietly(&self) -> Vec<&str> {
        assert_eq!(self.stderr, "", "{self:?}");
        self.done()
    }

    /// Expects a failure that is told by one line, with these words, and by nothing else.
    #[track_caller]
    pub fn failed(&self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("im: ") && self.stderr.contains(words), "{words}: {self:?}");
    }
}
