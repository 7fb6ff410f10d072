//! The history file of the shell: under the user's state folder, or none if that cannot be written.

use std::path::PathBuf;

/// Inputs kept; the oldest go first.
pub(crate) const ENTRIES_MAX: usize = 5_000;

/// The file, in a folder that exists.
pub(crate) fn file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    let folder = state.join("tanglewood");
    world::files::create_folder(&folder).ok()?;
    Some(folder.join("history"))
}
