//! `spin:variables`: the component's variables, resolved when the app started.

use std::collections::BTreeMap;

use wasmtime::component::{Accessor, HasData, Linker};

use super::bindings::spin::variables::variables as wit;
use crate::runtime::GuestState;

/// Values by name.
pub type Values = BTreeMap<String, String>;

/// Ties the interface to the store's data.
struct Variables;

impl HasData for Variables {
    type Data<'a> = &'a Values;
}

pub fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, Variables>(linker, |state| &state.grants.variables)
}

impl wit::Host for &Values {}

impl<T: Send> wit::HostWithStore<T> for Variables {
    async fn get(accessor: &Accessor<T, Self>, name: String) -> wasmtime::Result<Result<String, wit::Error>> {
        Ok(accessor.with(|mut access| lookup(access.get(), &name)))
    }
}

fn lookup(values: &Values, name: &str) -> Result<String, wit::Error> {
    if !is_name(name) {
        return Err(wit::Error::InvalidName(format!("`{name}` is no lower_snake_case name")));
    }
    let undefined = || wit::Error::Undefined(format!("the component has no variable `{name}`"));
    values.get(name).cloned().ok_or_else(undefined)
}

/// As Spin has it: words of lower-case letters and digits, each beginning with a letter.
fn is_name(name: &str) -> bool {
    name.split('_').all(|word| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_undefined_or_no_name() {
        let values = Values::from([("jwt_keys".to_owned(), "x".to_owned())]);
        assert!(matches!(lookup(&values, "jwt_keys"), Ok(value) if value == "x"));
        assert!(matches!(lookup(&values, "other"), Err(wit::Error::Undefined(_))));
        for bad in ["", "A", "a-b", "a__b", "_a", "1a"] {
            assert!(matches!(lookup(&values, bad), Err(wit::Error::InvalidName(_))), "{bad:?}");
        }
    }
}
