//! Intervals in the manifest: a number and a unit, such as `60s`.

use std::time::Duration;

use crate::limits::SCHEDULE_INTERVAL_MIN;

const SECONDS_PER_MINUTE: u64 = 60;
const SECONDS_PER_HOUR: u64 = 3600;

/// Reads `<n>s`, `<n>m` or `<n>h`.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no interval: write a number and s, m or h, such as `60s`");
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let number: u64 = text.strip_suffix(unit).and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
    let factor = match unit {
        's' => 1,
        'm' => SECONDS_PER_MINUTE,
        'h' => SECONDS_PER_HOUR,
        _ => return Err(wrong()),
    };
    let interval = Duration::from_secs(number.checked_mul(factor).ok_or_else(wrong)?);
    if interval < SCHEDULE_INTERVAL_MIN {
        return Err(format!("`{text}` is too short: the least is {}s", SCHEDULE_INTERVAL_MIN.as_secs()));
    }
    Ok(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_unit() {
        assert_eq!(parse_interval("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(parse_interval("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(parse_interval("2h"), Ok(Duration::from_secs(7200)));
        for bad in ["", "s", "5", "5d", "-5s", "1.5s", "0s", "99999999999999999999h", "5é"] {
            assert!(parse_interval(bad).is_err(), "{bad:?}");
        }
    }
}
