//! The gate: demands a name and a password, and slows down guessing.
//!
//! Wrong passwords are counted for each pair of a name and an address: see [`PasswordGuesses`].

use super::jwt::JwtVerifier;
use database::{Credential, Error, LOCK_TIME, PasswordGuesses, USER_NAME_BYTES_MAX, Users, UsersError};
use model::{Map, Value};
use parking_lot::Mutex;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of a name that are remembered.
const NAME_KEPT_BYTES_MAX: usize = USER_NAME_BYTES_MAX;

/// The credential of a valid token.
type TokenLookup = dyn Fn(&str) -> Option<Credential> + Send + Sync;

/// Authenticates clients.
pub struct Gate {
    users: Option<Users>,
    /// Everyone may come in while there are no users.
    opens_without_users: bool,
    guesses: PasswordGuesses<(String, IpAddr)>,
    /// Finds the credentials of tokens that the HTTP interface issued.
    tokens: Mutex<Option<Arc<TokenLookup>>>,
    /// Tokens of an identity provider.
    jwt: Option<JwtVerifier>,
    /// Log-ons that were admitted and refused.
    admitted: AtomicU64,
    refused: AtomicU64,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("users", &self.users).field("jwt", &self.jwt).finish_non_exhaustive()
    }
}

impl Gate {
    /// Everyone may come in.
    pub fn open() -> Arc<Gate> {
        Gate::new(None, false, LOCK_TIME, None)
    }
    /// Users with passwords may come in once there are any; until then everyone.
    pub fn of_any(users: Users) -> Arc<Gate> {
        Gate::new(Some(users), true, LOCK_TIME, None)
    }
    /// Users with passwords may come in.
    pub fn of(users: Users) -> Arc<Gate> {
        Gate::with_lock_time(users, LOCK_TIME)
    }
    /// The same with another time to wait.
    pub fn with_lock_time(users: Users, lock_time: Duration) -> Arc<Gate> {
        Gate::new(Some(users), false, lock_time, None)
    }
    /// Users may come in with passwords, and with tokens of an identity provider.
    pub fn with_jwt(users: Users, jwt: JwtVerifier) -> Arc<Gate> {
        Gate::new(Some(users), false, LOCK_TIME, Some(jwt))
    }
    fn new(
        users: Option<Users>,
        opens_without_users: bool,
        lock_time: Duration,
        jwt: Option<JwtVerifier>,
    ) -> Arc<Gate> {
        let (admitted, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        let (guesses, tokens) = (PasswordGuesses::new(lock_time), Mutex::default());
        Arc::new(Gate { users, opens_without_users, guesses, tokens, jwt, admitted, refused })
    }
    /// From now on tokens that this finds are good at all interfaces.
    pub(crate) fn take_tokens(&self, find: impl Fn(&str) -> Option<Credential> + Send + Sync + 'static) {
        *self.tokens.lock() = Some(Arc::new(find));
    }
    /// Reads the keys of the identity provider anew, where there is one.
    ///
    /// # Errors
    /// They are wrong; the old ones stay.
    pub fn reload(&self) -> Result<(), String> {
        self.jwt.as_ref().map_or(Ok(()), JwtVerifier::reload)
    }
    /// Log-ons that were admitted, and those that were refused.
    pub fn log_ons(&self) -> (u64, u64) {
        (self.admitted.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed))
    }
    /// As [`Gate::asks`], by the latest catalogue, wherever it lies; where that cannot be read, it demands them.
    pub fn asks_now(&self) -> bool {
        match &self.users {
            Some(users) if self.opens_without_users => users.has_any().unwrap_or(true),
            _ => self.asks(),
        }
    }
    /// Does it demand passwords?
    pub fn asks(&self) -> bool {
        self.users.as_ref().is_some_and(|users| !self.opens_without_users || !users.is_empty())
    }

    /// Authenticates a token: `scheme`, `principal`, `credentials`; with `bearer`, the last alone. Returns the credential, where the gate demands
    /// one; a session with it ends when the user is dropped.
    ///
    /// # Errors
    /// Neo4j's codes: `Unauthorized`, `AuthenticationRateLimit`, or the users cannot be read.
    pub fn admit(&self, token: &Map, from: IpAddr) -> Result<Option<Credential>, Error> {
        let Some(users) = &self.users else { return Ok(None) };
        if self.opens_without_users && !users.has_any().map_err(unreadable)? {
            return Ok(None);
        }
        let outcome = self.look(users, token, from);
        let counter = if outcome.is_ok() { &self.admitted } else { &self.refused };
        counter.fetch_add(1, Ordering::Relaxed);
        outcome.map(Some)
    }

    fn look(&self, users: &Users, token: &Map, from: IpAddr) -> Result<Credential, Error> {
        let text = |key: &str| token.get(key).and_then(Value::as_str);
        let (scheme, name, password) = (text("scheme"), text("principal"), text("credentials"));
        if let (Some("bearer"), Some(token)) = (scheme, password) {
            return self.admit_bearer(users, token, from);
        }
        let (Some("basic"), Some(name), Some(password)) = (scheme, name, password) else {
            let message = match scheme {
                Some("basic") => "name and password are needed".to_string(),
                Some("none") | None => "this server asks for a name and a password".to_string(),
                Some(other) => {
                    format!("the authentication scheme `{other}` is not served; use `basic` or `bearer`")
                }
            };
            return Err(unauthorized(message));
        };
        let kept = name[..name.floor_char_boundary(NAME_KEPT_BYTES_MAX)].to_string();
        let attempt = self.guesses.attempt((kept.clone(), from)).inspect_err(|_| {
            tracing::warn!(target: "tanglewood::audit", user = kept, %from, "log-on refused: too many wrong passwords");
        })?;
        let known = users.log_on(name, password).map_err(unreadable)?;
        if let Some(known) = known {
            tracing::info!(target: "tanglewood::audit", user = kept, %from, "log-on");
            attempt.succeed();
            return Ok(known);
        }
        tracing::warn!(target: "tanglewood::audit", user = kept, %from, "log-on failed");
        attempt.fail();
        Err(unauthorized("the name or the password is wrong".into()))
    }

    /// Tokens of the HTTP interface, and of the identity provider. They are too long to be guessed, so attempts are not slowed down.
    fn admit_bearer(&self, users: &Users, token: &str, from: IpAddr) -> Result<Credential, Error> {
        let find = self.tokens.lock().clone();
        if let Some(known) = find.and_then(|find| find(token)) {
            return Ok(known);
        }
        let refused = |why: &str| {
            tracing::warn!(target: "tanglewood::audit", why, %from, "log-on failed");
            unauthorized(why.to_string())
        };
        let Some(jwt) = self.jwt.as_ref().filter(|_| token.contains('.')) else {
            return Err(refused("the token is not good, or not any more"));
        };
        let now_ms = world::clock::wall_us() / 1_000;
        let bearer = jwt.look(token, now_ms).map_err(refused)?;
        let known = users
            .vouched(&bearer.user)
            .ok_or_else(|| refused("the token names nobody who may log on here"))?;
        tracing::info!(target: "tanglewood::audit", user = known.name(), %from, "log-on by a token");
        Ok(known.for_time(Duration::from_millis(bearer.until_ms.saturating_sub(now_ms))))
    }
}

fn unreadable(error: UsersError) -> Error {
    let message = format!("the user cannot be read: {error}");
    Error::new("Neo.DatabaseError.General.UnknownError", message)
}

fn unauthorized(message: String) -> Error {
    Error::new("Neo.ClientError.Security.Unauthorized", message)
}
