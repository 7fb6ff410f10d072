//! The budget of a search step.
//!
//! Idea: a quota of visited edges (each visited vertex costs one more), and a callback called now and then.
//! Invariant: every step with a quota of at least one makes progress. Cost: one comparison per piece of a list.

/// Edges handled between two looks at the quota and the callback: some tens of microseconds.
pub(crate) const PIECE_EDGES_MAX: usize = 4096;

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do: step again.
    More,
    /// The search has ended.
    Done,
}

/// A quota for one step. Make a new one for each step.
pub struct Work<'a> {
    edges_left: u64,
    edges_visited: u64,
    asked_at: u64,
    over: bool,
    should_yield: Option<&'a mut (dyn FnMut() -> bool + 'a)>,
}

impl<'a> Work<'a> {
    /// At most `edges_max` edges (at least one).
    pub fn new(edges_max: u64) -> Work<'static> {
        Work { edges_left: edges_max.max(1), edges_visited: 0, asked_at: 0, over: false, should_yield: None }
    }

    /// At most `edges_max` edges, and `should_yield` is called every few thousand edges: true ends the step.
    pub fn with_yield(edges_max: u64, should_yield: &'a mut (dyn FnMut() -> bool + 'a)) -> Work<'a> {
        Work { should_yield: Some(should_yield), ..Work::new(edges_max) }
    }

    /// Without a quota: for tests and callers that wait.
    pub fn unlimited() -> Work<'static> {
        Work::new(u64::MAX)
    }

    /// The work of the step so far.
    pub fn edges_visited(&self) -> u64 {
        self.edges_visited
    }

    /// How many of `wanted` edges to handle before the next look.
    #[inline]
    pub fn piece(&self, wanted: usize) -> usize {
        wanted.min(PIECE_EDGES_MAX).min(self.edges_left.max(1).min(usize::MAX as u64) as usize)
    }

    /// Books `edges` visited edges and one vertex.
    #[inline]
    pub fn charge(&mut self, edges: usize) {
        let cost = edges as u64 + 1;
        self.edges_visited += cost;
        self.edges_left = self.edges_left.saturating_sub(cost);
        if self.edges_visited - self.asked_at >= PIECE_EDGES_MAX as u64 {
            self.asked_at = self.edges_visited;
            self.over |= self.should_yield.as_mut().is_some_and(|ask| ask());
        }
    }

    /// Whether the step must return now.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over || self.edges_left == 0
    }
}
