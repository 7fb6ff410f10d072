//! Users and their passwords, as entries of the graph's catalogue.
//!
//! Idea: an entry holds a salted Argon2id hash and whether the user is suspended. A change of an entry is a commit: once it is acknowledged it is
//! durable, backups and history contain it, and changes from many sessions come one after the other. A log-on gives a [`Credential`] with the entry
//! that it was checked against; it is valid as long as the catalogue still holds this entry, so a session notices before its next statement that its
//! user was dropped, suspended or given another password.
//! Invariants: no hash is computed while the engine is locked; one hash is computed at a time, so guessing costs one core at most. An entry
//! that cannot be read lets nobody in, and counts as a user.
//! Cost: a look-up in a B-tree for each statement; tens of milliseconds and 19 MiB for a log-on.

mod commands;
pub(crate) mod entry;
mod error;
#[cfg(feature = "passwords")]
mod password;
#[cfg(not(feature = "passwords"))]
#[path = "users/no_passwords.rs"]
mod password;

pub(crate) use commands::{carry_out, listed};
pub use error::{PASSWORD_BYTES_MAX, USER_NAME_BYTES_MAX, USERS_MAX, UsersError};

use crate::entries as catalogue_entries;
use crate::{Database, Error, SetAside};
use entry::User;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::EntryKind;
use store::EntryTable;

/// A user who has logged on, as of then. Cheap to clone; keeps the database open.
#[derive(Clone, Debug)]
pub struct Credential {
    users: Users,
    name: Arc<str>,
    entry: Arc<[u8]>,
    /// End of its validity, by the monotonic clock, in nanoseconds.
    until_ns: Option<u64>,
    /// The tokens that it came by, where they can be taken back.
    tokens: Arc<[TokenLife]>,
}

/// Whether a token is still valid, checked before each statement of its sessions. Clones are about the same token.
#[derive(Clone, Debug, Default)]
pub struct TokenLife(Arc<AtomicBool>);

impl TokenLife {
    /// Revokes the token: its sessions serve no more requests.
    pub fn end(&self) {
        self.0.store(true, Ordering::Release);
    }
    fn has_ended(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Credential {
    /// The same, good for so long at most.
    #[must_use]
    pub fn for_time(self, time: std::time::Duration) -> Credential {
        let until_ns = self.until_ns.into_iter().chain([world::clock::after_ns(time)]).min();
        Credential { until_ns, ..self }
    }
    /// The same, good as long as this token is.
    #[must_use]
    pub fn by_token(self, token: TokenLife) -> Credential {
        let tokens = self.tokens.iter().cloned().chain([token]).collect();
        Credential { tokens, ..self }
    }
    fn has_expired(&self) -> bool {
        self.until_ns.is_some_and(|until_ns| world::clock::monotonic_ns() >= until_ns)
            || self.tokens.iter().any(TokenLife::has_ended)
    }
    /// The user's name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Is the user still the one who logged on: not dropped, not suspended, and with the same password?
    pub fn is_current(&self) -> bool {
        if self.has_expired() {
            return false;
        }
        let snapshot = self.users.database.snapshot();
        let entry = snapshot.catalog().entries().get(EntryKind::USER, &self.name);
        entry.is_some_and(|entry| Arc::ptr_eq(entry, &self.entry) || *entry == self.entry)
    }
    /// Is it good, or will be once the user may log on again: not expired, and the user is there with the same password?
    pub fn may_return(&self) -> bool {
        if self.has_expired() {
            return false;
        }
        let snapshot = self.users.database.snapshot();
        let now = snapshot.catalog().entries().get(EntryKind::USER, &self.name).map(|now| User::decode(now));
        match (now, User::decode(&self.entry)) {
            (Some(Ok(now)), Ok(then)) => now.hash == then.hash,
            _ => false,
        }
    }
    /// The time until it expires, where it does.
    pub fn time_left(&self) -> Option<std::time::Duration> {
        let left_ns = |until_ns: u64| until_ns.saturating_sub(world::clock::monotonic_ns());
        self.until_ns.map(|until_ns| std::time::Duration::from_nanos(left_ns(until_ns)))
    }
    /// As [`Credential::is_current`], as an error that drivers know.
    ///
    /// # Errors
    /// The user has to log on again, if it may.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_current() {
            return Ok(());
        }
        if self.has_expired() {
            let error = Error::new(
                "Neo.ClientError.Security.TokenExpired",
                "the token has expired or was given back",
            );
            return Err(error.hint("log on again with a new one"));
        }
        let message = format!("user `{}` was changed or dropped since it logged on", self.name);
        Err(Error::new("Neo.ClientError.Security.AuthorizationExpired", message).hint("log on again"))
    }
}

/// A user as SHOW USERS lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserInfo {
    /// Its name.
    pub name: String,
    /// It may not log on for now.
    pub suspended: bool,
    /// Why its entry cannot be read, so that this user cannot log on.
    pub problem: Option<String>,
}

/// The users of a database. Cheap to clone; keeps the database open.
#[derive(Clone)]
pub struct Users {
    database: Database,
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").field("count", &self.table().len()).finish()
    }
}

impl Database {
    /// The users that the graph's catalogue holds.
    pub fn users(&self) -> Users {
        Users { database: self.clone() }
    }
}

impl Users {
    /// The names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.table().keys().map(|name| name.to_string()).collect()
    }
    /// Is there no user, not even one whose entry cannot be read?
    pub fn is_empty(&self) -> bool {
        self.table().is_empty()
    }
    /// Is there a user, wherever the graph lies?
    ///
    /// # Errors
    /// The shards of a cluster do not answer.
    pub fn has_any(&self) -> Result<bool, UsersError> {
        self.database.hear_catalogue().map_err(UsersError::Database)?;
        Ok(!self.is_empty())
    }
    /// All users, by name.
    pub fn list(&self) -> Vec<UserInfo> {
        let info = |(name, entry): (&Arc<str>, &Arc<[u8]>)| {
            let user = User::decode(entry);
            UserInfo {
                name: name.to_string(),
                suspended: user.as_ref().is_ok_and(|user| user.suspended),
                problem: user.err(),
            }
        };
        self.table().iter().map(info).collect()
    }
    /// Users whose entries cannot be read.
    pub(crate) fn set_aside(&self) -> Vec<SetAside> {
        let aside = |user: UserInfo| Some(SetAside::new(EntryKind::USER, &user.name, &user.problem?));
        self.list().into_iter().filter_map(aside).collect()
    }
    /// Adds a user.
    ///
    /// # Errors
    /// Name or password do not serve, the user exists, or the commit fails.
    pub fn add(&self, name: &str, password: &str) -> Result<(), UsersError> {
        self.create(name, password, false)
    }
    /// As [`Users::add`], also for a user who is suspended from the beginning.
    ///
    /// # Errors
    /// As there.
    pub fn create(&self, name: &str, password: &str, suspended: bool) -> Result<(), UsersError> {
        self.create_with(name, password, suspended, None)
    }
    /// As [`Users::create`], with an entry of its roles.
    pub(crate) fn create_with(
        &self,
        name: &str,
        password: &str,
        suspended: bool,
        roles: Option<&[u8]>,
    ) -> Result<(), UsersError> {
        let is_named = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte);
        if name.is_empty() || name.len() > USER_NAME_BYTES_MAX || !name.bytes().all(is_named) {
            return Err(UsersError::Name);
        }
        // A hash is computed only where it may be of use.
        check_free(&self.table(), name)?;
        let entry = User { hash: self.hash(name, password)?, suspended }.encode();
        let make = |table: &EntryTable| {
            check_free(table, name)?;
            Ok(Some(entry.clone()))
        };
        self.change_with(name, make, roles)
    }
    /// Gives a user another password.
    ///
    /// # Errors
    /// There is no such user, the password is not acceptable, or the commit fails.
    pub fn set_password(&self, name: &str, password: &str) -> Result<(), UsersError> {
        self.alter(name, Some(password), None)
    }
    /// Changes what is given: the password of a user, or whether it is suspended.
    ///
    /// # Errors
    /// As [`Users::set_password`]; an entry that cannot be read is mended only by a new password.
    pub fn alter(
        &self,
        name: &str,
        password: Option<&str>,
        suspended: Option<bool>,
    ) -> Result<(), UsersError> {
        find(&self.table(), name)?;
        let hash = password.map(|password| self.hash(name, password)).transpose()?;
        self.change(name, |table| {
            let user = User::decode(find(table, name)?);
            let user = match (hash.clone(), user) {
                (Some(hash), Ok(user)) => User { hash, ..user },
                (Some(hash), Err(_)) => User { hash, suspended: false },
                (None, Ok(user)) => user,
                (None, Err(why)) => return Err(damaged(name, &why)),
            };
            Ok(Some(User { suspended: suspended.unwrap_or(user.suspended), ..user }.encode()))
        })
    }
    fn hash(&self, name: &str, password: &str) -> Result<String, UsersError> {
        password::hash(password, name, self.database.options().password_chars_min)
    }
    /// Removes a user.
    ///
    /// # Errors
    /// There is no such user, or the commit fails.
    pub fn remove(&self, name: &str) -> Result<(), UsersError> {
        self.change(name, |table| find(table, name).map(|_| None))
    }
    /// Logs a user on by its password: none if name or password are wrong, or the user is suspended. Takes as long for a user who does not exist.
    ///
    /// # Errors
    /// The user's entry cannot be read.
    pub fn log_on(&self, name: &str, password: &str) -> Result<Option<Credential>, UsersError> {
        self.database.hear_catalogue().map_err(UsersError::Database)?;
        let table = self.table();
        let found = table.get_key_value(name);
        if password.len() > PASSWORD_BYTES_MAX {
            return Ok(None);
        }
        let user = found.map(|(_, entry)| User::decode(entry)).transpose();
        let user = user.map_err(|why| damaged(name, &why))?;
        let is_right = password::verify(password, user.as_ref().map(|user| user.hash.as_str()))
            .map_err(|why| damaged(name, &why))?;
        let may = is_right && user.is_some_and(|user| !user.suspended);
        let found = found.filter(|_| may);
        Ok(found.map(|(name, entry)| Credential {
            users: self.clone(),
            name: name.clone(),
            entry: entry.clone(),
            until_ns: None,
            tokens: Arc::default(),
        }))
    }
    /// The credential of a user that an interface trusts without a password: none if there is no such user, or it is suspended.
    pub fn vouched(&self, name: &str) -> Option<Credential> {
        self.database.hear_catalogue().ok()?;
        let table = self.table();
        let (name, entry) = table.get_key_value(name)?;
        let may = User::decode(entry).is_ok_and(|user| !user.suspended);
        may.then(|| Credential {
            users: self.clone(),
            name: name.clone(),
            entry: entry.clone(),
            until_ns: None,
            tokens: Arc::default(),
        })
    }
    fn table(&self) -> Arc<EntryTable> {
        let snapshot = self.database.snapshot();
        snapshot.catalog().entries().table(EntryKind::USER).cloned().unwrap_or_default()
    }
    /// Sets or removes an entry, computed from the table while no other change can come between.
    fn change(
        &self,
        name: &str,
        make: impl FnMut(&EntryTable) -> Result<Option<Vec<u8>>, UsersError>,
    ) -> Result<(), UsersError> {
        self.change_with(name, make, None)
    }
    /// As [`Users::change`], and the user's roles with it.
    fn change_with(
        &self,
        name: &str,
        mut make: impl FnMut(&EntryTable) -> Result<Option<Vec<u8>>, UsersError>,
        roles: Option<&[u8]>,
    ) -> Result<(), UsersError> {
        let mut refused = None;
        let outcome = self.database.change_entries(|entries| {
            refused = None;
            let none = EntryTable::default();
            match make(entries.table(EntryKind::USER).map_or(&none, |table| table)) {
                Ok(entry) => {
                    let mut changes = vec![catalogue_entries::set(EntryKind::USER, name, entry.as_deref())];
                    if roles.is_some() {
                        changes.push(catalogue_entries::set(EntryKind::USER_ROLES, name, roles));
                    }
                    // Whoever comes later by the same name has no roles of this one.
                    if entry.is_none() && entries.get(EntryKind::USER_ROLES, name).is_some() {
                        changes.push(catalogue_entries::set(EntryKind::USER_ROLES, name, None));
                    }
                    Ok(changes)
                }
                Err(error) => {
                    refused = Some(error);
                    Ok(Vec::new())
                }
            }
        });
        match refused {
            Some(error) => Err(error),
            None => outcome.map_err(UsersError::Database),
        }
    }
}

fn check_free(table: &EntryTable, name: &str) -> Result<(), UsersError> {
    match () {
        () if table.contains_key(name) => Err(UsersError::Exists(name.into())),
        () if table.len() >= USERS_MAX => Err(UsersError::Full),
        () => Ok(()),
    }
}

fn find<'a>(table: &'a EntryTable, name: &str) -> Result<&'a Arc<[u8]>, UsersError> {
    table.get(name).ok_or_else(|| UsersError::Unknown(name.into()))
}

fn damaged(name: &str, why: &str) -> UsersError {
    UsersError::Damaged(format!("the entry of user `{name}` cannot be read: {why}"))
}
