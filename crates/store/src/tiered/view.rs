//! Conversations as a user sees them.

mod in_cold;

use super::keys::Place;
use super::retention::{expired_up_to, times, times_in_sql};
use super::revised::Become;
use super::rows::{SHOWN, is_hidden};
use super::version::version_of;
use super::warm::{Warmth, warm};
use super::{Tiered, limits, read, script, stamp};
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use crate::sql::{Row, Value};
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

/// Countable messages up to an id at which, or below which, the cold part ends.
pub(super) fn countable_up_to(cid: &str, id: &str) -> String {
    format!(
        "greatest((SELECT countable FROM message WHERE cid = {cid} AND msg_id <= {id}
            ORDER BY msg_id DESC LIMIT 1), (SELECT last_countable FROM segment WHERE cid = {cid} AND last_id <= {id}
            ORDER BY last_id DESC LIMIT 1), 0)"
    )
}

/// Selects, of a conversation's messages above and below an id: the oldest, the first place among those that count
/// from it on, and how many of a user's count and were not taken back (among the newest ones); nothing unless
/// `condition`. A message counts if it raises the number of those that do.
fn kept(cid: &str, above: &str, below: &str, user: &str, condition: &str) -> String {
    let before = countable_up_to(cid, above);
    let range =
        format!("FROM message WHERE {condition} AND cid = {cid} AND msg_id > {above} AND msg_id < {below}");
    format!(
        "SELECT o.msg_id, o.countable + (o.countable = {before})::int AS place, (
            SELECT count(*) FROM (
                SELECT sender, status, countable - lag(countable, 1, {before}) OVER (ORDER BY msg_id) AS counts
                FROM (SELECT msg_id, sender, status, countable {range} ORDER BY msg_id DESC LIMIT {OWN_AMONG_MAX}) x) m
            WHERE m.sender = {user} AND m.status = 0 AND m.counts > 0) AS own
        FROM (SELECT msg_id, countable {range} ORDER BY msg_id LIMIT 1) o"
    )
}

/// Selects the newest message of a conversation that a user has not hidden, among the newest few of those for which
/// `condition` holds; control messages are none.
fn newest_left(cid: &str, condition: &str, user: &str) -> String {
    format!(
        "SELECT m.* FROM (SELECT * FROM message WHERE cid = {cid} AND {condition} AND {SHOWN}
                ORDER BY msg_id DESC LIMIT {LAST_LOOK_MAX}) m
            WHERE m.control_msg_id IS NULL AND NOT {} ORDER BY m.msg_id DESC LIMIT 1",
        is_hidden("m", user)
    )
}

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

/// Conversations of one database as SQL has them, in any order; those the user is no member of are
/// left out.
pub(super) async fn cold<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    database: usize,
    actor: &Actor,
    names: Vec<String>,
) -> Result<Vec<(ConversationId, View)>> {
    let statement = format!(
        "SELECT c.name, s.epoch, c.cid, c.kind, c.history, c.member_count, c.head_seq, c.head_countable,
            c.head_msg_id, c.create_time, c.update_time, x.sender, x.kind,
            CASE WHEN x.status = 0 THEN substring(x.content FROM 1 FOR {SUMMARY_BYTES}) END,
            EXISTS (SELECT 1 FROM revision v WHERE v.cid = c.cid)::int,
            c.shown_msg_id, x.msg_id, x.seq, x.status, (SELECT count(*) FROM revision v WHERE v.cid = c.cid
                AND v.countable > greatest(m.read_countable, coalesce(o.place - 1, 0))),
            (SELECT count(*) FROM hidden h WHERE h.cid = c.cid AND h.user_id = $3::text AND h.counts = 1
                AND h.msg_id > greatest(m.read_msg_id, e.expired) AND NOT EXISTS (SELECT 1 FROM revision v
                    WHERE v.cid = h.cid AND v.msg_id = h.msg_id AND v.countable > 0)),
            m.floor, m.read_msg_id, m.read_countable, m.read_own, m.own, m.muted,
            EXISTS (SELECT 1 FROM hidden h WHERE h.cid = c.cid AND h.user_id = $3::text)::int, o.msg_id, o.place,
            coalesce(o.own, 0), c.retention_ms, c.legal_hold, e.expired,
            (c.cold_msg_id > e.expired AND m.read_msg_id < e.expired)::int,
            (c.cold_msg_id > e.expired AND x.msg_id IS NULL)::int
        FROM conversation c
        JOIN member m ON m.cid = c.cid AND m.user_id = $3::text
        JOIN partition_state s ON s.partition = (c.cid >> 14) & 255
        CROSS JOIN LATERAL (SELECT {} AS expired) e
        LEFT JOIN LATERAL ({}) x ON true
        LEFT JOIN LATERAL ({}) o ON true
        WHERE c.tenant = $1::text AND c.name = ANY ($2::text[])",
        expired_up_to("$4"),
        newest_left("c.cid", "msg_id <= c.shown_msg_id AND msg_id > e.expired", "$3::text"),
        kept(
            "c.cid",
            "e.expired",
            "9223372036854775807",
            "$3::text",
            "m.read_msg_id < e.expired AND c.cold_msg_id <= e.expired"
        )
    );
    let parameters = vec![
        actor.tenant.as_str().into(),
        Value::Texts(names.into_iter().map(Some).collect()),
        actor.user.as_str().into(),
        times_in_sql(store, &actor.tenant),
    ];
    let db = store.database(database)?;
    let mut views = Vec::new();
    for mut row in db.query(&statement, parameters).await? {
        let (id, mut view) = cold_view(&mut row)?;
        let (begins_in_cold, has_left_in_cold) = (row.flag()?, row.flag()?);
        if let Some(facts) = view.facts.as_mut().filter(|_| begins_in_cold) {
            facts.complete_cold(db, &actor.user).await?;
            facts.recount(db).await?;
        }
        if let Some(facts) = view.facts.as_mut().filter(|_| has_left_in_cold) {
            facts.find_left_in_cold(db, &actor.user, MsgId::MAX).await?;
        }
        views.push((id, view));
    }
    Ok(views)
}

fn cold_view(row: &mut Row) -> Result<(ConversationId, View)> {
    let id = ConversationId::parse(row.text()?)?;
    let epoch = row.text()?;
    let mut facts = Facts {
        cid: row.msg_id()?,
        kind: row.case(ConversationKind::from_number)?,
        history: row.case(History::from_number)?,
        members: row.count()?,
        seq: row.count()?,
        count: row.count()?,
        last: row.msg_id()?,
        // Rows are all there is.
        hot: MsgId::MAX,
        create_time: row.count()?,
        update_time: row.count()?,
        last_sender: row.opt_text()?.unwrap_or_default(),
        last_kind: row.opt_int()?.unwrap_or_default().unsigned_abs(),
        last_summary: row.opt_blob()?.map(|start| summary_of_bytes(&start)).unwrap_or_default(),
        // By which number it was revised is not kept.
        versions: Versions { revision: if row.flag()? { u64::MAX } else { 0 }, ..Versions::default() },
        placed: version_of(row.msg_id()?),
        shown: row.opt_msg_id()?.unwrap_or_default(),
        shown_seq: row.opt_int()?.unwrap_or_default().unsigned_abs(),
        shown_status: row.opt_int()?.and_then(Status::from_number).unwrap_or(Status::Normal),
        recalled: row.count()?,
        hidden: row.count()?,
        left_below: None,
        member: Some(cold_member(row)?),
        oldest: row.opt_msg_id()?.zip(row.opt_int()?.map(i64::unsigned_abs)),
        own_kept: row.count()?,
        own: Keeping { retention_ms: row.opt_int()?.map(i64::unsigned_abs), legal_hold: row.flag()? },
        expired: row.msg_id()?,
    };
    facts.placed = facts.placed.max(version_of(facts.cid));
    Ok((id, View { state: State::Cold, epoch, facts: Some(facts) }))
}

fn cold_member(row: &mut Row) -> Result<Member> {
    Ok(Member {
        floor: row.msg_id()?,
        read: row.msg_id()?,
        read_count: row.count()?,
        read_own: row.count()?,
        own: row.count()?,
        muted: row.flag()?,
        read_version: u64::MAX,
        set_version: u64::MAX,
        hidden_version: if row.flag()? { u64::MAX } else { 0 },
    })
}
