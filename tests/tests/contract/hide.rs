//! Proves that a user can delete messages for oneself: they go from every way to read on every device of the user, pages
//! are full behind them, each has its own result, and others see nothing of it.

use im_tests::follow::{digest, global_all, offline, up_to_date};
use im_tests::push::until_due;
use im_tests::recall::{edit, every_way, hide, hide_of, recall, shown_nowhere};
use im_tests::routes::{AROUND, DELETE, GET, RUN, SYNC};
use im_tests::shape;
use im_tests::talk::{conversation, group, pull, say, say_many, send, text, texts};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, list_all, pull_all, pull_where};
use serde_json::{Value, json};

const SECRET: &str = "swordfish";

#[tokio::test]
async fn what_is_hidden_is_on_no_way_to_read_for_its_user_alone() {
    let tenant = Tenant::new("hide-ways");
    let (ann, ben, phone) = (tenant.user("ann"), tenant.user("ben"), tenant.device("ben", "phone"));
    group(&ann, "room", &["ben"]).await;
    say(&ann, "room", "first").await;
    let secret = |n: usize| format!("{SECRET} {n}");
    let mut hidden = vec![say(&ann, "room", &secret(0)).await];
    let mut quoting = text("room", "quote", "quoting");
    quoting["replyTo"] = json!({"msgId": hidden[0]["msgId"]});
    send(&ann, quoting).await;
    hidden.push(say(&ben, "room", &secret(1)).await);
    hidden.push(say(&ann, "room", &secret(2)).await);
    assert!(every_way(&phone, "room").await.iter().any(|(_, answer)| answer.to_string().contains(SECRET)));
    let of_ann = every_way(&ann, "room").await;
    let ids: Vec<&Value> = hidden.iter().map(|receipt| &receipt["msgId"]).collect();
    let answer = hide(&ben, "room", &ids).await;
    let named: Vec<Value> = ids.iter().map(|id| json!({"msgId": id})).collect();
    assert_eq!(answer, json!({"results": named}));
    assert_eq!(hide(&phone, "room", &ids).await, answer, "once more");
    for _ in 0..2 {
        for reader in [&ben, &phone] {
            shown_nowhere(&every_way(reader, "room").await, SECRET);
        }
        let found = ben.ok(GET, json!({"conversationId": "room", "msgIds": ids})).await;
        assert_eq!(found, json!({"messages": [], "missing": ids}));
        let around = json!({"conversationId": "room", "msgId": ids[0], "before": 1, "after": 1});
        ben.post(AROUND, around).await.refused("message_not_found").naming("msgId");
        let page = pull(&ben, json!({"conversationId": "room"})).await;
        assert_eq!(texts(shape::list(&page, "messages")), ["quoting", "first"]);
        assert_eq!(page["headSeq"], 5);
        assert_eq!(page["messages"][0]["replyTo"]["status"], "deleted");
        assert_eq!(page["messages"][0]["replyTo"].get("preview"), None);
        assert_eq!(conversation(&ben, "room").await["lastMsg"]["summary"], "quoting");
        assert_eq!(every_way(&ann, "room").await[..8], of_ann[..8]);
        // Wherever it is kept in the end.
        tenant.service().patient(RUN, json!({"tasks": ["drain"]})).await;
    }
    let page = tenant.device("ben", "new").ok(SYNC, json!({"conversationId": "room"})).await;
    assert_eq!(texts(shape::list(&page, "messages")), ["first", "quoting"]);
    tenant
        .user("ann")
        .ok("/api/conversation/members", json!({"conversationId": "room", "remove": ["ben"]}))
        .await;
    tenant
        .user("ann")
        .ok("/api/conversation/members", json!({"conversationId": "room", "add": ["ben"]}))
        .await;
    shown_nowhere(&every_way(&ben, "room").await, SECRET);
}

#[tokio::test]
async fn pages_are_full_behind_it_and_it_counts_nowhere() {
    let tenant = Tenant::new("hide-pages");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let sent = say_many(&ann, "room", 60).await;
    let ids: Vec<&Value> = sent[5..50].iter().map(|receipt| &receipt["msgId"]).collect();
    hide(&ben, "room", &ids).await;
    for (direction, left) in [("down", "1 2 3 4 5 51 52"), ("up", "60 59 58 57 56 55 54")] {
        let page = pull(&ben, json!({"conversationId": "room", "direction": direction, "limit": 7})).await;
        assert_eq!(texts(shape::list(&page, "messages")).join(" "), left);
        assert_eq!(page["hasMore"], true);
    }
    let all = json!({"conversationId": "room", "direction": "down", "limit": 4});
    assert_eq!(pull_where(&ben, all).await.len(), 15);
    assert_eq!(pull_all(&ann, "room", Direction::Up, 100).await.len(), 60);
    assert_eq!(
        (conversation(&ben, "room").await["unread"].clone(), offline(&ben).await),
        (json!(15), (1, 15))
    );
    let given = until_due(&tenant.service(), ["ben"]).await.remove("ben").expect("he is due");
    assert_eq!(given["messages"], 15);
}

#[tokio::test]
async fn each_is_hidden_or_refused_on_its_own_and_other_devices_learn_of_it() {
    let tenant = Tenant::new("hide-each");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let sent = say_many(&ann, "room", 3).await;
    let control = recall(&ann, "room", &sent[1]["msgId"]).await["controlMsgId"].clone();
    let cursors = [up_to_date(&ann).await, up_to_date(&ben).await];
    let ids = [&sent[0]["msgId"], &control, &json!("7"), &sent[1]["msgId"]];
    let answer = hide(&ben, "room", &ids).await;
    let results = shape::list(&answer, "results");
    for (at, code, field) in [(1, "invalid_request", "msgId"), (2, "message_not_found", "msgIds")] {
        shape::problem(&results[at]["error"], "result");
        assert_eq!(
            (&results[at]["error"]["code"], &results[at]["error"]["field"]),
            (&json!(code), &json!(field))
        );
    }
    assert_eq!((&results[0], &results[3]), (&json!({"msgId": ids[0]}), &json!({"msgId": ids[3]})));
    let (changed, cursor) = global_all(&ben, &cursors[1], 100).await;
    assert_eq!((changed.len(), &changed[0]["unread"], &changed[0]["headSeq"]), (1, &json!(1), &json!(4)));
    assert!(shape::list(&changed[0], "kinds").contains(&json!("revisions")), "{changed:?}");
    assert_eq!(global_all(&ann, &cursors[0], 100).await.0, Vec::<Value>::new());
    assert_eq!(global_all(&ben, &cursor, 100).await.0, Vec::<Value>::new());
    let stranger = tenant.user("cid").patient(DELETE, hide_of("room", &ids)).await;
    assert!(shape::list(&stranger, "results").iter().all(|one| one["error"]["code"] == "not_member"));
    let mut for_ben = hide_of("room", &[&sent[2]["msgId"]]);
    for_ben["userId"] = "ben".into();
    tenant.service().patient(DELETE, for_ben).await;
    assert_eq!(digest(&ben, json!({"latest": 5})).await["conversations"][0]["lastMsg"], Value::Null);
    let mut with_reason = hide_of("room", &ids);
    with_reason["reason"] = "because".into();
    ben.post(DELETE, with_reason).await.refused("invalid_request").naming("reason");
}

#[tokio::test]
async fn c19_revisions_move_no_conversation() {
    let tenant = Tenant::new("c19-order");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let mut slips = Vec::new();
    for room in ["low", "middle", "top"] {
        group(&ann, room, &["ben"]).await;
        slips.push(say(&ann, room, "slip").await);
        say(&ann, room, "last").await;
    }
    let names = async |user| {
        let list = list_all(user, 2).await;
        list.iter().map(|one| shape::text(one, "conversationId").to_owned()).collect::<Vec<_>>()
    };
    let cursor = up_to_date(&ben).await;
    recall(&ann, "low", &slips[0]["msgId"]).await;
    edit(&ann, "middle", &slips[1]["msgId"], "edited").await;
    hide(&ben, "low", &[&slips[0]["msgId"]]).await;
    for user in [&ann, &ben] {
        assert_eq!(names(user).await, ["top", "middle", "low"]);
    }
    let low = list_all(&ben, 100).await[2].clone();
    assert_eq!(
        (&low["unread"], &low["lastMsg"]["summary"], &low["headSeq"]),
        (&json!(1), &json!("last"), &json!(3))
    );
    let (changed, _) = global_all(&ben, &cursor, 100).await;
    let told: Vec<_> = changed.iter().map(|one| (&one["conversationId"], &one["headSeq"])).collect();
    assert_eq!(told, [(&json!("middle"), &json!(3)), (&json!("low"), &json!(3))]);
    let has = |one: &Value, kind| shape::list(one, "kinds").contains(&json!(kind));
    assert!(changed.iter().all(|one| has(one, "messages") && has(one, "revisions")), "{changed:?}");
    say(&ann, "low", "more").await;
    assert_eq!(names(&ben).await, ["low", "top", "middle"]);
}
