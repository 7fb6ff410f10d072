//! Each privilege by each way in: without it, refused; with it, done.

use super::{FORBIDDEN, code, database, restricted, rows, run};
use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Error, Params, Session};

fn gremlin(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let mut answer = session.gremlin_text(text, &Params::new(), &GremlinOptions::default())?;
    while answer.next_objects()?.is_some() {}
    Ok(Vec::new())
}

type Ask = fn(&mut Session, &str) -> Result<Vec<String>, Error>;

/// What is granted, how it is asked, and the text.
const CASES: &[(&str, Ask, &str)] = &[
    ("CREATE ON GRAPH * NODES A", rows, "CREATE (:A)"),
    ("CREATE ON GRAPH * NODES A", gremlin, "g.addV('A')"),
    ("CREATE ON GRAPH * RELATIONSHIPS T", rows, "MATCH (a:A), (b:B) CREATE (a)-[:T]->(b)"),
    ("CREATE ON GRAPH * RELATIONSHIPS T", gremlin, "g.V().hasLabel('A').addE('T').to(__.V().hasLabel('B'))"),
    ("DELETE ON GRAPH * NODES C", rows, "MATCH (n:C) DELETE n"),
    ("DELETE ON GRAPH * NODES C", gremlin, "g.V().hasLabel('C').drop()"),
    ("DELETE ON GRAPH * RELATIONSHIPS T", rows, "MATCH ()-[r:T]->() DELETE r"),
    ("DELETE ON GRAPH * RELATIONSHIPS T", gremlin, "g.E().hasLabel('T').drop()"),
    ("SET PROPERTY {p} ON GRAPH * NODES A", rows, "MATCH (n:A) SET n.p = 1"),
    ("SET PROPERTY {p} ON GRAPH * NODES A", gremlin, "g.V().hasLabel('A').property('p', 1)"),
    ("SET PROPERTY {p} ON GRAPH * RELATIONSHIPS T", rows, "MATCH ()-[r:T]->() SET r.p = 1"),
    ("SET PROPERTY {p} ON GRAPH * RELATIONSHIPS T", gremlin, "g.E().hasLabel('T').property('p', 1)"),
    ("SET LABEL B ON GRAPH *", rows, "MATCH (n:A) SET n:B"),
    ("REMOVE LABEL A ON GRAPH *", rows, "MATCH (n:A) REMOVE n:A"),
    ("WRITE ON GRAPH *", rows, "UNWIND [1] AS x CALL (x) { CREATE (:A {p: x}) } IN TRANSACTIONS"),
    ("INDEX MANAGEMENT ON DATABASE *", rows, "CREATE INDEX i FOR (n:A) ON (n.p)"),
    ("CONSTRAINT MANAGEMENT ON DATABASE *", rows, "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.p IS UNIQUE"),
    ("TRANSACTION MANAGEMENT ON DATABASE *", rows, "SHOW TRANSACTIONS"),
    ("TRANSACTION MANAGEMENT ON DATABASE *", rows, "SHOW QUERIES"),
    ("TRANSACTION MANAGEMENT ON DATABASE *", rows, "KILL QUERY 'query-77'"),
    ("STANDING QUERY MANAGEMENT ON DATABASE *", rows, "CREATE STANDING QUERY s AS MATCH (n:A) RETURN n.p"),
    ("PROGRAM MANAGEMENT ON DATABASE *", rows, "DROP PROGRAM mine IF EXISTS"),
    (
        "EXECUTE PROCEDURE program.reach ON DBMS",
        rows,
        "MATCH (a:A) CALL Program.Reach(a) YIELD node RETURN node",
    ),
    ("EXECUTE PROCEDURE program.reach ON DBMS", gremlin, "g.V().hasLabel('A').call('program.reach')"),
    ("SUBSCRIBE ON DATABASE *", rows, "SHOW STANDING QUERIES"),
    ("EXECUTE PROCEDURE db.labels ON DBMS", rows, "CALL db.labels()"),
    ("EXECUTE PROCEDURE db.labels ON DBMS", rows, "CALL DB.LABELS()"),
    (
        "EXECUTE PROCEDURE * ON DBMS",
        rows,
        "MATCH (n) WHERE EXISTS { CALL db.ping() YIELD success RETURN success } RETURN n",
    ),
    ("USER MANAGEMENT ON DBMS", rows, "CREATE USER u SET PASSWORD 'long enough'"),
    ("USER MANAGEMENT ON DBMS", rows, "SHOW USERS"),
    ("ROLE MANAGEMENT ON DBMS", rows, "CREATE ROLE r"),
    ("ROLE MANAGEMENT ON DBMS", rows, "SHOW ROLES"),
    ("ROLE MANAGEMENT ON DBMS", rows, "SHOW PRIVILEGES"),
    ("TENANT MANAGEMENT ON DBMS", rows, "CREATE TENANT t"),
    ("TENANT MANAGEMENT ON DBMS", rows, "SHOW TENANTS"),
    ("SHOW SETTING * ON DBMS", rows, "SHOW SETTINGS"),
    ("SHOW SETTING * ON DBMS", rows, "CALL dbms.listConfig()"),
];

#[test]
fn what_is_not_granted_is_refused_by_every_way_in() {
    for (privilege, ask, text) in CASES {
        let database = database();
        run(&database, &["CREATE (:A {p: 0})-[:T]->(:B), (:C)", "MATCH (n:C) SET n.p = 1 REMOVE n.p"]);
        let sees = "GRANT MATCH {*} ON GRAPH * TO restricted";
        let public = "REVOKE EXECUTE PROCEDURE * ON DBMS FROM PUBLIC";
        let mut guest = restricted(&database, &[sees, public]);
        assert_eq!(code(ask(&mut guest, text)), FORBIDDEN, "without a privilege: {text}");
        run(&database, &[&format!("GRANT {privilege} TO restricted")]);
        ask(&mut guest, text).unwrap_or_else(|error| panic!("{privilege}: {text}\n{error:?}"));
        run(&database, &["CREATE (:A)-[:T]->(:B), (:C)"]);
        run(&database, &[&format!("DENY {privilege} TO restricted")]);
        assert_eq!(code(ask(&mut guest, text)), FORBIDDEN, "denied: {text}");
    }
}

/// A program that was deployed is one procedure to privileges, however its call is written.
#[test]
fn a_deployed_program_is_called_by_who_may() {
    let database = database();
    let public = "REVOKE EXECUTE PROCEDURE * ON DBMS FROM PUBLIC";
    let mut guest = restricted(&database, &["GRANT EXECUTE PROCEDURE * ON DBMS TO restricted", public]);
    let ask = ["CALL program.mine()", "CALL Program.mine()", "CALL PROGRAM.mine() YIELD node RETURN node"];
    let absent = "Neo.ClientError.Procedure.ProcedureCallFailed";
    ask.iter().for_each(|text| assert_eq!(code(rows(&mut guest, text)), absent, "{text}"));
    run(&database, &["DENY EXECUTE PROCEDURE Program.mine ON DBMS TO restricted"]);
    ask.iter().for_each(|text| assert_eq!(code(rows(&mut guest, text)), FORBIDDEN, "{text}"));
    assert_eq!(code(rows(&mut guest, "CALL program.other()")), absent);
}

#[test]
fn names_that_are_new_files_backups_and_standing_queries_have_their_own_rules() {
    let database = database();
    run(&database, &["CREATE (:A {p: 0})", "CREATE STANDING QUERY s AS MATCH (n:A) RETURN n.p"]);
    let write = ["GRANT WRITE ON GRAPH * TO restricted", "GRANT EXECUTE PROCEDURE * ON DBMS TO restricted"];
    let mut guest = restricted(&database, &write);
    run(&database, &["GRANT INDEX MANAGEMENT ON DATABASE * TO restricted"]);
    for new in [
        "CREATE INDEX FOR (n:New) ON (n.p)",
        "CREATE INDEX FOR (n:A) ON (n.fresh)",
        "CREATE (:New)",
        "CREATE (:A {fresh: 1})",
        "CREATE (:A)-[:NEW]->(:A)",
    ] {
        assert_eq!(code(rows(&mut guest, new)), FORBIDDEN, "{new}");
    }
    assert_eq!(code(gremlin(&mut guest, "g.addV('New')")), FORBIDDEN);
    run(&database, &["GRANT NAME MANAGEMENT ON DATABASE * TO restricted"]);
    assert_eq!(code(rows(&mut guest, "CREATE (:New {fresh: 1})-[:NEW]->(:A)")), "[]");
    run(&database, &["DENY CREATE ON GRAPH * NODES A TO restricted"]);
    assert_eq!(code(rows(&mut guest, "MERGE (:A {p: 7})")), FORBIDDEN);
    let load = "LOAD CSV FROM 'x.csv' AS row RETURN row";
    assert_eq!(code(rows(&mut guest, load)), FORBIDDEN);
    let program = ".input f(2, 'x.csv') ?- f(a, b).";
    assert_eq!(guest.datalog(program, Params::new()).map(|_| ()).unwrap_err().code, FORBIDDEN);
    run(&database, &["GRANT LOAD ON ALL DATA TO restricted"]);
    assert_ne!(code(rows(&mut guest, load)), FORBIDDEN);
    assert_eq!(code(rows(&mut guest, "CALL dbms.backup('x')")), FORBIDDEN);
    assert_eq!(code(rows(&mut guest, "EXPORT DATABASE 'x'")), FORBIDDEN);
    assert_eq!(code(rows(&mut guest, "CALL dbms.setHistory('1d')")), FORBIDDEN);
    // Who does not see everything follows what it sees, and changes nothing that others follow.
    assert_eq!(code(rows(&mut guest, "SHOW STANDING QUERIES")), FORBIDDEN);
    run(&database, &["GRANT SUBSCRIBE ON DATABASE * TO restricted"]);
    let sizes = "SHOW STANDING QUERIES YIELD name, rows, bytes RETURN name, rows, bytes";
    assert_eq!(rows(&mut guest, sizes).unwrap(), ["[String(\"s\"), Null, Null]"]);
    run(&database, &["GRANT STANDING QUERY MANAGEMENT ON DATABASE * TO restricted"]);
    assert_eq!(code(rows(&mut guest, "DROP STANDING QUERY s")), FORBIDDEN);
    run(&database, &["GRANT MATCH {*} ON GRAPH * TO restricted"]);
    let mut told = guest.query("SUBSCRIBE TO s", Params::new()).unwrap();
    assert!(told.next_batch().unwrap().is_some());
    run(&database, &["DENY READ {p} ON GRAPH * NODES A TO restricted"]);
    let ended = loop {
        match told.next_batch() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(ended.code, "Neo.ClientError.Security.AuthorizationExpired");
    let mut told = guest.query("SUBSCRIBE TO s SNAPSHOT", Params::new()).unwrap();
    assert!(told.next_batch().unwrap().is_some(), "what is left to see");
    run(&database, &["DENY SUBSCRIBE ON DATABASE * TO restricted"]);
    let ended = loop {
        if let Err(error) = told.next_batch() {
            break error;
        }
    };
    assert_eq!(ended.code, FORBIDDEN);
}
