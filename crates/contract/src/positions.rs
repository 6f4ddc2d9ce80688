//! Devices' positions.

#[doc(hidden)]
#[macro_export]
macro_rules! position_conversions {
    () => {
        impl From<im_domain::page::SyncQuery> for positions::SyncQuery {
            fn from(query: im_domain::page::SyncQuery) -> Self {
                Self {
                    conversation: query.conversation.into_string(),
                    last_msg_id: query.last_msg_id.map(im_domain::MsgId::number),
                    limit: query.limit,
                    epoch: query.epoch,
                    auto_advance: query.auto_advance,
                }
            }
        }

        impl TryFrom<positions::SyncQuery> for im_domain::page::SyncQuery {
            type Error = im_domain::Error;
            fn try_from(query: positions::SyncQuery) -> im_domain::Result<Self> {
                Ok(Self {
                    conversation: im_domain::ConversationId::parse(query.conversation)?,
                    last_msg_id: query.last_msg_id.map($crate::msg_id).transpose()?,
                    limit: im_domain::page::check_limit(query.limit)?,
                    epoch: query.epoch,
                    auto_advance: query.auto_advance,
                })
            }
        }

        impl From<im_domain::page::SyncPage> for positions::SyncPage {
            fn from(sync: im_domain::page::SyncPage) -> Self {
                Self { page: sync.page.into(), position: sync.position.number() }
            }
        }

        impl TryFrom<positions::SyncPage> for im_domain::page::SyncPage {
            type Error = im_domain::Error;
            fn try_from(sync: positions::SyncPage) -> im_domain::Result<Self> {
                Ok(Self { page: sync.page.try_into()?, position: $crate::msg_id(sync.position)? })
            }
        }
    };
}
