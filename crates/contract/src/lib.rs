//! Conversions between the domain's types and those that are generated from `wit/`.
//!
//! The generated types are other ones in every component, so the conversions are a macro. It is
//! called once per component, in a module that has the generated modules `types`, `messages`,
//! `conversations`, `positions`, `push`, `feed`, `upkeep` and `users` in scope, and implements `From`, or `TryFrom` with the
//! domain's error where a name has to be checked, in both directions. What a storage component exports
//! is a macro as well, and for the same reason.

mod conversations;
mod error;
mod exports;
mod feed;
mod messages;
mod positions;
mod push;
mod revisions;
pub mod surroundings;
mod upkeep;
mod users;

#[doc(hidden)]
pub use exports::items;

/// Implements the conversions; see the crate's documentation.
#[macro_export]
macro_rules! conversions {
    () => {
        $crate::error_conversions!();
        $crate::message_conversions!();
        $crate::revision_conversions!();
        $crate::conversation_conversions!();
        $crate::position_conversions!();
        $crate::push_conversions!();
        $crate::feed_conversions!();
        $crate::upkeep_conversions!();
        $crate::user_conversions!();
    };
}

/// An enum that has the same cases on both sides.
#[doc(hidden)]
#[macro_export]
macro_rules! same_cases {
    ($wit:path, $domain:path, $($case:ident)+) => {
        const _: () = {
            use $domain as Domain;
            use $wit as Wit;
            impl From<Domain> for Wit {
                fn from(value: Domain) -> Self {
                    match value { $(Domain::$case => Self::$case),+ }
                }
            }
            impl From<Wit> for Domain {
                fn from(value: Wit) -> Self {
                    match value { $(Wit::$case => Self::$case),+ }
                }
            }
        };
    };
}

/// A record whose fields convert with `Into` in both directions; of those after `each` every item does,
/// of those after `some` what there is.
#[doc(hidden)]
#[macro_export]
macro_rules! same_fields {
    ($wit:path, $domain:path, $($field:ident)+ $(; each $($list:ident)+; some $($option:ident)+)?) => {
        const _: () = {
            use $domain as Domain;
            use $wit as Wit;
            impl From<Domain> for Wit {
                fn from(value: Domain) -> Self {
                    Self {
                        $($field: value.$field.into(),)+
                        $($($list: $crate::each(value.$list),)+ $($option: value.$option.map(Into::into),)+)?
                    }
                }
            }
            impl From<Wit> for Domain {
                fn from(value: Wit) -> Self {
                    Self {
                        $($field: value.$field.into(),)+
                        $($($list: $crate::each(value.$list),)+ $($option: value.$option.map(Into::into),)+)?
                    }
                }
            }
        };
    };
}

/// Message ids are plain numbers in WIT; one that is out of range was never given to anybody.
#[doc(hidden)]
pub fn msg_id(number: u64) -> im_domain::Result<im_domain::MsgId> {
    im_domain::MsgId::new(number)
        .ok_or_else(|| im_domain::Error::invalid("msgId", "must have at most 63 bits"))
}

/// Converts every item, or fails with the first that does not convert.
#[doc(hidden)]
pub fn all<A, B>(items: Vec<A>) -> im_domain::Result<Vec<B>>
where
    B: TryFrom<A, Error = im_domain::Error>,
{
    items.into_iter().map(B::try_from).collect()
}

/// Converts every item.
#[doc(hidden)]
pub fn each<A, B: From<A>>(items: Vec<A>) -> Vec<B> {
    items.into_iter().map(B::from).collect()
}
