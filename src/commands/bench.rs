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
    /// Only these questions and data sets, as far as the bench knows them: `IC5,Q3,snb-like-sf0.1`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Only these other engines: `neo4j,kuzu`; `none` measures alone
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    peers: Vec<String>,
}

impl Bench {
    pub fn run(self) -> Result<(), Exit> {
        let choice = bench::Choice { only: self.only, peers: self.peers };
        match bench::run(&self.name, self.data.as_deref(), choice) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Exit::Said),
            Err(message) => Err(Error::new("Tanglewood.ClientError.Bench.Failed", message).into()),
        }
    }
}
