//! Conversations as a user sees them.

mod from_sql;
mod in_cold;
mod statements;

pub(super) use from_sql::cold;
pub(super) use statements::countable_up_to;
use statements::{kept, newest_left};

use super::keys::Place;
use super::retention::times;
use super::revised::Become;
use super::warm::{Warmth, warm};
use super::{Tiered, limits, read, script, stamp};
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use crate::{arguments, params};
use im_domain::conversation::{Conversation, ConversationKind, History, LastMessage};
use im_domain::global::LookedUp;
use im_domain::limits::LAST_LOOK_MAX;
use im_domain::message::{Kind, SUMMARY_BYTES, Status, summary_of_bytes};
use im_domain::retention::Keeping;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result, UserId};

/// What scripts are told who have no user to ask for.
const NOTHING_EXPIRES: &str = "0 0 0 0";

/// Whether the hot store has a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Cold,
    Hot,
    /// It has one from before a loss.
    Untrusted,
}

/// A conversation beside one user's membership, as the hot store or SQL has it.
pub(super) struct View {
    pub state: State,
    pub epoch: String,
    facts: Option<Facts>,
}

/// What is known of a conversation that exists.
pub(super) struct Facts {
    cid: MsgId,
    pub kind: ConversationKind,
    history: History,
    members: u64,
    seq: u64,
    count: u64,
    last: MsgId,
    hot: MsgId,
    create_time: u64,
    update_time: u64,
    last_sender: String,
    last_kind: u64,
    last_summary: String,
    /// The last message that is no control message.
    shown: MsgId,
    shown_seq: u64,
    shown_status: Status,
    /// Messages after the member's read position that count and were taken back.
    recalled: u64,
    /// Those that have not expired and would be unread, had the member not hidden them; nobody has taken them back.
    hidden: u64,
    /// The member has hidden the last message, and the newest that is left is in SQL below this one, if anywhere.
    left_below: Option<MsgId>,
    /// Numbers of the last message, of the last change of members or settings, and of the last revision;
    /// 0: not known.
    pub versions: Versions,
    /// Number by which it stands in lists.
    pub placed: u64,
    pub member: Option<Member>,
    /// The oldest message that has not expired, as far as it is known, and the first place among those that count
    /// from it on.
    oldest: Option<(MsgId, u64)>,
    /// Of a member who has read nothing that has not expired: how many of its own count and have not.
    own_kept: u64,
    own: Keeping,
    /// The newest message that has expired.
    expired: MsgId,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Versions {
    pub said: u64,
    pub membership: u64,
    pub revision: u64,
}

pub(super) struct Member {
    floor: MsgId,
    pub read: MsgId,
    pub read_count: u64,
    pub read_own: u64,
    pub own: u64,
    pub muted: bool,
    /// Number of the last change of the read position.
    pub read_version: u64,
    /// The same of the member's own settings.
    pub set_version: u64,
    /// The same of what the member has hidden; 0: not known.
    pub hidden_version: u64,
}

impl View {
    /// One conversation as the hot store has it; `actor`: absent when no membership is of interest.
    pub async fn of<R: Redis, P: Postgres>(
        store: &Tiered<R, P>,
        place: &Place,
        actor: Option<&Actor>,
    ) -> Result<Self> {
        let places = std::slice::from_ref(place);
        let (_, mut views) = Self::all(store, store.node_of(place.partition), places, actor).await?;
        views.pop().ok_or_else(|| Error::internal("the script views gave no view"))
    }

    /// Several conversations of one server, and the number of the server's last change then.
    pub async fn all<R: Redis, P: Postgres>(
        store: &Tiered<R, P>,
        node: usize,
        places: &[Place],
        actor: Option<&Actor>,
    ) -> Result<(LookedUp, Vec<Self>)> {
        let keys: Vec<String> = places
            .iter()
            .flat_map(|place| [place.clock(), place.head(), place.members(), place.own(), place.messages()])
            .collect();
        // No user has an empty name. What has expired is of interest to users alone.
        let times = actor.map_or_else(|| NOTHING_EXPIRES.to_owned(), |actor| times(store, &actor.tenant));
        let arguments = arguments![actor.map_or("", |actor| actor.user.as_str()), times, LAST_LOOK_MAX];
        let (_, mut reply) = store.ask_node(node, &script::VIEWS, &keys, arguments).await?;
        let last_change = LookedUp { number: version(&mut reply)?, life: read::life(&mut reply)? };
        let views: Result<_> = places.iter().map(|_| Self::take(&mut reply)).collect();
        Ok((last_change, views?))
    }

    fn take(reply: &mut Reply) -> Result<Self> {
        let state = match reply.number()? {
            1 => State::Hot,
            2 => State::Untrusted,
            _ => State::Cold,
        };
        let epoch = reply.text()?;
        if state == State::Hot {
            return Ok(Self { state, epoch, facts: Some(Facts::take(reply)?) });
        }
        for _ in 0..35 {
            reply.bytes()?;
        }
        Ok(Self { state, epoch, facts: None })
    }

    pub fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }
}

impl Facts {
    fn take(reply: &mut Reply) -> Result<Self> {
        let cid = read::id(reply)?;
        let kind = case(reply.number()?, ConversationKind::from_number)?;
        let history = case(reply.number()?, History::from_number)?;
        let (members, seq, count) = (reply.number()?, reply.number()?, reply.number()?);
        let (last, hot) = (read::id(reply)?, read::id(reply)?);
        let (create_time, update_time) = (reply.number()?, reply.number()?);
        let last_sender = reply.text()?;
        let last_kind = reply.number()?;
        let last_summary = reply.text()?;
        let (shown, shown_seq) = (read::id(reply)?, reply.number()?);
        let shown_status = case(reply.number()?, Status::from_number)?;
        let versions =
            Versions { said: version(reply)?, membership: version(reply)?, revision: version(reply)? };
        let placed = version(reply)?;
        let member = reply.text()?;
        let own = reply.number()?;
        let member = (!member.is_empty()).then(|| Member::parse(&member, own)).transpose()?;
        let oldest_count = reply.number()?;
        let oldest = stamp::parse(&reply.text()?).map(|id| (id, oldest_count));
        let (recalled, own_kept) = (reply.number()?, reply.number()?);
        let hidden = reply.number()?;
        let hidden_version = version(reply)?;
        let member = member.map(|member| Member { hidden_version, ..member });
        let own = Keeping { retention_ms: reply.text()?.parse().ok(), legal_hold: reply.text()? == "1" };
        let expired = read::id(reply)?;
        let mut facts = Self {
            cid,
            kind,
            history,
            members,
            seq,
            count,
            last,
            hot,
            create_time,
            update_time,
            last_sender,
            last_kind,
            last_summary,
            shown,
            shown_seq,
            shown_status,
            recalled,
            hidden,
            left_below: None,
            versions,
            placed,
            member,
            oldest,
            own_kept,
            own,
            expired,
        };
        facts.take_left(reply)?;
        Ok(facts)
    }

    /// What is the last message to who has hidden the last one.
    fn take_left(&mut self, reply: &mut Reply) -> Result<()> {
        let place = reply.text()?;
        let id = stamp::parse(&reply.text()?);
        let (start, revised) = (reply.bytes()?, Become::parse(reply.bytes()?)?);
        if place.is_empty() {
            return Ok(());
        }
        self.shown = MsgId::NONE;
        match place.as_str() {
            "hot" => self.show(id.unwrap_or_default(), &start, revised)?,
            "sql" => self.left_below = id,
            _ => {}
        }
        Ok(())
    }

    fn show(&mut self, id: MsgId, start: &[u8], revised: Option<Become>) -> Result<()> {
        let (kind, seq, sender, summary) = read::start_of(start)?;
        (self.shown, self.shown_seq, self.last_kind) = (id, seq, kind);
        self.last_sender = sender.into_string();
        (self.last_summary, self.shown_status) = match revised {
            None => (summary, Status::Normal),
            Some(Become::Edited { content, .. }) => (summary_of_bytes(&content), Status::Normal),
            Some(Become::Gone(status)) => (String::new(), status),
        };
        Ok(())
    }

    /// The last message, if this reader may see it.
    fn last(&self) -> Result<Option<LastMessage>> {
        let joined = self.member.as_ref().filter(|_| self.history == History::FromJoin);
        let floor = joined.map_or(self.expired, |member| self.expired.max(member.floor));
        // One that was purged has no sender any more.
        if self.shown <= floor || self.last_sender.is_empty() {
            return Ok(None);
        }
        Ok(Some(LastMessage {
            msg_id: self.shown,
            seq: self.shown_seq,
            sender: UserId::parse(self.last_sender.as_str())?,
            kind: case(self.last_kind, Kind::from_number)?,
            summary: self.last_summary.clone(),
            create_time: self.shown.time_ms(),
            status: self.shown_status,
        }))
    }

    /// Countable messages of others after the read position, and after what has expired.
    fn unread(&self) -> u64 {
        let Some(member) = &self.member else { return 0 };
        if self.is_behind() {
            let kept = self.oldest.map_or(0, |(_, count)| (self.count + 1).saturating_sub(count));
            return kept.saturating_sub(self.own_kept + self.recalled + self.hidden);
        }
        let own = member.own.saturating_sub(member.read_own);
        self.count.saturating_sub(member.read_count).saturating_sub(own + self.recalled + self.hidden)
    }

    /// Whether the member has read nothing that has not expired.
    fn is_behind(&self) -> bool {
        !self.expired.is_none() && self.member.as_ref().is_some_and(|member| member.read < self.expired)
    }

    /// The newest message.
    pub fn head(&self) -> MsgId {
        self.last
    }

    pub fn conversation(&self, actor: &Actor, id: ConversationId, epoch: &str) -> Result<Conversation> {
        Ok(Conversation {
            id,
            kind: self.kind,
            member_count: self.members,
            last: self.last()?,
            head_seq: self.seq,
            unread: self.unread(),
            read_msg_id: self.member.as_ref().map_or(MsgId::NONE, |member| member.read),
            create_time: self.create_time,
            update_time: self.update_time,
            epoch: epoch.to_owned(),
            muted: self.member.as_ref().is_some_and(|member| member.muted),
            retention_ms: self.own.retention_ms,
            legal_hold: Some(self.own.legal_hold).filter(|_| actor.privileged),
        })
    }

    /// Looks in SQL for the last message that the member has not hidden, where it is there.
    async fn find_left<R: Redis, P: Postgres>(
        &mut self,
        store: &Tiered<R, P>,
        partition: u8,
        user: &UserId,
    ) -> Result<()> {
        let expired = self.expired;
        let Some(below) = self.left_below.take().filter(|below| *below > expired) else { return Ok(()) };
        let statement = format!(
            "SELECT x.msg_id, x.seq, x.sender, x.kind, x.status,
                CASE WHEN x.status = 0 THEN substring(x.content FROM 1 FOR {SUMMARY_BYTES}) END FROM ({}) x",
            newest_left("$1::bigint", "msg_id < $2::bigint", "$3::text")
        );
        let parameters = params![self.cid, below, user.as_str()];
        let db = store.sql(partition).await?;
        let mut rows = db.query(&statement, parameters).await?;
        let Some(row) = rows.first_mut() else { return self.find_left_in_cold(db, user, below).await };
        (self.shown, self.shown_seq, self.last_sender) = (row.msg_id()?, row.count()?, row.text()?);
        (self.last_kind, self.shown_status) = (row.count()?, row.case(Status::from_number)?);
        self.last_summary = row.opt_blob()?.map(|start| summary_of_bytes(&start)).unwrap_or_default();
        Ok(())
    }

    /// Looks in SQL for what is kept below the hot messages, where that matters.
    async fn complete<R: Redis, P: Postgres>(
        &mut self,
        store: &Tiered<R, P>,
        partition: u8,
        user: &UserId,
    ) -> Result<()> {
        self.find_left(store, partition, user).await?;
        if !self.is_behind() || self.hot.number() <= self.expired.number() + 1 {
            return Ok(());
        }
        let statement = format!(
            "SELECT (c.cold_msg_id > $2::bigint)::int, o.msg_id, o.place, coalesce(o.own, 0) FROM conversation c
            LEFT JOIN LATERAL ({}) o ON true WHERE c.cid = $1::bigint",
            kept("$1::bigint", "$2::bigint", "$3::bigint", "$4::text", "c.cold_msg_id <= $2::bigint")
        );
        let db = store.sql(partition).await?;
        let parameters = params![self.cid, self.expired, self.hot, user.as_str()];
        let mut rows = db.query(&statement, parameters).await?;
        let Some(row) = rows.first_mut() else { return Ok(()) };
        if row.flag()? {
            return self.complete_cold(db, user).await;
        }
        if let Some(oldest) = row.opt_msg_id()?.zip(row.opt_int()?.map(i64::unsigned_abs)) {
            self.oldest = Some(oldest);
        }
        self.own_kept += row.count()?;
        Ok(())
    }
}

/// Messages among which those of a user's own are counted.
const OWN_AMONG_MAX: usize = 5_000;

impl Member {
    /// `role floor-ms floor-low read-ms read-low read-count read-own muted read-version set-version`.
    pub fn parse(text: &str, own: u64) -> Result<Self> {
        let numbers: Option<Vec<u64>> = text.split(' ').map(|number| number.parse().ok()).collect();
        let malformed = || Error::internal("a member's entry in the hot store is malformed");
        let numbers: [u64; 10] = numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(malformed)?;
        let [
            _,
            floor_ms,
            floor_low,
            read_ms,
            read_low,
            read_count,
            read_own,
            muted,
            read_version,
            set_version,
        ] = numbers;
        Ok(Self {
            floor: stamp::join(floor_ms, floor_low),
            read: stamp::join(read_ms, read_low),
            read_count,
            read_own,
            own,
            muted: muted != 0,
            read_version,
            set_version,
            hidden_version: 0,
        })
    }
}

fn case<T>(number: u64, from: impl Fn(i64) -> Option<T>) -> Result<T> {
    let found = i64::try_from(number).ok().and_then(from);
    found.ok_or_else(|| Error::internal(format!("the number {number} stands for nothing known")))
}

fn version(reply: &mut Reply) -> Result<u64> {
    let text = reply.text()?;
    match text.is_empty() {
        true => Ok(0),
        false => text.parse().map_err(|_| Error::internal("a change's number in the hot store is malformed")),
    }
}

/// One conversation for one of its members.
pub(super) async fn one<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    id: &ConversationId,
) -> Result<Conversation> {
    match find(store, actor, id).await? {
        (conversation, true) => Ok(conversation),
        (_, false) => Err(Error::NotMember),
    }
}

/// As [`one`], after a change that the actor was allowed to make: also for who is no member, or no
/// longer one, but then without anything that was said.
pub(super) async fn after_change<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    id: &ConversationId,
) -> Result<Conversation> {
    let (mut conversation, is_member) = find(store, actor, id).await?;
    if !is_member {
        conversation.last = None;
    }
    Ok(conversation)
}

async fn find<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    id: &ConversationId,
) -> Result<(Conversation, bool)> {
    let place = Place::of(&actor.tenant, id);
    for _ in 0..limits::ATTEMPTS_MAX {
        let mut view = View::of(store, &place, Some(actor)).await?;
        if let Some(facts) = &mut view.facts {
            facts.complete(store, place.partition, &actor.user).await?;
            return Ok((facts.conversation(actor, id.clone(), &view.epoch)?, facts.member.is_some()));
        }
        match warm(store, &place).await? {
            Warmth::Hot => {}
            Warmth::Missing { .. } | Warmth::Elsewhere(_) => return Err(Error::ConversationNotFound),
        }
    }
    Err(Error::internal("a conversation was made hot again and again"))
}

/// Completes hot views for a list.
pub(super) async fn complete<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    user: &UserId,
    view: &mut View,
) -> Result<()> {
    match &mut view.facts {
        Some(facts) => facts.complete(store, place.partition, user).await,
        None => Ok(()),
    }
}
