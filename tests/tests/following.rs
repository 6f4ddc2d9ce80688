//! Proves that a device which asks `sync/global` what has changed and `msg/sync` for what it lacks has in
//! the end what its user may read: nothing skipped, nothing twice, unread as it is; however long it was
//! away, whatever happened meanwhile, and whatever answers were lost. Random tests print their seed.

mod absence;
mod devices;
mod durable;
mod random;
mod seam;
mod writers;
