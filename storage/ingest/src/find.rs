//! Which files there are to import: a file, all files of a folder and the folders in it, or what a tar archive holds.
//!
//! An archive is unpacked into a temporary folder that goes away with the import, since its files are needed in another order than
//! they come in; messages name them by their place in the archive.

use crate::ImportError;
use crate::source::{self, InputFile};
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use world::files::{self, TemporaryFolder};

/// Folders deeper than this are not looked into: a link may lead back up.
const FOLDER_DEPTH_MAX: usize = 16;
/// Files one import may read.
const FILE_COUNT_MAX: usize = 1 << 20;
/// Where a tar archive says that it is one.
const TAR_MAGIC_AT: usize = 257;

/// The files, sorted by path, and the folder they were unpacked to, if any.
pub(crate) struct Inputs {
    pub files: Vec<InputFile>,
    _unpacked: Option<TemporaryFolder>,
}

/// Everything at `from`.
pub(crate) fn inputs(from: &Path) -> Result<Inputs, ImportError> {
    if !files::exists(from) {
        return Err(ImportError::NotFound { path: from.to_path_buf() });
    }
    let mut found = Vec::new();
    if files::is_folder(from) {
        walk(from, from, from, 0, &mut found)?;
        return Ok(Inputs { files: found, _unpacked: None });
    }
    let file = InputFile::new(from.to_path_buf(), from.to_path_buf())?;
    let head = source::head(&file)?;
    if head.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar")) {
        let folder = unpack(&file)?;
        walk(folder.path(), folder.path(), from, 0, &mut found)?;
        return Ok(Inputs { files: found, _unpacked: Some(folder) });
    }
    Ok(Inputs { files: vec![file], _unpacked: None })
}

fn walk(
    folder: &Path,
    root: &Path,
    shown: &Path,
    depth: usize,
    found: &mut Vec<InputFile>,
) -> Result<(), ImportError> {
    if depth > FOLDER_DEPTH_MAX {
        return Ok(());
    }
    for path in files::list_folder(folder)? {
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        if files::is_folder(&path) {
            walk(&path, root, shown, depth + 1, found)?;
            continue;
        }
        if found.len() >= FILE_COUNT_MAX {
            let what = format!("the folder holds more than {FILE_COUNT_MAX} files");
            return Err(ImportError::Read { path: shown.to_path_buf(), what });
        }
        let inner = path.strip_prefix(root).unwrap_or(&path);
        let shown = shown.join(inner);
        found.push(InputFile::new(path, shown)?);
    }
    Ok(())
}

fn unpack(archive: &InputFile) -> Result<TemporaryFolder, ImportError> {
    let unreadable = |error: std::io::Error| archive.unreadable(&error);
    let folder = TemporaryFolder::new("import")?;
    let mut reader = tar::Archive::new(source::open(archive, Arc::default())?);
    for entry in reader.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let inside = inside(&entry.path().map_err(unreadable)?);
        let path = folder.path().join(inside);
        files::create_folder(path.parent().unwrap_or(folder.path()))?;
        let mut writer = files::create_writer(&path)?;
        std::io::copy(&mut entry, &mut writer).map_err(unreadable)?;
        writer.flush().map_err(unreadable)?;
    }
    Ok(folder)
}

/// The path without anything that would lead out of the folder it is put into.
fn inside(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}
