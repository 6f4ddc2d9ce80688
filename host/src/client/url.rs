//! Where a server is.

use std::str::FromStr;

use http::Uri;
use http::uri::Scheme;

/// The address of a server: `http://HOST[:PORT][/PREFIX]`, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

/// Why a text is no such address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("must be like http://HOST:PORT")]
    NotUrl,
    #[error("only http:// is spoken here: put what ends TLS between")]
    NotHttp,
    #[error("must have no query")]
    Query,
}

impl ServerUrl {
    /// The address of one of its routes.
    pub fn route(&self, route: &str) -> String {
        format!("{}{route}", self.0)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let uri: Uri = text.parse().map_err(|_| UrlError::NotUrl)?;
        match uri.scheme() {
            None => return Err(UrlError::NotUrl),
            Some(scheme) if *scheme != Scheme::HTTP => return Err(UrlError::NotHttp),
            Some(_) => {}
        }
        if uri.query().is_some() {
            return Err(UrlError::Query);
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::limits::URL_DEFAULT;
    use crate::limits::LISTEN_DEFAULT;

    #[test]
    fn routes_are_put_behind_it() {
        for text in ["http://h:1", "http://h:1/", "http://[::1]:1/im/"] {
            let url: ServerUrl = text.parse().unwrap();
            assert_eq!(url.route("/api/x"), format!("{}/api/x", text.trim_end_matches('/')));
        }
    }

    #[test]
    fn others_are_refused() {
        for (text, why) in [
            ("", UrlError::NotUrl),
            ("h", UrlError::NotUrl),
            ("h:1", UrlError::NotUrl),
            ("/x", UrlError::NotUrl),
            ("http://", UrlError::NotUrl),
            ("http://a b", UrlError::NotUrl),
            ("https://h", UrlError::NotHttp),
            ("http://h/?a=b", UrlError::Query),
        ] {
            assert_eq!(text.parse::<ServerUrl>(), Err(why), "{text}");
        }
    }

    #[test]
    fn the_default_is_where_the_server_listens() {
        assert_eq!(URL_DEFAULT, format!("http://{LISTEN_DEFAULT}"));
        assert!(URL_DEFAULT.parse::<ServerUrl>().is_ok());
    }
}
