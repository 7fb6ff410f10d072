//! Pairs that are made, changed and deleted whole: the twin that knows the exact state after a crash.
//!
//! ```text
//!   (:Left {key: k, mark: m})-[:PAIR {mark: m}]->(:Right {key: k, mark: m})        Left sometimes :Extra too; Left.key is unique
//! ```
//!
//! Idea: each change is one transaction over both vertices and the edge, so a half is seen at once. The twin is a list of possible
//! states: one, as long as every answer was clear; an unclear answer doubles it, and what is found after recovery decides.

use crate::audit::contents;
use model::schema::SchemaTarget;
use model::{Direction, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use std::collections::BTreeMap;
use store::{Snapshot, StoreError};
use transact::{ConstraintRequest, Engine, IndexRequest, Mode, Rule, TransactError, Transaction};
use world::chance::Chance;

/// Key to its mark, and whether its left side is extra.
pub type State = BTreeMap<i64, (i64, bool)>;

/// The most states that are followed; after that many unclear answers no more pairs are changed until recovery decides.
const STATES_MAX: usize = 64;
/// Keys are drawn below this: few, so that they are deleted, made again, and taken twice.
const KEYS: u64 = 40;

/// The pairs of one run, over several lives.
pub struct Pairs {
    possible: Vec<State>,
    next_mark: i64,
    /// How many changes were acknowledged.
    pub acknowledged: u64,
    /// How many were refused because the key was taken.
    pub refused: u64,
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs { possible: vec![State::new()], next_mark: 0, acknowledged: 0, refused: 0 }
    }
}

#[derive(Clone, Copy)]
struct Names {
    left: LabelId,
    right: LabelId,
    extra: LabelId,
    pair: EdgeTypeId,
    key: KeyId,
    mark: KeyId,
}

impl Names {
    fn of(engine: &Engine) -> Result<Names, TransactError> {
        let names = engine.store().names();
        Ok(Names {
            left: names.intern_label("Left")?,
            right: names.intern_label("Right")?,
            extra: names.intern_label("Extra")?,
            pair: names.intern_edge_type("PAIR")?,
            key: names.intern_key("key")?,
            mark: names.intern_key("mark")?,
        })
    }
}

/// The outcome of one change.
enum Answer {
    Done,
    Refused,
    Unknown,
}

impl Pairs {
    /// Makes the uniqueness constraint of the pairs.
    ///
    /// # Errors
    /// The engine failed.
    pub fn prepare(&self, engine: &Engine) -> Result<(), TransactError> {
        let names = Names::of(engine)?;
        let (target, keys) = (SchemaTarget::Vertices(names.left), vec![names.key]);
        let request = ConstraintRequest {
            name: Some("left_key".into()),
            target,
            keys,
            rule: Rule::Unique,
            if_not_exists: true,
        };
        engine.create_constraint(&request).map(|_| ())
    }

    /// Makes, changes or deletes one pair.
    ///
    /// # Errors
    /// A wrong outcome: a key taken twice, a free key refused.
    pub fn change(&mut self, engine: &Engine, chance: &mut Chance) -> Result<(), String> {
        if self.possible.len() >= STATES_MAX {
            return Ok(());
        }
        let key = chance.below(KEYS) as i64;
        self.next_mark += 1;
        let (mark, extra) = (self.next_mark, chance.happens(0.3));
        let names = Names::of(engine).map_err(|error| error.to_string())?;
        // What the process itself sees: unclear commits are not visible before recovery.
        let there = find(engine, names, key).map_err(|error| error.to_string())?;
        let transaction = engine.begin(Mode::Write);
        let (made, after, must_refuse) = match (&there, chance.below(8)) {
            (Some(_), 0) => (make(&transaction, names, key, mark, extra), None, true),
            (Some(left), 1 | 2) => (delete(&transaction, names, *left), None, false),
            (Some(left), _) => (alter(&transaction, names, *left, mark, extra), Some((mark, extra)), false),
            (None, _) => (make(&transaction, names, key, mark, extra), Some((mark, extra)), false),
        };
        let answer = match made.and_then(|()| transaction.commit()) {
            Ok(_) if must_refuse => return Err(format!("key {key} was taken twice")),
            Ok(_) => Answer::Done,
            Err(TransactError::Constraint { .. }) if must_refuse => Answer::Refused,
            Err(TransactError::Unknown { .. }) if !must_refuse => Answer::Unknown,
            Err(TransactError::Durable(_) | TransactError::Store(StoreError::Source(_))) => Answer::Refused,
            Err(error) => return Err(format!("pair {key}: {error}")),
        };
        self.note(key, after, &answer);
        Ok(())
    }

    fn note(&mut self, key: i64, after: Option<(i64, bool)>, answer: &Answer) {
        let apply = |state: &State| {
            let mut state = state.clone();
            match after {
                Some(pair) => state.insert(key, pair),
                None => state.remove(&key),
            };
            state
        };
        match answer {
            Answer::Done => {
                self.acknowledged += 1;
                self.possible = self.possible.iter().map(apply).collect();
            }
            Answer::Refused => self.refused += 1,
            Answer::Unknown => {
                let more: Vec<State> = self.possible.iter().map(apply).collect();
                self.possible.extend(more);
            }
        }
    }

    /// Creates or drops an index over the marks; whether it worked is for the audit to see.
    pub fn change_index(&self, engine: &Engine) -> Result<(), TransactError> {
        let names = Names::of(engine)?;
        let (target, keys) = (SchemaTarget::Vertices(names.right), vec![names.mark]);
        if engine.snapshot().catalog().index_named("marks").is_some() {
            return engine.drop_index("marks", true).map(|_| ());
        }
        engine
            .create_index(&IndexRequest { name: Some("marks".into()), target, keys, if_not_exists: true })
            .map(|_| ())
    }

    /// After recovery: the content must be one of the possible states, and is the only one from now on.
    ///
    /// # Errors
    /// The content, if it is none of them, or not whole.
    pub fn recovered(&mut self, engine: &Engine) -> Result<(), String> {
        let found = self.look(engine)?;
        if !self.possible.contains(&found) {
            let last = &self.possible[0];
            return Err(format!(
                "pairs after recovery are none of {}:\n{found:?}\n{last:?}",
                self.possible.len()
            ));
        }
        self.possible = vec![found];
        Ok(())
    }

    /// While the process lives, it must see the first of the possible states: all acknowledged changes, and nothing else.
    ///
    /// # Errors
    /// The content, if it is another.
    pub fn look(&self, engine: &Engine) -> Result<State, String> {
        let names = Names::of(engine).map_err(|error| error.to_string())?;
        read(&engine.snapshot(), names)
    }

    /// Compares the content that the process sees with its acknowledgements.
    ///
    /// # Errors
    /// The content, if it is another.
    pub fn alive(&self, engine: &Engine) -> Result<(), String> {
        let found = self.look(engine)?;
        match found == self.possible[0] {
            true => Ok(()),
            false => Err(format!("the process sees {found:?}\ninstead of {:?}", self.possible[0])),
        }
    }
}

fn find(engine: &Engine, names: Names, key: i64) -> Result<Option<VertexId>, StoreError> {
    let snapshot = engine.snapshot();
    let index = snapshot.index_for(SchemaTarget::Vertices(names.left), &[names.key]);
    let Some(index) = index else { return Ok(None) };
    Ok(snapshot.seek(index, &[Value::Int(key)])?.first().copied())
}

fn make(t: &Transaction, names: Names, key: i64, mark: i64, extra: bool) -> Result<(), TransactError> {
    let properties = || vec![(names.key, Value::Int(key)), (names.mark, Value::Int(mark))];
    let labels: &[LabelId] = if extra { &[names.left, names.extra] } else { &[names.left] };
    let left = t.create_vertex(labels, properties())?;
    let right = t.create_vertex(&[names.right], properties())?;
    t.create_edge(left, right, names.pair, vec![(names.mark, Value::Int(mark))])?;
    Ok(())
}

fn other_side(
    t: &Transaction,
    names: Names,
    left: VertexId,
) -> Result<Option<model::EdgeRef>, TransactError> {
    let view = t.snapshot().adjacency(&[names.pair], Direction::Out);
    let mut scratch = store::EdgeScratch::default();
    let (neighbours, edges) = view.edges(left.dense(), &mut scratch)?;
    Ok(neighbours.iter().zip(edges).next().map(|(right, edge)| model::EdgeRef {
        id: model::EdgeId(*edge),
        source: left,
        target: VertexId::from_dense(*right),
    }))
}

fn alter(t: &Transaction, names: Names, left: VertexId, mark: i64, extra: bool) -> Result<(), TransactError> {
    let edge = other_side(t, names, left)?.ok_or(TransactError::NotFound { what: "relationship" })?;
    t.set_property(left, names.mark, Value::Int(mark))?;
    t.set_property(edge.target, names.mark, Value::Int(mark))?;
    t.set_edge_property(edge, names.mark, Value::Int(mark))?;
    let (add, remove): (&[LabelId], &[LabelId]) =
        if extra { (&[names.extra], &[]) } else { (&[], &[names.extra]) };
    t.change_labels(left, add, remove).map(|_| ())
}

fn delete(t: &Transaction, names: Names, left: VertexId) -> Result<(), TransactError> {
    let edge = other_side(t, names, left)?.ok_or(TransactError::NotFound { what: "relationship" })?;
    t.delete_vertex(left, true)?;
    t.delete_vertex(edge.target, true).map(|_| ())
}

/// All pairs, each whole.
fn read(snapshot: &Snapshot, names: Names) -> Result<State, String> {
    let contents = contents(snapshot).map_err(|error| error.to_string())?;
    let with = |label: LabelId| contents.vertices.iter().filter(move |(_, labels)| labels.contains(&label));
    let property = |vertex: &VertexId, key: KeyId| {
        let value = snapshot.property(*vertex, key).map_err(|error| error.to_string())?;
        value.as_int().ok_or_else(|| format!("{vertex:?} has {value:?}"))
    };
    let mut state = State::new();
    for (left, labels) in with(names.left) {
        let (key, mark) = (property(left, names.key)?, property(left, names.mark)?);
        let edges: Vec<_> = contents.edges.iter().filter(|edge| edge.source == *left).collect();
        let [edge] = edges[..] else { return Err(format!("pair {key} has {} edges", edges.len())) };
        let on_edge = snapshot.edge_property(edge.id, names.mark).map_err(|error| error.to_string())?;
        let right = (property(&edge.target, names.key)?, property(&edge.target, names.mark)?);
        if right != (key, mark) || on_edge.as_int() != Some(mark) {
            return Err(format!("pair {key} is half: left {mark}, edge {on_edge:?}, right {right:?}"));
        }
        if state.insert(key, (mark, labels.contains(&names.extra))).is_some() {
            return Err(format!("pair {key} is there twice"));
        }
    }
    let rights = with(names.right).count();
    if rights != state.len() {
        return Err(format!("{} lefts but {rights} rights", state.len()));
    }
    Ok(state)
}
