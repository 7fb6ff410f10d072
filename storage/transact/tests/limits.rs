//! Structures of the store below, at and above each limit that they are cut, packed or refused at, with a model beside them: closed, killed,
//! without power, opened, checked, backed up, restored, and in the past.
//!
//! Sizes are drawn around [`LIMITS`]; each step changes many entities in one commit, and after each the whole graph, its index and a moment of
//! the past are compared with the model. The long form: `TANGLEWOOD_LIMIT_SEEDS=200 cargo test -p tanglewood-transact --test suite limits`.
#![allow(clippy::disallowed_methods)]

use durable::{LocalFolder, LogOptions, OpenMode};
use model::id::EDGE_TYPE_COUNT_MAX;
use model::schema::SchemaTarget;
use model::{CHUNK_SLOTS, Direction, EdgeId, EdgeRef, KeyId, LabelId, Value, VertexId};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Change, EdgeScratch, LabelFilter, Snapshot};
use store::{LABEL_COUNT_MAX, NAME_BYTES_MAX};
use tanglewood_transact::{
    Engine, History, IndexRequest, Mode, Moment, NAMES_BYTES_ENOUGH, OpenOptions, PAST_SNAPSHOTS_MAX,
    RECENT_GROUPS_MAX, TransactError, Transaction, backup, check, open_backing, restore,
};
use world::chance::Chance;
use world::disk::{Disk, SimDisk};

/// Few entries in a set (64), a delta that a manifest carries (64), a word of bits (64), one value in eight slots (512 of a chunk), a dictionary of
/// a quarter of its texts (1,024 of a chunk), a chunk and a new index leaf (4,096), the longest leaf (8,192), and with its delta (8,704).
const LIMITS: [usize; 8] = [16, 64, 512, 1_024, CHUNK_SLOTS, 2 * CHUNK_SLOTS, 8_704, 3 * CHUNK_SLOTS];
/// Of those so many come often.
const SMALL: usize = 4;
/// Nodes, and edges, at most.
const ENTITIES_MAX: usize = 14_000;
/// Moments of the past that may be asked for: more than those whose snapshots are kept.
const MOMENTS: usize = PAST_SNAPSHOTS_MAX + RECENT_GROUPS_MAX + 4;

#[derive(Clone, PartialEq, Debug)]
struct Node {
    labels: Vec<String>,
    values: Vec<(String, String)>,
}

/// All that can be read: nodes by number; edges by source, target and number.
#[derive(Clone, PartialEq, Debug, Default)]
struct Contents {
    nodes: BTreeMap<VertexId, Node>,
    edges: BTreeMap<EdgeId, (EdgeRef, String)>,
}

fn open(disk: &Arc<SimDisk>, folder: &str) -> Engine {
    let disk: Arc<dyn Disk> = disk.clone();
    // Small files of the log, and anchors of the past after little of it.
    let options = LogOptions { segment_bytes_max: 1 << 16 };
    let folder = LocalFolder::open(disk, Path::new(folder), OpenMode::CreateIfMissing, options).unwrap();
    let options = OpenOptions { anchor_log_bytes: 1 << 17, ..OpenOptions::default() };
    open_backing(Arc::new(folder), &options).unwrap().0
}

fn shown(value: &Value) -> String {
    format!("{value:?}")
}

fn read(snapshot: &Snapshot) -> Contents {
    let catalog = snapshot.catalog();
    let (mut vertices, mut contents) = (Vec::new(), Contents::default());
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices).unwrap();
    }
    let view = snapshot.adjacency(&[], Direction::Out);
    let mut scratch = EdgeScratch::default();
    for vertex in vertices {
        let labels = catalog.labels_of(snapshot.labels(vertex).unwrap()).iter();
        let name = |key: &KeyId| catalog.names().key_name(*key).unwrap().to_string();
        let values = snapshot.properties(vertex).unwrap();
        let mut values: Vec<_> = values.iter().map(|(key, value)| (name(key), shown(value))).collect();
        values.sort();
        let mut labels: Vec<String> =
            labels.map(|label| catalog.names().label_name(*label).unwrap().to_string()).collect();
        labels.sort();
        contents.nodes.insert(vertex, Node { labels, values });
        let (ends, ids) = view.edges(vertex.dense(), &mut scratch).unwrap();
        for (end, id) in ends.iter().zip(ids) {
            let edge = EdgeRef { id: EdgeId(*id), source: vertex, target: VertexId::from_dense(*end) };
            let values = snapshot.edge_properties(edge.id).unwrap();
            contents.edges.insert(edge.id, (edge, format!("{:?}", values.first().map(|one| shown(&one.1)))));
        }
    }
    contents
}

struct Run {
    chance: Chance,
    disk: Arc<SimDisk>,
    engine: Option<Engine>,
    model: Contents,
    past: Vec<(u64, Contents)>,
    names: usize,
    trace: Vec<String>,
}

impl Run {
    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }
    /// Below, at or above a limit; at most `max`.
    fn near(&mut self, max: usize) -> usize {
        let among = if self.chance.happens(0.6) { SMALL } else { LIMITS.len() };
        let limit = LIMITS[self.chance.below(among as u64) as usize];
        (limit - 1 + self.chance.below(3) as usize).min(max)
    }
    /// Nodes with neighbouring numbers.
    fn some(&mut self) -> Vec<VertexId> {
        let count = self.near(self.model.nodes.len());
        let first = self.chance.below((self.model.nodes.len() - count) as u64 + 1) as usize;
        self.model.nodes.keys().skip(first).take(count).copied().collect()
    }
    /// Values of one batch: of one type or of all, few or many that differ, for all or for few of so many entities.
    fn values(&mut self, count: usize) -> Vec<Option<Value>> {
        let (kind, spread) = (self.chance.below(8), self.near(count.max(1)).max(1));
        let sparse = 1 + [0, 0, 1, 7, 8, 63][self.chance.below(6) as usize];
        let value = |at: usize| match kind {
            0 => Value::Bool(at.is_multiple_of(2)),
            1 => Value::Float(at as f64 / 8.0),
            2 => Value::Int(if at.is_multiple_of(2) { i64::MIN } else { i64::MAX }),
            3 => Value::string("x".repeat(at % 300)),
            4 if at.is_multiple_of(5) => Value::list(vec![at.to_string().as_str().into(), Value::Null]),
            4 | 5 => Value::Int(at as i64 - 7),
            _ => Value::string(format!("text {}", at % spread)),
        };
        (0..count).map(|at| (at % sparse == 0).then(|| value(at))).collect()
    }
    fn write(&mut self, what: &str, work: impl FnOnce(&Transaction, &mut Run)) {
        self.trace.push(format!(
            "{what} at {} nodes, {} edges",
            self.model.nodes.len(),
            self.model.edges.len()
        ));
        let t = self.engine().begin(Mode::Write);
        work(&t, self);
        let commit_version = t.commit().unwrap();
        drop(t);
        if self.past.len() == MOMENTS {
            let at = self.chance.below(MOMENTS as u64) as usize;
            self.past.remove(at);
        }
        self.past.push((commit_version, self.model.clone()));
    }

    fn grow(&mut self) {
        let count = self.near(ENTITIES_MAX - self.model.nodes.len());
        let (labels, values) = (self.chance.below(4) as usize, self.values(count));
        self.write(&format!("grow {count}"), |t, run| {
            let names: Vec<String> = (0..labels).map(|at| format!("L{at}")).collect();
            let labels: Vec<LabelId> = names.iter().map(|name| t.label(name).unwrap()).collect();
            let key = t.key("c").unwrap();
            for value in values {
                let shown = value.iter().map(|value| ("c".to_string(), shown(value))).collect();
                let id =
                    t.create_vertex(&labels, value.into_iter().map(|value| (key, value)).collect()).unwrap();
                run.model.nodes.insert(id, Node { labels: names.clone(), values: shown });
            }
        });
    }
    fn alter(&mut self) {
        let some = self.some();
        let values = self.values(some.len());
        self.write(&format!("alter {}", some.len()), |t, run| {
            let key = t.key("c").unwrap();
            for (id, value) in some.into_iter().zip(values) {
                let held = &mut run.model.nodes.get_mut(&id).unwrap().values;
                held.retain(|(name, _)| name != "c");
                held.extend(value.iter().map(|value| ("c".to_string(), shown(value))));
                held.sort();
                t.set_property(id, key, value.unwrap_or(Value::Null)).unwrap();
            }
        });
    }
    /// Sets of labels: many labels on few, or one on many.
    fn relabel(&mut self) {
        let many = self.chance.happens(0.3);
        let mut some = self.some();
        some.truncate(if many { 3 } else { usize::MAX });
        let labels = if many { self.near(600) } else { 1 };
        let from = self.chance.below(5) as usize;
        self.write(&format!("{labels} labels on {}", some.len()), |t, run| {
            let names: Vec<String> = (from..from + labels).map(|at| format!("L{at}")).collect();
            let add: Vec<LabelId> = names.iter().map(|name| t.label(name).unwrap()).collect();
            for id in some {
                t.change_labels(id, &add, &[]).unwrap();
                let held = &mut run.model.nodes.get_mut(&id).unwrap().labels;
                held.extend(names.iter().cloned());
                held.sort();
                held.dedup();
            }
        });
    }
    /// From or to one hub, or between any two.
    fn connect(&mut self) {
        let all: Vec<VertexId> = self.model.nodes.keys().copied().collect();
        let count = self.near(ENTITIES_MAX - self.model.edges.len());
        if all.is_empty() {
            return;
        }
        let (shape, values) = (self.chance.below(3), self.values(count));
        let hub = all[self.chance.below(all.len() as u64) as usize];
        self.write(&format!("connect {count}, shape {shape}"), |t, run| {
            let (edge_type, key) = (t.edge_type("R").unwrap(), t.key("x").unwrap());
            for value in values {
                let any = |chance: &mut Chance| all[chance.below(all.len() as u64) as usize];
                let source = if shape == 0 { hub } else { any(&mut run.chance) };
                let target = if shape == 1 { hub } else { any(&mut run.chance) };
                let text = format!("{:?}", value.as_ref().map(shown));
                let properties = value.into_iter().map(|value| (key, value)).collect();
                let edge = t.create_edge(source, target, edge_type, properties).unwrap();
                run.model.edges.insert(edge.id, (edge, text));
            }
        });
    }
    fn cut(&mut self) {
        let count = self.near(self.model.edges.len());
        let first = self.chance.below((self.model.edges.len() - count) as u64 + 1) as usize;
        let gone: Vec<EdgeRef> =
            self.model.edges.values().skip(first).take(count).map(|(edge, _)| *edge).collect();
        self.write(&format!("cut {count}"), |t, run| {
            for edge in gone {
                t.delete_edge(edge).unwrap();
                run.model.edges.remove(&edge.id);
            }
        });
    }
    fn shrink(&mut self) {
        let gone = self.some();
        self.write(&format!("shrink by {}", gone.len()), |t, run| {
            for id in gone {
                t.delete_vertex(id, true).unwrap();
                run.model.nodes.remove(&id);
            }
            let Contents { nodes, edges } = &mut run.model;
            edges.retain(|_, (edge, _)| nodes.contains_key(&edge.source) && nodes.contains_key(&edge.target));
        });
    }
    /// Names of a transaction that is rolled back, beside the longest there may be.
    fn abort(&mut self) {
        let count = self.near(300);
        self.trace.push(format!("{count} names of nothing"));
        let t = self.engine().begin(Mode::Write);
        let name = |at: usize| format!("gone{}", self.names + at);
        let labels: Vec<LabelId> = (0..count).map(|at| t.label(&name(at)).unwrap()).collect();
        let keys = (0..count).map(|at| (t.key(&name(at)).unwrap(), Value::Int(1))).collect();
        t.create_vertex(&labels, keys).unwrap();
        t.edge_type(&name(0)).unwrap();
        t.rollback();
        drop(t);
        self.names += count;
    }

    fn event(&mut self) {
        let event = self.chance.below(10);
        self.trace.extend(
            ["checkpoint", "close", "kill", "kill", "power", "backup"]
                .get(event as usize)
                .map(|s| s.to_string()),
        );
        match event {
            0 => {
                self.engine().checkpoint().unwrap();
                return;
            }
            1 => {
                self.engine().close().unwrap();
                self.engine = None;
                self.disk = Arc::new(self.disk.kill());
            }
            2 | 3 => {
                let left = self.disk.kill();
                (self.engine, self.disk) = (None, Arc::new(left));
            }
            4 => {
                let left = self.disk.crash(self.chance.next_u64());
                (self.engine, self.disk) = (None, Arc::new(left));
            }
            5 => return self.restored(),
            _ => return,
        }
        self.sound("/db");
        self.engine = Some(open(&self.disk, "/db"));
    }
    fn sound(&self, folder: &str) {
        let disk: Arc<dyn Disk> = self.disk.clone();
        assert_eq!(check(&disk, Path::new(folder)).unwrap().problems, [], "{folder}: {:#?}", self.trace);
    }
    fn restored(&mut self) {
        let disk: Arc<dyn Disk> = self.disk.clone();
        let at = self.trace.len();
        let (copy, again) = (format!("/backup{at}"), format!("/again{at}"));
        backup(&disk, Path::new("/db"), Path::new(&copy)).unwrap();
        restore(&disk, Path::new(&copy), Path::new(&again)).unwrap();
        self.sound(&again);
        assert_eq!(read(&open(&self.disk, &again).snapshot()), self.model, "restored: {:#?}", self.trace);
    }

    fn compare(&mut self) {
        let snapshot = self.engine().snapshot();
        assert!(read(&snapshot) == self.model, "{:#?}", self.trace);
        let catalog = snapshot.catalog();
        if let (Some(label), Some(key)) = (catalog.label("L0"), catalog.key("c"))
            && let Some(index) = snapshot.index_for(SchemaTarget::Vertices(label), &[key])
        {
            let all = snapshot.seek_range(index, Bound::Unbounded, Bound::Unbounded).unwrap();
            let mut found: Vec<VertexId> = all.map(|id| id.unwrap()).collect();
            found.sort_unstable();
            let is_in =
                |node: &Node| node.labels.iter().any(|l| l == "L0") && node.values.iter().any(|v| v.0 == "c");
            let wanted: Vec<VertexId> =
                self.model.nodes.iter().filter(|(_, node)| is_in(node)).map(|(id, _)| *id).collect();
            assert!(
                found == wanted,
                "{} in the index, {} wanted: {:#?}",
                found.len(),
                wanted.len(),
                self.trace
            );
        }
        if let Some(at) = self.past.len().checked_sub(1) {
            let (commit_version, then) = &self.past[self.chance.below(at as u64 + 1) as usize];
            let found = self.engine().snapshot_at(Moment::CommitVersion(*commit_version)).unwrap();
            assert!(read(&found) == *then, "at version {commit_version}: {:#?}", self.trace);
        }
    }
}

fn run(seed: u64, steps: usize) {
    println!("seed {seed}");
    let disk = Arc::new(SimDisk::new());
    let engine = open(&disk, "/db");
    engine.set_history(History::Forever).unwrap();
    let names = engine.store().names();
    let request = IndexRequest {
        name: Some("by_c".into()),
        target: SchemaTarget::Vertices(names.intern_label("L0").unwrap()),
        keys: vec![names.intern_key("c").unwrap()],
        if_not_exists: false,
    };
    engine.create_index(&request).unwrap();
    let mut run = Run {
        chance: Chance::seeded(seed),
        disk,
        engine: Some(engine),
        model: Contents::default(),
        past: Vec::new(),
        names: 0,
        trace: vec![format!("seed {seed}")],
    };
    for _ in 0..steps {
        match run.chance.below(12) {
            0..4 => run.grow(),
            4 | 5 => run.alter(),
            6 => run.relabel(),
            7 | 8 => run.connect(),
            9 => run.cut(),
            10 => run.shrink(),
            _ => run.abort(),
        }
        run.event();
        run.compare();
    }
    run.engine().close().unwrap();
    run.engine = None;
    run.sound("/db");
    run.engine = Some(open(&run.disk, "/db"));
    run.compare();
}

#[test]
fn what_is_written_is_read_at_every_size() {
    let seeds = std::env::var("TANGLEWOOD_LIMIT_SEEDS").map_or(4, |text| text.parse().unwrap());
    (0..seeds).for_each(|seed| run(seed, 12));
}

/// Through a close, a check and a backup.
fn opened_again(disk: &Arc<SimDisk>, engine: Engine) -> Engine {
    engine.close().unwrap();
    drop(engine);
    let as_disk: Arc<dyn Disk> = disk.clone();
    assert_eq!(check(&as_disk, Path::new("/db")).unwrap().problems, []);
    backup(&as_disk, Path::new("/db"), Path::new("/backup")).unwrap();
    restore(&as_disk, Path::new("/backup"), Path::new("/again")).unwrap();
    open(disk, "/again")
}

#[test]
fn names_have_at_most_so_many_bytes() {
    let disk = Arc::new(SimDisk::new());
    let engine = open(&disk, "/db");
    let t = engine.begin(Mode::Write);
    let mut names = Vec::new();
    for length in [1, 127, 128, 16_383, 16_384, NAME_BYTES_MAX - 1, NAME_BYTES_MAX] {
        let name = "n".repeat(length);
        let id = t
            .create_vertex(&[t.label(&name).unwrap()], vec![(t.key(&name).unwrap(), Value::Int(1))])
            .unwrap();
        t.create_edge(id, id, t.edge_type(&name).unwrap(), vec![]).unwrap();
        names.push(name);
    }
    for length in [NAME_BYTES_MAX + 1, 1 << 20] {
        let name = "n".repeat(length);
        for error in [t.label(&name).unwrap_err(), t.key(&name).unwrap_err(), t.edge_type(&name).unwrap_err()]
        {
            assert_eq!(error.code(), "Neo.ClientError.Statement.ArgumentError");
            assert!(matches!(&error, TransactError::Store(error) if error.code() == "store.name_too_long"));
            assert!(error.to_string().len() < 300, "it does not repeat the name");
            assert!(error.hint().unwrap().contains("65,535"));
        }
    }
    for refused in ["", "\0", "a\0b"] {
        for error in
            [t.label(refused).unwrap_err(), t.key(refused).unwrap_err(), t.edge_type(refused).unwrap_err()]
        {
            assert_eq!(error.code(), "Neo.ClientError.Schema.TokenNameError", "{refused:?}");
            assert!(matches!(&error, TransactError::Store(error) if error.code() == "store.name_refused"));
            assert!(error.hint().unwrap().contains("at least one character"), "{refused:?}");
        }
    }
    t.commit().unwrap();
    drop(t);
    let engine = opened_again(&disk, engine);
    let (snapshot, contents) = (engine.snapshot(), read(&engine.snapshot()));
    assert_eq!(contents.edges.len(), names.len());
    for name in &names {
        assert!(
            contents.nodes.values().any(|node| node.labels == [name.clone()] && node.values[0].0 == *name)
        );
        assert!(snapshot.catalog().edge_type(name).is_some());
    }
}

/// So many labels and types there may be, and a vertex may have all the labels.
#[test]
fn there_are_at_most_so_many_labels_and_types() {
    let disk = Arc::new(SimDisk::new());
    let engine = open(&disk, "/db");
    let t = engine.begin(Mode::Write);
    let labels: Vec<LabelId> = (0..LABEL_COUNT_MAX).map(|at| t.label(&format!("l{at}")).unwrap()).collect();
    let all = t.create_vertex(&labels, vec![]).unwrap();
    let last = t.create_vertex(&labels[LABEL_COUNT_MAX - 1..], vec![]).unwrap();
    let mut types = (0..EDGE_TYPE_COUNT_MAX).map(|at| t.edge_type(&format!("t{at}")).unwrap());
    let (first, highest) = (types.next().unwrap(), types.last().unwrap());
    t.create_edge(all, last, first, vec![]).unwrap();
    t.create_edge(last, all, highest, vec![]).unwrap();
    let full = |error: TransactError| error.to_string();
    assert!(full(t.label("one more").unwrap_err()).contains("labels"));
    assert!(full(t.edge_type("one more").unwrap_err()).contains("relationship types"));
    assert_eq!(t.label("l7").unwrap(), labels[7], "those that are there are found");
    t.commit().unwrap();
    drop(t);
    let engine = opened_again(&disk, engine);
    let contents = read(&engine.snapshot());
    assert_eq!((contents.nodes[&all].labels.len(), contents.nodes[&last].labels.len()), (LABEL_COUNT_MAX, 1));
    assert_eq!(contents.edges.len(), 2);
    assert!(engine.store().names().intern_label("one more").is_err());
}

/// A transaction that was rolled back may leave any number of names behind: later records have room for them.
#[test]
fn names_that_nobody_committed_are_carried_in_parts() {
    let disk = Arc::new(SimDisk::new());
    let engine = open(&disk, "/db");
    let t = engine.begin(Mode::Write);
    let many = 2 * NAMES_BYTES_ENOUGH / NAME_BYTES_MAX + 9;
    let name = |at: usize| format!("{at:0>NAME_BYTES_MAX$}");
    for at in 0..many {
        t.key(&name(at)).unwrap();
    }
    t.rollback();
    drop(t);
    let (_, feed) = engine.subscribe();
    let t = engine.begin(Mode::Write);
    // It looks for its own label before it makes it.
    assert!(t.snapshot().catalog().label("Own").is_none());
    t.create_vertex(&[t.label("Own").unwrap()], vec![(t.key(&name(many - 1)).unwrap(), Value::Int(1))])
        .unwrap();
    t.commit().unwrap();
    drop(t);
    let mut sizes = Vec::new();
    while let Ok(Some(record)) = feed.next(Duration::ZERO) {
        let bytes = |change: &Change| match change {
            Change::DefineName(store::NameDefinition::Key(_, name)) => name.len(),
            _ => 0,
        };
        sizes.push(record.changes.iter().map(bytes).sum::<usize>());
    }
    assert!(sizes.len() == 3 && sizes.iter().all(|bytes| *bytes <= NAMES_BYTES_ENOUGH), "{sizes:?}");
    // What follows carries them no more.
    let t = engine.begin(Mode::Write);
    t.create_vertex(&[], vec![]).unwrap();
    t.commit().unwrap();
    drop(t);
    let next = feed.next(Duration::ZERO).unwrap().unwrap();
    assert_eq!(next.changes.len(), 1);
    drop((feed, engine));
    let engine = open(&Arc::new(disk.kill()), "/db");
    assert_eq!(engine.snapshot().catalog().names().keys().len(), many);
    assert_eq!(read(&engine.snapshot()).nodes.len(), 2);
}
