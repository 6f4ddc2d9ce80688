//! The store's upkeep.

use crate::message::spelled;
use crate::msg_id::MsgId;
use crate::name::ConversationId;

spelled!(Task {
    /// Hot store to SQL.
    Drain = 1 "drain",
    /// SQL to cold segments.
    Tier = 2 "tier",
    /// Purge of what has expired.
    Expire = 3 "expire",
});

/// What one run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    pub drained: u64,
    pub tiered: u64,
    pub expired: u64,
    pub dead_lettered: u64,
    /// What waits for SQL after the run: messages, positions, conversations made, changes of members.
    pub backlog: u64,
    pub took_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionStatus {
    pub partition: u8,
    pub backlog: u64,
    pub oldest_unpersisted_ms: u64,
}

/// Messages per tier. While a batch moves it may be counted in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tiers {
    pub hot: u64,
    pub sql: u64,
    pub cold: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochStatus {
    pub epoch: String,
    /// Milliseconds since 1970.
    pub since: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// Milliseconds since 1970.
    pub at: u64,
    pub report: RunReport,
}

/// The state of the store, as far as it concerns one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreStatus {
    pub backlog: u64,
    pub oldest_unpersisted_ms: u64,
    pub dead_letters: u64,
    /// Partitions with a backlog.
    pub partitions: Vec<PartitionStatus>,
    pub tiers: Tiers,
    pub epochs: Vec<EpochStatus>,
    pub last_run: Option<LastRun>,
}

spelled!(
    /// What to do with dead letters.
    DeadLetterAction {
        Show = 0 "show",
        /// Back to the end of their log.
        Replay = 1 "replay",
        /// Away for good.
        Drop = 2 "drop",
    }
);

/// Something that was accepted and that SQL cannot take. It waits for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    pub partition: u8,
    pub id: String,
    /// Why it was set aside.
    pub error: String,
    /// What it is about; absent when it cannot be read.
    pub conversation: Option<ConversationId>,
    pub msg_id: Option<MsgId>,
}
