//! Conversations and members.

#[doc(hidden)]
#[macro_export]
macro_rules! conversation_conversions {
    () => {
        $crate::same_cases!(types::ConversationKind, im_domain::conversation::ConversationKind,
            Single Group System);
        $crate::same_cases!(types::History, im_domain::conversation::History, All FromJoin);
        $crate::same_cases!(types::Role, im_domain::conversation::Role, Owner Admin Member);

        impl From<im_domain::conversation::NewConversation> for conversations::NewConversation {
            fn from(new: im_domain::conversation::NewConversation) -> Self {
                Self {
                    id: new.id.map(im_domain::ConversationId::into_string),
                    kind: new.kind.into(),
                    members: new.members.into_iter().map(im_domain::UserId::into_string).collect(),
                    history: new.history.into(),
                }
            }
        }

        impl TryFrom<conversations::NewConversation> for im_domain::conversation::NewConversation {
            type Error = im_domain::Error;
            fn try_from(new: conversations::NewConversation) -> im_domain::Result<Self> {
                let member = |user| im_domain::UserId::parse_as("members", user);
                Ok(Self {
                    id: new.id.map(im_domain::ConversationId::parse).transpose()?,
                    kind: new.kind.into(),
                    members: new.members.into_iter().map(member).collect::<Result<_, _>>()?,
                    history: new.history.into(),
                })
            }
        }

        impl From<im_domain::conversation::MemberChange> for conversations::MemberChange {
            fn from(change: im_domain::conversation::MemberChange) -> Self {
                let names =
                    |users: Vec<im_domain::UserId>| users.into_iter().map(|u| u.into_string()).collect();
                Self {
                    add: names(change.add),
                    remove: names(change.remove),
                    roles: change.roles.into_iter().map(|(u, r)| (u.into_string(), r.into())).collect(),
                }
            }
        }

        impl TryFrom<conversations::MemberChange> for im_domain::conversation::MemberChange {
            type Error = im_domain::Error;
            fn try_from(change: conversations::MemberChange) -> im_domain::Result<Self> {
                let parse = |field, users: Vec<String>| {
                    users
                        .into_iter()
                        .map(|user| im_domain::UserId::parse_as(field, user))
                        .collect::<im_domain::Result<Vec<_>>>()
                };
                let roles = change.roles.into_iter().map(|(user, role)| {
                    Ok::<_, im_domain::Error>((im_domain::UserId::parse_as("roles", user)?, role.into()))
                });
                Ok(Self {
                    add: parse("add", change.add)?,
                    remove: parse("remove", change.remove)?,
                    roles: roles.collect::<im_domain::Result<_>>()?,
                })
            }
        }

        impl From<im_domain::retention::KeepFor> for conversations::KeepFor {
            fn from(keep_for: im_domain::retention::KeepFor) -> Self {
                keep_for.ms().map_or(Self::Policy, Self::Ms)
            }
        }

        impl From<conversations::KeepFor> for im_domain::retention::KeepFor {
            fn from(keep_for: conversations::KeepFor) -> Self {
                match keep_for {
                    conversations::KeepFor::Policy => Self::Policy,
                    conversations::KeepFor::Ms(ms) => Self::Ms(ms),
                }
            }
        }

        impl From<im_domain::conversation::ConversationChange> for conversations::ConversationChange {
            fn from(change: im_domain::conversation::ConversationChange) -> Self {
                Self {
                    muted: change.muted,
                    history: change.history.map(Into::into),
                    keep_for: change.keep_for.map(Into::into),
                    legal_hold: change.legal_hold,
                }
            }
        }

        impl From<conversations::ConversationChange> for im_domain::conversation::ConversationChange {
            fn from(change: conversations::ConversationChange) -> Self {
                Self {
                    muted: change.muted,
                    history: change.history.map(Into::into),
                    keep_for: change.keep_for.map(Into::into),
                    legal_hold: change.legal_hold,
                }
            }
        }

        impl From<im_domain::conversation::LastMessage> for types::LastMessage {
            fn from(last: im_domain::conversation::LastMessage) -> Self {
                Self {
                    msg_id: last.msg_id.number(),
                    seq: last.seq,
                    sender: last.sender.into_string(),
                    kind: last.kind.into(),
                    summary: last.summary,
                    create_time: last.create_time,
                    status: last.status.into(),
                }
            }
        }

        impl TryFrom<types::LastMessage> for im_domain::conversation::LastMessage {
            type Error = im_domain::Error;
            fn try_from(last: types::LastMessage) -> im_domain::Result<Self> {
                Ok(Self {
                    msg_id: $crate::msg_id(last.msg_id)?,
                    seq: last.seq,
                    sender: im_domain::UserId::parse(last.sender)?,
                    kind: last.kind.into(),
                    summary: last.summary,
                    create_time: last.create_time,
                    status: last.status.into(),
                })
            }
        }

        impl From<im_domain::conversation::Conversation> for types::Conversation {
            fn from(conversation: im_domain::conversation::Conversation) -> Self {
                Self {
                    id: conversation.id.into_string(),
                    kind: conversation.kind.into(),
                    member_count: conversation.member_count,
                    last: conversation.last.map(Into::into),
                    head_seq: conversation.head_seq,
                    unread: conversation.unread,
                    read_msg_id: conversation.read_msg_id.number(),
                    create_time: conversation.create_time,
                    update_time: conversation.update_time,
                    epoch: conversation.epoch,
                    muted: conversation.muted,
                    retention_ms: conversation.retention_ms,
                    legal_hold: conversation.legal_hold,
                }
            }
        }

        impl TryFrom<types::Conversation> for im_domain::conversation::Conversation {
            type Error = im_domain::Error;
            fn try_from(conversation: types::Conversation) -> im_domain::Result<Self> {
                Ok(Self {
                    id: im_domain::ConversationId::parse(conversation.id)?,
                    kind: conversation.kind.into(),
                    member_count: conversation.member_count,
                    last: conversation
                        .last
                        .map(im_domain::conversation::LastMessage::try_from)
                        .transpose()?,
                    head_seq: conversation.head_seq,
                    unread: conversation.unread,
                    read_msg_id: $crate::msg_id(conversation.read_msg_id)?,
                    create_time: conversation.create_time,
                    update_time: conversation.update_time,
                    epoch: conversation.epoch,
                    muted: conversation.muted,
                    retention_ms: conversation.retention_ms,
                    legal_hold: conversation.legal_hold,
                })
            }
        }

        impl From<im_domain::conversation::ConversationList> for conversations::ConversationList {
            fn from(list: im_domain::conversation::ConversationList) -> Self {
                Self {
                    conversations: $crate::each(list.conversations),
                    cursor: list.cursor,
                    has_more: list.has_more,
                }
            }
        }

        impl TryFrom<conversations::ConversationList> for im_domain::conversation::ConversationList {
            type Error = im_domain::Error;
            fn try_from(list: conversations::ConversationList) -> im_domain::Result<Self> {
                Ok(Self {
                    conversations: $crate::all(list.conversations)?,
                    cursor: list.cursor,
                    has_more: list.has_more,
                })
            }
        }
    };
}
