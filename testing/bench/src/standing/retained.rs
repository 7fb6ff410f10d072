//! What it costs commits that a standing query's changes can be asked for again, and how soon a reader goes on.

use super::*;
use database::Mark;

/// Commits of one turn, by eight writers.
const TURN: usize = 16_000;
const WRITERS: usize = 8;
/// Bytes of log between checkpoints: small, so that each turn has several, and what they keep counts.
const CHECKPOINT_LOG_BYTES: u64 = 1 << 20;

/// Commits a second without a standing query, with one that keeps nothing, and with one that keeps an hour, in turns; then a reader goes on
/// from the first mark.
pub fn run(path: &Path, report: &mut Report) -> Result<(), String> {
    report.section("commits beside a standing query whose changes are kept");
    files::create_folder(path).map_err(|error| error.to_string())?;
    let options = Options { checkpoint_log_bytes: CHECKPOINT_LOG_BYTES, ..Options::default() };
    let open = || Database::open(path.join("db"), options.clone()).map_err(|error| told(&error));
    let database = open()?;
    let mut session = database.session();
    write(&mut session, "CREATE INDEX FOR (p:P) ON (p.id)", Params::new())?;
    write(&mut session, "UNWIND range(0, 9999) AS i CREATE (:P {id: i, n: 0})", Params::new())?;
    let query = "MATCH (p:P) WHERE p.n > 0 RETURN p.id AS id, p.n AS n";
    let names = ["no standing query", "RETAIN NONE", "RETAIN 1h"];
    let mut rates = [const { Vec::new() }; 3];
    for round in 0..5_u64 {
        for (at, retain) in names.iter().enumerate() {
            if at > 0 {
                let made = format!("CREATE STANDING QUERY q AS {query} {retain}");
                write(&mut session, &made, Params::new())?;
            }
            rates[at].push(turn(&database, round)?);
            if at > 0 {
                write(&mut session, "DROP STANDING QUERY q", Params::new())?;
            }
        }
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let [none, unkept, kept] = &mut rates;
    let (none, unkept, kept) = (median(none), median(unkept), median(kept));
    report.figure(
        "commits a second, 8 writers",
        &format!("{none:.0} without, {unkept:.0} beside RETAIN NONE, {kept:.0} beside RETAIN 1h"),
        "0.95x of RETAIN NONE at least",
        kept >= 0.95 * unkept,
    );
    write(&mut session, &format!("CREATE STANDING QUERY q AS {query} RETAIN 1h"), Params::new())?;
    let subscription = database.subscribe("q", &Params::new(), None, true).map_err(|error| told(&error))?;
    let mut found = BTreeMap::new();
    read_to(&subscription, database.snapshot().commit_version(), &mut found)?;
    let mark = subscription.mark().ok_or("a snapshot has a mark")?;
    drop(subscription);
    turn(&database, 9)?;
    resumed(&database, &mark, &mut found.clone(), "from memory", report)?;
    drop(session);
    database.close().map_err(|error| told(&error))?;
    resumed(&open()?, &mark, &mut found, "after a restart, from the log", report)
}

/// Commits a second of one turn.
fn turn(database: &Database, round: u64) -> Result<f64, String> {
    let begin_ns = monotonic_ns();
    let outcomes = in_parallel("writers", WRITERS, |writer| {
        let (mut session, mut chance) =
            (database.session(), Chance::seeded(SEED + round * 100 + writer as u64));
        for _ in 0..TURN / WRITERS {
            let id = chance.below(10_000) as i64;
            write(&mut session, "MATCH (p:P {id: $id}) SET p.n = p.n + 1", params! { "id" => id })?;
        }
        Ok::<_, String>(())
    });
    outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(TURN as f64 * 1e9 / (monotonic_ns() - begin_ns) as f64)
}

/// A reader goes on over one turn of commits, to the answer that is asked now.
fn resumed(
    database: &Database,
    mark: &Mark,
    found: &mut BTreeMap<i64, isize>,
    how: &str,
    report: &mut Report,
) -> Result<(), String> {
    let begin_ns = monotonic_ns();
    let subscription = database.resume("q", &Params::new(), mark).map_err(|error| told(&error))?;
    let (newest, mut events) = (database.snapshot().commit_version(), Vec::new());
    while events.last().is_none_or(|event: &Event| event.commit_version() < newest) {
        let event = subscription.next(PATIENCE).map_err(|end| format!("a subscription ended: {end:?}"))?;
        events.push(event.ok_or("a subscriber was told nothing for a minute")?);
    }
    let took_ms = (monotonic_ns() - begin_ns) as f64 / 1e6;
    // What the reader does with it is not timed.
    events.iter().for_each(|event| rows(event, &subscription, found));
    let mut session = database.session();
    let asked = session.query("MATCH (p:P) WHERE p.n > 0 RETURN p.id", Params::new());
    let asked = asked.and_then(|result| result.rows()).map_err(|error| told(&error))?;
    let mut expected = BTreeMap::new();
    for row in asked {
        *expected.entry(row[0].as_int().unwrap_or(-1)).or_insert(0_isize) += 1;
    }
    if *found != expected {
        return Err(format!("a reader who went on {how} has another answer"));
    }
    report.note(format!("a reader goes on over {TURN} commits {how}: {}", shown_ms(took_ms)));
    Ok(())
}
