//! A newer version opens what an older one wrote: a database of each format of checkpoints that a version wrote, kept as it was written.
//!
//! `checkpoint-2` was written by the last version that wrote checkpoints of format 2, `checkpoint-3` by the first that had this test: twenty people, a value of
//! every type on a node and on a relationship, a constraint, two indexes, a checkpoint, and a commit behind it. When a format changes, the version
//! before writes its files with `TANGLEWOOD_FIXTURE=folder cargo test -p tanglewood-transact --test suite fixture`.

use model::schema::SchemaTarget;
use model::temporal::Kind;
use model::temporal::build::{duration_from_text, from_text};
use model::value::Point;
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId, temporal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{EdgeScratch, LabelFilter, Snapshot};
use tanglewood_transact::{ConstraintRequest, Engine, IndexRequest, Mode, OpenOptions, Rule, open};
use world::disk::{Disk, RealDisk};
use world::files::TemporaryFolder;

const FORMATS: [&str; 2] = ["checkpoint-2", "checkpoint-3"];

fn opened(folder: &Path) -> Engine {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    open(Some((disk, folder)), &OpenOptions::default()).unwrap().0
}

fn values() -> Vec<(&'static str, Value)> {
    let instant = |kind, text: &str| from_text(kind, text).unwrap();
    vec![
        ("bool", Value::Bool(true)),
        ("int", Value::Int(-7)),
        ("big", Value::Int(i64::MAX)),
        ("float", Value::Float(-0.5)),
        ("text", "köln ∑".into()),
        ("long", "abc".repeat(2_000).as_str().into()),
        ("bytes", Value::Bytes(Arc::from(vec![0u8, 255, 7]))),
        ("date", instant(Kind::Date, "1815-12-10")),
        ("localtime", instant(Kind::LocalTime, "12:34:56.789")),
        ("time", instant(Kind::Time, "12:34:56+02:00")),
        ("localdatetime", instant(Kind::LocalDateTime, "2024-02-29T12:34:56.000000001")),
        ("datetime", instant(Kind::DateTime, "2024-02-29T12:34:56[Europe/Berlin]")),
        ("duration", Value::from(duration_from_text("P1Y2M3DT4H5M6.7S").unwrap())),
        ("point", Value::Point(Arc::new(Point { srid: 4979, x: 1.5, y: -2.5, z: Some(3.25) }))),
        ("ints", Value::list(vec![1.into(), 2.into()])),
        ("texts", Value::list(vec!["a".into(), "".into()])),
        ("none", Value::list(Vec::new())),
    ]
}

/// The names that the database has, by number.
struct Names {
    person: LabelId,
    admin: LabelId,
    thing: LabelId,
    knows: EdgeTypeId,
    owns: EdgeTypeId,
}

impl Names {
    fn of(engine: &Engine) -> Names {
        let names = engine.store().names();
        let label = |name: &str| names.intern_label(name).unwrap();
        let edge_type = |name: &str| names.intern_edge_type(name).unwrap();
        let (person, admin, thing) = (label("Person"), label("Admin"), label("Thing"));
        Names { person, admin, thing, knows: edge_type("KNOWS"), owns: edge_type("OWNS") }
    }
}

fn key(engine: &Engine, name: &str) -> KeyId {
    engine.store().names().intern_key(name).unwrap()
}

fn all_values(engine: &Engine) -> Vec<(KeyId, Value)> {
    values().into_iter().map(|(name, value)| (key(engine, name), value)).collect()
}

fn people(engine: &Engine, names: &Names) -> (Vec<VertexId>, EdgeRef) {
    let key = |name: &str| key(engine, name);
    let t = engine.begin(Mode::Write);
    let person = |at: i64| {
        let mut labels = if at % 5 == 0 { vec![names.person, names.admin] } else { vec![names.person] };
        labels.sort_unstable();
        let properties = vec![(key("id"), at.into()), (key("name"), format!("p{at}").as_str().into())];
        t.create_vertex(&labels, properties).unwrap()
    };
    let people: Vec<VertexId> = (0..20).map(person).collect();
    for at in 0..19 {
        let since = vec![(key("since"), (1_800 + at as i64).into())];
        t.create_edge(people[at], people[at + 1], names.knows, since).unwrap();
    }
    t.create_edge(people[0], people[0], names.knows, vec![]).unwrap();
    let weight = vec![(key("w"), Value::Float(2.5))];
    let twin = t.create_edge(people[1], people[2], names.knows, weight).unwrap();
    t.commit().unwrap();
    (people, twin)
}

/// Writes the database that is kept of each format.
fn write(folder: &Path) {
    let engine = opened(folder);
    let names = Names::of(&engine);
    let key = |name: &str| key(&engine, name);
    let (people, twin) = people(&engine, &names);
    let request = ConstraintRequest {
        name: Some("people".into()),
        target: SchemaTarget::Vertices(names.person),
        keys: vec![key("id")],
        rule: Rule::Unique,
        if_not_exists: false,
    };
    engine.create_constraint(&request).unwrap();
    for (name, target, keys) in [
        ("things", SchemaTarget::Vertices(names.thing), vec![key("int"), key("text")]),
        ("since", SchemaTarget::Edges(names.knows), vec![key("since")]),
    ] {
        engine
            .create_index(&IndexRequest { name: Some(name.into()), target, keys, if_not_exists: false })
            .unwrap();
    }
    let t = engine.begin(Mode::Write);
    let thing = t.create_vertex(&[names.thing], all_values(&engine)).unwrap();
    t.create_edge(people[3], thing, names.owns, all_values(&engine)).unwrap();
    t.commit().unwrap();
    engine.checkpoint().unwrap();
    // Behind the checkpoint, in the log alone.
    let t = engine.begin(Mode::Write);
    t.set_property(people[4], key("name"), "changed".into()).unwrap();
    t.set_property(people[5], key("name"), Value::Null).unwrap();
    t.delete_vertex(people[19], true).unwrap();
    t.delete_edge(twin).unwrap();
    let later = t.create_vertex(&[], vec![(key("later"), true.into())]).unwrap();
    t.create_edge(later, people[0], names.owns, vec![]).unwrap();
    t.commit().unwrap();
}

fn show(value: &Value) -> String {
    temporal::text(value).unwrap_or_else(|| format!("{value:?}"))
}

fn shown(snapshot: &Snapshot, held: Vec<(KeyId, Value)>) -> String {
    let name = |key| snapshot.catalog().key_name(key).unwrap().to_string();
    let mut all: Vec<String> =
        held.iter().map(|(key, value)| format!("{}: {}", name(*key), show(value))).collect();
    all.sort();
    format!("{{{}}}", all.join(", "))
}

/// Everything that a graph holds, as sorted lines.
fn content(engine: &Engine) -> Vec<String> {
    let snapshot = engine.snapshot();
    let catalog = snapshot.catalog();
    let mut lines: Vec<String> = Vec::new();
    let (mut vertices, mut scratch) = (Vec::new(), EdgeScratch::default());
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices).unwrap();
    }
    let of = |vertex: VertexId| shown(&snapshot, snapshot.properties(vertex).unwrap());
    let view = snapshot.adjacency(&[], Direction::Out);
    for vertex in &vertices {
        let labels = catalog.labels_of(snapshot.labels(*vertex).unwrap());
        let mut labels: Vec<String> =
            labels.iter().map(|label| catalog.label_name(*label).unwrap().to_string()).collect();
        labels.sort();
        lines.push(format!(":{} {}", labels.join(":"), of(*vertex)));
        let (targets, edges) = view.edges(vertex.dense(), &mut scratch).unwrap();
        for (target, edge) in targets.iter().zip(edges) {
            let edge = EdgeId(*edge);
            let (name, held) =
                (catalog.edge_type_name(edge.edge_type()).unwrap(), snapshot.edge_properties(edge).unwrap());
            let to = of(VertexId::from_dense(*target));
            lines.push(format!("{} -[:{name} {}]-> {to}", of(*vertex), shown(&snapshot, held)));
        }
    }
    lines.extend(
        catalog.indexes().iter().map(|index| format!("index {} unique {}", index.name, index.unique)),
    );
    lines.sort();
    lines
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(name)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// The version of this program writes its own files, to be kept before a format changes.
#[test]
fn fixture_of_this_version() {
    let place = TemporaryFolder::new("fixture").unwrap();
    let folder =
        std::env::var_os("TANGLEWOOD_FIXTURE").map_or_else(|| place.path().join("db"), PathBuf::from);
    write(&folder);
    let held = content(&opened(&folder));
    assert_eq!(held.iter().filter(|line| line.starts_with(':')).count(), 21);
    assert_eq!(held.iter().filter(|line| line.contains("]-> ")).count(), 21);
}

#[test]
fn files_of_every_format_open_with_what_they_held() {
    let fresh = TemporaryFolder::new("formats").unwrap();
    write(fresh.path());
    let expected = content(&opened(fresh.path()));
    for name in FORMATS {
        let place = TemporaryFolder::new("formats").unwrap();
        let folder = place.path().join("db");
        copy(&kept(name), &folder);
        let engine = opened(&folder);
        assert_eq!(content(&engine), expected, "{name}");
        // Indexes are used, not only listed.
        let id = engine.snapshot().catalog().index_named("people").unwrap().id;
        assert_eq!(engine.snapshot().seek(id, &[7.into()]).unwrap().len(), 1, "{name}");
        // It goes on in the format of today.
        let t = engine.begin(Mode::Write);
        t.create_vertex(&[Names::of(&engine).person], vec![(key(&engine, "id"), 7.into())]).unwrap();
        assert!(t.commit().is_err(), "{name}: the constraint holds");
        drop(t);
        let t = engine.begin(Mode::Write);
        t.create_vertex(&[Names::of(&engine).person], vec![(key(&engine, "id"), 77.into())]).unwrap();
        t.commit().unwrap();
        engine.checkpoint().unwrap();
        let grown = content(&engine);
        assert_eq!(grown.len(), expected.len() + 1, "{name}");
        drop((t, engine));
        assert_eq!(content(&opened(&folder)), grown, "{name}");
    }
}
