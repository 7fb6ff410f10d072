//! What the commands share: arguments, data, times.

use experiment::data;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use world::clock::monotonic_ns;
use world::files;

/// How a command is started.
const USAGE: &str = "[DATA] [--out FOLDER] [--page PAGE.md] [--postgres CONNECTION]";

/// What a command was started with.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// The folder of packed data sets, or one data set as a folder or a file; without it, data is drawn.
    pub data: Option<PathBuf>,
    /// Where numbers and pictures go.
    pub out: Option<PathBuf>,
    /// The page of the guide whose block of figures is written anew, with numbers and pictures beside it.
    pub page: Option<PathBuf>,
    /// A server of PostgreSQL that is measured beside, as a text of connection.
    pub postgres: Option<String>,
}

impl Arguments {
    /// Those of this process.
    ///
    /// # Errors
    /// One is not known, or has no value.
    pub fn read() -> Result<Arguments, String> {
        Arguments::of(std::env::args().skip(1))
    }
    fn of(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut read = Arguments::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} wants a value"));
            match word.as_str() {
                "--out" => read.out = Some(value()?.into()),
                "--page" => read.page = Some(value()?.into()),
                "--postgres" => read.postgres = Some(value()?),
                other if other.starts_with('-') || read.data.is_some() => {
                    return Err(format!("`{other}` is not known; usage: {USAGE}"));
                }
                _ => read.data = Some(word.into()),
            }
        }
        Ok(read)
    }
    /// The folder `inner` of the data set `archive`, unpacked if the data is a folder of packed sets; none where data is to be drawn.
    ///
    /// # Errors
    /// The archive is damaged or lacks that folder.
    pub fn folder(&self, archive: &str, inner: &str) -> Result<Option<PathBuf>, String> {
        let Some(folder) = &self.data else { return Ok(None) };
        if !files::exists(&folder.join(format!("{archive}.tar.zst"))) {
            return Ok(Some(data::find_folder(folder, inner).unwrap_or_else(|| folder.clone())));
        }
        let (unpacked, _) = data::unpacked(folder, archive)?;
        let found =
            data::find_folder(&unpacked, inner).ok_or(format!("{archive} holds no folder `{inner}`"))?;
        Ok(Some(found))
    }
    /// The text of the data set: of the file that was given, or of `name`, packed or not, in the folder that was given.
    ///
    /// # Errors
    /// There is no such file, or it is damaged.
    pub fn text(&self, name: &str) -> Result<Option<String>, String> {
        match &self.data {
            None => Ok(None),
            Some(folder) if files::is_folder(folder) => data::text(folder, name).map(Some),
            Some(file) => files::read_text(file).map(Some).map_err(|error| error.to_string()),
        }
    }
}

/// Lines of a text file, without the first `skip`.
///
/// # Errors
/// The file is not there.
pub fn lines(file: &Path, skip: usize) -> Result<Vec<String>, String> {
    let text = files::read_text(file).map_err(|error| error.to_string())?;
    Ok(text.lines().skip(skip).map(str::to_string).collect())
}

/// Runs `work`, and tells its time.
///
/// # Errors
/// Those of `work`, as texts.
pub fn timed<T>(work: impl FnOnce() -> Result<T, database::Error>) -> Result<(T, Duration), String> {
    let begin_ns = monotonic_ns();
    let made = work().map_err(|error| told(&error))?;
    Ok((made, since(begin_ns)))
}

/// The time since that moment of the monotonic clock.
pub fn since(begin_ns: u64) -> Duration {
    Duration::from_nanos(monotonic_ns().saturating_sub(begin_ns))
}

/// An error with its hint.
pub fn told(error: &database::Error) -> String {
    match &error.hint {
        Some(hint) => format!("{} ({hint})", error.message),
        None => error.message.clone(),
    }
}

/// Says that something is over when it is dropped: also where the work failed or panicked, so that nobody waits for its end for ever.
pub struct Over<'f>(pub &'f AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::files::TemporaryFolder;

    #[test]
    fn arguments_are_read_or_refused() {
        let read = |words: &[&str]| Arguments::of(words.iter().map(|word| (*word).to_string()));
        let full = read(&["d", "--out", "o", "--page", "p.md", "--postgres", "host=/tmp"]).unwrap();
        assert_eq!(
            (full.data, full.out, full.page),
            (Some("d".into()), Some("o".into()), Some("p.md".into()))
        );
        assert_eq!(full.postgres.as_deref(), Some("host=/tmp"));
        for wrong in [&["a", "b"][..], &["--out"], &["--what"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn data_is_a_folder_or_what_lies_in_it() {
        let folder = TemporaryFolder::new("data").unwrap();
        let of = |path: &Path| Arguments { data: Some(path.into()), ..Arguments::default() };
        assert_eq!(of(folder.path()).folder("set", "inner").unwrap().as_deref(), Some(folder.path()));
        let inner = folder.path().join("more/inner");
        files::create_folder(&inner).unwrap();
        assert_eq!(of(folder.path()).folder("set", "inner").unwrap(), Some(inner.clone()));
        files::write_bytes(&inner.join("a.txt"), b"x\ny\n").unwrap();
        assert_eq!(of(&inner).text("a.txt").unwrap().as_deref(), Some("x\ny\n"));
        assert_eq!(of(&inner.join("a.txt")).text("b.txt").unwrap().as_deref(), Some("x\ny\n"));
        assert!(of(&inner).text("b.txt").is_err());
        assert_eq!(lines(&inner.join("a.txt"), 1).unwrap(), ["y"]);
        assert_eq!(Arguments::default().folder("set", "inner").unwrap(), None);
        files::write_bytes(&folder.path().join("set.tar.zst"), b"damaged").unwrap();
        assert!(of(folder.path()).folder("set", "inner").is_err());
    }
}
