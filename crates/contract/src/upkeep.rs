//! Upkeep.

#[doc(hidden)]
#[macro_export]
macro_rules! upkeep_conversions {
    () => {
        $crate::same_cases!(upkeep::Task, im_domain::upkeep::Task, Drain Tier Expire);
        $crate::same_cases!(upkeep::DeadLetterAction, im_domain::upkeep::DeadLetterAction, Show Replay Drop);
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

        impl From<im_domain::upkeep::DeadLetter> for upkeep::DeadLetter {
            fn from(letter: im_domain::upkeep::DeadLetter) -> Self {
                Self {
                    partition: letter.partition,
                    id: letter.id,
                    error: letter.error,
                    conversation: letter.conversation.map(im_domain::ConversationId::into_string),
                    msg_id: letter.msg_id.map(im_domain::MsgId::number),
                }
            }
        }

        impl TryFrom<upkeep::DeadLetter> for im_domain::upkeep::DeadLetter {
            type Error = im_domain::Error;

            fn try_from(letter: upkeep::DeadLetter) -> im_domain::Result<Self> {
                Ok(Self {
                    partition: letter.partition,
                    id: letter.id,
                    error: letter.error,
                    conversation: letter.conversation.map(im_domain::ConversationId::parse).transpose()?,
                    msg_id: letter.msg_id.map($crate::msg_id).transpose()?,
                })
            }
        }
    };
}
