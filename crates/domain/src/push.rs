//! Whom a push service has to wake, and what it may show.

use crate::error::Result;
use crate::limits::{PUSH_MESSAGES_DEFAULT, PUSH_OFFLINE_MS_DEFAULT, PUSH_WAIT_MS_DEFAULT};
use crate::message::Message;
use crate::name::{ConversationId, Tenant, UserId};
use crate::per_tenant::PerTenant;

/// What a user allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushSettings {
    /// Whether a push may show what was said; else it tells how many messages wait.
    pub show_content: bool,
    /// Conversations that wake nobody, in the order of their ids.
    pub muted: Vec<ConversationId>,
}

/// What is to change; absent: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushSettingsChange {
    pub show_content: Option<bool>,
    /// All that are to be muted from now on; others are not.
    pub muted: Option<Vec<ConversationId>>,
}

/// A user who has to be woken. The lease is the caller's until it is confirmed or
/// [`crate::limits::PUSH_LEASE_MS`] have passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub lease_id: String,
    pub user: UserId,
    /// Unread messages since the last push, and the conversations they are in.
    pub messages: u64,
    pub conversations: u64,
    /// When the oldest was sent, in milliseconds since 1970.
    pub oldest_time_ms: u64,
    /// The newest of them, newest first, if the user allows to show them.
    pub preview: Option<Vec<(ConversationId, Message)>>,
}

/// When users become due. Times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushRule {
    /// So many messages are enough.
    pub messages: u64,
    /// No message waits longer.
    pub wait_ms: u64,
    /// A user none of whose devices has synced for so long is offline.
    pub offline_ms: u64,
}

impl PushRule {
    /// When a user is due for whom `messages` have waited since `oldest_ms`, and whose devices last
    /// synced at `seen_ms` (0: never).
    pub fn due_ms(&self, now_ms: u64, messages: u64, oldest_ms: u64, seen_ms: u64) -> u64 {
        let waited = if messages >= self.messages { now_ms } else { oldest_ms.saturating_add(self.wait_ms) };
        waited.max(seen_ms.saturating_add(self.offline_ms))
    }
}

/// The rules of all tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushRules {
    messages: PerTenant,
    wait_ms: PerTenant,
    offline_ms: PerTenant,
}

impl PushRules {
    /// Reads an operator's settings; errors call them `push_messages`, `push_wait_ms` and
    /// `push_offline_ms`. See [`PerTenant::parse`].
    pub fn parse(messages: &str, wait_ms: &str, offline_ms: &str) -> Result<Self> {
        Ok(Self {
            messages: PerTenant::parse("push_messages", messages)?,
            wait_ms: PerTenant::parse("push_wait_ms", wait_ms)?,
            offline_ms: PerTenant::parse("push_offline_ms", offline_ms)?,
        })
    }

    pub fn of(&self, tenant: &Tenant) -> PushRule {
        PushRule {
            messages: self.messages.of(tenant),
            wait_ms: self.wait_ms.of(tenant),
            offline_ms: self.offline_ms.of(tenant),
        }
    }
}

impl Default for PushRules {
    fn default() -> Self {
        Self {
            messages: PerTenant::all(PUSH_MESSAGES_DEFAULT),
            wait_ms: PerTenant::all(PUSH_WAIT_MS_DEFAULT),
            offline_ms: PerTenant::all(PUSH_OFFLINE_MS_DEFAULT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn tenant(name: &str) -> Tenant {
        Tenant::parse(name).unwrap()
    }

    #[test]
    fn tenants_have_rules_of_their_own() {
        let rules = PushRules::parse("5,a=3", "1000 , b = 20", "60").unwrap();
        let rule = |messages, wait_ms, offline_ms| PushRule { messages, wait_ms, offline_ms };
        assert_eq!(rules.of(&tenant("a")), rule(3, 1000, 60));
        assert_eq!(rules.of(&tenant("b")), rule(5, 20, 60));
        assert_eq!(rules.of(&tenant("c")), rule(5, 1000, 60));
    }

    #[test]
    fn what_is_no_rule_is_refused_by_name() {
        for text in ["", "x", "0", "5,a", "5,a=0", "5,a b=1", "-1"] {
            let Err(Error::Internal { reason }) = PushRules::parse("5", text, "1") else {
                panic!("{text} was taken")
            };
            assert!(reason.contains("push_wait_ms"), "{reason}");
        }
    }

    #[test]
    fn due_is_who_has_many_or_old_ones_and_is_away() {
        let rule = PushRule { messages: 5, wait_ms: 300, offline_ms: 60 };
        assert_eq!(rule.due_ms(1000, 4, 900, 0), 1200);
        assert_eq!(rule.due_ms(1000, 5, 900, 0), 1000);
        assert_eq!(rule.due_ms(1000, 5, 900, 990), 1050);
    }
}
