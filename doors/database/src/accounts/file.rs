//! The file of tenants: the statements that declare them, one a line, which people may read and the parser reads back.
//!
//! It is written whole, beside its place first, so a crash leaves the old one or the new one.

use super::{Tenant, settings};
use crate::Error;
use plan::StatementKind;
use plan::accounts::AccountCommand;
use std::collections::BTreeMap;
use std::path::Path;
use world::disk::{Disk, OpenHow};

/// Its name in the database's folder.
pub const FILE: &str = "tenants.cypher";
/// What it begins with.
const HEAD: &str = "// Tenants of this database, version 1; changed by CREATE, ALTER and DROP TENANT.\n";

/// The statements of the file; none where there is no file.
pub(super) fn read(disk: &dyn Disk, folder: &Path) -> Result<Vec<AccountCommand>, Error> {
    let path = folder.join(FILE);
    if !disk.exists(&path).map_err(|error| failed("read", &error))? {
        return Ok(Vec::new());
    }
    let bytes = disk.read_whole(&path).map_err(|error| failed("read", &error))?;
    let damaged = |line: usize, why: &str| {
        let code = "Tanglewood.DatabaseError.General.Damaged";
        Error::new(code, format!("line {line} of {FILE} is damaged: {why}"))
            .hint("mend the line, or take the file away and declare the tenants again")
    };
    let text = String::from_utf8(bytes).map_err(|_| damaged(1, "it is no text"))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with("//"));
    let command = |(at, line): (usize, &str)| match cypher::compile(line) {
        Ok(plan::Statement { kind: StatementKind::Account(command), .. }) => Ok(command),
        Ok(_) => Err(damaged(at + 1, "it is no command about tenants")),
        Err(error) => Err(damaged(at + 1, &error.message)),
    };
    lines.map(command).collect()
}

pub(super) fn write(
    disk: &dyn Disk,
    folder: &Path,
    declared: &BTreeMap<String, Tenant>,
) -> Result<(), Error> {
    let mut text = String::from(HEAD);
    let mut put = |command: AccountCommand| text.push_str(&format!("{command}\n"));
    for (name, tenant) in declared {
        let name: plan::expr::Name = name.as_str().into();
        let settings = settings(&tenant.allowance);
        put(AccountCommand::CreateTenant { name: name.clone(), if_not_exists: false, settings });
        for (user, allowance) in &tenant.users {
            let (user, settings) = (user.as_str().into(), super::settings(allowance));
            put(AccountCommand::AddUser { tenant: name.clone(), user, settings });
        }
    }
    let (path, beside) = (folder.join(FILE), folder.join(format!("{FILE}.new")));
    let place = || {
        let file = disk.open(&beside, OpenHow::Replace)?;
        file.append(text.as_bytes())?;
        file.sync()?;
        disk.rename(&beside, &path)?;
        disk.sync_dir(folder)
    };
    place().map_err(|error| failed("written", &error))
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new("Tanglewood.DatabaseError.General.Io", format!("{FILE} cannot be {what}: {error}"))
}
