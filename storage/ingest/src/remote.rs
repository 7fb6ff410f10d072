//! Files of an import that lie behind a URL: brought into a folder of this machine first, for an import reads its files more than once.
//!
//! `https://…` and `http://…` are one file (feature `urls`); `s3://bucket/…`, `gs://…` and `az://…` one object, or all below a prefix (feature
//! `object-stores`); `file:///…` is a path. Whoever imports has the rights of the process, so no host is refused.

use crate::{ImportError, ImportOptions};
use formats::urls::redacted;
use names::{file_name, scheme};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use world::files::TemporaryFolder;

pub mod blobs;
pub(crate) mod names;
#[cfg(feature = "object-stores")]
mod stores;

pub use names::is_url;

/// The local copies of an import's files.
#[derive(Debug)]
pub struct Brought {
    /// The folder or file.
    pub path: PathBuf,
    _folder: Option<TemporaryFolder>,
}

/// Downloads the files that the options name by URLs, and names them by paths instead. Keep the result until the files were read.
///
/// # Errors
/// As [`bring`].
pub fn bring_all(options: &mut ImportOptions) -> Result<Vec<Brought>, ImportError> {
    let stop = options.stop.clone();
    let goes_on = move || stop.as_ref().is_none_or(|stop| !stop.load(Ordering::Acquire));
    let beside = options.spill_folder.clone();
    let (mut brought, mut told_as) = (Vec::<Brought>::new(), Vec::<(PathBuf, PathBuf)>::new());
    let mut known: Vec<(String, PathBuf)> = Vec::new();
    let mut place = |path: &mut PathBuf| -> Result<(), ImportError> {
        let Some(url) = path.to_str().filter(|text| is_url(text)) else { return Ok(()) };
        let url = url.to_string();
        if let Some((_, found)) = known.iter().find(|(known, _)| *known == url) {
            path.clone_from(found);
            return Ok(());
        }
        let found = bring(&url, beside.as_deref(), &goes_on)?;
        told_as.push((found.path.clone(), redacted(&url).into()));
        path.clone_from(&found.path);
        known.push((url, found.path.clone()));
        brought.push(found);
        Ok(())
    };
    match options.mapping.is_empty() {
        true => place(&mut options.from)?,
        false => options.mapping.files_mut().try_for_each(place)?,
    }
    options.told_as.append(&mut told_as);
    if goes_on() { Ok(brought) } else { Err(ImportError::Stopped) }
}

/// Downloads the files of a URL into a temporary folder, in `beside` or in the system's; `goes_on` is polled now and then.
///
/// # Errors
/// It does not exist, or may not be read; the disk refuses; `goes_on` returned false; this build has no reader for it.
pub fn bring(
    url: &str,
    beside: Option<&Path>,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<Brought, ImportError> {
    let wrong = |what: String| ImportError::Read { path: PathBuf::from(redacted(url)), what };
    match scheme(url).as_deref() {
        Some("file") => {
            let path = url.get("file://".len()..).unwrap_or_default();
            let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned();
            if !path.starts_with('/') {
                return Err(wrong("a file is named as file:///folder/name".into()));
            }
            Ok(Brought { path: path.into(), _folder: None })
        }
        Some("http" | "https") => {
            let folder = new_folder(beside)?;
            let path = folder.path().join(file_name(url));
            fetch(url, &path, goes_on).map_err(wrong)?;
            Ok(Brought { path, _folder: Some(folder) })
        }
        _ => {
            let folder = new_folder(beside)?;
            let path = objects(url, folder.path(), goes_on).map_err(wrong)?;
            Ok(Brought { path, _folder: Some(folder) })
        }
    }
}

fn new_folder(beside: Option<&Path>) -> Result<TemporaryFolder, ImportError> {
    Ok(match beside {
        Some(folder) => TemporaryFolder::inside(folder, "import")?,
        None => TemporaryFolder::new("import")?,
    })
}

#[cfg(feature = "urls")]
fn fetch(url: &str, to: &Path, goes_on: &dyn Fn() -> bool) -> Result<(), String> {
    use std::io::Write;
    let reader = crate::UrlRules::everything().reader()?.ok_or("nothing reads URLs")?;
    let mut writer = world::files::create_writer(to).map_err(|error| error.to_string())?;
    reader.read(url, &mut writer, goes_on)?;
    writer.flush().map_err(|error| error.to_string())
}

#[cfg(not(feature = "urls"))]
fn fetch(_: &str, _: &Path, _: &dyn Fn() -> bool) -> Result<(), String> {
    Err("this program was built without the feature `urls`".into())
}

#[cfg(feature = "object-stores")]
fn objects(url: &str, folder: &Path, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<PathBuf, String> {
    stores::bring(url, folder, goes_on)
}

#[cfg(not(feature = "object-stores"))]
fn objects(_: &str, _: &Path, _: &(dyn Fn() -> bool + Sync)) -> Result<PathBuf, String> {
    Err("this program was built without the feature `object-stores`; the binaries that are handed out have it".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_this_machine_is_read_where_it_is() {
        let brought = bring("file:///tmp/a%20b", None, &|| true).unwrap();
        assert_eq!(brought.path, Path::new("/tmp/a b"));
        assert!(bring("file://host/a", None, &|| true).is_err());
    }
}
