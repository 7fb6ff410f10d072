//! Searches of a restricted reader for visible data with a name, and their cached results.
//!
//! Idea: whether a chunk shows such data depends on the versions of chunks alone, so a search that found nothing need not be repeated: the next one
//! reads only chunks with another version. A vertex or a property lies in its chunk. An edge becomes visible where it is made or one of its ends
//! becomes visible, and both change the chunk of an end: so edges of changed chunks are searched in both directions, those of others in one. A search
//! that was ended is resumed, and the chunk of an earlier hit is read first.
//! Invariant: a search answers as one over all chunks would. Results from uncommitted changes are kept for that snapshot alone. Cost: chunks that
//! label sets, or the counts of edges at them, exclude are not loaded.

use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::chunks::table::Lane;
use crate::schema::filter::LabelFilter;
use crate::schema::mask::Mask;
use crate::schema::met::NameNo;
use crate::schema::names::NameTable;
use crate::schema::statistics::Statistics;
use crate::snapshots::adjacency::AdjacencyView;
use crate::snapshots::root::{Root, Snapshot};
use crate::snapshots::searches::{Searched, Searches, Versions};
use crate::snapshots::sight::{EDGES_PER_UNIT, Sight};
use crate::versions::cell::ChunkRef;
use model::{ChunkNo, Direction, EdgeTypeId, KeyId, LabelId, LabelSetId, VertexId, pace};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Chunks that are passed without a look for one unit of work.
const CHUNKS_PER_UNIT: ChunkNo = 1_024;

/// Has this table a name with this number?
fn has_name(names: &NameTable, name: NameNo) -> bool {
    match name {
        NameNo::Label(label) => names.label_name(label).is_some(),
        NameNo::EdgeType(edge_type) => names.edge_type_name(edge_type).is_some(),
        NameNo::Key(key) => names.key_name(key).is_some(),
    }
}

impl Sight {
    /// Earlier results on the committed graph, as far as they are about this name.
    fn committed(&self, root: &Root, name: NameNo) -> Option<&Searches> {
        let is_committed = root.uncommitted.as_ref().is_none_or(|names| has_name(names, name));
        is_committed.then_some(&*self.searches)
    }
    /// Which version each chunk has in the graph that this is of.
    fn versions(&self, snapshot: &Snapshot) -> Arc<Versions> {
        self.versions.get_or_init(|| Arc::new(Versions::of(snapshot.chunks()))).clone()
    }
    fn is_at(&self, versions: &Arc<Versions>) -> bool {
        self.versions.get().is_some_and(|own| Arc::ptr_eq(own, versions))
    }
    fn own(&self) -> &Searches {
        self.own_searches.as_ref().unwrap_or(&self.searches)
    }
    pub(crate) fn has_met(&self, root: &Root, name: NameNo) -> bool {
        self.own().has_met(name) || self.committed(root, name).is_some_and(|all| all.has_met(name))
    }
    pub(crate) fn add_met(&self, name: NameNo) {
        self.own().add_met(name);
    }
    fn before(&self, root: &Root, name: NameNo) -> Option<Searched> {
        let own = self.own().before(name);
        own.or_else(|| self.committed(root, name)?.before(name))
    }
}

/// One search: its name, and where it may occur.
struct NameSearch<'a> {
    snapshot: &'a Snapshot,
    sight: &'a Sight,
    name: NameNo,
    key: Option<KeyId>,
    types: Vec<EdgeTypeId>,
    direction: Direction,
    /// Label sets with such edges, in this direction and in any.
    sets: [BTreeSet<LabelSetId>; 2],
    one_way: OnceCell<AdjacencyView>,
    both_ways: OnceCell<AdjacencyView>,
}

/// Label sets that are shown, at which there are edges of these types in this direction, and how many.
fn at_shown(
    counts: &Statistics,
    mask: &Mask,
    types: &[EdgeTypeId],
    direction: Direction,
) -> (BTreeSet<LabelSetId>, u64) {
    let (mut sets, mut edges) = (BTreeSet::new(), 0_u64);
    for edge_type in types {
        for (set, count) in counts.edges_by_set(*edge_type, direction).filter(|(set, _)| mask.shows_set(*set))
        {
            sets.insert(set);
            edges = edges.saturating_add(count);
        }
    }
    (sets, edges)
}

impl<'a> NameSearch<'a> {
    fn new(
        snapshot: &'a Snapshot,
        sight: &'a Sight,
        name: NameNo,
        before: Option<&Searched>,
    ) -> NameSearch<'a> {
        let (counts, mask) = (&snapshot.root.statistics, &sight.mask);
        let (key, types) = match name {
            NameNo::EdgeType(edge_type) => (None, vec![edge_type]),
            NameNo::Key(key) => {
                let mut types = counts.edge_types();
                types.retain(|one| mask.shows_edge_property(*one, key) && mask.may_show_edges(*one, counts));
                (Some(key), types)
            }
            NameNo::Label(_) => (None, Vec::new()),
        };
        let (out, into) =
            (at_shown(counts, mask, &types, Direction::Out), at_shown(counts, mask, &types, Direction::In));
        // Properties of edges lie with their sources.
        let shorter = if key.is_none() && into.1 < out.1 { Direction::In } else { Direction::Out };
        let direction = before.map_or(shorter, |before| before.direction);
        let both = out.0.union(&into.0).copied().collect();
        let one_way = if direction == Direction::In { into.0 } else { out.0 };
        NameSearch {
            snapshot,
            sight,
            name,
            key,
            types,
            direction,
            sets: [one_way, both],
            one_way: OnceCell::new(),
            both_ways: OnceCell::new(),
        }
    }
    fn view(&self, both_ways: bool) -> &AdjacencyView {
        let view = |direction| self.snapshot.adjacency(&self.types, direction);
        match both_ways {
            true => self.both_ways.get_or_init(|| view(Direction::Both)),
            false => self.one_way.get_or_init(|| view(self.direction)),
        }
    }
    /// Does anything that is shown in a chunk carry it? Of edges those in the search's direction, or both ways.
    fn look(&self, number: ChunkNo, both_ways: bool) -> Result<bool, StoreError> {
        let Some(cell) = self.snapshot.root.directory.get(number).filter(|cell| cell.meta.live > 0) else {
            return Ok(false);
        };
        let mask = &self.sight.mask;
        let mut shown = cell.meta.label_sets.iter().filter(|set| mask.shows_set(**set));
        let has_edges = shown.clone().any(|set| self.sets[usize::from(both_ways)].contains(set));
        let key = self.key.filter(|key| shown.any(|set| mask.shows_property(*set, *key)));
        if !has_edges && key.is_none() {
            return Ok(false);
        }
        self.sight.searches.count_chunk();
        pace::spend(1)?;
        let Some(chunk) = self.snapshot.chunk(number)? else { return Ok(false) };
        if let Some(key) = key
            && (chunk.base().column(key).is_some() || chunk.delta().is_some())
            && self.any_vertex(number, |vertex| Ok(!self.snapshot.property(vertex, key)?.is_null()))?
        {
            return Ok(true);
        }
        if !has_edges || !self.may_have_edges(&chunk, both_ways) {
            return Ok(false);
        }
        let view = self.view(both_ways);
        match self.key {
            None => self.any_vertex(number, |vertex| view.has_edge(vertex.dense())),
            Some(key) => self.any_vertex(number, |vertex| self.shows_key_at(vertex, key, view)),
        }
    }
    /// Has the chunk lists of such edges, and where a property is searched in one direction, values of it?
    fn may_have_edges(&self, chunk: &ChunkRef<'_>, both_ways: bool) -> bool {
        let lanes = chunk.lanes();
        let is_lane = |lane: Lane| lanes.binary_search(&lane).is_ok();
        let has_lane = self.types.iter().any(|edge_type| {
            let (out, into) = (is_lane(Lane::out(*edge_type)), is_lane(Lane::into(*edge_type)));
            match self.direction {
                _ if both_ways => out || into,
                Direction::In => into,
                _ => out,
            }
        });
        let Some(key) = self.key.filter(|_| has_lane && !both_ways) else { return has_lane };
        let is_such = |edge_type: &EdgeTypeId| self.types.contains(edge_type);
        let stored = chunk.base().edge_columns.iter().any(|((one, other), _)| *other == key && is_such(one));
        stored || chunk.delta().is_some_and(|delta| delta.edge_properties.keys().any(|(one, _)| is_such(one)))
    }
    /// Has an edge of this vertex the property?
    fn shows_key_at(&self, vertex: VertexId, key: KeyId, view: &AdjacencyView) -> Result<bool, StoreError> {
        let (mut found, mut edges, mut failed) = (false, 0, None);
        view.for_each_edge(vertex.dense(), |edge| {
            edges += 1;
            if !found && failed.is_none() {
                match self.snapshot.edge_property(edge.id, key) {
                    Ok(value) => found = !value.is_null(),
                    Err(error) => failed = Some(error),
                }
            }
        })?;
        pace::spend(edges / EDGES_PER_UNIT)?;
        failed.map_or(Ok(found), Err)
    }
    fn any_vertex(
        &self,
        chunk: ChunkNo,
        mut is_it: impl FnMut(VertexId) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let mut vertices = Vec::new();
        self.snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
        pace::spend(vertices.len() as u64)?;
        for vertex in vertices {
            if is_it(vertex)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
    /// Counts chunks that are only passed, so that very many of them end with the statement, too.
    fn count_passed(&self, chunk: ChunkNo) -> Result<(), StoreError> {
        if chunk.is_multiple_of(CHUNKS_PER_UNIT) { Ok(pace::spend(1)?) } else { Ok(()) }
    }
    /// Searches all chunks that may have it, resuming from an earlier search.
    fn run(&self, before: Option<&Searched>) -> Result<bool, StoreError> {
        let root = &self.snapshot.root;
        let is_changed =
            |chunk| before.is_some_and(|before| !before.versions.is_same(&root.directory, chunk));
        if let Some(before) = before {
            let others = (0..root.directory.bound()).filter(|chunk| Some(*chunk) != before.hit);
            for chunk in before.hit.into_iter().chain(others) {
                self.count_passed(chunk)?;
                if Some(chunk) != before.hit && !is_changed(chunk) {
                    continue;
                }
                if self.look(chunk, true)? {
                    self.keep(Searched { hit: Some(chunk), ..before.clone() });
                    return Ok(true);
                }
            }
        }
        // What was looked at is so in this snapshot too.
        let versions = self.sight.versions(self.snapshot);
        let kept = |done, hit| Searched {
            name: self.name,
            direction: self.direction,
            versions: versions.clone(),
            done,
            hit,
        };
        for chunk in before.map_or(0, |before| before.done)..root.directory.bound() {
            // One that changed was looked at both ways.
            if is_changed(chunk) {
                continue;
            }
            match self.count_passed(chunk).and_then(|()| self.look(chunk, false)) {
                Ok(false) => {}
                Ok(true) => {
                    self.keep(kept(chunk, Some(chunk)));
                    return Ok(true);
                }
                Err(error) => {
                    self.keep(kept(chunk, None));
                    return Err(error);
                }
            }
        }
        self.keep(kept(root.directory.bound(), None));
        Ok(false)
    }
    fn keep(&self, searched: Searched) {
        self.sight.own().keep(searched);
    }
}

impl Snapshot {
    /// Does anything that is shown carry an edge type or a property key?
    ///
    /// # Errors
    /// A chunk cannot be read, or the work of this thread is over.
    pub(crate) fn carries(&self, sight: &Sight, name: NameNo) -> Result<bool, StoreError> {
        let (counts, mask) = (&self.root.statistics, &sight.mask);
        if let NameNo::EdgeType(edge_type) = name {
            if !mask.shows_type(edge_type) || !mask.may_show_edges(edge_type, counts) {
                return Ok(false);
            }
            if mask.shows_all_ends(edge_type, counts) {
                return Ok(true);
            }
        }
        let before = sight.before(&self.root, name);
        let known = before.as_ref().filter(|known| known.hit.is_none() && sight.is_at(&known.versions));
        if known.is_some_and(|known| known.done >= self.root.directory.bound()) {
            return Ok(false);
        }
        NameSearch::new(self, sight, name, before.as_ref()).run(before.as_ref())
    }
    /// Is there an edge of this type that is shown?
    ///
    /// # Errors
    /// A chunk cannot be read, or the work of this thread is over.
    pub fn has_edges(&self, edge_type: EdgeTypeId) -> Result<bool, StoreError> {
        match &self.sight {
            Some(sight) => self.carries(sight, NameNo::EdgeType(edge_type)),
            None => Ok(self.root.statistics.edges_of_type(edge_type) > 0),
        }
    }
    /// Labels of vertices that edges of this type leave, or enter, as far as these are shown. Looks no further than the first edge of each label set.
    ///
    /// # Errors
    /// A chunk cannot be read, or the work of this thread is over.
    pub fn labels_at_edges(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
    ) -> Result<BTreeSet<LabelId>, StoreError> {
        let counts = &self.root.statistics;
        let mut open: BTreeSet<LabelSetId> = counts
            .edges_by_set(edge_type, direction)
            .map(|(set, _)| set)
            .filter(|set| self.shows_set(*set))
            .collect();
        let mut found = BTreeSet::new();
        let add = |found: &mut BTreeSet<LabelId>, set: LabelSetId| found.extend(self.labels_of(set));
        let Some(sight) = self.sight.as_ref().filter(|sight| !sight.mask.shows_all_ends(edge_type, counts))
        else {
            if self.shows_edge_type(edge_type) {
                open.into_iter().for_each(|set| add(&mut found, set));
            }
            return Ok(found);
        };
        if !sight.mask.shows_type(edge_type) || !sight.mask.may_show_edges(edge_type, counts) {
            return Ok(found);
        }
        let (view, mut vertices) = (self.adjacency(&[edge_type], direction), Vec::new());
        for (number, cell) in self.root.directory.iter() {
            if open.is_empty() {
                break;
            }
            if cell.meta.live == 0 || !cell.meta.label_sets.iter().any(|set| open.contains(set)) {
                continue;
            }
            sight.searches.count_chunk();
            let chunk = cell.chunk()?;
            vertices.clear();
            self.scan_chunk(number, &LabelFilter::Any, &mut vertices)?;
            pace::spend(1 + vertices.len() as u64)?;
            for vertex in &vertices {
                if let Some(set) = chunk.labels(usize::from(vertex.slot())).filter(|set| open.contains(set))
                    && view.has_edge(vertex.dense())?
                {
                    open.remove(&set);
                    add(&mut found, set);
                }
            }
        }
        Ok(found)
    }
}
