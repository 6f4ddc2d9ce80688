//! How far a replay is: a bar on a terminal, else a line now and then.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::client::limits::PROGRESS_INTERVAL;
use crate::output;

const BAR: &str = "{msg} [{bar:40}] {human_pos}/{human_len} {per_sec} {eta}";

/// The progress of one reading of the file.
pub struct Progress {
    what: &'static str,
    total: Option<u64>,
    done: u64,
    /// On a terminal.
    bar: Option<ProgressBar>,
    told: Instant,
}

impl Progress {
    /// `total`: messages in all, where that is known.
    pub fn new(what: &'static str, total: Option<u64>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| bar(what, total));
        Self { what, total, done: 0, bar, told: Instant::now() }
    }

    /// Counts messages.
    pub fn add(&mut self, messages: u64) {
        self.done += messages;
        if let Some(bar) = &self.bar {
            bar.inc(messages);
        } else if self.told.elapsed() >= PROGRESS_INTERVAL {
            self.told = Instant::now();
            output::note(&self.line());
        }
    }

    /// A line for a person, which does not get mixed up with the bar.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(text)),
            None => output::note(text),
        }
    }

    fn line(&self) -> String {
        let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
        format!("im: {}: {}{of} messages", self.what, self.done)
    }
}

/// Leaves nothing of the bar: what comes after says how it ended.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &'static str, total: Option<u64>) -> ProgressBar {
    let bar = match total {
        Some(total) => {
            let bar = ProgressBar::new(total);
            // The template is valid; if it were not, the bar would only look different.
            bar.set_style(ProgressStyle::with_template(BAR).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        }
        None => ProgressBar::new_spinner(),
    };
    bar.set_message(what);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(total: Option<u64>) -> String {
        let mut progress = Progress::new("sending", total);
        progress.add(4);
        progress.line()
    }

    #[test]
    fn a_line_says_how_far_it_is() {
        assert_eq!(line(Some(9)), "im: sending: 4 of 9 messages");
        assert_eq!(line(None), "im: sending: 4 messages");
    }

    #[test]
    fn the_template_is_valid() {
        assert!(ProgressStyle::with_template(BAR).is_ok());
    }
}
