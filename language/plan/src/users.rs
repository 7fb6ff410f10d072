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
    /// ALTER CURRENT USER SET PASSWORD FROM … TO …: changes the password of the user who logged on.
    AlterCurrent {
        /// Its password until now.
        from: Password,
        /// Its new password.
        to: Password,
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
    /// The parameters that bring passwords.
    pub fn parameters(&self) -> impl Iterator<Item = &Name> {
        let passwords = match self {
            UserCommand::Create { password, .. } => [Some(password), None],
            UserCommand::Alter { password, .. } => [password.as_ref(), None],
            UserCommand::AlterCurrent { from, to } => [Some(from), Some(to)],
            UserCommand::Drop { .. } => [None, None],
        };
        passwords.into_iter().flatten().filter_map(|password| match password {
            Password::Parameter(name) => Some(name),
            Password::Text(_) => None,
        })
    }
}

/// A password, or its parameter. It is not shown when a command is printed for debugging.
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
