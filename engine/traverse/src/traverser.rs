//! Traversers: an object with its bulk, path, sack and rounds.

use crate::pieces::PieceQueue;
use gremlin::Object;
use gremlin::object::Path;
use smallvec::SmallVec;
use std::collections::BTreeSet;

use std::sync::Arc;

type Name = Arc<str>;

/// Traversers on their way.
pub type Traversers = PieceQueue<Traverser>;
/// Where a step puts what it gives.
pub(crate) type Out<'a> = &'a mut Traversers;

/// One traverser, or several that differ in nothing.
#[derive(Clone, Debug)]
pub struct Traverser {
    /// Where it stands.
    pub object: Object,
    /// How many.
    pub bulk: u64,
    /// Its path, newest first; not kept where no step reads it.
    pub path: Option<Arc<Node>>,
    /// Its sack.
    pub sack: Object,
    /// Rounds of the `repeat`s around it, innermost last.
    pub loops: SmallVec<[(Option<Name>, u32); 1]>,
}

/// One object of a path.
#[derive(Clone, Debug)]
pub struct Node {
    /// The object.
    pub object: Object,
    /// Labels of the step that yielded it, in order.
    pub labels: SmallVec<[Name; 1]>,
    /// The earlier part.
    pub previous: Option<Arc<Node>>,
}

fn add_labels(node: &mut Node, labels: &[Name]) {
    for label in labels {
        if let Err(at) = node.labels.binary_search(label) {
            node.labels.insert(at, label.clone());
        }
    }
}

impl Drop for Node {
    /// A long path is dropped in a loop: recursion would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.previous.take();
        while let Some(mut node) = next.and_then(|node| Arc::try_unwrap(node).ok()) {
            next = node.previous.take();
        }
    }
}

impl Traverser {
    /// A traverser that stands on nothing yet.
    pub fn seed(sack: Object) -> Traverser {
        Traverser { object: Object::Null, bulk: 1, path: None, sack, loops: SmallVec::new() }
    }
    /// The same, on another object; its path grows if whole paths are kept.
    pub fn to(&self, object: Object, keeps_path: bool) -> Traverser {
        let path = match keeps_path {
            true => {
                let (object, previous) = (object.clone(), self.path.clone());
                Some(Arc::new(Node { object, labels: SmallVec::new(), previous }))
            }
            false => self.path.clone(),
        };
        Traverser { object, bulk: self.bulk, path, sack: self.sack.clone(), loops: self.loops.clone() }
    }
    /// Labels its object: the newest of its path, or, where only labelled objects are kept, one more.
    pub fn label(&mut self, labels: &[Name], keeps_path: bool) {
        // A node that nobody shares is changed where it is: ten thousand labels of one object are not copied ten thousand times.
        if let Some(node) = self.path.as_mut().filter(|_| keeps_path).and_then(Arc::get_mut) {
            return add_labels(node, labels);
        }
        let mut node = match &self.path {
            Some(path) if keeps_path => Node {
                object: path.object.clone(),
                labels: path.labels.clone(),
                previous: path.previous.clone(),
            },
            previous => {
                Node { object: self.object.clone(), labels: SmallVec::new(), previous: previous.clone() }
            }
        };
        add_labels(&mut node, labels);
        self.path = Some(Arc::new(node));
    }
    /// Drops the labels that are not to be kept, and objects without any.
    pub fn keep_labels(&mut self, is_kept: impl Fn(&Name) -> bool) {
        let mut kept: Vec<(Object, SmallVec<[Name; 1]>)> = Vec::new();
        let mut changed = false;
        for node in self.way() {
            let own: SmallVec<[Name; 1]> =
                node.labels.iter().filter(|label| is_kept(label)).cloned().collect();
            changed |= own.len() < node.labels.len();
            if !own.is_empty() {
                kept.push((node.object.clone(), own));
            }
        }
        if changed {
            self.path = kept
                .into_iter()
                .fold(None, |previous, (object, labels)| Some(Arc::new(Node { object, labels, previous })));
        }
    }
    /// The objects of the path, oldest first, with their labels.
    pub fn way(&self) -> Vec<&Node> {
        let mut nodes = Vec::new();
        let mut next = self.path.as_deref();
        while let Some(node) = next {
            nodes.push(node);
            next = node.previous.as_deref();
        }
        nodes.reverse();
        nodes
    }
    /// All objects with a label, oldest first.
    pub fn labelled(&self, label: &str) -> Vec<Object> {
        let has = |node: &&Node| node.labels.iter().any(|known| **known == *label);
        self.way().into_iter().filter(has).map(|node| node.object.clone()).collect()
    }
    /// The newest object with a label.
    pub fn newest(&self, label: &str) -> Option<Object> {
        let mut next = self.path.as_deref();
        while let Some(node) = next {
            if node.labels.iter().any(|known| **known == *label) {
                return Some(node.object.clone());
            }
            next = node.previous.as_deref();
        }
        None
    }
    /// The path as an object.
    pub fn path(&self) -> Path {
        let way = self.way();
        Path {
            labels: way.iter().map(|node| node.labels.iter().cloned().collect::<BTreeSet<_>>()).collect(),
            objects: way.iter().map(|node| node.object.clone()).collect(),
        }
    }
    /// Rounds of a named `repeat`, or of the innermost.
    pub fn rounds(&self, name: Option<&Name>) -> Option<u32> {
        match name {
            None => self.loops.last().map(|(_, count)| *count),
            Some(name) => self
                .loops
                .iter()
                .rev()
                .find(|(known, _)| known.as_ref() == Some(name))
                .map(|(_, count)| *count),
        }
    }
}
