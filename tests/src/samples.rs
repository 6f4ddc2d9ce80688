//! The two chat samples of `tests/data`.

use flate2::read::GzDecoder;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub enum Sample {
    English,
    Cjk,
}

/// One line: a message.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Line {
    pub conversation_id: String,
    pub sender_id: String,
    /// Milliseconds since 1970.
    pub ts: u64,
    pub text: String,
}

/// The lines of one conversation, in order.
#[derive(Clone, Debug)]
pub struct Chat {
    pub id: String,
    /// In order of first appearance.
    pub senders: Vec<String>,
    pub lines: Vec<Line>,
}

impl Sample {
    pub const ALL: [Self; 2] = [Self::English, Self::Cjk];

    /// The conversations in order of first appearance.
    pub fn chats(self) -> Vec<Chat> {
        let mut chats: Vec<Chat> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for line in self.lines() {
            let place = *places.entry(line.conversation_id.clone()).or_insert(chats.len());
            if place == chats.len() {
                chats.push(Chat { id: line.conversation_id.clone(), senders: vec![], lines: vec![] });
            }
            chats[place].lines.push(line);
        }
        for chat in &mut chats {
            let mut seen = std::collections::HashSet::new();
            let first = |line: &&Line| seen.insert(line.sender_id.clone());
            chat.senders = chat.lines.iter().filter(first).map(|l| l.sender_id.clone()).collect();
        }
        chats
    }

    pub fn file(self) -> PathBuf {
        let name = match self {
            Self::English => "chat-en.ndjson.gz",
            Self::Cjk => "chat-cjk.ndjson.gz",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
    }

    fn lines(self) -> impl Iterator<Item = Line> {
        let path = self.file();
        let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        BufReader::new(GzDecoder::new(file)).lines().map(|line| {
            serde_json::from_str(&line.expect("UTF-8 lines")).expect("a line of the sample's form")
        })
    }
}
