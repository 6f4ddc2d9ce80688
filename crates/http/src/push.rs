//! The hand-off to a push service: whom it has to wake, and what their users allow it to show.

use crate::auth::Caller;
use crate::exchange::Response;
use crate::json::parse_or_empty;
use crate::json::push::{DueIn, DueOut, SettingsIn, SettingsOut};
use crate::problem::Problem;
use im_domain::storage::Storage;

pub async fn settings(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut settings: SettingsIn = parse_or_empty(body)?;
    let actor = caller.actor(settings.user_id.take().map(|user| user.0))?;
    let settings = storage.push_settings(&actor, settings.change()).await?;
    Response::json(&SettingsOut::from(&settings))
}

/// The service acts for its tenant here, not for a user.
pub async fn due(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let (limit, confirm) = parse_or_empty::<DueIn>(body)?.parts();
    let due = storage.push_due(&caller.tenant, limit, &confirm).await?;
    Response::json(&DueOut::from(due.as_slice()))
}
