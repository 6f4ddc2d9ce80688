//! Who a client is to the server.

use http::HeaderValue;

use super::limits::TOKEN_LIFE;
use crate::auth::{self, Grant, KeyError, Scope, SigningKey};

/// What the header `authorization` is made of.
pub enum Identity {
    /// A token from elsewhere.
    Token(String),
    /// Tokens of our own, fresh for each attempt, so that none expires on a long way.
    Minted { key: SigningKey, tenant: String, user: String, device: Option<String>, scope: Scope },
}

/// No header can be made.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("{0}")]
    Key(#[from] KeyError),
    #[error("the token has characters that no token has")]
    NotToken,
}

impl Identity {
    /// The whole value of the header.
    pub fn authorization(&self) -> Result<HeaderValue, IdentityError> {
        let value = match self {
            Self::Token(token) => format!("Bearer {}", token.trim()),
            Self::Minted { key, tenant, user, device, scope } => {
                let device = device.as_deref();
                let grant = Grant { tenant, user, device, scope: *scope, life: TOKEN_LIFE };
                format!("Bearer {}", auth::mint(key, &grant)?)
            }
        };
        let mut header = HeaderValue::from_str(&value).map_err(|_| IdentityError::NotToken)?;
        header.set_sensitive(true);
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_token_is_passed_on() {
        let header = Identity::Token("a.b.c\n".into()).authorization().unwrap();
        assert_eq!(header, "Bearer a.b.c");
        assert!(header.is_sensitive());
        assert!(Identity::Token("a\nb".into()).authorization().is_err());
    }

    #[test]
    fn a_minted_one_is_a_token() {
        let identity = Identity::Minted {
            key: SigningKey::parse("0123456789abcdef0123456789abcdef").unwrap(),
            tenant: "t".into(),
            user: "u".into(),
            device: None,
            scope: Scope::Service,
        };
        let header = identity.authorization().unwrap();
        assert!(header.to_str().unwrap().starts_with("Bearer ey"));
    }
}
