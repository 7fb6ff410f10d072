//! The gate: asks for a name and a password, and slows down who guesses.
//!
//! After [`ATTEMPTS_MAX`] wrong passwords for a name from an address, that pair is refused for [`LOCK_TIME`] without looking at the
//! password. What is remembered of failures is bounded: beyond [`FAILURES_KEPT_MAX`] the oldest is forgotten.

use database::{Credential, Error, USER_NAME_BYTES_MAX, Users, UsersError};
use model::{Map, Value};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use world::clock::{monotonic_ns, span_ns};

/// Wrong passwords in a row before a pair of name and address has to wait.
pub const ATTEMPTS_MAX: u32 = 3;
/// How long it waits then.
pub const LOCK_TIME: Duration = Duration::from_secs(5);
/// Pairs of name and address whose failures are remembered.
const FAILURES_KEPT_MAX: usize = 10_000;
/// Bytes of a name that are remembered.
const NAME_KEPT_BYTES_MAX: usize = USER_NAME_BYTES_MAX;

/// Who may come in.
#[derive(Debug)]
pub struct Gate {
    users: Option<Users>,
    /// Everyone may come in while there are no users.
    opens_without_users: bool,
    failures: Mutex<BTreeMap<(String, IpAddr), Failures>>,
    lock_time: Duration,
}

#[derive(Debug)]
struct Failures {
    count: u32,
    last_ns: u64,
}

impl Gate {
    /// Everyone may come in.
    pub fn open() -> Arc<Gate> {
        Gate::made(None, false, LOCK_TIME)
    }
    /// Users with passwords may come in once there are any; until then everyone.
    pub fn of_any(users: Users) -> Arc<Gate> {
        Gate::made(Some(users), true, LOCK_TIME)
    }
    /// Users with passwords may come in.
    pub fn of(users: Users) -> Arc<Gate> {
        Gate::with_lock_time(users, LOCK_TIME)
    }
    /// The same with another time to wait.
    pub fn with_lock_time(users: Users, lock_time: Duration) -> Arc<Gate> {
        Gate::made(Some(users), false, lock_time)
    }
    fn made(users: Option<Users>, opens_without_users: bool, lock_time: Duration) -> Arc<Gate> {
        Arc::new(Gate { users, opens_without_users, failures: Mutex::default(), lock_time })
    }
    /// As [`Gate::asks`], by what the graph says now, wherever it lies; where that cannot be known, it asks.
    pub fn asks_now(&self) -> bool {
        match &self.users {
            Some(users) if self.opens_without_users => users.has_any().unwrap_or(true),
            _ => self.asks(),
        }
    }
    /// Does it ask for passwords?
    pub fn asks(&self) -> bool {
        self.users.as_ref().is_some_and(|users| !self.opens_without_users || !users.is_empty())
    }

    /// Lets someone in by an authentication token: `scheme`, `principal`, `credentials`. Returns who it is, where the gate
    /// asks; a session with it ends when the user is dropped.
    ///
    /// # Errors
    /// Neo4j's codes: `Unauthorized`, `AuthenticationRateLimit`, or the users cannot be read.
    pub fn admit(&self, token: &Map, from: IpAddr) -> Result<Option<Credential>, Error> {
        let Some(users) = &self.users else { return Ok(None) };
        let unreadable = |error: UsersError| {
            let message = format!("the user cannot be read: {error}");
            Error::new("Neo.DatabaseError.General.UnknownError", message)
        };
        if self.opens_without_users && !users.has_any().map_err(unreadable)? {
            return Ok(None);
        }
        let text = |key: &str| token.get(key).and_then(Value::as_str);
        let (scheme, name, password) = (text("scheme"), text("principal"), text("credentials"));
        let (Some("basic"), Some(name), Some(password)) = (scheme, name, password) else {
            let message = match scheme {
                Some("basic") => "name and password are needed".to_string(),
                Some("none") | None => "this server asks for a name and a password".to_string(),
                Some(other) => format!("the authentication scheme `{other}` is not served; use `basic`"),
            };
            return Err(unauthorized(message));
        };
        let kept = name[..name.floor_char_boundary(NAME_KEPT_BYTES_MAX)].to_string();
        let pair = (kept, from);
        self.check_patience(&pair)?;
        let known = users.log_on(name, password).map_err(unreadable)?;
        if known.is_some() {
            self.failures.lock().remove(&pair);
            return Ok(known);
        }
        self.note_failure(pair);
        Err(unauthorized("the name or the password is wrong".into()))
    }

    fn check_patience(&self, pair: &(String, IpAddr)) -> Result<(), Error> {
        let mut failures = self.failures.lock();
        let Some(known) = failures.get(pair) else { return Ok(()) };
        if monotonic_ns() - known.last_ns >= span_ns(self.lock_time) {
            failures.remove(pair);
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
    fn note_failure(&self, pair: (String, IpAddr)) {
        let mut failures = self.failures.lock();
        if failures.len() >= FAILURES_KEPT_MAX && !failures.contains_key(&pair) {
            let oldest = failures.iter().min_by_key(|(_, known)| known.last_ns).map(|(pair, _)| pair.clone());
            oldest.map(|oldest| failures.remove(&oldest));
        }
        let known = failures.entry(pair).or_insert(Failures { count: 0, last_ns: 0 });
        known.count += 1;
        known.last_ns = monotonic_ns();
    }
}

fn unauthorized(message: String) -> Error {
    Error::new("Neo.ClientError.Security.Unauthorized", message)
}
