//! `CREATE USER`, `ALTER USER`, `DROP USER`, `SHOW USERS`: handed to the door that keeps users.

use crate::{Database, Error, Params};
use model::Value;
use plan::users::{Password, UserCommand};
use std::sync::Arc;

/// Who keeps users and their passwords: a door that lets people in.
pub trait UserDirectory: Send + Sync {
    /// The users' names, sorted.
    ///
    /// # Errors
    /// They cannot be read.
    fn names(&self) -> Result<Vec<String>, Error>;
    /// Adds a user.
    ///
    /// # Errors
    /// The name or the password does not serve; they cannot be written.
    fn add(&self, name: &str, password: &str) -> Result<(), Error>;
    /// Gives a user another password.
    ///
    /// # Errors
    /// As [`UserDirectory::add`].
    fn set_password(&self, name: &str, password: &str) -> Result<(), Error>;
    /// Removes a user.
    ///
    /// # Errors
    /// They cannot be written.
    fn remove(&self, name: &str) -> Result<(), Error>;
}

/// Carries out a command.
pub(crate) fn carry_out(command: &UserCommand, params: &Params, database: &Database) -> Result<(), Error> {
    let Some(users) = database.users() else {
        let code = "Neo.ClientError.Statement.NotSystemDatabaseError";
        return Err(Error::new(code, "nobody keeps users for this database")
            .hint("users belong to a database in a folder that is served: `tanglewood serve`"));
    };
    let names = users.names()?;
    let is_known = |name: &Arc<str>| names.iter().any(|known| **known == **name);
    match command {
        UserCommand::Create { name, if_not_exists: true, .. } if is_known(name) => Ok(()),
        UserCommand::Alter { name, if_exists: true, .. } | UserCommand::Drop { name, if_exists: true }
            if !is_known(name) =>
        {
            Ok(())
        }
        UserCommand::Create { name, password, .. } => users.add(name, text(password, params)?),
        UserCommand::Alter { name, password, .. } => users.set_password(name, text(password, params)?),
        UserCommand::Drop { name, .. } => users.remove(name),
    }
}

fn text<'a>(password: &'a Password, params: &'a Params) -> Result<&'a str, Error> {
    let found = match password {
        Password::Text(text) => Some(&**text),
        Password::Parameter(name) => params.get(name).and_then(Value::as_str),
    };
    let code = "Neo.ClientError.Statement.ArgumentError";
    found.ok_or_else(|| Error::new(code, "a password is a text"))
}

/// What SHOW USERS lists: nothing where nobody keeps users.
pub(crate) fn listed(database: &Database) -> Result<Vec<Vec<Value>>, Error> {
    let names = database.users().map_or(Ok(Vec::new()), |users| users.names())?;
    let row = |name: String| {
        let roles = Value::list(vec!["PUBLIC".into()]);
        vec![name.into(), roles, false.into(), false.into(), Value::Null]
    };
    Ok(names.into_iter().map(row).collect())
}
