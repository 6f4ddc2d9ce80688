//! Whom a push service has to wake.
//!
//! Sending writes nothing for pushes. When a service asks, the members of the conversations in which
//! something was said since are marked with a time to look at them (`fan_out`); at that time it is counted
//! what really waits, and who is due is leased to the service (`lease`). Marks are guesses that never come
//! too late, so whoever is not marked has nothing to wait for, and each step is bounded.

mod fan_out;
mod lease;
mod preview;
mod settings;
mod waiting;

pub(super) use settings::settings;

use super::{Embedded, transaction};
use crate::sqlite::Sqlite;
use im_domain::push::Due;
use im_domain::{MsgId, Result, Tenant};

/// Users looked at for each one asked for: some that were marked have read meanwhile what waited.
const LOOKS_PER_DUE: u32 = 2;

pub(super) fn due<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    limit: u32,
    confirm: &[String],
) -> Result<Vec<Due>> {
    let rule = store.environment.push.of(tenant);
    if !confirm.is_empty() {
        transaction::write(store, || lease::confirm(store, tenant, rule, confirm))?;
    }
    if fan_out::is_needed(store, tenant)? {
        transaction::write(store, || fan_out::fan_out(store, tenant, rule))?;
    }
    let mut due = Vec::new();
    for user in lease::to_look_at(store, tenant, limit.saturating_mul(LOOKS_PER_DUE))? {
        if due.len() == limit as usize {
            break;
        }
        let leased = transaction::write(store, || lease::lease(store, tenant, &user, rule))?;
        if let Some(leased) = leased {
            due.push(preview::show(store, tenant, leased)?);
        }
    }
    Ok(due)
}

/// The place in the conversation `c` that divides what had been said at `moment` from what has been since:
/// a moment is an id of partition 0, to which the conversation's partition is added.
fn place_of(moment: &str) -> String {
    let partition = MsgId::compose(0, u8::MAX, 0).number();
    format!("({moment} | (c.head_msg_id & {partition}))")
}
