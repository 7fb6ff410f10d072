//! Who may come in: users with passwords, kept beside the database, and the gate that asks for them.
//!
//! A password is kept as a salted Argon2id hash. The file is small and read at each log-on, so users that are added or removed while the
//! server runs count from the next log-on. One hash is computed at a time: guessing costs one core at most, and memory for one.

mod directory;
mod gate;

pub use gate::{ATTEMPTS_MAX, Gate, LOCK_TIME};

use argon2::Argon2;
use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use std::fmt;
use std::path::{Path, PathBuf};
use world::disk::{Disk, RealDisk};

/// Name of the file in the database's folder.
pub const FILE: &str = "users.json";
/// Users of one database.
pub const USERS_MAX: usize = 10_000;
/// Bytes of a user's name.
pub const NAME_BYTES_MAX: usize = 128;
/// Bytes of a password; a longer one would cost time for nothing.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// Characters of a password at least.
pub const PASSWORD_CHARS_MIN: usize = 8;

/// Computing a hash takes 19 MiB and tens of milliseconds: one after the other.
static HASHING: Mutex<()> = Mutex::new(());

/// Why users could not be read or changed.
#[derive(Debug, PartialEq, Eq)]
pub enum UsersError {
    /// The file cannot be read or written.
    Io(String),
    /// The file is not one of users.
    Damaged(String),
    /// There is such a user already.
    Exists(String),
    /// There is none.
    Unknown(String),
    /// The name does not serve as one.
    Name,
    /// The password does not serve as one.
    Password,
    /// There are as many as there may be.
    Full,
}

impl fmt::Display for UsersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UsersError::Io(what) | UsersError::Damaged(what) => f.write_str(what),
            UsersError::Exists(name) => write!(f, "there is a user `{name}` already"),
            UsersError::Unknown(name) => write!(f, "there is no user `{name}`"),
            UsersError::Name => write!(
                f,
                "a user's name is 1 to {NAME_BYTES_MAX} bytes of letters, digits, `_`, `-`, `.` and `@`"
            ),
            UsersError::Password => {
                write!(
                    f,
                    "a password has {PASSWORD_CHARS_MIN} characters at least and {PASSWORD_BYTES_MAX} bytes at most"
                )
            }
            UsersError::Full => write!(f, "there are {USERS_MAX} users already, which is the limit"),
        }
    }
}

impl std::error::Error for UsersError {}

/// The users of a database.
#[derive(Clone, Debug)]
pub struct Users {
    path: PathBuf,
}

struct User {
    name: String,
    hash: String,
}

impl Users {
    /// The users kept in a database's folder.
    pub fn of_database(folder: &Path) -> Users {
        Users { path: folder.join(FILE) }
    }
    /// The names, sorted.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn names(&self) -> Result<Vec<String>, UsersError> {
        let mut names: Vec<String> = self.read()?.into_iter().map(|user| user.name).collect();
        names.sort();
        Ok(names)
    }
    /// Adds a user.
    ///
    /// # Errors
    /// Name or password do not serve, the user exists, or the file cannot be written.
    pub fn add(&self, name: &str, password: &str) -> Result<(), UsersError> {
        let is_named = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_named) {
            return Err(UsersError::Name);
        }
        let mut users = self.read()?;
        if users.iter().any(|user| user.name == name) {
            return Err(UsersError::Exists(name.into()));
        }
        if users.len() >= USERS_MAX {
            return Err(UsersError::Full);
        }
        users.push(User { name: name.into(), hash: hash(password)? });
        self.write(&users)
    }
    /// Gives a user another password.
    ///
    /// # Errors
    /// There is no such user, the password does not serve, or the file cannot be written.
    pub fn set_password(&self, name: &str, password: &str) -> Result<(), UsersError> {
        let mut users = self.read()?;
        let user = users.iter_mut().find(|user| user.name == name);
        user.ok_or_else(|| UsersError::Unknown(name.into()))?.hash = hash(password)?;
        self.write(&users)
    }
    /// Removes a user.
    ///
    /// # Errors
    /// There is no such user, or the file cannot be written.
    pub fn remove(&self, name: &str) -> Result<(), UsersError> {
        let mut users = self.read()?;
        let before = users.len();
        users.retain(|user| user.name != name);
        if users.len() == before {
            return Err(UsersError::Unknown(name.into()));
        }
        self.write(&users)
    }
    /// Is this the user's password? Takes as long for a user who does not exist.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn verify(&self, name: &str, password: &str) -> Result<bool, UsersError> {
        // Someone's hash, to be compared with for nothing: its password is not known to anybody.
        const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5$\
                              AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let users = self.read()?;
        let user = users.iter().find(|user| user.name == name);
        if password.len() > PASSWORD_BYTES_MAX {
            return Ok(false);
        }
        let kept = user.map_or(NOBODY, |user| &user.hash);
        let parsed = PasswordHash::new(kept).map_err(|error| {
            UsersError::Damaged(format!("{}: a hash is damaged: {error}", self.path.display()))
        })?;
        let _one = HASHING.lock();
        Ok(Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok() && user.is_some())
    }

    fn read(&self) -> Result<Vec<User>, UsersError> {
        if !world::files::exists(&self.path) {
            return Ok(Vec::new());
        }
        let damaged = |what: &str| UsersError::Damaged(format!("{} is damaged: {what}", self.path.display()));
        let text = world::files::read_text(&self.path)
            .map_err(|error| UsersError::Io(format!("{} cannot be read: {error}", self.path.display())))?;
        let json: Json = serde_json::from_str(&text).map_err(|error| damaged(&error.to_string()))?;
        let users = json["users"].as_array().ok_or_else(|| damaged("it lists no users"))?;
        let user = |entry: &Json| {
            let text = |key: &str| entry[key].as_str().map(String::from);
            Some(User { name: text("name")?, hash: text("password")? })
        };
        users.iter().map(user).collect::<Option<_>>().ok_or_else(|| damaged("a user lacks name or password"))
    }
    fn write(&self, users: &[User]) -> Result<(), UsersError> {
        let failed = |error: &dyn fmt::Display| {
            UsersError::Io(format!("{} cannot be written: {error}", self.path.display()))
        };
        let entries: Vec<Json> =
            users.iter().map(|user| json!({ "name": user.name, "password": user.hash })).collect();
        let text = serde_json::to_string_pretty(&json!({ "version": 1, "users": entries }))
            .map_err(|error| failed(&error))?;
        // Whole or not at all: beside it first, then in its place.
        let beside = self.path.with_extension("json.new");
        world::files::write_bytes(&beside, text.as_bytes()).map_err(|error| failed(&error))?;
        RealDisk.rename(&beside, &self.path).map_err(|error| failed(&error))
    }
}

fn hash(password: &str) -> Result<String, UsersError> {
    if password.chars().count() < PASSWORD_CHARS_MIN || password.len() > PASSWORD_BYTES_MAX {
        return Err(UsersError::Password);
    }
    // Not `world::chance`, which can be replayed: a salt must come from the operating system.
    let salt = SaltString::generate(&mut OsRng);
    let _one = HASHING.lock();
    let hashed = Argon2::default().hash_password(password.as_bytes(), &salt);
    Ok(hashed.expect("the parameters are the crate's own").to_string())
}
