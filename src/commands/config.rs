//! `tanglewood config`: looks at the settings of a server before it starts.

use super::Exit;
use super::serve::parts::Parts;
use super::serve::settings_failed;
use clap::{Args, Subcommand};
use server::configuration::{Configuration, DATABASE_KEY};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

/// Look at the settings of a server before it starts
#[derive(Args)]
pub struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Check(Check),
}

/// Say whether a file of settings is right, and what would hold
///
/// Reads the file and the environment as `tanglewood serve --config FILE` would, makes of them what the server would (certificate and key, keys of tokens, addresses, files of the log), and prints every setting with what
/// holds and who said so. Opens no database and listens nowhere.
#[derive(Args)]
#[command(after_help = "Example: tanglewood config check /etc/tanglewood/tanglewood.toml")]
struct Check {
    /// File with settings (TOML)
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Config {
    pub fn run(self) -> Result<(), Exit> {
        let What::Check(check) = self.what;
        let configuration =
            Configuration::read(Some(&check.file), variable, BTreeMap::new()).map_err(settings_failed)?;
        Parts::check(&configuration)?;
        let mut text = format!("{} is right\n\n", check.file.display());
        let database = configuration.text(DATABASE_KEY).unwrap_or_default();
        let _ = writeln!(text, "{DATABASE_KEY} = {database:?}  # {}", configuration.origin(DATABASE_KEY));
        for (row, value, origin) in configuration.lines() {
            let _ = writeln!(text, "{} = {value:?}  # {origin}", row.key);
        }
        let mut out = world::files::stdout();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())?;
        Ok(())
    }
}

/// A variable of the environment.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}
