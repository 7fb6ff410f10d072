//! `CREATE USER`, `ALTER USER`, `ALTER CURRENT USER`, `DROP USER`, `SHOW USERS`, `SHOW CURRENT USER`.

use super::{Credential, Users};
use crate::{Database, Error, Params};
use model::Value;
use plan::users::{Password, UserCommand};
use std::sync::Arc;

/// Carries out a command of a caller: its user's name, its credential, and whether it may do everything. Returns the new credential, if it changed
/// its own password.
pub(crate) fn carry_out(
    command: &UserCommand,
    params: &Params,
    database: &Database,
    (own, credential, may_do_everything): (Option<&str>, Option<&Credential>, bool),
) -> Result<Option<Credential>, Error> {
    let users = database.users();
    if !may_do_everything
        && let UserCommand::Alter { name, .. } | UserCommand::Drop { name, .. } = command
        && crate::roles::is_admin(database.snapshot().catalog().entries(), name)
    {
        return Err(crate::roles::forbidden("change users who may do everything"));
    }
    let is_known = |name: &Arc<str>| users.table().contains_key(&**name);
    match command {
        UserCommand::AlterCurrent { from, to } => {
            return change_own(credential, text(from, params)?, text(to, params)?).map(Some);
        }
        UserCommand::Create { name, if_not_exists: true, .. } if is_known(name) => {}
        UserCommand::Alter { name, if_exists: true, .. } | UserCommand::Drop { name, if_exists: true }
            if !is_known(name) => {}
        UserCommand::Create { name, password, suspended, if_not_exists } => {
            // Who may not do everything makes nobody who may.
            let roles = (!may_do_everything).then(crate::roles::no_roles);
            let password = text(password, params)?;
            let outcome = users.create_with(name, password, *suspended == Some(true), roles.as_deref());
            // Somebody else may have made it while the hash was computed.
            if *if_not_exists { outcome.or_else(existing) } else { outcome }?;
        }
        UserCommand::Alter { name, password, suspended, .. } => {
            if *suspended == Some(true) {
                refuse_own(name, own, "suspended")?;
            }
            let password = password.as_ref().map(|password| text(password, params)).transpose()?;
            users.alter(name, password, *suspended)?;
        }
        UserCommand::Drop { name, .. } => {
            refuse_own(name, own, "dropped")?;
            users.remove(name)?;
        }
    }
    Ok(None)
}

/// A change of the own password needs the old one: a session that was left open is not enough.
fn change_own(credential: Option<&Credential>, from: &str, to: &str) -> Result<Credential, Error> {
    let code = "Neo.ClientError.Statement.ArgumentError";
    let Some(credential) = credential else {
        let error = Error::new(code, "nobody logged on, so there is no current user");
        return Err(error.hint("ALTER USER name SET PASSWORD changes the password of any user"));
    };
    if from == to {
        return Err(Error::new(code, "the new password is the old one"));
    }
    let users = &credential.users;
    // A session that was left open is no place to guess at.
    let attempt = users.database.password_guesses().attempt(credential.name().to_string())?;
    if users.log_on(credential.name(), from)?.is_none() {
        attempt.fail();
        return Err(Error::new(code, "the old password is wrong"));
    }
    attempt.succeed();
    users.set_password(credential.name(), to)?;
    let renewed = users.log_on(credential.name(), to)?;
    renewed.ok_or_else(|| {
        let message = format!("user `{}` was changed meanwhile", credential.name());
        Error::new("Neo.ClientError.Security.AuthorizationExpired", message).hint("log on again")
    })
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

/// The rows of SHOW USERS, or of SHOW CURRENT USER for one. A user whose entry cannot be read is suspended: it cannot log on.
pub(crate) fn listed(users: &Users, only: Option<&str>) -> Vec<Vec<Value>> {
    let snapshot = users.database.snapshot();
    let entries = snapshot.catalog().entries();
    let row = |user: super::UserInfo| {
        let roles = crate::roles::roles_of(entries, &user.name);
        let roles = Value::list(roles.into_iter().map(Value::String).collect());
        let suspended = user.suspended || user.problem.is_some();
        let failure = user.problem.map_or(Value::Null, Value::from);
        vec![user.name.into(), roles, false.into(), suspended.into(), Value::Null, failure]
    };
    users.list().into_iter().filter(|user| only.is_none_or(|only| only == user.name)).map(row).collect()
}
