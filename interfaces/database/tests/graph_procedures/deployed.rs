//! Node programs that are deployed: what they answer, versions of them, and modules that do what they may not.

use super::rows;
use tanglewood_database::{Database, Error, Limits, MEMORY, Options, Session, Value, params};
use world::files::TemporaryFolder;

/// Begins everywhere, and reads nothing.
pub const NEEDS: &str = r"\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00";

/// Answers each node with a number; one message, null, stands at each.
pub const EACH: &str = "(local $n i32) (local $in i32) (local $out i32) (local $i i32)
    (local.set $n (i32.load (i32.const 65550)))
    (local.set $in (i32.const 65554))
    (i32.store8 (i32.const 2097152) (i32.const 0))
    (i32.store (i32.const 2097153) (local.get $n))
    (memory.fill (i32.const 2097157) (i32.const 0) (local.get $n))
    (local.set $out (i32.add (i32.const 2097157) (local.get $n)))
    (i32.store (local.get $out) (i32.const 0))
    (i32.store offset=4 (local.get $out) (local.get $n))
    (local.set $out (i32.add (local.get $out) (i32.const 8)))
    (block $done (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
        (i64.store (local.get $out) (i64.load (local.get $in)))
        (i32.store8 offset=8 (local.get $out) (i32.const 3))
        (i64.store offset=9 (local.get $out) (VALUE))
        (local.set $in (i32.add (local.get $in) (i32.const 26)))
        (local.set $out (i32.add (local.get $out) (i32.const 17)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (i32.store8 (local.get $out) (i32.const 0))
    (i64.or (i64.const 0x20000000000000) (i64.extend_i32_u (i32.sub (local.get $out) (i32.const 2097151))))";

/// A module whose visit is this.
fn module(visit: &str) -> Value {
    module_with(NEEDS, visit)
}

/// The same, with needs of its own.
pub fn module_with(needs: &str, visit: &str) -> Value {
    let text = format!(
        r#"(module (memory (export "memory") 64) (global $count (mut i64) (i64.const 0))
        (data (i32.const 16) "{needs}")
        (func (export "tanglewood_version") (result i32) (i32.const 1))
        (func (export "tanglewood_reserve") (param i32) (result i32) (i32.const 65536))
        (func (export "tanglewood_needs") (result i64) (i64.const 0x1000000011))
        (func $visit (export "tanglewood_visit") (result i64) {visit}))"#
    );
    bytes(wat::parse_str(&text).unwrap())
}

pub fn bytes(bytes: Vec<u8>) -> Value {
    Value::Bytes(bytes.into())
}

pub fn answering(number: i64) -> Value {
    module(&EACH.replace("VALUE", &format!("i64.const {number}")))
}

fn open() -> Database {
    let options = Options { executors: Some(2), ..Options::default() };
    let database = Database::open(MEMORY, options).unwrap();
    rows(&mut database.session(), "UNWIND range(1, 3000) AS i CREATE (:V {i: i})");
    database
}

pub fn deploy(session: &mut Session, text: &str, module: &Value) -> Result<(), Error> {
    session.query(text, params! { "module" => module.clone() }).and_then(|result| result.rows()).map(drop)
}

pub fn error(session: &mut Session, text: &str) -> Error {
    match session.query(text, params! {}).and_then(|result| result.rows()) {
        Err(error) => error,
        Ok(rows) => panic!("{text}: {rows:?}"),
    }
}

pub const SUM: &str = "CALL program.mine() YIELD node, value RETURN count(DISTINCT node), sum(value)";

#[test]
fn a_program_is_deployed_replaced_and_dropped_while_queries_run() {
    let database = open();
    let mut session = database.session();
    let refused = error(&mut session, SUM);
    assert!(refused.message.contains("there is no program `mine`"), "{refused:?}");
    deploy(&mut session, "CREATE PROGRAM mine FROM $module", &answering(7)).unwrap();
    assert_eq!(rows(&mut session, SUM), [[3_000, 21_000]]);
    assert_eq!(rows(&mut session, "MATCH (v:V {i: 5}) CALL program.mine(v) YIELD value RETURN value"), [[7]]);
    let listed = session.query("SHOW PROGRAMS", params! {}).unwrap().rows().unwrap();
    assert_eq!((listed.len(), listed[0][0].as_str()), (1, Some("mine")));
    // A transaction that has begun keeps the version of its snapshot.
    let mut early = database.session();
    early.begin(tanglewood_database::Mode::Read).unwrap();
    assert_eq!(rows(&mut early, SUM), [[3_000, 21_000]]);
    let taken = deploy(&mut session, "CREATE PROGRAM mine FROM $module", &answering(8)).unwrap_err();
    assert!(taken.message.contains("already"), "{taken:?}");
    deploy(&mut session, "CREATE PROGRAM mine IF NOT EXISTS FROM $module", &answering(8)).unwrap();
    assert_eq!(rows(&mut session, SUM), [[3_000, 21_000]]);
    deploy(&mut session, "CREATE OR REPLACE PROGRAM mine FROM $module", &answering(8)).unwrap();
    assert_eq!(rows(&mut session, SUM), [[3_000, 24_000]]);
    assert_eq!(rows(&mut early, SUM), [[3_000, 21_000]]);
    early.rollback().unwrap();
    rows(&mut session, "DROP PROGRAM mine");
    assert!(error(&mut session, SUM).message.contains("there is no program"));
    assert!(error(&mut session, "DROP PROGRAM mine").message.contains("to drop"));
    rows(&mut session, "DROP PROGRAM mine IF EXISTS");
}

#[test]
fn a_program_survives_a_restart() {
    let folder = TemporaryFolder::new("deployed-programs").unwrap();
    let at = folder.path().to_str().unwrap();
    for round in 0..3 {
        let database = Database::open(at, Options::default()).unwrap();
        let mut session = database.session();
        if round == 0 {
            rows(&mut session, "UNWIND range(1, 10) AS i CREATE (:V {i: i})");
            deploy(&mut session, "CREATE PROGRAM mine FROM $module", &answering(3)).unwrap();
        }
        assert_eq!(rows(&mut session, SUM), [[10, 30]], "round {round}");
        if round == 1 {
            database.checkpoint().unwrap();
        }
    }
}

#[test]
fn what_is_no_program_is_not_deployed() {
    let database = open();
    let mut session = database.session();
    let text = |text: &str| bytes(wat::parse_str(text).unwrap());
    let imports = r#"(module (import "env" "now" (func (result i64))) (memory (export "memory") 1))"#;
    let bare = r#"(module (memory (export "memory") 1))"#;
    let old = r#"(module (memory (export "memory") 1) (func (export "tanglewood_version") (result i32) (i32.const 9))
        (func (export "tanglewood_reserve") (param i32) (result i32) (i32.const 0))
        (func (export "tanglewood_needs") (result i64) (i64.const 0)) (func (export "tanglewood_visit") (result i64) (i64.const 0)))"#;
    let wrong = old.replace("(param i32) (result i32) (i32.const 0)", "(result i32) (i32.const 0)");
    let start = old.replace("(memory", "(start $s) (func $s (loop $l (br $l))) (memory");
    for (module, part) in [
        (bytes(b"no module".to_vec()), "no module of WebAssembly"),
        (bytes(Vec::new()), "no module of WebAssembly"),
        (text(imports), "it imports `env.now`"),
        (text("(module)"), "no memory"),
        (text(bare), "no function `tanglewood_version`"),
        (text(old), "version 9"),
        (text(&wrong), "`tanglewood_reserve` takes or returns something else"),
        (text(&start), "does not come to an end"),
        (Value::Int(1), "is not there"),
        (bytes(vec![0; 1 << 20]), "no module"),
        (bytes(vec![0; (1 << 20) + 1]), "at most 1048576"),
    ] {
        let refused = deploy(&mut session, "CREATE PROGRAM mine FROM $module", &module).unwrap_err();
        assert!(refused.message.contains(part), "{part}: {refused:?}");
    }
    let module = answering(1);
    for (text, part) in [
        ("CREATE PROGRAM reach FROM $module", "is built in"),
        ("CREATE PROGRAM `a b` FROM $module", "letters, digits"),
        ("CREATE PROGRAM mine FROM 'x'", "is a parameter"),
        ("CREATE PROGRAM mine FROM $other", "other"),
    ] {
        let refused = deploy(&mut session, text, &module).unwrap_err();
        assert!(refused.message.contains(part), "{text}: {refused:?}");
    }
    assert_eq!(session.query("SHOW PROGRAMS", params! {}).unwrap().rows().unwrap().len(), 0);
}

/// Modules that break their promises, and what their query is told.
#[test]
fn a_module_ends_its_query_and_nothing_else() {
    let database = open();
    let mut session = database.session();
    let each = EACH.replace("VALUE", "i64.const 1");
    let cases: [(&str, String, &str); 12] = [
        ("endless", "(loop $l (br $l)) (unreachable)".into(), "does not come to an end"),
        ("recursive", "(call $visit)".into(), "calls itself too deeply"),
        ("broken", "(unreachable)".into(), "stopped by itself"),
        (
            "greedy",
            "(loop $l (br_if $l (i32.ge_s (memory.grow (i32.const 64)) (i32.const 0)))) (unreachable)".into(),
            "more memory than",
        ),
        ("outside", "(i64.const -1)".into(), "outside of its memory"),
        ("far", "(i64.const 0x7fffffff00000010)".into(), "outside of its memory"),
        ("empty", "(i64.const 0)".into(), "is no answer"),
        ("noise", "(i64.const 0x1000000004)".into(), "is no answer"),
        ("states", each.replace("(i32.store (i32.const 2097153) (local.get $n))", ""), "is no answer"),
        (
            "stranger",
            each.replace("(i64.load (local.get $in))", "(i64.const 99999999)"),
            "names node 99999999, which is not there",
        ),
        ("reads past", "(i64.load (i32.const -8))".into(), "stopped by itself"),
        ("divides", "(i64.div_u (i64.const 1) (i64.const 0))".into(), "stopped by itself"),
    ];
    for (name, visit, part) in cases {
        deploy(&mut session, "CREATE OR REPLACE PROGRAM mine FROM $module", &module(&visit)).unwrap();
        let refused = error(&mut session, SUM);
        assert!(refused.message.contains(part), "{name}: {refused:?}");
        assert_eq!(refused.code, "Neo.ClientError.Procedure.ProcedureCallFailed", "{name}");
        assert_eq!(rows(&mut session, "MATCH (v:V) RETURN count(v)"), [[3_000]], "{name}");
    }
}

/// A module that counts its calls in a global gets the same numbers whoever works.
#[test]
fn what_a_module_remembers_does_not_depend_on_who_works() {
    let visit = format!(
        "(global.set $count (i64.add (global.get $count) (i64.const 1))) {}",
        EACH.replace("VALUE", "global.get $count")
    );
    let visit = visit.replacen(
        "(global.set",
        "(local $n i32) (local $in i32) (local $out i32) (local $i i32) (global.set",
        1,
    );
    let locals = "(local $n i32) (local $in i32) (local $out i32) (local $i i32)\n";
    let visit = visit.replacen(locals, "", 1);
    let counting = module(&visit);
    let sum = "CALL program.mine() YIELD value RETURN sum(value), max(value)";
    let mut answers = Vec::new();
    for executors in [1, 2, 3] {
        let database =
            Database::open(MEMORY, Options { executors: Some(executors), ..Options::default() }).unwrap();
        let mut session = database.session();
        rows(&mut session, "UNWIND range(1, 20000) AS i CREATE ()");
        deploy(&mut session, "CREATE PROGRAM mine FROM $module", &counting).unwrap();
        answers.extend((0..2).map(|_| rows(&mut session, sum)));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[test]
fn a_program_that_never_ends_is_ended_by_its_time_and_its_memory() {
    // It sends itself a message for ever: one message instead of the rows.
    let visit = "(i32.store8 (i32.const 2097152) (i32.const 0)) (i32.store (i32.const 2097153) (i32.const 1))
        (i32.store8 (i32.const 2097157) (i32.const 0)) (i32.store (i32.const 2097158) (i32.const 1))
        (i64.store (i32.const 2097162) (i64.load (i32.const 65554))) (i32.store8 (i32.const 2097170) (i32.const 0))
        (i32.store (i32.const 2097171) (i32.const 0)) (i32.store8 (i32.const 2097175) (i32.const 0)) (i64.const 0x20000000000018)";
    let database = open();
    let mut session = database.session();
    deploy(&mut session, "CREATE PROGRAM mine FROM $module", &module(visit)).unwrap();
    let text = "MATCH (v:V {i: 1}) CALL program.mine(v) YIELD value RETURN count(*)";
    let limits = Limits { timeout: Some(std::time::Duration::from_millis(300)), ..Limits::default() };
    let ended = session.query_within(text, params! {}, &limits).and_then(|found| found.rows()).unwrap_err();
    assert_eq!(ended.code, "Neo.ClientError.Transaction.TransactionTimedOut", "{ended:?}");
    // Its instances have 4 MiB each.
    let limits = Limits { bytes_max: Some(3 << 20), ..Limits::default() };
    let ended = session.query_within(text, params! {}, &limits).and_then(|found| found.rows()).unwrap_err();
    assert_eq!(ended.code, "Neo.TransientError.General.MemoryPoolOutOfMemoryError", "{ended:?}");
}

/// The program of the guide, built as the guide says, and beside its twin in Cypher. Run by name where the target wasm32-unknown-unknown is there.
#[test]
#[ignore = "builds a module"]
fn the_program_of_the_guide() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let guide = std::fs::read_to_string(format!("{root}/docs/guide/node-programs.md")).unwrap();
    let code = guide.split("```text file=src/lib.rs\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = TemporaryFolder::new("guide-program").unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("src")).unwrap();
    std::fs::write(at.join("src/lib.rs"), code).unwrap();
    let manifest = format!(
        "[package]\nname = \"around\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\
         [dependencies]\ntanglewood-program = {{ path = \"{root}/engine/program\" }}\n[workspace]\n"
    );
    std::fs::write(at.join("Cargo.toml"), manifest).unwrap();
    let cargo = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO"));
        let done =
            command.args(arguments).arg("--offline").current_dir(at).env_remove("CARGO_TARGET_DIR").status();
        assert!(done.unwrap().success(), "{arguments:?}");
    };
    cargo(&["test", "-q"]);
    cargo(&["build", "-q", "--release", "--target", "wasm32-unknown-unknown"]);
    let module = std::fs::read(at.join("target/wasm32-unknown-unknown/release/around.wasm")).unwrap();
    let database = super::database(3);
    let mut session = database.session();
    deploy(&mut session, "CREATE PROGRAM around FROM $module", &bytes(module)).unwrap();
    let found =
        rows(&mut session, "CALL program.around() YIELD node, value RETURN node.id AS id, value ORDER BY id");
    let twin = "MATCH (v)--(o) WITH v, o, COUNT { (o)--() } AS count RETURN v.id AS id, sum(count) AS value ORDER BY id";
    assert_eq!(found, rows(&mut session, twin));
}
