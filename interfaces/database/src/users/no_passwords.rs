//! Stands in for passwords where the feature `passwords` is off: users of the catalogue stay as they are, and nobody can log on.

use super::UsersError;

/// The hash is checked only by builds with the feature.
pub(super) fn check(_: &str) -> Result<(), String> {
    Ok(())
}

/// Passwords cannot be hashed.
pub(super) fn hash(_: &str, _: &str, _: usize) -> Result<String, UsersError> {
    Err(UsersError::LeftOut)
}

/// No password can be compared.
pub(super) fn verify(_: &str, _: Option<&str>) -> Result<bool, String> {
    Err(UsersError::LeftOut.to_string())
}
