//! Other engines on the same data, each driven by a short Python script of ours, where its package is installed.
//!
//! Scripts are part of this binary and run in processes of their own, one after the other. Each prints one JSON object as its last line.
//! Interpreters are those of `TANGLEWOOD_BENCH_PYTHON` (separated by `:`), or `python3` and `python3.12`.

use serde_json::Value as Json;
use std::path::Path;
use std::process::{Command, Stdio};
use world::files::{self, TemporaryFolder};

/// A script and the package it needs.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The engine's name, for people.
    pub name: &'static str,
    /// The package that must be importable, and whose name the script gets as its first argument.
    pub package: &'static str,
    /// The script's text.
    script: &'static str,
}

/// Kuzu on a social network: COPY of all files, then the short reads.
pub const KUZU_SOCIAL: Peer =
    Peer { name: "Kuzu", package: "kuzu", script: include_str!("../peers/kuzu_social.py") };

/// Hops on the power-law graph.
pub const HOPS: [Peer; 4] = [
    Peer { name: "Kuzu", package: "kuzu", script: include_str!("../peers/kuzu_hops.py") },
    Peer { name: "LadybugDB", package: "ladybug", script: include_str!("../peers/kuzu_hops.py") },
    Peer { name: "DuckDB", package: "duckdb", script: include_str!("../peers/duckdb_hops.py") },
    Peer { name: "FalkorDB", package: "redislite", script: include_str!("../peers/falkordb_hops.py") },
];

/// COPY of an edge list.
pub const COPY: [Peer; 2] = [
    Peer { name: "Kuzu", package: "kuzu", script: include_str!("../peers/kuzu_copy.py") },
    Peer { name: "LadybugDB", package: "ladybug", script: include_str!("../peers/kuzu_copy.py") },
];

/// Path lengths from one source to all vertices.
pub const RECURSIVE: [Peer; 2] = [
    Peer { name: "Kuzu", package: "kuzu", script: include_str!("../peers/kuzu_recursive.py") },
    Peer { name: "LadybugDB", package: "ladybug", script: include_str!("../peers/kuzu_recursive.py") },
];

/// The 22 queries of TPC-H over a part of their rows.
pub const DUCKDB_TPCH: Peer =
    Peer { name: "DuckDB", package: "duckdb", script: include_str!("../peers/tpch_duckdb.py") };

/// Questions about a whole graph.
pub const ANALYTICS: [Peer; 3] = [
    Peer { name: "Kuzu", package: "kuzu", script: include_str!("../peers/analytics_kuzu.py") },
    Peer { name: "LadybugDB", package: "ladybug", script: include_str!("../peers/analytics_kuzu.py") },
    Peer { name: "DuckDB", package: "duckdb", script: include_str!("../peers/analytics_duckdb.py") },
];

/// The business intelligence queries on the social network.
pub const BI: [Peer; 2] = [
    Peer { name: "Kuzu", package: "kuzu", script: BI_KUZU },
    Peer { name: "DuckDB", package: "duckdb", script: BI_DUCKDB },
];
const BI_KUZU: &str = concat!(
    include_str!("../peers/cypher_tables.py"),
    include_str!("../peers/bi_ask.py"),
    include_str!("../peers/bi_kuzu.py")
);
const BI_DUCKDB: &str = concat!(include_str!("../peers/bi_ask.py"), include_str!("../peers/bi_duckdb.py"));

/// Procedures over whole graphs.
pub const ALGORITHMS: [Peer; 2] = [
    Peer { name: "NetworKit", package: "networkit", script: include_str!("../peers/graph_algorithms.py") },
    Peer { name: "igraph", package: "igraph", script: include_str!("../peers/graph_algorithms.py") },
];

/// Everything of the bench `cypher`.
pub const CYPHER: [Peer; 3] = [
    Peer { name: "Neo4j", package: "neo4j", script: CYPHER_NEO4J },
    Peer { name: "Kuzu", package: "kuzu", script: CYPHER_KUZU },
    Peer { name: "LadybugDB", package: "ladybug", script: CYPHER_KUZU },
];
const CYPHER_NEO4J: &str = concat!(
    include_str!("../peers/cypher_tables.py"),
    include_str!("../peers/cypher_ask.py"),
    include_str!("../peers/cypher_neo4j.py")
);
const CYPHER_KUZU: &str = concat!(
    include_str!("../peers/cypher_tables.py"),
    include_str!("../peers/cypher_ask.py"),
    include_str!("../peers/cypher_kuzu.py")
);

/// Events created one after the other, with Python's package for gRPC.
pub const KRONOS_CREATE: Peer =
    Peer { name: "grpcio", package: "grpc", script: include_str!("../peers/kronos_create.py") };

/// The code that all scripts share.
const COMMON: &str = include_str!("../peers/common.py");

impl Peer {
    /// Runs the script on `folder`, with `arguments`; its answer, or why there is none.
    ///
    /// # Errors
    /// No interpreter has the package, or the script failed.
    pub fn run(&self, folder: &Path, arguments: &[&str]) -> Result<Json, String> {
        let place = TemporaryFolder::new("peer").map_err(|error| error.to_string())?;
        let mut command = self.command(folder, place.path())?;
        let output =
            command.args(arguments).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let answer = stdout.lines().rev().find_map(|line| serde_json::from_str(line).ok());
        answer.ok_or_else(|| {
            let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
            format!("{} failed ({}): {last}", self.name, output.status)
        })
    }

    /// The script on `folder`, ready to be started, with its files in `place`.
    ///
    /// # Errors
    /// No interpreter has the package, or `place` cannot be written to.
    pub fn command(&self, folder: &Path, place: &Path) -> Result<Command, String> {
        let package = self.package;
        let python =
            interpreter(package).ok_or_else(|| format!("the Python package `{package}` is not installed"))?;
        let write = |name: &str, text: &str| files::write_bytes(&place.join(name), text.as_bytes());
        write("common.py", COMMON)
            .and_then(|()| write("run.py", self.script))
            .map_err(|error| error.to_string())?;
        let mut command = Command::new(python);
        command.arg(place.join("run.py")).arg(package).arg(folder).arg(place);
        Ok(command)
    }
}

/// The first interpreter that can import `package`.
pub(crate) fn interpreter(package: &str) -> Option<String> {
    let asked = std::env::var("TANGLEWOOD_BENCH_PYTHON").unwrap_or_else(|_| "python3:python3.12".into());
    let imports = |python: &&str| {
        let mut command = Command::new(python);
        command.args(["-c", &format!("import {package}")]);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    asked.split(':').find(imports).map(str::to_string)
}
