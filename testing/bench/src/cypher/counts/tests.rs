//! The twin against the engine, on small random networks in the files' own form: neither can be wrong alone.

use super::*;
use crate::ldbc::SUBGRAPHS;
use database::{Database, ImportOptions, MEMORY, Options, Params};
use world::chance::Chance;
use world::files::TemporaryFolder;

/// Relations of the layout with ids alone: source, its number, name, target, its number, edges.
const RELATIONS: [(&str, i64, &str, &str, i64, usize); 15] = [
    ("City", 4, "isPartOf", "Country", 2, 0),
    ("Person", 12, "isLocatedIn", "City", 4, 0),
    ("Person", 12, "knows", "Person", 12, 26),
    ("Person", 12, "hasInterest", "Tag", 5, 20),
    ("Forum", 3, "hasMember", "Person", 12, 14),
    ("Forum", 3, "containerOf", "Post", 15, 0),
    ("Comment", 30, "replyOf", "Post", 15, 18),
    ("Comment", 30, "replyOf", "Comment", 30, 12),
    ("Post", 15, "hasCreator", "Person", 12, 0),
    ("Comment", 30, "hasCreator", "Person", 12, 0),
    ("Post", 15, "hasTag", "Tag", 5, 20),
    ("Comment", 30, "hasTag", "Tag", 5, 40),
    ("Person", 12, "likes", "Post", 15, 25),
    ("Person", 12, "likes", "Comment", 30, 25),
    ("Tag", 5, "hasType", "TagClass", 2, 0),
];

/// The id in the files: kinds of places, and of messages, share their ids.
fn named(label: &str, id: i64) -> i64 {
    match label {
        "Country" => 100 + id,
        "Comment" => 1_000 + id,
        _ => id,
    }
}

/// Writes a random network; where no number of edges is said, each source has one target, or each post one forum.
fn write(folder: &Path, chance: &mut Chance) {
    for (label, number) in [
        ("City", 4),
        ("Country", 2),
        ("Person", 12),
        ("Tag", 5),
        ("Forum", 3),
        ("Post", 15),
        ("Comment", 30),
        ("TagClass", 2),
    ] {
        let ids: String = (0..number).map(|id| format!("{}\n", named(label, id))).collect();
        let text = format!("id:ID({label})\n{ids}");
        files::write_bytes(&folder.join(format!("{label}.csv")), text.as_bytes()).unwrap();
    }
    for (source, sources, relation, target, targets, edges) in RELATIONS {
        let mut pick = |below: i64| chance.below(below as u64) as i64;
        let pairs: HashSet<(i64, i64)> = match (edges, relation) {
            (0, "containerOf") => (0..targets).map(|post| (pick(sources), post)).collect(),
            (0, _) => (0..sources).map(|id| (id, pick(targets))).collect(),
            (_, "knows") => {
                let drawn = (0..edges).map(|_| (pick(sources), pick(targets)));
                drawn.filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect()
            }
            // A comment replies to one message, and to an earlier one.
            (_, "replyOf") if target == "Comment" => (18..30).map(|id| (id, pick(id))).collect(),
            (_, "replyOf") => (0..18).map(|id| (id, pick(targets))).collect(),
            _ => (0..edges).map(|_| (pick(sources), pick(targets))).collect(),
        };
        let line = |(a, b): &(i64, i64)| format!("{}|{}\n", named(source, *a), named(target, *b));
        let lines: String = pairs.iter().map(line).collect();
        let text = format!(":START_ID({source})|:END_ID({target})\n{lines}");
        let name = format!("{source}_{relation}_{target}.csv");
        files::write_bytes(&folder.join(name), text.as_bytes()).unwrap();
    }
}

#[test]
fn the_twin_and_the_engine_count_alike() {
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 1..=6 {
        let folder = TemporaryFolder::new("counts").unwrap();
        write(folder.path(), &mut Chance::seeded(seed));
        let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
        let options = ImportOptions { from: folder.path().to_path_buf(), ..ImportOptions::default() };
        let report = database.import(&options).unwrap();
        assert_eq!(report.rejected, 0, "{report:?}");
        let counts = all(folder.path()).unwrap();
        for query in SUBGRAPHS {
            let mut session = database.session();
            let found = session.query(query.text, Params::new()).unwrap().single().unwrap();
            let right = counts[query.name];
            assert_eq!(found.as_int(), Some(right as i64), "{} with seed {seed}", query.name);
            *totals.entry(query.name).or_default() += right;
        }
    }
    assert!(totals.values().all(|total| *total > 0), "a query that never counts anything: {totals:?}");
}
