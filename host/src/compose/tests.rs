//! Shows that composing joins what fits, and tells what does not. The components are written as
//! text, as small as they can be.

use super::*;
use crate::manifest;

/// Imports two interfaces of one package, and exports one function of the first.
const SOCKET: &str = r#"(component
    (import "t:store/a@0.1.0" (instance $a (export "ping" (func (result u32)))))
    (import "t:store/b@0.1.0" (instance $b (export "pong" (func (result u32)))))
    (alias export $a "ping" (func $ping))
    (instance $out (export "run" (func $ping)))
    (export "t:app/run@0.1.0" (instance $out)))"#;

/// Answers interfaces; `extra` goes before them.
fn plug(interfaces: &[(&str, &str)], extra: &str) -> String {
    let mut text = format!(
        r#"(component {extra}
        (core module $m (func (export "f") (result i32) i32.const 7))
        (core instance $i (instantiate $m))
        (func $f (result u32) (canon lift (core func $i "f")))"#
    );
    for (index, (interface, function)) in interfaces.iter().enumerate() {
        text += &format!(
            r#"(instance $x{index} (export "{function}" (func $f)))
               (export "{interface}" (instance $x{index}))"#
        );
    }
    text + ")"
}

const BOTH: [(&str, &str); 2] = [("t:store/a@0.1.0", "ping"), ("t:store/b@0.1.0", "pong")];
const SQLITE: &str = r#"(import "spin:sqlite/sqlite@3.1.0" (instance))"#;

/// Composes the socket with dependencies given as lines of a manifest.
fn compose_with(files: &[(&str, String)], dependencies: &str) -> Result<Vec<u8>, String> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), wat::parse_str(text).unwrap()).unwrap();
    }
    let text = format!(
        "spin_manifest_version = 2\n[application]\nname = \"t\"\n[component.c]\n\
         source = \"socket.wasm\"\n[component.c.dependencies]\n{dependencies}\n"
    );
    let file = dir.path().join("spin.toml");
    std::fs::write(&file, text).unwrap();
    let app = manifest::load(&file, None).unwrap();
    compose(&app.components["c"]).map_err(|e| e.to_string())
}

fn refused(plug: String, dependencies: &str) -> String {
    let files = [("socket.wasm", SOCKET.to_owned()), ("plug.wasm", plug)];
    compose_with(&files, dependencies).unwrap_err()
}

fn imports_of(bytes: &[u8]) -> Vec<String> {
    let engine = wasmtime::Engine::default();
    let component = wasmtime::component::Component::from_binary(&engine, bytes).unwrap();
    let types = component.component_type();
    types.imports(&engine).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn one_dependency_answers_a_whole_package() {
    let files = [("socket.wasm", SOCKET.to_owned()), ("plug.wasm", plug(&BOTH, SQLITE))];
    let line = r#""t:store@0.1.0" = { path = "plug.wasm", inherit_configuration = ["sqlite_databases"] }"#;
    let composed = compose_with(&files, line).unwrap();
    assert_eq!(imports_of(&composed), ["spin:sqlite/sqlite@3.1.0"]);
}

#[test]
fn each_interface_may_have_its_own() {
    let files = [
        ("socket.wasm", SOCKET.to_owned()),
        ("a.wasm", plug(&BOTH[..1], "")),
        ("b.wasm", plug(&BOTH[1..], "")),
    ];
    let lines = "\"t:store/a\" = { path = \"a.wasm\" }\n\"t:store/b@0.1.0\" = { path = \"b.wasm\" }";
    assert!(imports_of(&compose_with(&files, lines).unwrap()).is_empty());
}

#[test]
fn an_interface_left_alone_stays_an_import() {
    let files = [("socket.wasm", SOCKET.to_owned()), ("plug.wasm", plug(&BOTH[..1], ""))];
    let composed = compose_with(&files, r#""t:store/a" = { path = "plug.wasm" }"#).unwrap();
    assert_eq!(imports_of(&composed), ["t:store/b@0.1.0"]);
}

#[test]
fn a_right_that_is_not_inherited_is_refused() {
    for inherit in ["false", "[]", "[\"variables\"]"] {
        let line = format!(r#""t:store" = {{ path = "plug.wasm", inherit_configuration = {inherit} }}"#);
        let message = refused(plug(&BOTH, SQLITE), &line);
        assert!(message.contains("spin:sqlite/sqlite@3.1.0"), "{message}");
        assert!(message.contains("`sqlite_databases`"), "{message}");
    }
    let redis = r#"(import "spin:redis/redis@3.0.0" (instance))"#;
    let message = refused(plug(&BOTH, redis), r#""t:store" = { path = "plug.wasm" }"#);
    assert!(message.contains("`allowed_outbound_hosts`"), "{message}");
}

#[test]
fn what_does_not_fit_is_named() {
    let line = r#""t:store" = { path = "plug.wasm" }"#;
    let message = refused(plug(&BOTH[..1], ""), line);
    assert!(message.contains("no export `t:store/b@0.1.0`"), "{message}");
    let message = refused(plug(&[("t:store/a@0.1.0", "other"), BOTH[1]], ""), line);
    assert!(message.contains("`t:store/a@0.1.0` does not fit"), "{message}");
    let message = refused(plug(&BOTH, ""), r#""t:else" = { path = "plug.wasm" }"#);
    assert!(message.contains("answers no import"), "{message}");
    let twice = "\"t:store\" = { path = \"plug.wasm\" }\n\"t:store/a\" = { path = \"plug.wasm\" }";
    let message = refused(plug(&BOTH, ""), twice);
    assert!(message.contains("two dependencies"), "{message}");
}

#[test]
fn files_at_fault_are_named() {
    let socket = ("socket.wasm", SOCKET.to_owned());
    let message = compose_with(&[socket], r#""t:store" = { path = "gone.wasm" }"#).unwrap_err();
    assert!(message.contains("gone.wasm") && message.contains("cargo xtask build"), "{message}");
    let module = "(module)".to_owned();
    let message = refused(module, r#""t:store" = { path = "plug.wasm" }"#);
    assert!(message.contains("plug.wasm is no component"), "{message}");
}
