//! One client: operation after operation until the time is up, each answer checked at once or recorded for a later check.

use super::mix::{Mix, Operation};
use super::twin::{Digest, Doubt, History, Twin, Written};
use crate::store::told;
use crate::timing::Samples;
use database::{Params, QueryResult, Session, params};
use model::Column;
use std::collections::BTreeMap;
use std::ops::Range;
use world::chance::Chance;
use world::clock::monotonic_ns;

/// Our wording of the operations.
const GET_EDGES: &str = "MATCH (:N {id: $v})-[:E]->(b) RETURN b.id";
const COUNT_EDGES: &str = "MATCH (:N {id: $v})-[e:E]->() RETURN count(e)";
const GET_NODE: &str = "MATCH (n:N {id: $v}) RETURN n.id";
const CREATE_EDGE: &str = "MATCH (a:N {id: $v}), (b:N {id: $w}) CREATE (a)-[:E]->(b)";
const DELETE_EDGE: &str = "MATCH (:N {id: $v})-[e:E]->(:N {id: $w}) DELETE e";

/// Results of a client.
#[derive(Debug, Default)]
pub struct Done {
    /// Times by operation, of those that began in the measured time.
    pub samples: BTreeMap<Operation, Samples>,
    /// Reads that are judged when all writes are known.
    pub doubts: Vec<Doubt>,
    /// Its writes.
    pub history: History,
    /// Targets behind them.
    pub latest: BTreeMap<u32, Vec<u32>>,
    /// Operations in the measured time.
    pub operations: u64,
    /// The first thing that was wrong.
    pub fault: Option<String>,
}

/// A client of the mix.
pub struct Client<'a> {
    session: Session,
    twin: &'a Twin,
    chance: Chance,
    mix: Mix,
    /// It writes to the vertices whose id leaves this rest...
    number: u32,
    /// ...when divided by this.
    clients: u32,
    /// Targets now of the vertices it has written to.
    own: BTreeMap<u32, Vec<u32>>,
    done: Done,
}

impl<'a> Client<'a> {
    /// Client `number` of `clients`.
    pub fn new(
        session: Session,
        twin: &'a Twin,
        mix: Mix,
        seed: u64,
        number: u32,
        clients: u32,
    ) -> Client<'a> {
        let chance = Chance::seeded(seed.wrapping_add(u64::from(number)));
        Client { session, twin, chance, mix, number, clients, own: BTreeMap::new(), done: Done::default() }
    }
    /// Runs until the end of `measured_ns`; operations that begin before it are warm-up.
    pub fn run(mut self, measured_ns: Range<u64>) -> Done {
        while self.done.fault.is_none() {
            let operation = self.mix.draw(&mut self.chance);
            let begin_ns = monotonic_ns();
            if begin_ns >= measured_ns.end {
                break;
            }
            let outcome = if operation.writes() { self.write(operation) } else { self.read(operation) };
            match outcome {
                Err(fault) => self.done.fault = Some(format!("{}: {fault}", operation.name())),
                Ok(took_ns) if begin_ns >= measured_ns.start => {
                    self.done.operations += 1;
                    self.done.samples.entry(operation).or_default().push(took_ns as f64 / 1e6);
                }
                Ok(_) => {}
            }
        }
        self.done.latest = self.own;
        self.done
    }

    fn any_vertex(&mut self) -> u32 {
        self.chance.range(u64::from(*self.twin.ids.start())..u64::from(*self.twin.ids.end()) + 1) as u32
    }

    fn read(&mut self, operation: Operation) -> Result<u64, String> {
        let vertex = self.any_vertex();
        let is_unwritten = self.twin.is_unwritten(vertex);
        let begin_ns = monotonic_ns();
        let params = params! { "v" => i64::from(vertex) };
        let answered = match operation {
            Operation::GetNode => Digest { count: self.single(GET_NODE, params)?, sum: None },
            Operation::CountEdges => Digest { count: self.single(COUNT_EDGES, params)?, sum: None },
            _ => digest(self.session.query(GET_EDGES, params).map_err(|error| told(&error))?)?,
        };
        let end_ns = monotonic_ns();
        if operation == Operation::GetNode {
            let right = answered.count == u64::from(vertex);
            return right
                .then_some(end_ns - begin_ns)
                .ok_or(format!("{vertex} was answered by {answered:?}"));
        }
        if !(is_unwritten && self.twin.is_as_loaded(vertex, answered)) {
            self.done.doubts.push(Doubt { vertex, begin_ns, end_ns, answered });
        }
        Ok(end_ns - begin_ns)
    }

    fn single(&mut self, text: &str, params: Params) -> Result<u64, String> {
        let value = self.session.query(text, params).and_then(QueryResult::single);
        let value = value.map_err(|error| told(&error))?;
        value.as_int().and_then(|number| u64::try_from(number).ok()).ok_or(format!("answered {value:?}"))
    }

    fn write(&mut self, operation: Operation) -> Result<u64, String> {
        let vertex = self.own_vertex();
        let mut targets = match self.own.get(&vertex) {
            Some(targets) => targets.clone(),
            None => self.twin.targets(vertex).to_vec(),
        };
        let creates = operation == Operation::CreateEdge || targets.is_empty();
        let target = if creates {
            self.new_target(&targets)
        } else {
            *self.chance.choose(&targets).expect("not empty")
        };
        match targets.binary_search(&target) {
            Ok(place) => _ = targets.remove(place),
            Err(place) => targets.insert(place, target),
        }
        let text = if creates { CREATE_EDGE } else { DELETE_EDGE };
        let params = params! { "v" => i64::from(vertex), "w" => i64::from(target) };
        let begin_ns = monotonic_ns();
        let summary = self.session.query(text, params).and_then(QueryResult::finish);
        let end_ns = monotonic_ns();
        let counters = summary.map_err(|error| told(&error))?.counters;
        self.twin.acknowledge(vertex);
        let after = Digest::of(targets.iter().copied());
        self.own.insert(vertex, targets);
        self.done.history.entry(vertex).or_default().push(Written { begin_ns, end_ns, after });
        let changed = (counters.relationships_created, counters.relationships_deleted);
        if changed != (u64::from(creates), u64::from(!creates)) {
            return Err(format!("{vertex} to {target}: {changed:?} edges were created and deleted"));
        }
        Ok(end_ns - begin_ns)
    }

    /// A vertex that only this client writes to.
    fn own_vertex(&mut self) -> u32 {
        loop {
            let vertex = self.any_vertex();
            if vertex % self.clients == self.number {
                return vertex;
            }
        }
    }

    /// A vertex that is not a target yet.
    fn new_target(&mut self, targets: &[u32]) -> u32 {
        loop {
            let target = self.any_vertex();
            if targets.binary_search(&target).is_err() {
                return target;
            }
        }
    }
}

/// The digest of an answer's only column.
pub fn digest(mut result: QueryResult) -> Result<Digest, String> {
    let mut digest = Digest { count: 0, sum: Some(0) };
    while let Some(batch) = result.next_batch().map_err(|error| told(&error))? {
        let column = batch.column(0);
        let Column::Int(ids, _) = column.column() else {
            return Err("ids are no integers".into());
        };
        for row in 0..batch.len() {
            digest = digest.with(u32::try_from(ids[column.at(row)]).map_err(|error| error.to_string())?);
        }
    }
    Ok(digest)
}
