//! Disk: the files of a database, real or simulated.
//!
//! Problem: a crate above must write bytes that survive power loss, and a test must be able to take the power away. Idea: two small object-safe
//! traits, [`Disk`] (names) and [`DiskFile`] (bytes). [`RealDisk`] passes them to the operating system; [`SimDisk`] keeps them in memory, remembers
//! what was synced, and can be crashed at any step.
//! Invariant: the contract is the weakest that real disks keep. Bytes are safe after [`DiskFile::sync`]; names (create, rename,
//! remove) are safe after [`Disk::sync_dir`] of their folder; nothing else is, and un-synced writes reach the disk in any order.
//! Cost: one virtual call per operation, which is nothing beside the system call.

mod contract;
mod error;
mod overlay;
mod real;
mod sim;

use std::path::Path;

pub use contract::{Disk, DiskFile, DiskLock, OpenHow};
pub use error::{DiskError, DiskResult};
pub use overlay::OverlayDisk;
pub(crate) use real::FOLDER_MODE;
pub use real::RealDisk;
pub use sim::{Faults, SimDisk};

/// Writes a file of this name in a folder, in place of the one that is there. Durable on return; after a crash the old or the new
/// one is there, whole. The bytes are written under the name with `.new` behind it first.
///
/// # Errors
/// As the disk says. A full disk leaves the old file as it was; after another error either may be there.
pub fn replace_whole(disk: &dyn Disk, folder: &Path, name: &str, bytes: &[u8]) -> DiskResult<()> {
    let fresh = folder.join(format!("{name}.new"));
    write_synced(disk, &fresh, bytes)?;
    disk.rename(&fresh, &folder.join(name))?;
    disk.sync_dir(folder)
}

/// Writes a file whole and makes its bytes durable. Its name is durable after its folder is synced.
///
/// # Errors
/// As the disk says; then the file may hold any part of the bytes.
pub fn write_synced(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> DiskResult<()> {
    let file = disk.open(path, OpenHow::Replace)?;
    file.write_at(bytes, 0)?;
    file.sync()
}

#[cfg(test)]
mod tests;
