//! Which field a refusal names, for every kind of fault, and what the readers take.

use super::*;
use crate::auth::{Caller, Scope};
use crate::json::conversation::{CreateIn, ListIn, MembersIn, UpdateIn};
use crate::json::device::{DevicesIn, OfflineIn, ReadIn};
use crate::json::digest::DigestIn;
use crate::json::draft::{BatchIn, DraftIn};
use crate::json::global::GlobalIn;
use crate::json::page::{GetIn, PullIn, PullsIn};
use crate::json::push::{DueIn, SettingsIn};
use crate::json::sync::SyncIn;
use crate::json::upkeep::RunIn;
use crate::problem::Code;
use im_domain::limits::GLOBAL_CURSOR_CHARS_MAX;
use im_domain::message::{Draft, Kind};
use im_domain::page::PageQuery;
use im_domain::{Tenant, UserId};

fn caller(scope: Scope) -> Caller {
    let tenant = Tenant::parse("t").unwrap();
    Caller { tenant, user: UserId::parse("alice").unwrap(), device: None, scope }
}

fn draft(body: &str) -> Result<Draft, Problem> {
    let caller = caller(Scope::User);
    parse::<DraftIn<'_>>(body.as_bytes())?.draft(&caller, &caller.user)
}

fn pull(body: &str) -> Result<PageQuery, Problem> {
    parse::<PullIn>(body.as_bytes())?.query()
}

/// Asserts that each body is refused as invalid and that the field named is the one given.
fn names<T>(read: impl Fn(&str) -> Result<T, Problem>, cases: &[(&str, &str)]) {
    for (body, field) in cases {
        let Err(problem) = read(body) else { panic!("{body} was taken") };
        assert_eq!(problem.code, Code::InvalidRequest, "{body}");
        assert_eq!(problem.field.as_deref(), Some(*field), "{body}: {}", problem.detail);
    }
}

/// A good draft with `fields` in place of its own or beside them.
fn with(fields: &str) -> String {
    let mut draft: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(r#"{"conversationId":"c","clientMsgId":"1","type":"text","content":"x"}"#)
            .unwrap();
    draft.extend(serde_json::from_str::<serde_json::Map<_, _>>(&format!("{{{fields}}}")).unwrap());
    serde_json::to_string(&draft).unwrap()
}

#[test]
fn what_is_no_json_object_is_the_bodys_fault() {
    let bodies = [
        "",
        " ",
        "{",
        "nonsense",
        r#"{"content":"x",}"#,
        "[]",
        "null",
        "1",
        "\"x\"",
        "{\"content\":\"\\ud800\"}",
    ];
    names(draft, &bodies.map(|body| (body, "body")));
    names(draft, &[(r#"["c","1","text","x"]"#, "body")]);
    names(draft, &[(&format!("{}{{}}", with("")), "body")]);
    assert!(
        parse::<DraftIn<'_>>(b"{\"content\":\"\xff\"}").is_err_and(|p| p.field.as_deref() == Some("body"))
    );
}

#[test]
fn drafts_name_the_field() {
    let cases = [
        (r#"{"conversationId":"c","type":"text","content":"x"}"#.to_owned(), "clientMsgId"),
        (r#"{"conversationId":"c","clientMsgId":"1","content":"x"}"#.to_owned(), "type"),
        (r#"{"conversationId":"c","clientMsgId":"1","type":"text"}"#.to_owned(), "content"),
        (r#"{"clientMsgId":"1","type":"text","content":"x"}"#.to_owned(), "conversationId"),
        (with(r#""toUserId":"bob""#), "conversationId"),
        (with(r#""conversationId":null,"toUserId":"alice""#), "toUserId"),
        (with(r#""bogus":1"#), "bogus"),
        (with(r#""conversationId":"a b""#), "conversationId"),
        (with(r#""conversationId":7"#), "conversationId"),
        (with(r#""clientMsgId":"""#), "clientMsgId"),
        (with(r#""clientTime":-1"#), "clientTime"),
        (with(r#""clientTime":"2024-01-01T00:00:00Z""#), "clientTime"),
        (with(r#""type":"recall""#), "type"),
        (with(r#""type":"typing""#), "type"),
        (with(r#""type":1"#), "type"),
        (with(r#""content":7"#), "content"),
        (with(r#""content":null"#), "content"),
        (with(r#""replyTo":"5""#), "replyTo"),
        (with(r#""replyTo":["5"]"#), "replyTo"),
        (with(r#""replyTo":{}"#), "replyTo.msgId"),
        (with(r#""replyTo":{"msgId":"x"}"#), "replyTo.msgId"),
        (with(r#""replyTo":{"msgId":"5","preview":"x"}"#), "replyTo.preview"),
        (with(r#""ext":[]"#), "ext"),
        (with(r#""ext":"x""#), "ext"),
        (with(r#""silent":"yes""#), "silent"),
        (with(r#""ack":"never""#), "ack"),
    ];
    let cases: Vec<_> = cases.iter().map(|(body, field)| (body.as_str(), *field)).collect();
    names(draft, &cases);
    names(draft, &[(r#"{"content":"x","content":"y"}"#, "content")]);
}

#[test]
fn other_requests_name_the_field() {
    names(
        pull,
        &[
            ("{}", "conversationId"),
            (r#"{"conversationId":"c","limit":0}"#, "limit"),
            (r#"{"conversationId":"c","limit":101}"#, "limit"),
            (r#"{"conversationId":"c","limit":-1}"#, "limit"),
            (r#"{"conversationId":"c","limit":1.5}"#, "limit"),
            (r#"{"conversationId":"c","limit":"20"}"#, "limit"),
            (r#"{"conversationId":"c","lastMsgId":-1}"#, "lastMsgId"),
            (r#"{"conversationId":"c","lastMsgId":"+1"}"#, "lastMsgId"),
            (r#"{"conversationId":"c","lastMsgId":9223372036854775808}"#, "lastMsgId"),
            (r#"{"conversationId":"c","lastMsgId":1.0}"#, "lastMsgId"),
            (r#"{"conversationId":"c","direction":"left"}"#, "direction"),
            (r#"{"conversationId":"c","fromTime":"yesterday"}"#, "fromTime"),
            (r#"{"conversationId":"c","fromTime":"2024-01-01T00:00:00"}"#, "fromTime"),
            (r#"{"conversationId":"c","toTime":-5}"#, "toTime"),
            (r#"{"conversationId":"c","types":["text","typing"]}"#, "types[1]"),
            (r#"{"conversationId":"c","types":"text"}"#, "types"),
        ],
    );
    names(
        |body| parse::<GetIn>(body.as_bytes()),
        &[
            (r#"{"conversationId":"c"}"#, "msgIds"),
            (r#"{"conversationId":"c","msgIds":[]}"#, "msgIds"),
            (r#"{"conversationId":"c","msgIds":["1","x"]}"#, "msgIds[1]"),
            (&format!(r#"{{"conversationId":"c","msgIds":[{}1]}}"#, "1,".repeat(100)), "msgIds"),
        ],
    );
    names(
        |body| parse::<CreateIn>(body.as_bytes()).map(CreateIn::conversation),
        &[
            (r#"{"members":[]}"#, "type"),
            (r#"{"type":"group"}"#, "members"),
            (r#"{"type":"crowd","members":[]}"#, "type"),
            (r#"{"type":"group","members":["a","b c"]}"#, "members[1]"),
            (r#"{"type":"group","members":[],"history":"some"}"#, "history"),
        ],
    );
    names(
        |body| parse::<MembersIn>(body.as_bytes()).and_then(MembersIn::change),
        &[
            (r#"{"conversationId":"c"}"#, "add"),
            (r#"{"conversationId":"c","add":[],"remove":[],"roles":{}}"#, "add"),
            (r#"{"conversationId":"c","roles":{"bob":"king"}}"#, "roles.bob"),
            (r#"{"conversationId":"c","roles":{"b b":"owner"}}"#, "roles.b b"),
        ],
    );
    names(
        |body| parse::<SyncIn>(body.as_bytes()).and_then(SyncIn::query),
        &[
            (r#"{"conversationId":"c","limit":0}"#, "limit"),
            (r#"{"conversationId":"c","autoAdvance":1}"#, "autoAdvance"),
            (r#"{"conversationId":"c","deviceId":""}"#, "deviceId"),
        ],
    );
    names(
        |body| parse_or_empty::<ListIn>(body.as_bytes()).and_then(ListIn::part),
        &[(r#"{"limit":101}"#, "limit"), (&format!(r#"{{"cursor":"{}"}}"#, "1".repeat(86)), "cursor")],
    );
    names(
        |body| parse_or_empty::<RunIn>(body.as_bytes()).and_then(RunIn::run),
        &[
            (r#"{"tasks":["sweep"]}"#, "tasks[0]"),
            (r#"{"tasks":[]}"#, "tasks"),
            (r#"{"maxMs":0}"#, "maxMs"),
            (r#"{"maxMs":25001}"#, "maxMs"),
        ],
    );
}

#[test]
fn what_follows_a_user_names_the_field() {
    let long = |length: usize| "x".repeat(length);
    names(
        |body| parse::<UpdateIn>(body.as_bytes()).and_then(UpdateIn::change),
        &[
            (r#"{"muted":true}"#, "conversationId"),
            (r#"{"conversationId":"c"}"#, "muted"),
            (r#"{"conversationId":"c","muted":null,"history":null}"#, "muted"),
            (r#"{"conversationId":"c","muted":1}"#, "muted"),
            (r#"{"conversationId":"c","history":"some"}"#, "history"),
            (r#"{"conversationId":"c","muted":true,"retention":1}"#, "retention"),
            (r#"{"conversationId":"c","retentionMs":3153600000001}"#, "retentionMs"),
            (r#"{"conversationId":"c","retentionMs":-1}"#, "retentionMs"),
            (r#"{"conversationId":"c","retentionMs":60000.5}"#, "retentionMs"),
            (r#"{"conversationId":"c","retentionMs":"60000"}"#, "retentionMs"),
            (r#"{"conversationId":"c","legalHold":"yes"}"#, "legalHold"),
            (r#"{"conversationId":"c","legalHold":null}"#, "muted"),
        ],
    );
    names(
        |body| parse_or_empty::<GlobalIn>(body.as_bytes()).and_then(GlobalIn::part),
        &[
            (r#"{"cursor":"x"}"#, "cursor"),
            (r#"{"cursor":7}"#, "cursor"),
            (&format!(r#"{{"cursor":"{}.1"}}"#, long(GLOBAL_CURSOR_CHARS_MAX)), "cursor"),
            (r#"{"limit":0}"#, "limit"),
            (r#"{"deviceId":"a b"}"#, "deviceId"),
            (r#"{"latest":1}"#, "latest"),
        ],
    );
    names(
        |body| parse_or_empty::<DigestIn>(body.as_bytes()).and_then(DigestIn::cursor),
        &[
            (&format!(r#"{{"cursor":"{}"}}"#, long(86)), "cursor"),
            (r#"{"limit":101}"#, "limit"),
            (r#"{"latest":0}"#, "latest"),
            (r#"{"latest":6}"#, "latest"),
        ],
    );
    names(
        |body| parse::<ReadIn>(body.as_bytes()),
        &[
            (r#"{"conversationId":"c"}"#, "msgId"),
            (r#"{"msgId":"1"}"#, "conversationId"),
            (r#"{"conversationId":"c","msgId":-1}"#, "msgId"),
        ],
    );
    names(|body| parse_or_empty::<OfflineIn>(body.as_bytes()), &[(r#"{"userId":""}"#, "userId")]);
    names(|body| parse_or_empty::<DevicesIn>(body.as_bytes()), &[(r#"{"forget":"a b"}"#, "forget")]);
}

#[test]
fn what_a_push_needs_names_the_field() {
    let many = |item: &str, count: usize| vec![item; count].join(",");
    names(
        |body| parse_or_empty::<SettingsIn>(body.as_bytes()).map(SettingsIn::change),
        &[
            (r#"{"showContent":"no"}"#, "showContent"),
            (r#"{"muted":"c"}"#, "muted"),
            (r#"{"muted":["c","a b"]}"#, "muted[1]"),
            (&format!(r#"{{"muted":[{}]}}"#, many(r#""c""#, 1_001)), "muted"),
        ],
    );
    names(
        |body| parse_or_empty::<DueIn>(body.as_bytes()).map(DueIn::parts),
        &[
            (r#"{"limit":101}"#, "limit"),
            (r#"{"confirm":["x",""]}"#, "confirm[1]"),
            (&format!(r#"{{"confirm":["{}"]}}"#, "é".repeat(201)), "confirm[0]"),
            (&format!(r#"{{"confirm":[{}]}}"#, many(r#""x""#, 1_001)), "confirm"),
            (r#"{"userId":"bob"}"#, "userId"),
        ],
    );
    let longest = format!(r#"{{"confirm":["{}"]}}"#, "é".repeat(200));
    assert_eq!(parse::<DueIn>(longest.as_bytes()).unwrap().parts(), (100, vec!["é".repeat(200)]));
    assert_eq!(parse_or_empty::<DueIn>(b"").unwrap().parts(), (100, Vec::new()));
}

#[test]
fn without_a_body_everything_is_as_the_contract_says() {
    assert_eq!(parse_or_empty::<GlobalIn>(b"").unwrap().part().unwrap(), (None, 100));
    assert_eq!(parse_or_empty::<DigestIn>(b"").unwrap().counts(), (50, 1));
    let change = parse_or_empty::<SettingsIn>(b"").unwrap().change();
    assert_eq!(change, im_domain::push::PushSettingsChange::default());
}

#[test]
fn a_batch_is_refused_as_a_whole_only_for_its_own_fields() {
    names(
        |body| parse::<BatchIn<'_>>(body.as_bytes()).map(drop),
        &[
            (r#"{"messages":[]}"#, "messages"),
            (r#"{"messages":{}}"#, "messages"),
            (&format!(r#"{{"messages":[{}1]}}"#, "1,".repeat(100)), "messages"),
            (r#"{"messages":[{}],"content":"x"}"#, "content"),
            (r#"{"messages":[1],"ack":"never"}"#, "ack"),
        ],
    );
    names(
        |body| parse::<PullsIn<'_>>(body.as_bytes()).map(drop),
        &[
            (r#"{"requests":[]}"#, "requests"),
            (&format!(r#"{{"requests":[{}1]}}"#, "1,".repeat(50)), "requests"),
            (r#"{"requests":[{}],"limit":5}"#, "limit"),
        ],
    );
}

#[test]
fn an_items_problem_is_relative_to_it() {
    let caller = caller(Scope::User);
    let text = format!(
        r#"{{"messages":[{},{{"type":"text"}},7,{}]}}"#,
        with(r#""content":5"#),
        with(r#""ack":"accepted""#)
    );
    let batch: BatchIn<'_> = parse(text.as_bytes()).unwrap();
    let fields = batch.messages.0.iter().enumerate().map(|(index, raw)| {
        let item = raw.read(&format!("messages[{index}]"));
        item.and_then(|draft: DraftIn<'_>| draft.item(&caller, &caller.user)).unwrap_err().field.unwrap()
    });
    assert_eq!(fields.collect::<Vec<_>>(), ["content", "clientMsgId", "messages[2]", "ack"]);
}

#[test]
fn a_batch_is_known_by_a_field_that_is_not_null() {
    assert!(has_field(br#"{"ack":"accepted","messages":[1]}"#, "messages"));
    assert!(!has_field(br#"{"messages":null}"#, "messages"));
    assert!(!has_field(br#"{"content":"messages"}"#, "messages"));
    assert!(!has_field(br#"["messages"]"#, "messages"));
    assert!(!has_field(b"{", "messages"));
}

#[test]
fn everything_a_draft_can_hold_is_read() {
    let body = with(
        r#""clientTime":1700000000000,"type":"custom","content":"\ud83d\ude00 \u0000","silent":true,"replyTo":{"msgId":"9223372036854775807"}"#,
    );
    let body = body.replacen('{', r#"{"ext": { "b" : 1.50, "a":[] },"#, 1);
    let draft = draft(&body).unwrap();
    assert_eq!((draft.kind, draft.silent, draft.client_time), (Kind::Custom, true, Some(1_700_000_000_000)));
    assert_eq!(draft.content, "\u{1f600} \0");
    assert_eq!(draft.reply_to, Some(im_domain::MsgId::MAX));
    assert_eq!(draft.ext.unwrap().as_str(), r#"{ "b" : 1.50, "a":[] }"#, "kept as it was written");
}

#[test]
fn what_is_too_large_is_not_merely_invalid() {
    for (body, field) in [
        (with(&format!(r#""content":"{}""#, "x".repeat(65_537))), "content"),
        (with(&format!(r#""ext":{{"a":"{}"}}"#, "x".repeat(4_096))), "ext"),
    ] {
        let problem = draft(&body).unwrap_err();
        assert_eq!((problem.code, problem.field.as_deref()), (Code::TooLarge, Some(field)));
    }
    assert!(draft(&with(&format!(r#""content":"{}""#, "x".repeat(65_536)))).is_ok());
}

#[test]
fn ids_and_times_have_two_spellings() {
    let query = pull(r#"{"conversationId":"c","lastMsgId":42,"fromTime":1704067200000,"toTime":"2024-01-01T09:00:00.0001+09:00"}"#)
        .unwrap();
    assert_eq!(query.cursor.number(), 42);
    assert_eq!((query.from_ms, query.to_ms), (Some(1_704_067_200_000), Some(1_704_067_200_001)));
    assert_eq!(pull(r#"{"conversationId":"c","lastMsgId":"0042"}"#).unwrap().cursor.number(), 42);
}

#[test]
fn in_a_batch_only_a_service_sends_for_others() {
    let text = with(r#""userId":"bob""#);
    let item = |scope| {
        let caller = caller(scope);
        parse::<DraftIn<'_>>(text.as_bytes()).unwrap().item(&caller, &caller.user)
    };
    assert_eq!(item(Scope::Service).unwrap().sender.as_str(), "bob");
    assert_eq!(item(Scope::User).unwrap_err().field.as_deref(), Some("userId"));
}
