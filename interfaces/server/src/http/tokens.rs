//! Bearer tokens: issued for a name and a password, valid for a while, stored in memory only.
//!
//! A token is 256 random bits of the system. Only its hash is stored, so a dump contains no tokens; a token is valid only as long as its user's
//! credential: see [`database::Credential`].

use super::refusal::Refusal;
use database::{Credential, Error, TokenLife};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeMap;
use std::time::Duration;

/// Bytes of chance in a token.
const TOKEN_BYTES: usize = 32;
/// The prefix of tokens, so that scanners of source code find leaked ones.
const PREFIX: &str = "tanglewood_";

/// The hash of a secret.
pub(super) type Digest = [u8; 32];

pub(super) fn digest_of(secret: &[u8]) -> Digest {
    let hash = digest(&SHA256, secret);
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(hash.as_ref()).for_each(|(byte, hashed)| *byte = *hashed);
    bytes
}

/// Bytes of the system's chance in hexadecimal digits.
///
/// # Errors
/// The system gives none.
pub(super) fn secret(bytes: usize) -> Result<String, Refusal> {
    let mut secret = vec![0; bytes];
    let filled = SystemRandom::new().fill(&mut secret);
    filled.map_err(|_| Error::new("Neo.DatabaseError.General.UnknownError", "the system gives no chance"))?;
    Ok(data_encoding::HEXLOWER.encode(&secret))
}

/// All tokens that are good.
#[derive(Debug)]
pub(super) struct Tokens {
    known: Mutex<BTreeMap<Digest, IssuedToken>>,
    lifetime: Duration,
    max: usize,
    per_user_max: usize,
}

#[derive(Debug)]
struct IssuedToken {
    /// Valid as long as the token: sessions that log on with it, at any interface, end with it.
    credential: Credential,
    life: TokenLife,
}

impl Tokens {
    pub fn new(lifetime: Duration, max: usize, per_user_max: usize) -> Tokens {
        Tokens { known: Mutex::default(), lifetime, max, per_user_max }
    }
    /// Issues a token for a user; returns it with its lifetime. One that is issued for another token ends with that one, so a stolen token cannot be
    /// renewed.
    ///
    /// # Errors
    /// The user has too many, or all together have.
    pub fn give(&self, credential: Credential) -> Result<(String, Duration), Refusal> {
        let token = format!("{PREFIX}{}", secret(TOKEN_BYTES)?);
        let mut known = self.known.lock();
        // Those of users who are suspended are good again once these may log on.
        known.retain(|_, token| token.credential.may_return());
        let of_user = known.values().filter(|token| token.credential.name() == credential.name()).count();
        if known.len() >= self.max || of_user >= self.per_user_max {
            return Err(Refusal::busy(
                "there are too many tokens; give some back, or wait until they expire",
            ));
        }
        let left = credential.time_left().map_or(self.lifetime, |left| left.min(self.lifetime));
        let life = TokenLife::default();
        let credential = credential.for_time(self.lifetime).by_token(life.clone());
        known.insert(digest_of(token.as_bytes()), IssuedToken { credential, life });
        Ok((token, left))
    }
    /// The credential of a valid token.
    pub fn find(&self, token: &str) -> Option<Credential> {
        let known = self.known.lock();
        let token = known.get(&digest_of(token.as_bytes()))?;
        token.credential.is_current().then(|| token.credential.clone())
    }
    /// The token is good no more; false if it was not.
    pub fn take_back(&self, token: &str) -> bool {
        let token = self.known.lock().remove(&digest_of(token.as_bytes()));
        token.inspect(|token| token.life.end()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_lasts_as_long_as_it_says_and_no_longer_than_what_it_was_given_for() {
        let database = database::Database::open(database::MEMORY, database::Options::default()).unwrap();
        database.users().add("ada", "correct horse").unwrap();
        let ada = database.users().vouched("ada").unwrap();
        let tokens = Tokens::new(Duration::from_secs(600), 3, 2);
        let (first, left) = tokens.give(ada.clone()).unwrap();
        assert_eq!(left, Duration::from_secs(600));
        let (_, left) = tokens.give(ada.clone().for_time(Duration::from_secs(60))).unwrap();
        assert!(left <= Duration::from_secs(60));
        // Two are all that one user may have, also while it is suspended; those of another password make room.
        database.users().alter("ada", None, Some(true)).unwrap();
        assert!(tokens.find(&first).is_none() && tokens.give(ada.clone()).is_err());
        database.users().alter("ada", None, Some(false)).unwrap();
        assert!(tokens.find(&first).is_some());
        database.users().set_password("ada", "battery staple").unwrap();
        assert!(tokens.find(&first).is_none() && tokens.give(ada).is_ok());
    }
}
