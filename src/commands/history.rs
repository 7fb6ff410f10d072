//! `tanglewood history`: the versions of a database that can be read.

use super::remote::{LogOn, Remote, url};
use super::{Exit, folder};
use clap::Args;
use database::{History as Kept, Options, Params, Value};
use std::io::Write;
use std::path::PathBuf;

/// Show or change how far back a database can be asked with AS OF
///
/// Shows how far back the past is kept, and the oldest and the newest commit that can be asked for. With HOW, changes it first: what is
/// to be kept is kept from the last checkpoint on, what is given up is gone at once.
#[derive(Args)]
#[command(after_help = "Examples:
  tanglewood history people.db
  tanglewood history people.db 7d
  tanglewood history bolt://db.example.org 7d
  tanglewood query people.db \"AS OF datetime('2026-11-20T10:00:00Z') MATCH (n) RETURN count(*)\"")]
pub struct History {
    /// Folder of the database, also while a server has it open; or a server's bolt://HOST:PORT
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// none, forever, or a time such as 12h, 7d or 4w
    #[arg(value_name = "HOW")]
    how: Option<Kept>,
    #[command(flatten)]
    log_on: LogOn,
}

impl History {
    pub fn run(self) -> Result<(), Exit> {
        if let Some(url) = url(&self.database) {
            return self.there(self.log_on.at(url, None)?);
        }
        let options = Options { history: self.how, ..Options::default() };
        let database = match folder::open(&self.database, false, options) {
            Ok(database) => database,
            Err(Exit::Failed(refused)) => {
                return self.there(self.log_on.beside(&self.database, *refused, None)?);
            }
            Err(exit) => return Err(exit),
        };
        let ((oldest, newest), mut out) = (database.kept(), world::files::stdout());
        writeln!(out, "history  {}", database.history())?;
        writeln!(out, "oldest   {oldest}")?;
        writeln!(out, "newest   {newest}")?;
        Ok(())
    }

    /// As a server tells, which changes it first if that is asked.
    fn there(&self, mut remote: Remote) -> Result<(), Exit> {
        if let Some(how) = self.how {
            let params = Params::from([("how".into(), Value::from(how.to_string()))]);
            remote.table_with("CALL dbms.setHistory($how)", &params)?;
        }
        let (columns, rows) = remote.table("SHOW SETTINGS")?;
        let at = |title: &str| columns.iter().position(|column| **column == *title);
        let text = |row: &[Value], at: Option<usize>| {
            at.and_then(|at| row.get(at)?.as_str()).unwrap_or_default().to_string()
        };
        let mut out = world::files::stdout();
        for (title, setting) in [
            ("history", "tanglewood.history"),
            ("oldest", "tanglewood.history.oldest"),
            ("newest", "tanglewood.history.newest"),
        ] {
            let row = rows.iter().find(|row| text(row, at("name")) == setting);
            let value = row.map(|row| text(row, at("value"))).unwrap_or_default();
            writeln!(out, "{title:<9}{value}")?;
        }
        Ok(())
    }
}
