//! What the app sets, read from the variables of its component.

use im_domain::{Error, Result};
use im_store::tiered::config::{Config, Given};
use spin_sdk::variables;

/// The checked settings. An error names the variable and never shows its value.
pub async fn config() -> Result<Config> {
    Config::parse(&Given {
        redis_url: get("redis_url").await?,
        postgres_url: get("postgres_url").await?,
        hot_durability: get("hot_durability").await?,
        backlog_max: get("backlog_max").await?,
        dedup_seconds: get("dedup_seconds").await?,
        retention_ms: get("retention_ms").await?,
        legal_hold: get("legal_hold").await?,
        push_messages: get("push_messages").await?,
        push_wait_ms: get("push_wait_ms").await?,
        push_offline_ms: get("push_offline_ms").await?,
        recall_ms: get("recall_ms").await?,
        edit_ms: get("edit_ms").await?,
        tier_after_ms: get("tier_after_ms").await?,
        tier_window: get("tier_window").await?,
    })
}

async fn get(name: &'static str) -> Result<String> {
    // The error's text may hold what a provider of variables had to say; its kind is enough.
    variables::get(name).await.map_err(|error| {
        let kind = match error {
            variables::Error::InvalidName(_) => "the name is not allowed",
            variables::Error::Undefined(_) => "it is not defined",
            variables::Error::Provider(_) => "its provider failed",
            variables::Error::Other(_) => "it cannot be read",
        };
        Error::internal(format!("variable {name}: {kind}"))
    })
}
