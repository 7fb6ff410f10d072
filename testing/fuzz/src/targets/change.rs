//! The changes in a log record: what is read is written again as the same bytes.

use model::{EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelSetId, Value, VertexId};
use store::Change;

/// Decodes changes; if that works, encoding them gives the same bytes.
pub fn change(bytes: &[u8]) {
    let Ok(changes) = Change::decode_all(bytes) else { return };
    let mut again = Vec::new();
    Change::encode_all(&changes, &mut again, usize::MAX).expect("nothing ends it");
    let twice = Change::decode_all(&again).expect("what was written can be read");
    let mut third = Vec::new();
    Change::encode_all(&twice, &mut third, usize::MAX).expect("nothing ends it");
    assert_eq!(again, third, "changes are not the same when they are written again");
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let (one, other) = (VertexId(1), VertexId(4_097));
    let edge = EdgeRef { id: EdgeId::new(one.chunk(), EdgeTypeId(0), 3), source: one, target: other };
    let values = vec![
        (KeyId(0), Value::Int(-7)),
        (KeyId(1), Value::Float(0.5)),
        (KeyId(2), Value::from("text")),
        (KeyId(3), Value::Bool(true)),
        (KeyId(4), Value::list(vec![Value::Int(1), Value::from("two")])),
    ];
    let lists = [
        vec![Change::CreateVertex { id: one, labels: LabelSetId(1), properties: values.clone() }],
        vec![Change::CreateEdge { edge, properties: values }, Change::DeleteEdge { edge }],
        vec![
            Change::SetProperty { id: other, key: KeyId(9), value: Value::Null },
            Change::SetEdgeProperty { edge, key: KeyId(9), value: Value::Int(i64::MAX) },
            Change::DeleteVertex { id: one },
        ],
        vec![Change::SetLabels { id: one, labels: LabelSetId(2) }],
        names(),
    ];
    let encode = |changes: &Vec<Change>| {
        let mut bytes = Vec::new();
        Change::encode_all(changes, &mut bytes, usize::MAX).expect("nothing ends it");
        bytes
    };
    lists.iter().map(encode).collect()
}

/// Names as a commit defines them.
fn names() -> Vec<Change> {
    let names = store::Names::new();
    let label = names.intern_label("Person").expect("there is room");
    names.intern_key("name").expect("there is room");
    let edge_type: EdgeTypeId = names.intern_edge_type("KNOWS").expect("there is room");
    names.intern_label_set(&[label]).expect("there is room");
    assert_eq!(edge_type.0, 0, "the first of its kind");
    names.undurable().0.into_iter().map(Change::DefineName).collect()
}
