//! A pattern unrolled into states: where on the pattern a path stands.
//!
//! A state is a place in one copy of a part, or a gate between parts. A part repeated 2 to 4 times is four copies in a row, with ways out
//! behind the second, third and fourth; one without an upper bound ends in a copy that leads back into itself. So each path through
//! the states is one way of reading a path of the graph as the pattern, and each way is met once.

use crate::error::PathError;

/// States that a pattern may have; a part repeated `n` times needs `n` times its edges.
pub const PATTERN_STATES_MAX: usize = 1 << 16;

/// A row of edges, repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Edges of a round; a part without edges is a single vertex, once.
    pub edges: u32,
    /// Fewest rounds.
    pub min: u32,
    /// Most rounds; none for no bound.
    pub max: Option<u32>,
    /// Is there a condition on each round?
    pub has_condition: bool,
}

impl Part {
    /// A vertex between other parts.
    pub fn vertex(has_condition: bool) -> Part {
        Part { edges: 0, min: 1, max: Some(1), has_condition }
    }
}

/// A way from one state to another, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub state: u32,
    /// Number of the pattern's edge, where one is walked.
    pub edge: Option<u32>,
}

/// The meaning of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub part: u32,
    /// Edges of the round that are walked.
    pub at: u32,
    /// Number of the place through all parts.
    pub number: u32,
}

/// A pattern, ready for a search.
#[derive(Clone, Debug)]
pub struct PathPattern {
    pub(super) parts: Vec<Part>,
    /// `None` for the gates between parts.
    pub(super) places: Vec<Option<Place>>,
    pub(super) out: Vec<Vec<Move>>,
    pub(super) into: Vec<Vec<Move>>,
    pub(super) accept: u32,
    /// Bytes held: they do not change once it is made.
    bytes: usize,
}

/// The state before the first part.
pub(super) const START: u32 = 0;

impl PathPattern {
    /// Unrolls parts.
    ///
    /// # Errors
    /// [`PathError::PatternTooLarge`] beyond [`PATTERN_STATES_MAX`].
    pub fn new(parts: Vec<Part>) -> Result<PathPattern, PathError> {
        let mut pattern = PathPattern {
            parts: Vec::new(),
            places: Vec::new(),
            out: Vec::new(),
            into: Vec::new(),
            accept: START,
            bytes: 0,
        };
        let mut gate = pattern.state(None)?;
        let (mut first_place, mut first_edge) = (0, 0);
        for (number, part) in parts.iter().enumerate() {
            gate = pattern.part(number as u32, part, gate, first_place, first_edge)?;
            first_place += part.edges + 1;
            first_edge += part.edges;
        }
        (pattern.parts, pattern.accept) = (parts, gate);
        pattern.bytes = pattern.count_bytes();
        Ok(pattern)
    }

    /// Adds the copies of a part behind a gate; returns the gate behind it.
    fn part(
        &mut self,
        number: u32,
        part: &Part,
        gate: u32,
        first_place: u32,
        first_edge: u32,
    ) -> Result<u32, PathError> {
        let mut ways_out = Vec::new();
        if part.min == 0 {
            ways_out.push(gate);
        }
        let (copies, mut before) = (part.max.unwrap_or(part.min.max(1)), gate);
        for copy in 1..=copies {
            let first = self.state(Some(Place { part: number, at: 0, number: first_place }))?;
            self.join(before, first, None);
            before = first;
            for at in 1..=part.edges {
                let next = self.state(Some(Place { part: number, at, number: first_place + at }))?;
                self.join(before, next, Some(first_edge + at - 1));
                before = next;
            }
            if copy >= part.min {
                ways_out.push(before);
            }
            if copy == copies && part.max.is_none() {
                self.join(before, first, None);
            }
        }
        let behind = self.state(None)?;
        ways_out.into_iter().for_each(|state| self.join(state, behind, None));
        Ok(behind)
    }

    fn state(&mut self, place: Option<Place>) -> Result<u32, PathError> {
        if self.places.len() >= PATTERN_STATES_MAX {
            return Err(PathError::PatternTooLarge { states_max: PATTERN_STATES_MAX });
        }
        self.places.push(place);
        self.out.push(Vec::new());
        self.into.push(Vec::new());
        Ok(self.places.len() as u32 - 1)
    }

    fn join(&mut self, from: u32, to: u32, edge: Option<u32>) {
        self.out[from as usize].push(Move { state: to, edge });
        self.into[to as usize].push(Move { state: from, edge });
    }

    /// The part of which a round begins in this state, if it has a condition.
    pub(super) fn round(&self, state: u32) -> Option<(usize, usize)> {
        let place = self.places[state as usize].filter(|place| place.at == 0)?;
        let part = &self.parts[place.part as usize];
        part.has_condition.then_some((place.part as usize, part.edges as usize))
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn count_bytes(&self) -> usize {
        let lists = self.out.capacity() + self.into.capacity();
        let moves: usize = self.out.iter().chain(&self.into).map(Vec::capacity).sum();
        self.places.capacity() * size_of::<Option<Place>>()
            + self.parts.capacity() * size_of::<Part>()
            + lists * size_of::<Vec<Move>>()
            + moves * size_of::<Move>()
    }
}
