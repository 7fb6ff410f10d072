//! The folder of a database: opened if it is there, made where a command may make one, and taken back if that command then fails.

use super::{Exit, units};
use clap::Args;
use database::{Database, Error, History, MEMORY, Options, UrlRules};
use std::path::{Path, PathBuf};
use world::disk::{Disk, RealDisk};

/// Folders deeper than this are not a database's.
const DEPTH_MAX: usize = 4;

// How a database is opened, for every command that asks it. (No doc comment: it would become the command's own help.)
#[derive(Args)]
pub struct Opening {
    /// Memory for the graph, such as 512MB or 2GiB; beyond it parts of it are read from disk when they are needed
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    memory: Option<u64>,
    /// Keep the past from now on: none, forever, or a time such as 7d
    #[arg(long, value_name = "HOW")]
    history: Option<History>,
    /// Folder below which LOAD may read files; without it, it reads none
    #[arg(long, value_name = "FOLDER")]
    import_folder: Option<PathBuf>,
    /// Host of which LOAD may read URLs: a name, `*.` and a domain, or `*` for all that are public; by https unless `http://` stands before it
    #[arg(long, value_name = "HOST", value_parser = UrlRules::parse)]
    import_urls: Vec<UrlRules>,
    /// Folder below which `CALL dbms.backup` may make backups; without it, it makes none
    #[arg(long, value_name = "FOLDER")]
    backup_folder: Option<PathBuf>,
}

impl Opening {
    /// As the database takes them.
    pub fn options(&self) -> Options {
        Options {
            memory_bytes: self.memory,
            history: self.history,
            import_folder: self.import_folder.clone(),
            import_urls: self.import_urls.iter().cloned().collect(),
            backup_folder: self.backup_folder.clone(),
            ..Options::default()
        }
    }
}

/// Opens a database that must exist, unless `create`.
pub fn open(path: &Path, create: bool, mut options: Options) -> Result<Database, Exit> {
    options.create = create || is_memory(path);
    if !options.create && !world::files::exists(path) {
        let message = format!("there is no database at {}", path.display());
        let hint = format!(
            "`tanglewood import {0} --from FILES` makes one from files; `--create` makes an empty one",
            path.display()
        );
        return Err(Error::new("Tanglewood.ClientError.Database.NotFound", message).hint(hint).into());
    }
    Ok(Database::open(path, options)?)
}

/// Is there no folder to speak of?
pub fn is_memory(path: &Path) -> bool {
    path.as_os_str() == MEMORY
}

/// A database that was made if there was none. Unless it is kept, what was made is removed again.
pub struct Made {
    database: Option<Database>,
    undo: Option<PathBuf>,
    had_folder: bool,
}

impl Made {
    /// Opens or makes the database.
    pub fn open(path: &Path, options: Options) -> Result<Made, Exit> {
        let had_folder = world::files::exists(path);
        let is_new = !is_memory(path)
            && (!had_folder || world::files::list_folder(path).is_ok_and(|content| content.is_empty()));
        let database = open(path, true, options)?;
        let undo = is_new.then(|| path.to_path_buf());
        Ok(Made { database: Some(database), undo, had_folder })
    }
    /// The database.
    pub fn database(&self) -> &Database {
        self.database.as_ref().expect("only keep and drop take it")
    }
    /// It stays.
    pub fn keep(mut self) -> Database {
        self.undo = None;
        self.database.take().expect("only keep and drop take it")
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.database = None;
        if let Some(path) = self.undo.take() {
            // What cannot be removed is an empty database: harmless.
            let _ = if self.had_folder { empty(&path, DEPTH_MAX) } else { remove(&path) };
        }
    }
}

/// A database that is made under another name beside its own, and gets its own when it is whole. Of one that exists already it is that one.
///
/// Invariant: whatever ends the process, under the database's name there is nothing, or all of it. What a killed process leaves
/// behind under the other name, the next one removes.
pub struct Whole {
    made: Option<Made>,
    /// Under which name it is made, and which it gets.
    beside: Option<(PathBuf, PathBuf)>,
}

/// What the folder of a database is called that is not whole yet.
const UNFINISHED: &str = ".importing";

impl Whole {
    /// Opens the database, or makes one under another name.
    pub fn open(path: &Path, options: Options) -> Result<Whole, Exit> {
        let Some(beside) = Whole::unfinished(path) else {
            return Ok(Whole { made: Some(Made::open(path, options)?), beside: None });
        };
        if world::files::exists(&beside) {
            // Of a process that was killed; one that still runs has it open.
            Database::open(&beside, Options { create: true, ..Options::default() })?.close()?;
            remove(&beside)?;
        }
        let made = Made::open(&beside, options)?;
        Ok(Whole { made: Some(made), beside: Some((beside, path.to_path_buf())) })
    }
    /// The database.
    pub fn database(&self) -> &Database {
        self.made.as_ref().expect("only finish takes it").database()
    }
    /// Under which name a database is made; none where there is one already.
    pub fn unfinished(path: &Path) -> Option<PathBuf> {
        let is_empty = || world::files::list_folder(path).is_ok_and(|content| content.is_empty());
        if is_memory(path) || (world::files::exists(path) && !is_empty()) {
            return None;
        }
        let name = path.file_name()?;
        Some(path.with_file_name(format!(".{}{UNFINISHED}", name.to_string_lossy())))
    }
    /// It is whole: it is closed, and gets its name.
    pub fn finish(mut self) -> Result<(), Exit> {
        let Some(made) = self.made.take() else { return Ok(()) };
        let Some((beside, path)) = self.beside.take() else { return Ok(made.keep().close()?) };
        if let Err(error) = made.keep().close() {
            // What cannot be removed is not under the database's name: harmless.
            let _ = remove(&beside);
            return Err(error.into());
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        RealDisk.rename(&beside, &path)?;
        Ok(RealDisk.sync_dir(above)?)
    }
}

/// Removes a database's folder with all it holds.
pub fn remove(path: &Path) -> world::disk::DiskResult<()> {
    empty(path, DEPTH_MAX)?;
    RealDisk.remove(path)
}

fn empty(folder: &Path, depth: usize) -> world::disk::DiskResult<()> {
    for path in world::files::list_folder(folder)? {
        if depth > 0 && RealDisk.is_dir(&path)? {
            empty(&path, depth - 1)?;
        }
        RealDisk.remove(&path)?;
    }
    Ok(())
}
