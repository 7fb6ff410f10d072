//! `tanglewood user`: who may talk to a database over Bolt.

use super::{Exit, folder};
use clap::{Args, Subcommand};
use database::Error;
use server::{Users, UsersError};
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a password from standard input; more are not read.
const INPUT_BYTES_MAX: u64 = 4_096;

/// Say who may talk to a database over Bolt
///
/// Users and their passwords (as salted Argon2id hashes) are kept in the file users.json of the database's folder. A server that runs
/// takes note at the next log-on. A database with users asks for passwords when it is served.
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
                let users = users_of(&database)?;
                users.add(&name, &password(&name)?).map_err(failed)?;
                writeln!(out, "added {name}")?;
            }
            Action::List { database } => {
                let names = users_of(&database)?.names().map_err(failed)?;
                names.iter().try_for_each(|name| writeln!(out, "{name}"))?;
            }
            Action::Passwd(Named { database, name }) => {
                let users = users_of(&database)?;
                if !users.names().map_err(failed)?.contains(&name) {
                    return Err(failed(UsersError::Unknown(name)));
                }
                users.set_password(&name, &password(&name)?).map_err(failed)?;
                writeln!(out, "changed the password of {name}")?;
            }
            Action::Remove(Named { database, name }) => {
                users_of(&database)?.remove(&name).map_err(failed)?;
                writeln!(out, "removed {name}")?;
            }
        }
        Ok(out.flush()?)
    }
}

/// The users of a database that is there; it may be open elsewhere.
fn users_of(database: &Path) -> Result<Users, Exit> {
    if folder::is_memory(database) {
        let error = Error::new("Tanglewood.ClientError.User.Memory", "a database in memory has no users");
        return Err(error.hint("users are kept in the folder of a database").into());
    }
    if !world::files::is_folder(database) {
        let message = format!("there is no database at {}", database.display());
        return Err(Error::new("Tanglewood.ClientError.Database.NotFound", message).into());
    }
    Ok(Users::of_database(database))
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
    let code = match &error {
        UsersError::Io(_) => "Tanglewood.DatabaseError.User.Io",
        UsersError::Damaged(_) => "Tanglewood.DatabaseError.User.Damaged",
        UsersError::Exists(_) => "Tanglewood.ClientError.User.Exists",
        UsersError::Unknown(_) => "Tanglewood.ClientError.User.Unknown",
        UsersError::Name | UsersError::Full => "Tanglewood.ClientError.User.Refused",
        UsersError::Password => "Tanglewood.ClientError.User.Password",
    };
    Error::new(code, error.to_string()).into()
}
