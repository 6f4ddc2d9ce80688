//! Settings that an operator can make for each tenant.

use crate::error::{Error, Result};
use crate::name::Tenant;
use std::collections::BTreeMap;

/// A number, and other ones for some tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerTenant {
    general: u64,
    own: BTreeMap<Tenant, u64>,
}

impl PerTenant {
    /// The same for all.
    pub fn all(general: u64) -> Self {
        Self { general, own: BTreeMap::new() }
    }

    /// Reads a number from 1 on, then any number of `tenant=number`, separated by commas. An error is
    /// `internal`, as no client is to blame, and calls the setting `name`.
    pub fn parse(name: &'static str, text: &str) -> Result<Self> {
        Self::parse_from(name, 1, text)
    }

    /// As [`Self::parse`], with numbers from `least` on.
    pub fn parse_from(name: &'static str, least: u64, text: &str) -> Result<Self> {
        let refused = || {
            let rule = format!("must be a number from {least} on, then tenant=number, with commas between");
            Error::internal(format!("variable {name}: {rule}"))
        };
        let number =
            |text: &str| text.trim().parse().ok().filter(|number| *number >= least).ok_or_else(refused);
        let mut parts = text.split(',');
        let general = number(parts.next().unwrap_or_default())?;
        let own = |part: &str| {
            let (tenant, value) = part.split_once('=').ok_or_else(refused)?;
            Ok((Tenant::parse(tenant.trim()).map_err(|_| refused())?, number(value)?))
        };
        Ok(Self { general, own: parts.map(own).collect::<Result<_>>()? })
    }

    pub fn of(&self, tenant: &Tenant) -> u64 {
        self.own.get(tenant).copied().unwrap_or(self.general)
    }
}
