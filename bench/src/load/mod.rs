//! The load: a closed loop on each of several connections. Every connection sends its next request
//! once the answer to the last has come whole, and never has two under way.
//!
//! It shares the machine with what it measures, so it is made cheap: one thread, requests that were
//! written beforehand up to an id, answers that are looked at only as far as to know that they are
//! whole and good.

mod http;
mod resp;
mod template;

pub use http::{Http, body, post};
pub use resp::{Resp, command};
pub use template::{Fill, Template};

use crate::failure::{Doing, Outcome, fail};
use crate::meter::Meter;
use crate::stats::Sample;
use futures::future::{join, try_join_all};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What goes before the part of a loop that counts: connections are opened and instances made.
const WARM_UP: Duration = Duration::from_millis(500);
const READ_BYTES: usize = 64 * 1024;

/// How answers are told from each other.
pub trait Protocol: Copy {
    /// Length of the answer at the front, if it is there whole; an error if it is no good one.
    fn answer(self, bytes: &[u8]) -> Outcome<Option<usize>>;
}

/// The part of a measurement that counts.
#[derive(Clone, Copy)]
pub struct Window {
    begin: Instant,
    end: Instant,
}

impl Window {
    pub fn of(length: Duration) -> Self {
        let begin = Instant::now() + WARM_UP;
        Self { begin, end: begin + length }
    }

    /// One closed loop; gives the time of each exchange that ended within the part that counts.
    pub async fn repeat(self, mut exchange: impl AsyncFnMut() -> Outcome) -> Outcome<Vec<Duration>> {
        let mut latencies = Vec::new();
        loop {
            let sent = Instant::now();
            if sent >= self.end {
                return Ok(latencies);
            }
            exchange().await?;
            latencies.extend(self.counted(sent));
        }
    }

    /// How long something took that ends now, if that is within the part that counts.
    pub fn counted(self, begun: Instant) -> Option<Duration> {
        let now = Instant::now();
        (self.begin..self.end).contains(&now).then(|| now - begun)
    }

    pub fn length(self) -> Duration {
        self.end - self.begin
    }

    /// Runs loops all at once.
    pub async fn gather(
        self,
        loops: impl IntoIterator<Item = impl Future<Output = Outcome<Vec<Duration>>>>,
        meter: Meter,
    ) -> Outcome<Sample> {
        let (latencies, cpu) = join(try_join_all(loops), meter.between(self.begin, self.end)).await;
        let sample = Sample::of(latencies?.concat(), self.length());
        Ok(Sample { cpu: cpu.each(sample.count), ..sample })
    }
}

/// Runs a loop on a connection of its own for each template.
pub async fn run<P: Protocol>(
    address: &str,
    protocol: P,
    templates: Vec<Template>,
    length: Duration,
    meter: Meter,
) -> Outcome<Sample> {
    let window = Window::of(length);
    let one = async |mut template: Template| {
        let mut link = Link::open(address, protocol).await?;
        window.repeat(async || link.exchange(template.next()).await.map(drop)).await
    };
    window.gather(templates.into_iter().map(one), meter).await
}

/// Connections on which requests are made by hand.
pub struct Link<P> {
    stream: TcpStream,
    protocol: P,
    answer: Vec<u8>,
}

impl<P: Protocol> Link<P> {
    pub async fn open(address: &str, protocol: P) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await.doing(|| address.to_owned())?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, protocol, answer: Vec::with_capacity(READ_BYTES) })
    }

    /// Sends a request and gives the bytes of the answer.
    pub async fn exchange(&mut self, request: &[u8]) -> Outcome<&[u8]> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return fail("the server closed the connection");
            }
            match self.protocol.answer(&self.answer)? {
                Some(length) if length == self.answer.len() => return Ok(&self.answer),
                Some(_) => return fail("more than one answer"),
                None => {}
            }
        }
    }
}
