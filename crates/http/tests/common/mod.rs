//! A whole store behind the routes, without components: the embedded engine over rusqlite.

use im_domain::storage::Storage;
use im_http::routes::{Component, ROUTES};
use im_http::{Api, ArchiveApi, Head, Keys, PullApi, Request, Response, SendApi, SyncApi};
use im_store::embedded::{Embedded, Environment};
use im_store::native::NativeSqlite;
use jsonwebtoken::{EncodingKey, Header};
use serde_json::{Value, json};
use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const SECRET: &str = "a secret of the tests, 32 bytes or more";
pub const NOW_MS: u64 = 1_760_000_000_000;

pub struct Service<S = Embedded<NativeSqlite>> {
    pub store: S,
    keys: Keys,
    /// Where an embedded store has its data.
    _folder: Option<tempfile::TempDir>,
}

impl Service {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let random = Cell::new(1_u128);
        let environment = Environment {
            now_ms: Box::new(|| NOW_MS),
            random: Box::new(move || random.replace(random.get() + 1)),
            retention: im_domain::retention::RetentionRules::default(),
            push: im_domain::push::PushRules::default(),
            revision: im_domain::revision::RevisionRules::default(),
            tier: im_domain::tier::TierRules::default(),
            index_members_max: im_domain::limits::INDEX_MEMBERS_MAX,
        };
        let db = NativeSqlite::open(&folder.path().join("store.db")).unwrap();
        let store = Embedded::open(db, environment).unwrap();
        Self { _folder: Some(folder), ..Self::over(store) }
    }
}

impl<S: Storage> Service<S> {
    pub fn over(store: S) -> Self {
        Self { store, keys: Keys::parse(SECRET).unwrap(), _folder: None }
    }

    /// Sends one request to the function that has its path.
    pub fn call(&self, token: Option<&str>, method: &str, path: &str, body: &[u8]) -> Response {
        let head = Head {
            method: method.into(),
            path: path.into(),
            query: None,
            authorization: token.map(|token| format!("Bearer {token}")),
            content_length: Some(body.len() as u64),
        };
        let request = Request { head, body: body.to_vec() };
        match ROUTES.iter().find(|route| route.path == path).map(|route| route.component) {
            Some(Component::Send) => self.handle::<SendApi>(&request),
            Some(Component::Pull) => self.handle::<PullApi>(&request),
            Some(Component::Sync) => self.handle::<SyncApi>(&request),
            Some(Component::Archive) | None => self.handle::<ArchiveApi>(&request),
        }
    }

    fn handle<A: Api>(&self, request: &Request) -> Response {
        let answer = pin!(im_http::handle::<A>(request, &self.keys, NOW_MS, &self.store));
        match answer.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => response,
            Poll::Pending => panic!("a store of the tests never waits"),
        }
    }

    /// As [`Self::call`] with a JSON body by POST; checks what holds for every answer.
    pub fn post(&self, token: &str, path: &str, body: Value) -> (u16, Value) {
        let response = self.call(Some(token), "POST", path, body.to_string().as_bytes());
        let length = response.body.len().to_string();
        assert_eq!(response.header("content-length"), Some(length.as_str()), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
        let kind = if response.status == 200 { "application/json" } else { "application/problem+json" };
        assert_eq!(response.header("content-type"), Some(kind), "{path}");
        (response.status, serde_json::from_slice(&response.body).unwrap())
    }

    /// As [`Self::post`], for a call that must succeed.
    pub fn ok(&self, token: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.post(token, path, body);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// As [`Self::post`], for a call that must be refused: its status, code and field.
    pub fn refused(&self, token: &str, path: &str, body: Value) -> (u16, String, Option<String>) {
        let (status, answer) = self.post(token, path, body);
        let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
        (status, text("code").unwrap_or_default(), text("field"))
    }
}

/// A token with the claims given beside tenant, sub and exp.
pub fn token(tenant: &str, user: &str, more: Value) -> String {
    let mut claims = json!({ "tenant": tenant, "sub": user, "exp": NOW_MS / 1_000 + 60 });
    claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let key = EncodingKey::from_secret(SECRET.as_bytes()).unwrap();
    jsonwebtoken::encode(&Header::default(), &claims, &key).unwrap()
}

pub fn user(name: &str) -> String {
    token("acme", name, json!({}))
}

pub fn service() -> String {
    token("acme", "backend", json!({ "scope": "service" }))
}

/// The names of an object's fields, sorted.
pub fn fields(value: &Value) -> Vec<&str> {
    let mut names: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
