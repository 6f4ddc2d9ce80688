//! Shows what an operator may set, that a mistake is told by its variable, and that no password is
//! ever shown.

use super::*;

fn given() -> Given {
    Given {
        redis_url: "redis://:hot@h1:7000, rediss://h2".into(),
        postgres_url: "postgres://im:c%40ld@db/im?sslmode=require".into(),
        hot_durability: "everysec".into(),
        backlog_max: "100000".into(),
        dedup_seconds: "86400".into(),
        retention_ms: "0".into(),
        legal_hold: "acme".into(),
        push_messages: "5".into(),
        push_wait_ms: "300000".into(),
        push_offline_ms: "60000".into(),
        recall_ms: "120000".into(),
        edit_ms: "86400000".into(),
        tier_after_ms: "7776000000".into(),
        tier_window: String::new(),
    }
}

fn refused(change: impl FnOnce(&mut Given)) -> String {
    let mut given = given();
    change(&mut given);
    Config::parse(&given).unwrap_err().to_string()
}

#[test]
fn everything_is_read() {
    let config = Config::parse(&given()).unwrap();
    let urls: Vec<_> = config.redis.iter().map(ServerUrl::as_str).collect();
    assert_eq!(urls, ["redis://:hot@h1:7000", "rediss://h2"], "the order is the operator's");
    assert_eq!(config.redis[1].name(), "redis 2");
    assert_eq!(config.postgres[0].name(), "postgres 1");
    let pause = Box::new(|_| -> Pause { Box::pin(async {}) });
    let settings = config.settings(Box::new(|| 7), Box::new(|| 8), pause);
    assert_eq!(settings.hot_durability, HotDurability::Everysec);
    assert_eq!((settings.backlog_max, settings.marker_life_s), (100_000, 86_400));
    assert_eq!(settings.retention, RetentionRules::parse("0", "acme").unwrap());
    assert_eq!(((settings.now_ms)(), (settings.random)()), (7, 8));
}

#[test]
fn either_durability() {
    let always = Config::parse(&Given { hot_durability: " always ".into(), ..given() }).unwrap();
    assert_eq!(always.hot_durability, HotDurability::Always);
    let message = refused(|given| given.hot_durability = "never".into());
    assert_eq!(message, "hot_durability must be `everysec` or `always`");
}

#[test]
fn wrong_servers_are_told_and_not_shown() {
    let many = vec!["redis://h"; SERVERS_MAX + 1].join(",");
    for (text, told) in [
        ("", "is not set"),
        (" ", "is not set"),
        ("redis://SECRET@a,", "URL 2 of 2"),
        ("http://SECRET", "must begin with redis:// or rediss://"),
        ("SECRET:6379", "URL 1 of 1: must begin with"),
        ("redis://SECRET@", "names no host"),
        ("redis://:6379", "names no host"),
        ("redis:///0", "names no host"),
        ("redis://SEC RET", "space"),
        ("redis://SECRET,redis://SECRET", "twice"),
        (&many, "more than 64"),
    ] {
        let message = refused(|given| given.redis_url = text.into());
        assert!(message.starts_with("redis_url "), "{message}");
        assert!(message.contains(told), "{text}: {message}");
        assert!(!message.contains("SEC"), "{message}");
    }
    let message = refused(|given| given.postgres_url = "redis://SECRET".into());
    assert!(message.contains("postgres_url") && message.contains("postgresql://"), "{message}");
    assert!(!message.contains("SECRET"), "{message}");
}

#[test]
fn as_many_servers_as_are_allowed() {
    let urls: Vec<String> = (0..SERVERS_MAX).map(|n| format!("postgresql://h{n}")).collect();
    assert_eq!(databases("x", &urls.join(",")).unwrap().len(), SERVERS_MAX);
}

#[test]
fn numbers_have_bounds() {
    type Field = fn(&mut Given) -> &mut String;
    let fields: [(&str, Field, &[&str]); 2] = [
        ("backlog_max", |given| &mut given.backlog_max, &["0", "", "-1", "x", "1e3", "99999999999999"]),
        ("dedup_seconds", |given| &mut given.dedup_seconds, &["0", "", "31536001"]),
    ];
    for text in ["", "-1"] {
        assert!(refused(|given| given.tier_after_ms = text.into()).contains("tier_after_ms"));
    }
    assert!(refused(|given| given.tier_window = "25:00-26:00".into()).contains("tier_window"));
    for (name, field, bad) in fields {
        for text in bad {
            let message = refused(|given| *field(given) = (*text).into());
            let start = format!("{name} must be a whole number, ");
            assert!(message.starts_with(&start), "{text}: {message}");
        }
    }
}

#[test]
fn passwords_are_never_shown() {
    let config = Config::parse(&given()).unwrap();
    let url = &config.postgres[0];
    assert_eq!(format!("{url:?}"), "ServerUrl(postgres 1)");
    for text in [url.as_str(), "password c%40ld", "password c@ld is wrong"] {
        let hidden = url.clean(text);
        assert!(hidden.contains("***"), "{hidden}");
        assert!(!hidden.contains("c%40ld") && !hidden.contains("c@ld"), "{hidden}");
    }
    assert_eq!(url.clean("connection refused"), "connection refused");
    let [url] = databases("x", "postgres://h/d?user=u&password=SECRET").unwrap().try_into().unwrap();
    assert_eq!(url.clean("it was SECRET"), "it was ***");
    let [url] = databases("x", "postgres://u:@h/d?password=").unwrap().try_into().unwrap();
    assert_eq!(url.clean("connection refused"), "connection refused", "nothing to hide");
}

#[test]
fn an_error_is_told_on_one_line() {
    let [url] = databases("x", "postgres://h").unwrap().try_into().unwrap();
    let spins = "db error\n\nCaused by:\n    0: refused\n\nStack backtrace:\n   0: <unknown>\n";
    assert_eq!(url.clean(spins), "db error Caused by: 0: refused");
}
