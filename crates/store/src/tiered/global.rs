//! What has changed for a user over all conversations.
//!
//! The index says in which conversations something has changed; those with too many members to tell each
//! are looked up. How they stand is asked afterwards, so it is at least as new as what was noted, and
//! the cursor goes no further than what was noted.

use super::Tiered;
use super::index::{self, Noted, NotedChange};
use super::keys::{Place, partition_of_user};
use super::standing::{Standing, standing};
use super::warm::warm;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::global::{ChangeKind, Changed, Changes, GlobalCursor, Known, WalkStart};
use im_domain::page::Reset;
use im_domain::storage::Actor;
use im_domain::{ConversationId, MsgId, Result};
use std::collections::{BTreeMap, HashMap};

pub(super) async fn changes<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    cursor: Option<&GlobalCursor>,
    limit: u32,
) -> Result<Changes> {
    let limit = limit as usize;
    let noted = index::changes(store, actor, cursor, limit + 1).await?;
    let cursor = cursor.filter(|_| noted.reset.is_none());
    let mut walk = Walk::new(store.nodes.len(), &noted, cursor, limit);
    walk.take_noted(&noted);
    let mut places: Vec<Place> = walk.taken.iter().map(|taken| taken.place.clone()).collect();
    if !walk.has_more {
        places.extend(noted.looked_up.iter().cloned());
    }
    places.sort_unstable();
    places.dedup();
    let mut found = standing(store, actor, &places).await?;
    if !walk.has_more {
        make_hot(store, actor, &noted.looked_up, &mut found).await?;
        walk.take_looked_up(&noted, &found, |place| store.node_of(place.partition));
    }
    let own = store.node_of(partition_of_user(&actor.tenant, &actor.user));
    let describe = |taken: &Taken| {
        let node = store.node_of(taken.place.partition);
        taken.describe(&found, walk.known_before(node, node == own))
    };
    let changed = walk.taken.iter().filter_map(describe).collect::<Result<_>>()?;
    Ok(Changes {
        changed,
        has_more: walk.has_more,
        reset: noted.reset.map(|reason| Reset { reason, oldest: MsgId::NONE }),
        cursor: walk.cursor(noted.epoch).to_string(),
    })
}

/// Makes conversations hot that are to be looked up: what has changed in them is known of hot ones alone.
async fn make_hot<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    looked_up: &[Place],
    found: &mut HashMap<String, Standing>,
) -> Result<()> {
    let is_cold = |place: &&Place| found.get(&place.name).is_some_and(|one| one.is_cold);
    let cold: Vec<Place> = looked_up.iter().filter(is_cold).cloned().collect();
    if cold.is_empty() {
        return Ok(());
    }
    for place in &cold {
        warm(store, place).await?;
    }
    // All of them: the cursor moves to the latest.
    found.extend(standing(store, actor, looked_up).await?);
    Ok(())
}

/// A conversation of an answer.
struct Taken {
    place: Place,
    is_said: bool,
    is_other: bool,
    is_looked_up: bool,
    /// It has too many members to tell each.
    is_wide: bool,
}

/// Fills an answer in the order of the changes, and moves as far what the device knows.
struct Walk {
    start: WalkStart,
    known: Known,
    limit: usize,
    taken: Vec<Taken>,
    has_more: bool,
}

/// What a device knew of a conversation when its walk began.
struct KnownBefore {
    noted: u64,
    looked_up: u64,
    /// The conversation is on the server of the index: their numbers compare.
    is_near: bool,
}

impl Walk {
    fn new(nodes: usize, noted: &Noted, cursor: Option<&GlobalCursor>, limit: usize) -> Self {
        let mut known = cursor.map(|cursor| cursor.known.clone()).unwrap_or_default();
        known.looked_up.resize(nodes, 0);
        let start = match cursor {
            None => WalkStart { last: noted.last, known: known.clone() },
            Some(GlobalCursor { walk: Some(start), .. }) => start.clone(),
            Some(_) => WalkStart { last: 0, known: known.clone() },
        };
        Self { start, known, limit, taken: Vec::new(), has_more: false }
    }

    /// None: nothing, the walk is one from the start.
    fn known_before(&self, node: usize, is_near: bool) -> Option<KnownBefore> {
        let Known { noted, looked_up } = &self.start.known;
        let looked_up = looked_up.get(node).copied().unwrap_or_default();
        (*noted > 0).then_some(KnownBefore { noted: *noted, looked_up, is_near })
    }

    fn cursor(self, epoch: String) -> GlobalCursor {
        GlobalCursor { epoch, known: self.known, walk: self.has_more.then_some(self.start) }
    }

    fn take_noted(&mut self, noted: &Noted) {
        let mut changes: Vec<&NotedChange> = noted.changes.iter().collect();
        changes.sort_by_key(|change| change.number);
        let mut at: BTreeMap<&Place, usize> = BTreeMap::new();
        for change in changes {
            let place = *at.entry(&change.place).or_insert(self.taken.len());
            if place == self.taken.len() {
                if self.taken.len() == self.limit {
                    self.has_more = true;
                    return;
                }
                let place = change.place.clone();
                let is_wide = noted.looked_up.contains(&place);
                self.taken.push(Taken {
                    place,
                    is_said: false,
                    is_other: false,
                    is_looked_up: false,
                    is_wide,
                });
            }
            if let Some(taken) = self.taken.get_mut(place) {
                taken.is_said |= change.is_said;
                taken.is_other |= !change.is_said;
            }
            self.known.noted = change.number;
        }
        self.known.noted = self.known.noted.max(noted.last);
    }

    fn look_up(&mut self, place: &Place) {
        match self.taken.iter_mut().find(|taken| taken.place == *place) {
            Some(taken) => taken.is_looked_up = true,
            None => self.taken.push(Taken {
                place: place.clone(),
                is_said: false,
                is_other: false,
                is_looked_up: true,
                is_wide: true,
            }),
        }
    }

    /// Goes on with conversations that are looked up, as far as there is room, for each server in the order of
    /// its changes.
    fn take_looked_up(
        &mut self,
        noted: &Noted,
        found: &HashMap<String, Standing>,
        node_of: impl Fn(&Place) -> usize,
    ) {
        let mut parts: BTreeMap<usize, Vec<(u64, &Place, u64)>> = BTreeMap::new();
        for place in &noted.looked_up {
            let Some(one) = found.get(&place.name) else { continue };
            let newest = one.versions.said.max(one.versions.membership).max(one.versions.revision);
            match one.is_cold {
                // By which number it has changed is not known: it is named, and the cursor stays.
                true if self.taken.len() < self.limit => self.look_up(place),
                true => self.has_more = true,
                false => parts.entry(node_of(place)).or_default().push((newest, place, one.seen_up_to)),
            }
        }
        for (node, mut changes) in parts {
            let Some(up_to) = self.known.looked_up.get(node).copied() else { continue };
            changes.retain(|(newest, ..)| *newest > up_to);
            changes.sort_unstable();
            for (newest, place, seen_up_to) in changes {
                if self.taken.len() == self.limit && !self.taken.iter().any(|taken| taken.place == *place) {
                    self.has_more = true;
                    return;
                }
                self.look_up(place);
                if let Some(up_to) = self.known.looked_up.get_mut(node) {
                    // What changed while they were asked about in parts is named once more: another may have changed
                    // before it and after its part.
                    *up_to = newest.min(seen_up_to).max(*up_to);
                }
            }
        }
    }
}

impl Taken {
    /// None: nothing that the user may know of.
    fn describe(
        &self,
        found: &HashMap<String, Standing>,
        known: Option<KnownBefore>,
    ) -> Option<Result<Changed>> {
        let id = ConversationId::parse(self.place.conversation());
        let Some(standing) = found.get(&self.place.name) else {
            // What was said is nothing to who has left since; that the user has is told by itself.
            return self.is_other.then(|| {
                Ok(Changed {
                    conversation: id?,
                    head_msg_id: MsgId::NONE,
                    head_seq: 0,
                    unread: 0,
                    read_msg_id: MsgId::NONE,
                    kinds: vec![ChangeKind::Membership],
                    left: true,
                })
            });
        };
        let conversation = &standing.conversation;
        Some(id.map(|id| Changed {
            conversation: id,
            head_msg_id: standing.head,
            head_seq: conversation.head_seq,
            unread: conversation.unread,
            read_msg_id: conversation.read_msg_id,
            kinds: self.kinds(standing, known),
            left: false,
        }))
    }

    fn kinds(&self, standing: &Standing, known: Option<KnownBefore>) -> Vec<ChangeKind> {
        let Some(known) = known else {
            let is_read = !standing.conversation.read_msg_id.is_none();
            let kinds = [ChangeKind::Messages, ChangeKind::Membership];
            return kinds.into_iter().chain(is_read.then_some(ChangeKind::Read)).collect();
        };
        if standing.is_cold {
            // By which numbers it has changed is not kept.
            return ChangeKind::ALL.to_vec();
        }
        let after = if self.is_looked_up { known.looked_up } else { known.noted };
        // Numbers of another server say nothing about one of the index's.
        let is_unclear = !known.is_near && !self.is_looked_up;
        let versions = standing.versions;
        let is_changed = versions.membership > after;
        let is_read = self.is_other && (is_unclear || standing.read_version > known.noted);
        let is_set = self.is_other && (is_unclear || standing.set_version > known.noted);
        let is_revised = versions.revision > after || is_unclear && versions.revision > 0;
        // Who has joined meanwhile has seen nothing of what was said before.
        let may_have_joined = self.is_wide && is_changed || self.is_other && is_unclear;
        let has = [
            (ChangeKind::Messages, self.is_said || versions.said > after || may_have_joined),
            (ChangeKind::Revisions, is_revised),
            (ChangeKind::Membership, is_changed || is_set),
            (ChangeKind::Read, is_read),
        ];
        let mut kinds: Vec<_> = has.into_iter().filter_map(|(kind, has)| has.then_some(kind)).collect();
        if kinds.is_empty() {
            // Something was told late, of a kind that is not kept.
            kinds = ChangeKind::ALL.to_vec();
        }
        kinds
    }
}
