//! Tenants and users: declared in Cypher, kept, and held to what they may take.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::{Database, Options, Session, Value, params};
use world::files::TemporaryFolder;

/// Runs for ever, as far as anyone can tell.
const ENDLESS: &str = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b UNWIND range(1, 100000) AS c RETURN sum(a + b + c) AS s";

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let rows = session.query(text, params! {}).unwrap().rows().unwrap();
    rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>().join(" | ")).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Int(count) => count.to_string(),
        Value::List(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => other.as_str().unwrap_or("?").to_string(),
    }
}

fn refusal(session: &mut Session, text: &str) -> (String, String) {
    let outcome = session.query(text, params! {}).and_then(|result| result.rows());
    let error = outcome.map(|_| ()).unwrap_err();
    (error.code.clone(), error.to_string())
}

fn memory() -> Database {
    Database::open(":memory:", Options { executors: Some(2), ..Options::default() }).unwrap()
}

/// Waits until so many queries are listed for which the text holds.
fn wait_for(session: &mut Session, condition: &str, count: usize) {
    let begin = Instant::now();
    let text = format!("SHOW QUERIES YIELD * WHERE {condition} RETURN queryId");
    while rows(session, &text).len() != count {
        assert!(begin.elapsed() < Duration::from_secs(20), "never {count} queries where {condition}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_is_declared_stays_and_is_listed() {
    let folder = TemporaryFolder::new("tenants").unwrap();
    let database = Database::open(folder.path().join("db"), Options::default()).unwrap();
    let mut session = database.session();
    for command in [
        "CREATE TENANT acme SET SHARE 50, MEMORY '1GB', CONCURRENT 8, TIME '10s', RULE WHEN TIME > '2s' THEN SLOW TO 5",
        "CREATE TENANT `big corp`",
        "CREATE TENANT acme IF NOT EXISTS SET SHARE 1",
        "ALTER TENANT acme ADD USER alice SET SHARE 300",
        "ALTER TENANT acme ADD USER bob",
        "ALTER TENANT acme SET MEMORY NONE, RULE WHEN ROWS > 1000000 THEN MOVE TO `big corp`",
        "ALTER TENANT `big corp` ADD USER bob",
        "CREATE TENANT gone",
        "DROP TENANT gone",
        "DROP TENANT gone IF EXISTS",
    ] {
        assert_eq!(rows(&mut session, command), [""; 0], "{command}");
    }
    let wanted = [
        "acme | null | 50 | null | null | 8 | 10000 | [WHEN TIME > '2000ms' THEN SLOW TO 5, WHEN ROWS > 1000000 THEN MOVE TO `big corp`] | 0 | null",
        "acme | alice | 300 | null | null | null | null | [] | 0 | null",
        "big corp | null | 100 | null | null | null | null | [] | 0 | null",
        "big corp | bob | 100 | null | null | null | null | [] | 0 | null",
    ];
    let listed = rows(&mut session, "SHOW TENANTS");
    assert_eq!(listed, wanted, "{listed:#?}");
    let declared = database.tenants();
    drop(session);
    database.close().unwrap();
    let database = Database::open(folder.path().join("db"), Options::default()).unwrap();
    assert_eq!(database.tenants(), declared);
    let text = "SHOW TENANTS YIELD name, user, share WHERE share <> 100 RETURN name + coalesce(user, '') AS n ORDER BY n";
    assert_eq!(rows(&mut database.session(), text), ["acme", "acmealice"]);
}

#[test]
fn faults_come_with_hints() {
    let database = memory();
    let mut session = database.session();
    rows(&mut session, "CREATE TENANT acme");
    for (text, said) in [
        (
            "CREATE TENANT acme",
            "there is a tenant `acme` already\nhint: change it with ALTER TENANT, or write IF NOT EXISTS",
        ),
        ("DROP TENANT acne", "there is no tenant `acne`\nhint: known: acme; CREATE TENANT makes one"),
        ("ALTER TENANT acme REMOVE USER eve", "tenant `acme` has no user `eve`"),
        ("ALTER TENANT acme", "write ALTER TENANT name SET SHARE 50"),
        ("ALTER TENANT acme SET MEMORY '3 apples'", "expected a size such as '512MB'"),
        ("ALTER TENANT acme SET SHARE 0", "expected a whole number from 1 on"),
    ] {
        let (_, told) = refusal(&mut session, text);
        assert!(told.contains(said), "{text}: {told}");
    }
}

#[test]
fn a_full_tenant_waits_and_others_do_not() {
    let database = memory();
    let mut admin = database.session();
    rows(&mut admin, "CREATE TENANT acme SET CONCURRENT 1");
    rows(&mut admin, "ALTER TENANT acme ADD USER alice");
    let start = |user: &str| {
        let mut session = database.session();
        session.set_user(user);
        session
    };
    let (mut first, mut second, mut other) = (start("alice"), start("alice"), start("carol"));
    let long = first.query(ENDLESS, params! {}).unwrap();
    let waiting = second.query(ENDLESS, params! {}).unwrap();
    wait_for(&mut admin, "tenant = 'acme' AND user = 'alice' AND state = 'running'", 1);
    wait_for(&mut admin, "tenant = 'acme' AND user = 'alice' AND state = 'waiting'", 1);
    let other_tenant = other.query("UNWIND range(1, 300000) AS x RETURN count(x)", params! {}).unwrap();
    assert_eq!(other_tenant.rows().unwrap().len(), 1, "a user without a tenant is one of its own");
    // The listing is answered to those as well whose places are all taken.
    let listed = rows(
        &mut second,
        "SHOW QUERIES YIELD tenant, rows, cpuMillis WHERE tenant = 'acme' RETURN count(*) AS n",
    );
    assert_eq!(listed, ["2"]);
    // So is one that takes longer than the thread that asks is given for it.
    for list in ["QUERIES", "TRANSACTIONS"] {
        let slow = "size(toUpper($long + toString(rand()))) > 0";
        let text = format!("SHOW {list} YIELD * WHERE {slow} RETURN count(*) > 1 AS many");
        let long = params! { "long" => "x".repeat(1 << 20) };
        let many = second.query(&text, long).unwrap().single().unwrap();
        assert!(matches!(many, Value::Bool(true)), "{list}");
    }
    drop(long);
    wait_for(&mut admin, "tenant = 'acme' AND state = 'running'", 1);
    drop(waiting);
    wait_for(&mut admin, "tenant = 'acme'", 0);
}

#[test]
fn limits_and_rules_of_a_tenant_end_its_queries() {
    let database = memory();
    let mut admin = database.session();
    rows(&mut admin, "CREATE TENANT slow SET TIME '50ms'");
    rows(&mut admin, "CREATE TENANT small SET MEMORY '1MB'");
    rows(&mut admin, "CREATE TENANT ruled SET RULE WHEN ROWS > 100000 THEN KILL");
    for (tenant, text, code) in [
        ("slow", ENDLESS, "Neo.ClientError.Transaction.TransactionTimedOut"),
        (
            "small",
            "UNWIND range(1, 3000000) AS x WITH collect(x * 2) AS xs RETURN size(xs)",
            "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
        ),
        ("ruled", ENDLESS, "Neo.ClientError.Transaction.Terminated"),
    ] {
        let mut session = database.session();
        session.set_tenant(tenant);
        let (found, told) = refusal(&mut session, text);
        assert_eq!(found, code, "{tenant}: {told}");
        assert!(told.contains("hint: "), "{tenant}: {told}");
    }
}

#[test]
fn a_rule_moves_a_query_to_another_tenants_share() {
    let database = memory();
    let mut admin = database.session();
    rows(&mut admin, "CREATE TENANT penalty SET SHARE 1");
    rows(&mut admin, "CREATE TENANT acme SET RULE WHEN CPU > '20ms' THEN MOVE TO penalty");
    let mut session = database.session();
    session.set_tenant("acme");
    let long = session.query(ENDLESS, params! {}).unwrap();
    wait_for(&mut admin, "tenant = 'penalty' AND rows > 0 AND cpuMillis >= 20", 1);
    let id = rows(&mut admin, "SHOW QUERIES YIELD queryId, tenant WHERE tenant = 'penalty' RETURN queryId")
        .remove(0);
    let text = "SHOW QUERIES YIELD tenant, progress WHERE tenant = 'penalty' \
                RETURN size([o IN progress WHERE o.operator = 'Unwind' AND o.rows > 0 AND NOT o.complete])";
    assert!(
        rows(&mut admin, text).iter().all(|count| count != "0"),
        "it is seen how far each operator has come"
    );
    let begin = Instant::now();
    rows(&mut admin, &format!("KILL QUERY '{id}'"));
    assert_eq!(long.rows().unwrap_err().code, "Neo.ClientError.Transaction.Terminated");
    assert!(begin.elapsed() < Duration::from_secs(10));
}
