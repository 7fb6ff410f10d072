//! Values as a client reads them: nodes, relationships and paths come from a server, and never go to one.

use super::packstream::Unreadable::{self, Malformed};
use super::packstream::{Head, Unpacker};
use super::structure::{NODE, PATH, RELATIONSHIP, UNBOUND_RELATIONSHIP};
use database::entity::{Hydrated, Node, Relationship};
use model::nested::VALUE_DEPTH_MAX;
use model::{EdgeId, EdgeRef, Value, ValueTooLarge, VertexId};
use std::sync::Arc;

/// Any value of a record.
///
/// # Errors
/// The bytes are no value, or a value deeper or wider than ours may be.
pub fn hydrated(unpacker: &mut Unpacker<'_>) -> Result<Hydrated, Unreadable> {
    hydrated_within(unpacker, VALUE_DEPTH_MAX + 1)
}

fn hydrated_within(unpacker: &mut Unpacker<'_>, depth: usize) -> Result<Hydrated, Unreadable> {
    let depth = depth.checked_sub(1).ok_or(ValueTooLarge::Deep)?;
    Ok(match unpacker.head()? {
        Head::List(len) => {
            let items = (0..len).map(|_| hydrated_within(unpacker, depth)).collect::<Result<Vec<_>, _>>()?;
            list(items)?
        }
        Head::Map(len) => {
            let mut pairs = Vec::new();
            for _ in 0..len {
                pairs.push((text(unpacker)?, hydrated_within(unpacker, depth)?));
            }
            map(pairs)?
        }
        Head::Structure(NODE) => Hydrated::Node(node(unpacker)?),
        Head::Structure(RELATIONSHIP) => Hydrated::Relationship(relationship(unpacker)?),
        Head::Structure(PATH) => path(unpacker)?,
        Head::Structure(_) | Head::Other => Hydrated::Plain(unpacker.value()?),
    })
}

fn list(items: Vec<Hydrated>) -> Result<Hydrated, Unreadable> {
    if items.iter().all(|item| matches!(item, Hydrated::Plain(_))) {
        let plain = items.into_iter().filter_map(plain).collect();
        return Ok(Hydrated::Plain(Value::try_list(plain)?));
    }
    Ok(Hydrated::List(items))
}

fn map(pairs: Vec<(Arc<str>, Hydrated)>) -> Result<Hydrated, Unreadable> {
    if pairs.iter().all(|(_, item)| matches!(item, Hydrated::Plain(_))) {
        let plain: Vec<(Arc<str>, Value)> =
            pairs.into_iter().filter_map(|(key, item)| Some((key, plain(item)?))).collect();
        return Ok(Hydrated::Plain(Value::try_map(plain)?));
    }
    Ok(Hydrated::Map(pairs))
}

fn plain(value: Hydrated) -> Option<Value> {
    match value {
        Hydrated::Plain(value) => Some(value),
        _ => None,
    }
}

fn text(unpacker: &mut Unpacker<'_>) -> Result<Arc<str>, Unreadable> {
    match unpacker.value()? {
        Value::String(text) => Ok(text),
        _ => Err(Malformed("expected a text")),
    }
}

fn number(unpacker: &mut Unpacker<'_>) -> Result<i64, Unreadable> {
    unpacker.value()?.as_int().ok_or(Malformed("expected a whole number"))
}

fn id(unpacker: &mut Unpacker<'_>) -> Result<u64, Unreadable> {
    u64::try_from(number(unpacker)?).map_err(|_| Malformed("an id is below zero"))
}

fn properties(unpacker: &mut Unpacker<'_>) -> Result<Vec<(Arc<str>, Value)>, Unreadable> {
    let Head::Map(len) = unpacker.head()? else { return Err(Malformed("expected properties")) };
    let mut pairs = Vec::new();
    for _ in 0..len {
        pairs.push((text(unpacker)?, unpacker.value()?));
    }
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(pairs)
}

/// Skips the fields that an element has as text as well.
fn element_ids(unpacker: &mut Unpacker<'_>, count: usize) -> Result<(), Unreadable> {
    (0..count).try_for_each(|_| unpacker.value().map(drop))
}

fn node(unpacker: &mut Unpacker<'_>) -> Result<Node, Unreadable> {
    let (tag, fields) = unpacker.structure()?;
    if tag != NODE || !(3..=4).contains(&fields) {
        return Err(Malformed("expected a node"));
    }
    let id = VertexId(id(unpacker)?);
    let Head::List(len) = unpacker.head()? else { return Err(Malformed("expected labels")) };
    let mut labels = (0..len).map(|_| text(unpacker)).collect::<Result<Vec<_>, _>>()?;
    labels.sort();
    let properties = properties(unpacker)?;
    element_ids(unpacker, fields - 3)?;
    Ok(Node { id, labels, properties })
}

fn relationship(unpacker: &mut Unpacker<'_>) -> Result<Relationship, Unreadable> {
    let (_, fields) = unpacker.structure()?;
    if fields != 5 && fields != 8 {
        return Err(Malformed("expected a relationship"));
    }
    let (edge, source, target) = (id(unpacker)?, id(unpacker)?, id(unpacker)?);
    let edge = EdgeRef { id: EdgeId(edge), source: VertexId(source), target: VertexId(target) };
    let (edge_type, properties) = (text(unpacker)?, properties(unpacker)?);
    element_ids(unpacker, fields - 5)?;
    Ok(Relationship { edge, edge_type, properties })
}

/// A relationship of a path, without its ends: the steps give them.
fn unbound(unpacker: &mut Unpacker<'_>) -> Result<Relationship, Unreadable> {
    let (tag, fields) = unpacker.structure()?;
    if tag != UNBOUND_RELATIONSHIP || !(3..=4).contains(&fields) {
        return Err(Malformed("expected a relationship of a path"));
    }
    let edge = EdgeRef { id: EdgeId(id(unpacker)?), source: VertexId(0), target: VertexId(0) };
    let (edge_type, properties) = (text(unpacker)?, properties(unpacker)?);
    element_ids(unpacker, fields - 3)?;
    Ok(Relationship { edge, edge_type, properties })
}

/// Distinct nodes, distinct relationships, and for each step the relationship (from 1, negative against its direction) and the node.
fn path(unpacker: &mut Unpacker<'_>) -> Result<Hydrated, Unreadable> {
    let (_, fields) = unpacker.structure()?;
    let Head::List(len) = unpacker.head()? else { return Err(Malformed("expected a path's nodes")) };
    let nodes = (0..len).map(|_| node(unpacker)).collect::<Result<Vec<_>, _>>()?;
    let Head::List(len) = unpacker.head()? else { return Err(Malformed("expected a path's relationships")) };
    let edges = (0..len).map(|_| unbound(unpacker)).collect::<Result<Vec<_>, _>>()?;
    let Head::List(len) = unpacker.head()? else { return Err(Malformed("expected a path's steps")) };
    let steps = (0..len).map(|_| number(unpacker)).collect::<Result<Vec<_>, _>>()?;
    let lost = || Malformed("a step of a path leads nowhere");
    if fields != 3 || steps.len() % 2 != 0 {
        return Err(lost());
    }
    let mut walked = vec![nodes.first().ok_or_else(lost)?.clone()];
    let mut crossed = Vec::new();
    for step in steps.chunks_exact(2) {
        let number = usize::try_from(step[0].unsigned_abs()).map_err(|_| lost())?;
        let mut edge = edges.get(number.checked_sub(1).ok_or_else(lost)?).ok_or_else(lost)?.clone();
        let next = usize::try_from(step[1]).ok().and_then(|at| nodes.get(at)).ok_or_else(lost)?.clone();
        let from = walked.last().ok_or_else(lost)?.id;
        (edge.edge.source, edge.edge.target) = if step[0] > 0 { (from, next.id) } else { (next.id, from) };
        crossed.push(edge);
        walked.push(next);
    }
    Ok(Hydrated::Path(walked, crossed))
}

#[cfg(test)]
mod tests {
    use super::super::Version;
    use super::super::packstream::Packer;
    use super::super::structure::pack_hydrated;
    use super::*;

    fn node(id: u64) -> Node {
        Node {
            id: VertexId(id),
            labels: vec!["A".into(), "B".into()],
            properties: vec![("k".into(), 7.into())],
        }
    }

    fn edge(id: u64, source: u64, target: u64) -> Relationship {
        let edge = EdgeRef { id: EdgeId(id), source: VertexId(source), target: VertexId(target) };
        Relationship { edge, edge_type: "R".into(), properties: vec![("w".into(), 0.5.into())] }
    }

    /// The client reads what the server packs.
    #[test]
    fn entities_come_back() {
        let path = Hydrated::Path(
            vec![node(1), node(2), node(1), node(3)],
            vec![edge(8, 1, 2), edge(8, 1, 2), edge(9, 3, 1)],
        );
        let nested = Hydrated::List(vec![
            Hydrated::Node(node(4)),
            Hydrated::Plain(Value::Null),
            Hydrated::Map(vec![("e".into(), Hydrated::Relationship(edge(1, 2, 3)))]),
        ]);
        let plain = Hydrated::Plain(Value::list(vec![1.into(), Value::map([("x", "y".into())])]));
        for value in [path, nested, plain, Hydrated::Node(node(5))] {
            for version in [Version { major: 4, minor: 4 }, Version { major: 5, minor: 4 }] {
                let mut packer = Packer::default();
                pack_hydrated(&mut packer, &value, version);
                let mut unpacker = Unpacker::new(&packer.bytes);
                let back = hydrated(&mut unpacker).unwrap();
                assert!(unpacker.is_empty());
                assert_eq!(format!("{back:?}"), format!("{value:?}"));
            }
        }
    }

    #[test]
    fn lies_are_errors() {
        for bytes in [
            &[0xB3, PATH, 0x90, 0x90, 0x90][..],
            &[0xB4, NODE, 0xFF, 0x90, 0xA0, 0x80],
            &[0xB4, NODE, 1],
            &[0xB1, RELATIONSHIP, 1],
            &[0xD6, 0xFF, 0xFF, 0xFF, 0xFF],
            &[],
        ] {
            assert!(hydrated(&mut Unpacker::new(bytes)).is_err(), "{bytes:?}");
        }
        assert!(hydrated(&mut Unpacker::new(&[0x91; 100_000])).is_err(), "nesting is bounded");
    }
}
