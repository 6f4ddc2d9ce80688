//! What there is of one user.

#[doc(hidden)]
#[macro_export]
macro_rules! user_conversions {
    () => {
        impl From<im_domain::export::Profile> for users::Profile {
            fn from(profile: im_domain::export::Profile) -> Self {
                Self { devices: $crate::each(profile.devices), push: profile.push.into() }
            }
        }

        impl TryFrom<users::Profile> for im_domain::export::Profile {
            type Error = im_domain::Error;

            fn try_from(profile: users::Profile) -> im_domain::Result<Self> {
                Ok(Self { devices: $crate::all(profile.devices)?, push: profile.push.try_into()? })
            }
        }

        impl From<im_domain::export::Membership> for users::Membership {
            fn from(membership: im_domain::export::Membership) -> Self {
                let member = |member: im_domain::export::Member| users::Member {
                    role: member.role.into(),
                    joined_after: member.joined_after.number(),
                    read_msg_id: member.read_msg_id.number(),
                    muted: member.muted,
                };
                let position = |(device, msg_id): (im_domain::DeviceId, im_domain::MsgId)| {
                    (device.into_string(), msg_id.number())
                };
                Self {
                    conversation: membership.conversation.into_string(),
                    member: membership.member.map(member),
                    positions: membership.positions.into_iter().map(position).collect(),
                    hidden: membership.hidden.into_iter().map(im_domain::MsgId::number).collect(),
                }
            }
        }

        impl TryFrom<users::Membership> for im_domain::export::Membership {
            type Error = im_domain::Error;

            fn try_from(membership: users::Membership) -> im_domain::Result<Self> {
                let member = |member: users::Member| {
                    Ok::<_, im_domain::Error>(im_domain::export::Member {
                        role: member.role.into(),
                        joined_after: $crate::msg_id(member.joined_after)?,
                        read_msg_id: $crate::msg_id(member.read_msg_id)?,
                        muted: member.muted,
                    })
                };
                let position = |(device, msg_id): (String, u64)| {
                    Ok((im_domain::DeviceId::parse(device)?, $crate::msg_id(msg_id)?))
                };
                Ok(Self {
                    conversation: im_domain::ConversationId::parse(membership.conversation)?,
                    member: membership.member.map(member).transpose()?,
                    positions: membership
                        .positions
                        .into_iter()
                        .map(position)
                        .collect::<im_domain::Result<_>>()?,
                    hidden: membership
                        .hidden
                        .into_iter()
                        .map($crate::msg_id)
                        .collect::<im_domain::Result<_>>()?,
                })
            }
        }

        impl From<im_domain::export::Export> for users::Part {
            fn from(export: im_domain::export::Export) -> Self {
                let sent =
                    |(conversation, message): (im_domain::ConversationId, im_domain::message::Message)| {
                        users::Sent { conversation: conversation.into_string(), message: message.into() }
                    };
                Self {
                    profile: export.profile.map(Into::into),
                    memberships: $crate::each(export.memberships),
                    messages: export.messages.into_iter().map(sent).collect(),
                    cursor: export.cursor.to_string(),
                    has_more: export.has_more,
                }
            }
        }

        impl TryFrom<users::Part> for im_domain::export::Export {
            type Error = im_domain::Error;

            fn try_from(part: users::Part) -> im_domain::Result<Self> {
                let sent = |sent: users::Sent| {
                    Ok((im_domain::ConversationId::parse(sent.conversation)?, sent.message.try_into()?))
                };
                Ok(Self {
                    profile: part.profile.map(TryInto::try_into).transpose()?,
                    memberships: $crate::all(part.memberships)?,
                    messages: part.messages.into_iter().map(sent).collect::<im_domain::Result<_>>()?,
                    cursor: im_domain::export::ExportCursor::parse(&part.cursor)?,
                    has_more: part.has_more,
                })
            }
        }

        impl From<im_domain::erase::Erased> for users::Erased {
            fn from(erased: im_domain::erase::Erased) -> Self {
                Self {
                    messages: erased.messages,
                    held: erased.held.into_iter().map(im_domain::ConversationId::into_string).collect(),
                    cursor: erased.cursor.to_string(),
                    has_more: erased.has_more,
                }
            }
        }

        impl TryFrom<users::Erased> for im_domain::erase::Erased {
            type Error = im_domain::Error;

            fn try_from(erased: users::Erased) -> im_domain::Result<Self> {
                let held = erased.held.into_iter().map(im_domain::ConversationId::parse);
                Ok(Self {
                    messages: erased.messages,
                    held: held.collect::<Result<_, _>>()?,
                    cursor: im_domain::export::ExportCursor::parse(&erased.cursor)?,
                    has_more: erased.has_more,
                })
            }
        }
    };
}
