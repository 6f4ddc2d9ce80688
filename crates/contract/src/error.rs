//! The error of the contract.

#[doc(hidden)]
#[macro_export]
macro_rules! error_conversions {
    () => {
        impl From<im_domain::Error> for types::Error {
            fn from(error: im_domain::Error) -> Self {
                use im_domain::Error as E;
                let at = |field, reason| types::FieldError { field, reason };
                match error {
                    E::Invalid { field, reason } => Self::Invalid(at(field, reason)),
                    E::TooLarge { field, reason } => Self::TooLarge(at(field, reason)),
                    E::Forbidden { field, reason } => Self::Forbidden(types::Refusal { field, reason }),
                    E::NotMember => Self::NotMember,
                    E::ConversationNotFound => Self::ConversationNotFound,
                    E::MessageNotFound { field } => Self::MessageNotFound(field),
                    E::Conflict { field, reason } => Self::Conflict(at(field, reason)),
                    E::RateLimited { retry_after_ms } => Self::RateLimited(retry_after_ms),
                    E::Overloaded { retry_after_ms } => Self::Overloaded(retry_after_ms),
                    E::HotUnavailable { retry_after_ms } => Self::HotUnavailable(retry_after_ms),
                    E::SqlUnavailable { retry_after_ms } => Self::SqlUnavailable(retry_after_ms),
                    E::Internal { reason } => Self::Internal(reason),
                }
            }
        }

        impl From<types::Error> for im_domain::Error {
            fn from(error: types::Error) -> Self {
                use types::Error as E;
                match error {
                    E::Invalid(at) => Self::Invalid { field: at.field, reason: at.reason },
                    E::TooLarge(at) => Self::TooLarge { field: at.field, reason: at.reason },
                    E::Forbidden(at) => Self::Forbidden { field: at.field, reason: at.reason },
                    E::NotMember => Self::NotMember,
                    E::ConversationNotFound => Self::ConversationNotFound,
                    E::MessageNotFound(field) => Self::MessageNotFound { field },
                    E::Conflict(at) => Self::Conflict { field: at.field, reason: at.reason },
                    E::RateLimited(retry_after_ms) => Self::RateLimited { retry_after_ms },
                    E::Overloaded(retry_after_ms) => Self::Overloaded { retry_after_ms },
                    E::HotUnavailable(retry_after_ms) => Self::HotUnavailable { retry_after_ms },
                    E::SqlUnavailable(retry_after_ms) => Self::SqlUnavailable { retry_after_ms },
                    E::Internal(reason) => Self::Internal { reason },
                }
            }
        }
    };
}
