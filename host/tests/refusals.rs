//! What cannot run is refused with one line that names the cause, and code 1; wrong use has code 2.

#![cfg(test)]

mod support;

use support::{EMPTY, Folder, write_component};

/// Fails to start for a reason in the app.
fn broken(manifest: &str) -> String {
    let folder = Folder::new(manifest);
    write_component(&folder.path("empty.wasm"), "(component)");
    write_component(
        &folder.path("needs.wasm"),
        r#"(component (import "spin:redis/redis@3.0.0" (instance)))"#,
    );
    folder.write("text.wasm", "this is no component");
    let (code, line) = folder.fails(&["up", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, 1, "{line}");
    line
}

fn component(source: &str) -> String {
    format!("{EMPTY}[component.c]\nsource = \"{source}\"\n")
}

#[test]
fn a_missing_component_says_how_to_build_it() {
    let line = broken(&component("gone.wasm"));
    assert!(line.contains("`c`") && line.contains("gone.wasm"), "{line}");
    assert!(line.contains("cargo xtask build"), "{line}");
}

#[test]
fn a_component_that_answers_no_http() {
    let line = broken(&component("empty.wasm"));
    assert!(line.contains("`c`") && line.contains("wasi:http/handler@0.3.0"), "{line}");
}

#[test]
fn a_file_that_is_no_component() {
    assert!(broken(&component("text.wasm")).contains("`c` is not valid"));
}

#[test]
fn a_broken_manifest_has_its_line() {
    let line = broken("spin_manifest_version = 2\n[application\n");
    assert!(line.contains("spin.toml, line 2"), "{line}");
    let line = broken(&format!("{}files = []\n", component("x")));
    assert!(line.contains("`files` is not supported"), "{line}");
}

#[test]
fn a_manifest_that_is_not_there() {
    let folder = Folder::new(EMPTY);
    let (code, line) = folder.fails(&["up", "--manifest", "other.toml"]);
    assert_eq!(code, 1);
    assert!(line.contains("other.toml"), "{line}");
}

#[test]
fn a_required_variable_without_a_value() {
    let line = broken(&format!("{EMPTY}[variables]\nkey = {{ required = true }}\n"));
    assert!(line.contains("`key`") && line.contains("--var key="), "{line}");
}

#[test]
fn wrong_use_has_code_2() {
    let folder = Folder::new(&format!("{EMPTY}[variables]\nkey = {{ required = true }}\n"));
    for (arguments, named) in [
        (&["up", "--var", "other=1"][..], "other"),
        (&["up", "--var", "key"], "NAME=VALUE"),
        (&["up", "--var-file", "gone.toml"], "gone.toml"),
        (&["up", "--component", "gone"], "gone"),
        (&["up", "--profile", "gone"], "`gone`"),
    ] {
        let (code, line) = folder.fails(arguments);
        assert_eq!(code, 2, "{line}");
        assert!(line.contains(named), "{line}");
    }
    assert_eq!(folder.im(&["up", "--frobnicate"]).status.code(), Some(2));
}

#[test]
fn an_address_that_cannot_be_had() {
    let folder = Folder::new(EMPTY);
    for address in ["nonsense", "256.0.0.1:1", "127.0.0.1:99999"] {
        let (code, line) = folder.fails(&["up", "--listen", address]);
        assert_eq!(code, 1);
        assert!(line.contains(address), "{line}");
    }
}
