//! Tenants and their users as entries of the catalogue: each the statement that declares it.

use super::{Allowance, Tenant, change, settings};
use crate::Error;
use crate::entries::{SetAside, set, statement};
use plan::StatementKind;
use plan::accounts::AccountCommand;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::EntryTable;
use store::{Change, Entries, EntryKind};

/// The tenants that were declared, by name.
pub(crate) struct Declared;

/// Tenants by name.
pub(crate) type Tenants = BTreeMap<String, Tenant>;

impl Declared {
    /// The tenants that entries declare, and the entries that declare none.
    pub fn read(entries: &Entries) -> (Tenants, Vec<SetAside>) {
        let (mut tenants, mut aside) = (Tenants::new(), Vec::new());
        // Users need their tenants.
        for kind in [EntryKind::TENANT, EntryKind::TENANT_USER] {
            let none = EntryTable::default();
            for (name, content) in entries.table(kind).map_or(&none, |table| table) {
                if let Err(error) = take(&mut tenants, kind, name, content) {
                    aside.push(SetAside::new(kind, name, &error.message));
                }
            }
        }
        (tenants, aside)
    }
    /// The changes that turn the entries into those of `tenants`. Entries that declare nothing stay as they are, unless the command drops them.
    pub fn changes(
        entries: &Entries,
        before: &Tenants,
        after: &Tenants,
        command: &AccountCommand,
    ) -> Vec<Change> {
        let (old, new) = (contents(before), contents(after));
        let mut changes = Vec::new();
        for (key @ (kind, name), content) in &new {
            if old.get(key) != Some(content) {
                changes.push(set(*kind, name, Some(content.as_bytes())));
            }
        }
        let gone = old.keys().filter(|key| !new.contains_key(*key)).cloned();
        let dropped = dropped(command).filter(|key| !old.contains_key(key) && !new.contains_key(key));
        let there = |(kind, name): &(EntryKind, String)| entries.get(*kind, name).is_some();
        changes.extend(gone.chain(dropped.filter(there)).map(|(kind, name)| set(kind, &name, None)));
        changes
    }
}

/// The entry that a command drops, whether or not it can be read.
fn dropped(command: &AccountCommand) -> impl Iterator<Item = (EntryKind, String)> {
    let key = match command {
        AccountCommand::DropTenant { name, .. } => Some((EntryKind::TENANT, name.to_string())),
        AccountCommand::RemoveUser { user, .. } => Some((EntryKind::TENANT_USER, user.to_string())),
        _ => None,
    };
    key.into_iter()
}

/// Does the command drop an entry that is there and declares nothing?
pub(super) fn drops_set_aside(entries: &Entries, tenants: &Tenants, command: &AccountCommand) -> bool {
    let is_read = |(kind, name): &(EntryKind, String)| match *kind {
        EntryKind::TENANT => tenants.contains_key(name),
        _ => tenants.values().any(|tenant| tenant.users.contains_key(name)),
    };
    dropped(command).any(|key| entries.get(key.0, &key.1).is_some() && !is_read(&key))
}

fn take(tenants: &mut Tenants, kind: EntryKind, name: &Arc<str>, content: &[u8]) -> Result<(), Error> {
    let damaged = |why: &str| Err(Error::new("Tanglewood.DatabaseError.General.Damaged", why));
    let StatementKind::Account(command) = statement(content)? else {
        return damaged("it is no command about tenants");
    };
    let declares = match (&command, kind) {
        (AccountCommand::CreateTenant { name, .. }, EntryKind::TENANT) => name,
        (AccountCommand::AddUser { user, .. }, EntryKind::TENANT_USER) => user,
        _ => return damaged("it declares neither a tenant nor a user of one"),
    };
    if **declares != **name {
        return damaged("it declares another name than its own");
    }
    change(tenants, &command).map(|_| ())
}

/// The entries of these tenants.
fn contents(tenants: &Tenants) -> BTreeMap<(EntryKind, String), String> {
    let mut found = BTreeMap::new();
    for (name, tenant) in tenants {
        let (settings, own) = (settings(&tenant.allowance), plan::expr::Name::from(name.as_str()));
        let command = AccountCommand::CreateTenant { name: own.clone(), if_not_exists: false, settings };
        found.insert((EntryKind::TENANT, name.clone()), command.to_string());
        for (user, allowance) in &tenant.users {
            found.insert((EntryKind::TENANT_USER, user.clone()), added(&own, user, allowance).to_string());
        }
    }
    found
}

fn added(tenant: &plan::expr::Name, user: &str, allowance: &Allowance) -> AccountCommand {
    AccountCommand::AddUser { tenant: tenant.clone(), user: user.into(), settings: settings(allowance) }
}
