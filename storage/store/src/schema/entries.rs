//! Named entries of the catalogue: data that the interfaces store with the graph, such as users, tenants and standing queries.
//!
//! Idea: an entry is a kind, a name and bytes. The store knows nothing of their meaning; it keeps them in the commit log and in checkpoints like
//! indexes and constraints, so that recovery, backups, history and replicas have them without code of their own.
//! Invariant: no name, entry or catalogue is larger than the limits below. [`Entries::set`] alone changes entries, whether a change comes
//! from a statement, the log or a manifest, so a reader accepts what a writer wrote.
//! Cost: a change copies the table of its kind; a look-up is one of a B-tree.

use crate::StoreError;
use crate::bytes::{Reader, Writer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of an entry's name.
pub const ENTRY_NAME_BYTES_MAX: usize = 1_024;
/// Bytes of one entry.
pub const ENTRY_BYTES_MAX: usize = 1 << 20;
/// Entries of all kinds together.
pub const ENTRIES_MAX: usize = 1 << 17;
/// Bytes of all names and entries together: a manifest holds them all.
pub const ENTRIES_BYTES_MAX: usize = 64 << 20;

/// The kind of an entry. The number is stored: only append. Kinds that a program does not know are kept as they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryKind(pub u8);

impl EntryKind {
    /// A user who may log on, by name.
    pub const USER: EntryKind = EntryKind(1);
    /// A tenant and its limits, by name.
    pub const TENANT: EntryKind = EntryKind(2);
    /// A user of a tenant and its limits, by the user's name.
    pub const TENANT_USER: EntryKind = EntryKind(3);
    /// A standing query, by name.
    pub const STANDING: EntryKind = EntryKind(4);
    /// Facts about the catalogue itself.
    pub const CATALOGUE: EntryKind = EntryKind(5);
    /// A role and its privileges, by name.
    pub const ROLE: EntryKind = EntryKind(6);
    /// The roles of a user, by the user's name.
    pub const USER_ROLES: EntryKind = EntryKind(7);
    /// A node program that was deployed, by name: the bytes of its module.
    pub const PROGRAM: EntryKind = EntryKind(8);
}

/// The entries of one kind, by name.
pub type EntryTable = BTreeMap<Arc<str>, Arc<[u8]>>;

/// All entries of a catalogue. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    tables: BTreeMap<EntryKind, Arc<EntryTable>>,
    count: usize,
    /// Of all names and entries.
    bytes: usize,
}

impl Entries {
    /// Sets an entry, or removes it if there is no content. Removing a missing entry does nothing.
    ///
    /// # Errors
    /// [`StoreError::EntryRefused`] where a limit would be passed; nothing is changed then.
    pub(crate) fn set(
        &mut self,
        kind: EntryKind,
        name: &Arc<str>,
        content: Option<&Arc<[u8]>>,
    ) -> Result<(), StoreError> {
        let old = self.get(kind, name).map(|old| name.len() + old.len());
        let Some(content) = content else {
            if let Some(old) = old {
                let table = self.tables.get_mut(&kind).expect("a table that holds the name");
                Arc::make_mut(table).remove(name);
                if table.is_empty() {
                    self.tables.remove(&kind);
                }
                (self.count, self.bytes) = (self.count - 1, self.bytes - old);
            }
            return Ok(());
        };
        let bytes = self.bytes - old.unwrap_or(0) + name.len() + content.len();
        let count = self.count + usize::from(old.is_none());
        let refused = match () {
            () if name.is_empty() => Some("it has no name"),
            () if name.len() > ENTRY_NAME_BYTES_MAX => Some("its name is longer than 1,024 bytes"),
            () if content.len() > ENTRY_BYTES_MAX => Some("it is larger than 1 MiB"),
            () if count > ENTRIES_MAX => Some("there are 131,072 entries already"),
            () if bytes > ENTRIES_BYTES_MAX => Some("all entries together would be larger than 64 MiB"),
            () => None,
        };
        if let Some(why) = refused {
            return Err(StoreError::EntryRefused(why));
        }
        Arc::make_mut(self.tables.entry(kind).or_default()).insert(name.clone(), content.clone());
        (self.count, self.bytes) = (count, bytes);
        debug_assert!(self.count <= ENTRIES_MAX && self.bytes <= ENTRIES_BYTES_MAX);
        Ok(())
    }
    /// The bytes of an entry.
    pub fn get(&self, kind: EntryKind, name: &str) -> Option<&Arc<[u8]>> {
        self.tables.get(&kind)?.get(name)
    }
    /// All entries of a kind, or none. Later catalogues share the same table until one of its entries changes.
    pub fn table(&self, kind: EntryKind) -> Option<&Arc<EntryTable>> {
        self.tables.get(&kind)
    }
    /// All entries: kind, name, bytes; by kind and name.
    pub fn iter(&self) -> impl Iterator<Item = (EntryKind, &Arc<str>, &Arc<[u8]>)> {
        self.tables
            .iter()
            .flat_map(|(kind, table)| table.iter().map(move |(name, content)| (*kind, name, content)))
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }
    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn encode(&self, writer: &mut Writer) {
        writer.size(self.count);
        for (kind, name, content) in self.iter() {
            writer.byte(kind.0);
            writer.text(name);
            writer.size(content.len());
            writer.raw(content);
        }
    }
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Entries, StoreError> {
        let mut entries = Entries::default();
        for _ in 0..reader.count()? {
            let (kind, name) = (EntryKind(reader.byte()?), Arc::from(reader.text()?));
            let content = decode_content(reader)?;
            if entries.get(kind, &name).is_some() {
                return Err(reader.fail("an entry is there twice"));
            }
            entries.set(kind, &name, Some(&content))?;
        }
        Ok(entries)
    }
}

/// The bytes of one entry.
pub(crate) fn decode_content(reader: &mut Reader<'_>) -> Result<Arc<[u8]>, StoreError> {
    let length = reader.count()?;
    Ok(reader.raw(length)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(length: usize) -> Arc<str> {
        "n".repeat(length).into()
    }
    fn content(length: usize) -> Arc<[u8]> {
        vec![7; length].into()
    }
    /// Through bytes and back.
    fn read_back(entries: &Entries) -> Entries {
        let mut writer = Writer::new();
        entries.encode(&mut writer);
        let mut reader = Reader::new(&writer.bytes, "entries");
        let back = Entries::decode(&mut reader).unwrap();
        reader.finish().unwrap();
        assert!(back.iter().eq(entries.iter()));
        assert_eq!((back.count, back.bytes), (entries.count, entries.bytes));
        back
    }

    #[test]
    fn each_limit_holds_below_at_and_above_it_and_is_read_as_it_is_written() {
        let mut entries = Entries::default();
        for length in [1, ENTRY_NAME_BYTES_MAX - 1, ENTRY_NAME_BYTES_MAX] {
            entries.set(EntryKind::USER, &name(length), Some(&content(1))).unwrap();
        }
        for length in [0, ENTRY_NAME_BYTES_MAX + 1] {
            assert!(entries.set(EntryKind::USER, &name(length), Some(&content(1))).is_err(), "{length}");
        }
        for length in [0, ENTRY_BYTES_MAX - 1, ENTRY_BYTES_MAX] {
            entries.set(EntryKind::STANDING, &name(3), Some(&content(length))).unwrap();
        }
        assert!(entries.set(EntryKind::STANDING, &name(3), Some(&content(ENTRY_BYTES_MAX + 1))).is_err());
        assert_eq!(entries.get(EntryKind::STANDING, "nnn").unwrap().len(), ENTRY_BYTES_MAX);
        read_back(&entries);
        let left = ENTRIES_BYTES_MAX - entries.bytes;
        for at in 0..left / (ENTRY_BYTES_MAX + 2) {
            entries.set(EntryKind(9), &format!("{at:02}").into(), Some(&content(ENTRY_BYTES_MAX))).unwrap();
        }
        let left = ENTRIES_BYTES_MAX - entries.bytes - 4;
        assert!(entries.set(EntryKind(9), &name(4), Some(&content(left + 1))).is_err());
        entries.set(EntryKind(9), &name(4), Some(&content(left))).unwrap();
        assert_eq!(read_back(&entries).bytes, ENTRIES_BYTES_MAX);
        entries.set(EntryKind(9), &name(4), None).unwrap();
        entries.set(EntryKind(9), &name(4), None).unwrap();
        assert_eq!(read_back(&entries).bytes, ENTRIES_BYTES_MAX - left - 4);
    }

    #[test]
    fn there_are_at_most_so_many() {
        let mut entries = Entries::default();
        for at in 0..ENTRIES_MAX {
            let kind = EntryKind((at % 5) as u8);
            entries.set(kind, &at.to_string().into(), Some(&content(0))).unwrap();
        }
        assert!(entries.set(EntryKind::USER, &"one".into(), Some(&content(0))).is_err());
        entries.set(EntryKind(0), &"0".into(), Some(&content(5))).unwrap();
        entries.set(EntryKind(0), &"0".into(), None).unwrap();
        entries.set(EntryKind::USER, &"one".into(), Some(&content(0))).unwrap();
        assert_eq!(read_back(&entries).len(), ENTRIES_MAX);
    }
}
