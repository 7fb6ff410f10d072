//! Our side: the graph in a database, and questions from their text to their last row.

use super::subject::Subject;
use crate::data;
use crate::edge_list;
use crate::timing::timed;
use database::{Database, Options, Session, Value, params};
use world::files::{self, TemporaryFolder};

/// A graph in a database with a number of executors.
pub struct Ours {
    database: Database,
    // Dropped last.
    place: TemporaryFolder,
}

/// A failure in one line.
pub fn told(error: &database::Error) -> String {
    format!("{}: {}", error.code, error.to_string().replace('\n', " / "))
}

/// Ends by distance from each of some sources: a count, and the sum of all distances.
pub const LENGTHS: &str = "MATCH (a:N) WHERE a.id IN $s MATCH p = ANY SHORTEST (a)-[:E]->+(b) \
                           RETURN count(*) AS ends, sum(length(p)) AS steps";

impl Ours {
    /// Loads the graph.
    ///
    /// # Errors
    /// The disk, the import.
    pub fn load(subject: &Subject) -> Result<Ours, String> {
        Ours::load_from(subject, |file| edge_list::write(file, subject.edges.iter().copied()))
    }
    /// The same with a property `weight` of each edge.
    ///
    /// # Errors
    /// Likewise.
    pub fn load_weighted(subject: &Subject, weight: impl Fn(usize) -> u32) -> Result<Ours, String> {
        let weighted = subject.edges.iter().zip(0..).map(|((from, to), at)| (*from, *to, weight(at)));
        Ours::load_from(subject, |file| edge_list::write_weighted(file, weighted))
    }
    fn load_from(
        subject: &Subject,
        write: impl FnOnce(&std::path::Path) -> Result<(), String>,
    ) -> Result<Ours, String> {
        let cache = data::cache_folder();
        let place = files::create_folder(&cache).and_then(|()| TemporaryFolder::inside(&cache, "recursive"));
        let place = place.map_err(|error| error.to_string())?;
        let file = place.path().join("edges.txt");
        write(&file)?;
        let database = Ours::open(&place, None)?;
        let options = edge_list::options(file);
        let imported = database.import(&options).map_err(|error| told(&error))?;
        if imported.edges != subject.edges.len() as u64 {
            return Err(format!("{} edges were imported of {}", imported.edges, subject.edges.len()));
        }
        Ok(Ours { database, place })
    }
    fn open(place: &TemporaryFolder, executors: Option<usize>) -> Result<Database, String> {
        let options = Options { executors, query_bytes_max: 4 << 30, ..Options::default() };
        Database::open(place.path().join("graph"), options).map_err(|error| told(&error))
    }
    /// The same with another number of executors.
    ///
    /// # Errors
    /// The database cannot be opened again.
    pub fn with_executors(self, executors: usize) -> Result<Ours, String> {
        let Ours { database, place } = self;
        drop(database);
        Ok(Ours { database: Ours::open(&place, Some(executors))?, place })
    }
    /// A session.
    pub fn session(&self) -> Session {
        self.database.session()
    }
    /// Where the edges lie as text.
    pub fn folder(&self) -> &std::path::Path {
        self.place.path()
    }
}

/// Asks for lengths from these sources; milliseconds if the answer is right.
///
/// # Errors
/// The query failed or its answer is wrong.
pub fn lengths(session: &mut Session, text: &str, sources: &[u32], right: (i64, i64)) -> Result<f64, String> {
    let list: Vec<Value> = sources.iter().map(|source| Value::Int(i64::from(*source))).collect();
    let params = params! { "s" => Value::list(list) };
    let (rows, time_ms) = timed(|| session.query(text, params).and_then(|result| result.rows()));
    let rows = rows.map_err(|error| told(&error))?;
    match &rows[..] {
        [row] if row[0].as_int() == Some(right.0) && row[1].as_int() == Some(right.1) => Ok(time_ms),
        other => Err(format!("wrong answer {other:?} from {sources:?}, right is {right:?}")),
    }
}
