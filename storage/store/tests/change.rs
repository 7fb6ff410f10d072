//! Changes as bytes: a golden text, and every value there and back.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use model::schema::*;
use model::temporal::*;
use model::value::{Path, Point};
use model::*;
use std::sync::Arc;
use store::*;

fn samples() -> Vec<Change> {
    let edge =
        EdgeRef { id: EdgeId::new(1, EdgeTypeId(2), 3), source: VertexId::new(1, 5), target: VertexId(7) };
    vec![
        Change::DefineName(NameDefinition::Label(LabelId(0), "Person".into())),
        Change::DefineName(NameDefinition::EdgeType(EdgeTypeId(2), "KNOWS".into())),
        Change::DefineName(NameDefinition::Key(KeyId(300), "naïve".into())),
        Change::DefineName(NameDefinition::LabelSet(LabelSetId(1), Arc::from([LabelId(0)].as_slice()))),
        Change::CreateVertex {
            id: VertexId(4096),
            labels: LabelSetId(1),
            properties: vec![(KeyId(1), (-3).into())],
        },
        Change::SetLabels { id: VertexId(4096), labels: LabelSetId(0) },
        Change::SetProperty { id: VertexId(4096), key: KeyId(1), value: "text".into() },
        Change::CreateEdge { edge, properties: vec![(KeyId(2), true.into())] },
        Change::SetEdgeProperty { edge, key: KeyId(2), value: Value::Null },
        Change::DeleteEdge { edge },
        Change::DeleteVertex { id: VertexId(4096) },
        Change::CreateIndex(IndexDefinition {
            id: IndexId(1),
            name: "by_name".into(),
            target: SchemaTarget::Vertices(LabelId(0)),
            keys: vec![KeyId(1), KeyId(2)],
            unique: true,
        }),
        Change::CreateConstraint(ConstraintDefinition {
            name: "typed".into(),
            target: SchemaTarget::Edges(EdgeTypeId(2)),
            keys: vec![KeyId(2)],
            rule: ConstraintRule::Typed(ValueType::Bool),
        }),
        Change::DropConstraint("typed".into()),
        Change::DropIndex(IndexId(1)),
        Change::SetEntry {
            kind: EntryKind::USER,
            name: "ada".into(),
            content: Some([7u8, 8].as_slice().into()),
        },
        Change::SetEntry { kind: EntryKind::STANDING, name: "hot".into(), content: None },
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The encoding is on disks: if this fails, write a new version instead of changing the text.
#[test]
fn encoding_is_golden() {
    let mut bytes = Vec::new();
    Change::encode_all(&samples(), &mut bytes, usize::MAX).unwrap();
    let expected = include_str!("change.golden").trim();
    assert_eq!(hex(&bytes), expected);
}

#[test]
fn changes_come_back_and_damage_is_refused() {
    let mut bytes = Vec::new();
    Change::encode_all(&samples(), &mut bytes, usize::MAX).unwrap();
    let decoded = Change::decode_all(&bytes).unwrap();
    assert_eq!(format!("{decoded:?}"), format!("{:?}", samples()));
    for len in 0..bytes.len() {
        assert!(Change::decode_all(&bytes[..len]).is_err());
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let _ = Change::decode_all(&damaged);
        }
    }
}

#[test]
fn every_value_comes_back() {
    let edge = EdgeRef { id: EdgeId(u64::MAX), source: VertexId(1), target: VertexId(u64::MAX) };
    let zoned = |zone: Option<&str>| ZonedDateTime {
        seconds: -5,
        nanos: 999_999_999,
        offset_seconds: -3600,
        zone: zone.map(Into::into),
    };
    let point = |z| Value::Point(Arc::new(Point { srid: 4979, x: 1.5, y: -0.0, z }));
    let values = vec![
        Value::Null,
        false.into(),
        true.into(),
        i64::MIN.into(),
        i64::MAX.into(),
        f64::INFINITY.into(),
        "".into(),
        "ü".into(),
        Value::Bytes([0, 255].as_slice().into()),
        Value::list(vec![Value::list(vec![1.into()]), Value::Null]),
        Value::map([("a", Value::from(1)), ("b", Value::Null)]),
        Value::Vertex(NO_VERTEX),
        Value::edge(edge),
        Value::Path(Arc::new(Path { vertices: vec![VertexId(1), VertexId(2)], edges: vec![edge] })),
        point(None),
        point(Some(3.0)),
        Date { days: -1 }.into(),
        LocalTime { nanos: 86_399_999_999_999 }.into(),
        ZonedTime { nanos: 1, offset_seconds: -64_800 }.into(),
        LocalDateTime { seconds: i64::MIN, nanos: 1 }.into(),
        zoned(None).into(),
        zoned(Some("Europe/Berlin")).into(),
        Duration { months: -1, days: 2, seconds: -3, nanos: 4 }.into(),
    ];
    let change = |value: &Value| Change::SetProperty { id: VertexId(1), key: KeyId(1), value: value.clone() };
    let changes: Vec<Change> = values.iter().map(change).collect();
    let mut bytes = Vec::new();
    Change::encode_all(&changes, &mut bytes, usize::MAX).unwrap();
    assert_eq!(format!("{:?}", Change::decode_all(&bytes).unwrap()), format!("{changes:?}"));
}

/// The deepest value that can be made is one that a snapshot takes and a log gives back; there is no deeper one.
#[test]
fn values_of_every_depth_are_read_back() {
    let store = Store::new(StoreOptions::default());
    let id = store.allocator().vertex(LabelSetId(0)).unwrap();
    let create = Change::CreateVertex { id, labels: LabelSetId(0), properties: Vec::new() };
    let snapshot = store.current().apply(1, &[&[create]]).unwrap();
    let mut value = Value::Null;
    for depth in 0..=model::nested::VALUE_DEPTH_MAX {
        let changes = [Change::SetProperty { id, key: KeyId(1), value: value.clone() }];
        let mut bytes = Vec::new();
        Change::encode_all(&changes, &mut bytes, usize::MAX).unwrap();
        assert!(snapshot.apply(2, &[&changes]).is_ok(), "at depth {depth}");
        assert!(Change::decode_all(&bytes).is_ok(), "at depth {depth}");
        let Ok(next) = Value::try_list(vec![value]) else {
            assert_eq!(depth, model::nested::VALUE_DEPTH_MAX);
            return;
        };
        value = next;
    }
    panic!("a value deeper than the limit was made");
}
