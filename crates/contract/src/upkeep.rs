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
        $crate::same_fields!(upkeep::StoreStatus, im_domain::upkeep::StoreStatus,
            backlog oldest_unpersisted_ms dead_letters tiers;
            each partitions epochs; some last_run);
    };
}
