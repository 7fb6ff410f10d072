//! Roles and privileges, as users of every language meet them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "roles/matrix.rs"]
mod matrix;
#[path = "roles/random.rs"]
mod random;
#[path = "roles/twins.rs"]
mod twins;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tanglewood_database::{Database, Error, MEMORY, Options, Params, Session};

const PASSWORD: &str = "long enough";

fn database() -> Database {
    Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap()
}

/// Runs statements of somebody who may do everything.
fn run(database: &Database, statements: &[&str]) {
    let mut session = database.session();
    for statement in statements {
        let outcome = session.query(statement, Params::new()).and_then(|result| result.finish());
        outcome.unwrap_or_else(|error| panic!("{statement}\n{error:?}"));
    }
}

/// A session of a new user with the role `restricted`, which these statements make.
fn restricted(database: &Database, statements: &[&str]) -> Session {
    let user = format!("CREATE USER guest IF NOT EXISTS SET PASSWORD '{PASSWORD}'");
    run(database, &[&user, "CREATE ROLE restricted IF NOT EXISTS", "GRANT ROLE restricted TO guest"]);
    run(database, statements);
    session_of(database, "guest")
}

fn session_of(database: &Database, user: &str) -> Session {
    let credential = database.users().log_on(user, PASSWORD).unwrap().unwrap();
    let mut session = database.session();
    session.log_on(credential);
    session
}

fn rows(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let rows = session.query(text, Params::new())?.rows()?;
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    Ok(rows)
}

fn code(outcome: Result<Vec<String>, Error>) -> String {
    outcome.map_or_else(|error| error.code.to_string(), |rows| format!("{rows:?}"))
}

const FORBIDDEN: &str = "Neo.ClientError.Security.Forbidden";

#[test]
fn what_is_hidden_is_not_suggested_for_a_misspelt_name() {
    let database = database();
    run(&database, &["CREATE (:Secret {code: 1}), (:Shown {name: 'a'})"]);
    let grants = ["GRANT MATCH {name} ON GRAPH * NODES Shown TO restricted"];
    let mut guest = restricted(&database, &grants);
    let text = "MATCH (n:Secre) RETURN n.codee, n.nam";
    let told = |session: &mut Session| {
        let summary = session.query(text, Params::new()).unwrap().finish().unwrap();
        summary.notifications.iter().map(|one| one.description.to_string()).collect::<Vec<_>>().join(" ")
    };
    // The plan is one for all.
    for _ in 0..2 {
        let all = told(&mut database.session());
        assert!(all.contains("`Secret`") && all.contains("`code`") && all.contains("`name`"), "{all}");
        let seen = told(&mut guest);
        assert!(!seen.contains("Secret") && !seen.contains("`code`") && seen.contains("`name`"), "{seen}");
    }
}

/// Each of the names that are looked for may take a search through the graph: no more of them are than is needed for some.
#[test]
fn near_names_that_are_hidden_are_passed_over_as_far_as_a_few() {
    let database = database();
    let described = |session: &mut Session| {
        let summary = session.query("MATCH (n:Shown) RETURN n.colour", Params::new()).unwrap().finish();
        format!("{:?}", summary.unwrap().notifications)
    };
    run(
        &database,
        &["CREATE (:Shown {colouuur: 1})", "CREATE (:Hidden {colour1: 1, colour2: 1, colour3: 1})"],
    );
    run(&database, &["CREATE (:Hidden {colour4: 1, colour5: 1, colour6: 1, colour7: 1})"]);
    let mut guest = restricted(&database, &["GRANT MATCH {*} ON GRAPH * NODES Shown TO restricted"]);
    let told = described(&mut guest);
    assert!(told.contains("`colouuur`") && !told.contains("colour1"), "{told}");
    run(&database, &["CREATE (:Hidden {colour8: 1})"]);
    let mut guest = restricted(&database, &["GRANT MATCH {*} ON GRAPH * NODES Shown, Other TO restricted"]);
    let told = described(&mut guest);
    assert!(!told.contains("`colouuur`") && !told.contains("colour1"), "{told}");
}

#[test]
fn a_name_in_a_transaction_is_told_to_others_once_it_is_committed() {
    let database = database();
    run(&database, &["CREATE (:Shown {id: 1})"]);
    let grants = [
        "GRANT MATCH {*} ON GRAPH * NODES Shown TO restricted",
        "GRANT WRITE ON GRAPH * TO restricted",
        "GRANT NAME MANAGEMENT ON DATABASE * TO restricted",
    ];
    let mut writer = restricted(&database, &grants);
    let mut other = session_of(&database, "guest");
    let knows = |session: &mut Session| {
        // A text that was not planned yet, and one that was.
        let told = ["MATCH (n:Shown) RETURN n.fresh", "MATCH (n:Shown) RETURN n.id, n.fresh"].map(|text| {
            session.query(text, Params::new()).unwrap().finish().unwrap().notifications.is_empty()
        });
        assert_eq!(told[0], told[1]);
        told[0]
    };
    for (ends, is_known) in
        [(Session::rollback as fn(&mut Session) -> _, false), (|writer| writer.commit().map(drop), true)]
    {
        writer.begin(tanglewood_database::Mode::Write).unwrap();
        rows(&mut writer, "MATCH (n:Shown) SET n.fresh = 1").unwrap();
        assert!(knows(&mut writer));
        assert!(!knows(&mut other));
        ends(&mut writer).unwrap();
        assert_eq!(knows(&mut other), is_known);
    }
}

#[test]
fn the_picture_of_a_schema_shows_the_rarest_relationship_and_no_hidden_one() {
    let database = database();
    run(
        &database,
        &[
            "UNWIND range(1, 3000) AS i CREATE (:A {id: i})-[:LIKES]->(:B {id: i})",
            "MATCH (a:A {id: 1777}), (b:B {id: 1779}) CREATE (a)-[:RARE]->(b), (a)-[:RARE]->(:Denied)-[:LIKES]->(b)",
            "MATCH (a:A {id: 5}), (d:Denied) CREATE (a)-[:LIKES]->(d), (d)-[:VEILED]->(a), (a)-[:VEILED]->(d)",
        ],
    );
    let mut guest = restricted(
        &database,
        &["GRANT MATCH {*} ON GRAPH * TO restricted", "DENY TRAVERSE ON GRAPH * NODES Denied TO restricted"],
    );
    let ask = "CALL db.schema.visualization() YIELD relationships UNWIND relationships AS r \
        RETURN type(r), startNode(r).name, endNode(r).name";
    let told = rows(&mut guest, ask).unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("LIKES") && told[1].contains("RARE"), "{told:?}");
}

#[test]
fn a_user_without_roles_may_do_everything_until_one_is_granted() {
    let database = database();
    run(&database, &[&format!("CREATE USER guest SET PASSWORD '{PASSWORD}'"), "CREATE (:A {id: 1})"]);
    let mut guest = session_of(&database, "guest");
    assert_eq!(code(rows(&mut guest, "CREATE (:B)")), "[]");
    run(&database, &["GRANT ROLE reader TO guest"]);
    // The session that is open notices.
    assert_eq!(code(rows(&mut guest, "CREATE (:B)")), FORBIDDEN);
    assert_eq!(rows(&mut guest, "MATCH (n) RETURN count(n)").unwrap(), ["[Int(2)]"]);
    run(&database, &["REVOKE ROLE reader FROM guest"]);
    assert_eq!(rows(&mut guest, "MATCH (n) RETURN count(n)").unwrap(), ["[Int(0)]"]);
    // Who comes by the same name later has no roles of the one before.
    run(&database, &["DROP USER guest", &format!("CREATE USER guest SET PASSWORD '{PASSWORD}'")]);
    assert_eq!(rows(&mut session_of(&database, "guest"), "MATCH (n) RETURN count(n)").unwrap(), ["[Int(2)]"]);
}

/// Who may change users, and nothing else, gets no further by them.
#[test]
fn who_may_only_change_users_makes_nobody_who_may_more() {
    let database = database();
    let root = format!("CREATE USER root SET PASSWORD '{PASSWORD}'");
    run(&database, &["CREATE (:Secret {code: 1})", &root]);
    let mut manager = restricted(&database, &["GRANT USER MANAGEMENT ON DBMS TO restricted"]);
    let make = |name: &str| format!("CREATE USER {name} SET PASSWORD '{PASSWORD}'");
    assert!(rows(&mut manager, &make("eve")).is_ok());
    let look = "MATCH (s:Secret) RETURN s.code";
    assert_eq!(rows(&mut session_of(&database, "eve"), look).unwrap_or_default(), Vec::<String>::new());
    for text in [
        "ALTER USER root SET PASSWORD 'another one'",
        "ALTER USER root SET STATUS SUSPENDED",
        "DROP USER root",
    ] {
        assert_eq!(code(rows(&mut manager, text)), FORBIDDEN, "{text}");
    }
    // A name that was somebody's who might do everything is no way either.
    assert!(rows(&mut manager, "DROP USER eve").is_ok() && rows(&mut manager, &make("eve")).is_ok());
    assert_eq!(rows(&mut session_of(&database, "eve"), look).unwrap_or_default(), Vec::<String>::new());
    run(&database, &["GRANT ROLE reader TO eve"]);
    assert_eq!(rows(&mut session_of(&database, "eve"), look).unwrap().len(), 1);
}

#[test]
fn who_may_no_longer_act_as_another_ends_there() {
    let database = database();
    let other = format!("CREATE USER other SET PASSWORD '{PASSWORD}'");
    run(&database, &[&other, "GRANT ROLE publisher TO other"]);
    for taken in [
        "REVOKE IMPERSONATE (other) ON DBMS FROM restricted",
        "DENY IMPERSONATE (other) ON DBMS TO restricted",
    ] {
        let mut session = restricted(&database, &["GRANT IMPERSONATE (other) ON DBMS TO restricted"]);
        session.act_as(Some("other")).unwrap();
        session.begin(tanglewood_database::Mode::Write).unwrap();
        rows(&mut session, "CREATE (:Made)").unwrap();
        run(&database, &[taken]);
        assert_eq!(code(rows(&mut session, "RETURN 1")), FORBIDDEN, "{taken}");
        assert_eq!(session.commit().unwrap_err().code, FORBIDDEN, "{taken}");
        assert_eq!(rows(&mut database.session(), "MATCH (m:Made) RETURN count(m)").unwrap(), ["[Int(0)]"]);
    }
}

/// Whatever right a subscription was begun with, it ends when that is taken.
#[test]
fn a_subscription_of_who_acts_as_another_ends_with_any_right_that_it_needs() {
    let database = database();
    let other = format!("CREATE USER other SET PASSWORD '{PASSWORD}'");
    run(
        &database,
        &[&other, "CREATE (:A {id: 1})", "CREATE STANDING QUERY s AS MATCH (n:A) RETURN n.id AS id"],
    );
    run(&database, &["CREATE ROLE reads", "GRANT ROLE reads TO other"]);
    let grants = ["GRANT MATCH {*} ON GRAPH * TO reads", "GRANT SUBSCRIBE ON DATABASE * TO reads"];
    for (taken, code) in [
        ("REVOKE IMPERSONATE (other) ON DBMS FROM restricted", FORBIDDEN),
        ("DENY IMPERSONATE (*) ON DBMS TO restricted", FORBIDDEN),
        ("REVOKE SUBSCRIBE ON DATABASE * FROM reads", FORBIDDEN),
        ("DENY READ {id} ON GRAPH * NODES A TO reads", "Neo.ClientError.Security.AuthorizationExpired"),
        ("ALTER USER guest SET STATUS SUSPENDED", "Neo.ClientError.Security.AuthorizationExpired"),
    ] {
        run(&database, &grants);
        let mut session = restricted(&database, &["GRANT IMPERSONATE (other) ON DBMS TO restricted"]);
        session.act_as(Some("other")).unwrap();
        let mut told = session.query("SUBSCRIBE TO s SNAPSHOT", Params::new()).unwrap();
        assert!(told.next_batch().unwrap().is_some(), "{taken}");
        run(&database, &[taken]);
        let ended = (0..200).find_map(|_| told.next_batch().err());
        assert_eq!(ended.unwrap().code, code, "{taken}");
        // As before, for the next.
        run(
            &database,
            &[
                "REVOKE IMPERSONATE (*) ON DBMS FROM restricted",
                "REVOKE DENY READ {id} ON GRAPH * NODES A FROM reads",
            ],
        );
    }
}

#[test]
fn roles_are_made_renamed_copied_dropped_and_listed() {
    let database = database();
    let mut admin = database.session();
    run(
        &database,
        &["CREATE ROLE a", "GRANT READ {p, q} ON GRAPH * NODES A, B TO a", "CREATE ROLE b AS COPY OF a"],
    );
    let own = |session: &mut Session, role: &str| {
        rows(session, &format!("SHOW ROLE {role} PRIVILEGES YIELD command RETURN command")).unwrap()
    };
    assert_eq!(own(&mut admin, "b").len(), 4);
    run(
        &database,
        &["REVOKE READ {q} ON GRAPH * NODES A, B FROM b", "DENY TRAVERSE ON GRAPH * NODES `S``x` TO b"],
    );
    run(
        &database,
        &["RENAME ROLE b TO c", "DROP ROLE a", "DROP ROLE a IF EXISTS", "CREATE ROLE c IF NOT EXISTS"],
    );
    assert_eq!(own(&mut admin, "c").len(), 3);
    assert!(own(&mut admin, "c")[0].contains("DENY TRAVERSE ON GRAPH * NODES `S``x` TO `c`"));
    let names = "SHOW ROLES YIELD role, immutable RETURN role, immutable";
    let listed = rows(&mut admin, names).unwrap();
    assert_eq!(listed.len(), 7, "{listed:?}");
    for wrong in ["GRANT TRAVERSE ON GRAPH * TO reader", "DROP ROLE admin", "CREATE ROLE c", "DROP ROLE x"] {
        assert_eq!(code(rows(&mut admin, wrong)), "Neo.ClientError.Statement.ArgumentError", "{wrong}");
    }
    // What is not enforced cannot be granted.
    for wrong in ["GRANT ALTER USER ON DBMS TO c", "GRANT TRAVERSE ON GRAPH other TO c"] {
        assert_eq!(code(rows(&mut admin, wrong)), "Neo.ClientError.Statement.SyntaxError", "{wrong}");
    }
}

#[test]
fn roles_are_there_after_the_database_was_opened_again() {
    let folder = world::files::TemporaryFolder::new("roles").unwrap();
    let open =
        || Database::open(folder.path(), Options { executors: Some(1), ..Options::default() }).unwrap();
    {
        let database = open();
        run(&database, &["CREATE (:A {id: 1}), (:S {id: 2})"]);
        restricted(&database, &["GRANT MATCH {*} ON GRAPH * NODES A TO restricted"]);
    }
    let database = open();
    let mut guest = session_of(&database, "guest");
    assert_eq!(rows(&mut guest, "MATCH (n) RETURN n.id").unwrap(), ["[Int(1)]"]);
    database.checkpoint().unwrap();
    drop((guest, database));
    let mut guest = session_of(&open(), "guest");
    assert_eq!(rows(&mut guest, "MATCH (n) RETURN n.id").unwrap(), ["[Int(1)]"]);
}

#[test]
fn a_transaction_ends_when_rights_change_and_the_past_is_hidden_too() {
    let database = database();
    run(&database, &["CREATE (:A {id: 1})-[:T]->(:S {id: 2})"]);
    let mut guest = restricted(&database, &["GRANT MATCH {*} ON GRAPH * NODES A, S TO restricted"]);
    guest.begin(tanglewood_database::Mode::Write).unwrap();
    assert_eq!(rows(&mut guest, "MATCH (n) RETURN count(n)").unwrap(), ["[Int(2)]"]);
    run(&database, &["DENY TRAVERSE ON GRAPH * NODES S TO restricted"]);
    let expired = "Neo.ClientError.Security.AuthorizationExpired";
    assert_eq!(code(rows(&mut guest, "MATCH (n) RETURN count(n)")), expired);
    guest.rollback().unwrap();
    assert_eq!(rows(&mut guest, "MATCH (n) RETURN count(n)").unwrap(), ["[Int(1)]"]);
    guest.begin(tanglewood_database::Mode::Write).unwrap();
    run(&database, &["GRANT CREATE ON GRAPH * TO restricted"]);
    assert_eq!(guest.commit().unwrap_err().code, expired);
}

/// Each command of a transaction may take long to carry out, and a right may be revoked while the first is: the others are refused then.
#[test]
fn rights_are_asked_for_again_before_each_schema_command_of_a_commit() {
    let database = database();
    run(&database, &["UNWIND range(1, 200000) AS n CREATE (:A {id: n, k: n})"]);
    let grants =
        ["GRANT MATCH {*} ON GRAPH * TO restricted", "GRANT INDEX MANAGEMENT ON DATABASE * TO restricted"];
    let mut guest = restricted(&database, &grants);
    guest.begin(tanglewood_database::Mode::Write).unwrap();
    for key in ["id", "k"] {
        let command = format!("CREATE INDEX of_{key} FOR (n:A) ON (n.{key})");
        assert_eq!(code(rows(&mut guest, &command)), "[]");
    }
    let (admin, revoked) = (database.clone(), Arc::new(AtomicBool::new(false)));
    let once = revoked.clone();
    guest.set_meanwhile(move || {
        if !once.swap(true, Ordering::Relaxed) {
            run(&admin, &["REVOKE INDEX MANAGEMENT ON DATABASE * FROM restricted"]);
        }
    });
    let refused = guest.commit().unwrap_err();
    assert!(revoked.load(Ordering::Relaxed), "building an index waits for executors");
    assert_eq!(refused.code, "Neo.ClientError.Security.AuthorizationExpired");
    let made = rows(&mut database.session(), "SHOW INDEXES YIELD name RETURN name").unwrap();
    assert_eq!(made, ["[String(\"of_id\")]"], "what was carried out before stays");
}

#[test]
fn a_hidden_vertex_is_not_deleted_with_a_neighbour_and_its_edges_are_kept() {
    let database = database();
    run(&database, &["CREATE (:A {id: 1})-[:T]->(:S {id: 2})", "CREATE (:A {id: 3})"]);
    let statements =
        ["GRANT MATCH {*} ON GRAPH * NODES A TO restricted", "GRANT WRITE ON GRAPH * TO restricted"];
    let mut guest = restricted(&database, &statements);
    assert_eq!(code(rows(&mut guest, "MATCH (n:A {id: 1}) DETACH DELETE n")), FORBIDDEN);
    assert_eq!(code(rows(&mut guest, "MATCH (n:A {id: 3}) DETACH DELETE n")), "[]");
    assert_eq!(rows(&mut database.session(), "MATCH ()-[r]->() RETURN count(r)").unwrap(), ["[Int(1)]"]);
}

#[test]
fn a_broken_constraint_is_told_as_far_as_it_is_shown() {
    let database = database();
    run(
        &database,
        &[
            "CREATE CONSTRAINT typed FOR (n:A) REQUIRE n.p IS :: INTEGER",
            "CREATE CONSTRAINT alone FOR (n:A) REQUIRE n.u IS UNIQUE",
            "CREATE CONSTRAINT keyed FOR (n:A) REQUIRE n.k IS NODE KEY",
            "CREATE CONSTRAINT hush FOR (n:A) REQUIRE n.hidden IS :: INTEGER",
            "CREATE (:A:Denied {u: 1, k: 1}), (:A {u: 2, k: 2})",
        ],
    );
    let mut guest = restricted(
        &database,
        &[
            "GRANT MATCH {*} ON GRAPH * TO restricted",
            "GRANT WRITE ON GRAPH * TO restricted",
            "GRANT NAME MANAGEMENT ON DATABASE * TO restricted",
            "DENY TRAVERSE ON GRAPH * NODES Denied TO restricted",
            "DENY READ {hidden} ON GRAPH * TO restricted",
        ],
    );
    for (set, told) in [
        (
            "p = 'x'",
            "constraint `typed` would be broken: a node with label `A` must have an Integer as `p`, not a String",
        ),
        ("u = 1", "constraint `alone` would be broken: the change gives a value that is taken"),
        (
            "k = 1",
            "constraint `keyed` would be broken: the change gives a value that is taken, or takes one that must be there",
        ),
        (
            "hidden = 'x'",
            "a constraint would be broken: the change gives a value, or takes one, that the rules of the graph forbid",
        ),
    ] {
        let error = rows(&mut guest, &format!("MATCH (n:A {{u: 2}}) SET n.{set}")).unwrap_err();
        assert_eq!(error.message.lines().next(), Some(told), "{set}");
    }
}

#[test]
fn everybody_may_change_its_own_password_and_nobody_elses() {
    let database = database();
    run(&database, &[&format!("CREATE USER other SET PASSWORD '{PASSWORD}'")]);
    let mut guest = restricted(&database, &[]);
    assert_eq!(code(rows(&mut guest, "ALTER USER other SET PASSWORD 'another one'")), FORBIDDEN);
    assert_eq!(code(rows(&mut guest, "DROP USER other")), FORBIDDEN);
    assert_eq!(code(rows(&mut guest, "GRANT ROLE admin TO guest")), FORBIDDEN);
    assert_eq!(code(rows(&mut guest, "SHOW USERS")), FORBIDDEN);
    let own = format!("ALTER CURRENT USER SET PASSWORD FROM '{PASSWORD}' TO 'another one'");
    assert_eq!(code(rows(&mut guest, &own)), "[]");
    assert_eq!(rows(&mut guest, "SHOW CURRENT USER YIELD user").unwrap(), ["[String(\"guest\")]"]);
    let own = rows(&mut guest, "SHOW USER PRIVILEGES YIELD role RETURN role").unwrap();
    assert_eq!(own, ["[String(\"PUBLIC\")]"], "what everybody has");
    assert!(rows(&mut guest, "SHOW USER other PRIVILEGES").unwrap().is_empty());
}

#[test]
fn everybody_has_the_role_public_whose_privileges_can_be_changed() {
    let database = database();
    let mut guest =
        restricted(&database, &["CREATE (:A)", "GRANT MATCH {*} ON GRAPH * NODES A TO restricted"]);
    assert_eq!(rows(&mut guest, "CALL db.labels() YIELD label RETURN label").unwrap().len(), 1);
    let own = "SHOW CURRENT USER PRIVILEGES YIELD role, action RETURN role, action";
    assert!(
        rows(&mut guest, own).unwrap().iter().any(|row| row.contains("PUBLIC") && row.contains("execute"))
    );
    run(&database, &["DENY EXECUTE PROCEDURE db.labels ON DBMS TO PUBLIC"]);
    assert_eq!(code(rows(&mut guest, "CALL db.labels()")), FORBIDDEN);
    assert_ne!(code(rows(&mut guest, "CALL db.propertyKeys()")), FORBIDDEN);
    run(
        &database,
        &[
            "REVOKE EXECUTE PROCEDURE * ON DBMS FROM PUBLIC",
            "REVOKE DENY EXECUTE PROCEDURE db.labels ON DBMS FROM PUBLIC",
        ],
    );
    assert_eq!(
        code(rows(&mut guest, "CALL db.propertyKeys()")),
        FORBIDDEN,
        "an empty role is not the default"
    );
    // Who was never granted a role may do everything, whatever is denied to all.
    let mut admin = database.session();
    for wrong in [
        "DROP ROLE PUBLIC",
        "RENAME ROLE PUBLIC TO x",
        "GRANT ROLE PUBLIC TO guest",
        "REVOKE ROLE PUBLIC FROM guest",
        "CREATE ROLE PUBLIC",
    ] {
        assert_eq!(code(rows(&mut admin, wrong)), "Neo.ClientError.Statement.ArgumentError", "{wrong}");
    }
    run(
        &database,
        &[
            &format!("CREATE USER free SET PASSWORD '{PASSWORD}'"),
            "DENY EXECUTE PROCEDURE * ON DBMS TO PUBLIC",
        ],
    );
    assert_ne!(code(rows(&mut session_of(&database, "free"), "CALL db.labels()")), FORBIDDEN);
    run(
        &database,
        &[
            "GRANT EXECUTE PROCEDURE * ON DBMS TO PUBLIC",
            "REVOKE DENY EXECUTE PROCEDURE * ON DBMS FROM PUBLIC",
        ],
    );
    assert_ne!(code(rows(&mut guest, "CALL db.labels()")), FORBIDDEN);
}

#[test]
fn explain_names_what_of_the_graph_is_seen() {
    let database = database();
    let sees = ["CREATE (:A), (:B)", "GRANT TRAVERSE ON GRAPH * NODES A TO restricted"];
    let mut guest = restricted(&database, &sees);
    let plan = |session: &mut Session| {
        let result = session.query("EXPLAIN MATCH (n) RETURN n", Params::new()).unwrap();
        result.finish().unwrap()
    };
    let told = plan(&mut guest);
    let text = told.plan_text.unwrap();
    assert!(text.ends_with("Restriction as seen with restricted: TRAVERSE ON GRAPH * NODES `A`\n"), "{text}");
    assert!(told.plan.unwrap().arguments.iter().any(|(name, _)| *name == "Restriction"));
    assert!(!plan(&mut database.session()).plan_text.unwrap().contains("Restriction"));
}

/// What comes of a subscription until there are so many differences: by row, and the last mark.
fn followed(session: &mut Session, text: &str, wanted: usize) -> Result<(Vec<String>, String), Error> {
    let mut told = session.query(text, Params::new())?;
    let (mut found, mut mark) = (Vec::new(), String::new());
    while found.len() < wanted || mark.is_empty() {
        let batch = told.next_batch()?.unwrap();
        for row in (0..batch.len()).map(|row| batch.row(row)) {
            match row[3].as_str() {
                Some(text) => mark = text.to_string(),
                None => found.push(format!("{:?} {:?}", row[4], row[2])),
            }
        }
    }
    found.sort();
    Ok((found, mark))
}

#[test]
fn a_restricted_reader_resumes_from_its_mark_also_after_a_restart() {
    let folder = world::files::TemporaryFolder::new("roles").unwrap();
    let open =
        || Database::open(folder.path(), Options { executors: Some(1), ..Options::default() }).unwrap();
    let mark = {
        let database = open();
        run(
            &database,
            &[
                "CREATE (:A {id: 1}), (:A:S {id: 2})",
                "CREATE STANDING QUERY s AS MATCH (n) RETURN n.id AS id RETAIN 1h",
            ],
        );
        let grants = [
            "GRANT MATCH {*} ON GRAPH * TO restricted",
            "DENY TRAVERSE ON GRAPH * NODES S TO restricted",
            "GRANT SUBSCRIBE ON DATABASE * TO restricted",
        ];
        let mut guest = restricted(&database, &grants);
        let (found, mark) = followed(&mut guest, "SUBSCRIBE TO s SNAPSHOT", 1).unwrap();
        assert_eq!(found, ["Int(1) Int(1)"]);
        run(
            &database,
            &[
                "MATCH (n {id: 1}) SET n:S",
                "MATCH (n {id: 2}) REMOVE n:S",
                "CREATE (:A {id: 3}), (:S {id: 4})",
            ],
        );
        let after = format!("SUBSCRIBE TO s FROM '{mark}'");
        let (found, _) = followed(&mut guest, &after, 3).unwrap();
        assert_eq!(found, ["Int(1) Int(-1)", "Int(2) Int(1)", "Int(3) Int(1)"]);
        // A mark is of what one may see: to those who see more it says nothing.
        let foreign = followed(&mut database.session(), &after, 1).unwrap_err();
        assert_eq!(foreign.code, "Tanglewood.ClientError.Standing.ForeignMark");
        database.close().unwrap();
        mark
    };
    let database = open();
    let mut guest = session_of(&database, "guest");
    let (found, _) = followed(&mut guest, &format!("SUBSCRIBE TO s FROM '{mark}'"), 3).unwrap();
    assert_eq!(found, ["Int(1) Int(-1)", "Int(2) Int(1)", "Int(3) Int(1)"]);
    // A query of the same name is another one.
    run(&database, &["DROP STANDING QUERY s", "CREATE STANDING QUERY s AS MATCH (n) RETURN -n.id AS id"]);
    let (found, _) = followed(&mut guest, "SUBSCRIBE TO s SNAPSHOT", 2).unwrap();
    assert_eq!(found, ["Int(-2) Int(1)", "Int(-3) Int(1)"]);
}
