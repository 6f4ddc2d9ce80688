//! A walk over what has changed, part by part: what a part names, what it says of each, and how far the device
//! knows then.

use crate::tiered::index::{Noted, NotedChange};
use crate::tiered::keys::Place;
use crate::tiered::standing::Standing;
use im_domain::global::{ChangeKind, Changed, GlobalCursor, Known, LookedUp, WalkStart};
use im_domain::{ConversationId, MsgId, Result};
use std::collections::{BTreeMap, HashMap};

/// A conversation of an answer.
pub struct Taken {
    pub place: Place,
    is_said: bool,
    is_other: bool,
    is_looked_up: bool,
    /// It has too many members to tell each.
    is_wide: bool,
}

/// Fills an answer in the order of the changes, and moves as far what the device knows.
pub struct Walk {
    start: WalkStart,
    known: Known,
    limit: usize,
    pub taken: Vec<Taken>,
    pub has_more: bool,
}

/// What a device knew of a conversation when its walk began.
pub struct KnownBefore {
    noted: u64,
    looked_up: LookedUp,
    /// The conversation is on the server of the index: their numbers compare.
    is_near: bool,
}

impl Walk {
    pub fn new(nodes: usize, noted: &Noted, cursor: Option<&GlobalCursor>, limit: usize) -> Self {
        let mut known = cursor.map(|cursor| cursor.known.clone()).unwrap_or_default();
        known.looked_up.resize(nodes, LookedUp::default());
        let start = match cursor {
            None => WalkStart { last: noted.last, known: known.clone() },
            Some(GlobalCursor { walk: Some(start), .. }) => start.clone(),
            Some(_) => WalkStart { last: 0, known: known.clone() },
        };
        Self { start, known, limit, taken: Vec::new(), has_more: false }
    }

    /// None: nothing, the walk is one from the start.
    pub fn known_before(&self, node: usize, is_near: bool) -> Option<KnownBefore> {
        let Known { noted, looked_up } = &self.start.known;
        let looked_up = looked_up.get(node).copied().unwrap_or_default();
        (*noted > 0).then_some(KnownBefore { noted: *noted, looked_up, is_near })
    }

    pub fn cursor(self, epoch: String) -> GlobalCursor {
        GlobalCursor { epoch, known: self.known, walk: self.has_more.then_some(self.start) }
    }

    pub fn take_noted(&mut self, noted: &Noted) {
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
    pub fn take_looked_up(
        &mut self,
        noted: &Noted,
        found: &HashMap<String, Standing>,
        node_of: impl Fn(&Place) -> usize,
    ) {
        let mut parts: BTreeMap<usize, Vec<(u64, &Place, LookedUp)>> = BTreeMap::new();
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
            let Some(known) = self.known.looked_up.get_mut(node) else { continue };
            // Of a life of the server that has ended the device knows nothing that helps.
            let life = changes.first().map_or(0, |(.., seen_up_to)| seen_up_to.life);
            *known = LookedUp { number: known.number_in(life), life };
            let up_to = known.number;
            changes.retain(|(newest, ..)| *newest > up_to);
            changes.sort_unstable_by_key(|(newest, place, _)| (*newest, *place));
            for (newest, place, seen_up_to) in changes {
                if self.taken.len() == self.limit && !self.taken.iter().any(|taken| taken.place == *place) {
                    self.has_more = true;
                    return;
                }
                self.look_up(place);
                if let Some(known) = self.known.looked_up.get_mut(node) {
                    // What changed while they were asked about in parts is named once more: another may have changed
                    // before it and after its part.
                    known.number = newest.min(seen_up_to.number).max(known.number);
                }
            }
        }
    }
}

impl Taken {
    /// None: nothing that the user may know of.
    pub fn describe(
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
            // A device that begins anew may have what was hidden.
            return only(&[
                (ChangeKind::Messages, true),
                (ChangeKind::Revisions, standing.hidden_version > 0),
                (ChangeKind::Membership, true),
                (ChangeKind::Read, !standing.conversation.read_msg_id.is_none()),
            ]);
        };
        if standing.is_cold {
            // By which numbers it has changed is not kept.
            return ChangeKind::ALL.to_vec();
        }
        let after = match self.is_looked_up {
            true => known.looked_up.number_in(standing.seen_up_to.life),
            false => known.noted,
        };
        // Numbers of another server say nothing about one of the index's.
        let is_unclear = !known.is_near && !self.is_looked_up;
        let is_own = |version: u64| match known.is_near {
            true => version > known.noted,
            false => self.is_other,
        };
        let versions = standing.versions;
        let is_changed = versions.membership > after;
        let is_read = is_own(standing.read_version);
        let is_set = is_own(standing.set_version);
        // A control message has told of it.
        let is_revised = versions.revision > after || is_unclear && versions.revision > 0;
        let is_hidden = standing.hidden_version > 0 && is_own(standing.hidden_version);
        // Who has joined meanwhile has seen nothing of what was said before.
        let may_have_joined = self.is_wide && is_changed || self.is_other && is_unclear;
        let has = [
            (ChangeKind::Messages, self.is_said || versions.said > after || is_revised || may_have_joined),
            (ChangeKind::Revisions, is_revised || is_hidden),
            (ChangeKind::Membership, is_changed || is_set),
            (ChangeKind::Read, is_read),
        ];
        let mut kinds = only(&has);
        if kinds.is_empty() {
            // Something was told late, of a kind that is not kept.
            kinds = ChangeKind::ALL.to_vec();
        }
        kinds
    }
}

/// The kinds that hold.
fn only(has: &[(ChangeKind, bool)]) -> Vec<ChangeKind> {
    has.iter().filter_map(|(kind, has)| has.then_some(*kind)).collect()
}
