//! Upkeep.

#[doc(hidden)]
#[macro_export]
macro_rules! upkeep_conversions {
    () => {
        $crate::same_cases!(upkeep::Task, im_domain::upkeep::Task, Drain Tier Expire);
        $crate::same_fields!(upkeep::RunReport, im_domain::upkeep::RunReport,
            drained tiered expired dead_lettered backlog took_ms);
        $crate::same_fields!(upkeep::PartitionStatus, im_domain::upkeep::PartitionStatus,
            partition backlog oldest_unpersisted_ms);
        $crate::same_fields!(upkeep::Tiers, im_domain::upkeep::Tiers, hot sql cold);
        $crate::same_fields!(upkeep::EpochStatus, im_domain::upkeep::EpochStatus, epoch since);
        $crate::same_fields!(upkeep::LastRun, im_domain::upkeep::LastRun, at report);

        impl From<im_domain::upkeep::StoreStatus> for upkeep::StoreStatus {
            fn from(status: im_domain::upkeep::StoreStatus) -> Self {
                Self {
                    backlog: status.backlog,
                    oldest_unpersisted_ms: status.oldest_unpersisted_ms,
                    dead_letters: status.dead_letters,
                    partitions: $crate::each(status.partitions),
                    tiers: status.tiers.into(),
                    epochs: $crate::each(status.epochs),
                    last_run: status.last_run.map(Into::into),
                }
            }
        }

        impl From<upkeep::StoreStatus> for im_domain::upkeep::StoreStatus {
            fn from(status: upkeep::StoreStatus) -> Self {
                Self {
                    backlog: status.backlog,
                    oldest_unpersisted_ms: status.oldest_unpersisted_ms,
                    dead_letters: status.dead_letters,
                    partitions: $crate::each(status.partitions),
                    tiers: status.tiers.into(),
                    epochs: $crate::each(status.epochs),
                    last_run: status.last_run.map(Into::into),
                }
            }
        }
    };
}
