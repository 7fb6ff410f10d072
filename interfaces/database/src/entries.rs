//! Entries of this crate in the graph's catalogue: users, tenants, users of tenants, standing queries, one entry each.
//!
//! Idea: entries are changed by commits, one after the other, and an acknowledged change is on disk. The content of a user is in [`crate::users`];
//! that of the others is the statement that declares it, which the parser reads back.
//! Invariant: an entry that cannot be read never keeps the graph from opening. It is set aside: it has no effect, [`crate::set_aside()`] names it
//! with the reason, and the usual command can drop it or declare it again.

use crate::Error;
use plan::StatementKind;
use std::fmt;
use store::{Change, Entries, EntryKind};
use transact::Engine;
use world::failpoint;
use world::panics::caught;

/// Bytes of a reason at most.
const REASON_BYTES_MAX: usize = 2_000;

/// An entry of the catalogue that cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Its kind: `user`, `tenant`, `user of a tenant`, `standing query`.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// Why it cannot be used.
    pub why: String,
}

impl SetAside {
    /// The kind of a user of a tenant.
    pub(crate) const TENANT_USER: &str = "user of a tenant";
    pub(crate) fn new(kind: EntryKind, name: &str, why: &str) -> SetAside {
        let what = match kind {
            EntryKind::USER => "user",
            EntryKind::TENANT => "tenant",
            EntryKind::TENANT_USER => SetAside::TENANT_USER,
            EntryKind::STANDING => "standing query",
            EntryKind::PROGRAM => "program",
            _ => "entry",
        };
        let why = why[..why.floor_char_boundary(REASON_BYTES_MAX)].to_string();
        SetAside { what, name: name.into(), why }
    }
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` is set aside: {}", self.what, self.name, self.why)
    }
}

/// The statement of an entry, read by the parser of commands.
///
/// # Errors
/// It is no statement. A parser that panics is an error of this entry alone.
pub(crate) fn statement(content: &[u8]) -> Result<StatementKind, Error> {
    let damaged = |why: &str| Error::new("Tanglewood.DatabaseError.General.Damaged", why);
    let text = std::str::from_utf8(content).map_err(|_| damaged("it is no text"))?;
    match caught(|| cypher::compile(text)) {
        Ok(Ok(statement)) => Ok(statement.kind),
        Ok(Err(error)) => Err(damaged(&error.message)),
        Err(panicked) => Err(damaged(&panicked.to_string())),
    }
}

/// Sets an entry, or removes it where there is no content.
pub(crate) fn set(kind: EntryKind, name: &str, content: Option<&[u8]>) -> Change {
    Change::SetEntry { kind, name: name.into(), content: content.map(Into::into) }
}

/// Changes entries, durably: `make` gets the present entries, and no other commit comes between. It must be short; in a cluster it is called again
/// when another commit came first.
///
/// # Errors
/// An error of `make`; the disk refuses, or a limit of the catalogue is passed. Nothing is changed then.
pub(crate) fn change(
    engine: &Engine,
    mut make: impl FnMut(&Entries) -> Result<Vec<Change>, Error>,
) -> Result<(), Error> {
    let mut refused = None;
    let outcome = engine.alter(|current| {
        refused = None;
        failpoint::visit("change of the catalogue");
        let made = make(current.catalog().entries());
        Ok(made.unwrap_or_else(|error| {
            refused = Some(error);
            Vec::new()
        }))
    });
    match (refused, outcome) {
        (Some(error), _) => Err(error),
        (None, outcome) => outcome.map(|_| ()).map_err(Error::from),
    }
}
