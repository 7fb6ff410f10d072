//! The live case of the Transformation Tool Contest 2018: two queries about a social network, and the expected answer after each of twenty
//! sets of changes, in five sizes.
//!
//! Both are standing queries. After each commit the three best are computed from the delivered changes, and compared with the contest's results; the
//! time is from the commit's end until the reader knows, beside the same query run anew.

use super::*;
use crate::data;
use database::Mode;

/// Data sets by the contest's sizes.
const SIZES: [&str; 5] = ["1", "2", "4", "8", "16"];
/// Sets of changes of each size.
const CHANGE_SETS: usize = 20;
/// Longest a reader may wait for the news of a commit, at the median: a person would call it at once.
const TARGET_MS: f64 = 1.0;

/// The contest's queries, each ordered as its rules say: best score, then newest.
const QUERIES: [(&str, &str); 2] = [
    (
        "Q1",
        "MATCH (p:Post)
         RETURN p.id AS id, p.at AS at,
             10 * COUNT { MATCH (p)<-[:PARENT*]-(c:Comment) RETURN DISTINCT c }
             + COUNT { MATCH (p)<-[:PARENT*]-(c:Comment) WITH DISTINCT c MATCH (c)<-[:LIKES]-() } AS score
         ORDER BY score DESC, at DESC LIMIT 3",
    ),
    (
        "Q2",
        "MATCH (c:Comment)
         CALL (c) {
             MATCH (c)<-[:LIKES]-(u)
             MATCH WALK (u) ((a)-[:FRIEND]-(b) WHERE EXISTS { (b)-[:LIKES]->(c) }){0,100} (v)
             WITH DISTINCT u, v
             RETURN count(*) AS score
         }
         RETURN c.id AS id, c.at AS at, score
         ORDER BY score DESC, at DESC LIMIT 3",
    ),
];

/// The writes, kind by kind; a row is the line of a file without its kind. Vertices come before their edges.
const WRITES: [(&str, &str); 8] = [
    ("Users", "UNWIND $rows AS r CREATE (:User {id: toInteger(r[0]), name: r[1]})"),
    ("Posts", "UNWIND $rows AS r CREATE (:Submission:Post {id: toInteger(r[0]), at: r[1], content: r[2]})"),
    (
        "Comments",
        "UNWIND $rows AS r CREATE (:Submission:Comment {id: toInteger(r[0]), at: r[1], content: r[2]})",
    ),
    (
        "Posts",
        "UNWIND $rows AS r MATCH (p:Submission {id: toInteger(r[0])}), (u:User {id: toInteger(r[3])})
         CREATE (u)-[:SUBMITTED]->(p)",
    ),
    (
        "Comments",
        "UNWIND $rows AS r MATCH (c:Submission {id: toInteger(r[0])}), (u:User {id: toInteger(r[3])})
         CREATE (u)-[:SUBMITTED]->(c)",
    ),
    (
        "Comments",
        "UNWIND $rows AS r MATCH (c:Submission {id: toInteger(r[0])}), (p:Submission {id: toInteger(r[4])})
         CREATE (c)-[:PARENT]->(p)",
    ),
    (
        "Likes",
        "UNWIND $rows AS r MATCH (u:User {id: toInteger(r[0])}), (c:Submission {id: toInteger(r[1])})
         CREATE (u)-[:LIKES]->(c)",
    ),
    (
        "Friends",
        "UNWIND $rows AS r MATCH (a:User {id: toInteger(r[0])}), (b:User {id: toInteger(r[1])})
         CREATE (a)-[:FRIEND]->(b)",
    ),
];

/// Lines by kind, as lists of their fields.
type Lines = BTreeMap<String, Vec<Value>>;

/// Runs all sizes.
pub fn run(folder: &Path, report: &mut Report) -> Result<(), String> {
    report.section("the live case of the Transformation Tool Contest 2018");
    let (folder, _) = data::unpacked(folder, "ttc2018")?;
    let folder = folder.join("ttc2018");
    let results = files::read_text(&folder.join("results.csv")).map_err(|error| error.to_string())?;
    for size in SIZES {
        one(&folder.join("models").join(size), size, &results, report)?;
    }
    Ok(())
}

fn one(folder: &Path, size: &str, results: &str, report: &mut Report) -> Result<(), String> {
    let database = Database::open(database::MEMORY, Options::default()).map_err(|error| told(&error))?;
    let mut session = database.session();
    for label in ["User", "Submission"] {
        let text = format!("CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.id IS UNIQUE");
        write(&mut session, &text, Params::new())?;
    }
    commit(&mut session, &initial(folder)?)?;
    let mut readers: Vec<Reader> = Vec::new();
    let place = database.snapshot().commit_version();
    for (name, text) in QUERIES {
        let (reader, time_ms) = timed(|| {
            database.create_standing(name, text)?;
            database.subscribe(name, &Params::new(), None, true)
        });
        let mut reader = Reader::new(name, text, reader.map_err(|error| told(&error))?);
        reader.read_to(place)?;
        reader.check(results, size, 0)?;
        reader.created_ms = time_ms;
        readers.push(reader);
    }
    for number in 1..=CHANGE_SETS {
        let text = files::read_text(&folder.join(format!("change{number:02}.csv")));
        let lines = by_kind(&text.map_err(|error| error.to_string())?);
        let place = commit(&mut session, &lines)?;
        let (outcome, time_ms) = timed(|| readers.iter_mut().try_for_each(|reader| reader.read_to(place)));
        outcome?;
        for reader in &mut readers {
            reader.told.push(time_ms);
            reader.check(results, size, number)?;
            let (rows, time_ms) =
                timed(|| session.query(reader.text, Params::new()).and_then(|rows| rows.rows()));
            reader.check_anew(&rows.map_err(|error| told(&error))?, size, number)?;
            reader.anew.push(time_ms);
        }
    }
    for reader in &readers {
        let (kept, anew) = (reader.told.median_ms(), reader.anew.median_ms());
        report.figure(
            &format!("size {size}, {}: told of a change set, median", reader.name),
            &format!(
                "{}, anew {} ({:.0}x), made in {}",
                shown_ms(kept),
                shown_ms(anew),
                anew / kept,
                shown_ms(reader.created_ms)
            ),
            "all answers right, under 1 ms",
            kept < TARGET_MS,
        );
    }
    Ok(())
}

/// A subscriber, and its state: id, time and score of the best.
struct Reader {
    name: &'static str,
    text: &'static str,
    subscription: Subscription,
    best: BTreeMap<(i64, String, i64), isize>,
    /// The newest commit that it knows of.
    place: u64,
    created_ms: f64,
    told: Samples,
    anew: Samples,
}

impl Reader {
    fn new(name: &'static str, text: &'static str, subscription: Subscription) -> Reader {
        let (told, anew) = (Samples::default(), Samples::default());
        Reader { name, text, subscription, best: BTreeMap::new(), place: 0, created_ms: 0.0, told, anew }
    }
    fn read_to(&mut self, place: u64) -> Result<(), String> {
        let at: Vec<usize> = self.subscription.columns().iter().map(|column| column.at).collect();
        // A set without changes makes no commit.
        while self.place < place {
            let event = self.subscription.next(PATIENCE).map_err(|end| format!("it ended: {end:?}"))?;
            let event = event.ok_or("a subscriber was told nothing for a minute")?;
            if let Event::Snapshot { rows, .. } | Event::Changes { rows, .. } = &event {
                for (row, count) in rows.iter() {
                    let values = row.values();
                    *self.best.entry(entry(&values[at[0]], &values[at[1]], &values[at[2]])).or_insert(0) +=
                        count;
                }
                self.best.retain(|_, count| *count != 0);
            }
            self.place = event.commit_version();
        }
        Ok(())
    }
    /// Against the contest's results.
    fn check(&self, results: &str, size: &str, number: usize) -> Result<(), String> {
        let head = format!("\"{}\";{size};{number};", self.name);
        let line = results.lines().find(|line| line.starts_with(&head));
        let expected = line.and_then(|line| line.rsplit(';').next()).map(|value| value.trim_matches('"'));
        let expected = expected.ok_or_else(|| format!("no expected result of {head}"))?;
        self.compare(&shown(self.best.keys().cloned().collect()), expected, size, number)
    }
    fn check_anew(&self, rows: &[Vec<Value>], size: &str, number: usize) -> Result<(), String> {
        let best = rows.iter().map(|row| entry(&row[0], &row[1], &row[2])).collect();
        self.compare(&shown(best), &shown(self.best.keys().cloned().collect()), size, number)
    }
    fn compare(&self, found: &str, expected: &str, size: &str, number: usize) -> Result<(), String> {
        if found == expected {
            return Ok(());
        }
        let name = self.name;
        Err(format!("{name}, size {size}, after change set {number}: {found}, right is {expected}"))
    }
}

fn entry(id: &Value, at: &Value, score: &Value) -> (i64, String, i64) {
    let at = at.as_str().unwrap_or_default().to_string();
    (score.as_int().unwrap_or(-1), at, id.as_int().unwrap_or(-1))
}

/// The best first, as the contest writes them.
fn shown(mut best: Vec<(i64, String, i64)>) -> String {
    best.sort();
    let ids: Vec<String> = best.iter().rev().map(|(_, _, id)| id.to_string()).collect();
    ids.join("|")
}

fn fields(line: &str) -> Value {
    Value::list(line.split('|').map(Value::from).collect())
}

fn by_kind(text: &str) -> Lines {
    let mut lines = Lines::new();
    for (kind, line) in text.lines().filter_map(|line| line.split_once('|')) {
        lines.entry(kind.to_string()).or_default().push(fields(line));
    }
    lines
}

fn initial(folder: &Path) -> Result<Lines, String> {
    let mut lines = Lines::new();
    for kind in ["Users", "Posts", "Comments", "Likes", "Friends"] {
        let file = folder.join(format!("csv-{}-initial.csv", kind.to_lowercase()));
        let text = files::read_text(&file).map_err(|error| error.to_string())?;
        lines.insert(kind.to_string(), text.lines().map(fields).collect());
    }
    Ok(lines)
}

/// One transaction.
fn commit(session: &mut Session, lines: &Lines) -> Result<u64, String> {
    session.begin(Mode::Write).map_err(|error| told(&error))?;
    for (kind, text) in WRITES {
        if let Some(rows) = lines.get(kind) {
            write(session, text, params! { "rows" => Value::list(rows.clone()) })?;
        }
    }
    session.commit().map_err(|error| told(&error))
}
