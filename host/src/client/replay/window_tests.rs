use super::*;
use serde_json::value::RawValue;

fn item(number: u64, bytes: usize) -> Item {
    let json = RawValue::from_string(format!("\"{}\"", "x".repeat(bytes - 2))).unwrap();
    Item { number, json }
}

/// A window for a file of these lines' conversations, with their lines put in.
fn window(lines: &[&str], bytes_max: usize) -> Window {
    let mut window = Window { bytes_max, ..empty(lines) };
    put_all(&mut window, lines);
    window
}

fn empty(lines: &[&str]) -> Window {
    let mut census = super::super::census::Census::default();
    for name in lines {
        let json = format!(r#"{{"conversationId":"{name}","senderId":"u","ts":1,"text":""}}"#);
        census.add(super::super::line::Line::parse(1, json.as_bytes()).unwrap()).unwrap();
    }
    Window::new(census.rolls)
}

fn put_all(window: &mut Window, lines: &[&str]) {
    for (at, name) in lines.iter().enumerate() {
        assert!(window.put(name, item(at as u64 + 1, 10)));
    }
}

fn numbers(job: &Job) -> Vec<u64> {
    job.items.iter().map(|item| item.number).collect()
}

/// Conversation and line numbers of the next batch.
fn take(window: &mut Window) -> Option<(String, Vec<u64>)> {
    window.take().map(|job| (job.conversation.to_string(), numbers(&job)))
}

#[test]
fn a_conversation_that_is_whole_goes_out_at_once_and_once() {
    let mut window = window(&["a", "b", "a", "c"], usize::MAX);
    let b = window.take().unwrap();
    assert_eq!((&*b.conversation, numbers(&b)), ("b", vec![2]));
    assert_eq!(b.members, Some(vec!["u".to_owned()]));
    assert_eq!(take(&mut window), Some(("a".into(), vec![1, 3])));
    assert_eq!(take(&mut window), Some(("c".into(), vec![4])));
    assert_eq!(take(&mut window), None);
    for name in ["a", "b", "c"] {
        window.done(&name.into());
    }
    assert!(window.lanes.is_empty());
    assert_eq!(window.waiting_bytes, 0);
}

#[test]
fn batches_of_a_conversation_follow_each_other_in_order() {
    let lines = vec!["a"; 2 * BATCH_MESSAGES_MAX + 1];
    let mut window = window(&lines, usize::MAX);
    let mut seen = Vec::new();
    while let Some(job) = window.take() {
        assert!(job.items.len() <= BATCH_MESSAGES_MAX);
        assert_eq!(job.members.is_some(), seen.is_empty(), "only the first makes the conversation");
        assert!(window.take().is_none(), "one batch at a time");
        seen.extend(numbers(&job));
        window.done(&job.conversation);
    }
    assert_eq!(seen, (1..=lines.len() as u64).collect::<Vec<_>>());
}

#[test]
fn an_unfinished_batch_waits_until_the_window_is_full() {
    let lines = ["a", "b", "b", "a"];
    let mut window = Window { bytes_max: 30, ..empty(&lines) };
    put_all(&mut window, &lines[..2]);
    assert!(!window.is_full());
    assert_eq!(take(&mut window), None);
    assert!(window.put("b", item(3, 10)));
    assert!(window.is_full());
    // `b` is whole, and goes first; then there is room again.
    assert_eq!(take(&mut window), Some(("b".into(), vec![2, 3])));
    assert_eq!(take(&mut window), None);
    assert!(window.put("a", item(4, 10)));
    assert_eq!(take(&mut window), Some(("a".into(), vec![1, 4])));
}

#[test]
fn in_a_full_window_the_longest_waiting_goes_first() {
    let lines = ["a", "b", "b", "a", "b"];
    let mut window = Window { bytes_max: 20, ..empty(&lines) };
    put_all(&mut window, &lines[..2]);
    assert_eq!(take(&mut window), Some(("a".into(), vec![1])));
    assert_eq!(take(&mut window), None, "it is not full any more");
    // What comes while a lane is in work waits for it, and has a place again after.
    assert!(window.put("b", item(3, 10)));
    assert_eq!(take(&mut window), Some(("b".into(), vec![2, 3])));
    assert!(window.put("a", item(4, 10)));
    assert!(window.put("b", item(5, 10)));
    assert_eq!(take(&mut window), None);
    window.done(&"b".into());
    assert_eq!(take(&mut window), Some(("b".into(), vec![5])));
    window.done(&"a".into());
    assert_eq!(take(&mut window), Some(("a".into(), vec![4])));
}

#[test]
fn what_is_left_goes_out_when_the_file_has_ended_early() {
    let mut window = empty(&["a", "a"]);
    assert!(window.put("a", item(1, 10)));
    assert_eq!(take(&mut window), None);
    window.close();
    assert_eq!(take(&mut window), Some(("a".into(), vec![1])));
    assert!(!window.put("unknown", item(2, 10)));
}

#[test]
fn large_messages_make_small_batches() {
    let mut window = empty(&["a"; 4]);
    for (number, bytes) in
        [(1, BATCH_BYTES_MAX / 2), (2, BATCH_BYTES_MAX / 2), (3, 2), (4, BATCH_BYTES_MAX + 1)]
    {
        assert!(window.put("a", item(number, bytes)));
    }
    for expected in [vec![1, 2], vec![3], vec![4]] {
        let job = window.take().unwrap();
        assert_eq!(numbers(&job), expected);
        window.done(&job.conversation);
    }
    assert!(window.take().is_none());
}
