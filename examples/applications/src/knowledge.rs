//! A knowledge graph: concepts that are merged while others read, and rules whose answer is kept up to date.
//!
//! A concept has words, and lies in a taxonomy. Two concepts that mean one thing are merged in one transaction: all relationships and words of the one
//! become those of the other, and the one goes. Readers see all of a merge or nothing of it.
//!
//! A thing has the parts of everything that it is: that is a rule, and its answer is a standing query, delivered commit by commit.

use crate::ask::{self, Told, keep, number, rows, run, text, texts};
use database::{Database, Error, Options, Session, Value, params};
use std::path::{Path, PathBuf};

/// Relations as the file calls them, and as types. The file holds their inverses as well; these are passed over.
pub const RELATIONS: [(&str, &str); 6] = [
    ("hypernym", "IS_A"),
    ("instance_hypernym", "INSTANCE_OF"),
    ("part_meronym", "HAS_PART"),
    ("similar_to", "SIMILAR_TO"),
    ("antonym", "OPPOSITE_OF"),
    ("derivationally_related", "RELATED_TO"),
];

/// Kept true: the parts of a thing, its own and those of all that it is.
const PARTS: &str = "CREATE STANDING QUERY parts AS DATALOG {
    is_a(x, y) :- IS_A(x, y).
    is_a(x, y) :- INSTANCE_OF(x, y).
    has(x, p) :- HAS_PART(x, p).
    has(x, p) :- is_a(x, y), has(y, p).
    answer(thing, part) :- has(x, p), Concept.id(x, thing), Concept.id(p, part).
    ?- answer(thing, part).
}";

const NAMES: &str = "CREATE (a:Concept {id: ''}), (a)-[:IS_A]->(a), (a)-[:INSTANCE_OF]->(a), (a)-[:HAS_PART]->(a) \
    DETACH DELETE a";

/// Rows of a file that one commit of the load takes.
const LOAD_ROWS: usize = 10_000;

/// A graph of concepts and their relations.
pub struct Knowledge {
    database: Database,
    session: Session,
}

/// A concept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concept {
    /// Its name for programs.
    pub id: String,
    /// Its names.
    pub words: Vec<String>,
    /// Its definition, in a sentence.
    pub gloss: String,
}

/// A part that a thing has now (1), or has no more (-1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartChange {
    /// The thing.
    pub thing: String,
    /// The part.
    pub part: String,
    /// 1 or -1.
    pub difference: i64,
}

impl Knowledge {
    /// The concepts in this folder, or in memory; files are read below `import`.
    ///
    /// # Errors
    /// The folder cannot be opened, or holds something else.
    pub fn open(folder: Option<&Path>, import: Option<PathBuf>) -> Result<Knowledge, Error> {
        let database = ask::open(folder, Options { import_folder: import, ..Options::default() })?;
        let mut session = database.session();
        run(
            &mut session,
            "CREATE CONSTRAINT concept IF NOT EXISTS FOR (c:Concept) REQUIRE c.id IS UNIQUE",
            params! {},
        )?;
        Ok(Knowledge { database, session })
    }
    /// One more user of the same concepts.
    pub fn share(&self) -> Knowledge {
        Knowledge { database: self.database.clone(), session: self.database.session() }
    }
    /// Loads `synsets.csv` and `relations.csv`, commit by commit.
    ///
    /// # Errors
    /// A file is not there or is broken.
    pub fn load(&mut self) -> Result<(), Error> {
        let concepts = format!(
            "LOAD CSV WITH HEADERS FROM 'synsets.csv' AS row CALL (row) {{ \
             CREATE (:Concept {{id: row.id, words: split(row.words, '|'), gloss: row.gloss}}) \
             }} IN TRANSACTIONS OF {LOAD_ROWS} ROWS"
        );
        run(&mut self.session, &concepts, params! {})?;
        for (name, kind) in RELATIONS {
            let text = format!(
                "LOAD CSV WITH HEADERS FROM 'relations.csv' AS row WITH row WHERE row.type = $name CALL (row) {{ \
                 MATCH (a:Concept {{id: row.from}}), (b:Concept {{id: row.to}}) MERGE (a)-[:{kind}]->(b) \
                 }} IN TRANSACTIONS OF {LOAD_ROWS} ROWS"
            );
            run(&mut self.session, &text, params! { "name" => name })?;
        }
        Ok(())
    }
    /// Keeps the rules true from now on.
    ///
    /// # Errors
    /// Their answer is larger than a standing query may be.
    pub fn keep_rules(&mut self) -> Result<(), Error> {
        keep(&mut self.session, "parts", NAMES, PARTS)
    }
    /// A concept by its id.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn concept(&mut self, id: &str) -> Result<Option<Concept>, Error> {
        let question = "MATCH (c:Concept {id: $id}) RETURN c.words, c.gloss";
        let found = rows(&mut self.session, question, params! { "id" => id })?;
        let concept =
            |row: &Vec<Value>| Concept { id: id.into(), words: texts(row.first()), gloss: text(row, 1) };
        Ok(found.first().map(concept))
    }
    /// Everything that a concept is, from the nearest on.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn is(&mut self, id: &str) -> Result<Vec<String>, Error> {
        let question = "MATCH p = ANY SHORTEST (:Concept {id: $id})-[:IS_A|INSTANCE_OF]->+(k) \
             RETURN k.id AS is, length(p) AS steps ORDER BY steps, is";
        let found = rows(&mut self.session, question, params! { "id" => id })?;
        Ok(found.iter().map(|row| text(row, 0)).collect())
    }
    /// All parts of a concept, computed anew.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn parts(&mut self, id: &str) -> Result<Vec<String>, Error> {
        let question = "MATCH (:Concept {id: $id})-[:IS_A|INSTANCE_OF]->*(k)-[:HAS_PART]->(p) \
             RETURN DISTINCT p.id AS part ORDER BY part";
        let found = rows(&mut self.session, question, params! { "id" => id })?;
        Ok(found.iter().map(|row| text(row, 0)).collect())
    }
    /// Makes `gone` a part of `stays`: all that it had. False, and nothing changes, where one of them is not there, or both are one.
    ///
    /// # Errors
    /// The disk fails, or it conflicts with others again and again.
    pub fn merge(&mut self, stays: &str, gone: &str) -> Result<bool, Error> {
        let ends = || params! { "stays" => stays, "gone" => gone };
        let are_there =
            "MATCH (s:Concept {id: $stays}), (g:Concept {id: $gone}) WHERE s <> g RETURN count(*)";
        let words = "MATCH (s:Concept {id: $stays}), (g:Concept {id: $gone}) \
             SET s.words = s.words + [word IN g.words WHERE NOT word IN s.words] DETACH DELETE g";
        self.session.transaction(|transaction| {
            if transaction.query(are_there, ends())?.single()?.as_int() != Some(1) {
                return Ok(false);
            }
            for (_, kind) in RELATIONS {
                for (one, other) in [("-", "->"), ("<-", "-")] {
                    let text = format!(
                        "MATCH (s:Concept {{id: $stays}}), (g:Concept {{id: $gone}}){one}[:{kind}]{other}(x) \
                         WHERE x <> s AND x <> g MERGE (s){one}[:{kind}]{other}(x)"
                    );
                    transaction.query(&text, ends())?.finish()?;
                }
            }
            transaction.query(words, ends())?.finish()?;
            Ok(true)
        })
    }
    /// The number of concepts, and of their distinct words, which no merge changes.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn counts(&mut self) -> Result<[i64; 2], Error> {
        let question =
            "MATCH (c:Concept) UNWIND c.words AS word RETURN count(DISTINCT c), count(DISTINCT word)";
        let found = rows(&mut self.session, question, params! {})?;
        let count = |at: usize| found.first().and_then(|row| row[at].as_int()).unwrap_or(0);
        Ok([count(0), count(1)])
    }
    /// How many relationships there are.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn relations(&mut self) -> Result<i64, Error> {
        number(&mut self.session, "MATCH (:Concept)-[r]->(:Concept) RETURN count(r)", params! {})
    }
    /// Subscribes to parts that come or go; with `with_all`, the current ones come first.
    ///
    /// # Errors
    /// The rules are not kept.
    pub fn watch(&self, with_all: bool) -> Result<Told<PartChange>, Error> {
        Told::begin(&self.database, "parts", with_all, |difference, row| PartChange {
            thing: text(row, 0),
            part: text(row, 1),
            difference,
        })
    }
}
