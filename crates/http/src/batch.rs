//! Calls with several items, each of which succeeds or fails on its own: the good ones go to the
//! store together, and every answer comes back to its place.

use crate::problem::Problem;
use im_domain::Result as StoreResult;
use schemars::JsonSchema;
use serde::Serialize;

/// The answer to a batch, in the order of its items.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}Results")]
pub struct Results<T> {
    pub results: Vec<Outcome<T>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "{T}Outcome")]
pub enum Outcome<T> {
    Done(T),
    Failed { error: Problem },
}

impl<T> From<Result<T, Problem>> for Outcome<T> {
    fn from(result: Result<T, Problem>) -> Self {
        match result {
            Ok(value) => Self::Done(value),
            Err(error) => Self::Failed { error },
        }
    }
}

/// The places of a batch's items, while the good ones are with the store.
pub struct Places(Vec<Option<Problem>>);

/// Parts the good items from the bad ones.
pub fn part<T>(items: impl Iterator<Item = Result<T, Problem>>) -> (Vec<T>, Places) {
    let mut good = Vec::new();
    let places = items.map(|item| item.map(|value| good.push(value)).err()).collect();
    (good, Places(places))
}

impl Places {
    /// Puts the store's answers, one for each good item, where their items stood.
    pub fn fill<R>(self, answers: Vec<StoreResult<R>>) -> Result<Vec<Result<R, Problem>>, Problem> {
        let mut answers = answers.into_iter();
        let mut next =
            || answers.next().ok_or_else(|| Problem::internal("the store left an item unanswered"));
        self.0
            .into_iter()
            .map(|place| match place {
                Some(problem) => Ok(Err(problem)),
                None => next().map(|answer| answer.map_err(Problem::from)),
            })
            .collect()
    }
}

/// The store's answer to the only item of a call.
pub fn only<R>(answers: Vec<StoreResult<R>>) -> Result<R, Problem> {
    let answer = answers.into_iter().next();
    Ok(answer.ok_or_else(|| Problem::internal("the store left an item unanswered"))??)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;
    use im_domain::Error;

    #[test]
    fn answers_come_back_to_their_places() {
        let items = [Ok('a'), Err(Problem::invalid("type", "x")), Ok('b'), Ok('c')];
        let (good, places) = part(items.into_iter());
        assert_eq!(good, ['a', 'b', 'c']);
        let results = places.fill(vec![Ok(1), Err(Error::NotMember), Ok(3)]).unwrap();
        let codes: Vec<_> = results.iter().map(|r| r.as_ref().map_err(|p| p.code)).collect();
        assert_eq!(codes, [Ok(&1), Err(Code::InvalidRequest), Err(Code::NotMember), Ok(&3)]);
    }

    #[test]
    fn an_item_without_an_answer_is_an_internal_problem() {
        let (_, places) = part([Ok(()), Ok(())].into_iter());
        assert_eq!(places.fill(vec![Ok(1)]).unwrap_err().code, Code::Internal);
        assert_eq!(only::<()>(Vec::new()).unwrap_err().code, Code::Internal);
    }
}
