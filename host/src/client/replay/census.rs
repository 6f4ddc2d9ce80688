//! The first reading: what a file is about.

use std::collections::{BTreeSet, HashMap};

use im_domain::limits::MEMBERS_MAX;

use super::line::{Line, LineError};

/// The conversations of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub lines: u64,
    /// By conversation.
    pub rolls: HashMap<String, Roll>,
}

/// One conversation.
#[derive(Debug, PartialEq, Eq)]
pub struct Roll {
    /// Who speaks first.
    owner: String,
    /// Who speaks after.
    others: BTreeSet<String>,
    pub lines: u64,
}

impl Census {
    /// Counts a line.
    pub fn add(&mut self, line: Line) -> Result<(), LineError> {
        self.lines += 1;
        let sender = line.sender.into_string();
        let Some(roll) = self.rolls.get_mut(line.conversation.as_str()) else {
            let roll = Roll { owner: sender, others: BTreeSet::new(), lines: 1 };
            self.rolls.insert(line.conversation.into_string(), roll);
            return Ok(());
        };
        roll.lines += 1;
        if sender == roll.owner || roll.others.contains(&sender) {
            return Ok(());
        }
        roll.others.insert(sender);
        if roll.others.len() >= MEMBERS_MAX {
            let reason = format!("conversationId: a conversation has at most {MEMBERS_MAX} members");
            return Err(LineError::new(line.number, reason));
        }
        Ok(())
    }
}

impl Roll {
    /// Everybody who speaks, the first speaker first.
    pub fn into_members(self) -> Vec<String> {
        std::iter::once(self.owner).chain(self.others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, conversation: &str, sender: &str) -> Line {
        let json = format!(r#"{{"conversationId":"{conversation}","senderId":"{sender}","ts":1,"text":""}}"#);
        Line::parse(number, json.as_bytes()).unwrap()
    }

    #[test]
    fn conversations_are_counted_with_their_senders() {
        let mut census = Census::default();
        for (number, (conversation, sender)) in
            [("a", "u2"), ("b", "u1"), ("a", "u1"), ("a", "u2"), ("a", "u0")].into_iter().enumerate()
        {
            census.add(line(number as u64, conversation, sender)).unwrap();
        }
        assert_eq!(census.lines, 5);
        let a = census.rolls.remove("a").unwrap();
        assert_eq!((a.lines, a.into_members()), (4, vec!["u2".into(), "u0".into(), "u1".to_owned()]));
        assert_eq!(census.rolls.remove("b").unwrap().into_members(), ["u1"]);
    }

    #[test]
    fn more_senders_than_members_are_a_fault() {
        let mut census = Census::default();
        for sender in 0..MEMBERS_MAX {
            census.add(line(1, "a", &sender.to_string())).unwrap();
        }
        assert_eq!(census.add(line(9, "a", "x")).unwrap_err().number, 9);
    }
}
