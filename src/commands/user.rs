//! `tanglewood user`: who may talk to a database over Bolt.

use super::{Exit, folder};
use clap::{Args, Subcommand};
use database::{Database, Error, Options, UsersError};
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a password from standard input; more are not read.
const INPUT_BYTES_MAX: u64 = 4_096;

/// Say who may talk to a database over Bolt
///
/// Users and their passwords (as salted Argon2id hashes) are kept in the database itself, and so in its backups. A database with users
/// asks for passwords when it is served. The database must not be open: while it is served, use CREATE USER, ALTER USER and DROP USER.
///
/// The password is asked for on a terminal; else it is read from standard input, one line.
#[derive(Args)]
#[command(after_help = "Example: tanglewood user add people.db ada")]
pub struct User {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add a user
    Add(Named),
    /// List the users
    List {
        /// Folder of the database
        #[arg(value_name = "DB")]
        database: PathBuf,
    },
    /// Give a user another password
    Passwd(Named),
    /// Remove a user
    Remove(Named),
}

#[derive(Args)]
struct Named {
    /// Folder of the database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The user's name
    name: String,
}

impl User {
    pub fn run(self) -> Result<(), Exit> {
        let mut out = world::files::stdout();
        match self.action {
            Action::Add(Named { database, name }) => {
                let database = open(&database)?;
                database.users().add(&name, &password(&name)?).map_err(failed)?;
                database.close()?;
                writeln!(out, "added {name}")?;
            }
            Action::List { database } => {
                let database = open(&database)?;
                for user in database.users().list() {
                    let note = match (&user.problem, user.suspended) {
                        (Some(why), _) => format!("   cannot log on: {why}"),
                        (None, true) => "   suspended".to_string(),
                        (None, false) => String::new(),
                    };
                    writeln!(out, "{}{note}", user.name)?;
                }
                database.close()?;
            }
            Action::Passwd(Named { database, name }) => {
                let database = open(&database)?;
                if !database.users().names().contains(&name) {
                    return Err(failed(UsersError::Unknown(name)));
                }
                database.users().set_password(&name, &password(&name)?).map_err(failed)?;
                database.close()?;
                writeln!(out, "changed the password of {name}")?;
            }
            Action::Remove(Named { database, name }) => {
                let database = open(&database)?;
                database.users().remove(&name).map_err(failed)?;
                database.close()?;
                writeln!(out, "removed {name}")?;
            }
        }
        Ok(out.flush()?)
    }
}

/// A database that is there.
fn open(path: &Path) -> Result<Database, Exit> {
    if folder::is_memory(path) {
        let error = Error::new("Tanglewood.ClientError.User.Memory", "a database in memory has no users");
        return Err(error.hint("users are kept in the folder of a database").into());
    }
    folder::open(path, false, Options::default()).map_err(|exit| match exit {
        Exit::Failed(error) if error.code == "Tanglewood.ClientError.Database.AlreadyOpen" => {
            let hint = "while a server has it open, use CREATE USER, ALTER USER, DROP USER and SHOW USERS in a session";
            Exit::from(Error { hint: Some(hint.into()), ..*error })
        }
        other => other,
    })
}

fn password(name: &str) -> Result<String, Exit> {
    if !std::io::stdin().is_terminal() {
        let mut text = String::new();
        world::files::stdin().take(INPUT_BYTES_MAX).read_to_string(&mut text)?;
        return Ok(text.lines().next().unwrap_or_default().to_string());
    }
    let first = rpassword::prompt_password(format!("Password for {name}: "))?;
    if rpassword::prompt_password("The same again: ")? != first {
        let error = Error::new("Tanglewood.ClientError.User.Password", "the two passwords differ");
        return Err(error.into());
    }
    Ok(first)
}

fn failed(error: UsersError) -> Exit {
    let code = match error {
        UsersError::Database(error) => return error.into(),
        UsersError::Damaged(_) => "Tanglewood.DatabaseError.User.Damaged",
        UsersError::Exists(_) => "Tanglewood.ClientError.User.Exists",
        UsersError::Unknown(_) => "Tanglewood.ClientError.User.Unknown",
        UsersError::Name | UsersError::Full => "Tanglewood.ClientError.User.Refused",
        UsersError::Password { .. } => "Tanglewood.ClientError.User.Password",
    };
    Error::new(code, error.to_string()).into()
}
