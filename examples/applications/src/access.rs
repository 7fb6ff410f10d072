//! Access control: who may reach which resource, kept up to date while people come and go.
//!
//! People and groups are principals. Groups lie in groups, and resources in resources. A principal that is allowed a resource may reach it and all
//! below it, and so may the members of a group that is allowed it, over any number of groups; a principal to whom a resource is denied, alone or in
//! such a group, may reach neither it nor the resources below it.
//!
//! The rules are a Datalog program, and its answer is a standing query: a commit that removes a person from a group delivers the resources that the
//! person may not reach any more. [`Access::may`] evaluates the same rules for one person, at the time of the call.

use crate::ask::{self, Told, keep, rows, run, text};
use database::{Database, Error, Options, Session, Value, params};
use std::path::Path;

/// The rules; `asked` are the people of the question.
const RULES: &str = "
    in_group(u, g) :- asked(u), MEMBER_OF(u, g).
    in_group(u, h) :- in_group(u, g), MEMBER_OF(g, h).
    reaches(u, r) :- asked(u), ALLOWED(u, r).
    reaches(u, r) :- in_group(u, g), ALLOWED(g, r).
    reaches(u, s) :- reaches(u, r), CONTAINS(r, s).
    barred(u, r) :- asked(u), BARRED(u, r).
    barred(u, r) :- in_group(u, g), BARRED(g, r).
    barred(u, s) :- barred(u, r), CONTAINS(r, s).
    answer(person, resource) :- reaches(u, r), !barred(u, r), Person.name(u, person), Resource.name(r, resource).
";

const NAMES: &str = "CREATE (a:Principal:Person:Resource {name: ''}), (a)-[:MEMBER_OF]->(a), (a)-[:ALLOWED]->(a), \
    (a)-[:BARRED]->(a), (a)-[:CONTAINS]->(a) DETACH DELETE a";

/// A relationship of the graph of rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tie {
    /// A person or a group lies in a group.
    Member,
    /// A person or a group is allowed a resource.
    Allowed,
    /// A resource is barred to a person, or to all in a group.
    Barred,
    /// A resource lies in a resource; the outer one first.
    Contains,
}

impl Tie {
    /// The labels of both ends, and the type.
    fn pattern(self) -> [&'static str; 3] {
        match self {
            Tie::Member => ["Principal", "MEMBER_OF", "Principal"],
            Tie::Allowed => ["Principal", "ALLOWED", "Resource"],
            Tie::Barred => ["Principal", "BARRED", "Resource"],
            Tie::Contains => ["Resource", "CONTAINS", "Resource"],
        }
    }
}

/// A graph of people, groups and resources, with the rules of access.
pub struct Access {
    database: Database,
    session: Session,
}

/// A resource that a person may reach now (1), or may not any more (-1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessChange {
    /// Who.
    pub person: String,
    /// The resource.
    pub resource: String,
    /// 1 or -1.
    pub difference: i64,
}

impl Access {
    /// The rights in this folder, or in memory.
    ///
    /// # Errors
    /// The folder cannot be opened, or holds something else.
    pub fn open(folder: Option<&Path>) -> Result<Access, Error> {
        let database = ask::open(folder, Options::default())?;
        let mut session = database.session();
        for (name, label) in [("principal", "Principal"), ("resource", "Resource"), ("person", "Person")] {
            let rule =
                format!("CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{label}) REQUIRE n.name IS UNIQUE");
            run(&mut session, &rule, params! {})?;
        }
        let kept = format!(
            "CREATE STANDING QUERY access AS DATALOG {{ asked(u) :- Person(u). {RULES} ?- answer(person, resource). }}"
        );
        keep(&mut session, "access", NAMES, &kept)?;
        Ok(Access { database, session })
    }
    /// Adds a person, who may reach nothing.
    ///
    /// # Errors
    /// There is a person or a group of that name.
    pub fn hire(&mut self, person: &str) -> Result<(), Error> {
        run(&mut self.session, "CREATE (:Principal:Person {name: $name})", params! { "name" => person })
    }
    /// Takes a person away with all ties.
    ///
    /// # Errors
    /// The disk fails.
    pub fn dismiss(&mut self, person: &str) -> Result<(), Error> {
        run(&mut self.session, "MATCH (p:Person {name: $name}) DETACH DELETE p", params! { "name" => person })
    }
    /// Ties two by their names; groups and resources that are not there are made.
    ///
    /// # Errors
    /// The disk fails.
    pub fn tie(&mut self, from: &str, tie: Tie, to: &str) -> Result<(), Error> {
        let [first, kind, second] = tie.pattern();
        let text = format!(
            "MERGE (a:{first} {{name: $a}}) MERGE (b:{second} {{name: $b}}) MERGE (a)-[:{kind}]->(b)"
        );
        run(&mut self.session, &text, params! { "a" => from, "b" => to })
    }
    /// Ties many at once, in one commit.
    ///
    /// # Errors
    /// The disk fails.
    pub fn tie_all(&mut self, tie: Tie, pairs: &[(String, String)]) -> Result<(), Error> {
        let [first, kind, second] = tie.pattern();
        let text = format!(
            "UNWIND $pairs AS pair MERGE (a:{first} {{name: pair[0]}}) MERGE (b:{second} {{name: pair[1]}}) \
             MERGE (a)-[:{kind}]->(b)"
        );
        let pair = |(a, b): &(String, String)| {
            Value::list(vec![Value::string(a.as_str()), Value::string(b.as_str())])
        };
        run(&mut self.session, &text, params! { "pairs" => Value::list(pairs.iter().map(pair).collect()) })
    }
    /// Unties two; true if they were tied.
    ///
    /// # Errors
    /// The disk fails.
    pub fn untie(&mut self, from: &str, tie: Tie, to: &str) -> Result<bool, Error> {
        let [first, kind, second] = tie.pattern();
        let text = format!(
            "MATCH (:{first} {{name: $a}})-[t:{kind}]->(:{second} {{name: $b}}) DELETE t RETURN count(*)"
        );
        Ok(ask::number(&mut self.session, &text, params! { "a" => from, "b" => to })? > 0)
    }
    /// The resources that a person may reach, computed anew.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn reach_of(&mut self, person: &str) -> Result<Vec<String>, Error> {
        let program = format!(
            "DATALOG {{ asked(u) :- Person.name(u, $person). {RULES} ?- answer($person, resource). }}"
        );
        let mut found: Vec<String> = rows(&mut self.session, &program, params! { "person" => person })?
            .iter()
            .map(|row| text(row, 0))
            .collect();
        found.sort_unstable();
        Ok(found)
    }
    /// May a person reach a resource? Asked anew.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn may(&mut self, person: &str, resource: &str) -> Result<bool, Error> {
        Ok(self.reach_of(person)?.binary_search_by(|one| one.as_str().cmp(resource)).is_ok())
    }
    /// Subscribes to changes; with `with_all`, the current answer comes first.
    ///
    /// # Errors
    /// The standing query was dropped.
    pub fn watch(&self, with_all: bool) -> Result<Told<AccessChange>, Error> {
        Told::begin(&self.database, "access", with_all, |difference, row| AccessChange {
            person: text(row, 0),
            resource: text(row, 1),
            difference,
        })
    }
}
