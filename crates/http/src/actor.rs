//! For whom and on which device a caller acts: the token's claims and the names in the body.

use crate::auth::{Caller, Scope};
use crate::problem::Problem;
use im_domain::storage::Actor;
use im_domain::{DeviceId, UserId};

impl Caller {
    /// Whether the caller may use the routes that look after the store.
    pub fn privileged(&self) -> bool {
        self.scope != Scope::User
    }

    /// The user the caller acts for: `named` by the body, else the token's own. Only a service may
    /// name another user than its token.
    pub fn acting_user(&self, named: Option<UserId>) -> Result<UserId, Problem> {
        let user = named.unwrap_or_else(|| self.user.clone());
        if user != self.user && self.scope != Scope::Service {
            return Err(Problem::forbidden("userId", "only a service may act for another user"));
        }
        Ok(user)
    }

    pub fn actor(&self, named: Option<UserId>) -> Result<Actor, Problem> {
        let user = self.acting_user(named)?;
        Ok(Actor { tenant: self.tenant.clone(), user, privileged: self.privileged() })
    }

    /// The device of `user` the caller acts on, if any: `named` by the body, else the token's own, which is
    /// a device of the token's user and of nobody else. Only a service may name another device than its
    /// token.
    pub fn device_of(&self, user: &UserId, named: Option<DeviceId>) -> Result<Option<DeviceId>, Problem> {
        if named.is_some() && named != self.device && self.scope != Scope::Service {
            return Err(Problem::forbidden("deviceId", "only a service may act on another device"));
        }
        let own = || self.device.clone().filter(|_| *user == self.user);
        Ok(named.or_else(own))
    }

    /// As [`Self::device_of`], where there must be one.
    pub fn acting_device(&self, user: &UserId, named: Option<DeviceId>) -> Result<DeviceId, Problem> {
        let missing = || Problem::invalid("deviceId", "neither the token nor the body names a device");
        self.device_of(user, named)?.ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;
    use im_domain::Tenant;

    fn caller(scope: Scope, device: Option<&str>) -> Caller {
        Caller {
            tenant: Tenant::parse("t").unwrap(),
            user: UserId::parse("alice").unwrap(),
            device: device.map(|d| DeviceId::parse(d).unwrap()),
            scope,
        }
    }

    fn user(name: &str) -> Option<UserId> {
        Some(UserId::parse(name).unwrap())
    }

    fn device(name: &str) -> Option<DeviceId> {
        Some(DeviceId::parse(name).unwrap())
    }

    #[test]
    fn without_a_name_everybody_acts_as_the_token_says() {
        for (scope, privileged) in [(Scope::User, false), (Scope::Service, true), (Scope::Admin, true)] {
            let actor = caller(scope, None).actor(None).unwrap();
            assert_eq!((actor.user.as_str(), actor.privileged), ("alice", privileged));
            assert_eq!(caller(scope, None).actor(user("alice")).unwrap(), actor);
        }
    }

    #[test]
    fn only_a_service_acts_for_others() {
        assert_eq!(caller(Scope::Service, None).actor(user("bob")).unwrap().user.as_str(), "bob");
        for scope in [Scope::User, Scope::Admin] {
            let problem = caller(scope, None).actor(user("bob")).unwrap_err();
            assert_eq!((problem.code, problem.field.as_deref()), (Code::Forbidden, Some("userId")));
        }
    }

    #[test]
    fn the_device_is_the_tokens_or_a_services_choice() {
        let alice = UserId::parse("alice").unwrap();
        let acting = |scope, own, named| caller(scope, own).acting_device(&alice, named);
        for scope in [Scope::User, Scope::Service, Scope::Admin] {
            assert_eq!(acting(scope, Some("d1"), None).unwrap().as_str(), "d1");
            assert_eq!(acting(scope, Some("d1"), device("d1")).unwrap().as_str(), "d1");
            let none = acting(scope, None, None).unwrap_err();
            assert_eq!((none.code, none.field.as_deref()), (Code::InvalidRequest, Some("deviceId")));
            assert_eq!(caller(scope, None).device_of(&alice, None), Ok(None));
        }
        for own in [None, Some("d1")] {
            assert_eq!(acting(Scope::Service, own, device("d2")).unwrap().as_str(), "d2");
            let problem = acting(Scope::User, own, device("d2")).unwrap_err();
            assert_eq!((problem.code, problem.field.as_deref()), (Code::Forbidden, Some("deviceId")));
        }
    }

    #[test]
    fn a_services_own_device_is_nobody_elses() {
        let (bob, backend) = (UserId::parse("bob").unwrap(), caller(Scope::Service, Some("d1")));
        assert_eq!(backend.device_of(&bob, None), Ok(None));
        assert_eq!(backend.device_of(&bob, device("d2")), Ok(device("d2")));
        assert_eq!(backend.acting_device(&bob, None).unwrap_err().field.as_deref(), Some("deviceId"));
    }
}
