//! The interactive workload of the LDBC Social Network Benchmark (version 1), written in Cypher from its specification.
//!
//! Fourteen complex reads, seven short reads, eight updates; the texts lie in `queries/ldbc`, one file each. [`expected`] reads rows that
//! others found right, [`answers`] compares ours with them, [`updates`] replays the benchmark's update stream.

pub mod answers;
pub mod expected;
pub mod updates;

/// A query of the workload.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Its short name: `IC1`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! queries {
    ($($name:literal $file:literal),* $(,)?) => {
        [$(Query { name: $name, text: include_str!(concat!("../queries/ldbc/", $file, ".cypher")) }),*]
    };
}

/// The complex reads.
pub const COMPLEX: [Query; 14] = queries![
    "IC1" "ic1", "IC2" "ic2", "IC3" "ic3", "IC4" "ic4", "IC5" "ic5", "IC6" "ic6", "IC7" "ic7",
    "IC8" "ic8", "IC9" "ic9", "IC10" "ic10", "IC11" "ic11", "IC12" "ic12", "IC13" "ic13", "IC14" "ic14",
];

/// The nine counts of the Labelled Subgraph Query Benchmark, on the same graph.
pub const SUBGRAPHS: [Query; 9] = [
    Query { name: "Q1", text: include_str!("../queries/lsqb/q1.cypher") },
    Query { name: "Q2", text: include_str!("../queries/lsqb/q2.cypher") },
    Query { name: "Q3", text: include_str!("../queries/lsqb/q3.cypher") },
    Query { name: "Q4", text: include_str!("../queries/lsqb/q4.cypher") },
    Query { name: "Q5", text: include_str!("../queries/lsqb/q5.cypher") },
    Query { name: "Q6", text: include_str!("../queries/lsqb/q6.cypher") },
    Query { name: "Q7", text: include_str!("../queries/lsqb/q7.cypher") },
    Query { name: "Q8", text: include_str!("../queries/lsqb/q8.cypher") },
    Query { name: "Q9", text: include_str!("../queries/lsqb/q9.cypher") },
];

/// The short reads: IS1 to IS3 of a person, the others of a message.
pub const SHORT: [Query; 7] = queries![
    "IS1" "is1", "IS2" "is2", "IS3" "is3", "IS4" "is4", "IS5" "is5", "IS6" "is6", "IS7" "is7",
];

/// The updates.
pub const UPDATES: [Query; 8] = queries![
    "IU1" "iu1", "IU2" "iu2", "IU3" "iu3", "IU4" "iu4", "IU5" "iu5", "IU6" "iu6", "IU7" "iu7", "IU8" "iu8",
];
