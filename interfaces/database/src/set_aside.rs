//! Entries of a catalogue that cannot be used, of every kind.

use crate::accounts::Declared;
use crate::entries::SetAside;
use crate::standing::definition::Definition;
use crate::users::entry::User;
use store::{EntryKind, Snapshot};

/// All entries of a catalogue that cannot be read, by the code that opens a database. Whether the first answer of a standing query can be
/// made is not tried.
pub fn set_aside(snapshot: &Snapshot) -> Vec<SetAside> {
    let entries = snapshot.catalog().entries();
    let mut found = Vec::new();
    if let Some(users) = entries.table(EntryKind::USER) {
        let user = |(name, entry): (_, &std::sync::Arc<[u8]>)| (name, User::decode(entry).err());
        let problems = users.iter().map(user).filter_map(|(name, why)| Some((name, why?)));
        found.extend(problems.map(|(name, why)| SetAside::new(EntryKind::USER, name, &why)));
    }
    found.extend(Declared::read(entries).1);
    let standing = Definition::read_all(entries).into_iter();
    found.extend(standing.filter_map(|(name, read)| {
        let why = read.and_then(|definition| definition.planned(snapshot).map(|_| ())).err()?;
        Some(SetAside::new(EntryKind::STANDING, &name, &why.message))
    }));
    found
}
