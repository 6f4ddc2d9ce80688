//! Proves which keys a server trusts: every key of its set, each for its own algorithm alone. The
//! suite writes the `keys.json` of a server of its own; skipped where `IM_URL` is set.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use im_tests::keys::Key;
use im_tests::routes::LIST;
use im_tests::server::{Server, Setup};
use im_tests::tenant::Tenant;
use im_tests::token;
use serde_json::{Value, json};

fn shared(kid: &str) -> Key {
    Key { kid: Some(kid.to_owned()), secret: (0..48).map(|_| fastrand::u8(..)).collect() }
}

fn public_jwk(key: &SigningKey, kid: &str) -> Value {
    json!({
        "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": kid,
        "x": BASE64_URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes()),
    })
}

struct Keyring {
    tenant: Tenant,
    /// Two shared secrets: the present one and one that is being replaced.
    secrets: [Key; 2],
    pair: SigningKey,
    _server: Server,
}

impl Keyring {
    fn new(label: &str) -> Option<Self> {
        let secrets = [shared("first"), shared("second")];
        let pair = SigningKey::from_bytes(&std::array::from_fn(|_| fastrand::u8(..)));
        let keys = json!({
            "keys": [secrets[0].to_jwk(), secrets[1].to_jwk(), public_jwk(&pair, "pair")],
        });
        let server = Server::own(Setup { keys: Some(keys), ..Setup::default() })?;
        Some(Self { tenant: Tenant::on(&server, label), secrets, pair, _server: server })
    }

    fn claims(&self) -> Value {
        token::claims(&self.tenant.name, "ann", None, "user")
    }

    async fn taken(&self, token: &str) {
        self.tenant.bearing(token).ok(LIST, json!({})).await;
    }

    async fn refused(&self, token: &str) {
        self.tenant.bearing(token).post(LIST, json!({})).await.refused("unauthenticated");
    }
}

#[tokio::test]
async fn every_key_of_the_set_signs_tokens() {
    let Some(ring) = Keyring::new("keys-all") else { return };
    for key in &ring.secrets {
        ring.taken(&token::sign(key, &ring.claims())).await;
    }
    let header = json!({"alg": "EdDSA", "typ": "JWT", "kid": "pair"});
    let signed = token::compose(&header, &ring.claims(), |input| ring.pair.sign(input).to_bytes().to_vec());
    ring.taken(&signed).await;
    let other = SigningKey::from_bytes(&[7; 32]);
    let forged = token::compose(&header, &ring.claims(), |input| other.sign(input).to_bytes().to_vec());
    ring.refused(&forged).await;
}

#[tokio::test]
async fn a_key_signs_under_its_own_name_and_algorithm_alone() {
    let Some(ring) = Keyring::new("keys-own") else { return };
    let [first, second] = &ring.secrets;
    let claims = ring.claims();
    let crossed = token::compose(&token::header(first), &claims, |input| token::hs256(&second.secret, input));
    ring.refused(&crossed).await;
    // The classic: the public key, which everybody knows, taken for a shared secret.
    let public = ring.pair.verifying_key().to_bytes();
    let encoded = BASE64_URL_SAFE_NO_PAD.encode(public);
    for secret in [public.to_vec(), encoded.into_bytes()] {
        let header = json!({"alg": "HS256", "typ": "JWT", "kid": "pair"});
        let confused = token::compose(&header, &claims, |input| token::hs256(&secret, input));
        ring.refused(&confused).await;
    }
    let header = json!({"alg": "EdDSA", "typ": "JWT", "kid": "first"});
    let misnamed = token::compose(&header, &claims, |input| ring.pair.sign(input).to_bytes().to_vec());
    ring.refused(&misnamed).await;
}
