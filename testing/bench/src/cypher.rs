//! `bench cypher`: the interactive benchmark's complex reads and the subgraph benchmark's counts, beside other graph databases in one run.
//!
//! Each engine holds the same graph, with its indexes, warm, in process (Neo4j embedded in Java), prepared or through its plan cache,
//! every wording that it may like better tried; Bolt is asked with the same driver on both sides. Rows are compared with rows that
//! others found right, counts with those that the bench counts from the files by itself ([`counts`]); a wrong answer of a peer takes it
//! out of the comparison, a wrong one of ours is a failure. A time is the median over all parameter sets and rounds; a peer that passes the
//! limit of a call counts with the limit. What a call that asks nothing takes is printed beside the times.

pub(crate) mod child;
pub(crate) mod counts;
mod ours;
mod peer;
mod verdict;

use crate::ldbc::{COMPLEX, Query, SUBGRAPHS, expected};
use crate::report::Report;
use crate::{Choice, data};
use expected::Expected;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The packed social networks: name, and the folder in the archive that holds the files. The last one has ids alone and is counted only.
const SETS: [(&str, &str); 3] = [
    ("snb-like-sf0.1", "social_network"),
    ("snb-like-sf0.3", "social_network"),
    ("lsqb-sf0.003", "social-network-sf0.003-projected-fk"),
];

/// A set on the disk, and its queries.
pub(crate) struct Set {
    name: &'static str,
    network: PathBuf,
    given: Vec<Expected>,
    /// The right counts of the subgraph benchmark's queries.
    counts: BTreeMap<&'static str, u64>,
    /// Names of the queries to ask.
    chosen: Vec<&'static str>,
}

impl Set {
    fn open(folder: &Path, name: &'static str, inside: &str, choice: &Choice) -> Result<Set, String> {
        let (unpacked, _) = data::unpacked(folder, name)?;
        let network =
            data::find_folder(&unpacked, inside).ok_or_else(|| format!("the archive holds no {inside}"))?;
        let beside = data::text(&network.with_file_name(""), "expected.jsonl");
        let text = beside.or_else(|_| data::text(folder, &format!("{name}-expected.jsonl")));
        let given = text.map_or_else(|_| Ok(Vec::new()), |text| expected::read(&text))?;
        let known: Vec<&str> = COMPLEX.iter().chain(&SUBGRAPHS).map(|query| query.name).collect();
        let answerable = |query: &&str| is_count(query) || given.iter().any(|given| given.query == **query);
        let chosen: Vec<&str> = choice.among(&known).into_iter().filter(answerable).collect();
        let counts = match chosen.iter().any(|query| is_count(query)) {
            true => counts::all(&network)?,
            false => BTreeMap::new(),
        };
        Ok(Set { name, network, given, counts, chosen })
    }
    /// The parameters of this query with the right rows; for a count, one row.
    fn asked(&self, query: Query) -> Vec<Expected> {
        if let Some(count) = self.counts.get(query.name) {
            let (query, rows) = (query.name.to_string(), vec![vec![(*count).into()]]);
            return vec![Expected { query, params: database::Params::new(), rows }];
        }
        self.given.iter().filter(|given| given.query == query.name).cloned().collect()
    }
}

fn is_count(query: &str) -> bool {
    SUBGRAPHS.iter().any(|count| count.name == query)
}

/// Those queries that are chosen, complex reads first.
pub(crate) fn queries(chosen: &[&'static str]) -> impl Iterator<Item = Query> {
    COMPLEX.into_iter().chain(SUBGRAPHS).filter(|query| chosen.contains(&query.name))
}

/// All sizes.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let Some(folder) = data else {
        report.skipped("everything", "no folder of data sets was given");
        return Ok(());
    };
    let names = report.choice.among(&SETS.map(|(name, _)| name));
    for (name, inside) in SETS.into_iter().filter(|(name, _)| names.contains(name)) {
        report.section(&format!("queries, {name}"));
        one(&Set::open(folder, name, inside, &report.choice)?, report)?;
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
