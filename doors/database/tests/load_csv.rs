//! `LOAD CSV`: files below the import folder become rows, and nothing else can be read.
#![allow(clippy::unwrap_used)]

use database::{Database, MEMORY, Options, Params, Session, Value};
use tanglewood_database as database;
use world::files::{TemporaryFolder, write_bytes};

fn session(folder: &TemporaryFolder) -> Session {
    let import_folder = Some(folder.path().to_path_buf());
    Database::open(MEMORY, Options { executors: Some(1), import_folder, ..Options::default() })
        .unwrap()
        .session()
}

/// Rows as they are shown in messages.
fn shown(rows: Result<Vec<Vec<Value>>, database::Error>) -> String {
    format!("{:?}", rows.unwrap())
}

fn ask(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>, database::Error> {
    session.query(text, Params::new())?.rows()
}

#[test]
fn records_become_rows() {
    let folder = TemporaryFolder::new("load-csv").unwrap();
    write_bytes(&folder.path().join("people.csv"), b"name;age\nAda;36\n\"Bo;b\";\n").unwrap();
    let mut session = session(&folder);
    let with = "LOAD CSV WITH HEADERS FROM 'file:///people.csv' AS row FIELDTERMINATOR ';' RETURN row.name, toInteger(row.age)";
    assert_eq!(
        shown(ask(&mut session, with)),
        format!("{:?}", [["Ada".into(), Value::Int(36)], ["Bo;b".into(), Value::Null]])
    );
    let without = "UNWIND ['people.csv', 'people.csv'] AS f LOAD CSV FROM f AS row RETURN count(row[0])";
    assert_eq!(shown(ask(&mut session, without)), format!("{:?}", [[Value::Int(6)]]));
    let written = "LOAD CSV FROM 'file:///people.csv' AS row CALL (row) { CREATE (:P {x: row[0]}) } IN TRANSACTIONS OF 2 ROWS";
    ask(&mut session, written).unwrap();
    assert_eq!(shown(ask(&mut session, "MATCH (p:P) RETURN count(*)")), format!("{:?}", [[Value::Int(3)]]));
}

#[test]
fn a_long_file_streams() {
    let folder = TemporaryFolder::new("load-csv").unwrap();
    let text: String = (0..50_000).map(|at| format!("{at},x\n")).collect();
    write_bytes(&folder.path().join("long.csv"), text.as_bytes()).unwrap();
    let mut session = session(&folder);
    let sum = "LOAD CSV FROM 'file:///long.csv' AS row RETURN sum(toInteger(row[0]))";
    assert_eq!(shown(ask(&mut session, sum)), format!("{:?}", [[Value::Int(1_249_975_000)]]));
    let few = "LOAD CSV FROM 'file:///long.csv' AS row RETURN row[0] LIMIT 2";
    assert_eq!(ask(&mut session, few).unwrap().len(), 2);
}

#[test]
fn what_lies_elsewhere_is_refused() {
    let folder = TemporaryFolder::new("load-csv").unwrap();
    let mut session = session(&folder);
    for bad in [
        "file:///../etc/passwd",
        "file:///etc/../../passwd",
        "https://example.org/a.csv",
        "file:///missing.csv",
    ] {
        let text = format!("LOAD CSV FROM '{bad}' AS row RETURN row");
        let error = ask(&mut session, &text).unwrap_err();
        assert_eq!(error.code, "Neo.ClientError.Statement.ExternalResourceFailed", "{bad}");
    }
    let mut closed = Database::open(MEMORY, Options::default()).unwrap().session();
    let error = ask(&mut closed, "LOAD CSV FROM 'file:///a.csv' AS row RETURN row").unwrap_err();
    assert!(error.hint.unwrap().contains("import_folder"));
}
