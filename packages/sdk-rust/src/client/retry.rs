//! When a request is sent again, and after how long.

use std::future::Future;
use std::time::Duration;

use tokio::time::{sleep, Instant};

use crate::error::{Error, Result};

/// When a request is sent again.
///
/// | outcome | sent again? |
/// |---|---|
/// | no connection | yes, to the next endpoint |
/// | 429, 503 | yes, after `Retry-After` |
/// | no answer in time, a lost connection, 500, 502, 504 | yes, if it may be sent twice |
/// | anything else | no: the same request gets the same answer |
///
/// All requests may be sent twice, but for an event without a `client_event_id`. That is sent again only after 429 or
/// without a connection. Tries are bounded in number and in time together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, the first one included; 1: none is repeated.
    pub attempts_max: u32,
    /// No try begins later than this after the first.
    pub total_max: Duration,
    /// The delay after the first round over all endpoints; it doubles with each further round.
    pub delay_base: Duration,
    /// No delay of our own is longer. What the service asks for may be.
    pub delay_max: Duration,
    /// No delay is shorter.
    pub delay_min: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 5,
            total_max: Duration::from_secs(30),
            delay_base: Duration::from_millis(200),
            delay_max: Duration::from_secs(5),
            delay_min: Duration::from_millis(50),
        }
    }
}

impl RetryPolicy {
    /// Every request is sent once.
    pub fn none() -> Self {
        Self { attempts_max: 1, ..Self::default() }
    }

    /// Half of it is fixed and half is chance, so that clients which failed together do not come back together.
    fn delay(&self, round: u32, asked: Option<Duration>, chance: f64) -> Duration {
        let doubled = self.delay_base.saturating_mul(2_u32.saturating_pow(round));
        let own = doubled.min(self.delay_max).mul_f64(0.5 + chance / 2.0);
        own.max(self.delay_min).max(asked.map_or(Duration::ZERO, |asked| asked.saturating_add(own)))
    }
}

/// From 0 up to, not including, 1; the middle, should the system have no randomness.
pub(super) fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |drawn| f64::from(drawn) / (f64::from(u32::MAX) + 1.0))
}

/// Whether a request may be sent again after its first try came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It reads, or it names itself by content or id.
    Freely,
    /// Two of them would be two records.
    IfNotSent,
}

/// What one try came to.
pub(super) struct Failed {
    pub(super) error: Error,
    /// The try may have taken effect.
    pub(super) is_unknown: bool,
    /// Another try would come to the same.
    pub(super) is_final: bool,
}

/// What may be worth another try.
fn is_worth_repeating(failed: &Failed, repeat: Repeat) -> bool {
    let error = &failed.error;
    if failed.is_final {
        return false;
    }
    if error.is_connection_failed() && !failed.is_unknown || error.is_rate_limited() {
        return true;
    }
    let is_transient = failed.is_unknown || error.is_timeout() || error.is_connection_failed();
    repeat == Repeat::Freely && (is_transient || matches!(error.status(), Some(500 | 502 | 503 | 504)))
}

/// What a request came to, over all its tries.
pub(super) struct Outcome<T> {
    pub(super) result: Result<T>,
    /// One of the tries that failed may have taken effect.
    pub(super) is_unknown: bool,
}

/// Tries until there is an answer, a refusal, or the budget is spent.
pub(super) async fn with_retries<T, F, Fut>(
    policy: &RetryPolicy,
    endpoints: usize,
    repeat: Repeat,
    mut attempt: F,
) -> Outcome<T>
where
    F: FnMut(u32) -> Fut,
    Fut: Future<Output = Result<T, Failed>>,
{
    let started = Instant::now();
    let mut is_unknown = false;
    let mut number = 0;
    loop {
        let failed = match attempt(number).await {
            Ok(answer) => return Outcome { result: Ok(answer), is_unknown: false },
            Err(failed) => failed,
        };
        is_unknown |= failed.is_unknown;
        let round = number / u32::try_from(endpoints.max(1)).unwrap_or(u32::MAX);
        number += 1;
        let delay = policy.delay(round, failed.error.retry_after(), chance());
        let is_in_budget = number < policy.attempts_max && started.elapsed() + delay <= policy.total_max;
        if !is_in_budget || !is_worth_repeating(&failed, repeat) {
            return Outcome { result: Err(failed.error), is_unknown };
        }
        sleep(delay).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_stay_in_bounds_and_honour_what_is_asked_for() {
        let policy = RetryPolicy::default();
        let asked = Some(Duration::from_secs(7));
        for (round, least, most) in
            [(0, 100, 200), (1, 200, 400), (2, 400, 800), (10, 2_500, 5_000), (40, 2_500, 5_000)]
        {
            assert_eq!(policy.delay(round, None, 0.0), Duration::from_millis(least));
            assert!(policy.delay(round, None, 0.999_999) <= Duration::from_millis(most));
            assert!(policy.delay(round, asked, 0.0) >= Duration::from_secs(7));
        }
        let hasty = RetryPolicy { delay_base: Duration::ZERO, ..RetryPolicy::default() };
        assert_eq!(hasty.delay(0, None, 0.0), hasty.delay_min);
        assert!((0..1_000).map(|_| chance()).all(|chance| (0.0..1.0).contains(&chance)));
    }
}
