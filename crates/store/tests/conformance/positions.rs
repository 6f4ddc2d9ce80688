//! Positions: moved by confirmation, never back; resets when the device's place is not good.

use super::backend::{Backend, on_every_back_end};
use super::talk::*;
use im_domain::page::{ResetReason, SyncQuery};
use im_domain::{Error, MsgId};

on_every_back_end!(
    a_position_moves_by_confirmation_and_a_lost_answer_loses_nothing,
    a_lower_confirmation_only_reads_again,
    auto_advance_moves_with_the_page,
    a_place_beyond_the_head_or_of_another_epoch_is_told_and_moves_nothing,
    a_device_that_missed_expired_messages_is_told_and_one_that_missed_none_is_not,
    who_joins_again_goes_on_and_who_is_no_member_has_no_position,
);

fn a_position_moves_by_confirmation_and_a_lost_answer_loses_nothing<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let ids: Vec<_> = (0..5).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let small = |last| SyncQuery { limit: 2, ..sync_query("c", last) };
    let first = sync(&store, "a", "phone", small(None)).unwrap();
    assert_eq!((first.page.messages.len(), first.position, first.page.has_more), (2, MsgId::NONE, true));
    let again = sync(&store, "a", "phone", small(None)).unwrap();
    assert_eq!(again, first);
    let second = sync(&store, "a", "phone", small(Some(ids[1]))).unwrap();
    assert_eq!((second.page.messages[0].msg_id, second.position), (ids[2], ids[1]));
    let resumed = sync(&backend.open(), "a", "phone", small(None)).unwrap();
    assert_eq!(resumed.page.messages[0].msg_id, ids[2]);
    let other_device = sync(&store, "a", "tablet", small(None)).unwrap();
    assert_eq!((other_device.page.messages[0].msg_id, other_device.position), (ids[0], MsgId::NONE));
}

fn a_lower_confirmation_only_reads_again<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let ids: Vec<_> = (0..5).map(|n| send(&store, "a", "c", n).msg_id).collect();
    for last in [ids[3], ids[0], ids[2], MsgId::NONE] {
        let answer = sync(&store, "a", "phone", sync_query("c", Some(last))).unwrap();
        assert_eq!(answer.position, ids[3]);
        let next = ids.iter().find(|id| **id > last).copied();
        assert_eq!(answer.page.messages.first().map(|m| m.msg_id), next);
    }
}

fn auto_advance_moves_with_the_page<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let ids: Vec<_> = (0..3).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let query = SyncQuery { limit: 2, auto_advance: true, ..sync_query("c", None) };
    assert_eq!(sync(&store, "a", "phone", query.clone()).unwrap().position, ids[1]);
    assert_eq!(sync(&store, "a", "phone", query.clone()).unwrap().position, ids[2]);
    let end = sync(&store, "a", "phone", query).unwrap();
    assert_eq!((end.page.messages.len(), end.position, end.page.cursor), (0, ids[2], ids[2]));
}

fn a_place_beyond_the_head_or_of_another_epoch_is_told_and_moves_nothing<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let first = send(&store, "a", "c", 1);
    let ahead = MsgId::new(first.msg_id.number() + 1).unwrap();
    let answer = sync(&store, "a", "phone", sync_query("c", Some(ahead))).unwrap();
    let reset = answer.page.reset.unwrap();
    assert_eq!((reset.reason, reset.oldest), (ResetReason::PositionAhead, first.msg_id));
    assert_eq!((answer.position, answer.page.cursor, answer.page.has_more), (MsgId::NONE, ahead, false));

    let query = SyncQuery { epoch: Some("other".into()), ..sync_query("c", Some(first.msg_id)) };
    let answer = sync(&store, "a", "phone", query).unwrap();
    assert_eq!(answer.page.reset.unwrap().reason, ResetReason::EpochChanged);
    assert_eq!(answer.position, MsgId::NONE);
    let query = SyncQuery { epoch: Some(first.epoch), ..sync_query("c", Some(first.msg_id)) };
    assert_eq!(sync(&store, "a", "phone", query).unwrap().page.reset, None);
}

fn a_device_that_missed_expired_messages_is_told_and_one_that_missed_none_is_not<B: Backend>() {
    for purged in [false, true] {
        let backend = B::keeping(1_000);
        let store = backend.open();
        group(&store, "c", &["a"]);
        let first = send(&store, "a", "c", 1).msg_id;
        let second = send(&store, "a", "c", 2).msg_id;
        for (device, last) in [("behind", first), ("level", second)] {
            assert_eq!(sync(&store, "a", device, sync_query("c", Some(last))).unwrap().position, last);
        }
        backend.advance(5_000);
        let third = send(&store, "a", "c", 3).msg_id;
        if purged {
            let report = super::backend::block_on(im_domain::storage::Storage::run(&store, &[], 1_000));
            assert_eq!(report.unwrap().expired, 2);
        }
        let behind = sync(&store, "a", "behind", sync_query("c", None)).unwrap().page;
        assert_eq!(behind.reset.map(|r| (r.reason, r.oldest)), Some((ResetReason::Expired, third)));
        assert_eq!(behind.messages.iter().map(|m| m.msg_id).collect::<Vec<_>>(), [third]);
        let level = sync(&store, "a", "level", sync_query("c", None)).unwrap().page;
        assert_eq!((level.reset, level.messages.len()), (None, 1), "purged: {purged}");
        let fresh = sync(&store, "a", "new", sync_query("c", None)).unwrap().page;
        assert_eq!((fresh.reset, fresh.messages.len()), (None, 1));
    }
}

fn who_joins_again_goes_on_and_who_is_no_member_has_no_position<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let first = send(&store, "a", "c", 1).msg_id;
    sync(&store, "b", "phone", sync_query("c", Some(first))).unwrap();
    let change = |change| {
        super::backend::block_on(im_domain::storage::Storage::change_members(
            &store,
            &actor("a"),
            &id("c"),
            change,
        ))
    };
    change(remove("b")).unwrap();
    assert_eq!(sync(&store, "b", "phone", sync_query("c", None)), Err(Error::NotMember));
    change(add("b")).unwrap();
    assert_eq!(sync(&store, "b", "phone", sync_query("c", None)).unwrap().position, first);
    assert_eq!(sync(&store, "b", "phone", sync_query("x", None)), Err(Error::ConversationNotFound));
}
