//! `tanglewood bench`: the figures, each verified and compared with its target.

use super::Exit;
use clap::Args;
use database::Error;
use std::path::PathBuf;

/// Measure, verify every answer, compare with the targets
///
/// Runs a benchmark. Every answer is verified before its time counts; the exit code is 1 if a figure falls short of its target.
#[derive(Args)]
#[command(after_help = "Example: tanglewood bench first --data DIR")]
pub struct Bench {
    /// Which benchmark; an unknown name lists them
    name: String,
    /// Folder of data sets, packed; what is needed is unpacked into a cache
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Bench {
    pub fn run(self) -> Result<(), Exit> {
        match bench::run(&self.name, self.data.as_deref()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Exit::Said),
            Err(message) => Err(Error::new("Tanglewood.ClientError.Bench.Failed", message).into()),
        }
    }
}
