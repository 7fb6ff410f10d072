//! Counts deaths of the process while a standing query was being installed.
//!
//! ```text
//!   no file ──open──> the file, without names ──all installed──> no file
//!                            │ the process dies
//!                            v
//!                     one by one: the file names the query and how often it was begun, then forgets it
//! ```
//!
//! Problem: an installation may end the whole process, so that nothing is left to set the query aside; how does the next open know? Idea: a small
//! file beside the graph, replaced in one step and synced, says that queries are being installed. If an open finds it, the process died during an
//! installation; from then on the file names each query before it is installed. One that was begun [`DEATHS_MAX`] times without an end is set aside.
//! A process that is killed in just that moment counts as a death too; RETRY undoes that. Cost: two writes of a few bytes at an open; one for each
//! query after a death. If the disk refuses, queries are installed even so.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use world::disk::{Disk, replace_whole};

/// Deaths after which a query is installed again only by RETRY.
pub const DEATHS_MAX: u32 = 3;

/// The file beside the graph. It holds JSON: the names of the queries that were begun, and how often.
const FILE: &str = "installing.json";

/// The installations that were begun and did not end.
pub(super) struct Attempts {
    /// Nowhere in memory.
    place: Option<(Arc<dyn Disk>, PathBuf)>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    begun: BTreeMap<String, u32>,
    /// Is each query named before it is installed?
    one_by_one: bool,
}

impl Attempts {
    /// Reads the file that the last process left in the folder.
    pub fn read(place: Option<(Arc<dyn Disk>, PathBuf)>) -> Attempts {
        let left = place.as_ref().and_then(|(disk, folder)| {
            let file = folder.join(FILE);
            disk.exists(&file).unwrap_or(false).then(|| disk.read_whole(&file).unwrap_or_default())
        });
        // A file that cannot be read tells that there was an installation, and no more.
        let begun = left.as_deref().and_then(|left| serde_json::from_slice(left).ok()).unwrap_or_default();
        Attempts { place, inner: Mutex::new(Inner { begun, one_by_one: left.is_some() }) }
    }
    /// The reason not to install a query, if there is one.
    pub fn refusal(&self, name: &str) -> Option<String> {
        let deaths = *self.inner.lock().begun.get(name)?;
        let why = format!("the process ended {deaths} times while it was being installed");
        (deaths >= DEATHS_MAX).then_some(why)
    }
    /// Queries will be installed.
    pub fn begin_all(&self) {
        let inner = self.inner.lock();
        if !inner.one_by_one {
            self.write(&inner.begun);
        }
    }
    /// This one is installed next.
    pub fn begin(&self, name: &str) {
        let mut inner = self.inner.lock();
        if inner.one_by_one {
            *inner.begun.entry(name.into()).or_default() += 1;
            self.write(&inner.begun);
        }
    }
    /// Its installation ended, in whatever way. Writes nothing: the next step does.
    pub fn ended(&self, name: &str) {
        self.inner.lock().begun.remove(name);
    }
    /// It was dropped, or shall be tried as if for the first time; others may be being installed.
    pub fn pardon(&self, name: &str, is_busy: bool) {
        let mut inner = self.inner.lock();
        if inner.begun.remove(name).is_some() && !is_busy {
            self.settle(&inner.begun);
        }
    }
    /// None is being installed any more.
    pub fn end_all(&self) {
        let mut inner = self.inner.lock();
        // Only an open has many to install.
        inner.one_by_one = true;
        self.settle(&inner.begun);
    }
    /// Writes the file as it is while no query is installed: removed unless it has names.
    fn settle(&self, begun: &BTreeMap<String, u32>) {
        if !begun.is_empty() {
            return self.write(begun);
        }
        if let Some((disk, folder)) = &self.place {
            // If it stays, the next open goes one by one.
            let _ = disk.remove(&folder.join(FILE)).and_then(|()| disk.sync_dir(folder));
        }
    }
    fn write(&self, begun: &BTreeMap<String, u32>) {
        if let Some((disk, folder)) = &self.place {
            let bytes = serde_json::to_vec(begun).unwrap_or_default();
            // Where the disk is full, queries are installed even so.
            let _ = replace_whole(&**disk, folder, FILE, &bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use world::disk::{OpenHow, SimDisk};

    fn attempts(disk: &SimDisk) -> Attempts {
        Attempts::read(Some((Arc::new(disk.clone()), "/db".into())))
    }
    fn disk() -> SimDisk {
        let disk = SimDisk::new();
        disk.create_dir_all(Path::new("/db")).unwrap();
        disk
    }

    #[test]
    fn a_query_is_refused_after_so_many_deaths_and_others_are_not() {
        let mut disk = disk();
        for death in 0..=DEATHS_MAX {
            let attempts = attempts(&disk);
            assert_eq!(attempts.refusal("pill"), None, "{death}");
            attempts.begin_all();
            attempts.begin("fine");
            attempts.ended("fine");
            attempts.begin("pill");
            disk = disk.crash(u64::from(death));
        }
        let again = attempts(&disk);
        assert!(again.refusal("pill").unwrap().contains("3 times") && again.refusal("fine").is_none());
        again.begin_all();
        again.begin("fine");
        again.ended("fine");
        again.end_all();
        assert!(attempts(&disk).refusal("pill").is_some(), "also at the next open");
        again.pardon("fine", false);
        again.pardon("pill", false);
        assert_eq!(disk.list(Path::new("/db")).unwrap(), [""; 0]);
    }

    #[test]
    fn a_file_that_cannot_be_read_and_a_full_disk_keep_nobody_from_installing() {
        let disk = disk();
        for left in ["", "{", "[1]", "{\"a\": -1}"] {
            disk.open(&Path::new("/db").join(FILE), OpenHow::Replace)
                .unwrap()
                .append(left.as_bytes())
                .unwrap();
            let attempts = attempts(&disk);
            assert!(attempts.inner.lock().one_by_one && attempts.refusal("a").is_none());
        }
        disk.set_faults(world::disk::Faults { full_at: Some(0), ..Default::default() });
        let attempts = attempts(&disk);
        attempts.begin_all();
        attempts.begin("a");
        attempts.end_all();
        Attempts::read(None).end_all();
    }
}
