//! Commands about users and their passwords.

use crate::expr::Name;
use std::fmt;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserCommand {
    /// CREATE USER … SET PASSWORD.
    Create {
        /// The user.
        name: Name,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Its password.
        password: Password,
        /// SET STATUS SUSPENDED (true) or ACTIVE.
        suspended: Option<bool>,
    },
    /// ALTER USER … SET PASSWORD, SET STATUS: one of them at least.
    Alter {
        /// The user.
        name: Name,
        /// IF EXISTS.
        if_exists: bool,
        /// Its new password.
        password: Option<Password>,
        /// SET STATUS SUSPENDED (true) or ACTIVE.
        suspended: Option<bool>,
    },
    /// DROP USER.
    Drop {
        /// The user.
        name: Name,
        /// IF EXISTS.
        if_exists: bool,
    },
}

impl UserCommand {
    /// The parameter that brings the password, if one does.
    pub fn parameter(&self) -> Option<&Name> {
        match self {
            UserCommand::Create { password: Password::Parameter(name), .. }
            | UserCommand::Alter { password: Some(Password::Parameter(name)), .. } => Some(name),
            _ => None,
        }
    }
}

/// A password, or where it comes from. It is not shown when a command is printed for people who look for faults.
#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    /// As it stands in the text.
    Text(Name),
    /// The parameter of this name.
    Parameter(Name),
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Password::Text(_) => f.write_str("Text(\"…\")"),
            Password::Parameter(name) => write!(f, "Parameter({name:?})"),
        }
    }
}
