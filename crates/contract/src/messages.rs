//! Actors, drafts, receipts, messages, pages.

#[doc(hidden)]
#[macro_export]
macro_rules! message_conversions {
    () => {
        $crate::same_cases!(types::MessageKind, im_domain::message::Kind,
            Text Image Voice Video File System Recall Custom);
        $crate::same_cases!(types::MessageStatus, im_domain::message::Status, Normal Recalled Deleted);
        $crate::same_cases!(types::QuoteStatus, im_domain::message::QuoteStatus,
            Normal Recalled Deleted Expired);
        $crate::same_cases!(types::Ack, im_domain::message::Ack, Accepted Persisted);
        $crate::same_cases!(types::Action, im_domain::message::Action, Recall Edit Delete);
        $crate::same_cases!(types::ResetReason, im_domain::page::ResetReason,
            EpochChanged PositionAhead Expired);
        $crate::same_cases!(messages::Direction, im_domain::page::Direction, Up Down);

        impl From<im_domain::storage::Actor> for types::Actor {
            fn from(actor: im_domain::storage::Actor) -> Self {
                let im_domain::storage::Actor { tenant, user, privileged } = actor;
                Self { tenant: tenant.into_string(), user: user.into_string(), privileged }
            }
        }

        impl TryFrom<types::Actor> for im_domain::storage::Actor {
            type Error = im_domain::Error;
            fn try_from(actor: types::Actor) -> im_domain::Result<Self> {
                Ok(Self {
                    tenant: im_domain::Tenant::parse(actor.tenant)?,
                    user: im_domain::UserId::parse(actor.user)?,
                    privileged: actor.privileged,
                })
            }
        }

        impl From<im_domain::message::Draft> for types::Draft {
            fn from(draft: im_domain::message::Draft) -> Self {
                Self {
                    sender: draft.sender.into_string(),
                    target: match draft.target {
                        im_domain::message::Target::Conversation(id) => {
                            types::Target::Conversation(id.into_string())
                        }
                        im_domain::message::Target::Peer(user) => types::Target::Peer(user.into_string()),
                    },
                    client_msg_id: draft.client_msg_id.into_string(),
                    client_time: draft.client_time,
                    kind: draft.kind.into(),
                    content: draft.content,
                    reply_to: draft.reply_to.map(im_domain::MsgId::number),
                    ext: draft.ext.map(im_domain::ext::Ext::into_string),
                    silent: draft.silent,
                }
            }
        }

        impl TryFrom<types::Draft> for im_domain::message::Draft {
            type Error = im_domain::Error;
            fn try_from(draft: types::Draft) -> im_domain::Result<Self> {
                use im_domain::message::Target;
                Ok(Self {
                    sender: im_domain::UserId::parse(draft.sender)?,
                    target: match draft.target {
                        types::Target::Conversation(id) => {
                            Target::Conversation(im_domain::ConversationId::parse(id)?)
                        }
                        types::Target::Peer(user) => {
                            Target::Peer(im_domain::UserId::parse_as("toUserId", user)?)
                        }
                    },
                    client_msg_id: im_domain::ClientMsgId::parse(draft.client_msg_id)?,
                    client_time: draft.client_time,
                    kind: draft.kind.into(),
                    content: draft.content,
                    reply_to: draft.reply_to.map($crate::msg_id).transpose()?,
                    ext: draft.ext.map(im_domain::ext::Ext::parse).transpose()?,
                    silent: draft.silent,
                })
            }
        }

        impl From<im_domain::message::Receipt> for types::Receipt {
            fn from(receipt: im_domain::message::Receipt) -> Self {
                Self {
                    msg_id: receipt.msg_id.number(),
                    seq: receipt.seq,
                    conversation: receipt.conversation.into_string(),
                    create_time: receipt.create_time,
                    epoch: receipt.epoch,
                    duplicate: receipt.duplicate,
                    ack: receipt.ack.into(),
                }
            }
        }

        impl TryFrom<types::Receipt> for im_domain::message::Receipt {
            type Error = im_domain::Error;
            fn try_from(receipt: types::Receipt) -> im_domain::Result<Self> {
                Ok(Self {
                    msg_id: $crate::msg_id(receipt.msg_id)?,
                    seq: receipt.seq,
                    conversation: im_domain::ConversationId::parse(receipt.conversation)?,
                    create_time: receipt.create_time,
                    epoch: receipt.epoch,
                    duplicate: receipt.duplicate,
                    ack: receipt.ack.into(),
                })
            }
        }

        impl From<im_domain::message::Quote> for types::Quote {
            fn from(quote: im_domain::message::Quote) -> Self {
                Self {
                    msg_id: quote.msg_id.number(),
                    sender: quote.sender.map(im_domain::UserId::into_string),
                    preview: quote.preview,
                    status: quote.status.into(),
                }
            }
        }

        impl TryFrom<types::Quote> for im_domain::message::Quote {
            type Error = im_domain::Error;
            fn try_from(quote: types::Quote) -> im_domain::Result<Self> {
                Ok(Self {
                    msg_id: $crate::msg_id(quote.msg_id)?,
                    sender: quote.sender.map(im_domain::UserId::parse).transpose()?,
                    preview: quote.preview,
                    status: quote.status.into(),
                })
            }
        }

        impl From<im_domain::message::Message> for types::Message {
            fn from(message: im_domain::message::Message) -> Self {
                Self {
                    msg_id: message.msg_id.number(),
                    seq: message.seq,
                    sender: message.sender.into_string(),
                    kind: message.kind.into(),
                    content: message.content,
                    client_msg_id: message.client_msg_id,
                    create_time: message.create_time,
                    status: message.status.into(),
                    edit_time: message.edit_time,
                    reply_to: message.reply_to.map(Into::into),
                    ext: message.ext.map(im_domain::ext::Ext::into_string),
                    control: message.control.map(|control| types::ControlRef {
                        msg_id: control.msg_id.number(),
                        action: control.action.into(),
                    }),
                }
            }
        }

        impl TryFrom<types::Message> for im_domain::message::Message {
            type Error = im_domain::Error;
            fn try_from(message: types::Message) -> im_domain::Result<Self> {
                let control = message.control.map(|control| {
                    Ok::<_, im_domain::Error>(im_domain::message::ControlRef {
                        msg_id: $crate::msg_id(control.msg_id)?,
                        action: control.action.into(),
                    })
                });
                Ok(Self {
                    msg_id: $crate::msg_id(message.msg_id)?,
                    seq: message.seq,
                    sender: im_domain::UserId::parse(message.sender)?,
                    kind: message.kind.into(),
                    content: message.content,
                    client_msg_id: message.client_msg_id,
                    create_time: message.create_time,
                    status: message.status.into(),
                    edit_time: message.edit_time,
                    reply_to: message.reply_to.map(im_domain::message::Quote::try_from).transpose()?,
                    ext: message.ext.map(im_domain::ext::Ext::stored),
                    control: control.transpose()?,
                })
            }
        }

        impl From<im_domain::page::Reset> for types::Reset {
            fn from(reset: im_domain::page::Reset) -> Self {
                Self { reason: reset.reason.into(), oldest: reset.oldest.number() }
            }
        }

        impl TryFrom<types::Reset> for im_domain::page::Reset {
            type Error = im_domain::Error;
            fn try_from(reset: types::Reset) -> im_domain::Result<Self> {
                Ok(Self { reason: reset.reason.into(), oldest: $crate::msg_id(reset.oldest)? })
            }
        }

        impl From<im_domain::page::Page> for types::Page {
            fn from(page: im_domain::page::Page) -> Self {
                Self {
                    conversation: page.conversation.into_string(),
                    messages: $crate::each(page.messages),
                    has_more: page.has_more,
                    cursor: page.cursor.number(),
                    epoch: page.epoch,
                    head_seq: page.head_seq,
                    reset: page.reset.map(Into::into),
                }
            }
        }

        impl TryFrom<types::Page> for im_domain::page::Page {
            type Error = im_domain::Error;
            fn try_from(page: types::Page) -> im_domain::Result<Self> {
                Ok(Self {
                    conversation: im_domain::ConversationId::parse(page.conversation)?,
                    messages: $crate::all(page.messages)?,
                    has_more: page.has_more,
                    cursor: $crate::msg_id(page.cursor)?,
                    epoch: page.epoch,
                    head_seq: page.head_seq,
                    reset: page.reset.map(im_domain::page::Reset::try_from).transpose()?,
                })
            }
        }

        impl From<im_domain::page::PageQuery> for messages::PageQuery {
            fn from(query: im_domain::page::PageQuery) -> Self {
                Self {
                    conversation: query.conversation.into_string(),
                    cursor: query.cursor.number(),
                    limit: query.limit,
                    direction: query.direction.into(),
                    from_time: query.from_ms,
                    to_time: query.to_ms,
                    kinds: $crate::each(query.kinds),
                }
            }
        }

        impl TryFrom<messages::PageQuery> for im_domain::page::PageQuery {
            type Error = im_domain::Error;
            fn try_from(query: messages::PageQuery) -> im_domain::Result<Self> {
                Ok(Self {
                    conversation: im_domain::ConversationId::parse(query.conversation)?,
                    cursor: $crate::msg_id(query.cursor)?,
                    limit: im_domain::page::check_limit(query.limit)?,
                    direction: query.direction.into(),
                    from_ms: query.from_time,
                    to_ms: query.to_time,
                    kinds: $crate::each(query.kinds),
                })
            }
        }

        impl From<im_domain::page::Found> for messages::Found {
            fn from(found: im_domain::page::Found) -> Self {
                Self {
                    messages: $crate::each(found.messages),
                    missing: found.missing.into_iter().map(im_domain::MsgId::number).collect(),
                }
            }
        }

        impl TryFrom<messages::Found> for im_domain::page::Found {
            type Error = im_domain::Error;
            fn try_from(found: messages::Found) -> im_domain::Result<Self> {
                Ok(Self {
                    messages: $crate::all(found.messages)?,
                    missing: found.missing.into_iter().map($crate::msg_id).collect::<Result<_, _>>()?,
                })
            }
        }
    };
}
