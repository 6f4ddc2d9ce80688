//! The black-box suite: the product through HTTP, as its clients see it. `tests/src` says which
//! server it runs against; each file opens with what it proves and how.

mod cases;
mod cold;
mod command_line;
mod concurrency;
mod contract;
mod crash;
mod faults;
mod following;
mod isolation;
mod keys;
mod openapi;
mod push;
mod refusals;
mod replay;
mod retention;
mod schedule;
mod stalled;
