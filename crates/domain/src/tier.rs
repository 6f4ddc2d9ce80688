//! When old messages move to cold segments.

use crate::error::{Error, Result};
use crate::limits::{TIER_AFTER_MS_DEFAULT, TIER_MESSAGES_MIN};
use crate::msg_id::MsgId;

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// What an operator has set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierRules {
    /// Messages that are so old may move, in milliseconds; none: they never do.
    after_ms: Option<u64>,
    /// When there is time for it; none: always.
    window: Option<Window>,
    /// So many at least move together, unless the oldest is twice as old as it has to be.
    pub messages_min: usize,
}

/// A part of every day, in milliseconds since midnight UTC. One that ends before it begins goes over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    from: u64,
    to: u64,
}

impl TierRules {
    /// Reads the variables `tier_after_ms` (0: never) and `tier_window` (`HH:MM-HH:MM`; empty: always). An error is
    /// `internal`, as no client is to blame.
    pub fn parse(after_ms: &str, window: &str) -> Result<Self> {
        let after_ms: u64 = after_ms.trim().parse().map_err(|_| {
            Error::internal("variable tier_after_ms: must be a number of milliseconds, 0 or more")
        })?;
        let refused = || Error::internal("variable tier_window: must be HH:MM-HH:MM in UTC, or empty");
        let window = match window.trim() {
            "" => None,
            text => Some(Window::parse(text).ok_or_else(refused)?),
        };
        Ok(Self { after_ms: Some(after_ms).filter(|ms| *ms > 0), window, messages_min: TIER_MESSAGES_MIN })
    }

    /// Everything moves as soon as it is there.
    pub fn at_once() -> Self {
        Self { after_ms: Some(0), window: None, messages_min: 1 }
    }

    /// Messages up to this id may move; none: it is not the time. `now_ms`: milliseconds since 1970.
    pub fn up_to(&self, now_ms: u64) -> Option<MsgId> {
        let after_ms = self.after_ms.filter(|_| self.window.is_none_or(|window| window.is_open(now_ms)))?;
        let first_young = MsgId::floor_of(now_ms.saturating_add(1).saturating_sub(after_ms));
        MsgId::new(first_young.number().saturating_sub(1))
    }

    /// Whether so many messages are worth a move now.
    pub fn is_enough(&self, messages: usize, oldest: MsgId, up_to: MsgId) -> bool {
        messages >= self.messages_min || up_to >= self.at_last(oldest)
    }

    /// Once messages up to this id may move, it is time for those that were too few with the oldest at `oldest`.
    pub fn at_last(&self, oldest: MsgId) -> MsgId {
        MsgId::floor_of(oldest.time_ms().saturating_add(self.after_ms.unwrap_or_default()))
    }
}

impl Default for TierRules {
    fn default() -> Self {
        Self { after_ms: Some(TIER_AFTER_MS_DEFAULT), window: None, messages_min: TIER_MESSAGES_MIN }
    }
}

impl Window {
    fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let (from, to) = (since_midnight_ms(from.trim())?, since_midnight_ms(to.trim())?);
        (from != to).then_some(Self { from, to })
    }

    fn is_open(self, now_ms: u64) -> bool {
        let at = now_ms % DAY_MS;
        match self.from < self.to {
            true => at >= self.from && at < self.to,
            false => at >= self.from || at < self.to,
        }
    }
}

/// `HH:MM`, 00:00 to 23:59.
fn since_midnight_ms(text: &str) -> Option<u64> {
    let (hours, minutes) = text.split_once(':')?;
    let part = |text: &str, below: u64| {
        let is_two_digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|number| is_two_digits && *number < below)
    };
    Some((part(hours, 24)? * 60 + part(minutes, 60)?) * MINUTE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg_id::ID_EPOCH_MS;

    const NOON_MS: u64 = ID_EPOCH_MS + DAY_MS / 2;

    fn is_open(window: &str, now_ms: u64) -> bool {
        TierRules::parse("1", window).unwrap().up_to(now_ms).is_some()
    }

    #[test]
    fn a_message_moves_when_it_is_so_old_and_no_sooner() {
        let up_to = TierRules::parse("1000", "").unwrap().up_to(NOON_MS).unwrap();
        let said_at = |ms| MsgId::compose(ms, 255, 16_383);
        assert!(said_at(NOON_MS - 1_000) <= up_to && MsgId::floor_of(NOON_MS - 999) > up_to);
        assert!(said_at(NOON_MS) <= TierRules::at_once().up_to(NOON_MS).unwrap());
        assert_eq!(TierRules::parse("0", "").unwrap().up_to(NOON_MS), None);
    }

    #[test]
    fn a_window_is_open_from_its_first_minute_to_before_its_last() {
        assert!(is_open("12:00-12:01", NOON_MS) && !is_open("12:01-12:02", NOON_MS));
        assert!(is_open("12:00-12:01", NOON_MS + 59_999) && !is_open("12:00-12:01", NOON_MS + 60_000));
        let (night, day) = (NOON_MS + 11 * 3_600_000, NOON_MS);
        assert!(is_open("22:00-05:00", night) && is_open("22:00-05:00", night + 5 * 3_600_000));
        assert!(!is_open("22:00-05:00", day) && is_open("", day));
    }

    #[test]
    fn few_messages_wait_until_they_are_twice_as_old() {
        let rules = TierRules::parse("1000", "").unwrap();
        let oldest = MsgId::floor_of(NOON_MS);
        let is_enough =
            |messages, after_ms| rules.is_enough(messages, oldest, rules.up_to(NOON_MS + after_ms).unwrap());
        assert!(is_enough(TIER_MESSAGES_MIN, 1_000) && !is_enough(TIER_MESSAGES_MIN - 1, 1_999));
        assert!(is_enough(1, 2_001));
    }

    #[test]
    fn wrong_settings_are_refused_by_name() {
        for (after_ms, window, name) in [
            ("", "", "tier_after_ms"),
            ("-1", "", "tier_after_ms"),
            ("1", "1:00-2:00", "tier_window"),
            ("1", "01:00", "tier_window"),
            ("1", "24:00-01:00", "tier_window"),
            ("1", "01:00-01:00", "tier_window"),
            ("1", "01:60-02:00", "tier_window"),
            ("1", "+1:00-02:00", "tier_window"),
        ] {
            let error = TierRules::parse(after_ms, window).unwrap_err();
            assert!(error.to_string().contains(name), "{after_ms} {window}: {error}");
        }
    }
}
