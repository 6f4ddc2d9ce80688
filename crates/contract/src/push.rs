//! The hand-off to push services.

#[doc(hidden)]
#[macro_export]
macro_rules! push_conversions {
    () => {
        impl From<im_domain::push::PushSettings> for push::PushSettings {
            fn from(settings: im_domain::push::PushSettings) -> Self {
                let muted = settings.muted.into_iter().map(im_domain::ConversationId::into_string);
                Self { show_content: settings.show_content, muted: muted.collect() }
            }
        }

        impl TryFrom<push::PushSettings> for im_domain::push::PushSettings {
            type Error = im_domain::Error;
            fn try_from(settings: push::PushSettings) -> im_domain::Result<Self> {
                let muted = settings.muted.into_iter().map(im_domain::ConversationId::parse);
                Ok(Self {
                    show_content: settings.show_content,
                    muted: muted.collect::<im_domain::Result<_>>()?,
                })
            }
        }

        impl From<im_domain::push::PushSettingsChange> for push::PushSettingsChange {
            fn from(change: im_domain::push::PushSettingsChange) -> Self {
                let names = |ids: Vec<im_domain::ConversationId>| {
                    ids.into_iter().map(im_domain::ConversationId::into_string).collect()
                };
                Self { show_content: change.show_content, muted: change.muted.map(names) }
            }
        }

        impl TryFrom<push::PushSettingsChange> for im_domain::push::PushSettingsChange {
            type Error = im_domain::Error;
            fn try_from(change: push::PushSettingsChange) -> im_domain::Result<Self> {
                let parse = |names: Vec<String>| {
                    let ids =
                        names.into_iter().map(|name| im_domain::ConversationId::parse_as("muted", name));
                    ids.collect::<im_domain::Result<Vec<_>>>()
                };
                Ok(Self { show_content: change.show_content, muted: change.muted.map(parse).transpose()? })
            }
        }

        impl From<im_domain::push::Due> for push::DueUser {
            fn from(due: im_domain::push::Due) -> Self {
                let previewed =
                    |(conversation, message): (im_domain::ConversationId, im_domain::message::Message)| {
                        push::Previewed { conversation: conversation.into_string(), message: message.into() }
                    };
                Self {
                    lease_id: due.lease_id,
                    user: due.user.into_string(),
                    messages: due.messages,
                    conversations: due.conversations,
                    oldest_time: due.oldest_time_ms,
                    preview: due.preview.map(|shown| shown.into_iter().map(previewed).collect()),
                }
            }
        }

        impl TryFrom<push::DueUser> for im_domain::push::Due {
            type Error = im_domain::Error;
            fn try_from(due: push::DueUser) -> im_domain::Result<Self> {
                let previewed = |shown: push::Previewed| {
                    let conversation = im_domain::ConversationId::parse(shown.conversation)?;
                    Ok::<_, im_domain::Error>((conversation, shown.message.try_into()?))
                };
                let preview =
                    due.preview.map(|shown| shown.into_iter().map(previewed).collect::<Result<_, _>>());
                Ok(Self {
                    lease_id: due.lease_id,
                    user: im_domain::UserId::parse(due.user)?,
                    messages: due.messages,
                    conversations: due.conversations,
                    oldest_time_ms: due.oldest_time,
                    preview: preview.transpose()?,
                })
            }
        }
    };
}
