//! The map of a graph procedure, validated: an unknown name or a value of another type is an error that lists the valid names.

use crate::{ProcedureError, Question};
use model::{Direction, EdgeTypeId, KeyId, Map, Value, VertexId};
use store::{LabelFilter, Snapshot, StoreError};

/// Rounds at most: each reads the whole graph.
const ROUNDS_MAX: i64 = 10_000;
/// Rounds where none are named.
const CDLP_ROUNDS: u32 = 10;
const PAGE_RANK_ROUNDS: u32 = 20;
/// How likely a walker follows an edge, where nothing is said.
const DAMPING: f64 = 0.85;

/// The settings of a procedure, and the part of the graph.
pub struct Settings {
    /// Edge types.
    pub(crate) types: Vec<EdgeTypeId>,
    pub(crate) direction: Direction,
    /// Only these vertices.
    pub(crate) filter: LabelFilter,
    pub(crate) source: Option<VertexId>,
    pub(crate) target: Option<VertexId>,
    /// Edge property that is the weight; each edge weighs one where absent.
    pub(crate) weight: Option<KeyId>,
    /// Vertex property with the first label.
    pub(crate) seed: Option<KeyId>,
    pub(crate) rounds: u32,
    pub(crate) damping: f64,
}

/// A call that is wrong.
pub fn wrong(what: impl Into<String>) -> ProcedureError {
    ProcedureError::Call(what.into())
}

/// Names that a question understands.
fn known(question: Question) -> &'static [&'static str] {
    match question {
        Question::Bfs => &["source", "types", "direction", "label"],
        Question::Sssp => &["source", "types", "direction", "label", "weight"],
        Question::Cdlp => &["types", "direction", "label", "iterations", "seed"],
        Question::PageRank => &["types", "direction", "label", "iterations", "damping"],
        Question::Lcc | Question::Wcc => &["types", "direction", "label"],
    }
}

/// Does the caller know a name? A name that only hidden data carries counts as unknown. One that cannot be looked up now is found later.
fn is_known(known: Result<bool, StoreError>) -> bool {
    known.unwrap_or(true)
}

/// A map of settings, without nulls.
pub struct Given<'a>(Option<&'a Map>);

impl<'a> Given<'a> {
    /// Reads the argument of a call: a map of these settings, null, or nothing. `shape` describes the expected form.
    ///
    /// # Errors
    /// It is no map, or has an unknown name.
    pub fn read(
        argument: Option<&'a Value>,
        names: &[&str],
        shape: &str,
    ) -> Result<Given<'a>, ProcedureError> {
        let map = match argument {
            Some(Value::Map(map)) => Some(&**map),
            None | Some(Value::Null) => None,
            Some(_) => return Err(wrong(shape)),
        };
        if let Some(name) = map.and_then(|map| map.keys().find(|name| !names.contains(&&***name))) {
            return Err(wrong(format!("there is no setting `{name}` here; known: {}", names.join(", "))));
        }
        Ok(Given(map))
    }
    /// A setting that is there and not null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.0?.get(name).filter(|value| !value.is_null())
    }
    /// `direction`, where it is said.
    ///
    /// # Errors
    /// It is none.
    pub fn direction(&self) -> Result<Option<Direction>, ProcedureError> {
        Ok(match self.text("direction")? {
            None => None,
            Some("out") => Some(Direction::Out),
            Some("in") => Some(Direction::In),
            Some("both") => Some(Direction::Both),
            Some(other) => return Err(wrong(format!("`direction` is out, in or both, not {other}"))),
        })
    }
    /// The node of this name; `what` describes its purpose.
    ///
    /// # Errors
    /// It is no node.
    pub fn node(
        &self,
        name: &str,
        what: &str,
        snapshot: &Snapshot,
    ) -> Result<Option<VertexId>, ProcedureError> {
        match self.get(name) {
            Some(Value::Vertex(vertex)) if vertex.dense() < snapshot.vertex_bound() => Ok(Some(*vertex)),
            None => Ok(None),
            _ => Err(wrong(format!("`{name}` is {what}"))),
        }
    }
    /// A whole number of at least 0 and at most `most`.
    ///
    /// # Errors
    /// It is none.
    pub fn count(&self, name: &str, most: i64) -> Result<Option<u32>, ProcedureError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let count = value.as_int().filter(|count| (0..=most).contains(count));
        let count = count.and_then(|count| u32::try_from(count).ok());
        count.map(Some).ok_or_else(|| wrong(format!("`{name}` is a whole number from 0 to {most}")))
    }
    /// A text.
    ///
    /// # Errors
    /// It is none.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, ProcedureError> {
        let text = |value: &'a Value| value.as_str().ok_or_else(|| wrong(format!("`{name}` is a text")));
        self.get(name).map(text).transpose()
    }
    /// The relationship types named by `types`; all of them if absent.
    ///
    /// # Errors
    /// It names a type that does not exist.
    pub fn types(&self, snapshot: &Snapshot) -> Result<Vec<EdgeTypeId>, ProcedureError> {
        let names = match self.get("types") {
            None => return Ok(snapshot.statistics().edge_types()),
            Some(Value::List(list)) => list.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let number = |name: &Value| {
            let name =
                name.as_str().ok_or_else(|| wrong("`types` is a relationship type or a list of them"))?;
            let known =
                snapshot.catalog().edge_type(name).filter(|_| is_known(snapshot.knows_edge_type(name)));
            known.ok_or_else(|| wrong(format!("there is no relationship type `{name}`")))
        };
        names.iter().map(number).collect()
    }
    /// The key of a property that `name` names.
    ///
    /// # Errors
    /// Nothing has such a property.
    pub fn key(&self, name: &str, snapshot: &Snapshot) -> Result<Option<KeyId>, ProcedureError> {
        let key = |key: &str| {
            let known = snapshot.catalog().key(key).filter(|_| is_known(snapshot.knows_key(key)));
            known.ok_or_else(|| wrong(format!("nothing has a property `{key}`")))
        };
        self.text(name)?.map(key).transpose()
    }
    /// The vertices that `label` names.
    ///
    /// # Errors
    /// It names a label that does not exist.
    pub fn filter(&self, snapshot: &Snapshot) -> Result<LabelFilter, ProcedureError> {
        let names = match self.get("label") {
            None => return Ok(LabelFilter::Any),
            Some(Value::List(list)) => list.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let has = |name: &Value| {
            let name = name.as_str().ok_or_else(|| wrong("`label` is a label or a list of them"))?;
            let known = snapshot.catalog().label(name).filter(|_| is_known(snapshot.knows_label(name)));
            let label = known.ok_or_else(|| wrong(format!("there is no label `{name}`")))?;
            Ok(LabelFilter::Has(label))
        };
        let mut filters = names.iter().map(has).collect::<Result<Vec<_>, ProcedureError>>()?;
        Ok(if filters.len() == 1 { filters.remove(0) } else { LabelFilter::Or(filters) })
    }
    fn rounds(&self, default: u32) -> Result<u32, ProcedureError> {
        Ok(self.count("iterations", ROUNDS_MAX)?.unwrap_or(default))
    }
    fn damping(&self) -> Result<f64, ProcedureError> {
        let damping = match self.get("damping") {
            None => Some(DAMPING),
            Some(Value::Float(damping)) => Some(*damping),
            Some(Value::Int(damping)) => Some(*damping as f64),
            Some(_) => None,
        };
        damping
            .filter(|damping| (0.0..=1.0).contains(damping))
            .ok_or_else(|| wrong("`damping` is a number from 0 to 1"))
    }
}

impl Settings {
    /// Reads the argument of a call: one map, or nothing.
    ///
    /// # Errors
    /// A name that the question does not know, or a value that it does not take.
    pub fn read(
        question: Question,
        argument: Option<&Value>,
        snapshot: &Snapshot,
    ) -> Result<Settings, ProcedureError> {
        let rounds = if question == Question::Cdlp { CDLP_ROUNDS } else { PAGE_RANK_ROUNDS };
        Settings::read_known((known(question), rounds), argument, snapshot)
    }
    /// The same for procedures with these names, and a default number of rounds.
    pub(crate) fn read_known(
        (names, rounds): (&[&str], u32),
        argument: Option<&Value>,
        snapshot: &Snapshot,
    ) -> Result<Settings, ProcedureError> {
        let shape = "a graph procedure takes one map, such as {types: 'KNOWS'}";
        let given = Given::read(argument, names, shape)?;
        let direction = given.direction()?.unwrap_or(Direction::Out);
        let begins = "the node that paths begin at";
        let source = given.node("source", begins, snapshot)?;
        if source.is_none() && names.contains(&"source") {
            return Err(wrong(format!("`source` is {begins}")));
        }
        let target = given.node("target", "the node that paths end at", snapshot)?;
        let rounds = given.rounds(rounds)?;
        Ok(Settings {
            types: given.types(snapshot)?,
            direction,
            filter: given.filter(snapshot)?,
            source,
            target,
            weight: given.key("weight", snapshot)?,
            seed: given.key("seed", snapshot)?,
            rounds,
            damping: given.damping()?,
        })
    }
}
