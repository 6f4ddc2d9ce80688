//! How far a replay is: a bar on a terminal, else a line now and then.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Instant;

use indicatif::style::TemplateError;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::client::limits::PROGRESS_INTERVAL;
use crate::output;

const BAR: &str = "{msg} [{bar:40}] {human_pos} of {human_len} messages, {rate}, {eta}";
/// Where nobody knows yet how many there are.
const COUNT: &str = "{msg} {human_pos} messages, {rate}";

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
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), BAR),
        None => (ProgressBar::new_spinner(), COUNT),
    };
    // The templates are valid; if one were not, the bar would only look different.
    if let Ok(style) = style(template) {
        bar.set_style(style);
    }
    bar.with_message(what)
}

fn style(template: &str) -> Result<ProgressStyle, TemplateError> {
    let rate = |state: &ProgressState, out: &mut dyn Write| {
        let _ = write!(out, "{:.0}/s", state.per_sec());
    };
    Ok(ProgressStyle::with_template(template)?.with_key("rate", rate))
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
    fn the_templates_are_valid() {
        assert!(style(BAR).is_ok() && style(COUNT).is_ok());
    }
}
