//! The embedded engine with all but the newest message of each conversation in cold segments, whenever it is asked
//! something: a message that is sent again is known as long as it is a row.

use super::backend::{Backend, EmbeddedBackend};
use super::settled::Settled;
use super::tiered::After;
use im_domain::retention::RetentionRules;
use im_domain::storage::Storage;
use im_domain::tier::TierRules;
use im_segment::Record;
use im_store::embedded::Embedded;
use im_store::native::NativeSqlite;

pub struct PackedBackend(EmbeddedBackend);

impl PackedBackend {
    pub fn plain(&self) -> &EmbeddedBackend {
        &self.0
    }
}

impl Backend for PackedBackend {
    type Store = Settled<Embedded<NativeSqlite>>;

    fn new() -> Self {
        Self(EmbeddedBackend::new())
    }

    fn clocked() -> Self {
        Self(EmbeddedBackend::clocked())
    }

    fn keeping(retention_ms: u64) -> Self {
        Self(EmbeddedBackend::keeping(retention_ms))
    }

    fn open(&self) -> Self::Store {
        Settled::new(self.0.open_tiering(TierRules::at_once()), Vec::new(), After::PackBefore)
    }

    fn set_rules(&self, rules: RetentionRules) {
        self.0.set_rules(rules);
    }

    fn tiering(&self, tier: TierRules) -> impl Storage {
        self.0.tiering(tier)
    }

    fn packed(&self) -> Vec<Record> {
        self.0.packed()
    }

    fn damage(&self, from_end: usize) {
        self.0.damage(from_end);
    }

    fn opener(&self) -> impl Fn() -> Self::Store + Clone + Send + 'static {
        let open = self.0.opener_tiering(TierRules::at_once());
        move || Settled::new(open(), Vec::new(), After::PackBefore)
    }

    fn now(&self) -> u64 {
        self.0.now()
    }

    fn set_clock(&self, ms: u64) {
        self.0.set_clock(ms);
    }
}
