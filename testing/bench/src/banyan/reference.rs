//! Right answers, computed from the bare relations by nothing but sets.

use super::{numbers, told, whole};
use database::{Session, params};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The relations that the queries read.
pub(crate) struct Reference {
    knows: HashMap<i64, Vec<i64>>,
    works_at: HashMap<i64, Vec<i64>>,
    /// Persons who created a message with a tag of the class.
    writers: HashSet<i64>,
}

impl Reference {
    /// Reads the relations edge by edge, without any of the means that the queries use.
    pub fn read(session: &mut Session) -> Result<Reference, String> {
        let knows = pairs(session, "MATCH (a:Person)-[:KNOWS]-(b:Person) RETURN a.id, b.id")?;
        let works_at = pairs(session, "MATCH (a:Person)-[:WORK_AT]->(b:Company) RETURN a.id, b.id")?;
        let writers = numbers(
            session,
            "MATCH (class:TagClass)<-[:HAS_TYPE]-(tag:Tag)<-[:HAS_TAG]-(message)-[:HAS_CREATOR]->(person:Person)
             WHERE class.name CONTAINS 'Country' RETURN DISTINCT person.id",
            params! {},
        )?;
        Ok(Reference { knows, works_at, writers: writers.into_iter().collect() })
    }

    /// Persons whose numbers of friends are spread evenly over all that there are.
    pub fn persons(&self, count: usize) -> Vec<i64> {
        let works = |person: &&i64| self.works_at.contains_key(*person);
        let mut all: Vec<(usize, i64)> =
            self.knows.keys().filter(works).map(|person| (self.knows[person].len(), *person)).collect();
        all.sort_unstable();
        let step = (all.len() / count).max(1);
        all.iter().skip(step / 2).step_by(step).map(|(_, person)| *person).take(count).collect()
    }

    fn friends(&self, person: i64) -> &[i64] {
        self.knows.get(&person).map_or(&[], Vec::as_slice)
    }
    /// Who is met at each number of steps, walking back and forth at will; only over persons that pass.
    fn levels(&self, person: i64, steps: usize, passes: impl Fn(i64) -> bool) -> Vec<BTreeSet<i64>> {
        let mut levels = vec![BTreeSet::from([person])];
        for _ in 0..steps {
            let last = levels.last().expect("the person itself");
            let next = last.iter().flat_map(|person| self.friends(*person)).copied();
            levels.push(next.filter(|person| passes(*person)).collect());
        }
        levels
    }
    fn within(&self, person: i64, steps: usize) -> BTreeSet<i64> {
        self.levels(person, steps, |_| true).into_iter().skip(1).flatten().collect()
    }
    fn colleagues(&self, person: i64, among: BTreeSet<i64>) -> BTreeSet<i64> {
        let own: HashSet<i64> = self.works_at.get(&person).into_iter().flatten().copied().collect();
        let shares = |other: &i64| self.works_at.get(other).into_iter().flatten().any(|at| own.contains(at));
        among.into_iter().filter(shares).collect()
    }

    /// Everyone that the query may answer with.
    pub fn answer(&self, query: &str, person: i64) -> BTreeSet<i64> {
        let writes = |person: &i64| self.writers.contains(person);
        match query {
            "CQ1" => self.levels(person, 5, |_| true).swap_remove(5),
            "CQ2" => self.colleagues(person, self.within(person, 5)),
            "CQ3" | "CQ3 unordered" => self.within(person, 2).into_iter().filter(writes).collect(),
            "CQ4" => {
                let meets = |friend: &i64| !self.colleagues(person, self.within(*friend, 4)).is_empty();
                self.friends(person).iter().copied().filter(meets).collect()
            }
            "CQ5" => self.colleagues(person, self.within(person, 5)).into_iter().filter(writes).collect(),
            _ => self.levels(person, 5, |person| self.writers.contains(&person)).swap_remove(5),
        }
    }

    /// Compares these rows with the right answer, of which `wanted` rows were requested.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, query: &str, person: i64, wanted: i64, rows: &[i64]) -> Result<(), String> {
        let right = self.answer(query, person);
        let count = right.len().min(wanted as usize);
        let distinct: BTreeSet<i64> = rows.iter().copied().collect();
        let is_right = match query {
            "CQ3" if wanted < i64::MAX => rows.iter().eq(right.iter().take(count)),
            _ => distinct.len() == rows.len() && rows.len() == count && distinct.is_subset(&right),
        };
        if is_right {
            return Ok(());
        }
        Err(format!(
            "{query} about {person}: {} rows are not {count} of the {} right ones",
            rows.len(),
            right.len()
        ))
    }
}

fn pairs(session: &mut Session, text: &str) -> Result<HashMap<i64, Vec<i64>>, String> {
    let rows = session.query(text, params! {}).and_then(|result| result.rows()).map_err(told)?;
    let mut pairs: HashMap<i64, Vec<i64>> = HashMap::new();
    for row in &rows {
        pairs.entry(whole(&row[0])?).or_default().push(whole(&row[1])?);
    }
    Ok(pairs)
}
