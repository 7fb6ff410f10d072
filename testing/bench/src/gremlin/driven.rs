//! The same questions through TinkerPop's Python driver: our server beside Gremlin Server over TinkerGraph and over JanusGraph.
//!
//! The driver takes its own time for each call, whatever is asked. `floor` is that time, measured with a traversal of nothing on the same
//! server. Where our answer takes less than [`FLOORS_MIN`] floors the driver is the limit: what is compared then is the servers' own
//! time. Theirs is what their own clock says around the traversal, with nothing of the wire and of understanding the text; ours is what
//! was waited for beyond the floor, with all of that in it.

use super::peer::{self, CALL_SECONDS_MAX, FASTER_MIN, Peer, is_right, jars, questions, wording, write};
use crate::banyan::Graph;
use crate::peers::interpreter;
use crate::report::Report;
use crate::timing::shown_ms;
use serde_json::Value as Json;
use server::gremlin::{Manner, Sources};
use server::users::Gate;
use server::{GremlinServeOptions, GremlinServer, Limits};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

const SERVED: &str = include_str!("../../peers/GremlinServed.java");
const DRIVER: &str = include_str!("../../peers/gremlin_driver.py");
/// Below this many empty calls, an answer's time is the driver's more than the server's.
const FLOORS_MIN: f64 = 3.0;
/// Differences of two medians below this, in milliseconds, are not distinguished.
const TOLD_APART_MS: f64 = 0.005;

/// A driver's measurements of one question.
struct Seen {
    waited_ms: f64,
    server_ms: f64,
    rows: Vec<Vec<i64>>,
}

/// Whatever a question came to: `Err` says why there is no answer.
type Answers = HashMap<String, Result<Seen, String>>;

/// A peer's server, ended with its input.
struct Served {
    process: Child,
    input: Option<ChildStdin>,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.input.take());
        // It has nothing to save.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn served((_, kind, variable): &Peer, place: &Path) -> Result<Served, String> {
    let jars = jars(variable)?;
    write(place, "GremlinTwins.java", peer::JAVA)?;
    write(place, "GremlinServed.java", SERVED)?;
    let classes = place.join(kind);
    let told = |error: std::io::Error| error.to_string();
    let mut compiler = Command::new("javac");
    compiler.args(["-nowarn", "-cp", &format!("{jars}/*"), "-d"]).arg(&classes);
    compiler.args(["GremlinTwins.java", "GremlinServed.java"].map(|name| place.join(name)));
    let compiled = compiler.stdin(Stdio::null()).output().map_err(told)?;
    if !compiled.status.success() {
        let why = String::from_utf8_lossy(&compiled.stderr).lines().next().unwrap_or_default().to_string();
        return Err(format!("its server cannot be built; is it among the jars of {variable}? {why}"));
    }
    let mut command = Command::new("java");
    command.args(["-Xmx6g", "-cp", &format!("{}:{jars}/*", classes.display()), "GremlinServed", kind]);
    command.args(["vertices", "edges"].map(|name| place.join(name))).arg(CALL_SECONDS_MAX.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn().map_err(told)?;
    let input = process.stdin.take();
    let output = process.stdout.take().ok_or("it has no output")?;
    let mut served = Served { process, input, address: String::new() };
    let port =
        BufReader::new(output).lines().map_while(Result::ok).find_map(|line| line.trim().parse::<u16>().ok());
    let port = port.ok_or("its server did not start")?;
    served.address = format!("ws://127.0.0.1:{port}/gremlin");
    Ok(served)
}

/// Asks a server through the driver.
fn driven(address: &str, clock: &str, texts: &str, place: &Path) -> Result<Answers, String> {
    let python =
        interpreter("gremlin_python").ok_or("the Python package `gremlinpython` is not installed")?;
    write(place, "gremlin_driver.py", DRIVER)?;
    write(place, "driven", texts)?;
    let mut command = Command::new(python);
    command.arg(place.join("gremlin_driver.py")).args([address, clock]);
    command.args(["driven", "persons"].map(|name| place.join(name))).arg(CALL_SECONDS_MAX.to_string());
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let answers: Answers = String::from_utf8_lossy(&output.stdout).lines().filter_map(seen).collect();
    match answers.contains_key("floor") {
        true => Ok(answers),
        false => {
            Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("no output").to_string())
        }
    }
}

fn seen(line: &str) -> Option<(String, Result<Seen, String>)> {
    let line: Json = serde_json::from_str(line).ok()?;
    let name = line["query"].as_str()?.to_string();
    let (Some(waited_ms), Some(server_ms)) = (line["median_ms"].as_f64(), line["server_ms"].as_f64()) else {
        return Some((name, Err(line["why"].as_str().unwrap_or("no answer").to_string())));
    };
    let rows = serde_json::from_value(line["rows"].clone()).unwrap_or_default();
    Some((name, Ok(Seen { waited_ms, server_ms, rows })))
}

/// Our own server over the graph.
fn own(graph: &Graph) -> Result<GremlinServer, String> {
    let sources = Sources::from([("g".to_string(), graph.database.clone())]);
    let manner = Manner { sources: sources.into(), gate: Gate::open(), timeout: None };
    let (address, limits) = ("127.0.0.1:0".to_string(), Limits::default());
    let options = GremlinServeOptions { address, manner, tls: None, limits, cors: Vec::new() };
    GremlinServer::start(options).map_err(|error| error.to_string())
}

/// Each peer beside us.
pub(super) fn run(graph: &Graph, report: &mut Report, chosen: &[Peer], place: &Path) -> Result<(), String> {
    report.section("the same through TinkerPop's Python driver");
    let lines = |word: &dyn Fn(&str) -> String| {
        questions().map(|(name, text)| format!("{name}\t{}", word(text))).collect::<Vec<_>>().join("\n")
    };
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let server = own(graph)?;
    let address = format!("ws://{}/gremlin", server.address());
    let ours = match driven(&address, "none", &lines(&one_line), place) {
        Ok(ours) => ours,
        Err(why) => {
            report.skipped("everything", &why);
            return Ok(());
        }
    };
    for peer in chosen {
        let theirs =
            served(peer, place).and_then(|served| driven(&served.address, "groovy", &lines(&wording), place));
        match theirs {
            Ok(theirs) => tell(graph, report, peer.0, (&ours, &theirs)),
            Err(why) => report.skipped(peer.0, &why),
        }
    }
    Ok(())
}

fn tell(graph: &Graph, report: &mut Report, peer: &str, (ours, theirs): (&Answers, &Answers)) {
    let floor_ms = |answers: &Answers| match answers.get("floor") {
        Some(Ok(seen)) => seen.waited_ms,
        _ => 0.0,
    };
    let (our_floor_ms, their_floor_ms) = (floor_ms(ours), floor_ms(theirs));
    report.note(format!(
        "an empty call: {} here, {} at {peer}",
        shown_ms(our_floor_ms),
        shown_ms(their_floor_ms)
    ));
    for (name, _) in questions() {
        let title = format!("{name} against {peer}, driver");
        let own = match ours.get(name) {
            Some(Ok(own)) => own,
            Some(Err(why)) => {
                report.figure(&title, why, "an answer", false);
                continue;
            }
            None => continue,
        };
        let (waited_ms, server_ms, sign) = match theirs.get(name) {
            Some(Ok(seen)) if is_right(graph, name, &own.rows, &seen.rows) => {
                (seen.waited_ms, seen.server_ms, "")
            }
            Some(Ok(_)) => {
                report.skipped(&title, "its answer is wrong");
                continue;
            }
            // Time is the only reason we know for no answer; it counts with its limit.
            Some(Err(why)) if why.contains("imeout") || why.contains("598") => {
                (CALL_SECONDS_MAX as f64 * 1e3, CALL_SECONDS_MAX as f64 * 1e3, "> ")
            }
            Some(Err(why)) => {
                report.skipped(&title, why);
                continue;
            }
            None => continue,
        };
        let own_ms = (own.waited_ms - our_floor_ms).max(TOLD_APART_MS);
        let (waited, server) = (waited_ms / own.waited_ms, server_ms / own_ms);
        let driver_bound = own.waited_ms < FLOORS_MIN * our_floor_ms;
        let counts = if driver_bound { server } else { waited };
        let measured = format!(
            "{sign}{waited:.0}x waited for, {} against {sign}{}; {sign}{server:.0}x in the servers, {} against {sign}{}; {}",
            shown_ms(own.waited_ms),
            shown_ms(waited_ms),
            shown_ms(own_ms),
            shown_ms(server_ms),
            if driver_bound { "the driver is the limit" } else { "the driver is not the limit" },
        );
        report.figure(&title, &measured, &format!("{FASTER_MIN}x"), counts >= FASTER_MIN);
    }
}
