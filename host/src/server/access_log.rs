//! The access log: one JSON line on stderr for each request. Never a header, a query, a body.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

use crate::limits::LOG_QUEUE_LINES_MAX;

/// Where the lines go. A thread writes them: a reader of stderr who stops reading stops the thread
/// and not the server, and lines that find no room are counted and dropped.
#[derive(Clone)]
pub struct AccessLog {
    lines: Option<SyncSender<String>>,
    dropped: Arc<AtomicU64>,
}

impl AccessLog {
    /// A log that writes to stderr.
    pub fn to_stderr() -> Self {
        let (lines, queue) = sync_channel(LOG_QUEUE_LINES_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let lost = Arc::clone(&dropped);
        std::thread::spawn(move || write_lines(&queue, &lost, &mut std::io::stderr()));
        Self { lines: Some(lines), dropped }
    }

    /// No log.
    pub fn off() -> Self {
        Self { lines: None, dropped: Arc::default() }
    }

    /// Begins the line of a request; it is written when the record goes.
    pub fn begin(&self, method: &http::Method, path: &str) -> Record {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        Record {
            log: self.clone(),
            started: Instant::now(),
            line: Line {
                time: time.map_or(0, |since| since.as_millis()),
                method: method.to_string(),
                path: path.to_owned(),
                status: None,
                component: None,
                duration_us: 0,
                bytes: 0,
                broken_off: false,
            },
        }
    }

    fn write(&self, line: &Line) {
        let Some(lines) = &self.lines else { return };
        let Ok(text) = serde_json::to_string(line) else {
            return;
        };
        if lines.try_send(text).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write_lines(queue: &Receiver<String>, dropped: &AtomicU64, out: &mut impl Write) {
    while let Ok(line) = queue.recv() {
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(out, "im: {lost} lines of the access log were dropped");
        }
        let _ = writeln!(out, "{line}");
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    /// Milliseconds since 1970 at which the request's head was there.
    time: u128,
    method: String,
    path: String,
    /// Absent when the client left before the answer began.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shared")]
    component: Option<Arc<str>>,
    /// Microseconds to the end of the answer.
    duration_us: u128,
    /// Bytes of the answer's body.
    bytes: u64,
    /// The answer did not come to its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    broken_off: bool,
}

fn shared<S: Serializer>(text: &Option<Arc<str>>, to: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(to)
}

/// The line of a request in work.
pub struct Record {
    log: AccessLog,
    started: Instant,
    line: Line,
}

impl Record {
    /// The component that answers.
    pub fn set_component(&mut self, id: &Arc<str>) {
        self.line.component = Some(Arc::clone(id));
    }

    /// The answer's head is there.
    pub fn set_status(&mut self, status: http::StatusCode) {
        self.line.status = Some(status.as_u16());
    }

    /// A part of the answer's body went out.
    pub fn add_bytes(&mut self, bytes: usize) {
        self.line.bytes = self.line.bytes.saturating_add(bytes as u64);
    }

    /// The answer's body failed.
    pub fn set_broken_off(&mut self) {
        self.line.broken_off = true;
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.line.duration_us = self.started.elapsed().as_micros();
        self.log.write(&self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture() -> (AccessLog, Receiver<String>) {
        let (lines, queue) = sync_channel(1);
        let log = AccessLog { lines: Some(lines), dropped: Arc::default() };
        (log, queue)
    }

    #[test]
    fn a_line_has_the_request_and_no_query() {
        let (log, queue) = capture();
        let mut record = log.begin(&http::Method::POST, "/api/msg/send");
        record.set_component(&"send".into());
        record.set_status(http::StatusCode::OK);
        record.add_bytes(12);
        drop(record);
        let line: serde_json::Value = serde_json::from_str(&queue.recv().unwrap()).unwrap();
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["bytes", "component", "durationUs", "method", "path", "status", "time"]);
        assert_eq!(line["bytes"], 12);
        assert_eq!(line["status"], 200);
    }

    #[test]
    fn a_full_queue_drops_and_tells() {
        let (log, queue) = capture();
        for _ in 0..3 {
            drop(log.begin(&http::Method::GET, "/"));
        }
        let AccessLog { lines, dropped } = log;
        drop(lines);
        let mut out = Vec::new();
        write_lines(&queue, &dropped, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("im: 2 lines of the access log were dropped\n{"), "{text}");
        assert_eq!(text.lines().count(), 2);
    }
}
