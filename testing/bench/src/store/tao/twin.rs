//! The plain twin: the answers that a read may give beside writers.
//!
//! Each vertex is written by one client alone, so what happens to it is a line: states with the times between which each write was
//! begun and acknowledged. A read is right if it shows one of the states that may hold between its begin and its end: none older than
//! the last write acknowledged before it began, none younger than the last write begun before it ended. That is what strict
//! serializability leaves to a read of one vertex. Most reads meet vertices that nobody has written, and are checked on the spot.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many targets, and their sum in a form that tells sets apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Edges.
    pub count: u64,
    /// Sum of the scattered targets; absent where only the count was read.
    pub sum: Option<u64>,
}

impl Digest {
    /// Of these targets.
    pub fn of(targets: impl IntoIterator<Item = u32>) -> Digest {
        targets.into_iter().fold(Digest { count: 0, sum: Some(0) }, Digest::with)
    }
    /// One target more.
    pub fn with(self, target: u32) -> Digest {
        Digest { count: self.count + 1, sum: self.sum.map(|sum| sum.wrapping_add(scattered(target))) }
    }
    /// True if this is the answer, in the parts that were read.
    fn shows(self, answered: Digest) -> bool {
        self.count == answered.count && (answered.sum.is_none() || answered.sum == self.sum)
    }
}

/// A number's bits, spread so that different sets have different sums.
fn scattered(target: u32) -> u64 {
    let spread = (u64::from(target) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (spread ^ (spread >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// The graph as it was loaded.
#[derive(Debug)]
pub struct Twin {
    /// First and last id.
    pub ids: std::ops::RangeInclusive<u32>,
    /// Sorted targets by source.
    targets: Vec<Vec<u32>>,
    digests: Vec<Digest>,
    /// Has some write to this vertex been acknowledged?
    written: Vec<AtomicBool>,
}

/// One write to a vertex: when it was begun and acknowledged, and the state behind it.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// When it was handed to the database.
    pub begin_ns: u64,
    /// When the database said that it is done.
    pub end_ns: u64,
    /// The vertex's edges from then on.
    pub after: Digest,
}

/// A read that cannot be judged before all writes are known.
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    /// The vertex that was read.
    pub vertex: u32,
    /// The begin of the read.
    pub begin_ns: u64,
    /// When it was answered.
    pub end_ns: u64,
    /// The answer.
    pub answered: Digest,
}

/// Writes by vertex, in order.
pub type History = BTreeMap<u32, Vec<Written>>;

impl Twin {
    /// Of an edge list as text, a source and a target in each line.
    ///
    /// # Errors
    /// A line is something else.
    pub fn read(text: &str) -> Result<Twin, String> {
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace().map(str::parse);
            let (Some(Ok(source)), Some(Ok(target))) = (words.next(), words.next()) else {
                return Err(format!("`{line}` is not an edge"));
            };
            edges.push((source, target));
        }
        Ok(Twin::of(&edges))
    }
    /// Of these edges.
    pub fn of(edges: &[(u32, u32)]) -> Twin {
        let ends = || edges.iter().flat_map(|(source, target)| [*source, *target]);
        let ids = ends().min().unwrap_or(0)..=ends().max().unwrap_or(0);
        let mut targets: Vec<Vec<u32>> = vec![Vec::new(); *ids.end() as usize + 1];
        edges.iter().for_each(|(source, target)| targets[*source as usize].push(*target));
        targets.iter_mut().for_each(|list| list.sort_unstable());
        let digests = targets.iter().map(|list| Digest::of(list.iter().copied())).collect();
        let written = targets.iter().map(|_| AtomicBool::new(false)).collect();
        Twin { ids, targets, digests, written }
    }
    /// The graph goes on from these targets of the vertices that were written.
    pub fn adopt(&mut self, latest: BTreeMap<u32, Vec<u32>>) {
        for (vertex, targets) in latest {
            self.digests[vertex as usize] = Digest::of(targets.iter().copied());
            self.targets[vertex as usize] = targets;
        }
        self.written.iter_mut().for_each(|written| *written.get_mut() = false);
    }
    /// Edges as loaded.
    pub fn edge_count(&self) -> usize {
        self.targets.iter().map(Vec::len).sum()
    }
    /// The targets of a vertex as loaded.
    pub fn targets(&self, vertex: u32) -> &[u32] {
        &self.targets[vertex as usize]
    }
    /// Notes that a write to this vertex was acknowledged.
    pub fn acknowledge(&self, vertex: u32) {
        self.written[vertex as usize].store(true, Ordering::SeqCst);
    }
    /// True if only the loaded state is right, or a younger one of a write that runs just now.
    pub fn is_unwritten(&self, vertex: u32) -> bool {
        !self.written[vertex as usize].load(Ordering::SeqCst)
    }
    /// Is this the state as loaded?
    pub fn is_as_loaded(&self, vertex: u32, answered: Digest) -> bool {
        self.digests[vertex as usize].shows(answered)
    }
    /// Judges a read when all writes are known.
    ///
    /// # Errors
    /// No state that may have held then looks like the answer.
    pub fn judge(&self, doubt: &Doubt, history: &History) -> Result<(), String> {
        let writes = history.get(&doubt.vertex).map_or(&[][..], Vec::as_slice);
        let oldest = writes.iter().take_while(|write| write.end_ns < doubt.begin_ns).count();
        let youngest = writes.iter().take_while(|write| write.begin_ns <= doubt.end_ns).count();
        let state = |place: usize| match place {
            0 => self.digests[doubt.vertex as usize],
            place => writes[place - 1].after,
        };
        if (oldest..=youngest).any(|place| state(place).shows(doubt.answered)) {
            return Ok(());
        }
        Err(format!("{doubt:?} shows none of the states {oldest} to {youngest} of {}", writes.len()))
    }
    /// The state behind all writes.
    pub fn last(&self, vertex: u32, history: &History) -> Digest {
        let last = history.get(&vertex).and_then(|writes| writes.last());
        last.map_or(self.digests[vertex as usize], |write| write.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_shows_a_state_of_its_time() {
        let twin = Twin::read("1 2\n1 3\n2 3\n").expect("three edges");
        assert_eq!((twin.edge_count(), twin.ids.clone()), (3, 1..=3));
        let before = Digest::of([2, 3]);
        let after = Digest::of([2, 3, 1]);
        let history = History::from([(1, vec![Written { begin_ns: 10, end_ns: 20, after }])]);
        let judged = |begin_ns, end_ns, answered| {
            twin.judge(&Doubt { vertex: 1, begin_ns, end_ns, answered }, &history).is_ok()
        };
        assert!(judged(1, 2, before), "before the write only the old state is right");
        assert!(!judged(1, 2, after));
        assert!(judged(5, 15, before) && judged(5, 15, after), "during it both are");
        assert!(!judged(21, 22, before), "what was acknowledged must be seen");
        assert!(judged(21, 22, after));
        assert!(!judged(21, 22, Digest::of([2, 3, 4])), "the targets count, not only their number");
        assert!(judged(21, 22, Digest { count: 3, sum: None }), "unless only the number was asked for");
        assert_eq!(twin.last(1, &history), after);
        assert_eq!(twin.last(2, &history), Digest::of([3]));
    }
}
