//! The file of tenants: the statements that declare them, one a line, which people may read and the parser reads back.

use super::{Tenant, settings};
use crate::{Error, kept_text};
use plan::StatementKind;
use plan::accounts::AccountCommand;
use std::collections::BTreeMap;
use std::path::Path;
use world::disk::Disk;

/// Its name in the database's folder.
pub const FILE: &str = "tenants.cypher";
/// What it begins with.
const HEAD: &str = "// Tenants of this database, version 1; changed by CREATE, ALTER and DROP TENANT.\n";

/// The statements of the file; none where there is no file.
pub(super) fn read(disk: &dyn Disk, folder: &Path) -> Result<Vec<AccountCommand>, Error> {
    let text = kept_text::read(disk, folder, FILE)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with("//"));
    let command = |(at, line): (usize, &str)| match cypher::compile(line) {
        Ok(plan::Statement { kind: StatementKind::Account(command), .. }) => Ok(command),
        Ok(_) => Err(kept_text::damaged(FILE, at + 1, "it is no command about tenants")),
        Err(error) => Err(kept_text::damaged(FILE, at + 1, &error.message)),
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
    kept_text::write(disk, folder, FILE, &text)
}
