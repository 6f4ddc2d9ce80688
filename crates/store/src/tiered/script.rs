//! Scripts: called by their hash, and sent whole only when the server does not know them.

use crate::redis::{Argument, Redis, RedisError, Reply};
use sha1::{Digest, Sha1};
use std::sync::LazyLock;

/// A Lua script; what it takes and gives stands at its head.
pub struct Script {
    text: &'static str,
    hash: LazyLock<String>,
    /// It can be called again when nobody knows whether it was: it changes nothing but a key's life, or
    /// nothing more than once.
    pub may_repeat: bool,
}

macro_rules! scripts {
    ($($name:ident $file:literal $may_repeat:literal),+ $(,)?) => {
        $(pub static $name: Script = {
            const TEXT: &str = concat!(
                include_str!("../../scripts/prelude.lua"),
                include_str!(concat!("../../scripts/", $file, ".lua"))
            );
            Script {
                text: TEXT,
                hash: LazyLock::new(|| hash(TEXT)),
                may_repeat: $may_repeat,
            }
        };)+
    };
}

// Name, file, and whether it may be repeated.
scripts! {
    ADOPT "adopt" false,
    ALIAS "alias" false,
    APPEND "append" false,
    AUDIENCE "audience" true,
    BACKLOG "backlog" false,
    BURY "bury" false,
    CHANGES "changes" true,
    CONTENTS "contents" true,
    CREATE "create" false,
    DEFER "defer" true,
    DEVICES "devices" true,
    DRAIN_DONE "drain_done" false,
    DRAIN_READ "drain_read" false,
    DUE "due" false,
    EXPIRE "expire" true,
    FORGET "forget" true,
    GET "get" true,
    HIDE "hide" false,
    INDEX "index" false,
    LEFT "left" true,
    LETTERS "letters" false,
    MEMBERS "members" false,
    NEWEST "newest" true,
    PAGE "page" true,
    PLACE_DEVICE "place_device" false,
    PREPARE "prepare" false,
    READ "read" false,
    RECHECK "recheck" false,
    RECIPIENTS "recipients" true,
    RELOCATE "relocate" false,
    REPLAY "replay" false,
    REVISE "revise" false,
    SEED "seed" false,
    SET_USER "set_user" false,
    STANDING "standing" true,
    SYNC "sync" false,
    TAKE_DEFERRED "take_deferred" false,
    TELL "tell" false,
    TOLD_DEFERRED "told_deferred" true,
    TOUCH "touch" true,
    UPDATE "update" false,
    VIEWS "views" true,
    WAKE "wake" true,
}

fn hash(text: &str) -> String {
    Sha1::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Script {
    pub async fn run(
        &self,
        redis: &impl Redis,
        keys: &[String],
        arguments: &[Argument],
    ) -> Result<Reply, RedisError> {
        let with = |first: &str| {
            let mut all = Vec::with_capacity(2 + keys.len() + arguments.len());
            all.extend([Argument::from(first), Argument::from(keys.len() as u64)]);
            all.extend(keys.iter().map(|key| Argument::from(key.as_str())));
            all.extend_from_slice(arguments);
            all
        };
        let lost = redis.connections_lost();
        match redis.command("EVALSHA", with(&self.hash)).await {
            // What the arguments say of the server holds for one connection.
            Err(RedisError::NoScript) if redis.connections_lost() == lost => {
                redis.command("EVAL", with(self.text)).await.map(Reply::new)
            }
            Err(RedisError::NoScript) => Err(RedisError::Unreachable("it was connected to anew".to_owned())),
            reply => reply.map(Reply::new),
        }
    }
}
