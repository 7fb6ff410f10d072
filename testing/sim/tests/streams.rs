//! A result that is still streaming when its transaction commits: what is read from it later must have been validated, or refused.

use database::{Database, MEMORY, Mode, Options, Params};

#[test]
fn rows_read_after_the_commit_were_validated_by_it() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let ask = |text: &str| database.session().query(text, Params::new()).unwrap().rows().unwrap();
    ask("UNWIND range(1, 100000) AS i CREATE (:N {i: i, v: 0})");
    ask("CREATE (:C {x: 0})");
    let mut reader = database.session();
    reader.begin(Mode::Write).unwrap();
    let mut open = reader.query("MATCH (n:N) RETURN n.i, n.v", Params::new()).unwrap();
    let first = open.next_batch().unwrap().unwrap();
    assert_eq!(first.row(0)[1].as_int(), Some(0));
    // Overwrites what has not been read yet, and then something that the reader's transaction overwrites in turn.
    ask("MATCH (n:N) WHERE n.i > 99000 SET n.v = 1");
    ask("MATCH (c:C) SET c.x = 2");
    reader.query("MATCH (c:C) SET c.x = 1", Params::new()).unwrap().finish().unwrap();
    let committed = reader.commit();
    let rest = open.rows();
    // The reader comes after the writer, for it overwrote its C; so it cannot have found the old N.
    if let (Ok(_), Ok(rest)) = (committed, rest) {
        let stale =
            rest.iter().filter(|row| row[0].as_int() > Some(99_000) && row[1].as_int() == Some(0)).count();
        assert_eq!(stale, 0, "read skew: {stale} rows were read behind the back of the commit");
    }
}
