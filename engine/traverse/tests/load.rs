//! A file of GraphSON goes into an empty graph, all of it or nothing, also beside other writers.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use execute::watch::{self, Limited};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::Duration;
use tanglewood_traverse::answer::AnswerError;
use tanglewood_traverse::{LoadPolicy, Loaded};
use transact::{Engine, Mode, OpenOptions};
use world::files::TemporaryFolder;

fn load(engine: &Engine, path: &Path) -> Result<Loaded, AnswerError> {
    tanglewood_traverse::load(engine, path, LoadPolicy::Fail)
}

const LINES: u64 = 300;

fn file(folder: &TemporaryFolder) -> PathBuf {
    let path = folder.path().join("graph.json");
    let line = |id: u64| {
        let next = (id + 1) % LINES;
        format!(r#"{{"id":{id},"label":"A","outE":{{"next":[{{"id":{},"inV":{next}}}]}}}}"#, LINES + id)
            + "\n"
    };
    std::fs::write(&path, (0..LINES).map(line).collect::<String>()).unwrap();
    path
}

fn engine() -> Engine {
    transact::open(None, &OpenOptions::default()).unwrap().0
}

#[test]
fn of_two_at_once_one_is_refused() {
    let folder = TemporaryFolder::new("load").unwrap();
    let path = file(&folder);
    for _ in 0..20 {
        let (engine, barrier) = (engine(), Barrier::new(2));
        let loads: usize = std::thread::scope(|scope| {
            let load = || {
                barrier.wait();
                usize::from(load(&engine, &path).is_ok())
            };
            let threads = [scope.spawn(load), scope.spawn(load)];
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((loads, engine.snapshot().statistics().vertices()), (1, LINES));
    }
}

#[test]
fn a_vertex_that_is_made_meanwhile_is_in_its_way() {
    let folder = TemporaryFolder::new("load-beside").unwrap();
    let (path, engine) = (file(&folder), engine());
    let started = Barrier::new(2);
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| {
            started.wait();
            load(&engine, &path).is_ok()
        });
        started.wait();
        let t = engine.begin(Mode::Write);
        t.create_vertex(&[], Vec::new()).unwrap();
        t.commit().unwrap();
        let vertices = LINES * u64::from(loading.join().unwrap());
        // It came first as a whole, or not at all.
        assert_eq!(engine.snapshot().statistics().vertices(), vertices + 1);
    });
    assert!(load(&engine, &path).is_err(), "the graph is not empty");
}

#[test]
fn it_can_be_ended() {
    let folder = TemporaryFolder::new("load-ended").unwrap();
    let (path, engine) = (file(&folder), engine());
    let watched = watch::enter(Limited::new(Duration::ZERO, 0));
    let _ = watch::spend(watch::UNITS_PER_LOOK);
    let error = load(&engine, &path).unwrap_err();
    drop(watched);
    assert!(format!("{error:?}").contains("Terminated"), "{error:?}");
    assert_eq!(engine.snapshot().statistics().vertices(), 0);
    load(&engine, &path).unwrap();
}

/// What is there already is counted, vertices and edges alike, and left or set as was asked.
#[test]
fn what_is_there_is_counted_and_left_or_set() {
    let folder = TemporaryFolder::new("load-again").unwrap();
    let path = folder.path().join("graph.json");
    let write = |vertices: u64, age: u64| {
        let line = |id: u64| {
            let next = (id + 1) % vertices;
            format!(
                r#"{{"id":{id},"label":"A","properties":{{"age":[{{"id":{},"value":{age}}}]}},"outE":{{"next":[{{"id":{},"inV":{next}}}]}}}}"#,
                200 + id,
                100 + id * vertices + next
            ) + "\n"
        };
        std::fs::write(&path, (0..vertices).map(line).collect::<String>()).unwrap();
    };
    let told = |loaded: Loaded| (loaded.vertices, loaded.edges, loaded.existing);
    let engine = engine();
    write(5, 1);
    assert_eq!(told(load(&engine, &path).unwrap()), (5, 5, 0));
    assert!(load(&engine, &path).is_err(), "the graph is not empty");
    for policy in [LoadPolicy::Skip, LoadPolicy::Merge] {
        write(5, 2);
        let again = tanglewood_traverse::load(&engine, &path, policy).unwrap();
        assert_eq!(told(again), (0, 0, 10));
        assert_eq!(again.bytes, std::fs::metadata(&path).unwrap().len());
    }
    // Of seven vertices five are there, and of their edges those between two neighbours.
    write(7, 3);
    let more = tanglewood_traverse::load(&engine, &path, LoadPolicy::Skip).unwrap();
    assert_eq!((more.vertices, more.vertices + more.edges + more.existing), (2, 14));
    assert_eq!(engine.snapshot().statistics().vertices(), 7);
}

/// Of edges that are alike as many are there as there are: each of the file takes one of those, and what is left is made.
#[test]
fn edges_that_are_alike_are_counted() {
    let folder = TemporaryFolder::new("load-alike").unwrap();
    let path = folder.path().join("graph.json");
    let write = |edges: usize, weight: &str| {
        let edge = format!(r#"{{"inV":2,"properties":{{"w":{weight}}}}}"#);
        let alike = vec![edge; edges].join(",");
        let lines = format!(r#"{{"id":1,"label":"A","outE":{{"next":[{alike}]}}}}"#)
            + "\n"
            + r#"{"id":2,"label":"A"}"#
            + "\n";
        std::fs::write(&path, lines).unwrap();
    };
    for (there, given) in [(0, 0), (1, 1), (2, 1), (1, 2), (3, 3), (2, 5), (5, 2)] {
        let engine = engine();
        write(there, "1");
        load(&engine, &path).unwrap();
        write(given, "1");
        let again = tanglewood_traverse::load(&engine, &path, LoadPolicy::Skip).unwrap();
        let (existing, made) = (there.min(given) as u64, given.saturating_sub(there) as u64);
        assert_eq!(
            (again.vertices, again.edges, again.existing),
            (0, made, 2 + existing),
            "{given} beside {there}"
        );
        write(given, "2");
        let others = tanglewood_traverse::load(&engine, &path, LoadPolicy::Skip).unwrap();
        assert_eq!(
            (others.edges, others.existing),
            (given as u64, 2),
            "with another property they are others"
        );
    }
}
