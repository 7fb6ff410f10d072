//! `tanglewood bench`: the figures, each verified and compared with its target.

use super::Exit;
use clap::Args;
use database::Error;
use std::path::PathBuf;

/// Measure, verify every answer, compare with the targets
///
/// Runs a benchmark. Every answer is verified before its time counts; the exit code is 1 if a figure falls short of its target.
#[derive(Args)]
#[command(
    after_help = "Examples: tanglewood bench first --data DIR\n          tanglewood bench figures --quick --out FOLDER"
)]
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
    /// Of `figures`: folder for its page, `index.html`, and its numbers, `figures.json`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Of `figures`: only what takes little time, all within ten minutes
    #[arg(long)]
    quick: bool,
}

/// The benchmark that measures the papers' figures and writes a page of them.
const FIGURES: &str = "figures";

impl Bench {
    pub fn run(self) -> Result<(), Exit> {
        let data = self.data.as_deref();
        let outcome = match (&*self.name, self.out) {
            (FIGURES, Some(out)) => {
                let options = bench::figures::FigureOptions { only: self.only, out, is_quick: self.quick };
                bench::figures::run(data, &options)
            }
            (FIGURES, None) => Err("`bench figures` wants `--out DIR`, a folder for its page".into()),
            (_, Some(_)) => Err("`--out` is for `bench figures`".into()),
            _ if self.quick => Err("`--quick` is for `bench figures`".into()),
            (name, None) => bench::run(name, data, bench::Choice { only: self.only, peers: self.peers }),
        };
        match outcome {
            Ok(true) => Ok(()),
            Ok(false) => Err(Exit::Said),
            Err(message) => Err(Error::new("Tanglewood.ClientError.Bench.Failed", message).into()),
        }
    }
}
