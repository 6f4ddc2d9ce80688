//! Dead letters, in requests and answers.

use super::scalar::{IdOut, LimitIn};
use super::text::Text;
use crate::problem::Problem;
use im_domain::limits::PAGE_ITEMS_MAX;
use im_domain::upkeep::{DeadLetter, DeadLetterAction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "HandleDeadLetters")]
pub struct DeadLettersIn {
    /// `show` if not given; `replay` puts them back to be stored, `drop` gives them up for good.
    action: Option<Text<DeadLetterAction>>,
    /// How many at the most.
    #[schemars(extend("default" = PAGE_ITEMS_MAX))]
    limit: Option<LimitIn>,
}

impl DeadLettersIn {
    pub fn parts(self) -> Result<(DeadLetterAction, u32), Problem> {
        let action = self.action.map_or(DeadLetterAction::Show, |action| action.0);
        Ok((action, self.limit.map_or(PAGE_ITEMS_MAX, |limit| limit.0)))
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DeadLetters")]
pub struct DeadLettersOut {
    /// Those that were shown, put back or dropped.
    letters: Vec<DeadLetterOut>,
}

impl From<Vec<DeadLetter>> for DeadLettersOut {
    fn from(letters: Vec<DeadLetter>) -> Self {
        Self { letters: letters.into_iter().map(DeadLetterOut::from).collect() }
    }
}

/// Something that was accepted and that SQL could not take.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeadLetter")]
struct DeadLetterOut {
    partition: u8,
    id: String,
    /// Why it was set aside.
    error: String,
    /// Absent when it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    msg_id: Option<IdOut>,
}

impl From<DeadLetter> for DeadLetterOut {
    fn from(letter: DeadLetter) -> Self {
        Self {
            partition: letter.partition,
            id: letter.id,
            error: letter.error,
            conversation_id: letter.conversation.map(im_domain::ConversationId::into_string),
            msg_id: letter.msg_id.map(IdOut),
        }
    }
}
