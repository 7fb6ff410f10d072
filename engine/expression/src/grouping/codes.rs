//! The groups of a dictionary's texts: each text is looked up once, not once a row.

use super::numbers::NO_GROUP;
use model::column::Texts;
use std::sync::Arc;

/// Groups by code, of the dictionary that came last: neighbouring batches come from one chunk, and so share it. Where a property has few texts, the next
/// chunk has a dictionary of its own with the same texts in the same order.
#[derive(Clone, Debug, Default)]
pub(super) struct CodeGroups {
    /// Held, so that no other dictionary can lie at its address.
    dictionary: Option<Arc<Texts>>,
    groups: Vec<u32>,
}

impl CodeGroups {
    /// What comes next are codes of this dictionary.
    pub(super) fn enter(&mut self, dictionary: &Arc<Texts>) {
        let held = self.dictionary.as_ref();
        if held.is_some_and(|held| Arc::ptr_eq(held, dictionary)) {
            return;
        }
        if !held.is_some_and(|held| held.is_alike(dictionary)) {
            self.groups.clear();
            self.groups.resize(dictionary.len(), NO_GROUP);
        }
        self.dictionary = Some(dictionary.clone());
    }
    /// The group of a code; `look_up` finds it the first time.
    #[inline]
    pub(super) fn group(&mut self, code: u16, look_up: impl FnOnce() -> u32) -> u32 {
        let group = &mut self.groups[code as usize];
        if *group == NO_GROUP {
            *group = look_up();
        }
        *group
    }
    /// Bytes held, of which the dictionary's are the store's as well.
    pub(super) fn bytes(&self) -> usize {
        self.groups.capacity() * 4 + self.dictionary.as_ref().map_or(0, |dictionary| dictionary.bytes())
    }
}
