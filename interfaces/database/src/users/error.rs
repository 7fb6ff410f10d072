//! Limits of users and their passwords, and errors of reading and changing users.

use crate::Error;
use std::fmt;

/// Users of one database.
pub const USERS_MAX: usize = 10_000;
/// Bytes of a user's name.
pub const USER_NAME_BYTES_MAX: usize = 128;
/// Bytes of a password; a longer one would cost time for nothing.
pub const PASSWORD_BYTES_MAX: usize = 1_024;

/// Why users could not be read or changed.
#[derive(Debug, PartialEq, Eq)]
pub enum UsersError {
    /// The database refused the change.
    Database(Error),
    /// The entry of a user cannot be read.
    Damaged(String),
    /// There is such a user already.
    Exists(String),
    /// There is none.
    Unknown(String),
    /// The name does not serve as one.
    Name,
    /// The password does not serve as one: it has fewer characters than these, without the user's name, or too many bytes.
    Password {
        /// Characters that it needs.
        chars_min: usize,
    },
    /// There are as many as there may be.
    Full,
    /// This program was built without passwords.
    #[cfg(not(feature = "passwords"))]
    LeftOut,
}

impl fmt::Display for UsersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UsersError::Database(error) => write!(f, "{}", error.message),
            UsersError::Damaged(what) => f.write_str(what),
            UsersError::Exists(name) => write!(f, "there is a user `{name}` already"),
            UsersError::Unknown(name) => write!(f, "there is no user `{name}`"),
            UsersError::Name => write!(
                f,
                "a user's name is 1 to {USER_NAME_BYTES_MAX} bytes of letters, digits, `_`, `-`, `.` and `@`"
            ),
            UsersError::Password { chars_min } => write!(
                f,
                "a password has {chars_min} characters at least, the name of its user not counted, and {PASSWORD_BYTES_MAX} bytes at most"
            ),
            #[cfg(not(feature = "passwords"))]
            UsersError::LeftOut => write!(f, "this program was built without the feature `passwords`"),
            UsersError::Full => write!(f, "there are {USERS_MAX} users already, which is the limit"),
        }
    }
}

impl std::error::Error for UsersError {}

impl From<UsersError> for Error {
    fn from(error: UsersError) -> Error {
        match error {
            UsersError::Database(error) => error,
            UsersError::Damaged(what) => Error::new("Tanglewood.DatabaseError.General.Damaged", what),
            error => Error::new("Neo.ClientError.Statement.ArgumentError", error.to_string()),
        }
    }
}
