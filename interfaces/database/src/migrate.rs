//! Files of earlier versions beside the graph: users, tenants and standing queries become entries at the first open, in one commit.
//!
//! Invariant: each file is migrated once. The commit leaves a mark, so that a file that could not be removed, or was put back, restores nothing that
//! was dropped since. A part that cannot be read becomes an entry that is set aside, named after its position in the file; so a database whose file
//! of users is damaged still demands passwords.

use crate::Error;
use crate::entries::{change, set, statement};
use crate::standing::definition::Definition;
use crate::users::entry::User;
use plan::StatementKind;
use plan::accounts::AccountCommand;
use std::path::Path;
use store::{Change, Entries, EntryKind};
use store::{ENTRY_BYTES_MAX, ENTRY_NAME_BYTES_MAX};
use transact::Engine;
use world::disk::Disk;

const USERS: &str = "users.json";
const TENANTS: &str = "tenants.cypher";
const STANDING: &str = "standing.cypher";
/// The entry that says that the files were taken.
const TAKEN: &str = "files taken";

/// Migrates the files of a folder, if there are any.
///
/// # Errors
/// The disk refuses. Damage in a file is no error.
pub(crate) fn migrate(engine: &Engine, disk: &dyn Disk, folder: &Path) -> Result<(), Error> {
    let failed = |error: world::disk::DiskError| {
        Error::new("Tanglewood.DatabaseError.General.Io", format!("files of an earlier version: {error}"))
    };
    let mut files = Vec::new();
    for name in [USERS, TENANTS, STANDING] {
        if disk.exists(&folder.join(name)).map_err(failed)? {
            files.push((name, disk.read_whole(&folder.join(name)).map_err(failed)?));
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    change(engine, |entries| {
        if entries.get(EntryKind::CATALOGUE, TAKEN).is_some() {
            return Ok(Vec::new());
        }
        let taken = files.iter().flat_map(|(name, bytes)| taken(name, bytes, entries));
        Ok(taken.chain([set(EntryKind::CATALOGUE, TAKEN, Some(b"1"))]).collect())
    })?;
    for (name, _) in &files {
        // It is of no use any more, and does no harm if it stays.
        let _ = disk.remove(&folder.join(name));
    }
    let _ = disk.sync_dir(folder);
    Ok(())
}

/// The content of a file, as changes of entries; existing entries stay.
fn taken(name: &str, bytes: &[u8], entries: &Entries) -> Vec<Change> {
    let (kind, found) = match (name, std::str::from_utf8(bytes)) {
        (USERS, Ok(text)) => (EntryKind::USER, users(text)),
        (TENANTS, Ok(text)) => (EntryKind::TENANT, Ok(tenants(text))),
        (_, Ok(text)) => (EntryKind::STANDING, Ok(standing(text))),
        (USERS, Err(_)) => (EntryKind::USER, Err(())),
        (TENANTS, Err(_)) => (EntryKind::TENANT, Err(())),
        (_, Err(_)) => (EntryKind::STANDING, Err(())),
    };
    let found = found.unwrap_or_else(|()| vec![(kind, name.to_string(), bytes.to_vec())]);
    let fits = |(kind, own, mut content): (EntryKind, String, Vec<u8>)| {
        content.truncate(ENTRY_BYTES_MAX);
        let own = own[..own.floor_char_boundary(ENTRY_NAME_BYTES_MAX)].to_string();
        let own = if own.is_empty() { name.to_string() } else { own };
        entries.get(kind, &own).is_none().then(|| set(kind, &own, Some(&content)))
    };
    found.into_iter().filter_map(fits).collect()
}

type Found = Vec<(EntryKind, String, Vec<u8>)>;

/// A user that lacks a field turns the whole file into one entry with which nobody can log on.
fn users(text: &str) -> Result<Found, ()> {
    let json: serde_json::Value = serde_json::from_str(text).map_err(|_| ())?;
    let user = |entry: &serde_json::Value| {
        let (name, hash) = (entry["name"].as_str().ok_or(())?, entry["password"].as_str().ok_or(())?);
        let user = User { hash: hash.to_string(), suspended: false };
        Ok((EntryKind::USER, name.to_string(), user.encode()))
    };
    json["users"].as_array().ok_or(())?.iter().map(user).collect()
}

fn tenants(text: &str) -> Found {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with("//"));
    let entry = |(at, line): (usize, &str)| {
        let (kind, name) = match statement(line.as_bytes()) {
            Ok(StatementKind::Account(AccountCommand::CreateTenant { name, .. })) => {
                (EntryKind::TENANT, name)
            }
            Ok(StatementKind::Account(AccountCommand::AddUser { user, .. })) => {
                (EntryKind::TENANT_USER, user)
            }
            _ => (EntryKind::TENANT, format!("line {} of {TENANTS}", at + 1).into()),
        };
        (kind, name.to_string(), line.as_bytes().to_vec())
    };
    lines.map(entry).collect()
}

fn standing(text: &str) -> Found {
    let entry = |statement: &cypher::StatementText<'_>| {
        let (line, _) = text::line_and_column(text, statement.span.start as usize);
        let name = Definition::name_of(statement.text.as_bytes());
        let name = name.unwrap_or_else(|| format!("line {line} of {STANDING}"));
        (EntryKind::STANDING, name, statement.text.as_bytes().to_vec())
    };
    cypher::split_statements(text).iter().map(entry).collect()
}
