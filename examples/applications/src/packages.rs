//! Package dependencies: which packages break when one goes, circles, and the effects of a security update.
//!
//! A package states its needs in clauses; a clause holds if one of its alternatives is there, itself or by a package that provides it. So the answer
//! needs more than a walk: a package falls when all alternatives of one of its clauses have fallen. [`Packages::breaks_without`] computes that round
//! by round in one snapshot. Versions in clauses are kept, but not compared.
//!
//! An update replaces packages and their clauses in one transaction. The history stays: every question may be asked as of a commit before it.

use crate::ask::{self, list, number, rows, run, text, texts};
use database::{Error, History, Mode, Options, Session, Value, params};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// Rows of a file that one commit of the first load takes.
const LOAD_ROWS: usize = 10_000;

/// A graph of packages and their clauses.
pub struct Packages {
    session: Session,
}

/// A package that falls, and the round in which it does.
pub type Fallen = (String, u32);

impl Packages {
    /// The packages in this folder, with their history; files are read below `import`.
    ///
    /// # Errors
    /// The folder cannot be opened, or holds something else.
    pub fn open(folder: Option<&Path>, import: Option<PathBuf>) -> Result<Packages, Error> {
        let history = folder.map(|_| History::Forever);
        let options = Options { import_folder: import, history, ..Options::default() };
        let database = ask::open(folder, options)?;
        let mut session = database.session();
        let rule = "CREATE CONSTRAINT package IF NOT EXISTS FOR (p:Package) REQUIRE p.name IS UNIQUE";
        run(&mut session, rule, params! {})?;
        Ok(Packages { session })
    }
    /// Loads `NAME_packages.csv` and `NAME_relations.csv`, commit by commit.
    ///
    /// # Errors
    /// A file is not there or is broken.
    pub fn load(&mut self, name: &str) -> Result<(), Error> {
        let per_commit = format!(" IN TRANSACTIONS OF {LOAD_ROWS} ROWS");
        for (file, work) in [("packages", PUT), ("relations", NEED), ("relations", PROVIDE)] {
            let text = format!(
                "LOAD CSV WITH HEADERS FROM '{name}_{file}.csv' AS row CALL (row) {{ {work} }}{per_commit}"
            );
            run(&mut self.session, &text, params! {})?;
        }
        Ok(())
    }
    /// Puts the packages of an update in the place of those that there are, in one transaction; returns its commit.
    ///
    /// # Errors
    /// A file is not there or is broken; then nothing has changed.
    pub fn update(&mut self, name: &str) -> Result<u64, Error> {
        let forget = "MATCH (p:Package {name: row.name})-[r:DEPENDS|PROVIDES]->() DELETE r";
        let steps = [("packages", forget), ("packages", PUT), ("relations", NEED), ("relations", PROVIDE)];
        let load = |session: &mut Session| {
            steps.iter().try_for_each(|(file, work)| {
                let text =
                    format!("LOAD CSV WITH HEADERS FROM '{name}_{file}.csv' AS row CALL (row) {{ {work} }}");
                run(session, &text, params! {})
            })
        };
        self.session.begin(Mode::Write)?;
        match load(&mut self.session) {
            Ok(()) => self.session.commit(),
            Err(error) => {
                self.session.rollback()?;
                Err(error)
            }
        }
    }
    /// The newest commit.
    ///
    /// # Errors
    /// The disk fails.
    pub fn commit(&mut self) -> Result<u64, Error> {
        Ok(self.session.query("RETURN 1", params! {})?.finish()?.commit_version)
    }
    /// How many packages and clauses there are.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn size(&mut self) -> Result<[i64; 2], Error> {
        let packages = "MATCH (p:Package) WHERE p.version IS NOT NULL RETURN count(*)";
        let needs = "MATCH ()-[d:DEPENDS]->() RETURN count(*)";
        Ok([number(&mut self.session, packages, params! {})?, number(&mut self.session, needs, params! {})?])
    }
    /// The version of a package, now or as of a commit; none where there is no such package.
    ///
    /// # Errors
    /// The commit is not kept.
    pub fn version(&mut self, name: &str, as_of: Option<u64>) -> Result<Option<String>, Error> {
        let question = format!("{}MATCH (p:Package {{name: $name}}) RETURN p.version", moment(as_of));
        let found = rows(&mut self.session, &question, params! { "name" => name })?;
        Ok(found.first().and_then(|row| row[0].as_str().map(str::to_string)))
    }
    /// All packages that fall if this one goes, by the round in which they do, now or as of a commit.
    ///
    /// # Errors
    /// The graph cannot be read, or the commit is not kept.
    pub fn breaks_without(&mut self, name: &str, as_of: Option<u64>) -> Result<Vec<Fallen>, Error> {
        let moment = moment(Some(match as_of {
            Some(commit) => commit,
            // All rounds read one snapshot.
            None => self.commit()?,
        }));
        let (mut gone, mut missing) = (HashSet::from([name.to_string()]), HashSet::new());
        let (mut last, mut fallen) = (vec![name.to_string()], Vec::new());
        for round in 1.. {
            let newly = self.missing_without(&moment, &last, &gone)?;
            let newly: Vec<String> = newly.into_iter().filter(|name| missing.insert(name.clone())).collect();
            last = self.fall_without(&moment, &newly, &missing, &gone)?;
            if last.is_empty() {
                break;
            }
            gone.extend(last.iter().cloned());
            fallen.extend(last.iter().map(|name| (name.clone(), round)));
        }
        Ok(fallen)
    }
    /// Names without a provider left, among those that the packages of the last round provided.
    fn missing_without(
        &mut self,
        moment: &str,
        last: &[String],
        gone: &HashSet<String>,
    ) -> Result<Vec<String>, Error> {
        let question = format!(
            "{moment}MATCH (g:Package) WHERE g.name IN $last \
             CALL (g) {{ RETURN g AS n UNION MATCH (g)-[:PROVIDES]->(n) RETURN n }} WITH DISTINCT n \
             RETURN n.name, n.version IS NOT NULL, COLLECT {{ MATCH (o:Package)-[:PROVIDES]->(n) RETURN o.name }}"
        );
        let given = params! { "last" => list(last.iter().map(String::as_str)) };
        let found = rows(&mut self.session, &question, given)?;
        let stands = |row: &Vec<Value>| {
            let own = row[1].as_bool() == Some(true) && !gone.contains(&text(row, 0));
            own || texts(row.get(2)).iter().any(|provider| !gone.contains(provider))
        };
        Ok(found.iter().filter(|row| !stands(row)).map(|row| text(row, 0)).collect())
    }
    /// Packages that have a clause of which no alternative is left.
    fn fall_without(
        &mut self,
        moment: &str,
        newly: &[String],
        missing: &HashSet<String>,
        gone: &HashSet<String>,
    ) -> Result<Vec<String>, Error> {
        let question = format!(
            "{moment}MATCH (n:Package) WHERE n.name IN $newly MATCH (p:Package)-[d:DEPENDS]->(n) \
             WITH DISTINCT p, d.clause AS clause MATCH (p)-[e:DEPENDS]->(a) WHERE e.clause = clause \
             WITH p.name AS name, clause, a WHERE a.version IS NOT NULL OR EXISTS {{ (:Package)-[:PROVIDES]->(a) }} \
             RETURN name, clause, collect(a.name)"
        );
        let given = params! { "newly" => list(newly.iter().map(String::as_str)) };
        let found = rows(&mut self.session, &question, given)?;
        let falls = |row: &&Vec<Value>| texts(row.get(2)).iter().all(|name| missing.contains(name));
        let names: BTreeSet<String> = found.iter().filter(falls).map(|row| text(row, 0)).collect();
        Ok(names.into_iter().filter(|name| !gone.contains(name)).collect())
    }
    /// How many packages may need this one, by its own name or one that it provides, over any number of steps: the walk that knows no alternatives, and
    /// so the most that could fall without it.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn reaches(&mut self, name: &str) -> Result<i64, Error> {
        // All steps read one snapshot.
        self.session.begin(Mode::Read)?;
        let reached = self.walk(name);
        self.session.rollback()?;
        reached
    }
    fn walk(&mut self, name: &str) -> Result<i64, Error> {
        let question = "MATCH (g:Package) WHERE g.name IN $last \
             CALL (g) { RETURN g AS n UNION MATCH (g)-[:PROVIDES]->(n) RETURN n } WITH DISTINCT n \
             MATCH (p:Package)-[:DEPENDS]->(n) RETURN DISTINCT p.name";
        let (mut known, mut last) = (HashSet::from([name.to_string()]), vec![name.to_string()]);
        while !last.is_empty() {
            let given = params! { "last" => list(last.iter().map(String::as_str)) };
            let found = rows(&mut self.session, question, given)?;
            last = found.iter().map(|row| text(row, 0)).filter(|name| known.insert(name.clone())).collect();
        }
        Ok(known.len() as i64 - 1)
    }
    /// Pairs of packages that need each other.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn pairs_in_circles(&mut self) -> Result<Vec<[String; 2]>, Error> {
        let question = "MATCH (a:Package)-[:DEPENDS]->(b:Package)-[:DEPENDS]->(a) WHERE a.name < b.name \
             RETURN DISTINCT a.name, b.name ORDER BY a.name, b.name";
        let found = rows(&mut self.session, question, params! {})?;
        Ok(found.iter().map(|row| [text(row, 0), text(row, 1)]).collect())
    }
    /// A shortest circle of needs through a package, from it and back to it; none where there is none.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn circle(&mut self, name: &str) -> Result<Option<Vec<String>>, Error> {
        let question = "MATCH (a:Package {name: $name})-[:DEPENDS]->(b:Package) WHERE a <> b WITH DISTINCT a, b \
             MATCH path = shortestPath((b)-[:DEPENDS*]->(a)) \
             RETURN [n IN nodes(path) | n.name] AS names ORDER BY length(path), names LIMIT 1";
        let found = rows(&mut self.session, question, params! { "name" => name })?;
        let back = found.first().map(|row| texts(row.first()));
        Ok(back.map(|back| std::iter::once(name.to_string()).chain(back).collect()))
    }
}

/// Of a row of packages.
const PUT: &str = "MERGE (p:Package {name: row.name}) \
    SET p.version = row.version, p.section = row.section, p.kib = toInteger(row.installed_size_kib)";
/// Of a row of relations, if it is a need. A clause has the number of its kind.
const NEED: &str = "WITH row WHERE row.type IN ['Depends', 'Pre-Depends'] MATCH (p:Package {name: row.from}) \
    MERGE (q:Package {name: row.to}) \
    CREATE (p)-[:DEPENDS {clause: row.type + ' ' + row.group, versions: row.constraint}]->(q)";
/// Of a row of relations, if a package stands for another name.
const PROVIDE: &str = "WITH row WHERE row.type = 'Provides' MATCH (p:Package {name: row.from}) \
    MERGE (q:Package {name: row.to}) CREATE (p)-[:PROVIDES]->(q)";

fn moment(as_of: Option<u64>) -> String {
    as_of.map(|commit| format!("AS OF {commit} ")).unwrap_or_default()
}
