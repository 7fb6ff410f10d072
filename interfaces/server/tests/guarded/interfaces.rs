//! The matrix: each privilege by each interface, over sockets. Without it, refused or not there; with it, done; denied, refused again.
//!
//! The Gremlin interface answered the first text after a change of rights by the rights of before: a session that had just logged on saw everything.

use super::*;
use common::{gremlin, http};
use database::Params;
use serde_json::json;
use tanglewood_server::gremlin::{Manner, Sources};
use tanglewood_server::{GremlinServeOptions, GremlinServer, HttpServeOptions, HttpServer};

/// A privilege, what needs it in Cypher, and in Gremlin where that can say it.
const CASES: [(&str, &str, &str); 21] = [
    ("CREATE ON GRAPH * NODES A", "CREATE (:A)", "g.addV('A')"),
    (
        "CREATE ON GRAPH * RELATIONSHIPS T",
        "MATCH (a:A), (b:B) WITH a, b LIMIT 1 CREATE (a)-[:T]->(b)",
        "g.V().hasLabel('A').limit(1).addE('T').to(__.V().hasLabel('B').limit(1))",
    ),
    (
        "DELETE ON GRAPH * NODES C",
        "MATCH (n:C) WITH n LIMIT 1 DELETE n",
        "g.V().hasLabel('C').limit(1).drop()",
    ),
    (
        "DELETE ON GRAPH * RELATIONSHIPS T",
        "MATCH ()-[r:T]->() WITH r LIMIT 1 DELETE r",
        "g.E().hasLabel('T').limit(1).drop()",
    ),
    (
        "SET PROPERTY {p} ON GRAPH * NODES A",
        "MATCH (n:A) SET n.p = 1",
        "g.V().hasLabel('A').property('p', 1)",
    ),
    (
        "SET PROPERTY {p} ON GRAPH * RELATIONSHIPS T",
        "MATCH ()-[r:T]->() SET r.p = 1",
        "g.E().hasLabel('T').property('p', 1)",
    ),
    ("SET LABEL B ON GRAPH *", "MATCH (n:C) SET n:B", ""),
    ("REMOVE LABEL C ON GRAPH *", "MATCH (n:C) WITH n LIMIT 1 REMOVE n:C", ""),
    ("NAME MANAGEMENT ON DATABASE *", "CREATE INDEX n IF NOT EXISTS FOR (n:Fresh) ON (n.p)", ""),
    ("INDEX MANAGEMENT ON DATABASE *", "CREATE INDEX i IF NOT EXISTS FOR (n:A) ON (n.p)", ""),
    (
        "CONSTRAINT MANAGEMENT ON DATABASE *",
        "CREATE CONSTRAINT c IF NOT EXISTS FOR (n:A) REQUIRE n.q IS UNIQUE",
        "",
    ),
    ("TRANSACTION MANAGEMENT ON DATABASE *", "SHOW TRANSACTIONS", ""),
    ("SUBSCRIBE ON DATABASE *", "SHOW STANDING QUERIES", ""),
    ("STANDING QUERY MANAGEMENT ON DATABASE *", "DROP STANDING QUERY none IF EXISTS", ""),
    ("PROGRAM MANAGEMENT ON DATABASE *", "DROP PROGRAM mine IF EXISTS", ""),
    ("EXECUTE PROCEDURE db.labels ON DBMS", "CALL db.labels()", ""),
    ("USER MANAGEMENT ON DBMS", "SHOW USERS", ""),
    ("ROLE MANAGEMENT ON DBMS", "SHOW ROLES", ""),
    ("TENANT MANAGEMENT ON DBMS", "SHOW TENANTS", ""),
    ("SHOW SETTING * ON DBMS", "SHOW SETTINGS", ""),
    ("LOAD ON ALL DATA", "EXPLAIN LOAD CSV FROM 'file:///none.csv' AS row RETURN row", ""),
];

/// One way in, logged on once.
enum Interface {
    Bolt(Client),
    Http(http::Client, &'static str),
    Gremlin(Box<gremlin::Client>),
}

/// What came of a request, as far as privileges go.
#[derive(Debug, PartialEq)]
enum Came {
    Refused,
    Rows(usize),
}

impl Interface {
    fn speaks_gremlin(&self) -> bool {
        matches!(self, Interface::Gremlin(_) | Interface::Http(_, "gremlin"))
    }
    fn ask(&mut self, text: &str) -> Came {
        match self {
            Interface::Bolt(client) => match ask_as(client, "", text) {
                Err(code) if code.ends_with("Forbidden") => Came::Refused,
                answered => Came::Rows(answered.map_or(0, |rows| rows.len())),
            },
            Interface::Http(client, language) => {
                let answer = client.post(http::QUERY, &json!({ "statement": text, "language": *language }));
                match answer.json()["errors"][0]["code"].as_str() {
                    Some(code) if code.ends_with("Forbidden") => Came::Refused,
                    _ => Came::Rows(answer.json()["data"]["values"].as_array().map_or(0, Vec::len)),
                }
            }
            Interface::Gremlin(client) => {
                client.eval(text);
                let mut rows = 0;
                loop {
                    let (code, told) = client.told();
                    match code {
                        200 | 204 | 206 => rows += told.as_array().map_or(0, Vec::len),
                        _ if told.to_string().contains("not allowed") => return Came::Refused,
                        _ => panic!("{text}: {code} {told}"),
                    }
                    if code != 206 {
                        return Came::Rows(rows);
                    }
                }
            }
        }
    }
}

/// Every interface of one database, with `guest` behind each.
struct Served {
    database: Database,
    interfaces: Vec<(&'static str, Interface)>,
    _servers: (Server, HttpServer, GremlinServer),
}

const GUEST: (&str, &str) = ("guest", "long enough");

fn serve_all() -> Served {
    let (database, bolt) = guarded(&[GUEST]);
    let gate = Gate::of(database.users());
    let options = HttpServeOptions { gate: gate.clone(), ..HttpServeOptions::at("127.0.0.1:0") };
    let web = HttpServer::start(database.clone(), options).unwrap();
    let sources = Sources::from([("g".to_string(), database.clone())]);
    let manner = Manner { sources: sources.into(), gate, timeout: None };
    let limits = tanglewood_server::Limits::default();
    let traversals = GremlinServer::start(GremlinServeOptions {
        address: "127.0.0.1:0".into(),
        manner,
        tls: None,
        limits,
        cors: Vec::new(),
    })
    .unwrap();
    let mut client = gremlin::Client::connect(traversals.address());
    let sasl = data_encoding::BASE64.encode(format!("\0{}\0{}", GUEST.0, GUEST.1).as_bytes());
    client.eval("g.inject(1)");
    assert_eq!(client.told().0, 407);
    client.send("authentication", "traversal", json!({ "sasl": sasl }));
    assert_eq!(client.told().0, 200);
    let web_client = || http::Client::connect(web.address()).basic(GUEST.0, GUEST.1);
    let interfaces = vec![
        ("Bolt", Interface::Bolt(enter(&bolt, GUEST.0, GUEST.1))),
        ("HTTP", Interface::Http(web_client(), "cypher")),
        ("HTTP in Gremlin", Interface::Http(web_client(), "gremlin")),
        ("Gremlin", Interface::Gremlin(Box::new(client))),
    ];
    Served { database, interfaces, _servers: (bolt, web, traversals) }
}

fn run_all(database: &Database, texts: &[String]) {
    let mut session = database.session();
    for text in texts {
        session
            .query(text, Params::new())
            .and_then(|result| result.finish())
            .unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
fn what_is_not_granted_is_refused_at_every_interface() {
    let mut served = serve_all();
    let all = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    let fresh = all(&["UNWIND range(1, 9) AS i CREATE (:A)-[:T]->(:B), (:C)"]);
    run_all(&served.database, &fresh);
    // Names that the privileges speak of are known.
    run_all(
        &served.database,
        &all(&[
            "CREATE (n:A {p: 0, q: 0}) WITH n DETACH DELETE n",
            "CREATE ROLE restricted",
            "GRANT ROLE restricted TO guest",
            "GRANT MATCH {*} ON GRAPH * TO restricted",
            "REVOKE EXECUTE PROCEDURE * ON DBMS FROM PUBLIC",
        ]),
    );
    let each = |how: &str| {
        CASES.iter().map(|(privilege, ..)| format!("{how} {privilege} TO restricted")).collect::<Vec<_>>()
    };
    for (phase, changes, refused) in
        [("without", Vec::new(), true), ("granted", each("GRANT"), false), ("denied", each("DENY"), true)]
    {
        run_all(&served.database, &[changes, fresh.clone()].concat());
        for (privilege, cypher, gremlin) in CASES {
            for (name, interface) in &mut served.interfaces {
                let text = if interface.speaks_gremlin() { gremlin } else { cypher };
                // To make an index with names that are new takes two privileges.
                if text.is_empty() || (refused && text.contains("Fresh") && phase == "denied") {
                    continue;
                }
                let came = interface.ask(text);
                assert_eq!(came == Came::Refused, refused, "{phase} {privilege} at {name}: {text}: {came:?}");
            }
        }
    }
}

#[test]
fn what_is_hidden_is_there_at_no_interface() {
    let mut served = serve_all();
    let all = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    run_all(
        &served.database,
        &all(&[
            "CREATE (:A {p: 1, q: 2})-[:T {w: 3}]->(:B {p: 1})-[:U]->(:S {p: 1}), (:A:S {p: 1})",
            "CREATE ROLE restricted",
            "GRANT ROLE restricted TO guest",
        ]),
    );
    // What is granted, and how much of it each question finds then, and before.
    let steps: [(&str, &str, &str, usize, usize); 6] = [
        ("GRANT TRAVERSE ON GRAPH * NODES A TO restricted", "MATCH (n) RETURN n", "g.V()", 0, 2),
        ("DENY TRAVERSE ON GRAPH * NODES S TO restricted", "MATCH (n) RETURN n", "g.V()", 2, 1),
        ("GRANT TRAVERSE ON GRAPH * NODES B TO restricted", "MATCH (n)-->(m) RETURN m", "g.V().out()", 0, 0),
        (
            "GRANT TRAVERSE ON GRAPH * RELATIONSHIPS T, U TO restricted",
            "MATCH (n)-->(m) RETURN m",
            "g.V().out()",
            0,
            1,
        ),
        (
            "GRANT READ {p} ON GRAPH * NODES A TO restricted",
            "MATCH (n {p: 1}) RETURN n",
            "g.V().has('p', 1)",
            0,
            1,
        ),
        (
            "GRANT READ {w} ON GRAPH * RELATIONSHIPS T TO restricted",
            "MATCH ()-[r {w: 3}]->() RETURN r",
            "g.E().has('w', 3)",
            0,
            1,
        ),
    ];
    for (grant, cypher, gremlin, before, after) in steps {
        for (wanted, changes) in [(before, Vec::new()), (after, all(&[grant]))] {
            run_all(&served.database, &changes);
            for (name, interface) in &mut served.interfaces {
                let text = if interface.speaks_gremlin() { gremlin } else { cypher };
                assert_eq!(interface.ask(text), Came::Rows(wanted), "{grant} at {name}: {text}");
            }
        }
    }
}

/// Who came by a token of the HTTP interface, at whatever interface, is welcome as long as the token is good: until it is taken back, until its time is over, until
/// its user is suspended or changed.
#[test]
fn sessions_end_with_the_tokens_that_they_came_by() {
    let (database, bolt) = guarded(&[("ada", "correct horse"), ("bob", "battery staple")]);
    let gate = Gate::of(database.users());
    let serve = |token_lifetime| {
        let limits = tanglewood_server::Limits { token_lifetime, ..tanglewood_server::Limits::default() };
        let options = HttpServeOptions { gate: gate.clone(), limits, ..HttpServeOptions::at("127.0.0.1:0") };
        HttpServer::start(database.clone(), options).unwrap()
    };
    drop(bolt);
    let web = serve(Duration::from_secs(600));
    let options = ServeOptions { gate: gate.clone(), ..ServeOptions::at("127.0.0.1:0") };
    let bolt = Server::start(database.clone(), &options).unwrap();
    let given = |client: &mut http::Client| {
        let answer = client.ask("POST", "/tokens", &[], None);
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["token"].as_str().unwrap().to_string()
    };
    let by_password = |web: &HttpServer, name: &str, password: &str| {
        given(&mut http::Client::connect(web.address()).basic(name, password))
    };
    let with = |web: &HttpServer, token: &str| {
        http::Client::connect(web.address()).with(&format!("Authorization: Bearer {token}"))
    };
    let enter = |token: &str| {
        let bearer = Value::map([("scheme", "bearer".into()), ("credentials", token.into())]);
        let mut client = Client::shaken(bolt.address());
        client.send(&[request(HELLO, &[none()]), request(LOGON, &[bearer])]);
        (0..2).all(|_| client.next().is_success()).then_some(client)
    };
    let one = "RETURN 1";
    let expired = Err("Neo.ClientError.Security.TokenExpired".to_string());
    let changed = Err("Neo.ClientError.Security.AuthorizationExpired".to_string());

    // Taken back: those who came by it, and by tokens that were given for it, are not welcome any more. Others are.
    let (first, other) =
        (by_password(&web, "ada", "correct horse"), by_password(&web, "ada", "correct horse"));
    let second = given(&mut with(&web, &first));
    let mut sessions = [&first, &second, &other].map(|token| enter(token).unwrap());
    sessions.iter_mut().for_each(|session| assert!(ask_as(session, "", one).is_ok()));
    let begun = with(&web, &first).ask("POST", http::BEGIN, &[], None).json();
    let open = format!("{}/{}", http::BEGIN, begun["transaction"]["id"].as_str().unwrap());
    assert_eq!(with(&web, &first).ask("DELETE", "/tokens", &[], None).status, 200);
    let outcomes = sessions.each_mut().map(|session| ask_as(session, "", one).map(|rows| rows.len()));
    assert_eq!(outcomes, [expired.clone(), expired.clone(), Ok(1)]);
    assert_eq!([&first, &second, &other].map(|token| with(&web, token).query(one).status), [401, 401, 202]);
    let mut again = http::Client::connect(web.address()).basic("ada", "correct horse");
    let late = again.post(&open, &json!({ "statement": one }));
    assert_eq!(
        (late.status, late.code()),
        (401, expired.clone().unwrap_err()),
        "the transaction of the token"
    );

    // Suspended: not good meanwhile, and good again afterwards. Another password ends it for ever.
    let users = database.users();
    let bobs = by_password(&web, "bob", "battery staple");
    let mut session = enter(&bobs).unwrap();
    for (suspended, status) in [(true, 401), (false, 202)] {
        users.alter("bob", None, Some(suspended)).unwrap();
        // Tokens of others that are given meanwhile take nothing away.
        by_password(&web, "ada", "correct horse");
        assert_eq!(with(&web, &bobs).query(one).status, status, "{suspended}");
        let outcome = ask_as(&mut session, "", one).map(|rows| rows.len());
        assert_eq!(outcome, if suspended { changed.clone() } else { Ok(1) });
    }
    users.set_password("bob", "battery staples").unwrap();
    assert_eq!(with(&web, &bobs).query(one).status, 401);
    assert_eq!(ask_as(&mut session, "", one).map(|rows| rows.len()), changed);

    // Its time is over, and no token that is given for it lasts longer. A busy machine may need more time for the steps before that.
    drop(web);
    let ends_in_time = |lifetime_ms: u64| {
        let web = serve(Duration::from_millis(lifetime_ms));
        let began_ns = world::clock::monotonic_ns();
        let short = by_password(&web, "ada", "correct horse");
        let mut session = enter(&short)?;
        let before = ask_as(&mut session, "", one).is_ok();
        world::threads::sleep(Duration::from_millis(lifetime_ms / 2));
        let answer = with(&web, &short).ask("POST", "/tokens", &[], None);
        if !before || answer.status != 201 {
            assert!(world::clock::monotonic_ns() - began_ns >= lifetime_ms * 1_000_000, "it ended too early");
            return None;
        }
        let longer = answer.json()["token"].as_str().unwrap().to_string();
        world::threads::sleep(Duration::from_millis(lifetime_ms / 2 + 1));
        assert_eq!(ask_as(&mut session, "", one).map(|rows| rows.len()), expired);
        assert_eq!([short, longer].map(|token| with(&web, &token).query(one).status), [401, 401]);
        Some(())
    };
    assert!([400, 2_000, 10_000, 30_000].into_iter().find_map(ends_in_time).is_some());
}

/// Names of standing queries and tenants are told to whom SHOW would list them with all that is told of them; others are told sums.
#[test]
fn figures_are_told_by_name_to_whom_lists_show_them() {
    let mut served = serve_all();
    let all = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    run_all(
        &served.database,
        &all(&[
            "CREATE (:A {p: 1})",
            "CREATE STANDING QUERY figures AS MATCH (n:A) RETURN n.p AS p",
            "CREATE ROLE restricted",
            "GRANT ROLE restricted TO guest",
        ]),
    );
    let sees_all = "GRANT MATCH {*} ON GRAPH * TO restricted";
    let steps: [(&str, bool, bool); 5] = [
        ("GRANT EXECUTE PROCEDURE * ON DBMS TO restricted", false, false),
        ("GRANT SUBSCRIBE ON DATABASE * TO restricted", false, false),
        (sees_all, true, false),
        ("GRANT TENANT MANAGEMENT ON DBMS TO restricted", true, true),
        ("DENY TRAVERSE ON GRAPH * NODES B TO restricted", false, true),
    ];
    for (change, standing, tenants) in steps {
        run_all(&served.database, &all(&[change]));
        let found = served.interfaces.iter_mut().find(|(name, _)| *name == "HTTP");
        let Some((_, Interface::Http(client, _))) = found else { panic!("there is an interface of HTTP") };
        client.post(http::QUERY, &json!({ "statement": "RETURN 1" }));
        let page = client.ask("GET", "/metrics", &[], None).text().to_string();
        assert_eq!(
            page.contains("tanglewood_standing_rows{name=\"figures\"} 1"),
            standing,
            "{change}: {page}"
        );
        for figure in ["standing_rows", "standing_memory_bytes", "standing_seconds_total"] {
            assert_eq!(page.contains(&format!("tanglewood_{figure}")), standing, "{change}: {page}");
        }
        assert_eq!(page.contains("{owner=\"standing\"}"), standing, "{change}: {page}");
        assert_eq!(page.contains("\ntanglewood_standing_lag_commits "), !standing, "{change}: {page}");
        assert_eq!(page.contains("tanglewood_executor_seconds_total{tenant="), tenants, "{change}: {page}");
    }
}
