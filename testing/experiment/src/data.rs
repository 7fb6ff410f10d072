//! Packed data sets: found in the given folder, unpacked once into a cache folder, left alone afterwards.

use std::io::{Read, Write as _};
use std::path::{Component, Path, PathBuf};
use world::files;

/// A folder name inside the cache ends with this file once everything is unpacked.
const COMPLETE: &str = "unpacked-completely";
/// Bytes that one archive may unpack to: far above the largest set in use, far below a disk.
const UNPACKED_BYTES_MAX: u64 = 8 << 30;

/// Where unpacked data and databases under test lie.
pub fn cache_folder() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = from("XDG_CACHE_HOME").or_else(|| from("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("tanglewood").join("bench")
}

/// The folder with the contents of `folder/name.tar.zst`, unpacked now or earlier; says which.
///
/// # Errors
/// The archive is missing or damaged, or the cache cannot be written.
pub fn unpacked(folder: &Path, name: &str) -> Result<(PathBuf, bool), String> {
    let packed = folder.join(format!("{name}.tar.zst"));
    let size = files::size_bytes(&packed).map_err(|error| error.to_string())?;
    let target = cache_folder().join(format!("{name}-{size}"));
    if files::exists(&target.join(COMPLETE)) {
        return Ok((target, false));
    }
    unpack(&packed, &target)?;
    files::write_bytes(&target.join(COMPLETE), b"").map_err(|error| error.to_string())?;
    Ok((target, true))
}

/// The text of `folder/name`, or of `folder/name.zst`.
///
/// # Errors
/// Neither is there, or it is damaged.
pub fn text(folder: &Path, name: &str) -> Result<String, String> {
    let plain = folder.join(name);
    if files::exists(&plain) {
        return files::read_text(&plain).map_err(|error| error.to_string());
    }
    let packed = folder.join(format!("{name}.zst"));
    let mut text = String::new();
    let mut reader = decoder(&packed)?;
    reader.read_to_string(&mut text).map_err(|error| format!("{}: {error}", packed.display()))?;
    Ok(text)
}

fn decoder(packed: &Path) -> Result<impl Read, String> {
    let reader = files::open_reader(packed).map_err(|error| error.to_string())?;
    ruzstd::decoding::StreamingDecoder::new(reader)
        .map_err(|error| format!("{} is not zstd: {error}", packed.display()))
}

fn unpack(packed: &Path, target: &Path) -> Result<(), String> {
    let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", packed.display());
    let mut archive = tar::Archive::new(decoder(packed)?);
    let mut bytes_total = 0;
    for entry in archive.entries().map_err(|error| fault(&error))? {
        let mut entry = entry.map_err(|error| fault(&error))?;
        let path = entry.path().map_err(|error| fault(&error))?.into_owned();
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(fault(&format_args!("`{}` would be written outside of the cache", path.display())));
        }
        if !entry.header().entry_type().is_file() {
            continue;
        }
        bytes_total += entry.header().size().map_err(|error| fault(&error))?;
        if bytes_total > UNPACKED_BYTES_MAX {
            return Err(fault(&"unpacks to more than the limit"));
        }
        let path = target.join(path);
        let parent = path.parent().unwrap_or(target);
        files::create_folder(parent).map_err(|error| error.to_string())?;
        let mut writer = files::create_writer(&path).map_err(|error| error.to_string())?;
        std::io::copy(&mut entry, &mut writer).map_err(|error| fault(&error))?;
        writer.flush().map_err(|error| fault(&error))?;
    }
    Ok(())
}

/// The first folder of this name at or below `folder`.
pub fn find_folder(folder: &Path, name: &str) -> Option<PathBuf> {
    if folder.file_name().is_some_and(|own| own == name) {
        return Some(folder.to_path_buf());
    }
    let below = files::list_folder(folder).ok()?;
    below.iter().filter(|path| files::is_folder(path)).find_map(|path| find_folder(path, name))
}
