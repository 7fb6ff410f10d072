//! Transactions that read, compute and write are not starved by single statements on the same node.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tanglewood_database::{Database, MEMORY, Mode, Options, Params, Session, Value};
use world::files::TemporaryFolder;
use world::threads::{in_parallel, sleep};

/// What a client takes between two statements of a transaction.
const THINKS: Duration = Duration::from_millis(2);

fn rows(session: &mut Session, text: &str, n: i64) -> Result<i64, tanglewood_database::Error> {
    let rows = session.query(text, Params::from([("n".into(), Value::Int(n))]))?.rows()?;
    Ok(rows.first().and_then(|row| row[0].as_int()).unwrap_or(0))
}

/// Reads the counter, thinks, and writes it, as a driver's transaction does.
fn transaction(session: &mut Session) -> bool {
    let attempt = |session: &mut Session| {
        session.begin(Mode::Write)?;
        let n = rows(session, "MATCH (c:Counter) RETURN c.n", 0)?;
        sleep(THINKS);
        rows(session, "MATCH (c:Counter) SET c.n = $n RETURN 0", n + 1)?;
        session.commit()
    };
    let outcome = attempt(session);
    if session.in_transaction() {
        session.rollback().unwrap();
    }
    assert!(outcome.as_ref().err().is_none_or(|error| error.retryable), "{outcome:?}");
    outcome.is_ok()
}

/// Commits of transactions, their attempts, and commits of single statements in this time.
fn contest(database: &Database, transactions: usize, singles: usize, time: Duration) -> (u64, u64, u64) {
    let (over, done, attempts, single) =
        (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    in_parallel("party", transactions + singles + 1, |who| {
        let mut session = database.session();
        if who == 0 {
            sleep(time);
            over.store(true, Ordering::Relaxed);
        }
        while !over.load(Ordering::Relaxed) {
            if who <= transactions {
                attempts.fetch_add(1, Ordering::Relaxed);
                done.fetch_add(u64::from(transaction(&mut session)), Ordering::Relaxed);
            } else {
                rows(&mut session, "MATCH (c:Counter) SET c.n = c.n + 1 RETURN 0", 0).unwrap();
                single.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let (done, single) = (done.into_inner(), single.into_inner());
    let mut session = database.session();
    let sum = rows(&mut session, "MATCH (c:Counter) RETURN c.n", 0).unwrap();
    assert_eq!(sum as u64, done + single, "every commit counts once");
    (done, attempts.into_inner(), single)
}

fn database(folder: Option<&TemporaryFolder>) -> Database {
    let options = Options { executors: Some(2), ..Options::default() };
    let database = match folder {
        Some(folder) => Database::open(folder.path(), options).unwrap(),
        None => Database::open(MEMORY, options).unwrap(),
    };
    rows(&mut database.session(), "CREATE (:Counter {n: 0}) RETURN 0", 0).unwrap();
    database
}

/// 4 of them beside 1,121 single statements in a minute.
#[test]
fn transactions_that_read_and_write_get_their_share_beside_single_statements() {
    let folder = TemporaryFolder::new("fairness").unwrap();
    for (folder, transactions, singles) in [(None, 1, 1), (Some(&folder), 1, 1), (None, 2, 2)] {
        let database = database(folder);
        let begin = Instant::now();
        let time = Duration::from_millis(1_500);
        let (done, attempts, single) = contest(&database, transactions, singles, time);
        let told = format!(
            "{done} of {attempts} attempts beside {single} single statements in {:?}",
            begin.elapsed()
        );
        println!("{transactions} to {singles}: {told}");
        // Those who take turns share them: a third of an equal part is the least that each kind gets; a transaction that thinks is not quicker than
        // it is alone.
        let all = done + single;
        let fair = all * transactions as u64 / (transactions + singles) as u64;
        let alone = time.as_millis() as u64 / THINKS.as_millis() as u64;
        assert!(3 * done >= fair.min(alone), "{told}");
        assert!(3 * single >= all - fair, "{told}");
        assert!(3 * done >= attempts, "{told}");
    }
}

/// Who is alone, or beside others who write elsewhere, waits for nobody.
#[test]
fn transactions_that_meet_nobody_are_not_held_up() {
    let database = database(None);
    let (done, attempts, _) = contest(&database, 1, 0, Duration::from_millis(300));
    assert_eq!(done, attempts);
}
