//! Files under names in a folder or an object store, for copies that outlive a machine.
//!
//! `file:///folder` and a plain path are a folder, which machines may share; `s3://bucket/prefix`, `gs://…` and `az://…` an object store (feature
//! `object-stores`). Invariant: a name has a whole file or none: a file is complete before it gets its name.

use super::names::scheme;
use formats::urls::redacted;
use std::path::{Path, PathBuf};
use world::disk::{Disk, DiskResult, OpenHow, RealDisk};
use world::files;

/// Bytes that are copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// A place of files by name.
#[derive(Debug)]
pub struct NamedFiles {
    /// The URL, without what it must not show.
    shown: String,
    kind: BlobPlace,
}

#[derive(Debug)]
enum BlobPlace {
    Folder(PathBuf),
    #[cfg(feature = "object-stores")]
    Store(super::stores::NamedObjects),
}

impl NamedFiles {
    /// Of a URL or a path. A folder is made with its first file.
    ///
    /// # Errors
    /// The URL names no store, or this build has none.
    pub fn open(url: &str) -> Result<NamedFiles, String> {
        let shown = redacted(url);
        let kind = match scheme(url).as_deref() {
            None => BlobPlace::Folder(PathBuf::from(url)),
            Some("file") => {
                let path = url.get("file://".len()..).unwrap_or_default();
                let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned();
                if !path.starts_with('/') {
                    return Err("a folder is named as file:///folder".into());
                }
                BlobPlace::Folder(path.into())
            }
            Some("http" | "https") => {
                return Err(format!("{shown} cannot be written to; name a folder, or s3://bucket/prefix"));
            }
            Some(_) => store(url)?,
        };
        Ok(NamedFiles { shown, kind })
    }
    /// The URL, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }
    /// Stores a file under a name, in place of the one before.
    ///
    /// # Errors
    /// It cannot be read or stored.
    pub fn put(&self, name: &str, file: &Path) -> Result<(), String> {
        match &self.kind {
            BlobPlace::Folder(folder) => {
                put_in_folder(&folder.join(name), file).map_err(|error| error.to_string())
            }
            #[cfg(feature = "object-stores")]
            BlobPlace::Store(store) => store.put(name, file),
        }
    }
    /// Writes the file of a name into a new file; false where there is none.
    ///
    /// # Errors
    /// It cannot be read, or the new file cannot be written.
    pub fn get(&self, name: &str, file: &Path) -> Result<bool, String> {
        match &self.kind {
            BlobPlace::Folder(folder) => {
                let from = folder.join(name);
                if !files::exists(&from) {
                    return Ok(false);
                }
                copy(&from, file).map(|()| true).map_err(|error| error.to_string())
            }
            #[cfg(feature = "object-stores")]
            BlobPlace::Store(store) => store.get(name, file),
        }
    }
}

/// Copies a file beside its name, and renames it when it is whole.
fn put_in_folder(to: &Path, from: &Path) -> DiskResult<()> {
    let folder = to.parent().unwrap_or(to);
    RealDisk.create_dir_all(folder)?;
    let new = to.with_extension("new");
    copy(from, &new)?;
    RealDisk.rename(&new, to)?;
    RealDisk.sync_dir(folder)
}

/// Copies a file; the copy is durable on return.
fn copy(from: &Path, to: &Path) -> DiskResult<()> {
    let (from, to) = (RealDisk.open(from, OpenHow::Read)?, RealDisk.open(to, OpenHow::Replace)?);
    let (mut piece, mut at) = (vec![0; PIECE_BYTES], 0);
    loop {
        let count = from.read_at(&mut piece, at)?;
        if count == 0 {
            return to.sync();
        }
        to.append(&piece[..count])?;
        at += count as u64;
    }
}

#[cfg(feature = "object-stores")]
fn store(url: &str) -> Result<BlobPlace, String> {
    super::stores::NamedObjects::open(url).map(BlobPlace::Store)
}

#[cfg(not(feature = "object-stores"))]
fn store(_: &str) -> Result<BlobPlace, String> {
    Err("this program was built without the feature `object-stores`; the binaries that are handed out have it".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::files::TemporaryFolder;

    /// What is put comes back whole; a later file takes the place of an earlier one, and what is not there is no error.
    #[test]
    fn files_of_a_folder_are_found_by_name() {
        let scratch = TemporaryFolder::new("blobs").unwrap();
        let (one, back) = (scratch.path().join("one"), scratch.path().join("back"));
        let folder = scratch.path().join("deep/blobs");
        for url in [folder.display().to_string(), format!("file://{}", folder.display())] {
            let blobs = NamedFiles::open(&url).unwrap();
            for bytes in [vec![], vec![7; 3 * PIECE_BYTES + 5], vec![1, 2, 3]] {
                files::write_bytes(&one, &bytes).unwrap();
                blobs.put("shard-0/checkpoint", &one).unwrap();
                assert_eq!(blobs.get("shard-0/checkpoint", &back), Ok(true));
                assert_eq!(files::read_bytes(&back).unwrap(), bytes);
            }
            assert_eq!(blobs.get("shard-1/checkpoint", &back), Ok(false));
        }
        assert!(NamedFiles::open("https://host/x").is_err() && NamedFiles::open("file://host/x").is_err());
    }
}
