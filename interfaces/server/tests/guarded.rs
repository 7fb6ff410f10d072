//! Passwords and TLS over real sockets, with the official Python driver where it is there.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common;
#[path = "guarded/interfaces.rs"]
mod interfaces;

use common::socket::Client;
use common::*;
use database::{Database, MEMORY, Options};
use model::Value;
use std::process::Command;
use std::time::Duration;
use tanglewood_server::users::Gate;
use tanglewood_server::{ServeError, ServeOptions, Server, Tls, UsersError};
use world::files::TemporaryFolder;

fn database() -> Database {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap()
}

/// A server whose users are these, by name and password.
fn guarded(users: &[(&str, &str)]) -> (Database, Server) {
    let database = database();
    let known = database.users();
    users.iter().for_each(|(name, password)| known.add(name, password).unwrap());
    let options = ServeOptions { gate: Gate::of(known), ..ServeOptions::at("127.0.0.1:0") };
    let server = Server::start(database.clone(), &options).unwrap();
    (database, server)
}

/// A client that has logged on.
fn enter(server: &Server, name: &str, password: &str) -> Client {
    let mut client = Client::shaken(server.address());
    client.send(&[request(HELLO, &[none()]), request(LOGON, &[token(name, password)])]);
    assert!((0..2).all(|_| client.next().is_success()));
    client
}

fn token(name: &str, password: &str) -> Value {
    Value::map([("scheme", "basic".into()), ("principal", name.into()), ("credentials", password.into())])
}

/// The answer to LOGON.
fn log_on(server: &Server, token: Value) -> Answer {
    let mut client = Client::shaken(server.address());
    client.send(&[request(HELLO, &[none()]), request(LOGON, &[token])]);
    assert!(client.next().is_success());
    client.next()
}

const UNAUTHORIZED: &str = "Neo.ClientError.Security.Unauthorized";

#[test]
fn users_come_in_with_their_passwords_and_who_guesses_waits() {
    let database = database();
    let users = database.users();
    users.add("ada", "correct horse").unwrap();
    let gate = Gate::with_lock_time(users.clone(), Duration::from_secs(2));
    let server = Server::start(database, &ServeOptions { gate, ..ServeOptions::at("127.0.0.1:0") }).unwrap();

    assert!(log_on(&server, token("ada", "correct horse")).is_success());
    for wrong in
        [none(), Value::map([("scheme", "none".into())]), Value::map([("scheme", "kerberos".into())])]
    {
        assert_eq!(log_on(&server, wrong).code(), UNAUTHORIZED);
    }
    assert_eq!(log_on(&server, token("bob", "correct horse")).code(), UNAUTHORIZED);
    (0..3).for_each(|_| assert_eq!(log_on(&server, token("ada", "wrong")).code(), UNAUTHORIZED));
    let limited = "Neo.ClientError.Security.AuthenticationRateLimit";
    assert_eq!(log_on(&server, token("ada", "correct horse")).code(), limited, "even with the right one");
    world::threads::sleep(Duration::from_millis(2_100));
    assert!(log_on(&server, token("ada", "correct horse")).is_success());

    // Nothing is served before, and the connection ends after a refusal.
    let mut client = Client::shaken(server.address());
    client.send(&[request(HELLO, &[none()]), request(LOGON, &[none()]), run("RETURN 1")]);
    assert!(client.next().is_success());
    assert_eq!(client.next().code(), UNAUTHORIZED);
    assert_eq!(client.try_next(), None);
    // Users may be changed while the server runs.
    users.set_password("ada", "battery staple").unwrap();
    assert_eq!(log_on(&server, token("ada", "correct horse")).code(), UNAUTHORIZED);
    assert!(log_on(&server, token("ada", "battery staple")).is_success());
}

#[test]
fn users_are_made_in_cypher_too() {
    let (database, server) = guarded(&[("ada", "correct horse")]);
    let mut session = database.session();
    let mut run = |text: &str| session.query(text, database::Params::new()).and_then(|result| result.rows());
    run("CREATE USER bob SET PASSWORD 'long enough'").unwrap();
    assert!(log_on(&server, token("bob", "long enough")).is_success());
    assert_eq!(run("SHOW USERS").unwrap().len(), 2);
    run("ALTER USER bob SET PASSWORD 'longer still'").unwrap();
    assert_eq!(log_on(&server, token("bob", "long enough")).code(), UNAUTHORIZED);
    assert!(log_on(&server, token("bob", "longer still")).is_success());
    let refused = run("CREATE USER eve SET PASSWORD 'short'").unwrap_err();
    assert_eq!(refused.code, "Neo.ClientError.Statement.ArgumentError");
    run("DROP USER bob").unwrap();
    assert_eq!(log_on(&server, token("bob", "longer still")).code(), UNAUTHORIZED);
}

/// Whoever logged on changes its own password, if it knows it, and goes on; its other sessions have to log on again.
#[test]
fn users_change_their_own_passwords() {
    let (database, server) = guarded(&[("ada", "correct horse")]);
    let enter = || enter(&server, "ada", "correct horse");
    let ask = |client: &mut Client, text: &str| {
        client.send(&[run(text), pull(-1)]);
        let ran = client.next();
        if !ran.is_success() {
            client.next();
            client.send(&[request(RESET, &[])]);
            assert!(client.next().is_success());
            return Err(ran.code().to_string());
        }
        let mut records = 0;
        while !client.next().is_success() {
            records += 1;
        }
        Ok(records)
    };
    let (mut first, mut second) = (enter(), enter());
    assert_eq!(ask(&mut first, "SHOW CURRENT USER"), Ok(1));
    let argument = "Neo.ClientError.Statement.ArgumentError".to_string();
    let refused = Err(argument.clone());
    for wrong in [
        "ALTER CURRENT USER SET PASSWORD FROM 'wrong horse' TO 'battery staple'",
        "ALTER CURRENT USER SET PASSWORD FROM 'correct horse' TO 'correct horse'",
        "ALTER CURRENT USER SET PASSWORD FROM 'correct horse' TO 'short'",
    ] {
        assert_eq!(ask(&mut first, wrong), refused, "{wrong}");
    }
    assert_eq!(ask(&mut second, "RETURN 1"), Ok(1), "nothing changed yet");
    let right = "ALTER CURRENT USER SET PASSWORD FROM 'correct horse' TO 'battery staple'";
    assert_eq!(ask(&mut first, right), Ok(0));
    assert_eq!(ask(&mut first, "RETURN 1"), Ok(1), "it goes on");
    let expired = Err("Neo.ClientError.Security.AuthorizationExpired".to_string());
    assert_eq!(ask(&mut second, "RETURN 1"), expired);
    assert_eq!(log_on(&server, token("ada", "correct horse")).code(), UNAUTHORIZED);
    assert!(log_on(&server, token("ada", "battery staple")).is_success());
    // A session that was left open is no place to guess at: who guesses waits, as at a log-on.
    for guess in 1..=4 {
        let text = format!("ALTER CURRENT USER SET PASSWORD FROM 'guess {guess}' TO 'long enough'");
        let code = ask(&mut first, &text).unwrap_err();
        let limited = "Neo.ClientError.Security.AuthenticationRateLimit".to_string();
        assert_eq!(code, if guess <= 3 { argument.clone() } else { limited }, "{guess}");
    }
    let right_again = "ALTER CURRENT USER SET PASSWORD FROM 'battery staple' TO 'long enough'";
    assert!(ask(&mut first, right_again).unwrap_err().ends_with("AuthenticationRateLimit"));
    // Nobody logged on at the database itself.
    let mut session = database.session();
    let mut ask = |text: &str| session.query(text, database::Params::new()).and_then(|result| result.rows());
    assert!(ask("SHOW CURRENT USER").unwrap().is_empty());
    assert_eq!(ask(right).unwrap_err().code, "Neo.ClientError.Statement.ArgumentError");
}

/// SHOW SETTINGS told a fixed table, whatever the server was told to do.
#[test]
fn settings_are_those_of_this_server() {
    let database = database();
    let value = |name: &str| {
        let text = format!("SHOW SETTINGS '{name}' YIELD value, isExplicitlySet");
        let rows = database.session().query(&text, database::Params::new()).unwrap().rows().unwrap();
        rows.first().map(|row| (row[0].as_str().unwrap().to_string(), row[1].as_bool().unwrap()))
    };
    let says = |text: &str, is_set: bool| Some((text.to_string(), is_set));
    assert_eq!(value("server.bolt.enabled"), says("false", false));
    assert_eq!(value("tanglewood.executors").unwrap().0, "2");
    assert_eq!(value("server.bolt.listen_address"), None);
    let users = database.users();
    users.add("ada", "correct horse").unwrap();
    let limits = tanglewood_server::Limits { connections_max: 7, ..Default::default() };
    let options = ServeOptions { gate: Gate::of(users), limits, ..ServeOptions::at("127.0.0.1:0") };
    let server = Server::start(database.clone(), &options).unwrap();
    assert_eq!(value("server.bolt.enabled"), says("true", true));
    assert_eq!(value("dbms.security.auth_enabled"), says("true", true));
    assert_eq!(value("server.bolt.tls_level"), says("DISABLED", false));
    assert_eq!(value("server.bolt.listen_address"), says(&server.address().to_string(), true));
    assert_eq!(value("tanglewood.connections.max"), says("7", true));
    assert_eq!(value("tanglewood.messages.max"), says("64MiB", false));
    let listed = database.session().query("CALL dbms.listConfig('BOLT.listen')", database::Params::new());
    let listed = listed.unwrap().rows().unwrap();
    assert_eq!((listed.len(), listed[0][2].as_str()), (1, Some(&*server.address().to_string())));
    drop(server);
    assert_eq!(value("server.bolt.enabled"), says("false", false), "it serves no more");
}

#[test]
fn a_user_pays_for_what_it_asks() {
    let (database, server) = guarded(&[("ada", "correct horse")]);
    let mut client = enter(&server, "ada", "correct horse");
    client.send(&[run("UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN sum(i * j)")]);
    assert!(client.next().is_success());
    assert_eq!(database.running()[0].tenant, "ada");
}

#[test]
fn users_are_kept_as_salted_hashes() {
    let database = database();
    let users = database.users();
    assert!(users.is_empty());
    users.add("ada", "correct horse").unwrap();
    users.add("bob", "correct horse").unwrap();
    assert_eq!(users.names(), ["ada", "bob"]);
    let snapshot = database.snapshot();
    let kept: Vec<String> =
        snapshot.catalog().entries().iter().map(|entry| String::from_utf8_lossy(entry.2).into()).collect();
    assert!(kept.iter().all(|text| !text.contains("horse") && text.matches("$argon2id$").count() == 1));
    assert_ne!(kept[0], kept[1], "the same password, two salts");
    assert_eq!(users.add("ada", "correct horse"), Err(UsersError::Exists("ada".into())));
    for name in ["", "a b", "ü", &"x".repeat(129)] {
        assert_eq!(users.add(name, "correct horse"), Err(UsersError::Name), "{name}");
    }
    for password in ["", "short", &"x".repeat(1_025)] {
        assert_eq!(users.add("eve", password), Err(UsersError::Password { chars_min: 8 }));
    }
    // The name of its user is no part of a password.
    for password in ["adaadaada", "Ada-ada1234", "1234567ADA"] {
        assert_eq!(
            users.set_password("ada", password),
            Err(UsersError::Password { chars_min: 8 }),
            "{password}"
        );
    }
    let stricter = Database::open(MEMORY, Options { password_chars_min: 12, ..Options::default() }).unwrap();
    assert_eq!(stricter.users().add("eve", "elevenchars"), Err(UsersError::Password { chars_min: 12 }));
    assert_eq!(
        stricter.users().add("eve", "twelveeve12"),
        Err(UsersError::Password { chars_min: 12 }),
        "less an `eve`"
    );
    stricter.users().add("eve", "thirteen chars").unwrap();
    let laxer = Database::open(MEMORY, Options { password_chars_min: 1, ..Options::default() }).unwrap();
    assert_eq!(laxer.users().add("eve", "seven77"), Err(UsersError::Password { chars_min: 8 }));
    users.remove("bob").unwrap();
    assert_eq!(users.remove("bob"), Err(UsersError::Unknown("bob".into())));
    assert!(users.log_on("ada", "correct horse").unwrap().is_some());
    assert!(users.log_on("bob", "correct horse").unwrap().is_none());
}

/// A session of a user who was dropped went on writing.
#[test]
fn sessions_end_with_their_users() {
    for change in
        ["DROP USER bob", "ALTER USER bob SET PASSWORD 'another one'", "ALTER USER bob SET STATUS SUSPENDED"]
    {
        let (database, server) = guarded(&[("ada", "correct horse"), ("bob", "battery staple")]);
        let enter = |name: &str, password: &str| enter(&server, name, password);
        let say = |client: &mut Client, text: &str| {
            client.send(&[run(text), pull(-1)]);
            let first = client.next();
            let _ = client.next();
            first
        };
        let (mut ada, mut bob, mut writing) =
            (enter("ada", "correct horse"), enter("bob", "battery staple"), enter("bob", "battery staple"));
        assert!(say(&mut bob, "CREATE (:A)").is_success());
        writing.send(&[request(BEGIN, &[none()])]);
        assert!(writing.next().is_success());
        assert!(say(&mut writing, "CREATE (:B)").is_success());
        assert!(say(&mut ada, change).is_success(), "{change}");
        let expired = "Neo.ClientError.Security.AuthorizationExpired";
        assert_eq!(say(&mut bob, "CREATE (:A)").code(), expired, "{change}");
        writing.send(&[request(COMMIT, &[])]);
        assert_eq!(writing.next().code(), expired, "{change}");
        assert_eq!(database.snapshot().statistics().vertices(), 1, "{change}");
        assert!(say(&mut ada, "CREATE (:A)").is_success(), "{change}");
        let own = say(&mut ada, "DROP USER ada");
        assert_eq!(own.code(), "Neo.ClientError.Statement.ArgumentError", "nobody drops itself");
    }
}

#[test]
fn others_may_reach_it_only_with_passwords() {
    let database = database();
    let users = database.users();
    users.add("ada", "correct horse").unwrap();
    let refused = Server::start(database.clone(), &ServeOptions::at("0.0.0.0:0")).map(|_| ());
    assert!(matches!(refused, Err(ServeError::NotLoopback(_))));
    let options = ServeOptions { gate: Gate::of(users), ..ServeOptions::at("0.0.0.0:0") };
    assert!(Server::start(database, &options).is_ok());
}

#[test]
fn wrong_certificates_are_refused_at_the_start() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let other_key = other.signing_key.serialize_pem();
    assert!(Tls::from_pem(certificate.as_bytes(), key.as_bytes()).is_ok());
    for (certificate, key) in [
        (certificate.as_str(), other_key.as_str()),
        ("", key.as_str()),
        (certificate.as_str(), ""),
        ("nonsense", "nonsense"),
    ] {
        assert!(matches!(Tls::from_pem(certificate.as_bytes(), key.as_bytes()), Err(ServeError::Tls(_))));
    }
}

const OVER_TLS: &str = r#"
import sys
import neo4j
from neo4j import GraphDatabase, TrustCustomCAs
from neo4j.exceptions import AuthError, ServiceUnavailable
port, certificate = sys.argv[1:]
auth = ("ada", "correct horse")
for scheme in ("bolt+ssc", "neo4j+ssc"):
    with GraphDatabase.driver(f"{scheme}://localhost:{port}", auth=auth) as driver:
        rows = driver.execute_query("UNWIND range(1, 100000) AS i RETURN i, 'text ' + i AS t").records
        assert len(rows) == 100_000 and rows[-1]["t"] == "text 100000"
        long = "x" * 1_000_000
        assert driver.execute_query("RETURN $long AS l", long=long).records[0]["l"] == long
for scheme in ("bolt", "neo4j"):
    trusted = dict(encrypted=True, trusted_certificates=TrustCustomCAs(certificate))
    with GraphDatabase.driver(f"{scheme}://localhost:{port}", auth=auth, **trusted) as driver:
        assert driver.execute_query("RETURN 1 AS x").records[0]["x"] == 1
try:
    with GraphDatabase.driver(f"bolt+ssc://localhost:{port}", auth=("ada", "wrong")) as driver:
        driver.verify_connectivity()
    raise SystemExit("a wrong password was taken")
except AuthError as error:
    assert error.code == "Neo.ClientError.Security.Unauthorized", error.code
try:
    with GraphDatabase.driver(f"bolt+s://localhost:{port}", auth=auth) as driver:
        driver.verify_connectivity()
    raise SystemExit("a stranger's certificate was trusted")
except ServiceUnavailable:
    pass
try:
    with GraphDatabase.driver(f"bolt://localhost:{port}", auth=auth, connection_acquisition_timeout=5) as driver:
        driver.verify_connectivity()
    raise SystemExit("it talked in clear text")
except Exception as error:
    assert not isinstance(error, AuthError), error
"#;

#[test]
fn the_official_driver_comes_through_tls_with_a_password() {
    let present = Command::new("python3").args(["-c", "import neo4j"]).output();
    if !present.is_ok_and(|output| output.status.success()) {
        eprintln!("passed over: needs python3 with the package neo4j");
        return;
    }
    let folder = TemporaryFolder::new("tls").unwrap();
    let database = database();
    let users = database.users();
    users.add("ada", "correct horse").unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
    world::files::write_bytes(&certificate, made.cert.pem().as_bytes()).unwrap();
    world::files::write_bytes(&key, made.signing_key.serialize_pem().as_bytes()).unwrap();
    let tls = Some(Tls::from_files(&certificate, &key).unwrap());
    let options = ServeOptions { gate: Gate::of(users), tls, ..ServeOptions::at("127.0.0.1:0") };
    let server = Server::start(database, &options).unwrap();
    let port = server.address().port().to_string();
    let output = Command::new("python3").args(["-c", OVER_TLS, &port]).arg(&certificate).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a statement as this user, where the client may act as it, and reads its rows.
fn ask_as(client: &mut Client, user: &str, text: &str) -> Result<Vec<String>, String> {
    let extra = if user.is_empty() { none() } else { Value::map([("imp_user", user.into())]) };
    client.send(&[run_with(text, none(), extra), pull(-1)]);
    let ran = client.next();
    if !ran.is_success() {
        let code = ran.code().to_string();
        assert!(!client.next().is_success());
        client.send(&[request(RESET, &[])]);
        assert!(client.next().is_success());
        return Err(code);
    }
    let mut rows = Vec::new();
    loop {
        let answer = client.next();
        if answer.is_success() {
            return Ok(rows);
        }
        rows.push(format!("{:?}", answer.values()));
    }
}

#[test]
fn a_user_acts_as_another_only_where_that_is_granted() {
    let people = [("admin", "correct horse"), ("clerk", "correct horse"), ("guest", "correct horse")];
    let (database, server) = guarded(&people);
    let mut session = database.session();
    let mut set = |text: &str| {
        session.query(text, database::Params::new()).and_then(|result| result.finish()).unwrap();
    };
    for text in [
        "CREATE (:Open {id: 1}), (:Secret {id: 2})",
        "CREATE ROLE office",
        "CREATE ROLE outside",
        "GRANT ROLE office TO clerk",
        "GRANT ROLE outside TO guest",
        "GRANT MATCH {*} ON GRAPH * NODES Open, Secret TO office",
        "GRANT MATCH {*} ON GRAPH * NODES Open TO outside",
        "GRANT IMPERSONATE (guest) ON DBMS TO office",
    ] {
        set(text);
    }
    let count = "MATCH (n) RETURN count(n) AS c";
    let mut clerk = enter(&server, "clerk", "correct horse");
    let forbidden = "Neo.ClientError.Security.Forbidden";
    let all = ask_as(&mut clerk, "", count).unwrap();
    let fewer = ask_as(&mut clerk, "guest", count).unwrap();
    assert!(all[0].contains('2') && fewer[0].contains('1'), "{all:?} {fewer:?}");
    assert_eq!(ask_as(&mut clerk, "", count).unwrap(), all, "and is itself again");
    for other in ["admin", "nobody", "clerk "] {
        assert_eq!(ask_as(&mut clerk, other, count).unwrap_err(), forbidden, "{other}");
    }
    assert!(ask_as(&mut clerk, "clerk", count).is_ok());
    assert_eq!(ask_as(&mut clerk, "guest", "CREATE (:Open)").unwrap_err(), forbidden);
    // In a transaction, from its beginning to its end.
    clerk.send(&[
        request(BEGIN, &[Value::map([("imp_user", "guest".into())])]),
        run(count),
        pull(-1),
        request(ROLLBACK, &[]),
    ]);
    let told: Vec<Answer> = (0..5).map(|_| clerk.next()).collect();
    assert!(format!("{:?}", told[2].values()).contains('1'));
    let mut admin = enter(&server, "admin", "correct horse");
    assert_eq!(ask_as(&mut admin, "clerk", count).unwrap(), all);
    assert_eq!(ask_as(&mut admin, "guest", count).unwrap(), fewer);
    // Rights that are taken back are gone at once, and so is a user.
    set("REVOKE IMPERSONATE (guest) ON DBMS FROM office");
    assert_eq!(ask_as(&mut clerk, "guest", count).unwrap_err(), forbidden);
    set("DROP USER guest");
    assert_eq!(ask_as(&mut admin, "guest", count).unwrap_err(), forbidden);
}

#[test]
fn tokens_of_a_provider_let_in_the_user_that_they_name_until_they_end() {
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use tanglewood_server::users::{JwtOptions, JwtVerifier};
    let base64 = |bytes: &[u8]| data_encoding::BASE64URL_NOPAD.encode(bytes);
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let folder = TemporaryFolder::new("jwt").unwrap();
    let keys = folder.path().join("keys.json");
    let x = base64(pair.public_key().as_ref());
    let set = format!(r#"{{"keys": [{{"kty": "OKP", "crv": "Ed25519", "x": "{x}"}}]}}"#);
    world::files::write_bytes(&keys, set.as_bytes()).unwrap();
    let (issuer, audience, user_claim) = ("https://id.example".into(), "graph".into(), "name".into());
    let jwt =
        JwtVerifier::open(JwtOptions { keys, issuer, audience, user_claim, leeway: Duration::ZERO }).unwrap();
    let database = database();
    let users = database.users();
    users.add("ada", "correct horse").unwrap();
    let options =
        ServeOptions { gate: Gate::with_jwt(users.clone(), jwt), ..ServeOptions::at("127.0.0.1:0") };
    let server = Server::start(database.clone(), &options).unwrap();
    let now_s = world::clock::wall_us() / 1_000_000;
    let signed = |user: &str, until_s: u64| {
        let claims =
            format!(r#"{{"iss":"https://id.example","aud":"graph","name":"{user}","exp":{until_s}}}"#);
        let text = format!("{}.{}", base64(br#"{"alg":"EdDSA"}"#), base64(claims.as_bytes()));
        let signature = base64(pair.sign(text.as_bytes()).as_ref());
        Value::map([("scheme", "bearer".into()), ("credentials", format!("{text}.{signature}").into())])
    };
    for refused in [
        signed("bob", now_s + 60),
        signed("ada", now_s - 60),
        Value::map([("scheme", "bearer".into()), ("credentials", "x".into())]),
    ] {
        assert_eq!(log_on(&server, refused).code(), UNAUTHORIZED);
    }
    assert!(log_on(&server, token("ada", "correct horse")).is_success(), "passwords are good beside");
    let mut client = Client::shaken(server.address());
    // The passwords before took their time.
    let soon_s = world::clock::wall_us() / 1_000_000 + 2;
    client.send(&[request(HELLO, &[none()]), request(LOGON, &[signed("ada", soon_s)])]);
    assert!((0..2).all(|_| client.next().is_success()));
    assert!(ask_as(&mut client, "", "SHOW CURRENT USER").unwrap()[0].contains("ada"));
    // The session ends with the token.
    let ended = world::clock::monotonic_ns();
    let code = loop {
        if let Err(code) = ask_as(&mut client, "", "RETURN 1") {
            break code;
        }
        assert!(world::clock::monotonic_ns() - ended < 20_000_000_000);
        world::threads::sleep(Duration::from_millis(20));
    };
    assert_eq!(code, "Neo.ClientError.Security.TokenExpired");
    users.alter("ada", None, Some(true)).unwrap();
    assert_eq!(log_on(&server, signed("ada", now_s + 60)).code(), UNAUTHORIZED);
}
