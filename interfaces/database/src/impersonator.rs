//! A user who acts as another: checked before each statement, and as long as a subscription is read.

use crate::roles::{Allowed, forbidden};
use crate::{Credential, Database, Error};

/// The user who logged on and acts as another.
#[derive(Clone)]
pub(crate) struct Impersonator {
    credential: Credential,
    /// Its own rights; looked up anew when rights change.
    allowed: Allowed,
}

impl Impersonator {
    pub fn new(credential: Credential) -> Impersonator {
        Impersonator { credential, allowed: Allowed::default() }
    }
    pub fn into_credential(self) -> Credential {
        self.credential
    }
    /// Is it still welcome, and may it still act as this user?
    pub fn check(&mut self, other: &str, database: &Database) -> Result<(), Error> {
        self.credential.check()?;
        let snapshot = database.snapshot();
        self.allowed.settle(
            self.credential.name(),
            snapshot.catalog().entries(),
            database.restricted_views(),
        );
        match self
            .allowed
            .restricted_view()
            .is_some_and(|restricted_view| !restricted_view.rights.may_act_as(other))
        {
            true => Err(forbidden("act as this user")),
            false => Ok(()),
        }
    }
}
