//! Messages, and the tags that say which scope instance they belong to.

use crate::terms::limits::SCOPE_DEPTH_MAX;
use std::fmt;

/// A batch that travels along an edge. The runtime only reads its size.
pub trait Message: Send + 'static {
    /// Rows in it, for profiles.
    fn rows(&self) -> usize;
    /// Bytes it holds, charged to the query's budget where it waits in an unbounded queue.
    fn bytes(&self) -> usize;
    /// As many messages with about as many rows each, or fewer, which together say the same: so that executors that have nothing to do can
    /// share in a large one.
    fn split(self, parts: usize) -> Vec<Self>
    where
        Self: Sized,
    {
        let _ = parts;
        vec![self]
    }
}

/// Which scope instance a message belongs to: the numbers of the enclosing instances from the outermost in (the paper's `ScopeTag`).
/// The root tag is empty. Tags are copied, compared and hashed, never allocated.
#[derive(Clone, Copy, Default)]
pub struct Tag {
    depth: u8,
    path: [u32; SCOPE_DEPTH_MAX],
    /// Where the instance is to be looked for on its executor. A handle, no part of the name.
    node: u32,
}

impl Tag {
    /// Outside all scopes.
    pub const ROOT: Tag = Tag { depth: 0, path: [0; SCOPE_DEPTH_MAX], node: 0 };

    /// Number of scopes around.
    pub fn depth(self) -> usize {
        usize::from(self.depth)
    }
    /// True outside all scopes.
    pub fn is_root(self) -> bool {
        self.depth == 0
    }
    /// The instance `number` of a scope directly inside this instance.
    pub(crate) fn child(self, number: u32) -> Tag {
        assert!(self.depth() < SCOPE_DEPTH_MAX, "the graph builder bounds the nesting of scopes");
        let mut tag = self;
        tag.path[self.depth()] = number;
        tag.depth += 1;
        tag
    }
    /// The number of the innermost instance: of a branch, unique within its query and executor; of a loop, the iteration, from 1. The
    /// root's is 0.
    #[inline]
    pub fn number(self) -> u32 {
        if self.depth == 0 { 0 } else { self.path[self.depth() - 1] }
    }
    /// The enclosing instance. The root has none.
    pub fn parent(self) -> Option<Tag> {
        (self.depth > 0).then(|| self.ancestor(self.depth() - 1))
    }
    /// The enclosing instance at `depth`, which is at most this tag's depth.
    pub fn ancestor(self, depth: usize) -> Tag {
        assert!(depth <= self.depth());
        let mut tag = self;
        if depth < self.depth() {
            tag.depth = depth as u8;
            tag.path[depth..].fill(0);
            tag.node = u32::MAX;
        }
        tag
    }
    /// The same, to be looked for there.
    #[inline]
    pub(crate) fn at_node(self, node: u32) -> Tag {
        Tag { node, ..self }
    }
    #[inline]
    pub(crate) fn node(self) -> u32 {
        self.node
    }
    /// True if it names an instance directly inside `parent`.
    #[inline]
    pub(crate) fn is_child_of(self, parent: Tag) -> bool {
        self.depth == parent.depth + 1 && self.path[..parent.depth()] == parent.path[..parent.depth()]
    }
    fn name(&self) -> (u8, &[u32; SCOPE_DEPTH_MAX]) {
        (self.depth, &self.path)
    }
    /// True if `self` is `other` or encloses it.
    pub fn encloses(self, other: Tag) -> bool {
        self.depth <= other.depth && self.path[..self.depth()] == other.path[..self.depth()]
    }
}

impl PartialEq for Tag {
    fn eq(&self, other: &Tag) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Tag {}

impl std::hash::Hash for Tag {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl PartialOrd for Tag {
    fn partial_cmp(&self, other: &Tag) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tag {
    fn cmp(&self, other: &Tag) -> std::cmp::Ordering {
        self.name().cmp(&other.name())
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.path[..self.depth()])
    }
}
