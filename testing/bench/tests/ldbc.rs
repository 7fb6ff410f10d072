//! The interactive workload on a graph of four persons, small enough to work out every row by hand.
//!
//! ```text
//! Ada (Reykjavik) --100-- Bob (Oslo) --200-- Cem (Oslo)      Dan (Oslo), alone
//! forum 50 `Wall`, moderator Ada: post 1001 `hello` (tag Bach), post 1002 (a picture), both by Ada
//! 1001 <- 1101 `nice` by Bob at 400 <- 1102 `really` by Cem at 500;  1001 <- 1103 `ok` by Cem at 450
//! ```

use database::{Database, MEMORY, Options, Params, Session, Value, params};
use serde_json::{Value as Json, json};
use tanglewood_bench::ldbc::{COMPLEX, SHORT, UPDATES, answers};

const GRAPH: &str = "
CREATE (iceland:Place:Country {id: 1, name: 'Iceland'}), (norway:Place:Country {id: 2, name: 'Norway'}),
       (reykjavik:Place:City {id: 11, name: 'Reykjavik'})-[:IS_PART_OF]->(iceland),
       (oslo:Place:City {id: 12, name: 'Oslo'})-[:IS_PART_OF]->(norway),
       (:Organisation:University {id: 21, name: 'HI'})-[:IS_LOCATED_IN]->(reykjavik),
       (air:Organisation:Company {id: 22, name: 'Air'})-[:IS_LOCATED_IN]->(norway),
       (persons:TagClass {id: 81, name: 'Person'}),
       (bach:Tag {id: 70, name: 'Bach'})-[:HAS_TYPE]->(:TagClass {id: 80, name: 'Composer'})-[:IS_SUBCLASS_OF]->(persons),
       (:Tag {id: 71, name: 'Cello'})-[:HAS_TYPE]->(persons),
       (ada:Person {id: 1, firstName: 'Ada', lastName: 'L', gender: 'female', birthday: 7, creationDate: 9,
                    locationIP: '1.1.1.1', browserUsed: 'Firefox', speaks: ['is', 'en'], email: ['a@b']})-[:IS_LOCATED_IN]->(reykjavik),
       (bob:Person {id: 2, firstName: 'Bob', lastName: 'M'})-[:IS_LOCATED_IN]->(oslo),
       (cem:Person {id: 3, firstName: 'Cem', lastName: 'N', birthday: 8, creationDate: 10, gender: 'male', browserUsed: 'Chrome',
                    locationIP: '3.3.3.3', speaks: ['tr'], email: []})-[:IS_LOCATED_IN]->(oslo),
       (:Person {id: 4, firstName: 'Dan', lastName: 'O'})-[:IS_LOCATED_IN]->(oslo),
       (cem)-[:WORK_AT {workFrom: 2001}]->(air),
       (ada)-[:KNOWS {creationDate: 100}]->(bob), (cem)-[:KNOWS {creationDate: 200}]->(bob),
       (wall:Forum {id: 50, title: 'Wall', creationDate: 20})-[:HAS_MODERATOR]->(ada),
       (wall)-[:HAS_MEMBER {joinDate: 150}]->(bob),
       (hello:Post:Message {id: 1001, creationDate: 300, content: 'hello'})-[:HAS_CREATOR]->(ada),
       (picture:Post:Message {id: 1002, creationDate: 310, imageFile: 'p.jpg'})-[:HAS_CREATOR]->(ada),
       (wall)-[:CONTAINER_OF]->(hello), (wall)-[:CONTAINER_OF]->(picture), (hello)-[:HAS_TAG]->(bach),
       (nice:Comment:Message {id: 1101, creationDate: 400, content: 'nice'})-[:HAS_CREATOR]->(bob),
       (really:Comment:Message {id: 1102, creationDate: 500, content: 'really'})-[:HAS_CREATOR]->(cem),
       (ok:Comment:Message {id: 1103, creationDate: 450, content: 'ok'})-[:HAS_CREATOR]->(cem),
       (nice)-[:REPLY_OF]->(hello), (really)-[:REPLY_OF]->(nice), (ok)-[:REPLY_OF]->(hello),
       (bob)-[:LIKES {creationDate: 120300}]->(hello), (cem)-[:LIKES {creationDate: 60310}]->(picture)";

fn small() -> Session {
    let mut session = Database::open(MEMORY, Options::default()).unwrap().session();
    session.query(GRAPH, params! {}).unwrap().finish().unwrap();
    session
}

fn rows(session: &mut Session, text: &str, params: Params) -> Json {
    let rows = session.query(text, params).unwrap_or_else(|error| panic!("{error}\n{text}")).rows().unwrap();
    rows.iter().map(|row| row.iter().map(answers::plain).collect::<Json>()).collect()
}

#[test]
fn short_reads() {
    let mut session = small();
    let mut check = |number: usize, id: i64, expected: Json| {
        let name = if number <= 3 { "personId" } else { "messageId" };
        let found = rows(&mut session, SHORT[number - 1].text, params! { name => id });
        assert_eq!(found, expected, "IS{number} of {id}");
    };
    check(1, 1, json!([["Ada", "L", 7, "1.1.1.1", "Firefox", 11, "female", 9]]));
    check(2, 3, json!([[1102, "really", 500, 1001, 1, "Ada", "L"], [1103, "ok", 450, 1001, 1, "Ada", "L"]]));
    check(
        2,
        1,
        json!([[1002, "p.jpg", 310, 1002, 1, "Ada", "L"], [1001, "hello", 300, 1001, 1, "Ada", "L"]]),
    );
    check(2, 4, json!([]));
    check(3, 2, json!([[3, "Cem", "N", 200], [1, "Ada", "L", 100]]));
    check(4, 1002, json!([["p.jpg", 310]]));
    check(4, 1102, json!([["really", 500]]));
    check(5, 1102, json!([[3, "Cem", "N"]]));
    check(6, 1102, json!([[50, "Wall", 1, "Ada", "L"]]));
    check(6, 1002, json!([[50, "Wall", 1, "Ada", "L"]]));
    check(
        7,
        1001,
        json!([[1103, "ok", 450, 3, "Cem", "N", false], [1101, "nice", 400, 2, "Bob", "M", true]]),
    );
    check(7, 1102, json!([]));
}

#[test]
fn complex_reads_about_friends_and_messages() {
    let mut session = small();
    let mut check = |number: usize, params: Params, expected: Json| {
        assert_eq!(rows(&mut session, COMPLEX[number - 1].text, params), expected, "IC{number}");
    };
    let cem = json!([
        3,
        "N",
        2,
        8,
        10,
        "male",
        "Chrome",
        "3.3.3.3",
        [],
        ["tr"],
        "Oslo",
        [],
        [["Air", 2001, "Norway"]]
    ]);
    check(1, params! { "personId" => 1, "firstName" => "Cem" }, json!([cem]));
    check(1, params! { "personId" => 1, "firstName" => "Dan" }, json!([]));
    let latest = json!([
        [3, "Cem", "N", 1103, "ok", 450],
        [1, "Ada", "L", 1002, "p.jpg", 310],
        [1, "Ada", "L", 1001, "hello", 300]
    ]);
    check(2, params! { "personId" => 2, "maxDate" => 450 }, latest);
    check(
        7,
        params! { "personId" => 1 },
        json!([
            [2, "Bob", "M", 120_300, 1001, "hello", 2, false],
            [3, "Cem", "N", 60_310, 1002, "p.jpg", 1, true]
        ]),
    );
    check(
        8,
        params! { "personId" => 1 },
        json!([[3, "Cem", "N", 450, 1103, "ok"], [2, "Bob", "M", 400, 1101, "nice"]]),
    );
    check(
        9,
        params! { "personId" => 1, "maxDate" => 500 },
        json!([[3, "Cem", "N", 1103, "ok", 450], [2, "Bob", "M", 1101, "nice", 400]]),
    );
    check(
        11,
        params! { "personId" => 1, "countryName" => "Norway", "workFromYear" => 2002 },
        json!([[3, "Cem", "N", "Air", 2001]]),
    );
    check(11, params! { "personId" => 1, "countryName" => "Norway", "workFromYear" => 2001 }, json!([]));
    check(12, params! { "personId" => 2, "tagClassName" => "Person" }, json!([[3, "Cem", "N", ["Bach"], 1]]));
}

#[test]
fn complex_reads_about_ways_between_persons() {
    let mut session = small();
    let mut check = |number: usize, one: i64, other: i64, expected: Json| {
        let params = params! { "person1Id" => one, "person2Id" => other };
        assert_eq!(
            rows(&mut session, COMPLEX[number - 1].text, params),
            expected,
            "IC{number} {one} {other}"
        );
    };
    check(13, 1, 3, json!([[2]]));
    check(13, 3, 2, json!([[1]]));
    check(13, 1, 4, json!([[-1]]));
    check(13, 1, 1, json!([[0]]));
    check(13, 1, 99, json!([[-1]]));
    check(14, 1, 3, json!([[[1, 2, 3], 1.5]]));
    check(14, 1, 4, json!([]));
}

#[test]
fn updates_are_read_back() {
    let mut session = small();
    let ids = |ids: &[i64]| Value::list(ids.iter().map(|id| Value::Int(*id)).collect());
    let pairs = |id: i64, year: i64| Value::list(vec![ids(&[id, year])]);
    let mut run = |number: usize, params: Params, made: (u64, u64)| {
        let counters = session.query(UPDATES[number - 1].text, params).unwrap().finish().unwrap().counters;
        assert_eq!((counters.nodes_created, counters.relationships_created), made, "IU{number}");
    };
    run(
        1,
        params! {
            "personId" => 5, "firstName" => "Eve", "lastName" => "P", "gender" => "female", "birthday" => 1, "creationDate" => 600,
            "locationIP" => "5.5.5.5", "browserUsed" => "Opera", "cityId" => 12, "speaks" => Value::list(vec!["no".into()]),
            "emails" => Value::list(vec!["e@f".into()]), "tagIds" => ids(&[70, 71]), "studyAt" => pairs(21, 1999), "workAt" => pairs(22, 2003),
        },
        (1, 5),
    );
    run(2, params! { "personId" => 5, "postId" => 1001, "creationDate" => 610 }, (0, 1));
    run(3, params! { "personId" => 5, "commentId" => 1101, "creationDate" => 620 }, (0, 1));
    run(
        4,
        params! { "forumId" => 51, "title" => "Album", "creationDate" => 630, "moderatorId" => 5, "tagIds" => ids(&[71]) },
        (1, 2),
    );
    run(5, params! { "forumId" => 51, "personId" => 1, "joinDate" => 640 }, (0, 1));
    run(
        6,
        params! {
            "postId" => 1003, "imageFile" => "", "creationDate" => 650, "locationIP" => "5.5.5.5", "browserUsed" => "Opera", "language" => "no",
            "content" => "hei", "length" => 3, "authorId" => 5, "forumId" => 51, "countryId" => 2, "tagIds" => ids(&[]),
        },
        (1, 3),
    );
    run(
        7,
        params! {
            "commentId" => 1104, "creationDate" => 660, "locationIP" => "1.1.1.1", "browserUsed" => "Firefox", "content" => "hi",
            "length" => 2, "authorId" => 1, "countryId" => 1, "replyToId" => 1003, "tagIds" => ids(&[70]),
        },
        (1, 4),
    );
    run(8, params! { "person1Id" => 1, "person2Id" => 5, "creationDate" => 670 }, (0, 1));

    let mut read =
        |text: &str, expected: Json| assert_eq!(rows(&mut session, text, params! {}), expected, "{text}");
    read(
        "MATCH (p:Person {id: 5})-[:IS_LOCATED_IN]->(c), (p)-[s:STUDY_AT]->(u), (p)-[w:WORK_AT]->(o) \
         RETURN p.firstName, p.speaks, c.name, s.classYear, u.name, w.workFrom, o.name",
        json!([["Eve", ["no"], "Oslo", 1999, "HI", 2003, "Air"]]),
    );
    read(
        "MATCH (:Person {id: 5})-[:HAS_INTEREST]->(t) RETURN t.name ORDER BY t.name",
        json!([["Bach"], ["Cello"]]),
    );
    read(
        "MATCH (:Person {id: 5})-[l:LIKES]->(m) RETURN m.id, l.creationDate ORDER BY m.id",
        json!([[1001, 610], [1101, 620]]),
    );
    read(
        "MATCH (t)<-[:HAS_TAG]-(f:Forum {id: 51})-[:HAS_MODERATOR]->(p), (f)-[m:HAS_MEMBER]->(q) RETURN f.title, t.name, p.id, q.id, m.joinDate",
        json!([["Album", "Cello", 5, 1, 640]]),
    );
    read(
        "MATCH (f)-[:CONTAINER_OF]->(p:Message {id: 1003})-[:IS_LOCATED_IN]->(c) RETURN f.id, p.content, p.imageFile, c.name",
        json!([[51, "hei", null, "Norway"]]),
    );
    read(
        "MATCH (t)<-[:HAS_TAG]-(c:Message {id: 1104})-[:REPLY_OF]->(p) RETURN c:Comment AND c:Message, p.id, t.name",
        json!([[true, 1003, "Bach"]]),
    );
    let between = params! { "person1Id" => 5, "person2Id" => 3 };
    assert_eq!(rows(&mut session, COMPLEX[12].text, between), json!([[3]]));
}
