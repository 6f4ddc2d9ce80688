//! Sixteen writers and four followers in eight rooms, while something is done to the servers.

use super::followers::{Seen, follow};
use super::ledger::{Acked, Ledger, Refusal};
use super::stage::Stage;
use super::writers::Writer;
use fastrand::Rng;
use im_tests::talk::group;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const WRITERS: usize = 16;
const FOLLOWERS: usize = 4;
const ROOMS: usize = 8;
/// How long until each writer has got a receipt again, after servers are back.
const GOES_ON_WITHIN: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(10);
/// Who makes the rooms, and whose devices follow.
pub const OWNER: &str = "owner";

/// What the writers and followers are told.
#[derive(Default)]
pub struct Signs {
    stop: AtomicBool,
    pause: AtomicBool,
    followers_stop: AtomicBool,
    writing: AtomicUsize,
}

impl Signs {
    /// Waits while there is a pause; says no at the end.
    pub async fn may_write(&self) -> bool {
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return false;
            }
            self.writing.fetch_add(1, Ordering::SeqCst);
            if !self.pause.load(Ordering::SeqCst) {
                return true;
            }
            self.written();
            tokio::time::sleep(POLL).await;
        }
    }

    pub fn written(&self) {
        self.writing.fetch_sub(1, Ordering::SeqCst);
    }

    pub fn followers_stop(&self) -> bool {
        self.followers_stop.load(Ordering::SeqCst)
    }
}

pub struct Load {
    signs: Arc<Signs>,
    ledger: Arc<Mutex<Ledger>>,
    writers: JoinSet<()>,
    followers: JoinSet<Vec<Seen>>,
    rooms: Arc<Vec<String>>,
}

/// What is left of a load: what was acknowledged, what was refused, what the followers have.
pub struct Done {
    pub rooms: Arc<Vec<String>>,
    pub acked: Vec<Acked>,
    pub refusals: Vec<Refusal>,
    pub seen: Vec<Seen>,
}

impl Load {
    pub async fn start(stage: &Stage, rng: &mut Rng) -> Self {
        let names: Vec<String> = (0..WRITERS).map(|n| format!("writer-{n}")).collect();
        let members: Vec<&str> = names.iter().map(String::as_str).collect();
        let rooms: Arc<Vec<String>> = Arc::new((0..ROOMS).map(|n| format!("room-{n}")).collect());
        let owner = stage.tenant(0).user(OWNER);
        for room in rooms.iter() {
            group(&owner, room, &members).await;
        }
        let (signs, ledger) = (Arc::default(), Arc::default());
        let mut load = Self { signs, ledger, writers: JoinSet::new(), followers: JoinSet::new(), rooms };
        load.people(stage, names, rng);
        load
    }

    fn people(&mut self, stage: &Stage, names: Vec<String>, rng: &mut Rng) {
        for n in 0..FOLLOWERS {
            let device = |host| stage.tenant(host).device(OWNER, &format!("device-{n}")).fresh();
            let hosts = (0..stage.hosts.len()).map(device).collect();
            self.followers.spawn(follow(hosts, Arc::clone(&self.rooms), Arc::clone(&self.signs)));
        }
        for (n, name) in names.into_iter().enumerate() {
            let writer = Writer {
                hosts: stage.user(&name),
                name,
                rooms: Arc::clone(&self.rooms),
                persisted: n % 4 == 3,
                batches: n % 8 >= 6,
                rng: rng.fork(),
                ledger: Arc::clone(&self.ledger),
                signs: Arc::clone(&self.signs),
            };
            self.writers.spawn(writer.write());
        }
    }

    /// Lets it run for so long; every writer gets at least one receipt in it, however long that takes.
    pub async fn goes_on(&mut self, time: Duration) {
        let (began, before) = (Instant::now(), Instant::now());
        loop {
            self.fails_if_one_has();
            let acked = self.acked_since(before);
            let mut senders: Vec<&str> = acked.iter().map(|one| one.sender.as_str()).collect();
            senders.sort_unstable();
            senders.dedup();
            if began.elapsed() >= time && senders.len() == WRITERS {
                return;
            }
            let late = began.elapsed() > time + GOES_ON_WITHIN;
            assert!(!late, "only these get receipts: {senders:?}; {:?}", self.last_refusals());
            tokio::time::sleep(POLL).await;
        }
    }

    /// Lets it run for so long, whoever gets anywhere.
    pub async fn lasts(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
        self.fails_if_one_has();
    }

    /// Stops the writers for a while, when each has a receipt for what it has sent.
    pub async fn pause(&mut self) {
        self.signs.pause.store(true, Ordering::SeqCst);
        while self.signs.writing.load(Ordering::SeqCst) > 0 {
            self.fails_if_one_has();
            tokio::time::sleep(POLL).await;
        }
    }

    pub fn resume(&self) {
        self.signs.pause.store(false, Ordering::SeqCst);
    }

    pub fn acked_since(&self, moment: Instant) -> Vec<Acked> {
        let ledger = self.ledger.lock().expect("no writer panics in it");
        ledger.acked.iter().rev().take_while(|one| one.at >= moment).cloned().collect()
    }

    /// Ends it when everything that was begun is acknowledged and every follower has everything.
    pub async fn finish(mut self) -> Done {
        self.signs.stop.store(true, Ordering::SeqCst);
        while let Some(ended) = self.writers.join_next().await {
            ended.expect("a writer goes on");
        }
        self.signs.followers_stop.store(true, Ordering::SeqCst);
        let mut seen = Vec::new();
        while let Some(ended) = self.followers.join_next().await {
            seen.extend(ended.expect("a follower goes on"));
        }
        let ledger = std::mem::take(&mut *self.ledger.lock().expect("no writer panics in it"));
        Done { rooms: self.rooms, acked: ledger.acked, refusals: ledger.refusals, seen }
    }

    /// A task that panics has printed why; it is not left until the end.
    fn fails_if_one_has(&mut self) {
        let writer = self.writers.try_join_next();
        assert!(writer.is_none(), "a writer has ended: {writer:?}");
        let follower = self.followers.try_join_next();
        assert!(follower.is_none(), "a follower has ended");
    }

    fn last_refusals(&self) -> Vec<Refusal> {
        let ledger = self.ledger.lock().expect("no writer panics in it");
        ledger.refusals.iter().rev().take(3).cloned().collect()
    }
}
