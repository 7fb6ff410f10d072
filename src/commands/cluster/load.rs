//! The first content of a cluster, from a database or backup of one machine.

use cluster::load::{place, records};
use database::{Database, Error, Options};
use std::path::Path;
use std::sync::Arc;
use truth::{LoadBegins, PostgresTruth};
use world::disk::{Disk, RealDisk};

/// Code of a folder that holds a backup.
const BACKUP: &str = "Tanglewood.ClientError.Database.IsBackup";

/// The database that is read.
///
/// # Errors
/// It is none, or somebody has it open.
pub fn source(path: &Path) -> Result<Database, Error> {
    let options = || Options { create: false, read_only: true, ..Options::default() };
    match Database::open(path, options()) {
        Err(error) if error.code == BACKUP => {
            let disk: Arc<dyn Disk> = Arc::new(RealDisk);
            database::open_backup(&disk, path, options())
        }
        outcome => outcome,
    }
}

/// Writes the content of a database as the first commits of a cluster, whose loader has a name that no other has, unless it has done so already. One that was ended half way begins anew.
///
/// # Errors
/// The database cannot be read, or truth does not answer.
pub fn load((path, loader): (&Path, &str), shards: u16, truth: &mut PostgresTruth) -> Result<(), Error> {
    let unanswered = |_| {
        let message = "the database that the cluster trusts did not take its first content";
        Error::new("Tanglewood.DatabaseError.Cluster.Truth", message).hint("its own log says why")
    };
    match truth.begin_load(loader).map_err(unanswered)? {
        LoadBegins::Ready => {}
        LoadBegins::IsDone => return Ok(()),
        LoadBegins::HasOther => {
            let message = "the database that the cluster trusts holds another cluster already";
            return Err(Error::new("Tanglewood.ClientError.Cluster.Truth", message)
                .hint("--from is for a cluster that is made now; --truth names a database for it alone"));
        }
    }
    let database = source(path)?;
    let graph = database.snapshot();
    let owners = place(&graph, shards)?;
    let chunks: Vec<(u32, u16)> = owners.iter().map(|(chunk, shard)| (*chunk, *shard)).collect();
    truth.create_chunks(&chunks).map_err(unanswered)?;
    let mut last = 0;
    records::<Error>(&graph, &owners, shards, |parts| {
        last += 1;
        truth.load(last, parts).map_err(unanswered)
    })?;
    truth.end_load().map_err(unanswered)
}
