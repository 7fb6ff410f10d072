//! A spill file of an import, in a temporary folder that is removed with it.

use crate::ImportError;
use std::path::Path;
use store::{Spill, StoreError};
use world::disk::{Disk, DiskError, DiskFile, OpenHow, RealDisk};
use world::files::TemporaryFolder;

/// The file.
pub(crate) struct SpillFile {
    // Before the folder, so that it is closed when that goes.
    file: Box<dyn DiskFile>,
    _folder: TemporaryFolder,
}

impl SpillFile {
    /// A file inside `folder`, or where the system keeps temporary files.
    pub fn create(folder: Option<&Path>) -> Result<SpillFile, ImportError> {
        let folder = match folder {
            Some(folder) => TemporaryFolder::inside(folder, "import")?,
            None => TemporaryFolder::new("import")?,
        };
        let file = RealDisk.open(&folder.path().join("aside"), OpenHow::CreateNew)?;
        Ok(SpillFile { file, _folder: folder })
    }
}

fn fault(error: &DiskError) -> StoreError {
    StoreError::Source(error.to_string().into())
}

impl Spill for SpillFile {
    fn write(&self, bytes: &[u8]) -> Result<u64, StoreError> {
        self.file.append(bytes).map_err(|error| fault(&error))
    }
    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; len];
        match self.file.read_at(&mut bytes, at).map_err(|error| fault(&error))? {
            read if read == len => Ok(bytes),
            _ => Err(StoreError::corrupt("the file of what an import put aside became shorter")),
        }
    }
}
