//! The second reading: from the file through the window to the server.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::census::Census;
use super::deliver::{Delivery, deliver};
use super::line::{Item, Line, LineError};
use super::progress::Progress;
use super::source::Lines;
use super::tally::Tally;
use super::window::{Job, Window};
use crate::client::Client;
use crate::client::limits::{LINES_AHEAD_MAX, REFUSALS_TOLD_MAX};

/// Reads every line and counts; the first fault is the end.
pub fn census(lines: Lines) -> Result<Census, LineError> {
    let mut census = Census::default();
    let mut progress = Progress::new("checking", None);
    for line in lines {
        census.add(line?)?;
        progress.add(1);
    }
    Ok(census)
}

/// Sends the messages of a checked file, up to `concurrency` conversations at once.
pub async fn send(client: Arc<Client>, census: Census, lines: Lines, concurrency: u16) -> Tally {
    let began = Instant::now();
    let tally = Tally { lines: census.lines, conversations: census.rolls.len(), ..Tally::default() };
    let progress = Progress::new("sending", Some(tally.lines));
    let mut sender = Sender {
        client,
        concurrency: concurrency.into(),
        window: Window::new(census.rolls),
        tasks: JoinSet::new(),
        tally,
        progress,
    };
    sender.run(read_ahead(lines)).await;
    Tally { took: began.elapsed(), ..sender.tally }
}

/// A message and its conversation, as they come out of the file.
type Read = Result<(Line, Item), LineError>;

/// Reads on a thread of its own, as far as there is room.
fn read_ahead(lines: Lines) -> mpsc::Receiver<Read> {
    let (sender, receiver) = mpsc::channel(LINES_AHEAD_MAX);
    tokio::task::spawn_blocking(move || {
        for line in lines {
            let read = line.and_then(|line| line.item().map(|item| (line, item)));
            // Nobody listens any more: the replay has stopped.
            if sender.blocking_send(read).is_err() {
                return;
            }
        }
    });
    receiver
}

struct Sender {
    client: Arc<Client>,
    concurrency: usize,
    window: Window,
    tasks: JoinSet<(Job, Delivery)>,
    tally: Tally,
    progress: Progress,
}

impl Sender {
    async fn run(&mut self, mut lines: mpsc::Receiver<Read>) {
        let mut is_open = true;
        loop {
            self.start();
            tokio::select! {
                read = lines.recv(), if is_open && !self.window.is_full() => {
                    is_open = self.put(read);
                }
                Some(ended) = self.tasks.join_next() => self.end(ended),
                else => return,
            }
            if self.tally.stopped.is_some() && is_open {
                is_open = false;
                lines.close();
            }
        }
    }

    /// Starts what can be started.
    fn start(&mut self) {
        while self.tally.stopped.is_none() && self.tasks.len() < self.concurrency {
            let Some(job) = self.window.take() else { return };
            let client = Arc::clone(&self.client);
            self.tasks.spawn(async move {
                let delivery = deliver(&client, &job).await;
                (job, delivery)
            });
        }
    }

    /// False: the file has ended.
    fn put(&mut self, read: Option<Read>) -> bool {
        match read {
            Some(Ok((line, item))) => {
                if !self.window.put(line.conversation.as_str(), item) {
                    self.tally.stopped = Some(LineError::new(line.number, "the file has changed meanwhile"));
                }
                true
            }
            Some(Err(fault)) => {
                self.tally.stopped = Some(fault);
                true
            }
            None => {
                self.window.close();
                false
            }
        }
    }

    fn end(&mut self, ended: Result<(Job, Delivery), tokio::task::JoinError>) {
        let (job, delivery) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                self.tally.stopped.get_or_insert_with(|| LineError::new(0, error));
                return;
            }
        };
        self.progress.add(delivery.sent + delivery.duplicates);
        self.tally.sent += delivery.sent;
        self.tally.duplicates += delivery.duplicates;
        for refusal in delivery.refused {
            self.refuse(refusal);
        }
        if let Some(reason) = delivery.stopped {
            self.tally.stopped.get_or_insert(reason);
        }
        self.window.done(&job.conversation);
    }

    /// The first refusal is told at the end, when the replay has failed for it.
    fn refuse(&mut self, refusal: LineError) {
        self.tally.refused += 1;
        if self.tally.first_refusal.is_none() {
            self.tally.first_refusal = Some(refusal);
        } else if self.tally.refused <= REFUSALS_TOLD_MAX {
            self.progress.note(&format!("im: {refusal}"));
        }
    }
}
