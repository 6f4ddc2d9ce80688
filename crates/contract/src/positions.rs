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

        $crate::same_cases!(positions::ChangeKind, im_domain::global::ChangeKind,
            Messages Revisions Membership Read);
        $crate::same_fields!(positions::UnreadTotals, im_domain::device::Totals, conversations messages);

        impl From<im_domain::global::Changed> for positions::Changed {
            fn from(changed: im_domain::global::Changed) -> Self {
                Self {
                    conversation: changed.conversation.into_string(),
                    head_msg_id: changed.head_msg_id.number(),
                    head_seq: changed.head_seq,
                    unread: changed.unread,
                    read_msg_id: changed.read_msg_id.number(),
                    kinds: $crate::each(changed.kinds),
                    left: changed.left,
                }
            }
        }

        impl TryFrom<positions::Changed> for im_domain::global::Changed {
            type Error = im_domain::Error;
            fn try_from(changed: positions::Changed) -> im_domain::Result<Self> {
                Ok(Self {
                    conversation: im_domain::ConversationId::parse(changed.conversation)?,
                    head_msg_id: $crate::msg_id(changed.head_msg_id)?,
                    head_seq: changed.head_seq,
                    unread: changed.unread,
                    read_msg_id: $crate::msg_id(changed.read_msg_id)?,
                    kinds: $crate::each(changed.kinds),
                    left: changed.left,
                })
            }
        }

        impl From<im_domain::global::Changes> for positions::Changes {
            fn from(changes: im_domain::global::Changes) -> Self {
                Self {
                    cursor: changes.cursor,
                    changed: $crate::each(changes.changed),
                    has_more: changes.has_more,
                    reset: changes.reset.map(Into::into),
                }
            }
        }

        impl TryFrom<positions::Changes> for im_domain::global::Changes {
            type Error = im_domain::Error;
            fn try_from(changes: positions::Changes) -> im_domain::Result<Self> {
                Ok(Self {
                    cursor: changes.cursor,
                    changed: $crate::all(changes.changed)?,
                    has_more: changes.has_more,
                    reset: changes.reset.map(im_domain::page::Reset::try_from).transpose()?,
                })
            }
        }

        impl From<im_domain::device::Digested> for positions::Digested {
            fn from(digested: im_domain::device::Digested) -> Self {
                Self {
                    conversation: digested.conversation.into(),
                    latest: $crate::each(digested.latest),
                }
            }
        }

        impl TryFrom<positions::Digested> for im_domain::device::Digested {
            type Error = im_domain::Error;
            fn try_from(digested: positions::Digested) -> im_domain::Result<Self> {
                Ok(Self {
                    conversation: digested.conversation.try_into()?,
                    latest: $crate::all(digested.latest)?,
                })
            }
        }

        impl From<im_domain::device::Digest> for positions::DigestPart {
            fn from(digest: im_domain::device::Digest) -> Self {
                Self {
                    conversations: $crate::each(digest.conversations),
                    cursor: digest.cursor,
                    has_more: digest.has_more,
                }
            }
        }

        impl TryFrom<positions::DigestPart> for im_domain::device::Digest {
            type Error = im_domain::Error;
            fn try_from(digest: positions::DigestPart) -> im_domain::Result<Self> {
                Ok(Self {
                    conversations: $crate::all(digest.conversations)?,
                    cursor: digest.cursor,
                    has_more: digest.has_more,
                })
            }
        }

        impl From<im_domain::device::ReadState> for positions::ReadState {
            fn from(state: im_domain::device::ReadState) -> Self {
                Self { read_msg_id: state.read_msg_id.number(), unread: state.unread }
            }
        }

        impl TryFrom<positions::ReadState> for im_domain::device::ReadState {
            type Error = im_domain::Error;
            fn try_from(state: positions::ReadState) -> im_domain::Result<Self> {
                Ok(Self { read_msg_id: $crate::msg_id(state.read_msg_id)?, unread: state.unread })
            }
        }

        impl From<im_domain::device::Device> for positions::Device {
            fn from(device: im_domain::device::Device) -> Self {
                Self { id: device.id.into_string(), last_seen: device.last_seen_ms }
            }
        }

        impl TryFrom<positions::Device> for im_domain::device::Device {
            type Error = im_domain::Error;
            fn try_from(device: positions::Device) -> im_domain::Result<Self> {
                Ok(Self { id: im_domain::DeviceId::parse(device.id)?, last_seen_ms: device.last_seen })
            }
        }
    };
}
