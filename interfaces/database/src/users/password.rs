//! Passwords as salted Argon2id hashes.

use super::error::{PASSWORD_BYTES_MAX, UsersError};
use crate::options::PASSWORD_CHARS_MIN;
use argon2::Argon2;
use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use parking_lot::Mutex;

/// Computing a hash takes 19 MiB and tens of milliseconds: one after the other.
static HASHING: Mutex<()> = Mutex::new(());

/// A hash to compare with when there is no such user; its password is unknown to everybody.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5$\
                      AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// Bounds of a hash's parameters: a damaged one must not cost gigabytes.
const MEMORY_KIB_MAX: u32 = 1 << 17;
/// Passes over that memory.
const PASSES_MAX: u32 = 16;

/// Is this a hash that can be compared with?
pub(super) fn check(hash: &str) -> Result<(), String> {
    parse(hash).map(|_| ())
}

fn parse(hash: &str) -> Result<(PasswordHash<'_>, argon2::Params), String> {
    let parsed = PasswordHash::new(hash).map_err(|error| format!("its hash is damaged: {error}"))?;
    if parsed.algorithm.as_str() != "argon2id" || parsed.hash.is_none() || parsed.salt.is_none() {
        return Err("its hash is not a whole one of Argon2id".into());
    }
    let params =
        argon2::Params::try_from(&parsed).map_err(|error| format!("its hash is damaged: {error}"))?;
    if params.m_cost() > MEMORY_KIB_MAX || params.t_cost() > PASSES_MAX {
        return Err("its hash asks for more memory or passes than it may".into());
    }
    Ok((parsed, params))
}

/// The hash of a new password of this user. It must have `chars_min` characters beside the user's name, and never fewer than eight.
pub(super) fn hash(password: &str, user: &str, chars_min: usize) -> Result<String, UsersError> {
    let chars_min = chars_min.max(PASSWORD_CHARS_MIN);
    if password.len() > PASSWORD_BYTES_MAX || own_chars(password, user) < chars_min {
        return Err(UsersError::Password { chars_min });
    }
    // Not `world::chance`, which can be replayed: a salt must come from the operating system.
    let salt = SaltString::generate(&mut OsRng);
    let _one = HASHING.lock();
    let hashed = Argon2::default().hash_password(password.as_bytes(), &salt);
    Ok(hashed.expect("the parameters are the crate's own").to_string())
}

/// Characters of a password without the user's name, in any case.
fn own_chars(password: &str, user: &str) -> usize {
    let (password, user) = (password.to_lowercase(), user.to_lowercase());
    if user.is_empty() { password.chars().count() } else { password.replace(&user, "").chars().count() }
}

/// Is it the password of this hash? Takes as long where there is none.
pub(super) fn verify(password: &str, hash: Option<&str>) -> Result<bool, String> {
    let (parsed, _) = parse(hash.unwrap_or(NOBODY))?;
    let _one = HASHING.lock();
    Ok(Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok() && hash.is_some())
}
