//! Other engines under the same mix, each inside a Java machine of its own: a small program of ours drives the engine's own interfaces.
//!
//! `TANGLEWOOD_BENCH_NEO4J` names a folder with the jars of Neo4j community (and `TANGLEWOOD_BENCH_JANUSGRAPH` one with JanusGraph's).
//! An engine may be asked through several interfaces; the fastest counts. An interface that fails, or is silent for too long, is told and left out:
//! it ends neither the others nor the run.

use super::mix::Mix;
use super::{CLIENTS, SEED};
use crate::cypher::child::{Child, Line};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use world::files;

/// An engine and its interfaces.
#[derive(Debug)]
pub struct Rival {
    /// For people.
    pub name: &'static str,
    /// The variable that names the folder of its jars.
    variable: &'static str,
    /// The program and its classes, one an interface.
    program: (&'static str, &'static str),
    interfaces: &'static [(&'static str, &'static str)],
}

/// All engines of the comparison.
pub const RIVALS: [Rival; 2] = [
    Rival {
        name: "Neo4j community",
        variable: "TANGLEWOOD_BENCH_NEO4J",
        program: ("TaoNeo4j.java", include_str!("../../../peers/TaoNeo4j.java")),
        interfaces: &[("TaoNeo4j", "Java API"), ("TaoNeo4jCypher", "Cypher, embedded")],
    },
    Rival {
        name: "JanusGraph",
        variable: "TANGLEWOOD_BENCH_JANUSGRAPH",
        program: ("TaoJanusGraph.java", include_str!("../../../peers/TaoJanusGraph.java")),
        interfaces: &[
            ("TaoJanusGraph", "BerkeleyDB, Gremlin"),
            ("TaoJanusGraphMemory", "in memory, Gremlin"),
        ],
    },
];

const MIX: (&str, &str) = ("TaoMix.java", include_str!("../../../peers/TaoMix.java"));
/// Java compiles what is called often, so it gets longer to warm up than we do.
const WARM_UP_MS: u64 = 20_000;
const MEASURED_MS: u64 = 8_000;
/// Silence after which an interface is given up: loading, warming up and measuring take the slowest of them about two minutes.
const SILENCE_SECONDS_MAX: u64 = 420;
/// Arguments of the Java machine: a fixed heap, and the internal interfaces that the engines' own scripts open.
const MACHINE: [&str; 7] = [
    "-Xms4g",
    "-Xmx4g",
    "-XX:+UseParallelGC",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
];

/// An engine's result through one interface.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The interface.
    pub interface: &'static str,
    /// The engine's version.
    pub version: String,
    /// Operations a second.
    pub rate: f64,
    /// Cores it kept busy meanwhile.
    pub cores: f64,
}

impl Rival {
    /// Runs the mix through each interface; the result of each, or why there is none.
    ///
    /// # Errors
    /// Its jars are not installed, or our program does not compile with them.
    pub fn run(&self, edges: &Path, place: &Path, mix: Mix) -> Result<Vec<Result<Reached, String>>, String> {
        let jars = std::env::var_os(self.variable).filter(|folder| !folder.is_empty());
        let jars = jars.ok_or_else(|| format!("{} names no folder of jars", self.variable))?;
        let classes = self.compiled(&PathBuf::from(jars), place)?;
        Ok(self
            .interfaces
            .iter()
            .map(|interface| self.measure(*interface, edges, place, mix, &classes))
            .collect())
    }

    /// The class path with our program compiled.
    fn compiled(&self, jars: &Path, place: &Path) -> Result<String, String> {
        let fault = |error: world::disk::DiskError| error.to_string();
        let folder = place.join(format!("{}-classes", self.interfaces[0].0));
        files::create_folder(&folder).map_err(fault)?;
        let jars = jars.join("*");
        let mut compiler = Command::new("javac");
        compiler.arg("-nowarn").arg("-cp").arg(&jars).arg("-d").arg(&folder);
        for (name, text) in [MIX, self.program] {
            files::write_bytes(&folder.join(name), text.as_bytes()).map_err(fault)?;
            compiler.arg(folder.join(name));
        }
        output(&mut compiler, "javac")?;
        Ok(format!("{}:{}", folder.display(), jars.display()))
    }

    fn measure(
        &self,
        (class, interface): (&'static str, &'static str),
        edges: &Path,
        place: &Path,
        mix: Mix,
        classes: &str,
    ) -> Result<Reached, String> {
        let work = place.join(format!("{class}-{}", mix.writes));
        files::create_folder(&work).map_err(|error| error.to_string())?;
        let mut machine = Command::new("java");
        machine.args(MACHINE).args(["-cp", classes, "TaoMix"]).arg(&work).arg(edges).arg(class);
        let numbers = [CLIENTS.to_string(), SEED.to_string(), mix.writes.to_string(), WARM_UP_MS.to_string()];
        machine.args(numbers).arg(MEASURED_MS.to_string());
        let answer = last_said(machine).map_err(|why| format!("{} ({interface}): {why}", self.name))?;
        let number = |name: &str| answer[name].as_f64().unwrap_or(f64::NAN);
        if number("wrong") != 0.0 {
            return Err(format!("{} ({interface}) answered wrong: {answer}", self.name));
        }
        let version = answer["version"].as_str().unwrap_or("?").to_string();
        Ok(Reached { interface, version, rate: number("rate"), cores: number("cores") })
    }
}

/// The last line of JSON that a program prints before it ends.
fn last_said(command: Command) -> Result<Json, String> {
    let (mut child, mut last) = (Child::start(command)?, None);
    loop {
        match child.line(SILENCE_SECONDS_MAX) {
            Line::Said(line) => last = Some(line),
            Line::Ended(complaint) => return last.ok_or(complaint),
            Line::Silent => return Err(format!("silent for {SILENCE_SECONDS_MAX} s, and ended")),
        }
    }
}

/// The output of a program.
fn output(command: &mut Command, name: &str) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
    Err(format!("{name} failed ({}): {last}", output.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(script: &str) -> Result<Json, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        last_said(command)
    }

    #[test]
    fn the_last_answer_counts_and_a_failure_is_told() {
        assert_eq!(
            said("echo '{\"rate\": 1}'; echo noise; echo '{\"rate\": 2}'").expect("an answer")["rate"],
            2
        );
        assert_eq!(said("echo because >&2; exit 3").expect_err("it said nothing"), "because");
    }
}
