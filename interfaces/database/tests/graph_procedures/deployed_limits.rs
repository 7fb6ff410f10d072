//! Deployed programs at their limits in bytes, of the past, in backups, and cached by their versions.

use super::deployed::{EACH, NEEDS, SUM, answering, bytes, deploy, error, module_with};
use super::rows;
use tanglewood_database::{
    Database, Error, History, Limits, MEMORY, Options, Session, Value, params, restore,
};
use world::files::TemporaryFolder;

/// Bytes of one module, and of all together.
const MODULE_BYTES_MAX: usize = 1 << 20;
const PROGRAMS_BYTES_MAX: usize = 16 << 20;

/// A module made as long as this, by a section that nobody reads.
fn padded(module: &Value, length: usize) -> Value {
    let Value::Bytes(module) = module else { panic!("a module is bytes") };
    // Its length takes five bytes, then comes a name without letters.
    let content = length - module.len() - 6;
    let size = (0..5).map(|at| (content >> (7 * at)) as u8 & 0x7f | if at < 4 { 0x80 } else { 0 });
    let section = std::iter::once(0).chain(size).chain(std::iter::repeat_n(0, content));
    let padded: Vec<u8> = module.iter().copied().chain(section).collect();
    assert_eq!(padded.len(), length);
    bytes(padded)
}

fn create(session: &mut Session, number: usize, length: usize) -> Result<(), Error> {
    deploy(
        session,
        &format!("CREATE PROGRAM p{number} FROM $module"),
        &padded(&answering(number as i64), length),
    )
}

fn deployed_bytes(session: &mut Session) -> i64 {
    rows(session, "SHOW PROGRAMS YIELD bytes RETURN sum(bytes)")[0][0]
}

#[test]
fn all_programs_together_have_a_limit_that_a_restart_keeps() {
    let folder = TemporaryFolder::new("programs-bytes").unwrap();
    let options = || Options { executors: Some(1), ..Options::default() };
    let database = Database::open(folder.path(), options()).unwrap();
    let mut session = database.session();
    rows(&mut session, "UNWIND range(1, 10) AS i CREATE (:V {i: i})");
    (0..15).for_each(|number| create(&mut session, number, MODULE_BYTES_MAX).unwrap());
    // Below, at and above it.
    create(&mut session, 15, MODULE_BYTES_MAX - 1).unwrap();
    let refused = create(&mut session, 16, 2_000).unwrap_err();
    assert!(refused.message.contains("more than 16777216 bytes"), "{refused:?}");
    rows(&mut session, "DROP PROGRAM p15");
    create(&mut session, 15, MODULE_BYTES_MAX).unwrap();
    assert_eq!(deployed_bytes(&mut session), PROGRAMS_BYTES_MAX as i64);
    assert!(create(&mut session, 16, 2_000).is_err());
    assert!(create(&mut session, 17, MODULE_BYTES_MAX + 1).unwrap_err().message.contains("at most 1048576"));
    drop((session, database));
    for is_checkpointed in [false, true] {
        let database = Database::open(folder.path(), options()).unwrap();
        let mut session = database.session();
        assert_eq!(deployed_bytes(&mut session), PROGRAMS_BYTES_MAX as i64, "{is_checkpointed}");
        assert_eq!(rows(&mut session, "CALL program.p7() YIELD value RETURN sum(value)"), [[70]]);
        assert!(create(&mut session, 16, 2_000).is_err(), "{is_checkpointed}");
        // One in the place of another has room.
        let text = "CREATE OR REPLACE PROGRAM p3 FROM $module";
        deploy(&mut session, text, &padded(&answering(i64::from(is_checkpointed)), MODULE_BYTES_MAX))
            .unwrap();
        let sum = rows(&mut session, "CALL program.p3() YIELD value RETURN sum(value)");
        assert_eq!(sum, [[10 * i64::from(is_checkpointed)]]);
        database.checkpoint().unwrap();
    }
}

#[test]
fn a_node_that_is_too_large_for_a_call_ends_the_query() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    rows(&mut session, "CREATE (:V {text: reduce(s = 'x', n IN range(1, 24) | s + s)})");
    // Its needs say in the byte behind the types that it reads all properties.
    let needs = NEEDS.replacen(r"\00".repeat(8).as_str(), &format!(r"{}\01", r"\00".repeat(7)), 1);
    let reading = module_with(&needs, &EACH.replace("VALUE", "i64.const 1"));
    deploy(&mut session, "CREATE PROGRAM mine FROM $module", &reading).unwrap();
    let refused = error(&mut session, SUM);
    assert!(refused.message.contains("more than 16777216 bytes of one node"), "{refused:?}");
}

#[test]
fn the_past_and_backups_have_the_programs_of_their_time() {
    let folder = TemporaryFolder::new("programs-past").unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = || Options { executors: Some(1), history: Some(History::Forever), ..Options::default() };
    let database = Database::open(path("db"), options()).unwrap();
    let mut session = database.session();
    let place = |session: &mut Session, text: &str| {
        session.query(text, params! {}).unwrap().finish().unwrap().commit_version
    };
    let first = place(&mut session, "UNWIND range(1, 10) AS i CREATE (:V {i: i})");
    deploy(&mut session, "CREATE PROGRAM mine FROM $module", &answering(2)).unwrap();
    let second = place(&mut session, "CREATE (:V {i: 11})");
    deploy(&mut session, "CREATE OR REPLACE PROGRAM mine FROM $module", &answering(5)).unwrap();
    let third = place(&mut session, "CREATE (:V {i: 12})");
    database.backup(path("backup")).unwrap();
    rows(&mut session, "DROP PROGRAM mine");
    for cached in ["", "CACHED"] {
        let text = SUM.replace("YIELD", &format!("{cached} YIELD"));
        for _ in 0..2 {
            assert!(
                error(&mut session, &format!("AS OF {first} {text}")).message.contains("there is no program")
            );
            assert_eq!(rows(&mut session, &format!("AS OF {second} {text}")), [[11, 22]], "{cached}");
            assert_eq!(rows(&mut session, &format!("AS OF {third} {text}")), [[12, 60]], "{cached}");
            assert!(error(&mut session, &text).message.contains("there is no program"));
        }
    }
    drop((session, database));
    restore(path("backup"), path("restored")).unwrap();
    let restored = Database::open(path("restored"), options()).unwrap();
    assert_eq!(rows(&mut restored.session(), SUM), [[12, 60]]);
    let old = Database::open(path("db"), options()).unwrap();
    assert!(error(&mut old.session(), SUM).message.contains("there is no program"));
}

#[test]
fn results_go_with_the_version_of_their_program() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    rows(&mut session, "UNWIND range(1, 10) AS i CREATE (:V {i: i})");
    let text = SUM.replace("YIELD", "CACHED YIELD");
    let listed = "SHOW CACHES YIELD program, entries, hits WHERE program = 'mine' RETURN entries, hits";
    for number in [2, 3] {
        deploy(&mut session, "CREATE OR REPLACE PROGRAM mine FROM $module", &answering(number)).unwrap();
        assert!(rows(&mut session, listed).is_empty(), "{number}");
        (0..3).for_each(|_| assert_eq!(rows(&mut session, &text), [[10, 10 * number]]));
        assert_eq!(rows(&mut session, listed), [[1, 2]]);
    }
    rows(&mut session, "DROP PROGRAM mine");
    assert!(rows(&mut session, listed).is_empty());
    assert!(error(&mut session, &text).message.contains("there is no program"));
    assert!(rows(&mut session, listed).is_empty());
}

/// A module of much code, which takes long to compile.
fn long() -> Value {
    let step = "(local.set $x (i64.add (i64.mul (local.get $x) (i64.const 7919)) (i64.rotl (local.get $x) (i64.const 13))))";
    let steps = step.repeat(30);
    let function =
        |number| format!("(func (export \"f{number}\") (param $x i64) (result i64) {steps} (local.get $x))");
    let functions: String = (0..600).map(function).collect();
    let Value::Bytes(whole) =
        module_with(NEEDS, &format!("{} ) {functions} (func", EACH.replace("VALUE", "i64.const 4")))
    else {
        panic!("a module is bytes")
    };
    Value::Bytes(whole)
}

#[test]
fn whoever_waits_for_a_module_to_be_compiled_ends_by_its_time() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let (mut session, module) = (database.session(), long());
    rows(&mut session, "UNWIND range(1, 10) AS i CREATE (:V {i: i})");
    let limits = Limits { timeout: Some(std::time::Duration::from_millis(5)), ..Limits::default() };
    let text = "CREATE PROGRAM mine FROM $module";
    let ended =
        session.query_within(text, params! { "module" => module.clone() }, &limits).map(drop).unwrap_err();
    assert_eq!(ended.code, "Neo.ClientError.Transaction.TransactionTimedOut", "{ended:?}");
    // The only executor serves others meanwhile.
    assert_eq!(rows(&mut database.session(), "MATCH (v:V) RETURN count(*)"), [[10]]);
    deploy(&mut session, text, &module).unwrap();
    assert_eq!(rows(&mut session, SUM), [[10, 40]]);
}

#[test]
fn what_only_show_calls_is_called_by_no_text() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    for name in ["show users", "show caches", "show programs", "call program", "load csv"] {
        for arguments in ["", "()", "([])", "([[1]])"] {
            let refused = error(&mut session, &format!("CALL `{name}`{arguments}"));
            assert_eq!(
                refused.code, "Neo.ClientError.Procedure.ProcedureNotFound",
                "{name}{arguments}: {refused:?}"
            );
        }
    }
}

#[test]
fn a_transaction_that_called_a_program_is_refused_where_that_is_another_now() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let (mut session, mut other) = (database.session(), database.session());
    rows(&mut session, "UNWIND range(1, 10) AS i CREATE (:V {i: i})");
    deploy(&mut session, "CREATE PROGRAM mine FROM $module", &answering(2)).unwrap();
    deploy(&mut session, "CREATE PROGRAM other FROM $module", &answering(2)).unwrap();
    for (call, is_refused) in [(SUM, true), ("MATCH (v:V {i: 1}) RETURN v.i", false)] {
        session.begin(tanglewood_database::Mode::Write).unwrap();
        rows(&mut session, call);
        deploy(&mut other, "CREATE OR REPLACE PROGRAM mine FROM $module", &answering(i64::from(is_refused)))
            .unwrap();
        rows(&mut session, "MATCH (v:V {i: 2}) SET v.i = 2");
        assert_eq!(session.commit().is_err(), is_refused, "{call}");
    }
}
