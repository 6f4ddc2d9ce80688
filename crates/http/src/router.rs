//! What happens to a request before its route sees it, in this order: path (404), method (405),
//! token (401), scope (403), size (413). Only then the body is read.

use crate::auth::{self, Caller, Scope};
use crate::exchange::{Head, Request, Response};
use crate::keys::Keys;
use crate::problem::{Code, Problem};
use crate::routes::{Access, Component, Op, ROUTES, Route};
use im_domain::limits::REQUEST_BYTES_MAX;
use im_domain::storage::Storage;

/// A request that may go on.
#[derive(Debug)]
pub struct Call {
    pub op: Op,
    /// Nobody on public routes.
    pub caller: Option<Caller>,
    /// Whether the route takes a body; another's is not read.
    pub takes_body: bool,
}

/// One function's part of the API. Futures of a component are not `Send`, so neither are these.
#[allow(async_fn_in_trait)]
pub trait Api {
    const COMPONENT: Component;

    /// Answers a call that [`admit`] let pass.
    async fn run(call: Call, body: &[u8], storage: &impl Storage) -> Result<Response, Problem>;
}

/// Decides on a request by its head. `now_ms`: milliseconds since 1970.
pub fn admit(component: Component, head: &Head, keys: &Keys, now_ms: u64) -> Result<Call, Problem> {
    let route = find(component, head)?;
    let caller = match route.access {
        Access::Public => None,
        Access::Token | Access::Operator | Access::Admin => {
            let caller = auth::authenticate(keys, head.authorization.as_deref(), now_ms)?;
            check_scope(route.access, &caller)?;
            Some(caller)
        }
    };
    let takes_body = route.method == "POST";
    if takes_body {
        check_size(head.content_length.unwrap_or(0))?;
    }
    Ok(Call { op: route.op, caller, takes_body })
}

fn check_scope(access: Access, caller: &Caller) -> Result<(), Problem> {
    match access {
        Access::Operator if !caller.privileged() => {
            Err(Problem::new(Code::Forbidden, "this needs a token with scope service or admin"))
        }
        Access::Admin if caller.scope != Scope::Admin => {
            Err(Problem::new(Code::Forbidden, "this needs a token with scope admin"))
        }
        _ => Ok(()),
    }
}

/// Whether this request can only be answered with the keys at hand. Health is told without them, and
/// readiness not.
pub fn needs_keys(component: Component, head: &Head) -> bool {
    find(component, head).is_ok_and(|route| route.access != Access::Public || route.op == Op::Ready)
}

fn find(component: Component, head: &Head) -> Result<&'static Route, Problem> {
    let own = |route: &&Route| route.component == component && route.path == head.path;
    let route = ROUTES.iter().find(own).ok_or_else(Problem::not_found)?;
    if route.method != head.method {
        return Err(Problem::method_not_allowed(route.method));
    }
    Ok(route)
}

/// Refuses a body of more than [`REQUEST_BYTES_MAX`] bytes.
pub fn check_size(bytes: u64) -> Result<(), Problem> {
    if usize::try_from(bytes).is_ok_and(|bytes| bytes <= REQUEST_BYTES_MAX) {
        return Ok(());
    }
    Err(Problem::body_too_large())
}

/// Answers one request whose body is at hand.
pub async fn handle<A: Api>(request: &Request, keys: &Keys, now_ms: u64, storage: &impl Storage) -> Response {
    let admitted = admit(A::COMPONENT, &request.head, keys, now_ms)
        .and_then(|call| check_size(request.body.len() as u64).map(|()| call));
    match admitted {
        Ok(call) => answer::<A>(call, &request.body, storage).await,
        Err(problem) => problem.response(),
    }
}

/// Answers a call; its problem becomes a document.
pub async fn answer<A: Api>(call: Call, body: &[u8], storage: &impl Storage) -> Response {
    A::run(call, body, storage).await.unwrap_or_else(|problem| problem.response())
}

#[cfg(test)]
mod tests;
