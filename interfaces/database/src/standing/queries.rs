//! The standing queries of one database, running and not yet installed.

use super::attempts::Attempts;
use super::installation::Installations;
use super::restricted::RestrictedAnswers;
use crate::accounts::Accounts;
use crate::entries::SetAside;
use ::standing::Keeper;
use execute::RootHandle;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::{Entries, EntryKind, EntryTable};
use world::disk::Disk;

/// State of the standing queries of one database.
pub(crate) struct StandingQueries {
    pub(super) keeper: Keeper,
    /// Answers for readers with restricted rights.
    pub(super) restricted: Arc<RestrictedAnswers>,
    pub(super) wake: OnceLock<RootHandle>,
    /// Those that do not run yet.
    pub(super) installations: Arc<Installations>,
    /// Entries that were heard of last, at a replica.
    heard: Mutex<Option<Arc<EntryTable>>>,
}

impl StandingQueries {
    /// The queries of a catalogue; [`crate::Database::install_waiting`] lets those run that can be read.
    pub fn open(
        keeper: Keeper,
        entries: &Entries,
        accounts: &Accounts,
        place: Option<(Arc<dyn Disk>, PathBuf)>,
    ) -> StandingQueries {
        let attempts = Attempts::read(place);
        let installations = Installations::of(entries, |tenant| accounts.tenant(tenant), attempts);
        let installations = Arc::new(installations);
        let heard = Mutex::new(entries.table(EntryKind::STANDING).cloned());
        StandingQueries { keeper, restricted: Arc::default(), wake: OnceLock::new(), installations, heard }
    }
    /// Ends all subscriptions and installations.
    pub fn close(&self) {
        self.installations.close();
        self.keeper.close();
        self.restricted.close();
    }
    /// Waits until no query of the catalogue waits for its installation any more, or for so long.
    pub fn await_installed(&self, time: Duration) {
        self.installations.await_rest(time);
    }
    /// Names of queries in the catalogue whose first answer is not computed yet.
    pub fn waiting(&self) -> Vec<String> {
        self.installations.waiting()
    }
    /// Those that are set aside.
    pub fn set_aside(&self) -> Vec<SetAside> {
        self.installations.set_aside()
    }
    /// Remembers these entries; returns the ones before, if they differ.
    pub(super) fn hear(&self, entries: &Entries) -> Option<Arc<EntryTable>> {
        let told = entries.table(EntryKind::STANDING).cloned();
        let mut heard = self.heard.lock();
        let is_same = match (&*heard, &told) {
            (Some(own), Some(told)) => Arc::ptr_eq(own, told) || own == told,
            (own, told) => own.is_none() && told.is_none(),
        };
        let before = std::mem::replace(&mut *heard, told);
        (!is_same).then(|| before.unwrap_or_default())
    }
    pub(super) fn is_kept(&self, name: &str) -> bool {
        self.keeper.has(name)
    }
}

impl Drop for StandingQueries {
    fn drop(&mut self) {
        self.installations.close();
    }
}
