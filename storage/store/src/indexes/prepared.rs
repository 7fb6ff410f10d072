//! Building an index while commits go on.
//!
//! Idea: the entries are collected from a snapshot, beside commits; later changes are found by comparing the directory of that snapshot with the next
//! one: only chunks that differ are read, and of those that share their base only the changed vertices. Each round takes less time than the last, so
//! the commit that creates the index finds almost nothing left to do. However it was prepared, the index equals one built from nothing; only the time
//! differs. Limit: see [`PREPARED_MAX`].

use crate::StoreError;
use crate::indexes::changes::changed_entries;
use crate::indexes::collect::collect_entries;
use crate::indexes::edges::not_unique;
use crate::indexes::gather::Gathered;
use crate::indexes::run::Entry;
use crate::indexes::tree::Index;
use crate::paging::pager::Pager;
use crate::schema::catalog::Catalog;
use crate::versions::directory::Directory;
use model::pace;
use model::schema::IndexDefinition;
use parking_lot::Mutex;
use std::sync::Arc;

/// Indexes prepared at once; the oldest is forgotten for one more.
const PREPARED_MAX: usize = 4;

/// An index as of one directory.
pub(crate) struct PreparedIndex {
    pub(crate) index: Index,
    directory: Directory,
}

/// Indexes prepared for commits to come.
#[derive(Default)]
pub(crate) struct Prepared(Mutex<Vec<PreparedIndex>>);

impl Prepared {
    /// The index prepared for this definition, with its name and number: it may have been prepared before it had them.
    pub(crate) fn take(&self, definition: &IndexDefinition) -> Option<PreparedIndex> {
        let mut all = self.0.lock();
        let at = all.iter().position(|prepared| is_for(&prepared.index.definition, definition))?;
        let mut taken = all.swap_remove(at);
        taken.index.definition = Arc::new(definition.clone());
        Some(taken)
    }
    pub(crate) fn put(&self, prepared: PreparedIndex) {
        let mut all = self.0.lock();
        if all.len() == PREPARED_MAX {
            all.remove(0);
        }
        all.push(prepared);
    }
}

/// Would both have the same entries? Names and numbers are assigned last.
fn is_for(prepared: &IndexDefinition, definition: &IndexDefinition) -> bool {
    prepared.target == definition.target
        && prepared.keys == definition.keys
        && prepared.unique == definition.unique
}

impl Index {
    /// An index over all that a directory holds.
    pub(crate) fn over(
        catalog: &Catalog,
        directory: &Directory,
        definition: &IndexDefinition,
        pager: &Arc<Pager>,
    ) -> Result<Index, StoreError> {
        let mut gathered = Gathered::new(definition, None);
        for (number, cell) in directory.iter() {
            gathered.take(|open| collect_entries(catalog, number, cell, definition, open))?;
        }
        gathered.index(None, pager)
    }
}

impl PreparedIndex {
    /// An index over all that this directory holds.
    pub(crate) fn new(
        catalog: &Catalog,
        directory: &Directory,
        definition: &IndexDefinition,
        pager: &Arc<Pager>,
    ) -> Result<PreparedIndex, StoreError> {
        let index = Index::over(catalog, directory, definition, pager)?;
        Ok(PreparedIndex { index, directory: directory.clone() })
    }
    /// The index as of this directory.
    pub(crate) fn caught_up(
        mut self,
        catalog: &Catalog,
        directory: &Directory,
        delta_min: usize,
    ) -> Result<PreparedIndex, StoreError> {
        let definition = self.index.definition.clone();
        // Who leaves a key goes first, so that who comes to it is not taken for a duplicate.
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for (number, new) in directory.iter() {
            let old = self.directory.get(number);
            if old.is_none_or(|old| !Arc::ptr_eq(old, new)) {
                changed_entries(catalog, &definition, number, (old, new), (&mut gone, &mut come))?;
            }
        }
        for Entry { key, vertex } in gone {
            pace::spend(1)?;
            self.index.remove(key, vertex, delta_min)?;
        }
        for Entry { key, vertex } in come {
            pace::spend(1)?;
            if definition.unique
                && let Some(other) = self.index.seek_entries(&key.values()[..definition.keys.len()])?.first()
            {
                return Err(not_unique(&definition, other, &Entry { key, vertex }));
            }
            self.index.insert(key, vertex, delta_min)?;
        }
        self.directory = directory.clone();
        Ok(self)
    }
}
