//! `bench cypher`: the interactive benchmark's complex reads and the subgraph benchmark's counts, beside other graph databases in one run.
//!
//! Each engine holds the same graph, with its indexes, warm, in process (Neo4j embedded in Java), prepared or through its plan cache,
//! every wording that it may like better tried; Bolt is asked with the same driver on both sides. Rows are compared with rows that
//! others found right, counts with those of all engines; a wrong answer of a peer takes it out of the comparison, a wrong one of ours is
//! a failure. A time is the median over all parameter sets and rounds.

mod ours;
mod peer;
mod verdict;

use crate::data;
use crate::ldbc::{COMPLEX, Query, SUBGRAPHS, expected};
use crate::report::Report;
use expected::Expected;
use std::path::{Path, PathBuf};

/// The packed social networks.
const SETS: [&str; 2] = ["snb-like-sf0.1", "snb-like-sf0.3"];

/// A set as it lies on the disk, and what is asked of it.
pub(crate) struct Set {
    network: PathBuf,
    asked: Vec<Expected>,
}

impl Set {
    fn open(folder: &Path, name: &str) -> Result<Set, String> {
        let (unpacked, _) = data::unpacked(folder, name)?;
        let network =
            data::find_folder(&unpacked, "social_network").ok_or("the archive holds no social_network")?;
        let inside = data::text(&network.with_file_name(""), "expected.jsonl");
        let text = inside.or_else(|_| data::text(folder, &format!("{name}-expected.jsonl")))?;
        Ok(Set { network, asked: expected::read(&text)? })
    }
    /// What is asked with this query: nothing but itself for the counts.
    fn asked(&self, query: Query) -> Vec<Expected> {
        if SUBGRAPHS.iter().any(|count| count.name == query.name) {
            let query = query.name.to_string();
            return vec![Expected { query, params: database::Params::new(), rows: Vec::new() }];
        }
        self.asked.iter().filter(|asked| asked.query == query.name).cloned().collect()
    }
}

/// All queries, complex reads first.
pub(crate) fn queries() -> impl Iterator<Item = Query> {
    COMPLEX.into_iter().chain(SUBGRAPHS)
}

/// Both sizes.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let Some(folder) = data else {
        report.skipped("everything", "no folder of data sets was given");
        return Ok(());
    };
    for name in SETS {
        report.section(&format!("queries, {name}"));
        one(&Set::open(folder, name)?, report)?;
    }
    Ok(())
}

fn one(set: &Set, report: &mut Report) -> Result<(), String> {
    let served = ours::Imported::new(set)?;
    let ours = served.measure(set)?;
    served.planning(report)?;
    let server = served.serve();
    let address = server.as_ref().map_or("", |server| server.address.as_str());
    let peers = peer::all(set, address, report);
    verdict::tell(set, &ours, &peers, report);
    Ok(())
}
