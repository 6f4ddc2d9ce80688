//! Messages are taken back.

use super::Embedded;
use crate::sqlite::Sqlite;
use im_domain::revision::{Recall, Revised};
use im_domain::storage::Actor;
use im_domain::{Error, Result};

pub(super) fn recall<P: Sqlite>(_store: &Embedded<P>, _actor: &Actor, _recall: &Recall) -> Result<Revised> {
    Err(Error::internal("not made yet"))
}
