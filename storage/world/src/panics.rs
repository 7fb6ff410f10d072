//! Catches panics of requested work: a panic is a bug of ours, and must not end other work.
//!
//! A caught panic ends that work alone, with an error that says so. The panic itself has been reported on standard error by then. The catching code
//! is responsible for half-done work: it drops it, or goes back to the state before.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic that was caught, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// The panic's message.
    pub message: String,
}

impl Panicked {
    /// The message of a panic.
    pub fn of(panic: &(dyn Any + Send)) -> Panicked {
        let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Panicked { message: text.unwrap_or_else(|| "a panic without a message".into()) }
    }
}

impl std::fmt::Display for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "internal error: {}", self.message)
    }
}

impl std::error::Error for Panicked {}

/// The result of `work`, or the panic that ended it.
///
/// # Errors
/// It panicked.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Panicked::of(&*panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_words_and_anything_else_passes() {
        assert_eq!(caught(|| 7), Ok(7));
        let number = 7;
        let said = caught(|| panic!("seven is {number}")).map_err(|panicked: Panicked| panicked.to_string());
        assert_eq!(said, Err::<(), _>("internal error: seven is 7".into()));
    }
}
