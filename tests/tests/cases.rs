//! Proves that faults which users of other message stores reported do not happen here. Each test
//! bears the number of its case (`c06_…`); a case of which only a part applies says which.

mod content;
mod following;
mod reading;
mod recall;
mod retries;
