//! Which values the queries are asked with: rules over the data, so that every run on the same data asks the same.
//!
//! A rule is a query of one row and one column ([`FACTS`]); ties go to the smaller name or id. All engines get the values that our engine finds.

use super::queries::Query;
use crate::ldbc::answers;
use crate::store::told;
use database::{Params, Session, Value};
use serde_json::{Map, Value as Json};

/// Facts about the data by name, each with its rule. Dates are milliseconds since 1970.
const FACTS: &[(&str, &str)] = &[
    // Moments: the time by which this part of all messages, forums or friendships had come.
    ("half of all messages", "MATCH (m:Message) RETURN percentileDisc(m.creationDate, 0.5)"),
    ("nine tenths of all messages", "MATCH (m:Message) RETURN percentileDisc(m.creationDate, 0.9)"),
    (
        "90 days after half of all messages",
        "MATCH (m:Message) RETURN percentileDisc(m.creationDate, 0.5) + 90 * 86400000",
    ),
    ("a tenth of all forums", "MATCH (f:Forum) RETURN percentileDisc(f.creationDate, 0.1)"),
    ("a quarter of all forums", "MATCH (f:Forum) RETURN percentileDisc(f.creationDate, 0.25)"),
    ("three quarters of all forums", "MATCH (f:Forum) RETURN percentileDisc(f.creationDate, 0.75)"),
    ("a tenth of all friendships", "MATCH ()-[k:KNOWS]->() RETURN percentileDisc(k.creationDate, 0.1)"),
    ("nine tenths of all friendships", "MATCH ()-[k:KNOWS]->() RETURN percentileDisc(k.creationDate, 0.9)"),
    // Tags and their classes by the messages that have them.
    (
        "most used tag",
        "MATCH (t:Tag)<-[:HAS_TAG]-(:Message) WITH t.name AS name, count(*) AS n ORDER BY n DESC, name LIMIT 1 RETURN name",
    ),
    (
        "second tag",
        "MATCH (t:Tag)<-[:HAS_TAG]-(:Message) WITH t.name AS name, count(*) AS n ORDER BY n DESC, name SKIP 1 LIMIT 1 RETURN name",
    ),
    (
        "third tag",
        "MATCH (t:Tag)<-[:HAS_TAG]-(:Message) WITH t.name AS name, count(*) AS n ORDER BY n DESC, name SKIP 2 LIMIT 1 RETURN name",
    ),
    (
        "most used class of tags",
        "MATCH (c:TagClass)<-[:HAS_TYPE]-(:Tag)<-[:HAS_TAG]-(:Message) \
         WITH c.name AS name, count(*) AS n ORDER BY n DESC, name LIMIT 1 RETURN name",
    ),
    (
        "tag with the most interested persons",
        "MATCH (t:Tag)<-[:HAS_INTEREST]-() WITH t.name AS name, count(*) AS n ORDER BY n DESC, name LIMIT 1 RETURN name",
    ),
    // Tags by the messages of their busiest day.
    (
        "tag with the busiest day",
        "MATCH (t:Tag)<-[:HAS_TAG]-(m:Message) WITH t.name AS name, m.creationDate / 86400000 AS day, count(*) AS n \
         WITH name, max(n) AS most ORDER BY most DESC, name LIMIT 1 RETURN name",
    ),
    (
        "its busiest day",
        "MATCH (t:Tag)<-[:HAS_TAG]-(m:Message) WITH t.name AS name, m.creationDate / 86400000 AS day, count(*) AS n \
         ORDER BY n DESC, name, day LIMIT 1 RETURN day * 86400000",
    ),
    (
        "tag with the second busiest day",
        "MATCH (t:Tag)<-[:HAS_TAG]-(m:Message) WITH t.name AS name, m.creationDate / 86400000 AS day, count(*) AS n \
         WITH name, max(n) AS most ORDER BY most DESC, name SKIP 1 LIMIT 1 RETURN name",
    ),
    (
        "second tag's busiest day",
        "MATCH (t:Tag)<-[:HAS_TAG]-(m:Message) WITH t.name AS name, m.creationDate / 86400000 AS day, count(*) AS n \
         ORDER BY n DESC, day WITH name, collect([n, day])[0] AS best ORDER BY best[0] DESC, name SKIP 1 LIMIT 1 RETURN best[1] * 86400000",
    ),
    // Places by their inhabitants, languages by their posts.
    (
        "largest country",
        "MATCH (c:Country)<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(:Person) \
         WITH c.name AS name, count(*) AS n ORDER BY n DESC, name LIMIT 1 RETURN name",
    ),
    (
        "second country",
        "MATCH (c:Country)<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(:Person) \
         WITH c.name AS name, count(*) AS n ORDER BY n DESC, name SKIP 1 LIMIT 1 RETURN name",
    ),
    (
        "largest city",
        "MATCH (c:City)<-[:IS_LOCATED_IN]-(:Person) WITH c.id AS id, count(*) AS n ORDER BY n DESC, id LIMIT 1 RETURN id",
    ),
    (
        "second city",
        "MATCH (c:City)<-[:IS_LOCATED_IN]-(:Person) WITH c.id AS id, count(*) AS n ORDER BY n DESC, id SKIP 1 LIMIT 1 RETURN id",
    ),
    (
        "two languages",
        "MATCH (p:Post) WHERE p.language IS NOT NULL WITH p.language AS name, count(*) AS n ORDER BY n DESC, name LIMIT 2 RETURN collect(name)",
    ),
    // Persons by their friends.
    (
        "person with a middling number of friends",
        "MATCH (p:Person)-[:KNOWS]-() WITH p.id AS id, count(*) AS n ORDER BY n, id WITH collect(id) AS ids RETURN ids[size(ids) / 2]",
    ),
    (
        "person with the most friends",
        "MATCH (p:Person)-[:KNOWS]-() WITH p.id AS id, count(*) AS n ORDER BY n DESC, id LIMIT 1 RETURN id",
    ),
    (
        "person who is farthest from the one with the most friends",
        "MATCH (p:Person)-[:KNOWS]-() WITH p, count(*) AS n ORDER BY n DESC, p.id LIMIT 1 \
         CALL graph.bfs({source: p, types: 'KNOWS', direction: 'both'}) YIELD node, distance \
         WITH node.id AS id, distance ORDER BY distance DESC, id LIMIT 1 RETURN id",
    ),
    // A company with employees who are two steps away from somebody else over friends who studied together, and the first such person.
    (
        "company",
        "MATCH (c:Company)<-[:WORK_AT]-(one:Person)-[:STUDIED]-()-[:STUDIED]-(p:Person) \
         WHERE p <> one AND NOT EXISTS { (p)-[:WORK_AT]->(c) } \
         WITH c.name AS name, count(DISTINCT one) AS n ORDER BY n DESC, name LIMIT 1 RETURN name",
    ),
    (
        "person near the company",
        "MATCH (c:Company)<-[:WORK_AT]-(one:Person)-[:STUDIED]-()-[:STUDIED]-(p:Person) \
         WHERE p <> one AND NOT EXISTS { (p)-[:WORK_AT]->(c) } \
         WITH c.name AS name, count(DISTINCT one) AS n, min(p.id) AS id ORDER BY n DESC, name LIMIT 1 RETURN id",
    ),
    // Numbers that the benchmark's description suggests.
    ("length of a short message", "RETURN 100"),
    ("friends at most", "RETURN 4"),
    ("hours until a discussion", "RETURN 12"),
];

/// The parameters of a query by name, and the fact that each takes its value from.
fn rules(query: &str) -> &'static [(&'static str, &'static str)] {
    match query {
        "q1" => &[("datetime", "nine tenths of all messages")],
        "q2" => &[("date", "half of all messages"), ("tagClass", "most used class of tags")],
        "q3" => &[("tagClass", "most used class of tags"), ("country", "largest country")],
        "q4" => &[("date", "a tenth of all forums")],
        "q5" => &[("tag", "most used tag")],
        "q6" => &[("tag", "second tag")],
        "q7" => &[("tag", "third tag")],
        "q8" => &[
            ("tag", "most used tag"),
            ("startDate", "half of all messages"),
            ("endDate", "nine tenths of all messages"),
        ],
        "q9" => &[("startDate", "half of all messages"), ("endDate", "90 days after half of all messages")],
        "q10" => &[
            ("personId", "person with a middling number of friends"),
            ("country", "largest country"),
            ("tagClass", "most used class of tags"),
        ],
        "q11" => &[
            ("country", "largest country"),
            ("startDate", "a tenth of all friendships"),
            ("endDate", "nine tenths of all friendships"),
        ],
        "q12" => &[
            ("startDate", "half of all messages"),
            ("lengthThreshold", "length of a short message"),
            ("languages", "two languages"),
        ],
        "q13" => &[("country", "largest country"), ("endDate", "nine tenths of all messages")],
        "q14" => &[("country1", "largest country"), ("country2", "second country")],
        "q15" => &[
            ("person1Id", "person with the most friends"),
            ("person2Id", "person who is farthest from the one with the most friends"),
            ("startDate", "a quarter of all forums"),
            ("endDate", "three quarters of all forums"),
        ],
        "q16" => &[
            ("tagA", "tag with the busiest day"),
            ("dateA", "its busiest day"),
            ("tagB", "tag with the second busiest day"),
            ("dateB", "second tag's busiest day"),
            ("maxKnowsLimit", "friends at most"),
        ],
        "q17" => &[("tag", "most used tag"), ("delta", "hours until a discussion")],
        "q18" => &[("tag", "tag with the most interested persons")],
        "q19" => &[("city1Id", "largest city"), ("city2Id", "second city")],
        "q20" => &[("company", "company"), ("person2Id", "person near the company")],
        _ => &[],
    }
}

/// The values that this query is asked with.
///
/// # Errors
/// A rule failed, or the data has no such value.
pub fn of(query: &Query, session: &mut Session) -> Result<Params, String> {
    rules(query.name).iter().map(|(name, fact)| Ok(((*name).into(), value(fact, session)?))).collect()
}

/// The same values as the peers read them.
pub fn to_json(parameters: &Params) -> Map<String, Json> {
    parameters.iter().map(|(name, value)| (name.to_string(), answers::plain(value))).collect()
}

fn value(fact: &str, session: &mut Session) -> Result<Value, String> {
    let text = FACTS.iter().find(|(name, _)| *name == fact).map(|(_, text)| *text);
    let text = text.ok_or_else(|| format!("there is no rule for `{fact}`"))?;
    let rows = session.query(text, Params::new()).and_then(|result| result.rows());
    let rows = rows.map_err(|error| format!("{fact}: {}", told(&error)))?;
    let value = rows.first().and_then(|row| row.first()).filter(|value| !value.is_null()).cloned();
    value.ok_or_else(|| format!("the data has no `{fact}`"))
}

#[cfg(test)]
mod tests {
    use super::super::queries::QUERIES;
    use super::*;
    use std::collections::HashSet;

    /// The names behind a `$` in a text.
    fn used(text: &str) -> HashSet<&str> {
        let is_other = |letter: char| !letter.is_ascii_alphanumeric();
        text.split('$').skip(1).map(|part| &part[..part.find(is_other).unwrap_or(part.len())]).collect()
    }

    #[test]
    fn every_parameter_of_a_text_has_a_rule_and_every_rule_a_fact() {
        for query in QUERIES {
            let known: HashSet<&str> = rules(query.name).iter().map(|(name, _)| *name).collect();
            for text in [query.cypher, query.sql, query.kuzu] {
                assert!(used(text).is_subset(&known), "{}: {:?} of {known:?}", query.name, used(text));
            }
            for (_, fact) in rules(query.name) {
                assert!(FACTS.iter().any(|(name, _)| name == fact), "{fact}");
            }
        }
    }
}
