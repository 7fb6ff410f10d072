//! Label conditions against one snapshot: as a filter for scans, and as a quick test for single vertices.

use crate::turn::Try;
use model::{ChunkNo, Direction, EdgeTypeId, VertexId};
use plan::LabelExpr;
use store::{Catalog, LabelFilter, Snapshot};

/// The condition in the store's words. A name the catalogue does not know is carried by nothing.
pub(crate) fn filter(labels: &LabelExpr, catalog: &Catalog) -> LabelFilter {
    let both = |a: &LabelExpr, b: &LabelExpr| vec![filter(a, catalog), filter(b, catalog)];
    match labels {
        LabelExpr::Any => LabelFilter::Any,
        LabelExpr::Has(name) => catalog.label(name).map_or(LabelFilter::Or(Vec::new()), LabelFilter::Has),
        LabelExpr::Some => {
            catalog.names().miss_every_label();
            let all = 0..catalog.names().labels().len();
            LabelFilter::Or(all.map(|number| LabelFilter::Has(model::LabelId(number as u16))).collect())
        }
        LabelExpr::And(a, b) => LabelFilter::And(both(a, b)),
        LabelExpr::Or(a, b) => LabelFilter::Or(both(a, b)),
        LabelExpr::Not(a) => LabelFilter::Not(Box::new(filter(a, catalog))),
    }
}

/// Labels whose membership a scan under this filter depends on; `None` stands for all vertices.
pub(crate) fn scanned(filter: &LabelFilter) -> Vec<Option<model::LabelId>> {
    match filter {
        LabelFilter::Has(label) => vec![Some(*label)],
        LabelFilter::And(all) => {
            all.iter().map(scanned).find(|found| !found.contains(&None)).unwrap_or(vec![None])
        }
        LabelFilter::Or(any) => any.iter().flat_map(scanned).collect(),
        LabelFilter::Any | LabelFilter::Not(_) => vec![None],
    }
}

/// Labels whose change on a vertex may change the answer.
fn mentioned(filter: &LabelFilter) -> Vec<model::LabelId> {
    match filter {
        LabelFilter::Any => Vec::new(),
        LabelFilter::Has(label) => vec![*label],
        LabelFilter::And(parts) | LabelFilter::Or(parts) => parts.iter().flat_map(mentioned).collect(),
        LabelFilter::Not(part) => mentioned(part),
    }
}

/// The result of the condition for all vertices of a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LabelVerdict {
    Unknown,
    AllPass,
    NonePass,
    /// Each vertex has to be tested.
    Some,
}

/// The condition as a test of single vertices: one table look-up where all vertices of a chunk may have but labels that pass, or none; else
/// one more for a label set that was met before.
pub(crate) struct LabelCheck {
    filter: LabelFilter,
    /// By label set.
    known: Vec<Option<bool>>,
    /// By chunk.
    chunks: Vec<LabelVerdict>,
}

impl LabelCheck {
    pub(crate) fn new(labels: &LabelExpr, snapshot: &Snapshot) -> LabelCheck {
        LabelCheck { filter: filter(labels, snapshot.catalog()), known: Vec::new(), chunks: Vec::new() }
    }
    /// The condition is tested only on far ends of edges of these types and direction: where all of those are known to have the label, no vertex is
    /// read.
    pub(crate) fn imply_by_edges(&mut self, types: &[EdgeTypeId], direction: Direction, snapshot: &Snapshot) {
        let is_implied = match &self.filter {
            LabelFilter::Has(label) if !types.is_empty() => {
                snapshot.statistics().all_edges_near(types, direction.reversed(), *label)
            }
            _ => false,
        };
        if is_implied {
            self.filter = LabelFilter::Any;
        }
    }
    /// Does it let every vertex pass?
    pub(crate) fn is_any(&self) -> bool {
        self.filter == LabelFilter::Any
    }
    /// Records in the transaction that vertices are tested for these labels.
    pub(crate) fn record(&self, reads: &transact::ReadSet) {
        reads.labels_tested(mentioned(&self.filter));
    }
    /// Does it let this vertex pass? It must exist.
    pub(crate) fn admits(&mut self, vertex: VertexId, snapshot: &Snapshot) -> Try<bool> {
        if self.is_any() {
            return Ok(true);
        }
        let set = snapshot.labels(vertex)?;
        let at = set.0 as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, None);
        }
        let answer = self.known[at].unwrap_or_else(|| self.filter.accepts(snapshot.catalog().labels_of(set)));
        self.known[at] = Some(answer);
        Ok(answer)
    }
    /// As [`LabelCheck::admits`], for a vertex that was met at an edge of this snapshot: no need to look whether it exists.
    #[inline]
    pub(crate) fn admits_end(&mut self, vertex: VertexId, snapshot: &Snapshot) -> Try<bool> {
        let chunk = vertex.chunk();
        match self.chunks.get(chunk as usize).copied().unwrap_or(LabelVerdict::Unknown) {
            LabelVerdict::AllPass => Ok(true),
            LabelVerdict::NonePass => Ok(false),
            LabelVerdict::Some => self.admits(vertex, snapshot),
            LabelVerdict::Unknown => self.judge(chunk, vertex, snapshot),
        }
    }
    #[cold]
    fn judge(&mut self, chunk: ChunkNo, vertex: VertexId, snapshot: &Snapshot) -> Try<bool> {
        let catalog = snapshot.catalog();
        // A vertex that is met is shown, whatever else is in its chunk.
        let sets = snapshot.labels_in_chunk(chunk).iter().filter(|set| snapshot.shows_label_set(**set));
        let known = sets.clone().count();
        let passing = sets.filter(|set| self.filter.accepts(catalog.labels_of(**set))).count();
        let at = chunk as usize;
        if self.chunks.len() <= at {
            self.chunks.resize(at + 1, LabelVerdict::Unknown);
        }
        self.chunks[at] = match passing {
            _ if known == 0 => LabelVerdict::Some,
            0 => LabelVerdict::NonePass,
            count if count == known => LabelVerdict::AllPass,
            _ => LabelVerdict::Some,
        };
        self.admits(vertex, snapshot)
    }
}
