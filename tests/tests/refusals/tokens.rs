//! Proves that no route takes a token that is missing, malformed, expired, early, wrongly signed or
//! incomplete, and that a token is looked at before the body.

use super::Room;
use im_tests::client::Client;
use im_tests::routes::{POSTS, STATUS, good_body};
use im_tests::token;
use serde_json::{Value, json};

/// Expects every route that needs a token to refuse `client`, and nothing to change.
async fn refused_everywhere(room: &Room, client: &Client) {
    for route in POSTS {
        let answer = client.post(route, good_body(route, "room")).await;
        answer.refused("unauthenticated");
        assert!(answer.headers.contains_key("www-authenticate"), "{route}: RFC 9110, 11.6.1");
    }
    client.get(STATUS).await.refused("unauthenticated");
    room.untouched().await;
}

/// The claims of Ann, as an administrator so that no route lacks rights, with one change.
fn claims_with(room: &Room, name: &str, value: Value) -> Value {
    let mut claims = token::claims(&room.tenant.name, "ann", Some("ann-phone"), "admin");
    match value {
        Value::Null => drop(claims.as_object_mut().expect("claims").remove(name)),
        value => claims[name] = value,
    }
    claims
}

async fn claim_refused(label: &str, name: &str, values: impl IntoIterator<Item = Value>) {
    let room = Room::new(label).await;
    for value in values {
        refused_everywhere(&room, &room.tenant.claiming(&claims_with(&room, name, value))).await;
    }
}

#[tokio::test]
async fn no_token() {
    let room = Room::new("token-none").await;
    refused_everywhere(&room, &room.tenant.nobody()).await;
}

#[tokio::test]
async fn malformed_tokens() {
    let room = Room::new("token-malformed").await;
    let good = room.ann.token().to_owned();
    let parts: Vec<&str> = good.split('.').collect();
    let long = format!("{good}{}", "A".repeat(8_000));
    let malformed = [
        "x",
        "a.b",
        "a.b.c",
        "..",
        &good[1..],
        &good[..good.len() - 1],
        parts[1],
        &long,
        &format!("{}.{}", parts[0], parts[1]),
        &format!("{}.{}.", parts[0], parts[1]),
        &format!("{good}.{}", parts[2]),
        &format!("{}.{}.{}", parts[1], parts[0], parts[2]),
        &format!("{good} {good}"),
    ];
    for token in malformed {
        let answer = room.tenant.bearing(token).post(POSTS[0], good_body(POSTS[0], "room")).await;
        answer.refused("unauthenticated");
    }
    room.untouched().await;
}

#[tokio::test]
async fn other_schemes() {
    let room = Room::new("token-scheme").await;
    let good = room.ann.token();
    for value in [good, &format!("Basic {good}"), "Bearer", "Bearer ", &format!("Bearer{good}")] {
        let client = room.ann.with_authorization(value);
        client.post(POSTS[0], good_body(POSTS[0], "room")).await.refused("unauthenticated");
    }
    room.untouched().await;
}

#[tokio::test]
async fn expired() {
    let past = token::now_seconds() - 3_600;
    claim_refused("token-expired", "exp", [json!(past), json!(0), json!(-1)]).await;
}

#[tokio::test]
async fn without_an_expiry() {
    claim_refused("token-no-exp", "exp", [Value::Null, json!("tomorrow")]).await;
}

#[tokio::test]
async fn not_valid_yet() {
    claim_refused("token-nbf", "nbf", [json!(token::now_seconds() + 3_600)]).await;
}

#[tokio::test]
async fn without_a_tenant() {
    claim_refused("token-no-tenant", "tenant", [Value::Null, json!(""), json!(7)]).await;
}

#[tokio::test]
async fn without_a_user() {
    claim_refused("token-no-sub", "sub", [Value::Null, json!(""), json!(7)]).await;
}

#[tokio::test]
async fn names_that_are_none() {
    claim_refused("token-names-sub", "sub", [json!("a b"), json!("x".repeat(65))]).await;
    claim_refused("token-names-tenant", "tenant", [json!("a/b"), json!("é")]).await;
}

#[tokio::test]
async fn wrong_signature() {
    let room = Room::new("token-signature").await;
    let claims = claims_with(&room, "dev", json!("ann-phone"));
    let header = token::header(room.tenant.key());
    let other =
        token::compose(&header, &claims, |input| token::hs256(b"another secret of thirty-two bytes", input));
    refused_everywhere(&room, &room.tenant.bearing(&other)).await;
    let cut = token::compose(&header, &claims, |input| {
        token::hs256(&room.tenant.key().secret, input)[..16].to_vec()
    });
    refused_everywhere(&room, &room.tenant.bearing(&cut)).await;
}

#[tokio::test]
async fn changed_claims() {
    let room = Room::new("token-changed").await;
    let (good, wanted) =
        (room.ben.token().to_owned(), token::sign(room.tenant.key(), &claims_with(&room, "x", json!(1))));
    let (bens, anns): (Vec<&str>, Vec<&str>) = (good.split('.').collect(), wanted.split('.').collect());
    let forged = format!("{}.{}.{}", bens[0], anns[1], bens[2]);
    refused_everywhere(&room, &room.tenant.bearing(&forged)).await;
}

#[tokio::test]
async fn algorithm_none() {
    let room = Room::new("token-alg-none").await;
    let claims = claims_with(&room, "dev", json!("ann-phone"));
    for alg in ["none", "None", "NONE"] {
        let mut header = token::header(room.tenant.key());
        header["alg"] = alg.into();
        let unsigned = token::compose(&header, &claims, |_| Vec::new());
        refused_everywhere(&room, &room.tenant.bearing(&unsigned)).await;
        let signed = token::compose(&header, &claims, |input| token::hs256(&room.tenant.key().secret, input));
        refused_everywhere(&room, &room.tenant.bearing(&signed)).await;
    }
}

#[tokio::test]
async fn another_algorithm() {
    let room = Room::new("token-alg-other").await;
    let claims = claims_with(&room, "dev", json!("ann-phone"));
    for alg in ["HS384", "HS512", "RS256", "EdDSA", "hs256", ""] {
        let mut header = token::header(room.tenant.key());
        header["alg"] = alg.into();
        let token = token::compose(&header, &claims, |input| token::hs256(&room.tenant.key().secret, input));
        refused_everywhere(&room, &room.tenant.bearing(&token)).await;
    }
}

#[tokio::test]
async fn unknown_key() {
    let room = Room::new("token-kid").await;
    if room.tenant.key().kid.is_none() {
        println!("skipped: the server's key is a bare secret, which has no name to be mistaken");
        return;
    }
    let claims = claims_with(&room, "dev", json!("ann-phone"));
    for kid in ["nobody's", "../../keys.json", "' or 1=1 --"] {
        let header = json!({"alg": "HS256", "typ": "JWT", "kid": kid});
        let token = token::compose(&header, &claims, |input| token::hs256(&room.tenant.key().secret, input));
        refused_everywhere(&room, &room.tenant.bearing(&token)).await;
    }
}

#[tokio::test]
async fn an_unknown_scope_has_no_rights() {
    let room = Room::new("token-scope").await;
    for scope in ["root", "Admin", "admin service", ""] {
        let client = room.tenant.claiming(&claims_with(&room, "scope", json!(scope)));
        let answer = client.get(STATUS).await;
        assert!(matches!(answer.status, 401 | 403), "{scope:?}: {}", answer.body);
    }
}

#[tokio::test]
async fn the_token_is_looked_at_before_the_body() {
    let room = Room::new("token-first").await;
    for route in POSTS {
        for body in ["", "{", r#"{"surprise":1}"#] {
            room.tenant.nobody().post_bytes(route, body).await.refused("unauthenticated");
        }
    }
}

#[tokio::test]
async fn good_tokens_in_unusual_dress_are_taken() {
    let room = Room::new("token-good").await;
    let early = claims_with(&room, "nbf", json!(token::now_seconds() - 3_600));
    room.tenant.claiming(&early).get(STATUS).await.ok();
    let more = claims_with(&room, "iss", json!("https://issuer.example"));
    room.tenant.claiming(&more).get(STATUS).await.ok();
    let user = claims_with(&room, "scope", Value::Null);
    room.tenant.claiming(&user).ok("/api/conversation/list", json!({})).await;
    // The scheme's name is case-insensitive (RFC 9110, 11.1).
    let client = room.ann.with_authorization(&format!("bearer {}", room.ann.token()));
    client.ok("/api/conversation/list", json!({})).await;
}
