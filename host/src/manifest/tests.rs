//! Shows what a manifest means, and that everything this host does not do is refused by name.

use std::path::Path;
use std::time::Duration;

use im_domain::upkeep::Task;

use super::app::Variable;
use super::dependency::Inherit;
use super::read::parse;
use super::*;

const HEAD: &str = "spin_manifest_version = 2\n[application]\nname = \"app\"\n";

const WHOLE: &str = r#"
spin_manifest_version = 2
[application]
name = "app"
version = "1.0.0"
description = "d"
authors = ["a"]
[application.tool.im]
signing_keys = "jwt_keys"
[application.tool.other]
anything = 1
[variables]
jwt_keys = { required = true, secret = true }
retention_ms = { default = "0" }
[[trigger.http]]
route = "/api/msg/send"
component = "send"
[[trigger.http]]
route = "/..."
component = "send"
[component.send]
source = "send.wasm"
sqlite_databases = ["default"]
allowed_outbound_hosts = ["redis://127.0.0.1:*", "postgres://{{ retention_ms }}"]
[component.send.variables]
keys = "{{ jwt_keys }}"
[component.send.dependencies]
"im:storage@0.1.0" = { path = "embedded.wasm", inherit_configuration = ["sqlite_databases", "variables"] }
[component.send.profile.redis.dependencies]
"im:storage@0.1.0" = { path = "redis.wasm", inherit_configuration = true }
[component.send.profile.other]
source = "other.wasm"
[component.send.build]
command = "cargo build"
watch = ["src"]
[component.send.tool.im]
schedule = "60s"
"#;

fn read(text: &str, profile: Option<&str>) -> Result<App, String> {
    parse("spin.toml", text, Path::new("/app"), profile).map_err(|e| e.to_string())
}

fn refused(text: &str) -> String {
    read(&format!("{HEAD}{text}"), None).unwrap_err()
}

#[test]
fn everything_supported_is_read() {
    let app = read(WHOLE, None).unwrap();
    assert_eq!(app.name, "app");
    assert_eq!(app.signing_keys.as_deref(), Some("jwt_keys"));
    assert_eq!(app.variables["jwt_keys"], Variable { default: None, secret: true });
    assert_eq!(app.variables["retention_ms"].default.as_deref(), Some("0"));
    assert_eq!(app.routes[0].kind, RouteKind::Exact("/api/msg/send".into()));
    assert_eq!(app.routes[1].kind, RouteKind::Below(String::new()));
    let send = &app.components["send"];
    assert_eq!(send.source, Path::new("/app/send.wasm"));
    assert!(send.sqlite_databases.contains("default"));
    assert_eq!(send.allowed_outbound_hosts.len(), 2);
    assert_eq!(send.schedule, [line(60, &[])]);
    let storage = &send.dependencies[0];
    assert_eq!(storage.path, Path::new("/app/embedded.wasm"));
    assert!(storage.inherit.allows(Capability::SqliteDatabases));
    assert!(!storage.inherit.allows(Capability::AllowedOutboundHosts));
}

#[test]
fn a_profile_replaces_what_it_names() {
    let redis = &read(WHOLE, Some("redis")).unwrap().components["send"];
    assert_eq!(redis.source, Path::new("/app/send.wasm"));
    assert_eq!(redis.dependencies.len(), 1);
    assert_eq!(redis.dependencies[0].path, Path::new("/app/redis.wasm"));
    assert_eq!(redis.dependencies[0].inherit, Inherit::All);
    let other = &read(WHOLE, Some("other")).unwrap().components["send"];
    assert_eq!(other.source, Path::new("/app/other.wasm"));
    assert_eq!(other.dependencies[0].path, Path::new("/app/embedded.wasm"));
    let message = read(WHOLE, Some("none")).unwrap_err();
    assert!(message.contains("profile `none`"), "{message}");
}

fn line(seconds: u64, tasks: &[Task]) -> ScheduleLine {
    ScheduleLine { interval: Duration::from_secs(seconds), tasks: tasks.to_vec() }
}

#[test]
fn a_schedule_has_a_line_for_each_interval() {
    let schedule = |text: &str| {
        let tool = format!("{HEAD}[component.a]\nsource = \"a\"\n[component.a.tool.im]\n{text}\n");
        read(&tool, None).map(|app| app.components["a"].schedule.clone())
    };
    assert_eq!(schedule(""), Ok(Vec::new()));
    assert_eq!(schedule("schedule = []"), Ok(Vec::new()));
    let text =
        r#"schedule = [{ every = "1s", tasks = ["drain"] }, { every = "1m", tasks = ["expire", "tier"] }]"#;
    assert_eq!(schedule(text), Ok(vec![line(1, &[Task::Drain]), line(60, &[Task::Expire, Task::Tier])]));
    assert_eq!(schedule(r#"schedule = [{ every = "1h" }]"#), Ok(vec![line(3600, &[])]));
    for (text, told) in [
        (
            r#"schedule = [{ every = "1s", tasks = ["sweep"] }]"#,
            "no task `sweep`; there are drain, tier, expire",
        ),
        (r#"schedule = [{ every = "1s", tasks = ["drain", "drain"] }]"#, "`drain` is given twice"),
        (r#"schedule = [{ every = "1s", tasks = [] }]"#, "empty"),
        (r#"schedule = [{ every = "1", tasks = ["drain"] }]"#, "`1` is no interval"),
        (r#"schedule = [{ tasks = ["drain"] }]"#, "must be an interval, or a list"),
        (r#"schedule = [{ every = "1s", task = "drain" }]"#, "must be an interval, or a list"),
        ("schedule = 60", "must be an interval, or a list"),
    ] {
        let message = schedule(text).unwrap_err();
        assert!(message.contains("component") && message.contains(told), "{text}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn components_can_be_chosen() {
    let two = format!(
        "{WHOLE}\n[[trigger.http]]\nroute = \"/x\"\ncomponent = \"pull\"\n[component.pull]\nsource = \"p\"\n"
    );
    let mut app = read(&two, None).unwrap();
    app.retain(&["pull".into()]).unwrap();
    assert_eq!(app.components.keys().collect::<Vec<_>>(), ["pull"]);
    assert_eq!(app.routes.len(), 1);
    let message = app.retain(&["sync".into()]).unwrap_err();
    assert!(message.contains("`sync`") && message.contains("pull"), "{message}");
}

#[test]
fn what_is_not_supported_is_named() {
    let component = "[component.a]\nsource = \"a\"\n";
    for (text, named) in [
        ("[[trigger.redis]]\nchannel = \"c\"\n", "`redis`"),
        ("[[trigger.http]]\nroute = \"/\"\ncomponent = \"a\"\nexecutor = {}\n", "`executor`"),
        ("[[trigger.http]]\nroute = { private = true }\ncomponent = \"a\"\n", "invalid type"),
        (&format!("{component}files = []\n"), "`files`"),
        (&format!("{component}environment = {{}}\n"), "`environment`"),
        (&format!("{component}key_value_stores = []\n"), "`key_value_stores`"),
        (&format!("{component}ai_models = []\n"), "`ai_models`"),
        (
            &format!("{component}dependencies_inherit_configuration = true\n"),
            "`dependencies_inherit_configuration`",
        ),
        (&format!("{component}allowed_outbound_hosts = [\"http://h\"]\n"), "http://h"),
        (&format!("{component}sqlite_databases = [\"other\"]\n"), "`other`"),
        (&format!("{component}[component.a.dependencies]\n\"a:b\" = \"1.0\"\n"), "registry"),
        (&format!("{component}[component.a.dependencies]\n\"a:b\" = {{ url = \"u\" }}\n"), "`url`"),
        (
            &format!("{component}[component.a.dependencies]\n\"a:b\" = {{ path = \"p\", export = \"e\" }}\n"),
            "`export`",
        ),
        (
            &format!(
                "{component}[component.a.dependencies]\n\"a:b\" = {{ path = \"p\", inherit_configuration = [\"files\"] }}\n"
            ),
            "`files`",
        ),
        (&format!("{component}[component.a.dependencies]\nplain = {{ path = \"p\" }}\n"), "`plain`"),
        (&format!("{component}[component.a.tool.im]\nevery = \"1s\"\n"), "`every`"),
        (&format!("{component}[component.a.tool.im]\nschedule = \"1\"\n"), "schedule"),
        ("[extra]\n", "`extra`"),
    ] {
        let message = refused(text);
        assert!(message.contains(named), "{text}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn mistakes_are_told() {
    let trigger = |route: &str| format!("[[trigger.http]]\nroute = \"{route}\"\ncomponent = \"a\"\n");
    let component = "[component.a]\nsource = \"a\"\n";
    for (text, told) in [
        (trigger("/"), "no component `a`"),
        (format!("{}{component}", trigger("x")), "must begin with `/`"),
        (format!("{}{component}", trigger("/:id")), "parameter"),
        (format!("{}{component}", trigger("/a/*")), "wildcard"),
        (format!("{}{component}", trigger("/a?b")), "path alone"),
        (format!("{}{}{component}", trigger("/a"), trigger("/a")), "twice"),
        ("[variables]\nx = {}\n".into(), "`x`"),
        ("[variables]\nx = { required = true, default = \"\" }\n".into(), "`x`"),
        (format!("{component}variables = {{ v = \"{{{{ y }}}}\" }}\n"), "`y`"),
        (format!("{component}variables = {{ v = \"{{{{ y\" }}\n"), "`v`"),
        (format!("{component}allowed_outbound_hosts = [\"{{{{ y }}}}\"]\n"), "`y`"),
        ("[application.tool.im]\nsigning_keys = \"k\"\n".into(), "`k`"),
    ] {
        let message = refused(&text);
        assert!(message.contains(told), "{text}: {message}");
    }
}

#[test]
fn a_syntax_error_has_its_line() {
    let message = read("spin_manifest_version = 2\n[application\n", None).unwrap_err();
    assert!(message.starts_with("spin.toml, line 2: "), "{message}");
    let message = read(&format!("{HEAD}\n[extra]\n"), None).unwrap_err();
    assert!(message.starts_with("spin.toml, line 5: `extra`"), "{message}");
}

#[test]
fn another_version_is_refused() {
    let message = read("spin_manifest_version = 3\n[application]\nname = \"a\"\n", None).unwrap_err();
    assert!(message.contains("spin_manifest_version 3"), "{message}");
}

#[test]
fn a_missing_file_is_named() {
    let message = load(Path::new("/nowhere/spin.toml"), None).unwrap_err().to_string();
    assert!(message.contains("/nowhere/spin.toml"), "{message}");
}
