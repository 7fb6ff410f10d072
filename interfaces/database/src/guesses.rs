//! Limits on wrong passwords in a row.
//!
//! After [`ATTEMPTS_MAX`] wrong passwords of one guesser, it is refused for [`LOCK_TIME`] without a check of the password. An attempt counts from
//! before the slow hash until its outcome is known, so parallel sessions get no more attempts than one session: those beyond the limit wait for the
//! outcomes of the others, and are refused only if these were wrong. Memory is bounded: beyond [`GUESSERS_MAX`] the oldest guesser is forgotten.

use crate::Error;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::time::Duration;
use world::clock::{monotonic_ns, span_ns};

/// Wrong passwords in a row before a guesser has to wait.
pub const ATTEMPTS_MAX: u32 = 3;
/// How long it waits then.
pub const LOCK_TIME: Duration = Duration::from_secs(5);
/// Guessers that are remembered.
const GUESSERS_MAX: usize = 10_000;
/// How long an attempt waits for the outcomes of others.
const OUTCOME_PATIENCE: Duration = Duration::from_secs(60);

/// Counts of wrong passwords by guesser; `K` identifies the guesser: a name, or a name and an address.
#[derive(Debug)]
pub struct PasswordGuesses<K> {
    known: Mutex<BTreeMap<K, Guesser>>,
    /// An attempt has an outcome.
    decided: Condvar,
    lock_time: Duration,
}

#[derive(Debug)]
struct Guesser {
    /// Wrong passwords in a row.
    wrong: u32,
    /// Attempts whose outcome is not known. With those that were wrong, at most [`ATTEMPTS_MAX`].
    pending: u32,
    last_ns: u64,
}

/// A password is being looked at. Dropped without an outcome, it never was.
#[derive(Debug)]
#[must_use]
pub struct PasswordAttempt<'g, K: Ord + Clone> {
    guesses: &'g PasswordGuesses<K>,
    guesser: K,
    outcome: Option<bool>,
}

impl<K: Ord + Clone> PasswordAttempt<'_, K> {
    /// The password was wrong.
    pub fn fail(mut self) {
        self.outcome = Some(false);
    }
    /// The password was right: earlier failures are forgotten.
    pub fn succeed(mut self) {
        self.outcome = Some(true);
    }
}

impl<K: Ord + Clone> Drop for PasswordAttempt<'_, K> {
    fn drop(&mut self) {
        let mut known = self.guesses.known.lock();
        // It may have been forgotten meanwhile, since too many others guessed.
        if let Some(guesser) = known.get_mut(&self.guesser) {
            guesser.pending = guesser.pending.saturating_sub(1);
            match self.outcome {
                Some(true) => guesser.wrong = 0,
                Some(false) => (guesser.wrong, guesser.last_ns) = (guesser.wrong + 1, monotonic_ns()),
                None => {}
            }
            if guesser.pending == 0 && guesser.wrong == 0 {
                known.remove(&self.guesser);
            }
        }
        drop(known);
        self.guesses.decided.notify_all();
    }
}

impl<K: Ord + Clone> Default for PasswordGuesses<K> {
    fn default() -> PasswordGuesses<K> {
        PasswordGuesses::new(LOCK_TIME)
    }
}

impl<K: Ord + Clone> PasswordGuesses<K> {
    /// Guessers wait so long.
    pub fn new(lock_time: Duration) -> PasswordGuesses<K> {
        PasswordGuesses { known: Mutex::default(), decided: Condvar::new(), lock_time }
    }
    /// Begins an attempt of this guesser, once no outcome of other attempts can refuse it any more.
    ///
    /// # Errors
    /// The guesser has to wait.
    pub fn attempt(&self, guesser: K) -> Result<PasswordAttempt<'_, K>, Error> {
        let until = world::clock::after_ns(OUTCOME_PATIENCE);
        let mut known = self.known.lock();
        loop {
            forget_oldest(&mut known, &guesser);
            let now_ns = monotonic_ns();
            let entry = known.entry(guesser.clone());
            let of_this = entry.or_insert(Guesser { wrong: 0, pending: 0, last_ns: now_ns });
            if now_ns.saturating_sub(of_this.last_ns) >= span_ns(self.lock_time) {
                of_this.wrong = 0;
            }
            if of_this.wrong + of_this.pending < ATTEMPTS_MAX {
                of_this.pending += 1;
                return Ok(PasswordAttempt { guesses: self, guesser, outcome: None });
            }
            let left = Duration::from_nanos(until.saturating_sub(now_ns));
            if of_this.wrong >= ATTEMPTS_MAX || left.is_zero() {
                return Err(self.refusal());
            }
            self.decided.wait_for(&mut known, left);
        }
    }
    fn refusal(&self) -> Error {
        let code = "Neo.ClientError.Security.AuthenticationRateLimit";
        let seconds = self.lock_time.as_secs_f32().ceil();
        Error::new(code, format!("too many wrong passwords; wait {seconds} seconds, then try again"))
    }
}

/// Makes room for one more.
fn forget_oldest<K: Ord + Clone>(known: &mut BTreeMap<K, Guesser>, but: &K) {
    if known.len() < GUESSERS_MAX || known.contains_key(but) {
        return;
    }
    let oldest = known.iter().min_by_key(|(_, guesser)| guesser.last_ns).map(|(key, _)| key.clone());
    oldest.map(|oldest| known.remove(&oldest));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail<K: Ord + Clone + std::fmt::Debug>(guesses: &PasswordGuesses<K>, guesser: K) {
        guesses.attempt(guesser).unwrap().fail();
    }

    #[test]
    fn who_guesses_waits_and_who_is_right_begins_anew() {
        // Longer than the slowest machine takes.
        let guesses = PasswordGuesses::new(Duration::from_secs(600));
        (0..ATTEMPTS_MAX).for_each(|_| fail(&guesses, "ada"));
        let refused = guesses.attempt("ada").unwrap_err();
        assert_eq!(refused.code, "Neo.ClientError.Security.AuthenticationRateLimit");
        assert!(guesses.attempt("bob").is_ok(), "others do not wait");
        guesses.known.lock().remove("ada");
        fail(&guesses, "ada");
        guesses.attempt("ada").unwrap().succeed();
        drop(guesses.attempt("bob").unwrap());
        assert!(guesses.known.lock().is_empty());
        let guesses = PasswordGuesses::new(Duration::ZERO);
        (0..ATTEMPTS_MAX + 2).for_each(|_| fail(&guesses, "ada"));
    }

    /// A password was looked at before the attempt was counted, so N sessions at once had N attempts.
    #[test]
    fn many_at_once_have_no_more_attempts_than_one_after_the_other() {
        for is_right in [false, true] {
            let guesses = PasswordGuesses::new(Duration::from_secs(600));
            let tried = std::sync::atomic::AtomicU32::new(0);
            world::threads::in_parallel("guess", 12, |_| {
                let Ok(attempt) = guesses.attempt("ada") else { return };
                tried.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                world::threads::sleep(Duration::from_millis(2));
                if is_right { attempt.succeed() } else { attempt.fail() }
            });
            assert_eq!(tried.into_inner(), if is_right { 12 } else { ATTEMPTS_MAX });
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let guesses = PasswordGuesses::default();
        (0..GUESSERS_MAX + 1).for_each(|guesser| fail(&guesses, guesser));
        let known = guesses.known.lock();
        assert_eq!((known.len(), known.contains_key(&GUESSERS_MAX)), (GUESSERS_MAX, true));
    }
}
