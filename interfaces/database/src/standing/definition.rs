//! The definition of a standing query in the catalogue: the statement that creates it.

use crate::accounts::DEFAULT_TENANT;
use crate::error::in_text;
use crate::{Error, datalog, entries};
use ::standing::Definition as Asked;
use parking_lot::Mutex;
use plan::StatementKind;
use plan::expr::Name;
use plan::standing::{RETAIN_DEFAULT, Retain, StandingCommand};
use std::sync::Arc;
use std::time::Duration;
use store::{Entries, EntryKind, EntryTable, Snapshot};
use transact::Retention;

/// The content of a query's entry.
#[derive(Clone)]
pub(crate) struct Definition {
    pub name: Name,
    pub text: Name,
    /// The tenant that pays for it.
    pub tenant: Name,
    /// How long its changes are retained, if set.
    pub retain: Option<Retain>,
}

impl Definition {
    pub fn of(name: Name, text: Name, tenant: Option<Name>, retain: Option<Retain>) -> Definition {
        Definition { name, text, tenant: tenant.unwrap_or_else(|| DEFAULT_TENANT.into()), retain }
    }
    /// The queries of a catalogue by the names of their entries, or why an entry cannot be read.
    pub fn read_all(entries: &Entries) -> Vec<(Arc<str>, Result<Definition, Error>)> {
        let table = entries.table(EntryKind::STANDING).into_iter().flat_map(|table| table.iter());
        table.map(|(name, content)| (name.clone(), Definition::read(name, content))).collect()
    }
    pub fn read(entry: &str, content: &[u8]) -> Result<Definition, Error> {
        let damaged = |why: &str| Err(Error::new("Tanglewood.DatabaseError.General.Damaged", why));
        match entries::statement(content)? {
            StatementKind::Standing(StandingCommand::Create { name, text, tenant, retain, .. })
                if *name == *entry =>
            {
                Ok(Definition::of(name, text, tenant, retain))
            }
            StatementKind::Standing(StandingCommand::Create { .. }) => {
                damaged("it creates a standing query of another name than its own")
            }
            _ => damaged("it creates no standing query"),
        }
    }
    /// The name of the query that a statement creates.
    pub fn name_of(content: &[u8]) -> Option<String> {
        match entries::statement(content) {
            Ok(StatementKind::Standing(StandingCommand::Create { name, .. })) => Some(name.to_string()),
            _ => None,
        }
    }
    /// The content of its entry.
    pub fn content(&self) -> String {
        let tenant = Some(self.tenant.clone()).filter(|tenant| **tenant != *DEFAULT_TENANT);
        let (name, text, retain) = (self.name.clone(), self.text.clone(), self.retain);
        StandingCommand::Create { name, if_not_exists: false, tenant, text, retain }.to_string()
    }
    /// Its query, planned for maintenance.
    ///
    /// # Errors
    /// The text is no query.
    pub fn planned(&self, snapshot: &Snapshot) -> Result<Asked, Error> {
        let text = &*self.text;
        match datalog::statement(text) {
            Some(wrapped) => {
                let wrapped = datalog::kept(text, wrapped)?;
                let program = datalog::compile(wrapped.program, text, wrapped.offset, snapshot.catalog())?;
                Ok(Asked::from(program))
            }
            None => {
                let statement = cypher::compile(text).map_err(|error| in_text(error, text))?;
                Ok(Asked::from(plan::normalize(statement)?))
            }
        }
    }
}

/// How long the changes of a standing query are retained, if its entry can be read.
pub(crate) fn retained(entries: &Entries, name: &str) -> Option<Retain> {
    let definition = Definition::read(name, entries.get(EntryKind::STANDING, name)?).ok()?;
    Some(definition.retain.unwrap_or(RETAIN_DEFAULT))
}

/// How long commits are kept for these entries: the longest retention of any standing query. An entry that cannot be read counts for nothing.
pub(crate) fn retention() -> Retention {
    let known: Mutex<Option<(Arc<EntryTable>, Duration)>> = Mutex::default();
    Arc::new(move |entries| {
        let Some(table) = entries.table(EntryKind::STANDING) else { return Duration::ZERO };
        let mut known = known.lock();
        if let Some((_, retention)) = known.as_ref().filter(|(seen, _)| Arc::ptr_eq(seen, table)) {
            return *retention;
        }
        let read = Definition::read_all(entries).into_iter().filter_map(|(_, read)| read.ok());
        let asked = read.map(|definition| definition.retain.unwrap_or(RETAIN_DEFAULT).duration());
        let retention = asked.max().unwrap_or_default();
        *known = Some((table.clone(), retention));
        retention
    })
}
