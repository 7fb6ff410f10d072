//! Answers of searches: runs of ends that share a source and a distance.
//!
//! Idea: a breadth-first search finds its ends a level at a time, so source and distance need not be said for each. Where the ends are
//! not asked for, a run is only a number. All paths of a run are equally long, so that they need no marks between them.

/// Ends of one source at one distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Position of the source among the sources.
    pub source: u32,
    /// Hops.
    pub distance: u32,
    /// How many ends.
    pub count: u64,
}

/// Runs, and their ends one after the other where they are kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Sources and distances.
    pub runs: Vec<Run>,
    /// The ends of all runs in order; empty where they are only counted.
    pub ends: Vec<u32>,
    /// Where paths are asked for, of each end in order as many vertices as its run's distance: from the source on, without the end.
    pub vertices: Vec<u32>,
    /// As many edges, from the source on.
    pub edges: Vec<u64>,
    held: u64,
}

impl Answers {
    /// Ends in all runs.
    pub fn count(&self) -> u64 {
        self.held
    }
    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }
    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.ends.clear();
        self.vertices.clear();
        self.edges.clear();
        self.held = 0;
    }
    /// A run whose ends are listed.
    pub(crate) fn push(&mut self, source: u32, distance: u32, ends: &[u32]) {
        if !ends.is_empty() {
            self.ends.extend_from_slice(ends);
            self.tally(source, distance, ends.len() as u64);
        }
    }
    /// A run whose ends are only counted.
    pub(crate) fn tally(&mut self, source: u32, distance: u32, count: u64) {
        if count > 0 {
            self.runs.push(Run { source, distance, count });
            self.held += count;
        }
    }
    /// One more path, told from its end backwards.
    pub(crate) fn push_path(&mut self, source: u32, end: u32, vertices: &[u32], edges: &[u64]) {
        debug_assert_eq!(vertices.len(), edges.len());
        let distance = edges.len() as u32;
        self.ends.push(end);
        self.vertices.extend(vertices.iter().rev());
        self.edges.extend(edges.iter().rev());
        match self.runs.last_mut() {
            Some(run) if (run.source, run.distance) == (source, distance) => {
                run.count += 1;
                self.held += 1;
            }
            _ => self.tally(source, distance, 1),
        }
    }
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
            + (self.ends.capacity() + self.vertices.capacity()) * 4
            + self.edges.capacity() * 8
    }
}
