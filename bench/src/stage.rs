//! Everything that is started for a run, and one measurement on it.

use crate::bounds::Bounds;
use crate::failure::{Outcome, fail};
use crate::load::{self, Http, Link, Template};
use crate::meter::Meter;
use crate::scene::{self, Deep, OPENING};
use crate::servers::Servers;
use crate::servers::redis::Fsync;
use crate::stats::Sample;
use crate::subject::{Built, Subject, Tokens, tokens};
use crate::twin;
use futures::future::try_join_all;
use std::time::{Duration, Instant};

/// Connections on which batches are sent.
const BATCH_CONNECTIONS: usize = 4;

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Scale {
    pub rounds: usize,
    /// How long one loop counts.
    pub length: Duration,
    /// Messages above a deep page.
    pub depth: u64,
    /// Rows that are drained at once.
    pub rows: u64,
}

/// What a subject does.
#[derive(Clone, Copy)]
pub enum Work {
    Send(usize),
    Newest(usize),
    Deep,
    Batches,
    Drain,
}

pub struct Stage {
    // Dropped in this order: what stands on the servers first.
    im: Subject,
    twin: Subject,
    pub servers: Servers,
    pub tokens: Tokens,
    deep: Deep,
    pub bounds: Bounds,
    pub scale: Scale,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Im,
    Twin,
}

impl Who {
    pub const ALL: [Self; 2] = [Self::Im, Self::Twin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Im => "im",
            Self::Twin => "twin",
        }
    }
}

impl Stage {
    pub async fn set(built: &Built, fsync: Fsync, scale: Scale) -> Outcome<Self> {
        let servers = Servers::start(fsync).await?;
        let tokens = tokens(built, &servers)?;
        let im = Subject::im(built, &servers, fsync).await?;
        let twin = Subject::twin(&servers, fsync).await?;
        scene::prepare(&im, &tokens).await?;
        let deep = Deep::fill(&servers.postgres.url(), scale.depth).await?;
        for subject in [&im, &twin] {
            scene::check(subject, &tokens, &deep).await?;
        }
        let config = twin::config(&servers.redis.url(), &servers.postgres.url(), fsync.durability())?;
        let address = format!("127.0.0.1:{}", servers.redis.port);
        let meter = meter(&servers, None);
        let bounds = Bounds::prepare(&config, address, meter, scale.length, &deep, scale.rows).await?;
        Ok(Self { im, twin, servers, tokens, deep, bounds, scale })
    }

    pub async fn measure(&self, work: Work, who: Who) -> Outcome<Sample> {
        let subject = self.subject(who);
        match work {
            Work::Send(count) => {
                let templates = (0..count).map(|index| scene::send(&self.tokens, index)).collect();
                let sample = self.load(who, "\"duplicate\":false", templates).await?;
                subject.drain(&self.tokens).await?;
                Ok(sample)
            }
            Work::Newest(count) => {
                let templates = (0..count).map(|index| scene::newest(&self.tokens, index)).collect();
                self.load(who, OPENING, templates).await
            }
            Work::Deep => self.load(who, OPENING, vec![self.deep.pages(&self.tokens)]).await,
            Work::Batches => {
                let sample = self.fill(who).await?;
                subject.drain(&self.tokens).await?;
                Ok(sample)
            }
            Work::Drain => self.drain(who).await,
        }
    }

    pub fn subject(&self, who: Who) -> &Subject {
        match who {
            Who::Im => &self.im,
            Who::Twin => &self.twin,
        }
    }

    pub fn meter(&self, who: Who) -> Meter {
        meter(&self.servers, Some(self.subject(who)))
    }

    /// A connection to a subject.
    pub async fn link(&self, who: Who) -> Outcome<Link<Http>> {
        Link::open(&self.subject(who).address, Http { holds: "" }).await
    }

    async fn load(&self, who: Who, holds: &'static str, templates: Vec<Template>) -> Outcome<Sample> {
        let address = &self.subject(who).address;
        load::run(address, Http { holds }, templates, self.scale.length, self.meter(who)).await
    }

    /// Sends batches; their messages wait in the log then.
    async fn fill(&self, who: Who) -> Outcome<Sample> {
        let (requests, count) = scene::batches(&self.tokens, self.scale.rows);
        let meter = self.meter(who);
        let (before, begun) = (meter.read(), Instant::now());
        let send = async |first| {
            let mut link = self.link(who).await?;
            for request in requests.iter().skip(first).step_by(BATCH_CONNECTIONS) {
                link.exchange(request).await?;
            }
            Outcome::Ok(())
        };
        try_join_all((0..BATCH_CONNECTIONS).map(send)).await?;
        let sample = Sample::of_rows(count, begun.elapsed());
        Ok(Sample { cpu: meter.read().since(before).each(count), ..sample })
    }

    async fn drain(&self, who: Who) -> Outcome<Sample> {
        let filled = self.fill(who).await?.count;
        let meter = self.meter(who);
        let (before, begun) = (meter.read(), Instant::now());
        let drained = self.subject(who).drain(&self.tokens).await?;
        let sample = Sample::of_rows(drained, begun.elapsed());
        if drained != filled {
            return fail(format!("{filled} messages were sent and {drained} drained"));
        }
        Ok(Sample { cpu: meter.read().since(before).each(drained), ..sample })
    }
}

fn meter(servers: &Servers, subject: Option<&Subject>) -> Meter {
    Meter {
        subject: subject.map(|subject| subject.process.id()),
        redis: servers.redis.process.id(),
        postgres: servers.postgres.process.id(),
    }
}
