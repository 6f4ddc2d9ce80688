//! Proves that a message can be taken back: its place stays, its text goes, devices that have it learn of it,
//! and to do so again changes nothing.

use im_tests::client::Client;
use im_tests::follow::{global_all, has_kind, up_to_date, update};
use im_tests::recall::{control, get_one, placeholder, recall, recall_of};
use im_tests::routes::{CREATE, MEMBERS, RECALL, SYNC};
use im_tests::shape;
use im_tests::talk::{conversation, group, ids, pull, say, say_many, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, list_all, pull_all, sync_all};
use serde_json::{Value, json};

#[tokio::test]
async fn its_place_stays_and_its_text_goes() {
    let tenant = Tenant::new("recall-place");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    say(&ann, "room", "before").await;
    let mut slip = text("room", "slip", "a slip");
    slip["ext"] = json!({"k": "of the slip"});
    let slip = send(&ben, slip).await;
    say(&ann, "room", "after").await;
    let before = pull_all(&ann, "room", Direction::Down, 100).await;
    let answer = recall(&ben, "room", &slip["msgId"]).await;
    assert_eq!(answer["seq"], 4);
    assert_eq!(answer.as_object().map(serde_json::Map::len), Some(3), "{answer}");
    for reader in [&ann, &ben] {
        let now = pull_all(reader, "room", Direction::Down, 100).await;
        assert_eq!(now.len(), 4);
        assert_eq!((&now[0], &now[2]), (&before[0], &before[2]));
        placeholder(&now[1], &before[1]);
        control(&now[3], &answer, "ben");
        assert_eq!(get_one(reader, "room", &slip["msgId"]).await, now[1]);
        assert_eq!(get_one(reader, "room", &answer["controlMsgId"]).await, now[3]);
    }
    assert_eq!(conversation(&ann, "room").await["headSeq"], 4);
    let controls = json!({"conversationId": "room", "types": ["recall"]});
    assert_eq!(
        ids(shape::list(&pull(&ann, controls).await, "messages")),
        [shape::id(&answer, "controlMsgId")]
    );
}

#[tokio::test]
async fn an_id_may_be_a_number_and_a_reason_is_shown_to_nobody() {
    let tenant = Tenant::new("recall-forms");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let receipts = say_many(&ann, "room", 2).await;
    let by_number = recall_of("room", &json!(shape::id(&receipts[0], "msgId")));
    shape::revised(&ann.ok(RECALL, by_number).await);
    let mut reasoned = recall_of("room", &receipts[1]["msgId"]);
    reasoned["reason"] = "swordfish".into();
    let answer = ann.ok(RECALL, reasoned).await;
    shape::revised(&answer);
    assert_eq!(answer["msgId"], receipts[1]["msgId"]);
    let page = pull(&ben, json!({"conversationId": "room"})).await;
    assert_eq!(shape::list(&page, "messages").len(), 4);
    assert!(!page.to_string().contains("swordfish"), "{page}");
}

#[tokio::test]
async fn to_take_it_back_again_changes_nothing() {
    let tenant = Tenant::new("recall-again");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let slip = send(&ben, text("room", "slip", "a slip")).await;
    let first = recall(&ben, "room", &slip["msgId"]).await;
    let cursor = up_to_date(&ann).await;
    let state = conversation(&ann, "room").await;
    for by in [&ben, &ann, &tenant.service(), &tenant.admin(), &ben] {
        assert_eq!(recall(by, "room", &slip["msgId"]).await, first);
    }
    let mut other = recall_of("room", &slip["msgId"]);
    other["reason"] = "another reason".into();
    assert_eq!(ben.ok(RECALL, other).await, first);
    assert_eq!(pull_all(&ann, "room", Direction::Down, 100).await.len(), 2);
    assert_eq!(conversation(&ann, "room").await, state);
    assert_eq!(global_all(&ann, &cursor, 100).await.0, Vec::<Value>::new(), "nothing has changed");
    // And what was taken back does not come back when its send is repeated.
    let again = send(&ben, text("room", "slip", "a slip")).await;
    assert_eq!((&again["msgId"], &again["duplicate"]), (&slip["msgId"], &json!(true)));
    assert_eq!(get_one(&ann, "room", &slip["msgId"]).await["status"], "recalled");
    assert_eq!(conversation(&ann, "room").await, state);
}

#[tokio::test]
async fn senders_take_back_what_they_said_and_those_who_rule_what_anybody_said() {
    let tenant = Tenant::new("recall-who");
    let user = |name: &str| tenant.user(name);
    group(&user("owner"), "room", &["admin", "ann", "ben"]).await;
    let roles = json!({"conversationId": "room", "roles": {"admin": "admin"}});
    user("owner").ok(MEMBERS, roles).await;
    let receipts = say_many(&user("ann"), "room", 6).await;
    let ruled = say(&user("owner"), "room", "of the owner").await;
    user("ben").post(RECALL, recall_of("room", &receipts[0]["msgId"])).await.refused("forbidden");
    user("ben").post(RECALL, recall_of("room", &ruled["msgId"])).await.refused("forbidden");
    user("eve").post(RECALL, recall_of("room", &receipts[0]["msgId"])).await.refused("not_member");
    assert!(pull_all(&user("ben"), "room", Direction::Up, 100).await.iter().all(|m| m["status"] == "normal"));
    recall(&user("ann"), "room", &receipts[0]["msgId"]).await;
    recall(&user("owner"), "room", &receipts[1]["msgId"]).await;
    recall(&user("admin"), "room", &receipts[2]["msgId"]).await;
    recall(&user("admin"), "room", &ruled["msgId"]).await;
    // Neither is a member.
    recall(&tenant.admin(), "room", &receipts[3]["msgId"]).await;
    recall(&tenant.service(), "room", &receipts[4]["msgId"]).await;
    let mut named = recall_of("room", &receipts[5]["msgId"]);
    named["userId"] = "ann".into();
    let answer = tenant.service().ok(RECALL, named).await;
    control(&get_one(&user("ben"), "room", &answer["controlMsgId"]).await, &answer, "ann");
    let all = pull_all(&user("ben"), "room", Direction::Down, 100).await;
    assert!(all[..7].iter().all(|message| message["status"] == "recalled"));
    let senders: Vec<&str> = all[7..].iter().map(|message| shape::text(message, "senderId")).collect();
    assert_eq!(senders, ["ann", "owner", "admin", "admin", "admin", "service", "ann"]);
}

#[tokio::test]
async fn in_a_pair_nobody_rules() {
    let tenant = Tenant::new("recall-pair");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let made = ann.ok(CREATE, json!({"type": "single", "members": ["ben"]})).await;
    let id = shape::text(&made, "conversationId");
    let (of_ann, of_ben) = (say(&ann, id, "of Ann").await, say(&ben, id, "of Ben").await);
    ann.post(RECALL, recall_of(id, &of_ben["msgId"])).await.refused("forbidden");
    ben.post(RECALL, recall_of(id, &of_ann["msgId"])).await.refused("forbidden");
    recall(&ann, id, &of_ann["msgId"]).await;
    recall(&ben, id, &of_ben["msgId"]).await;
    let found = pull_all(&ben, id, Direction::Down, 100).await;
    let statuses: Vec<&str> = found.iter().map(|message| shape::text(message, "status")).collect();
    assert_eq!(statuses, ["recalled", "recalled", "normal", "normal"]);
}

#[tokio::test]
async fn who_has_left_takes_nothing_back_and_may_once_back() {
    let tenant = Tenant::new("recall-left");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let slip = say(&ben, "room", "a slip").await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "remove": ["ben"]})).await;
    ben.post(RECALL, recall_of("room", &slip["msgId"])).await.refused("not_member");
    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["ben"]})).await;
    recall(&ben, "room", &slip["msgId"]).await;
    assert_eq!(get_one(&ann, "room", &slip["msgId"]).await["status"], "recalled");
    // What was said by somebody who is gone can be taken back by who rules.
    let gone = say(&ben, "room", "gone").await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "remove": ["ben"]})).await;
    recall(&ann, "room", &gone["msgId"]).await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["ben"]})).await;
    let found = conversation(&ben, "room").await;
    assert_eq!(found["unread"], 0);
}

#[tokio::test]
async fn what_somebody_cannot_see_is_not_there() {
    let tenant = Tenant::new("recall-unseen");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    update(&ann, "room", json!({"history": "from_join"})).await;
    let slip = say(&ben, "room", "a slip").await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "remove": ["ben"]})).await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["ben"]})).await;
    ben.post(RECALL, recall_of("room", &slip["msgId"])).await.refused("message_not_found").naming("msgId");
    recall(&tenant.service(), "room", &slip["msgId"]).await;
}

#[tokio::test]
async fn a_device_that_is_past_it_learns_of_it() {
    let tenant = Tenant::new("recall-device");
    let ann = tenant.user("ann");
    let (phone, laptop) = (tenant.device("ben", "phone"), tenant.device("ben", "laptop"));
    group(&ann, "room", &["ben"]).await;
    let receipts = say_many(&ann, "room", 3).await;
    let had = sync_all(&phone, json!({"conversationId": "room"})).await;
    assert_eq!(had.len(), 3);
    let answer = recall(&ann, "room", &receipts[1]["msgId"]).await;
    let page = phone.ok(SYNC, json!({"conversationId": "room"})).await;
    shape::page(&page);
    assert_eq!((&page["headSeq"], page.get("reset")), (&json!(4), None));
    assert_eq!(page["cursor"], answer["controlMsgId"]);
    let told = shape::list(&page, "messages");
    assert_eq!(told.len(), 1, "what it has it does not get again: {page}");
    control(&told[0], &answer, "ann");
    // One that has nothing yet gets the place alone, and is told too.
    let all = sync_all(&laptop, json!({"conversationId": "room"})).await;
    assert_eq!(all.len(), 4);
    placeholder(&all[1], &had[1]);
    control(&all[3], &answer, "ann");
    // Once more, and nobody is told again.
    recall(&ann, "room", &receipts[1]["msgId"]).await;
    assert_eq!(sync_all(&phone, json!({"conversationId": "room"})).await.len(), 1, "it was not confirmed");
    assert_eq!(sync_all(&phone, json!({"conversationId": "room"})).await, Vec::<Value>::new());
}

#[tokio::test]
async fn every_member_is_told_that_something_was_revised() {
    let tenant = Tenant::new("recall-global");
    let users = ["ann", "ben", "cid"].map(|user| tenant.user(user));
    group(&users[0], "room", &["ben", "cid"]).await;
    group(&users[0], "other", &["ben", "cid"]).await;
    let receipts = say_many(&users[1], "room", 2).await;
    let mut cursors = Vec::new();
    for user in &users {
        cursors.push(up_to_date(user).await);
    }
    let answer = recall(&users[1], "room", &receipts[0]["msgId"]).await;
    for (user, cursor) in users.iter().zip(&cursors) {
        let (changed, next) = global_all(user, cursor, 100).await;
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!(changed[0]["conversationId"], "room");
        assert!(has_kind(&changed[0], "revisions"), "{}", changed[0]);
        assert_eq!(changed[0]["headMsgId"], answer["controlMsgId"]);
        assert_eq!(changed[0]["headSeq"], answer["seq"]);
        assert_eq!(changed[0]["unread"], conversation(user, "room").await["unread"]);
        assert_eq!(global_all(user, &next, 100).await.0, Vec::<Value>::new());
    }
    // What is said later is no revision.
    let cursor = up_to_date(&users[0]).await;
    say(&users[1], "room", "later").await;
    let (changed, _) = global_all(&users[0], &cursor, 100).await;
    assert!(!has_kind(&changed[0], "revisions"), "{}", changed[0]);
}

/// The last message of `room`, on every way that has it.
async fn last(reader: &Client) -> Value {
    let found = conversation(reader, "room").await["lastMsg"].clone();
    assert_eq!(list_all(reader, 100).await[0]["lastMsg"], found);
    let digest = im_tests::follow::digest(reader, json!({})).await;
    assert_eq!(digest["conversations"][0]["lastMsg"], found);
    found
}

#[tokio::test]
async fn the_summary_of_the_last_message_goes_with_it() {
    let tenant = Tenant::new("recall-summary");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let (old, new) = (say(&ann, "room", "old").await, say(&ann, "room", "new").await);
    let before = last(&ben).await;
    recall(&ann, "room", &old["msgId"]).await;
    assert_eq!(last(&ben).await, before, "an older one is no matter, nor is what tells of it");
    recall(&ann, "room", &new["msgId"]).await;
    let mut wanted = before;
    wanted["summary"] = "".into();
    wanted["status"] = "recalled".into();
    for reader in [&ann, &ben] {
        assert_eq!(last(reader).await, wanted);
    }
    let next = say(&ben, "room", "next").await;
    let found = last(&ann).await;
    assert_eq!((&found["msgId"], &found["summary"]), (&next["msgId"], &json!("next")));
    assert_eq!(found["status"], "normal");
}

#[tokio::test]
async fn a_quote_of_it_shows_that_it_was_taken_back() {
    let tenant = Tenant::new("recall-quote");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let slip = say(&ann, "room", "a slip").await;
    let quoting = |name: &str| {
        let mut message = text("room", name, name);
        message["replyTo"] = json!({"msgId": slip["msgId"]});
        message
    };
    let early = send(&ben, quoting("early")).await;
    assert_eq!(get_one(&ann, "room", &early["msgId"]).await["replyTo"]["preview"], "a slip");
    recall(&ann, "room", &slip["msgId"]).await;
    let late = send(&ben, quoting("late")).await;
    for answer in [&early, &late] {
        let quote = get_one(&ann, "room", &answer["msgId"]).await["replyTo"].clone();
        assert_eq!((&quote["msgId"], &quote["status"]), (&slip["msgId"], &json!("recalled")));
        assert_eq!(quote.get("preview"), None, "{quote}");
    }
    // What quoted it can be taken back as any other.
    recall(&ben, "room", &early["msgId"]).await;
    assert_eq!(get_one(&ann, "room", &early["msgId"]).await["content"], "");
}
