//! What stands in place of passwords where the feature `passwords` is off: users of the catalogue stay as they are, and nobody logs on.

use super::UsersError;

/// Whoever has the feature looks at the hash.
pub(super) fn check(_: &str) -> Result<(), String> {
    Ok(())
}

/// No password can be kept.
pub(super) fn hash(_: &str, _: &str, _: usize) -> Result<String, UsersError> {
    Err(UsersError::LeftOut)
}

/// No password can be compared.
pub(super) fn verify(_: &str, _: Option<&str>) -> Result<bool, String> {
    Err(UsersError::LeftOut.to_string())
}
