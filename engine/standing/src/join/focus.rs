//! The vertices that a variable can be at all for the given rows, so that changes far from them are dropped at once.
//!
//! Idea: where an indexed property of a vertex must equal a column of the input, as in `(a:N {id: $s})`, the vertices with one of the given values
//! are few and known. A change whose ends are not among them, and an edge that leads nowhere among them, would be dropped only after its properties
//! were read and the input was looked up; here it is one look-up in a small table. Invariant: the members of a focus are all vertices that have a
//! given value at this timestamp or had it at the timestamp before, and maybe more: the join decides, a focus only saves work. Cost: an index look-up
//! for each given value; nothing for edges that come and go.

use super::pattern::{Atom, Join, SlotNo};
use super::run::Resolved;
use crate::StandingError;
use crate::row::{GroupKey, Row};
use crate::shape::Attribute;
use crate::table::{HashMap, HashSet};
use crate::view::{Timestamp, Touched, View};
use crate::weight::Weight;
use model::schema::{IndexId, SchemaTarget};
use model::{KeyId, Value, VertexId};
use plan::expr::LabelExpr;
use store::{Catalog, LabelFilter};

/// A vertex variable of which a property equals a column of the input.
#[derive(Clone, Debug)]
struct Spot {
    vertex: SlotNo,
    /// The atom that says which labels it has, and the one that reads the property.
    vertex_atom: usize,
    attribute_atom: usize,
    /// Column of the input.
    column: usize,
}

/// The vertices that one variable can be.
struct Focus {
    spot: Spot,
    /// Values given now, and how often.
    values: HashMap<GroupKey, isize>,
    members: HashSet<VertexId>,
    /// Members that have no given value any more, unless it was given again: they stay for reads of the timestamp before.
    leaving: Vec<VertexId>,
}

impl Focus {
    fn is_given(&self, value: Value) -> bool {
        !value.is_null() && self.values.contains_key(&GroupKey(Row::new([value])))
    }
}

/// The focus of each variable that has one.
pub(crate) struct Foci {
    all: Vec<Focus>,
    /// Which one, by slot.
    by_slot: Vec<Option<usize>>,
}

/// The graph at a timestamp.
pub(crate) struct Moment<'a> {
    pub join: &'a Join,
    pub names: &'a [Resolved],
    pub view: &'a View,
    pub timestamp: Timestamp,
}

impl Moment<'_> {
    /// Labels and property of a spot; none where no such property exists.
    fn spot(&self, spot: &Spot) -> Option<(&LabelFilter, KeyId, Option<IndexId>)> {
        let Atom::Vertex { labels, .. } = &self.join.atoms[spot.vertex_atom] else { return None };
        match (&self.names[spot.vertex_atom], &self.names[spot.attribute_atom]) {
            (Resolved::Vertex(filter), Resolved::Property(Some(key))) => {
                Some((filter, *key, index(self.view.base_catalog(), labels, *key)))
            }
            _ => None,
        }
    }
    /// The value of a vertex at a timestamp.
    fn value(&self, vertex: VertexId, key: KeyId, timestamp: Timestamp) -> Result<Value, StandingError> {
        match self.view.labels(vertex, timestamp)? {
            Some(_) => Ok(self.view.property(vertex, key, timestamp)?),
            None => Ok(Value::Null),
        }
    }
    /// Vertices that have this value now.
    fn holders(&self, spot: &Spot, value: &Value) -> Result<Vec<VertexId>, StandingError> {
        let Some((filter, key, index)) = self.spot(spot).filter(|_| !value.is_null()) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for vertex in self.view.candidates(filter, index, key, value, self.timestamp)? {
            if model::compare::equivalent(&self.value(vertex, key, self.timestamp)?, value) {
                found.push(vertex);
            }
        }
        Ok(found)
    }
}

/// The index over this property of vertices with these labels, if the graph has one.
pub(crate) fn index(catalog: &Catalog, labels: &LabelExpr, key: KeyId) -> Option<IndexId> {
    let labels = labels.required();
    let mut labels = labels.iter().filter_map(|label| catalog.label(label));
    labels.find_map(|label| catalog.index_for(SchemaTarget::Vertices(label), &[key]))
}

impl Foci {
    /// The foci of a join, over a graph with these indexes; nothing is given yet.
    pub fn of(join: &Join, catalog: &Catalog) -> Foci {
        let mut foci = Foci { all: Vec::new(), by_slot: vec![None; join.layout.len()] };
        for spot in spots(join, catalog) {
            foci.by_slot[spot.vertex] = Some(foci.all.len());
            let (values, members) = (HashMap::default(), HashSet::default());
            foci.all.push(Focus { spot, values, members, leaving: Vec::new() });
        }
        foci
    }
    /// Can this variable be this vertex?
    #[inline]
    pub fn admits(&self, slot: SlotNo, vertex: VertexId) -> bool {
        self.by_slot[slot].is_none_or(|at| self.all[at].members.contains(&vertex))
    }
    /// Updates the members by a commit, before any change of it is completed.
    pub fn commit(&mut self, touched: &Touched, moment: &Moment<'_>) -> Result<(), StandingError> {
        for focus in self.all.iter_mut().filter(|focus| !focus.values.is_empty()) {
            let Some((_, key, _)) = moment.spot(&focus.spot) else { continue };
            for vertex in std::mem::take(&mut focus.leaving) {
                if !focus.is_given(moment.value(vertex, key, moment.timestamp - 1)?) {
                    focus.members.remove(&vertex);
                }
            }
            let set = touched.properties.iter().filter(|(_, other)| *other == key).map(|(vertex, _)| *vertex);
            for vertex in touched.vertices.iter().copied().chain(set) {
                if focus.is_given(moment.value(vertex, key, moment.timestamp)?) {
                    focus.members.insert(vertex);
                } else if focus.members.contains(&vertex) {
                    focus.leaving.push(vertex);
                }
            }
        }
        Ok(())
    }
    /// Adds the given rows, before any of them is completed.
    pub fn give(&mut self, input: &[(Row, isize)], moment: &Moment<'_>) -> Result<(), StandingError> {
        for focus in &mut self.all {
            for (row, diff) in input.iter().filter(|(_, diff)| *diff > 0) {
                let value = GroupKey(Row::new([row.values()[focus.spot.column].clone()]));
                let count = focus.values.entry(value.clone()).or_insert(0);
                *count += diff;
                if *count == *diff {
                    focus.members.extend(moment.holders(&focus.spot, &value.0.values()[0])?);
                }
            }
        }
        Ok(())
    }
    /// Removes the withdrawn rows, after all of them were completed.
    pub fn withdraw(&mut self, input: &[(Row, isize)], moment: &Moment<'_>) -> Result<(), StandingError> {
        for focus in &mut self.all {
            for (row, diff) in input.iter().filter(|(_, diff)| *diff < 0) {
                let value = GroupKey(Row::new([row.values()[focus.spot.column].clone()]));
                let Some(count) = focus.values.get_mut(&value) else { continue };
                *count += diff;
                if *count <= 0 {
                    focus.values.remove(&value);
                    focus.leaving.extend(moment.holders(&focus.spot, &value.0.values()[0])?);
                }
            }
            if focus.values.is_empty() {
                (focus.members, focus.leaving) = (HashSet::default(), Vec::new());
            }
        }
        Ok(())
    }
}

/// Variables of a join that can have a focus, each once.
fn spots(join: &Join, catalog: &Catalog) -> Vec<Spot> {
    let mut found: Vec<Spot> = Vec::new();
    for (attribute_atom, atom) in join.atoms.iter().enumerate() {
        let Atom::Attribute { of, is_vertex: true, attribute: Attribute::Property(name), column } = atom
        else {
            continue;
        };
        let given = join.links.iter().find_map(|(a, b)| match (*a, *b) {
            (a, b) if a == *column && b < join.input_width => Some(b),
            (a, b) if b == *column && a < join.input_width => Some(a),
            _ => None,
        });
        let labelled = join.atoms.iter().enumerate().find_map(|(number, other)| match other {
            Atom::Vertex { vertex, labels } if vertex == of => Some((number, labels)),
            _ => None,
        });
        let (Some(given), Some((vertex_atom, labels)), Some(key)) = (given, labelled, catalog.key(name))
        else {
            continue;
        };
        let is_new = *of >= join.input_width && found.iter().all(|spot| spot.vertex != *of);
        if is_new && index(catalog, labels, key).is_some() {
            found.push(Spot { vertex: *of, vertex_atom, attribute_atom, column: given });
        }
    }
    found
}

impl Weight for Foci {
    fn bytes_behind(&self) -> usize {
        let of = |focus: &Focus| {
            focus.values.bytes_behind() + focus.members.bytes_behind() + focus.leaving.bytes_behind()
        };
        self.all.iter().map(of).sum()
    }
}
