//! What is revised while its partition moves to another database is there as it has become, with all it was, and so
//! is the note of who looked at that. The move is killed at each of its calls, and something is revised each time.

use super::backend::block_on;
use super::hidden::hide;
use super::rebalanced::{at_every_call, mover, on};
use super::settled::{FORGET, HOT_KEYS};
use super::site::{Site, drain};
use super::talk::*;
use crate::servers::postgres::query_at;
use im_domain::page::Direction;
use im_domain::revision::{Change, Version};
use im_domain::storage::Storage;
use im_domain::{Error, MsgId};
use im_store::tiered::rebalance::{declare, finish, move_partitions};

const ROOMS: usize = 24;
const MESSAGES: usize = 4;

fn name(room: usize) -> String {
    format!("m{room}")
}

fn versions(store: &impl Storage, room: usize, msg_id: MsgId) -> Vec<Version> {
    block_on(store.versions(&service("z"), &id(&name(room)), msg_id)).unwrap()
}

/// A conversation, and what became of its messages: each version's content.
struct Room {
    ids: Vec<MsgId>,
    contents: Vec<Vec<String>>,
}

/// One is edited again and again, one recalled, one deleted after an edit, and one stays; which comes with the turn.
fn revise_one(store: &impl Storage, rooms: &mut [Room], turn: usize) {
    let at = turn % ROOMS;
    // One of them hides another message each time.
    let hidden = hide(store, &actor("g"), &name(at), &rooms[at].ids[turn / ROOMS % 2..][..1]).unwrap();
    assert_eq!(hidden, [Ok(())]);
    let room = &mut rooms[at];
    let (message, change) = match turn / ROOMS % MESSAGES {
        1 => (1, Change::Recall),
        2 => (2, edit_to("edited before")),
        3 => (2, Change::Delete),
        _ => (0, edit_to(&format!("edit {turn}"))),
    };
    let content = change.content().to_owned();
    match revise(store, &actor("e"), &name(at), room.ids[message], change) {
        Ok(revised) if revised.told.is_some() && room.contents[message].last() != Some(&content) => {
            room.contents[message].push(content);
        }
        Ok(_) | Err(Error::Conflict { .. }) => {}
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn what_is_revised_meanwhile_moves_as_it_has_become() {
    let site = Site::new(1, 3);
    let two = on(&site, 2);
    let mut rooms: Vec<Room> = (0..ROOMS)
        .map(|room| {
            group(&two, &name(room), &["e", "f", "g"]);
            let ids = (0..MESSAGES).map(|n| send(&two, "e", &name(room), n).msg_id).collect();
            Room { ids, contents: (0..MESSAGES).map(|n| vec![format!("message {n}")]).collect() }
        })
        .collect();
    for (at, room) in rooms.iter().enumerate() {
        assert_eq!(versions(&two, at, room.ids[0]).len(), 1);
    }
    let steps = mover(&site, None).0;
    block_on(declare(&steps, 3)).unwrap();
    let three = on(&site, 3);
    let mut turn = 0;
    let calls = at_every_call(
        &site,
        async |store| move_partitions(store, |_| {}).await,
        || {
            // Several, so that some are where the move is.
            for _ in 0..ROOMS / 2 {
                revise_one(&three, &mut rooms, turn);
                turn += 1;
            }
        },
    );
    assert!(calls > 40, "{calls}");
    block_on(finish(&steps)).unwrap();
    drain(&three);
    for server in &site.redis {
        let forget = im_store::arguments![FORGET, "0", HOT_KEYS];
        crate::servers::redis::command_at(server.url(), "EVAL", forget).unwrap();
    }
    for (at, room) in rooms.iter().enumerate() {
        let shown = walk(&three, "f", &name(at), 100, Direction::Down);
        for ((msg_id, contents), message) in room.ids.iter().zip(&room.contents).zip(&shown) {
            assert_eq!((message.msg_id, Some(&message.content)), (*msg_id, contents.last()), "{at}");
            let kept = versions(&three, at, *msg_id).into_iter().map(|version| version.content);
            assert_eq!(&kept.collect::<Vec<_>>(), contents, "{at}");
        }
    }
    for (at, room) in rooms.iter().enumerate() {
        let shown: Vec<_> =
            walk(&three, "g", &name(at), 100, Direction::Down).iter().map(|one| one.msg_id).collect();
        let is_shown = |at: usize| shown.contains(&room.ids[at]);
        let hidden = [turn > at, turn > ROOMS + at];
        assert_eq!([is_shown(0), is_shown(1), is_shown(2)], [!hidden[0], !hidden[1], true], "{at}");
    }
    let noted = |url: &String| {
        let mut rows = query_at(url, "SELECT count(*) FROM audit", Vec::new()).unwrap();
        rows[0].count().unwrap() as usize
    };
    assert_eq!(site.postgres_urls().iter().map(noted).sum::<usize>(), ROOMS * (MESSAGES + 1));
}
