//! The feed of changes.

#[doc(hidden)]
#[macro_export]
macro_rules! feed_conversions {
    () => {
        $crate::same_cases!(feed::EventKind, im_domain::feed::EventKind, Append Recall Edit Delete Erase);

        impl From<im_domain::feed::Event> for feed::Event {
            fn from(event: im_domain::feed::Event) -> Self {
                Self {
                    id: event.id,
                    kind: event.kind.into(),
                    conversation: event.conversation.into_string(),
                    message: event.message.into(),
                    target: event.target.map(Into::into),
                }
            }
        }

        impl TryFrom<feed::Event> for im_domain::feed::Event {
            type Error = im_domain::Error;

            fn try_from(event: feed::Event) -> im_domain::Result<Self> {
                Ok(Self {
                    id: event.id,
                    kind: event.kind.into(),
                    conversation: im_domain::ConversationId::parse(event.conversation)?,
                    message: event.message.try_into()?,
                    target: event.target.map(TryInto::try_into).transpose()?,
                })
            }
        }

        impl From<im_domain::feed::Events> for feed::EventList {
            fn from(events: im_domain::feed::Events) -> Self {
                Self {
                    events: $crate::each(events.events),
                    cursor: events.cursor.to_string(),
                    has_more: events.has_more,
                }
            }
        }

        impl TryFrom<feed::EventList> for im_domain::feed::Events {
            type Error = im_domain::Error;

            fn try_from(events: feed::EventList) -> im_domain::Result<Self> {
                let cursor = im_domain::feed::FeedCursor::parse(&events.cursor)?;
                Ok(Self {
                    events: $crate::all(events.events)?,
                    cursor: cursor.ok_or_else(im_domain::Error::unknown_cursor)?,
                    has_more: events.has_more,
                })
            }
        }
    };
}
