//! What is done to messages after they were sent.

#[doc(hidden)]
#[macro_export]
macro_rules! revision_conversions {
    () => {
        $crate::same_cases!(messages::Origin, im_domain::revision::Origin, Send Recall Edit Delete);
        $crate::same_cases!(messages::Capacity, im_domain::revision::Capacity, Operator Owner Admin Sender);

        impl From<im_domain::revision::Change> for messages::Change {
            fn from(change: im_domain::revision::Change) -> Self {
                use im_domain::revision::Change;
                match change {
                    Change::Recall => Self::Recall,
                    Change::Edit { content } => Self::Edit(content),
                    Change::Delete => Self::Delete,
                }
            }
        }

        impl From<messages::Change> for im_domain::revision::Change {
            fn from(change: messages::Change) -> Self {
                match change {
                    messages::Change::Recall => Self::Recall,
                    messages::Change::Edit(content) => Self::Edit { content },
                    messages::Change::Delete => Self::Delete,
                }
            }
        }

        impl From<im_domain::revision::Revision> for messages::Revision {
            fn from(revision: im_domain::revision::Revision) -> Self {
                Self {
                    conversation: revision.conversation.into_string(),
                    id: revision.msg_id.number(),
                    change: revision.change.into(),
                    reason: revision.reason,
                }
            }
        }

        impl TryFrom<messages::Revision> for im_domain::revision::Revision {
            type Error = im_domain::Error;
            fn try_from(revision: messages::Revision) -> im_domain::Result<Self> {
                let revision = Self {
                    conversation: im_domain::ConversationId::parse(revision.conversation)?,
                    msg_id: $crate::msg_id(revision.id)?,
                    change: revision.change.into(),
                    reason: revision.reason,
                };
                revision.check()?;
                Ok(revision)
            }
        }

        impl From<im_domain::revision::Revised> for messages::Revised {
            fn from(revised: im_domain::revision::Revised) -> Self {
                let told = |told: im_domain::revision::Told| messages::Told {
                    msg_id: told.msg_id.number(),
                    seq: told.seq,
                };
                Self { msg_id: revised.msg_id.number(), told: revised.told.map(told) }
            }
        }

        impl TryFrom<messages::Revised> for im_domain::revision::Revised {
            type Error = im_domain::Error;
            fn try_from(revised: messages::Revised) -> im_domain::Result<Self> {
                let told = |told: messages::Told| {
                    let msg_id = $crate::msg_id(told.msg_id)?;
                    Ok::<_, im_domain::Error>(im_domain::revision::Told { msg_id, seq: told.seq })
                };
                Ok(Self {
                    msg_id: $crate::msg_id(revised.msg_id)?,
                    told: revised.told.map(told).transpose()?,
                })
            }
        }

        impl From<im_domain::revision::Version> for messages::Version {
            fn from(version: im_domain::revision::Version) -> Self {
                Self {
                    content: version.content,
                    edit_time: version.edit_time,
                    by: version.by.into_string(),
                    origin: version.origin.into(),
                    capacity: version.capacity.map(Into::into),
                    reason: version.reason,
                }
            }
        }

        impl TryFrom<messages::Version> for im_domain::revision::Version {
            type Error = im_domain::Error;
            fn try_from(version: messages::Version) -> im_domain::Result<Self> {
                Ok(Self {
                    content: version.content,
                    edit_time: version.edit_time,
                    by: im_domain::UserId::parse(version.by)?,
                    origin: version.origin.into(),
                    capacity: version.capacity.map(Into::into),
                    reason: version.reason,
                })
            }
        }
    };
}
