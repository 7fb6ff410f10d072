//! The order in which the relations of a join are looked up when one of them changed.
//!
//! Greedy, by the expected results of a look-up: pure tests come first, then relations bound by an edge or an index, scans last. The input is looked
//! up as soon as any of its columns is known.

use super::pattern::{Atom, Condition, SlotNo};
use crate::shape::Attribute;
use model::Direction;
use plan::expr::{LabelExpr, Name};
use std::collections::BTreeSet;
use std::ops::Range;
use store::Snapshot;

/// One look-up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lookup {
    /// Every vertex of a vertex atom.
    Scan(usize),
    /// Vertices of vertex atom `vertex` whose property, by attribute atom `attribute`, equals what slot `value` holds.
    Seek { vertex: usize, attribute: usize, value: SlotNo },
    /// Does the bound vertex satisfy a vertex atom?
    Check(usize),
    /// The attribute of a bound entity.
    Attribute(usize),
    /// Edges of a bound vertex: of the `from` end, or of the `to` end.
    Expand { atom: usize, backwards: bool },
    /// The edge itself is bound.
    Edge(usize),
    /// Rows of the input that agree on these pairs (column of the input, slot); its other columns become bound or are compared.
    Input(Vec<(usize, SlotNo)>),
    /// Only rows that satisfy a condition go on.
    Condition(usize),
}

/// The look-ups that complete the change of one relation, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Route {
    pub lookups: Vec<Lookup>,
}

/// The inputs of a choice.
pub(crate) struct Chooser<'a> {
    pub snapshot: &'a Snapshot,
    pub atoms: &'a [Atom<SlotNo>],
    pub conditions: &'a [Condition],
    /// Slots that a condition makes equal.
    pub links: &'a [(SlotNo, SlotNo)],
    pub input_width: usize,
    pub constants: Range<SlotNo>,
}

impl Chooser<'_> {
    /// The order for changes of `relation`: 0 is the input.
    pub fn route(&self, relation: usize) -> Route {
        let mut bound: BTreeSet<SlotNo> = self.constants.clone().collect();
        let mut atoms: BTreeSet<usize> = (0..self.atoms.len()).collect();
        let mut conditions: BTreeSet<usize> = (0..self.conditions.len()).collect();
        let mut input_due = relation != 0;
        match relation.checked_sub(1) {
            Some(atom) => {
                atoms.remove(&atom);
                bound.extend(self.atoms[atom].variables());
            }
            None => bound.extend(0..self.input_width),
        }
        let mut route = Route::default();
        loop {
            let ready: Vec<usize> = conditions
                .iter()
                .copied()
                .filter(|condition| self.conditions[*condition].reads.iter().all(|slot| bound.contains(slot)))
                .collect();
            for condition in ready {
                conditions.remove(&condition);
                route.lookups.push(Lookup::Condition(condition));
            }
            let mut best = atoms
                .iter()
                .filter_map(|atom| self.lookup(*atom, &bound, &atoms))
                .map(|(cost, lookup)| (if input_due { cost + self.wait(&lookup) } else { cost }, lookup))
                .min_by(|(a, _), (b, _)| a.total_cmp(b));
            if input_due {
                let pairs = self.pairs(&bound);
                // Few rows share a value; where nothing is shared, all of the input comes, after all that is bound by edges.
                let cost = if pairs.is_empty() { 1_000.0 } else { 1.5 };
                if best.as_ref().is_none_or(|(other, _)| cost < *other) {
                    best = Some((cost, Lookup::Input(pairs)));
                }
            }
            let Some((_, lookup)) = best else { return route };
            match &lookup {
                Lookup::Input(_) => {
                    input_due = false;
                    bound.extend(0..self.input_width);
                }
                Lookup::Seek { vertex, attribute, .. } => {
                    for atom in [vertex, attribute] {
                        atoms.remove(atom);
                        bound.extend(self.atoms[*atom].variables());
                    }
                }
                Lookup::Scan(atom) | Lookup::Check(atom) | Lookup::Attribute(atom) | Lookup::Edge(atom) => {
                    atoms.remove(atom);
                    bound.extend(self.atoms[*atom].variables());
                }
                Lookup::Expand { atom, .. } => {
                    atoms.remove(atom);
                    bound.extend(self.atoms[*atom].variables());
                }
                Lookup::Condition(_) => {}
            }
            route.lookups.push(lookup);
        }
    }
    /// An attribute that only the answer needs is read last, once it is known which rows a change concerns: the penalty for reading it before.
    fn wait(&self, lookup: &Lookup) -> f64 {
        let Lookup::Attribute(atom) = lookup else { return 0.0 };
        let Atom::Attribute { column, .. } = &self.atoms[*atom] else { return 0.0 };
        let is_linked = self.links.iter().any(|(a, b)| a == column || b == column);
        let is_tested = self.conditions.iter().any(|condition| condition.reads.contains(column));
        if self.input_width == 0 || is_linked || is_tested { 0.0 } else { 10_000.0 }
    }
    /// Columns of the input that are known by now, and where from.
    fn pairs(&self, bound: &BTreeSet<SlotNo>) -> Vec<(usize, SlotNo)> {
        let known = |column: usize| {
            if bound.contains(&column) {
                return Some((column, column));
            }
            let linked = self.links.iter().find_map(|(a, b)| match (*a, *b) {
                (a, b) if a == column && bound.contains(&b) => Some(b),
                (a, b) if b == column && bound.contains(&a) => Some(a),
                _ => None,
            });
            linked.map(|slot| (column, slot))
        };
        (0..self.input_width).filter_map(known).collect()
    }
    /// How an atom may be looked up now, and how many rows that is expected to give for each.
    fn lookup(&self, atom: usize, bound: &BTreeSet<SlotNo>, open: &BTreeSet<usize>) -> Option<(f64, Lookup)> {
        let has = |slot: &SlotNo| bound.contains(slot);
        match &self.atoms[atom] {
            Atom::Vertex { vertex, .. } if has(vertex) => Some((0.1, Lookup::Check(atom))),
            Atom::Vertex { vertex, labels } => {
                let all = self.count(labels);
                let seek =
                    open.iter().filter_map(|other| self.seek(atom, *vertex, labels, *other, bound)).next();
                match seek {
                    Some((lookup, true)) => Some((2.0, lookup)),
                    Some((lookup, false)) => Some((100.0 + all / 10.0, lookup)),
                    None => Some((100.0 + all, Lookup::Scan(atom))),
                }
            }
            Atom::Attribute { of, .. } => has(of).then_some((0.2, Lookup::Attribute(atom))),
            Atom::Edge { edge, .. } if has(edge) => Some((0.1, Lookup::Edge(atom))),
            Atom::Edge { from, to, types, direction, .. } => match (has(from), has(to)) {
                (true, true) => Some((1.0, Lookup::Expand { atom, backwards: false })),
                (true, false) => {
                    Some((1.0 + self.degree(types, *direction), Lookup::Expand { atom, backwards: false }))
                }
                (false, true) => Some((
                    1.0 + self.degree(types, direction.reversed()),
                    Lookup::Expand { atom, backwards: true },
                )),
                (false, false) => None,
            },
        }
    }
    /// Can the vertex be found by this attribute atom? And is there an index for it?
    fn seek(
        &self,
        vertex_atom: usize,
        vertex: SlotNo,
        labels: &LabelExpr,
        other: usize,
        bound: &BTreeSet<SlotNo>,
    ) -> Option<(Lookup, bool)> {
        let Atom::Attribute { of, is_vertex: true, attribute: Attribute::Property(key), column } =
            &self.atoms[other]
        else {
            return None;
        };
        if *of != vertex {
            return None;
        }
        let value = self.links.iter().find_map(|(a, b)| match (*a, *b) {
            (a, b) if a == *column && bound.contains(&b) => Some(b),
            (a, b) if b == *column && bound.contains(&a) => Some(a),
            _ => None,
        })?;
        let lookup = Lookup::Seek { vertex: vertex_atom, attribute: other, value };
        Some((lookup, self.is_indexed(labels, key)))
    }
    fn is_indexed(&self, labels: &LabelExpr, key: &Name) -> bool {
        let catalog = self.snapshot.catalog();
        let Some(key) = catalog.key(key) else { return false };
        labels
            .required()
            .iter()
            .filter_map(|label| catalog.label(label))
            .any(|label| catalog.index_for(model::schema::SchemaTarget::Vertices(label), &[key]).is_some())
    }
    fn count(&self, labels: &LabelExpr) -> f64 {
        let (catalog, statistics) = (self.snapshot.catalog(), self.snapshot.statistics());
        let required = labels.required();
        let counts = required
            .iter()
            .map(|name| catalog.label(name).map_or(0, |label| statistics.vertices_with_label(label)));
        counts.min().unwrap_or_else(|| statistics.vertices()) as f64
    }
    fn degree(&self, types: &[Name], direction: Direction) -> f64 {
        let (catalog, statistics) = (self.snapshot.catalog(), self.snapshot.statistics());
        let edges = match types {
            [] => statistics.edges(),
            _ => types
                .iter()
                .filter_map(|name| catalog.edge_type(name))
                .map(|edge_type| statistics.edges_of_type(edge_type))
                .sum(),
        };
        let ways = if direction == Direction::Both { 2.0 } else { 1.0 };
        ways * edges as f64 / (statistics.vertices() as f64).max(1.0)
    }
}
