//! Users as commands in Cypher ask for them.

use super::{Users, UsersError};
use database::{Error, UserDirectory};

impl From<UsersError> for Error {
    fn from(error: UsersError) -> Error {
        let code = match error {
            UsersError::Io(_) | UsersError::Damaged(_) => "Neo.DatabaseError.General.UnknownError",
            _ => "Neo.ClientError.Statement.ArgumentError",
        };
        Error::new(code, error.to_string())
    }
}

impl UserDirectory for Users {
    fn names(&self) -> Result<Vec<String>, Error> {
        Ok(Users::names(self)?)
    }
    fn add(&self, name: &str, password: &str) -> Result<(), Error> {
        Ok(Users::add(self, name, password)?)
    }
    fn set_password(&self, name: &str, password: &str) -> Result<(), Error> {
        Ok(Users::set_password(self, name, password)?)
    }
    fn remove(&self, name: &str) -> Result<(), Error> {
        Ok(Users::remove(self, name)?)
    }
}
