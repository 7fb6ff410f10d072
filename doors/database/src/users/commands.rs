//! `CREATE USER`, `ALTER USER`, `DROP USER`, `SHOW USERS`.

use super::Users;
use crate::{Database, Error, Params};
use model::Value;
use plan::users::{Password, UserCommand};
use std::sync::Arc;

/// Carries out a command of this user, if the session has one.
pub(crate) fn carry_out(
    command: &UserCommand,
    params: &Params,
    database: &Database,
    own: Option<&str>,
) -> Result<(), Error> {
    let users = database.users();
    let is_known = |name: &Arc<str>| users.table().contains_key(&**name);
    match command {
        UserCommand::Create { name, if_not_exists: true, .. } if is_known(name) => Ok(()),
        UserCommand::Alter { name, if_exists: true, .. } | UserCommand::Drop { name, if_exists: true }
            if !is_known(name) =>
        {
            Ok(())
        }
        UserCommand::Create { name, password, suspended, if_not_exists } => {
            let outcome = users.create(name, text(password, params)?, *suspended == Some(true));
            // Somebody else may have made it while the hash was computed.
            if *if_not_exists { outcome.or_else(existing) } else { outcome }.map_err(Error::from)
        }
        UserCommand::Alter { name, password, suspended, .. } => {
            if *suspended == Some(true) {
                refuse_own(name, own, "suspended")?;
            }
            let password = password.as_ref().map(|password| text(password, params)).transpose()?;
            Ok(users.alter(name, password, *suspended)?)
        }
        UserCommand::Drop { name, .. } => {
            refuse_own(name, own, "dropped")?;
            Ok(users.remove(name)?)
        }
    }
}

fn existing(error: super::UsersError) -> Result<(), super::UsersError> {
    if matches!(error, super::UsersError::Exists(_)) { Ok(()) } else { Err(error) }
}

/// So the last user does not lock itself out, and no server is left without users by one statement.
fn refuse_own(name: &str, own: Option<&str>, what: &str) -> Result<(), Error> {
    if own != Some(name) {
        return Ok(());
    }
    let message = format!("`{name}` asks for this itself: a user cannot be {what} by itself");
    Err(Error::new("Neo.ClientError.Statement.ArgumentError", message).hint("log on as another user"))
}

fn text<'a>(password: &'a Password, params: &'a Params) -> Result<&'a str, Error> {
    let found = match password {
        Password::Text(text) => Some(&**text),
        Password::Parameter(name) => params.get(name).and_then(Value::as_str),
    };
    let code = "Neo.ClientError.Statement.ArgumentError";
    found.ok_or_else(|| Error::new(code, "a password is a text"))
}

/// What SHOW USERS lists. A user whose entry cannot be read is suspended: nobody can log on as it.
pub(crate) fn listed(users: &Users) -> Vec<Vec<Value>> {
    let row = |user: super::UserInfo| {
        let roles = Value::list(vec!["PUBLIC".into()]);
        let suspended = user.suspended || user.problem.is_some();
        vec![user.name.into(), roles, false.into(), suspended.into(), Value::Null]
    };
    users.list().into_iter().map(row).collect()
}
