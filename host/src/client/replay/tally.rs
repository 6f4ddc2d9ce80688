//! What has become of the messages.

use std::time::Duration;

use super::line::LineError;

/// The outcome of a replay so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Messages of the file.
    pub lines: u64,
    pub conversations: usize,
    /// Stored by this replay.
    pub sent: u64,
    /// Stored before: by an earlier replay, or by an attempt of this one whose answer got lost.
    pub duplicates: u64,
    /// Messages that the server refused for themselves, and the first of them.
    pub refused: u64,
    pub first_refusal: Option<LineError>,
    /// Why the replay ended before the file did.
    pub stopped: Option<LineError>,
    pub took: Duration,
}

impl Tally {
    /// Messages the server has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.sent + self.duplicates
    }

    /// Messages it has not, whatever the reason.
    pub fn failed(&self) -> u64 {
        self.lines.saturating_sub(self.acknowledged())
    }

    /// A label and a figure on each line.
    pub fn summary(&self) -> String {
        let seconds = self.took.as_secs_f64();
        let rate = if seconds > 0.0 { self.acknowledged() as f64 / seconds } else { 0.0 };
        [
            ("sent", self.sent.to_string()),
            ("duplicates", self.duplicates.to_string()),
            ("failed", self.failed().to_string()),
            ("conversations", self.conversations.to_string()),
            ("seconds", format!("{seconds:.2}")),
            ("messages/s", format!("{rate:.0}")),
        ]
        .map(|(label, figure)| format!("{label:<14}{figure}"))
        .join("\n")
    }

    /// Why the replay has failed, if it has: the line that ended it, else the first refused one.
    pub fn failure(&self) -> Option<String> {
        if let Some(stopped) = &self.stopped {
            return Some(format!("{stopped}; not acknowledged: {} messages", self.failed()));
        }
        let first = self.first_refusal.as_ref();
        first.map(|first| format!("{first}; refused: {} messages", self.refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_every_figure() {
        let tally = Tally {
            lines: 10,
            conversations: 2,
            sent: 5,
            duplicates: 3,
            took: Duration::from_millis(500),
            ..Tally::default()
        };
        assert_eq!(
            tally.summary(),
            "sent          5\nduplicates    3\nfailed        2\nconversations 2\nseconds       0.50\nmessages/s    16"
        );
        assert_eq!(tally.failure(), None);
        assert!(Tally::default().summary().ends_with("messages/s    0"));
    }

    #[test]
    fn a_failure_names_a_line() {
        let mut tally = Tally { lines: 10, sent: 8, refused: 2, ..Tally::default() };
        tally.first_refusal = Some(LineError::new(3, "conflict"));
        assert_eq!(tally.failure().unwrap(), "line 3: conflict; refused: 2 messages");
        tally.stopped = Some(LineError::new(7, "gone"));
        assert_eq!(tally.failure().unwrap(), "line 7: gone; not acknowledged: 2 messages");
    }
}
