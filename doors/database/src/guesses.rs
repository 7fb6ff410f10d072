//! Wrong passwords in a row: who guesses has to wait.
//!
//! After [`ATTEMPTS_MAX`] wrong passwords of one guesser, it is refused for [`LOCK_TIME`] without a look at the password. What is remembered of failures
//! is bounded: beyond [`GUESSERS_MAX`] the oldest is forgotten.

use crate::Error;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;
use world::clock::{monotonic_ns, span_ns};

/// Wrong passwords in a row before a guesser has to wait.
pub const ATTEMPTS_MAX: u32 = 3;
/// How long it waits then.
pub const LOCK_TIME: Duration = Duration::from_secs(5);
/// Guessers whose failures are remembered.
const GUESSERS_MAX: usize = 10_000;

/// Who guessed wrong how often; `K` says who guesses: a name, or a name and an address.
#[derive(Debug)]
pub struct PasswordGuesses<K> {
    failures: Mutex<BTreeMap<K, Failures>>,
    lock_time: Duration,
}

#[derive(Debug)]
struct Failures {
    count: u32,
    last_ns: u64,
}

impl<K: Ord + Clone> Default for PasswordGuesses<K> {
    fn default() -> PasswordGuesses<K> {
        PasswordGuesses::new(LOCK_TIME)
    }
}

impl<K: Ord + Clone> PasswordGuesses<K> {
    /// Guessers wait so long.
    pub fn new(lock_time: Duration) -> PasswordGuesses<K> {
        PasswordGuesses { failures: Mutex::default(), lock_time }
    }
    /// May this one try a password?
    ///
    /// # Errors
    /// It has to wait.
    pub fn check(&self, guesser: &K) -> Result<(), Error> {
        let mut failures = self.failures.lock();
        let Some(known) = failures.get(guesser) else { return Ok(()) };
        if monotonic_ns() - known.last_ns >= span_ns(self.lock_time) {
            failures.remove(guesser);
        } else if known.count >= ATTEMPTS_MAX {
            let code = "Neo.ClientError.Security.AuthenticationRateLimit";
            let message = format!(
                "too many wrong passwords; wait {} seconds, then try again",
                self.lock_time.as_secs_f32().ceil()
            );
            return Err(Error::new(code, message));
        }
        Ok(())
    }
    /// The password was wrong.
    pub fn fail(&self, guesser: K) {
        let mut failures = self.failures.lock();
        if failures.len() >= GUESSERS_MAX && !failures.contains_key(&guesser) {
            let oldest = failures.iter().min_by_key(|(_, known)| known.last_ns).map(|(key, _)| key.clone());
            oldest.map(|oldest| failures.remove(&oldest));
        }
        let known = failures.entry(guesser).or_insert(Failures { count: 0, last_ns: 0 });
        known.count += 1;
        known.last_ns = monotonic_ns();
    }
    /// The password was right: earlier failures are forgotten.
    pub fn succeed(&self, guesser: &K) {
        self.failures.lock().remove(guesser);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_guesses_waits_and_who_is_right_begins_anew() {
        let guesses = PasswordGuesses::new(Duration::from_millis(50));
        for _ in 0..ATTEMPTS_MAX {
            assert!(guesses.check(&"ada").is_ok());
            guesses.fail("ada");
        }
        let refused = guesses.check(&"ada").unwrap_err();
        assert_eq!(refused.code, "Neo.ClientError.Security.AuthenticationRateLimit");
        assert!(guesses.check(&"bob").is_ok(), "others do not wait");
        world::threads::sleep(Duration::from_millis(60));
        assert!(guesses.check(&"ada").is_ok());
        guesses.fail("bob");
        guesses.succeed(&"bob");
        assert!(guesses.failures.lock().is_empty());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let guesses = PasswordGuesses::default();
        (0..GUESSERS_MAX + 1).for_each(|guesser| guesses.fail(guesser));
        let failures = guesses.failures.lock();
        assert_eq!((failures.len(), failures.contains_key(&GUESSERS_MAX)), (GUESSERS_MAX, true));
    }
}
