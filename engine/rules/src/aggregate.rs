//! Aggregates maintained group by group: facts that come are added, facts that go are taken back; a group's result is a fact of the output.

use crate::error::RulesError;
use crate::limits::LOOK_EVERY;
use crate::relation::{Relation, Row, hash, state};
use crate::words::{Word, Words};
use datalog::{Aggregate, AggregateKind};
use expression::RetractableSum;
use hashbrown::{HashMap, HashSet};
use model::Value;
use model::compare::total_order;
use plan::AggregateFunction;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Values as they are ordered; equal ones of different kinds (1 and 1.0) one after the other.
struct Ordered(Value);

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> Ordering {
        let kind = |value: &Value| matches!(value, Value::Float(_));
        total_order(&self.0, &other.0).then(kind(&self.0).cmp(&kind(&other.0)))
    }
}
impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Ordered {}

/// The state of one call in a group.
enum AggregateState {
    Count,
    /// The sum of the finite numbers, which is Cypher's; other values are kept beside it.
    Sum(Box<RetractableSum>, BTreeMap<Ordered, u64>),
    Extreme(BTreeMap<Ordered, u64>),
}

struct Group {
    bindings: u64,
    kept: Vec<AggregateState>,
    /// The fact of the output, where the group has one.
    shown: Option<Row>,
}

/// One aggregate and its groups.
pub(crate) struct Groups {
    pub aggregate: Aggregate,
    groups: HashMap<Vec<Word>, Group, foldhash::fast::FixedState>,
    /// Bytes behind the entries of the table.
    behind: usize,
}

impl Groups {
    pub fn new(aggregate: Aggregate) -> Groups {
        Groups { aggregate, groups: HashMap::default(), behind: 0 }
    }
    /// Bytes of the groups.
    pub fn bytes(&self) -> usize {
        self.groups.allocation_size() + self.behind
    }
    /// Bytes of a group that keeps no value yet: its key, and its calls.
    fn group_bytes(&self) -> usize {
        let calls = self.aggregate.calls.iter().map(|(kind, _)| match kind {
            AggregateKind::Sum | AggregateKind::Avg => {
                size_of::<AggregateState>() + size_of::<RetractableSum>()
            }
            _ => size_of::<AggregateState>(),
        });
        size_of::<Word>() * self.aggregate.group + calls.sum::<usize>()
    }
    /// Applies the input's facts in these states to the groups, and reports the output. `is_change` marks facts that come and go; otherwise all are
    /// new and stable. `has_room` is called now and then, with the bytes of the groups.
    pub fn advance(
        &mut self,
        relations: &mut [Relation],
        words: &mut Words,
        is_change: bool,
        has_room: &dyn Fn(usize) -> Result<(), RulesError>,
    ) -> Result<(), RulesError> {
        let input = &relations[self.aggregate.input];
        let (gone, come) = match is_change {
            true => (input.marked_as(state::REMOVED), input.marked_as(state::ADDED)),
            false => (Vec::new(), input.seen(state::STABLE).collect()),
        };
        let mut touched: HashSet<Vec<Word>, foldhash::fast::FixedState> = HashSet::default();
        let key_bytes = size_of::<Word>() * self.aggregate.group;
        for (rows, comes) in [(gone, false), (come, true)] {
            for (at, row) in rows.into_iter().enumerate() {
                if at % LOOK_EVERY == 0 {
                    has_room(self.bytes() + touched.allocation_size() + touched.len() * key_bytes)?;
                }
                let fact = input.words(row);
                self.note(fact, words, comes);
                touched.insert(fact[..self.aggregate.group].into());
            }
        }
        let output = &mut relations[self.aggregate.output];
        for (at, key) in touched.into_iter().enumerate() {
            if at % LOOK_EVERY == 0 {
                has_room(self.bytes())?;
            }
            self.show(key, output, words, is_change)?;
        }
        Ok(())
    }
    fn note(&mut self, fact: &[Word], words: &Words, comes: bool) {
        let (calls, new) = (&self.aggregate.calls, self.group_bytes());
        let bytes = &mut self.behind;
        let group = self.groups.entry_ref(&fact[..self.aggregate.group]).or_insert_with(|| {
            *bytes += new;
            let kept = calls.iter().map(|(kind, _)| AggregateState::new(*kind)).collect();
            Group { bindings: 0, kept, shown: None }
        });
        if comes {
            group.bindings += 1
        } else {
            group.bindings -= 1
        }
        for ((_, column), kept) in calls.iter().zip(&mut group.kept) {
            if !matches!(kept, AggregateState::Count) {
                let before = kept.bytes();
                kept.note(words.value(fact[*column]), comes);
                *bytes = *bytes + kept.bytes() - before;
            }
        }
    }
    /// Brings the fact of a group up to date.
    fn show(
        &mut self,
        key: Vec<Word>,
        output: &mut Relation,
        words: &mut Words,
        is_change: bool,
    ) -> Result<(), RulesError> {
        let Some(group) = self.groups.get_mut(&key) else { return Ok(()) };
        let mut fact = key.to_vec();
        let mut has_result = group.bindings > 0;
        for ((kind, _), kept) in self.aggregate.calls.iter().zip(&group.kept) {
            match kept.result(*kind, group.bindings) {
                Some(value) => fact.push(words.word(&value)?),
                // A sum of what are no numbers: no result, no fact.
                None => has_result = false,
            }
        }
        if let Some(row) = group.shown {
            if has_result && output.words(row) == fact {
                return Ok(());
            }
            output.mark(row, state::REMOVED);
            group.shown = None;
        }
        if has_result {
            let hash = hash(fact.iter().copied());
            let row = match output.find_hashed(hash, &fact) {
                Some(row) => row,
                None => {
                    let row = output.insert(hash, &fact, 0, 1)?;
                    output.index(row);
                    row
                }
            };
            if is_change {
                output.mark(row, state::ADDED)
            } else {
                output.set_state(row, state::STABLE)
            }
            group.shown = Some(row);
        }
        if group.bindings == 0 {
            // Nothing is bound, so nothing is kept. A sum keeps the room of the floats that are gone.
            let kept = self.groups.remove(&key).map_or(Vec::new(), |group| group.kept);
            let calls: usize = kept.iter().map(|kept| size_of::<AggregateState>() + kept.bytes()).sum();
            self.behind -= size_of::<Word>() * self.aggregate.group + calls;
        }
        Ok(())
    }
}

impl AggregateState {
    fn new(kind: AggregateKind) -> AggregateState {
        match kind {
            AggregateKind::Count => AggregateState::Count,
            AggregateKind::Sum | AggregateKind::Avg => AggregateState::Sum(Box::default(), BTreeMap::new()),
            AggregateKind::Min | AggregateKind::Max => AggregateState::Extreme(BTreeMap::new()),
        }
    }
    fn bytes(&self) -> usize {
        match self {
            AggregateState::Count => 0,
            AggregateState::Sum(sum, others) => sum.bytes() + tree_bytes(others),
            AggregateState::Extreme(values) => tree_bytes(values),
        }
    }
    fn note(&mut self, value: Value, comes: bool) {
        let kept = match self {
            AggregateState::Count => return,
            AggregateState::Sum(sum, others) => match sum.update(&value, if comes { 1 } else { -1 }) {
                true => return,
                false => others,
            },
            AggregateState::Extreme(kept) => kept,
        };
        let key = Ordered(value);
        if comes {
            *kept.entry(key).or_insert(0) += 1;
        } else if let Some(count) = kept.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                kept.remove(&key);
            }
        }
    }
    fn result(&self, kind: AggregateKind, bindings: u64) -> Option<Value> {
        match self {
            AggregateState::Count => i64::try_from(bindings).ok().map(Value::Int),
            AggregateState::Extreme(values) if kind == AggregateKind::Min => {
                values.first_key_value().map(|(value, _)| value.0.clone())
            }
            AggregateState::Extreme(values) => values.last_key_value().map(|(value, _)| value.0.clone()),
            AggregateState::Sum(sum, others) => {
                let values = others.iter().map(|(value, times)| (&value.0, *times));
                if !values.clone().all(|(value, _)| matches!(value, Value::Float(_))) {
                    return None;
                }
                let function = match kind {
                    AggregateKind::Avg => AggregateFunction::Average,
                    _ => AggregateFunction::Sum,
                };
                // One that does not fit is none.
                sum.value(function, values).ok().filter(|value| !value.is_null())
            }
        }
    }
}

/// Bytes of a tree; the values are those of the table.
fn tree_bytes(values: &BTreeMap<Ordered, u64>) -> usize {
    /// Entries of a node of a tree, and its links.
    const NODE_ENTRIES: usize = 11;
    const NODE_BYTES: usize = NODE_ENTRIES * size_of::<(Ordered, u64)>() + 16;
    // Nodes are half to wholly full.
    (values.len() * 3).div_ceil(2 * NODE_ENTRIES) * NODE_BYTES
}
