//! Estimated bytes of a traversal or a part of it: for caches that keep one longer than its request lasts.

use crate::object::Object;
use crate::traversal::{Argument, Instruction, Traversal};
use std::mem::size_of;

impl Traversal {
    /// Bytes, roughly.
    pub fn weight(&self) -> usize {
        self.source.iter().chain(&self.steps).map(Instruction::weight).sum()
    }
}

impl Instruction {
    fn weight(&self) -> usize {
        size_of::<Instruction>()
            + self.name.len()
            + self.arguments.iter().map(Argument::weight).sum::<usize>()
    }
}

impl Argument {
    /// Bytes, roughly.
    pub fn weight(&self) -> usize {
        let holds = match self {
            Argument::Value(object) => object.weight(),
            Argument::Traversal(nested) => nested.weight(),
            Argument::Predicate(predicate) => predicate.values().into_iter().map(Object::weight).sum(),
            Argument::Strategy(strategy) => {
                let options = strategy.options.iter().map(|(key, option)| key.len() + option.weight());
                strategy.name.len() + options.sum::<usize>()
            }
        };
        size_of::<Argument>() + holds
    }
}

impl Object {
    /// Bytes, roughly: of parts that are shared as if they were not.
    pub fn weight(&self) -> usize {
        let all = |objects: &[Object]| objects.iter().map(Object::weight).sum::<usize>();
        let pairs = |pairs: &[(Object, Object)]| {
            pairs.iter().map(|(key, value)| key.weight() + value.weight()).sum::<usize>()
        };
        let holds = match self {
            Object::String(text) => text.len(),
            Object::Binary(bytes) => bytes.len(),
            Object::List(elements) | Object::Set(elements) => all(elements),
            Object::Bulk(elements) => {
                elements.iter().map(|(element, _)| size_of::<u64>() + element.weight()).sum()
            }
            Object::Map(entries) | Object::Tree(entries) => pairs(entries),
            Object::Entry(entry) => pairs(std::slice::from_ref(&**entry)),
            Object::VertexProperty(property) => property.key.len() + property.value.weight(),
            Object::Property(property) => {
                property.key.len() + property.owner.weight() + property.value.weight()
            }
            Object::Path(path) => {
                let labels = path.labels.iter().flatten().map(|label| size_of::<Object>() + label.len());
                all(&path.objects) + labels.sum::<usize>()
            }
            Object::Graph(graph) => (graph.vertices.len() + 2 * graph.edges.len()) * size_of::<Object>(),
            Object::Kept(kept) => kept.1.weight(),
            Object::Reference(reference) => reference.id.weight() + reference.label.len(),
            _ => 0,
        };
        size_of::<Object>() + holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_deep_within_is_weighed() {
        let text = Object::string("x".repeat(1_000));
        let deep = Object::map(vec![(Object::Int(1), Object::list(vec![text.clone(), text]))]);
        assert!((2_000..2_400).contains(&deep.weight()), "{}", deep.weight());
        let given = Argument::Predicate(crate::Predicate::Within(vec![deep.clone(), deep]));
        let step = Instruction { name: "is".into(), arguments: vec![given], span: crate::Span::default() };
        let whole = Traversal { source: Vec::new(), steps: vec![step] };
        assert!((4_000..5_000).contains(&whole.weight()), "{}", whole.weight());
    }
}
