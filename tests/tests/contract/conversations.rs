//! Proves that conversations are made once, described in full, and listed newest first.

use im_tests::routes::{CONVERSATION, CREATE, LIST};
use im_tests::shape;
use im_tests::talk::{contents, conversation, group, say, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn a_new_group_is_described_in_full() {
    let tenant = Tenant::new("conv-new");
    let ann = tenant.user("ann");
    let made = group(&ann, "room", &["ben", "cid"]).await;
    assert_eq!(made["conversationId"], "room");
    assert_eq!(made["type"], "group");
    assert_eq!(made["memberCount"], 3, "the creator is a member");
    assert_eq!(made["lastMsg"], Value::Null);
    assert_eq!(made["headSeq"], 0);
    assert_eq!(made["unread"], 0);
    assert_eq!(made["readMsgId"], "0");
    assert_eq!(made["muted"], false);
    assert_eq!(conversation(&tenant.user("cid"), "room").await["memberCount"], 3);
}

#[tokio::test]
async fn listing_the_creator_or_a_member_twice_makes_no_difference() {
    let tenant = Tenant::new("conv-twice");
    let made = group(&tenant.user("ann"), "room", &["ann", "ben", "ben"]).await;
    assert_eq!(made["memberCount"], 2);
}

#[tokio::test]
async fn creating_again_gives_the_same_answer() {
    let tenant = Tenant::new("conv-again");
    let ann = tenant.user("ann");
    let made = group(&ann, "room", &["ben"]).await;
    assert_eq!(group(&ann, "room", &["ben"]).await, made);
    let ben = group(&tenant.user("ben"), "room", &[]).await;
    assert_eq!(ben["conversationId"], "room");
    assert_eq!(ben["memberCount"], 2, "creating again changes no members");
}

#[tokio::test]
async fn a_group_without_an_id_gets_one() {
    let tenant = Tenant::new("conv-unnamed");
    let ann = tenant.user("ann");
    let body = json!({"type": "group", "members": ["ben"]});
    let first = ann.ok(CREATE, body.clone()).await;
    let second = ann.ok(CREATE, body).await;
    assert_ne!(first["conversationId"], second["conversationId"]);
    let id = shape::text(&first, "conversationId");
    say(&tenant.user("ben"), id, "it works").await;
    assert_eq!(contents(&ann, id).await, ["it works"]);
}

#[tokio::test]
async fn a_system_conversation_is_written_by_services_and_read_by_members() {
    let tenant = Tenant::new("conv-system");
    let service = tenant.service();
    let body = json!({
        "userId": "notices", "conversationId": "news", "type": "system", "members": ["ann"],
    });
    let made = service.ok(CREATE, body).await;
    shape::conversation(&made);
    assert_eq!(made["type"], "system");
    let mut notice = text("news", "1", "maintenance at noon");
    notice["userId"] = "notices".into();
    notice["type"] = "system".into();
    send(&service, notice).await;
    assert_eq!(contents(&tenant.user("ann"), "news").await, ["maintenance at noon"]);
}

#[tokio::test]
async fn the_last_message_is_summed_up() {
    let tenant = Tenant::new("conv-last");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let made = group(&ann, "room", &["ben"]).await;
    say(&ann, "room", "first").await;
    let receipt = say(&ben, "room", "second").await;
    let found = conversation(&ann, "room").await;
    let last = &found["lastMsg"];
    for field in ["msgId", "seq", "createTime"] {
        assert_eq!(last[field], receipt[field], "{field}");
    }
    assert_eq!(last["senderId"], "ben");
    assert_eq!(last["type"], "text");
    assert_eq!(last["summary"], "second");
    assert_eq!(last["status"], "normal");
    assert_eq!(found["headSeq"], 2);
    assert_eq!(found["epoch"], receipt["epoch"]);
    assert_eq!(found["createTime"], made["createTime"]);
}

#[tokio::test]
async fn the_summary_of_a_long_text_is_its_beginning() {
    let tenant = Tenant::new("conv-summary");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let long = "日本語😀".repeat(2_000);
    send(&ann, text("room", "1", &long)).await;
    let found = conversation(&ann, "room").await;
    let summary = shape::text(&found["lastMsg"], "summary");
    assert!(!summary.is_empty() && summary.len() < 2_000, "{} bytes", summary.len());
    assert!(long.starts_with(summary.trim_end_matches('…')), "cut between characters");
}

/// Changes in one millisecond have no order among conversations: their ids are those of partitions.
async fn a_millisecond_passes() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

#[tokio::test]
async fn the_list_is_newest_first_whatever_the_page() {
    let tenant = Tenant::new("conv-list");
    let ann = tenant.user("ann");
    let names: Vec<String> = (0..23).map(|n| format!("room-{n}")).collect();
    for name in &names {
        group(&ann, name, &["ben"]).await;
        a_millisecond_passes().await;
    }
    // Every third one is written to, so that it moves to the top.
    for name in names.iter().step_by(3) {
        say(&ann, name, "up").await;
        a_millisecond_passes().await;
    }
    let all = list_all(&ann, 100).await;
    assert_eq!(all.len(), names.len());
    let found: Vec<&str> = all.iter().map(|c| shape::text(c, "conversationId")).collect();
    let mut wanted: Vec<&str> = names.iter().step_by(3).rev().map(String::as_str).collect();
    let quiet = names.iter().enumerate().filter(|(n, _)| n % 3 != 0).rev();
    wanted.extend(quiet.map(|(_, name)| name.as_str()));
    assert_eq!(found, wanted);
    for limit in [1, 7, 20] {
        assert_eq!(list_all(&ann, limit).await, all, "limit {limit}");
    }
    let default = ann.ok(LIST, json!({})).await;
    assert_eq!(shape::list(&default, "conversations").len(), 20);
    assert_eq!(default["hasMore"], true);
}

#[tokio::test]
async fn a_user_without_conversations_has_an_empty_list() {
    let tenant = Tenant::new("conv-none");
    let page = tenant.user("ann").ok(LIST, json!({"cursor": "", "limit": 5})).await;
    assert_eq!(shape::list(&page, "conversations").len(), 0);
    assert_eq!(page["hasMore"], false);
    shape::text(&page, "cursor");
}

#[tokio::test]
async fn a_service_reads_for_the_user_it_names() {
    let tenant = Tenant::new("conv-service");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    say(&tenant.user("ann"), "room", "hello").await;
    let service = tenant.service();
    let list = service.ok(LIST, json!({"userId": "ben"})).await;
    assert_eq!(list["conversations"][0]["conversationId"], "room");
    let body = json!({"userId": "ben", "conversationId": "room"});
    assert_eq!(service.ok(CONVERSATION, body).await["headSeq"], 1);
}
