//! TinkerPop's features, run in process: each scenario against its graph, through a session as an interface would use it.

mod load;
mod notation;
mod parts;

pub use load::load;

use crate::gherkin::{Scenario, Step};
use crate::scenario::Outcome;
use database::gremlin::GremlinOptions;
use database::{Database, Session};
use gremlin::{Argument, Bindings, Object, Request, Traversal};
use notation::Names;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time one traversal may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Tags of scenarios that no request to a server can express.
const SKIPPED_TAGS: [&str; 2] = ["@GraphComputerOnly", "@AllowNullPropertyValues"];

struct Graph {
    session: Session,
    names: Option<Names>,
}

/// Names of graphs, and the files of the suite that hold them.
const FILES: [(&str, Option<&str>); 6] = [
    ("empty", None),
    ("modern", Some("tinkerpop-modern.json")),
    ("classic", Some("tinkerpop-classic.json")),
    ("crew", Some("tinkerpop-crew.json")),
    ("sink", Some("tinkerpop-sink.json")),
    ("grateful", Some("grateful-dead.json")),
];

/// The graphs of scenarios, each loaded at its first use.
pub struct Graphs<'o> {
    folder: PathBuf,
    open: &'o mut dyn FnMut() -> Database,
    graphs: HashMap<String, Graph>,
}

impl<'o> Graphs<'o> {
    /// The graphs of a folder of GraphSON files, and an empty one, each in a database that `open` gives.
    pub fn new(folder: &Path, open: &'o mut dyn FnMut() -> Database) -> Graphs<'o> {
        Graphs { folder: folder.to_path_buf(), open, graphs: HashMap::new() }
    }

    /// Loads a graph that is not loaded; false where there is none of this name.
    ///
    /// # Panics
    /// Its file is missing or cannot be read.
    fn want(&mut self, name: &str) -> bool {
        let Some((_, file)) = FILES.iter().find(|(known, _)| *known == name) else { return false };
        if !self.graphs.contains_key(name) {
            let mut session = (self.open)().session();
            if let Some(file) = file {
                let text = world::files::read_text(&self.folder.join(file));
                let text = text.expect("the suite's graphs can be read");
                load(&text, &mut session).expect("the suite's graphs can be loaded");
            }
            self.graphs.insert(name.into(), Graph { session, names: None });
        }
        true
    }

    /// Runs one scenario.
    pub fn run(&mut self, scenario: &Scenario) -> Outcome {
        if let Some(tag) = scenario.tags.iter().find(|tag| SKIPPED_TAGS.contains(&tag.as_str())) {
            return Outcome::Skipped(format!("tagged {tag}"));
        }
        self.want("empty");
        let mut run = Run {
            graphs: self,
            graph: "empty".into(),
            bindings: Bindings::new(),
            sides: Vec::new(),
            traversal: None,
            result: None,
            first: None,
        };
        for step in &scenario.steps {
            match run.step(step) {
                Ok(()) => {}
                Err(Stop::Skip(why)) => return Outcome::Skipped(why),
                Err(Stop::Fail(why)) => return Outcome::Failed(why),
            }
        }
        match run.result {
            Some(Err(error)) => Outcome::Failed(format!("error: {error}")),
            _ => Outcome::Passed,
        }
    }
}

enum Stop {
    Skip(String),
    Fail(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Stop {
        Stop::Fail(why)
    }
}

struct Run<'g, 'o> {
    graphs: &'g mut Graphs<'o>,
    graph: String,
    bindings: Bindings,
    sides: Vec<(String, Object)>,
    traversal: Option<String>,
    result: Option<Result<Vec<Object>, String>>,
    /// The first object that was iterated, whole.
    first: Option<Object>,
}

impl Run<'_, '_> {
    fn here(&mut self) -> &mut Graph {
        self.graphs.graphs.get_mut(&self.graph).expect("the step that names a graph looked")
    }
    fn ask(&mut self, text: &str) -> Result<Vec<Object>, String> {
        let sides = std::mem::take(&mut self.sides);
        let requests = gremlin::parse(text, &self.bindings).map_err(|error| error.render(text))?;
        let mut last = Vec::new();
        for request in requests {
            match request {
                Request::Traversal(mut traversal, _) => {
                    for (name, value) in &sides {
                        traversal = with_side(traversal, name, value);
                    }
                    last = ask(&mut self.here().session, &traversal)?;
                }
                Request::Value(value) => last = vec![value],
                Request::Transaction(word) => return Err(format!("tx().{word}() is not for here")),
            }
        }
        Ok(last)
    }
    fn names(&mut self) -> Result<&Names, String> {
        let graph = self.here();
        if graph.names.is_none() {
            graph.names = Some(Names::of(&mut graph.session)?);
        }
        graph.names.as_ref().ok_or_else(|| "the names were just made".into())
    }
    fn object(&mut self, text: &str) -> Result<Object, String> {
        notation::object(text, self.names()?)
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        let text = step.text.as_str();
        let document = || step.document.as_ref().map(|text| one_line(text)).unwrap_or_default();
        if let Some(graph) = text.strip_prefix("the ").and_then(|rest| rest.strip_suffix(" graph")) {
            return self.choose(graph);
        }
        if let Some((name, value)) = defined(text, "using the parameter ") {
            let value = self.object(&value)?;
            self.bindings.insert(name, Argument::Value(value));
            return Ok(());
        }
        if let Some((name, value)) = defined(text, "using the side effect ") {
            let value = self.object(&value)?;
            self.sides.push((name, value));
            return Ok(());
        }
        match text {
            "the graph initializer of" => {
                self.ask(&document())?;
                self.here().names = None;
            }
            "the traversal of" => self.traversal = Some(document()),
            "iterated to list" | "iterated next" => {
                let traversal = self.traversal.clone().ok_or_else(|| "no traversal was given".to_string())?;
                let mut result = self.ask(&traversal);
                self.first = result.as_ref().ok().and_then(|all| all.first().cloned());
                if text == "iterated next" {
                    result = result.map(|all| all.first().map(notation::parts).unwrap_or_default());
                }
                self.result = Some(result);
            }
            "an unsupported test" | "nothing should happen because" => {
                return Err(Stop::Skip("the suite calls it unsupported".into()));
            }
            _ if text.starts_with("the traversal will raise an error") => self.expect_error(text)?,
            _ => self.expect_result(text, step)?,
        }
        Ok(())
    }

    fn choose(&mut self, graph: &str) -> Result<(), Stop> {
        if !self.graphs.want(graph) {
            return Err(Stop::Skip(format!("there is no graph {graph}")));
        }
        self.graph = graph.into();
        if graph == "empty" {
            self.ask("g.V().drop()")?;
            self.here().names = None;
        }
        Ok(())
    }

    fn expect_error(&mut self, text: &str) -> Result<(), Stop> {
        let Some(Err(error)) = self.result.take() else {
            return Err(Stop::Fail("no error was raised".into()));
        };
        let Some((kind, wanted)) = text.split_once(" text of \"") else { return Ok(()) };
        let wanted = wanted.trim_end_matches('"').replace("\\\"", "\"");
        let (own, wanted) = (error.to_lowercase(), wanted.to_lowercase());
        let fits = match kind.rsplit(' ').next() {
            Some("starting") => own.contains(&wanted),
            _ => own.contains(&wanted),
        };
        match fits {
            true => Ok(()),
            false => Err(Stop::Fail(format!("the error {error:?} lacks {wanted:?}"))),
        }
    }

    fn expect_result(&mut self, text: &str, step: &Step) -> Result<(), Stop> {
        let result = match self.result.clone() {
            Some(Ok(result)) => result,
            Some(Err(error)) => return Err(Stop::Fail(format!("error: {error}"))),
            None => return Err(Stop::Fail("nothing was iterated".into())),
        };
        if let Some(count) = text.strip_prefix("the result should have a count of ") {
            return equal(result.len(), count.trim().parse().unwrap_or(usize::MAX));
        }
        if let Some(rest) = text.strip_prefix("the graph should return ") {
            let (count, query) = rest.split_once(" for count of ").ok_or_else(|| text.to_string())?;
            let query = query.trim_matches('"').replace("\\\\\"", "\"").replace("\\\"", "\"");
            let found = self.ask(&format!("{query}.count()"))?;
            let found = found.first().and_then(Object::as_long).unwrap_or(-1);
            return equal(found as usize, count.parse().unwrap_or(usize::MAX));
        }
        if text.starts_with("the result should be a ") {
            return self.expect_part(text, step);
        }
        let shown: Vec<String> = result.iter().map(notation::shown).collect();
        let mut wanted = Vec::new();
        for row in step.table.iter().skip(1) {
            let cell = row.first().ok_or_else(|| "a row is empty".to_string())?;
            wanted.push(notation::shown(&self.object(cell)?));
        }
        let holds = match text {
            "the result should be empty" => shown.is_empty(),
            "the result should be ordered" => shown == wanted,
            "the result should be of" => shown.iter().all(|one| wanted.contains(one)),
            "the result should be unordered" => counted(&shown) == counted(&wanted),
            _ => return Err(Stop::Skip(format!("the step {text:?} is not known"))),
        };
        match holds {
            true => Ok(()),
            false => Err(Stop::Fail(format!("got {} wanted {}", brief(&shown), brief(&wanted)))),
        }
    }
}

fn ask(session: &mut Session, traversal: &Traversal) -> Result<Vec<Object>, String> {
    let options = GremlinOptions { timeout: Some(TIMEOUT), ..GremlinOptions::default() };
    let answer = session.gremlin(traversal, &options).map_err(|error| error.to_string())?;
    answer.all().map_err(|error| error.to_string())
}

fn with_side(mut traversal: Traversal, name: &str, value: &Object) -> Traversal {
    let arguments = vec![Argument::Value(Object::from(name)), Argument::Value(value.clone())];
    traversal = traversal.with_source("withSideEffect", arguments);
    traversal
}

/// `NAME defined as "VALUE"` behind a beginning.
fn defined(text: &str, beginning: &str) -> Option<(String, String)> {
    let rest = text.strip_prefix(beginning)?;
    let (name, value) = rest.split_once(" defined as \"").or_else(|| rest.split_once(" of \""))?;
    Some((name.into(), value.strip_suffix('"')?.replace("\\\"", "\"")))
}

/// A text over several lines as one.
fn one_line(text: &str) -> String {
    text.trim().lines().map(str::trim).collect::<Vec<_>>().join("")
}

fn counted(all: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    all.iter().for_each(|one| *counts.entry(one.as_str()).or_default() += 1);
    counts
}

fn brief(all: &[String]) -> String {
    let shown = all.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > 8 { format!("{} of [{shown}, …]", all.len()) } else { format!("[{shown}]") }
}

fn equal(found: usize, wanted: usize) -> Result<(), Stop> {
    match found == wanted {
        true => Ok(()),
        false => Err(Stop::Fail(format!("count {found}, wanted {wanted}"))),
    }
}
