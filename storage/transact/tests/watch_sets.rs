//! Watch sets hold from the snapshot that was read up to the first commit that changed what was read, and no longer.

use model::{Direction, EdgeRef, EdgeTypeId, LabelId, Value, VertexId};
use tanglewood_transact::{
    Engine, Holding, Mode, OpenOptions, ReadSet, WATCH_KEYS_MAX, WATCHED_KEYS_MAX, WatchSet, open,
};
use world::chance::Chance;

const VERTICES: u64 = 12;

fn filled() -> (Engine, Vec<VertexId>, LabelId, [EdgeTypeId; 2]) {
    let (engine, _) = open(None, &OpenOptions::default()).unwrap();
    let t = engine.begin(Mode::Write);
    let label = t.label("L").unwrap();
    t.key("k").unwrap();
    let types = [t.edge_type("R").unwrap(), t.edge_type("S").unwrap()];
    let vertices = (0..VERTICES).map(|_| t.create_vertex(&[], vec![]).unwrap()).collect();
    t.commit().unwrap();
    (engine, vertices, label, types)
}

/// One thing that is read or written; a written edge is both of its lists.
#[derive(Clone, Copy, Debug)]
enum Thing {
    Properties(usize),
    List(usize, Option<usize>, Direction),
    Label,
    Everyone,
}

/// The obvious twin of the keys: would this write be seen by that read?
fn is_seen(write: Thing, read: Thing) -> bool {
    match (write, read) {
        (Thing::Properties(a), Thing::Properties(b)) => a == b,
        (Thing::List(a, kind, from), Thing::List(b, wanted, direction)) => {
            let of_type = wanted.is_none() || wanted == kind;
            a == b && of_type && (direction == Direction::Both || direction == from)
        }
        (Thing::Label, Thing::Label) | (Thing::Everyone, Thing::Everyone) => true,
        _ => false,
    }
}

fn random_read(chance: &mut Chance) -> Thing {
    let vertex = chance.index(VERTICES as usize);
    let direction = [Direction::Out, Direction::In, Direction::Both][chance.index(3)];
    match chance.below(8) {
        0 => Thing::Label,
        1 => Thing::Everyone,
        2..4 => Thing::Properties(vertex),
        _ => Thing::List(vertex, [None, Some(0), Some(1)][chance.index(3)], direction),
    }
}

/// Commits something: what it was.
fn random_commit(
    engine: &Engine,
    (vertices, label, types): (&[VertexId], LabelId, [EdgeTypeId; 2]),
    edges: &mut Vec<(usize, usize, usize, EdgeRef)>,
    chance: &mut Chance,
) -> Vec<Thing> {
    let t = engine.begin(Mode::Write);
    let (a, b) = (chance.index(VERTICES as usize), chance.index(VERTICES as usize));
    let of_edge = |a, b, kind| {
        vec![Thing::List(a, Some(kind), Direction::Out), Thing::List(b, Some(kind), Direction::In)]
    };
    let written = match chance.below(6) {
        0 => {
            let key = t.key("k").unwrap();
            t.set_property(vertices[a], key, Value::Int(chance.below(1 << 40) as i64)).unwrap();
            vec![Thing::Properties(a)]
        }
        1 => {
            let has =
                t.snapshot().catalog().labels_of(t.snapshot().labels(vertices[a]).unwrap()).contains(&label);
            match has {
                true => t.change_labels(vertices[a], &[], &[label]).unwrap(),
                false => t.change_labels(vertices[a], &[label], &[]).unwrap(),
            };
            vec![Thing::Properties(a), Thing::Label]
        }
        2 => {
            t.create_vertex(&[], vec![]).unwrap();
            vec![Thing::Everyone]
        }
        3 if !edges.is_empty() => {
            let (a, b, kind, edge) = edges.swap_remove(chance.index(edges.len()));
            t.delete_edge(edge).unwrap();
            of_edge(a, b, kind)
        }
        _ => {
            let kind = chance.index(2);
            let edge = t.create_edge(vertices[a], vertices[b], types[kind], vec![]).unwrap();
            edges.push((a, b, kind, edge));
            of_edge(a, b, kind)
        }
    };
    t.commit().unwrap();
    written
}

fn recorded(read: Thing, vertices: &[VertexId], label: LabelId, types: [EdgeTypeId; 2], reads: &ReadSet) {
    match read {
        Thing::Properties(vertex) => reads.vertex(vertices[vertex]),
        Thing::List(vertex, kind, direction) => {
            let kinds: Vec<EdgeTypeId> = kind.iter().map(|kind| types[*kind]).collect();
            reads.adjacency(vertices[vertex], &kinds, direction);
        }
        Thing::Label => reads.scan(Some(label)),
        Thing::Everyone => reads.scan(None),
    }
}

#[test]
fn a_set_holds_until_the_first_commit_that_changes_what_was_read() {
    let (mut held, mut over, mut late) = (0, 0, 0);
    for seed in 0..40 {
        let mut chance = Chance::seeded(seed);
        let (engine, vertices, label, types) = filled();
        let watcher = engine.watcher();
        let (mut edges, mut commits) = (Vec::new(), Vec::<(u64, Vec<Thing>)>::new());
        let mut sets: Vec<(u64, Vec<Thing>, WatchSet)> = Vec::new();
        let mut snapshots = vec![engine.snapshot()];
        for _ in 0..60 {
            let written = random_commit(&engine, (&vertices, label, types), &mut edges, &mut chance);
            snapshots.push(engine.snapshot());
            commits.push((engine.snapshot().commit_version(), written));
            let seen = |reads: &[Thing], from: u64, to: u64| {
                let between = commits
                    .iter()
                    .filter(|(commit_version, _)| *commit_version > from && *commit_version <= to);
                let mut written = between.flat_map(|(_, written)| written);
                written.any(|write| reads.iter().any(|read| is_seen(*write, *read)))
            };
            // Of a snapshot of now, or of one that others have committed behind.
            let base = snapshots[snapshots.len() - 1 - chance.index(snapshots.len().min(4))].clone();
            let things: Vec<Thing> = (0..chance.below(4)).map(|_| random_read(&mut chance)).collect();
            let reads = ReadSet::default();
            things.iter().for_each(|read| recorded(*read, &vertices, label, types, &reads));
            let is_late = seen(&things, base.commit_version(), engine.snapshot().commit_version());
            let watched = watcher.watch(&reads, &base);
            assert_eq!(watched.is_none(), is_late, "seed {seed}: {things:?}");
            late += usize::from(is_late);
            sets.extend(watched.map(|watched| (base.commit_version(), things, watched)));
            for (from, things, watched) in &sets {
                let snapshot = &snapshots[chance.index(snapshots.len())];
                let wanted = match snapshot.commit_version() {
                    commit_version if commit_version < *from => Holding::Earlier,
                    commit_version if seen(things, *from, commit_version) => Holding::Over,
                    _ => Holding::Holds,
                };
                assert_eq!(watched.holding(snapshot), wanted, "seed {seed}: {things:?}");
                assert_eq!(watched.has_changed(), seen(things, *from, u64::MAX), "seed {seed}: {things:?}");
                held += usize::from(wanted == Holding::Holds);
                over += usize::from(wanted == Holding::Over);
            }
            if chance.below(3) == 0 && !sets.is_empty() {
                sets.swap_remove(chance.index(sets.len()));
            }
        }
    }
    assert!(held > 1_000 && over > 1_000 && late > 50, "{held} {over} {late}");
}

#[test]
fn new_names_and_loads_end_a_set_and_limits_refuse_it() {
    let (engine, vertices, ..) = filled();
    let watcher = engine.watcher();
    let watch = |first: u64, count: usize| {
        let reads = ReadSet::within(WATCH_KEYS_MAX);
        reads.vertices((first..first + count as u64).map(VertexId));
        watcher.watch(&reads, &engine.snapshot())
    };
    let set = watch(0, 3).unwrap();
    assert_eq!(set.holding(&engine.snapshot()), Holding::Holds);
    // A label that was not there: who looked for it in vain read nothing else.
    let t = engine.begin(Mode::Write);
    let new = t.label("New").unwrap();
    t.create_vertex(&[new], vec![]).unwrap();
    t.commit().unwrap();
    assert_eq!(set.holding(&engine.snapshot()), Holding::Over);
    drop(set);
    let set = watch(0, 3).unwrap();
    engine.install(|current, commit_version| Ok(current.apply(commit_version, &[])?)).unwrap();
    assert!(set.has_changed() && set.holding(&engine.snapshot()) == Holding::Over);
    assert!(watch(0, 3).unwrap().holding(&engine.snapshot()) == Holding::Holds);
    drop(set);
    // At the limits, and above.
    assert_eq!(watch(0, WATCH_KEYS_MAX).map(|set| set.len()), Some(WATCH_KEYS_MAX));
    assert!(watch(0, WATCH_KEYS_MAX + 1).is_none());
    let full: Vec<WatchSet> = (0..WATCHED_KEYS_MAX / WATCH_KEYS_MAX)
        .map(|at| watch((at * WATCH_KEYS_MAX) as u64, WATCH_KEYS_MAX).unwrap())
        .collect();
    assert!(watch(0, 1).is_none(), "all sets together have enough");
    let t = engine.begin(Mode::Write);
    let key = t.key("k").unwrap();
    t.set_property(vertices[0], key, Value::Int(1)).unwrap();
    t.commit().unwrap();
    let ended = full.iter().filter(|set| set.has_changed()).count();
    assert_eq!(ended, 1, "a write ends those that have its keys");
    drop(full);
    let set = watch(0, 1).unwrap();
    // A commit of very many keys ends all.
    let t = engine.begin(Mode::Write);
    for _ in 0..WATCH_KEYS_MAX {
        t.create_vertex(&[], vec![]).unwrap();
    }
    t.commit().unwrap();
    assert!(set.has_changed());
}
