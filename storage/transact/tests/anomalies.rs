//! Golden scripts, named after the anomaly they show, and what holds instead.
#![allow(clippy::disallowed_methods)]

use model::{Direction, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use tanglewood_transact::{Engine, Mode, OpenOptions, TransactError, Transaction};

struct World {
    engine: Engine,
    label: LabelId,
    knows: EdgeTypeId,
    key: KeyId,
}

fn world() -> World {
    let (engine, _) = tanglewood_transact::open(None, &OpenOptions::default()).unwrap();
    let names = engine.store().names().clone();
    let label = names.intern_label("Account").unwrap();
    let knows = names.intern_edge_type("KNOWS").unwrap();
    let key = names.intern_key("balance").unwrap();
    World { engine, label, knows, key }
}

impl World {
    fn vertex(&self, balance: i64) -> VertexId {
        let t = self.engine.begin(Mode::Write);
        let vertex = t.create_vertex(&[self.label], vec![(self.key, balance.into())]).unwrap();
        t.commit().unwrap();
        vertex
    }
    fn read(&self, t: &Transaction, vertex: VertexId) -> i64 {
        t.reads().vertex(vertex);
        t.snapshot().property(vertex, self.key).unwrap().as_int().unwrap()
    }
    fn now(&self, vertex: VertexId) -> i64 {
        self.engine.snapshot().property(vertex, self.key).unwrap().as_int().unwrap()
    }
}

fn is_conflict(outcome: Result<u64, TransactError>) -> bool {
    matches!(outcome, Err(TransactError::Conflict { .. }))
}

#[test]
fn lost_update_is_refused() {
    let w = world();
    let account = w.vertex(100);
    let (a, b) = (w.engine.begin(Mode::Write), w.engine.begin(Mode::Write));
    let (seen_a, seen_b) = (w.read(&a, account), w.read(&b, account));
    a.set_property(account, w.key, (seen_a + 10).into()).unwrap();
    b.set_property(account, w.key, (seen_b + 20).into()).unwrap();
    assert!(a.commit().is_ok());
    assert!(is_conflict(b.commit()), "the second would overwrite what it never saw");
    assert_eq!(w.now(account), 110);
}

#[test]
fn write_skew_is_refused() {
    let w = world();
    let (x, y) = (w.vertex(50), w.vertex(50));
    let (a, b) = (w.engine.begin(Mode::Write), w.engine.begin(Mode::Write));
    assert!(w.read(&a, x) + w.read(&a, y) >= 100 && w.read(&b, x) + w.read(&b, y) >= 100);
    a.set_property(x, w.key, (-50).into()).unwrap();
    b.set_property(y, w.key, (-50).into()).unwrap();
    assert!(a.commit().is_ok());
    assert!(is_conflict(b.commit()), "each would spend what the other spends");
}

#[test]
fn phantoms_of_a_label_scan_are_refused() {
    let w = world();
    w.vertex(1);
    let (a, b) = (w.engine.begin(Mode::Write), w.engine.begin(Mode::Write));
    a.reads().scan(Some(w.label));
    let count = a.snapshot().statistics().vertices_with_label(w.label);
    b.create_vertex(&[w.label], vec![]).unwrap();
    assert!(b.commit().is_ok());
    a.create_vertex(&[], vec![(w.key, (count as i64).into())]).unwrap();
    assert!(is_conflict(a.commit()), "the count it wrote down is no longer true");
}

#[test]
fn phantoms_of_a_label_that_nobody_knew_are_refused() {
    let w = world();
    w.vertex(1);
    // Both look for users, of which there is not even a label, find none, and create the first: MERGE on an empty database.
    let (a, b) = (w.engine.begin(Mode::Write), w.engine.begin(Mode::Write));
    for t in [&a, &b] {
        assert_eq!(t.snapshot().catalog().label("User"), None, "so there is no key to record");
        t.create_vertex(&[t.label("User").unwrap()], vec![]).unwrap();
    }
    assert!(b.commit().is_ok());
    assert!(is_conflict(a.commit()), "there is a user now");
    // Once the label is known, those who create under it without looking do not disturb each other.
    let (c, d) = (w.engine.begin(Mode::Write), w.engine.begin(Mode::Write));
    for t in [&c, &d] {
        t.create_vertex(&[t.label("User").unwrap()], vec![]).unwrap();
    }
    assert!(c.commit().is_ok() && d.commit().is_ok());
}

#[test]
fn first_users_of_a_new_name_do_not_disturb_each_other() {
    let w = world();
    let (x, y) = (w.vertex(1), w.vertex(2));
    let begin = || w.engine.begin(Mode::Write);
    let (a, b, c, listing) = (begin(), begin(), begin(), begin());
    for (t, vertex) in [(&a, x), (&b, y)] {
        let label = t.label("Employee").unwrap();
        let made = t.create_vertex(&[label], vec![(t.key("salary").unwrap(), 1.into())]).unwrap();
        t.create_edge(vertex, made, t.edge_type("EMPLOYS").unwrap(), vec![]).unwrap();
    }
    c.set_property(y, w.key, 3.into()).unwrap();
    listing.reads().catalogue();
    listing.set_property(x, w.key, 4.into()).unwrap();
    assert!(a.commit().is_ok());
    assert!(b.commit().is_ok(), "both made the first of them, and neither looked for one");
    assert!(c.commit().is_ok(), "nor did who began before");
    assert!(is_conflict(listing.commit()), "but who listed all names would have seen one more");
    let seen = w.engine.snapshot();
    let label = seen.catalog().label("Employee").unwrap();
    assert_eq!(seen.statistics().vertices_with_label(label), 2);
}

#[test]
fn who_listed_the_keys_of_properties_misses_none() {
    let w = world();
    let (x, y, z) = (w.vertex(1), w.vertex(2), w.vertex(3));
    let begin = || w.engine.begin(Mode::Write);
    let (naming, listing, other) = (begin(), begin(), begin());
    naming.set_property(x, naming.key("salary").unwrap(), 1.into()).unwrap();
    listing.reads().catalogue();
    listing.set_property(y, w.key, 4.into()).unwrap();
    other.set_property(z, w.key, 4.into()).unwrap();
    assert!(naming.commit().is_ok());
    assert!(is_conflict(listing.commit()), "it would have seen one more key");
    assert!(other.commit().is_ok(), "who listed nothing is not disturbed");
}

#[test]
fn phantoms_of_an_index_dropped_meanwhile_are_refused() {
    let w = world();
    let request = tanglewood_transact::IndexRequest {
        name: Some("accounts".into()),
        target: model::schema::SchemaTarget::Vertices(w.label),
        keys: vec![w.key],
        if_not_exists: false,
    };
    w.vertex(1);
    w.engine.create_index(&request).unwrap();
    let a = w.engine.begin(Mode::Write);
    let index = a.snapshot().catalog().index_named("accounts").unwrap().id;
    a.reads().index_equal(index, &Value::Int(7));
    assert!(a.snapshot().seek(index, &[Value::Int(7)]).unwrap().is_empty());
    w.engine.drop_index("accounts", false).unwrap();
    w.vertex(7);
    a.create_vertex(&[w.label], vec![(w.key, 7.into())]).unwrap();
    assert!(is_conflict(a.commit()), "what it looked for is there, though no index tells");
}

#[test]
fn dirty_and_non_repeatable_reads_do_not_happen() {
    let w = world();
    let account = w.vertex(1);
    let reader = w.engine.begin(Mode::Read);
    let writer = w.engine.begin(Mode::Write);
    writer.set_property(account, w.key, 2.into()).unwrap();
    writer.refresh().unwrap();
    assert_eq!(w.read(&writer, account), 2, "a transaction reads its own writes");
    assert_eq!(w.read(&reader, account), 1, "and nobody else does");
    writer.commit().unwrap();
    assert_eq!(w.read(&reader, account), 1, "a snapshot does not change");
    assert_eq!(w.now(account), 2);
}

#[test]
fn different_edges_of_one_hub_do_not_conflict() {
    let w = world();
    let (hub, x, y) = (w.vertex(0), w.vertex(1), w.vertex(2));
    let (a, b) = (w.engine.begin(Mode::Write), w.engine.begin(Mode::Write));
    a.create_edge(hub, x, w.knows, vec![]).unwrap();
    b.create_edge(hub, y, w.knows, vec![]).unwrap();
    assert!(a.commit().is_ok() && b.commit().is_ok());
    let view = w.engine.snapshot().adjacency(&[w.knows], Direction::Out);
    assert_eq!(view.degree(hub.dense()).unwrap(), 2);
}

#[test]
fn an_edge_to_a_vertex_deleted_meanwhile_is_refused() {
    let w = world();
    let (x, y) = (w.vertex(0), w.vertex(1));
    let (a, b) = (w.engine.begin(Mode::Write), w.engine.begin(Mode::Write));
    a.create_edge(x, y, w.knows, vec![]).unwrap();
    assert_eq!(b.delete_vertex(y, true).unwrap(), (true, 0));
    assert!(a.commit().is_ok());
    assert!(is_conflict(b.commit()), "detaching what it did not see would leave a dangling edge");
}

#[test]
fn blind_writes_to_one_vertex_both_commit() {
    let w = world();
    let account = w.vertex(0);
    let (a, b) = (w.engine.begin(Mode::Write), w.engine.begin(Mode::Write));
    a.set_property(account, w.key, 1.into()).unwrap();
    b.set_property(account, w.key, 2.into()).unwrap();
    // Neither read what the other wrote, so both orders are serial orders: allowed, and the later commit version wins.
    assert!(a.commit().is_ok() && b.commit().is_ok());
    assert_eq!(w.now(account), 2);
}

#[test]
fn rolled_back_writes_leave_nothing() {
    let w = world();
    let before = w.engine.snapshot().statistics().vertices();
    let t = w.engine.begin(Mode::Write);
    let vertex = t.create_vertex(&[w.label], vec![]).unwrap();
    t.rollback();
    assert_eq!(w.engine.snapshot().statistics().vertices(), before);
    assert!(!w.engine.snapshot().exists(vertex).unwrap());
}

#[test]
fn deleting_needs_detach_and_happens_once() {
    let w = world();
    let (x, y) = (w.vertex(0), w.vertex(1));
    let t = w.engine.begin(Mode::Write);
    let edge = t.create_edge(x, y, w.knows, vec![]).unwrap();
    assert!(matches!(t.delete_vertex(x, false), Err(TransactError::StillConnected { .. })));
    assert!(t.delete_edge(edge).unwrap());
    assert!(!t.delete_edge(edge).unwrap());
    assert_eq!(t.delete_vertex(x, false).unwrap(), (true, 0));
    assert_eq!(t.delete_vertex(x, false).unwrap(), (false, 0));
    assert!(matches!(t.set_property(x, w.key, Value::Int(1)), Err(TransactError::NotFound { .. })));
    t.commit().unwrap();
    assert!(!w.engine.snapshot().exists(x).unwrap());
}
