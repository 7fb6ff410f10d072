//! How `query` and `shell` come to a database: in this process, as a backup that is only read, or at the server that has it open.

use super::Exit;
use super::folder::{self, Opening};
use super::remote::{LogOn, Remote, url};
use database::Database;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use world::disk::{Disk, RealDisk};

/// Code of what is asked of a command and is the server's to say.
pub const SERVERS: &str = "Tanglewood.ClientError.Client.ServerSide";
/// Code of a folder that holds a backup.
const BACKUP: &str = "Tanglewood.ClientError.Database.IsBackup";

/// A database that can be asked.
pub enum Opened {
    /// In this process.
    Here(Database),
    /// At a server.
    There(Box<Remote>),
}

/// Opens it here, or goes to the server that has it open or that the URL names.
pub fn open(
    path: &Path,
    create: bool,
    opening: &Opening,
    log_on: &LogOn,
    timeout: Option<Duration>,
) -> Result<Opened, Exit> {
    if let Some(url) = url(path) {
        return Ok(Opened::There(Box::new(log_on.at(url, timeout)?)));
    }
    let refused = match folder::open(path, create, opening.options()) {
        Ok(database) => return Ok(Opened::Here(database)),
        Err(Exit::Failed(error)) => *error,
        Err(exit) => return Err(exit),
    };
    if refused.code == BACKUP {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        return Ok(Opened::Here(database::open_backup(&disk, path, opening.options())?));
    }
    let remote = log_on.beside_said(path, refused, timeout)?;
    Ok(Opened::There(Box::new(remote)))
}
