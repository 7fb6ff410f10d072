//! `tanglewood demo`: the database on one screen.
//!
//! A small social network is made from a seed ([`network`]), written as CSV files ([`files`]), imported like anyone's files, and asked
//! five things ([`tour`]); the screen is laid out for 80 columns and 24 lines ([`screen`]). The same seed makes the same network.

mod files;
mod names;
mod network;
mod screen;
mod tour;

use super::folder::{self, Made};
use super::{Exit, units};
use clap::Args;
use database::{Database, Error, ImportOptions, Options};
use ingest::Layout;
use network::Network;
use screen::Screen;
use std::path::{Path, PathBuf};
use world::clock::monotonic_ns;
use world::disk::{Disk, RealDisk};
use world::files::TemporaryFolder;

/// Fewer persons than this have no friends of friends to speak of.
const PEOPLE_MIN: u64 = 50;
/// More than this is not a demo: import a file.
const PEOPLE_MAX: u64 = 1_000_000;
/// Places tried for the demo's folder: somebody may have an earlier one open.
const FOLDERS_MAX: usize = 9;

/// Show what it is: makes a small social network, stores it, asks it
///
/// Makes a small social network, stores it, and shows a lookup, friends of friends, a shortest path, an aggregate and an update, each
/// with its time. What it made stays, to be asked further.
#[derive(Args)]
#[command(after_help = "Example: tanglewood demo --people 10000 --seed 7")]
pub struct Demo {
    /// Where to keep it; a new folder [default: tanglewood-demo in the folder for temporary files]
    #[arg(value_name = "DB")]
    database: Option<PathBuf>,
    /// What everything is drawn from: the same seed makes the same network
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Persons in the network
    #[arg(long, value_name = "N", default_value_t = 3_000, value_parser = people)]
    people: u64,
}

fn people(text: &str) -> Result<u64, String> {
    let count = units::count(text)?;
    if (PEOPLE_MIN..=PEOPLE_MAX).contains(&count) {
        return Ok(count);
    }
    Err(format!("between {PEOPLE_MIN} and {PEOPLE_MAX} persons can be made"))
}

impl Demo {
    pub fn run(self) -> Result<(), Exit> {
        let made = match &self.database {
            Some(path) => at_given(path)?,
            None => at_default()?,
        };
        let started = monotonic_ns();
        let network = Network::make(self.seed, self.people);
        let making = monotonic_ns() - started;
        let storing = store(made.database(), &network)?;
        let database = made.keep();
        let screen = Screen::new();
        screen.head(&network, &database, self.seed, (making, storing))?;
        tour::run(&screen, &database, &network)?;
        screen.foot(database.path())?;
        Ok(database.close()?)
    }
}

/// Writes the network to files and imports them; returns the nanoseconds that took.
fn store(database: &Database, network: &Network) -> Result<u64, Exit> {
    let folder = TemporaryFolder::new("demo-files")?;
    let started = monotonic_ns();
    files::write(network, folder.path())?;
    let options = ImportOptions {
        from: folder.path().to_path_buf(),
        layout: Layout::Headers,
        strict: true,
        ..ImportOptions::default()
    };
    database.import(&options)?;
    Ok(monotonic_ns() - started)
}

fn at_given(path: &Path) -> Result<Made, Exit> {
    let is_taken = world::files::exists(path)
        && world::files::list_folder(path).map_or(true, |content| !content.is_empty());
    if is_taken && !folder::is_memory(path) {
        let message = format!("there is something at {} already", path.display());
        let error = Error::new("Tanglewood.ClientError.Demo.FolderTaken", message);
        return Err(error.hint("the demo wants a new or an empty folder").into());
    }
    Made::open(path, Options::default())
}

/// `tanglewood-demo`, replacing an earlier demo there; with a number behind it where that one is open or somebody else's.
fn at_default() -> Result<Made, Exit> {
    let base = std::env::temp_dir().join("tanglewood-demo");
    let numbered = (2..=FOLDERS_MAX).map(|number| base.with_file_name(format!("tanglewood-demo-{number}")));
    for path in std::iter::once(base.clone()).chain(numbered) {
        if !world::files::exists(&path) || replace(&path) {
            return Made::open(&path, Options::default());
        }
    }
    let message = format!("{} and the folders beside it are in use", base.display());
    Err(Error::new("Tanglewood.ClientError.Demo.FolderTaken", message)
        .hint("name a new folder: demo DB")
        .into())
}

/// Removes an earlier demo, if it is a database of ours that nobody has open.
fn replace(path: &Path) -> bool {
    let is_ours = Database::open(path, Options { create: false, ..Options::default() }).is_ok();
    is_ours && folder::remove(path).is_ok() && !RealDisk.exists(path).unwrap_or(true)
}
