//! Cases about messages that were taken back, edited and deleted: at once after they were sent, shown nowhere, unread for nobody.

use im_tests::follow::{digest, global_all, offline, read, up_to_date};
use im_tests::push::until_due;
use im_tests::recall::{delete, edit, every_way, get_one, recall, shown_nowhere};
use im_tests::routes::{RUN, SYNC};
use im_tests::shape;
use im_tests::talk::{conversation, group, say, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::{Value, json};

/// What must not show once it was taken back.
const SECRET: &str = "swordfish";

#[tokio::test]
async fn c06_a_message_is_taken_back_right_after_it_was_sent() {
    let tenant = Tenant::new("c06-recall");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    for n in 0..30_u64 {
        let receipt = say(&ann, "room", &n.to_string()).await;
        let answer = recall(&ann, "room", &receipt["msgId"]).await;
        assert_eq!((&receipt["seq"], &answer["seq"]), (&json!(2 * n + 1), &json!(2 * n + 2)));
        assert_eq!(get_one(&ben, "room", &receipt["msgId"]).await["content"], "");
        let first =
            json!({"toUserId": format!("friend-{n}"), "clientMsgId": "1", "type": "text", "content": "x"});
        let receipt = send(&ann, first).await;
        let id = shape::text(&receipt, "conversationId");
        assert_eq!(recall(&ann, id, &receipt["msgId"]).await["seq"], 2, "the first of a conversation");
    }
}

/// A secret in a message and beside it, quoted before and after it was taken back, and in the way of a push.
async fn secrets(tenant: &Tenant) -> Vec<Value> {
    let ann = tenant.user("ann");
    let mut sent = Vec::new();
    for n in 0..3 {
        let mut message = text("room", &format!("slip-{n}"), &format!("{SECRET} {n}"));
        message["ext"] = json!({SECRET: [SECRET]});
        sent.push(send(&ann, message).await);
        let mut quoting = text("room", &format!("quote-{n}"), "quoting");
        quoting["replyTo"] = json!({"msgId": sent[n]["msgId"]});
        send(&ann, quoting).await;
    }
    // The last message is one that is taken back.
    sent.push(send(&ann, text("room", "slip-last", SECRET)).await);
    sent
}

/// Every way to read, for a device that syncs and for who rules.
async fn seen(tenant: &Tenant) -> Vec<(&'static str, Value)> {
    let mut all = every_way(&tenant.device("ben", "phone"), "room").await;
    all.extend(every_way(&tenant.user("ann"), "room").await);
    all
}

#[tokio::test]
async fn c07_what_was_taken_back_is_shown_nowhere() {
    let tenant = Tenant::new("c07");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben", "cid"]).await;
    let sent = secrets(&tenant).await;
    assert!(seen(&tenant).await.iter().any(|(_, answer)| answer.to_string().contains(SECRET)));
    for receipt in &sent {
        recall(&ann, "room", &receipt["msgId"]).await;
    }
    shown_nowhere(&seen(&tenant).await, SECRET);
    let mut late = text("room", "late", "quoting");
    late["replyTo"] = json!({"msgId": sent[0]["msgId"]});
    send(&ann, late).await;
    shown_nowhere(&seen(&tenant).await, SECRET);
    // Repeated sends change nothing.
    let mut again = text("room", "slip-0", &format!("{SECRET} 0"));
    again["ext"] = json!({SECRET: [SECRET]});
    assert_eq!(send(&ann, again).await["msgId"], sent[0]["msgId"]);
    shown_nowhere(&seen(&tenant).await, SECRET);
    // Wherever they are kept in the end.
    tenant.service().patient(RUN, json!({"tasks": ["drain"]})).await;
    shown_nowhere(&seen(&tenant).await, SECRET);
    let new = tenant.device("cid", "new");
    let page = new.ok(SYNC, json!({"conversationId": "room"})).await;
    shown_nowhere(&[("sync of a new device", page)], SECRET);
}

#[tokio::test]
async fn c07_what_a_message_said_before_it_was_edited_or_deleted_is_shown_nowhere() {
    for (label, is_edit) in [("c07-edit", true), ("c07-delete", false)] {
        let tenant = Tenant::new(label);
        let ann = tenant.user("ann");
        group(&ann, "room", &["ben", "cid"]).await;
        // Enough to wake somebody, whatever becomes of the others.
        for n in 0..5 {
            say(&ann, "room", &n.to_string()).await;
        }
        let mut sent = Vec::new();
        for n in 0..3 {
            sent.push(send(&ann, text("room", &format!("slip-{n}"), &format!("{SECRET} {n}"))).await);
            let mut quoting = text("room", &format!("quote-{n}"), "quoting");
            quoting["replyTo"] = json!({"msgId": sent[n]["msgId"]});
            send(&ann, quoting).await;
        }
        sent.push(send(&ann, text("room", "slip-last", SECRET)).await);
        for receipt in &sent {
            match is_edit {
                true => drop(edit(&ann, "room", &receipt["msgId"], "harmless").await),
                false => drop(delete(&ann, "room", &receipt["msgId"]).await),
            }
        }
        shown_nowhere(&seen(&tenant).await, SECRET);
        let due = until_due(&tenant.service(), ["cid"]).await.remove("cid").expect("cid is due");
        shown_nowhere(&[("preview", due)], SECRET);
        tenant.service().patient(RUN, json!({"tasks": ["drain"]})).await;
        let answers = seen(&tenant).await;
        shown_nowhere(&answers, SECRET);
        let shows_new = |(_, answer): &(&str, Value)| answer.to_string().contains("harmless");
        assert_eq!(answers.iter().any(shows_new), is_edit);
        let page = tenant.device("cid", "new").ok(SYNC, json!({"conversationId": "room"})).await;
        shown_nowhere(&[("sync of a new device", page)], SECRET);
    }
}

#[tokio::test]
async fn c07_what_was_taken_back_is_in_no_push() {
    let tenant = Tenant::new("c07-push");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    for n in 0..5 {
        say(&ann, "room", &n.to_string()).await;
    }
    let sent = secrets(&tenant).await;
    for receipt in &sent {
        recall(&ann, "room", &receipt["msgId"]).await;
    }
    let given = until_due(&tenant.service(), ["ben"]).await.remove("ben").expect("he is due");
    assert_eq!(given["messages"], 8);
    assert_eq!(shape::list(&given, "preview").len(), 3);
    shown_nowhere(&[("preview", given)], SECRET);
}

#[tokio::test]
async fn c19_what_was_taken_back_is_not_unread() {
    let tenant = Tenant::new("c19");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let is_unread = async |room: &str, cursor: &str, wanted: u64| {
        assert_eq!(conversation(&ben, room).await["unread"], wanted, "{room}");
        assert_eq!(list_all(&ben, 100).await[0]["unread"], wanted, "{room}: list");
        let top = digest(&ben, json!({"limit": 1})).await["conversations"][0].clone();
        assert_eq!((&top["conversationId"], &top["unread"]), (&json!(room), &json!(wanted)));
        let (changed, _) = global_all(&ben, cursor, 100).await;
        assert_eq!((changed.len(), &changed[0]["unread"]), (1, &json!(wanted)), "{room}: global");
        assert_eq!(conversation(&ann, room).await["unread"], 0, "{room}: one's own");
    };
    for taken in 0..3 {
        let room = format!("room-{taken}");
        group(&ann, &room, &["ben"]).await;
        let cursor = up_to_date(&ben).await;
        let mut sent = Vec::new();
        for n in 0..3 {
            sent.push(say(&ann, &room, &n.to_string()).await);
        }
        is_unread(&room, &cursor, 3).await;
        recall(&ann, &room, &sent[taken]["msgId"]).await;
        is_unread(&room, &cursor, 2).await;
        recall(&ann, &room, &sent[taken]["msgId"]).await;
        is_unread(&room, &cursor, 2).await;
        assert_eq!(offline(&ben).await, (1, 2));
        // What he said himself and took back is no matter.
        let own = say(&ben, &room, "own").await;
        recall(&ben, &room, &own["msgId"]).await;
        is_unread(&room, &cursor, 2).await;
        // Reading up to any message: what was taken back after it is not unread, nor counted off twice before it.
        for (place, receipt) in sent.iter().enumerate() {
            let left = (place + 1..3).filter(|n| *n != taken).count() as u64;
            assert_eq!(read(&ben, &room, &receipt["msgId"]).await["unread"], left);
            is_unread(&room, &cursor, left).await;
        }
        // What was read before it was taken back.
        recall(&ann, &room, &sent[(taken + 1) % 3]["msgId"]).await;
        is_unread(&room, &cursor, 0).await;
        say(&ann, &room, "later").await;
        is_unread(&room, &cursor, 1).await;
        let head = conversation(&ben, &room).await["lastMsg"]["msgId"].clone();
        read(&ben, &room, &head).await;
        assert_eq!(offline(&ben).await, (0, 0));
    }
}
