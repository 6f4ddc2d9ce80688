//! When to try again: a bounded number of attempts, with waits that double.

use std::time::Duration;

use super::limits::{RETRY_AFTER_MAX, RETRY_WAIT_MAX, RETRY_WAIT_MIN};

/// The attempts of one call.
#[derive(Debug)]
pub struct Retry {
    attempts: u32,
    attempts_max: u32,
    wait: Duration,
}

impl Retry {
    /// `attempts_max`: all of them, the first included.
    pub fn new(attempts_max: u32) -> Self {
        Self { attempts: 1, attempts_max, wait: RETRY_WAIT_MIN }
    }

    /// Attempts made so far.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How long to wait before the next attempt; none: give up.
    ///
    /// `asked`: what the server asked for. It is kept to, and a wait that is too long is not cut
    /// but given up. `chance` spreads the waits of clients that failed together.
    pub fn next(&mut self, asked: Option<Duration>, chance: u8) -> Option<Duration> {
        if self.attempts >= self.attempts_max || asked.is_some_and(|asked| asked > RETRY_AFTER_MAX) {
            return None;
        }
        self.attempts += 1;
        let own = self.wait.mul_f64(0.5 + f64::from(chance) / (2.0 * f64::from(u8::MAX)));
        self.wait = self.wait.saturating_mul(2).min(RETRY_WAIT_MAX);
        Some(own.max(asked.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut retry = Retry::new(10);
        let waits: Vec<u128> =
            std::iter::from_fn(|| retry.next(None, u8::MAX)).map(|w| w.as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        assert_eq!(retry.attempts(), 10);
    }

    #[test]
    fn chance_takes_up_to_half_of_a_wait() {
        assert_eq!(Retry::new(2).next(None, 0), Some(RETRY_WAIT_MIN / 2));
        assert_eq!(Retry::new(2).next(None, u8::MAX), Some(RETRY_WAIT_MIN));
    }

    #[test]
    fn what_the_server_asks_for_is_kept_to_or_given_up() {
        let second = Duration::from_secs(1);
        assert_eq!(Retry::new(2).next(Some(second), 9), Some(second));
        assert_eq!(Retry::new(2).next(Some(RETRY_AFTER_MAX + second), 9), None);
        assert_eq!(Retry::new(1).next(Some(second), 9), None);
    }
}
