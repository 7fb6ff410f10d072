//! Features that need the sequence of commits, at two gates over three shards: standing queries and subscriptions, the graph of an earlier moment,
//! backups. Each gate has a replica of its own.

mod common;

use common::{Shared, Small};
use database::{Database, History, Options, Params, QueryResult, ReplicaHost, Value, params};
use parking_lot::Mutex;
use protocol::{
    Bytes, CommitId, Following, LogCut, LogPage, MemoryTruth, Record, Route, Rules, Sequence, ToldUsage,
    Unknown, VersionedCommit,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tanglewood_cluster::graph::{self, ShardGraph};
use tanglewood_cluster::{GateReplica, load};
use world::chance::Chance;
use world::files::TemporaryFolder;
use world::net::{Net, TcpNet};

const GATES: u16 = 2;
const SHARDS: u16 = 3;

struct Cluster {
    gates: Vec<Database>,
    replicas: Vec<Arc<GateReplica>>,
    truth: Shared,
    _small: Small,
    folder: TemporaryFolder,
}

fn options() -> Options {
    Options { executors: Some(1), ..Options::default() }
}

fn cluster() -> Cluster {
    let folder = TemporaryFolder::new("replica").unwrap();
    let truth = Shared(Arc::new(Mutex::new(MemoryTruth::new(Rules::default(), &[]))));
    let end = |_| Box::new(TcpNet::open("127.0.0.1:0", b"").unwrap()) as Box<dyn Net>;
    let content = |shard| Box::new(ShardGraph::new(shard)) as Box<dyn tanglewood_cluster::Content>;
    let ends = (0..GATES + SHARDS + 3).map(end).collect();
    let small = Small::start_holding(GATES, SHARDS, ends, &|| Box::new(truth.clone()), &content);
    let (mut gates, mut replicas) = (Vec::new(), Vec::new());
    for number in 0..GATES {
        let truth = truth.clone();
        let connect = move || Ok(Box::new(truth.clone()) as Box<dyn Sequence + Send>);
        let options = Options { history: Some(History::Forever), ..options() };
        let at = folder.path().join(format!("gate-{number}"));
        let replica = Arc::new(GateReplica::new((number, SHARDS), at, options, Box::new(connect)));
        let gate = graph::gate(&small.handle(usize::from(number)), number, &small.addresses, None);
        gates.push(Database::of_gate(gate, Some(replica.clone()), self::options()).unwrap());
        replicas.push(replica);
    }
    Cluster { gates, replicas, truth, _small: small, folder }
}

fn rows(database: &Database, text: &str) -> Vec<String> {
    let rows =
        database.session().query(text, Params::new()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    rows.rows()
        .unwrap_or_else(|error| panic!("{text}: {error:?}"))
        .iter()
        .map(|row| format!("{row:?}"))
        .collect()
}

fn code(database: &Database, text: &str) -> String {
    let outcome = database.session().query(text, params! {}).and_then(|answer| answer.rows());
    outcome.err().unwrap_or_else(|| panic!("{text} is taken")).code.to_string()
}

/// The rows of a subscription so far, each so often as it is there, until the mark of a commit has come that is not before this commit version.
fn kept(told: &mut QueryResult, until: u64) -> Vec<String> {
    let mut held: BTreeMap<String, i64> = BTreeMap::new();
    loop {
        let batch = told.next_batch().unwrap().unwrap();
        for row in 0..batch.len() {
            let values: Vec<Value> = batch.row(row);
            let (commit_version, count) =
                (values[0].as_int().unwrap_or(0) as u64, values[2].as_int().unwrap_or(0));
            match count {
                0 if commit_version >= until => {
                    held.retain(|_, count| *count != 0);
                    let all = held.into_iter();
                    return all.flat_map(|(row, count)| std::iter::repeat_n(row, count as usize)).collect();
                }
                _ => *held.entry(format!("{:?}", &values[4..])).or_default() += count,
            }
        }
    }
}

#[test]
fn standing_queries_are_kept_true_at_each_gate() {
    let cluster = cluster();
    let [one, other] = &cluster.gates[..] else { panic!() };
    rows(one, "CREATE INDEX FOR (p:P) ON (p.n)");
    rows(one, "UNWIND range(0, 49) AS n CREATE (:P {n: n})");
    let pairs = "MATCH (a:P)-[e:R]->(b:P) WHERE a.n < b.n RETURN a.n AS a, b.n AS b, e.w AS w";
    rows(one, &format!("CREATE STANDING QUERY pairs AS {pairs}"));
    // Made at one gate, it is there at the other.
    assert_eq!(
        code(other, &format!("CREATE STANDING QUERY pairs AS {pairs}")),
        "Tanglewood.ClientError.Standing.NameTaken"
    );
    rows(other, &format!("CREATE STANDING QUERY pairs IF NOT EXISTS AS {pairs}"));
    let mut sessions = [one.session(), other.session()];
    let mut subscriptions: Vec<_> = sessions
        .iter_mut()
        .map(|session| session.query("SUBSCRIBE pairs SNAPSHOT", params! {}).unwrap())
        .collect();
    let mut chance = Chance::seeded(3);
    for _ in 0..40 {
        let gate = &cluster.gates[chance.index(2)];
        let (a, b) = (chance.below(50), chance.below(50));
        match chance.below(4) {
            0 => rows(gate, &format!("MATCH (a:P {{n: {a}}})-[e:R]->() DELETE e")),
            1 => rows(gate, &format!("MATCH (a:P {{n: {a}}}) SET a.n = 50 - a.n")),
            _ => rows(
                gate,
                &format!("MATCH (a:P {{n: {a}}}), (b:P {{n: {b}}}) CREATE (a)-[:R {{w: {b}}}]->(b)"),
            ),
        };
    }
    let commit_version =
        cluster.replicas[0].caught_up(Duration::from_secs(20), &|| None).unwrap().commit_version();
    let mut want = rows(one, pairs);
    want.sort();
    for told in &mut subscriptions {
        assert_eq!(kept(told, commit_version), want);
    }
    assert_eq!(rows(one, "SHOW STANDING QUERIES YIELD name, state").len(), 1);
    rows(other, "DROP STANDING QUERY pairs");
    assert_eq!(code(one, "SUBSCRIBE pairs"), "Tanglewood.ClientError.Standing.NotFound");
    // One that cannot be kept leaves nothing behind.
    assert_eq!(
        code(one, "CREATE STANDING QUERY no AS MATCH (p:P) RETURN rand() AS r"),
        "Tanglewood.ClientError.Standing.Unsupported"
    );
    assert!(rows(other, "SHOW STANDING QUERIES").is_empty());
}

#[test]
fn who_sees_a_part_follows_it_at_a_gate() {
    let cluster = cluster();
    let [one, other] = &cluster.gates[..] else { panic!() };
    rows(one, "CREATE USER ann SET PASSWORD 'long enough'");
    rows(one, "CREATE ROLE readers");
    rows(one, "GRANT MATCH {*} ON GRAPH * NODES P TO readers");
    rows(one, "GRANT SUBSCRIBE ON DATABASE * TO readers");
    rows(one, "GRANT ROLE readers TO ann");
    rows(one, "CREATE (:P {n: 1}), (:Q {n: 2})");
    rows(one, "CREATE STANDING QUERY all AS MATCH (x) RETURN x.n AS n");
    let ann = other.users().log_on("ann", "long enough").unwrap().expect("ann may come in");
    let mut session = other.session();
    session.log_on(ann);
    let mut told = session.query("SUBSCRIBE all SNAPSHOT", params! {}).unwrap();
    let commit_version =
        cluster.replicas[1].caught_up(Duration::from_secs(20), &|| None).unwrap().commit_version();
    assert_eq!(kept(&mut told, commit_version), ["[Int(1)]"]);
    rows(one, "CREATE (:P {n: 3}), (:Q {n: 4})");
    let commit_version =
        cluster.replicas[1].caught_up(Duration::from_secs(20), &|| None).unwrap().commit_version();
    assert_eq!(kept(&mut told, commit_version), ["[Int(3)]"], "what came is told, and what is hidden is not");
    // What ann may is changed at the other gate: the subscription ends.
    rows(one, "GRANT MATCH {*} ON GRAPH * NODES Q TO readers");
    let error = loop {
        match told.next_batch() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.code, "Neo.ClientError.Security.AuthorizationExpired");
}

#[test]
fn the_past_and_backups_are_the_clusters() {
    let cluster = cluster();
    let [one, other] = &cluster.gates[..] else { panic!() };
    rows(one, "UNWIND range(1, 20) AS n CREATE (:P {n: n})-[:R]->(:Q {n: n})");
    // The replicas begin here, with what was committed before.
    let before = cluster.replicas[1].caught_up(Duration::from_secs(20), &|| None).unwrap().commit_version();
    rows(other, "MATCH (p:P) WHERE p.n > 5 DETACH DELETE p");
    rows(one, "CREATE CONSTRAINT FOR (q:Q) REQUIRE q.n IS UNIQUE");
    let count = "MATCH (p:P) RETURN count(p)";
    assert_eq!(rows(one, count), ["[Int(5)]"]);
    assert_eq!(rows(other, &format!("AS OF {before} {count}")), ["[Int(20)]"]);
    assert_eq!(rows(one, &format!("AS OF {} {count}", before + 1)), ["[Int(5)]"]);
    assert_eq!(
        code(one, &format!("AS OF {} {count}", before + 100)),
        "Tanglewood.ClientError.History.NotReached"
    );
    rows(one, "CALL dbms.setHistory('7d')");
    let history = "SHOW SETTINGS YIELD name, value WHERE name = 'tanglewood.history' RETURN value";
    assert_eq!(
        [one, other].map(|gate| rows(gate, history)),
        [["[String(\"7d\")]"], ["[String(\"forever\")]"]]
    );
    let folder = cluster.folder.path().join("backup");
    one.backup(&folder).unwrap();
    let restored = cluster.folder.path().join("restored");
    database::restore(&folder, &restored).unwrap();
    let alone = Database::open(&restored, options()).unwrap();
    for text in [
        count,
        "MATCH (q:Q) RETURN count(q), sum(q.n)",
        "MATCH (p:P)-[:R]->(q:Q) RETURN p.n, q.n ORDER BY p.n",
        "SHOW CONSTRAINTS YIELD type",
    ] {
        assert_eq!(rows(&alone, text), rows(other, text), "{text}");
    }
    // It is a database of its own, in which one can write.
    rows(&alone, "CREATE (:P {n: 100})");
}

#[test]
fn a_replica_goes_on_where_it_was() {
    let cluster = cluster();
    let one = &cluster.gates[0];
    rows(one, "CREATE (:P {n: 1})");
    rows(one, "CREATE STANDING QUERY ps AS MATCH (p:P) RETURN p.n AS n");
    let folder = cluster.folder.path().join("second");
    let made = |cluster: &Cluster| {
        let truth = cluster.truth.clone();
        let connect = move || Ok(Box::new(truth.clone()) as Box<dyn Sequence + Send>);
        GateReplica::new((GATES, SHARDS), folder.clone(), options(), Box::new(connect))
    };
    let first = made(&cluster);
    let commit_version = first.caught_up(Duration::from_secs(20), &|| None).unwrap().commit_version();
    drop(first);
    rows(one, "MATCH (p:P) SET p.n = 2");
    rows(one, "CREATE (:P {n: 3})");
    let second = made(&cluster);
    let replica = second.caught_up(Duration::from_secs(20), &|| None).unwrap();
    assert_eq!(replica.commit_version(), commit_version + 2);
    assert_eq!(rows(&replica, "MATCH (p:P) RETURN p.n ORDER BY p.n"), ["[Int(2)]", "[Int(3)]"]);
    assert_eq!(code(&replica, "CREATE (:P)"), "Neo.ClientError.Statement.AccessMode");
    assert_eq!(replica.standing().len(), 1);
}

/// Programs are part of the graph's catalogue: a replica runs those that were deployed at any gate, each as of its commit.
#[test]
fn a_replica_runs_the_programs_that_were_deployed() {
    let cluster = cluster();
    let [one, other] = &cluster.gates[..] else { panic!() };
    rows(one, "UNWIND range(1, 5) AS n CREATE (:P {n: n})");
    // It answers each node with one.
    let module = include_bytes!("../../../testing/bench/queries/programs/each.wasm");
    let given = params! { "module" => Value::Bytes(module.as_slice().into()) };
    let deployed =
        one.session().query("CREATE PROGRAM each FROM $module", given).and_then(|told| told.rows());
    if deployed.as_ref().is_err_and(|error| error.message.contains("deployed-programs")) {
        return println!("skipped: this build runs no modules");
    }
    deployed.unwrap();
    let caught_up =
        |number: usize| cluster.replicas[number].caught_up(Duration::from_secs(20), &|| None).unwrap();
    let call = "CALL program.each() YIELD value RETURN count(*), sum(value)";
    let deployed_at = caught_up(1).commit_version();
    assert_eq!(rows(&caught_up(1), "SHOW PROGRAMS YIELD name"), ["[String(\"each\")]"]);
    for database in [one, other, &caught_up(0), &caught_up(1)] {
        assert_eq!(rows(database, call), ["[Int(5), Int(5)]"]);
    }
    rows(other, "CREATE (:P {n: 6})");
    assert_eq!(rows(&caught_up(0), call), ["[Int(6), Int(6)]"]);
    rows(other, "DROP PROGRAM each");
    assert!(code(&caught_up(0), call).contains("Procedure"), "{}", code(&caught_up(0), call));
    let past = format!("AS OF {deployed_at} {call}");
    assert_eq!(rows(one, &past), ["[Int(5), Int(5)]"]);
}

/// The whole graph with all ids, as a gate answers.
const WHOLE: &str = "MATCH (a) OPTIONAL MATCH (a)-[e]->(b) RETURN labels(a), elementId(a), properties(a), elementId(e), type(e), properties(e), elementId(b) ORDER BY elementId(a), elementId(e)";

#[test]
fn a_log_that_is_cut_is_enough_for_who_begins_anew() {
    let mut cluster = cluster();
    let folder = cluster.folder.path().to_path_buf();
    let replica = |truth: &Shared, gate: u16, name: &str| {
        let truth = truth.clone();
        let connect = move || Ok(Box::new(truth.clone()) as Box<dyn Sequence + Send>);
        let at = folder.join(name);
        GateReplica::new((gate, SHARDS), at, options(), Box::new(connect)).with_base_after(40)
    };
    let one = cluster.gates[0].clone();
    rows(&one, "CREATE INDEX FOR (p:P) ON (p.n)");
    rows(&one, "CREATE CONSTRAINT FOR (q:Q) REQUIRE q.n IS UNIQUE");
    rows(&one, "CREATE TENANT t SET SHARE 50");
    rows(&one, "UNWIND range(1, 300) AS n CREATE (:P {n: n})-[:R {w: n}]->(:Q {n: n})");
    // One that follows and is lost: the log keeps what it lacks.
    let lost = replica(&cluster.truth, 7, "lost");
    let lost_at = lost.caught_up(Duration::from_secs(20), &|| None).unwrap().commit_version();
    drop(lost);
    let last = rows(&one, "MATCH (p:P {n: 1})-[:R]->(q:Q) CREATE (p)-[e:LAST]->(q) RETURN elementId(e)");
    rows(&one, "MATCH ()-[e:LAST]->() DELETE e");
    for n in 0..60 {
        rows(&one, &format!("MATCH (p:P {{n: {}}}) SET p.m = {n}", n + 1));
    }
    rows(&one, "MATCH (p:P) WHERE p.n > 250 DETACH DELETE p");
    let first = replica(&cluster.truth, 0, "first");
    let commit_version = first.caught_up(Duration::from_secs(20), &|| None).unwrap().commit_version();
    let truth = cluster.truth.clone();
    let base = || truth.0.lock().after(0, 1).unwrap().base;
    world::threads::sleep(Duration::from_secs(3));
    assert_eq!(base(), 0, "the log is kept for who follows");
    // It is away for too long.
    cluster.truth.0.lock().follows("gate-7", u64::MAX).unwrap();
    let until = world::clock::after_ns(Duration::from_secs(20));
    while base() < commit_version && world::clock::monotonic_ns() < until {
        world::threads::sleep(Duration::from_millis(50));
    }
    assert_eq!(base(), commit_version, "it is cut at the version of the replica, {lost_at} is forgotten");
    let records = cluster.truth.0.lock().after(0, 1_000).unwrap().commits;
    assert!(
        records.len() < 20 && records.last().map(|last| last.commit_version) == Some(commit_version),
        "{}",
        records.len()
    );
    let before = rows(&one, WHOLE);
    // Shards that begin with nothing, and more commits.
    for shard in 0..SHARDS {
        let small = &mut cluster._small;
        small.shards[usize::from(shard)] = None;
        let end = Box::new(TcpNet::open(&small.addresses.shards[usize::from(shard)], b"").unwrap());
        small.start_shard_of(shard, end, Box::new(cluster.truth.clone()), Box::new(ShardGraph::new(shard)));
    }
    let patient = |text: &str| {
        let until = world::clock::after_ns(Duration::from_secs(30));
        loop {
            match one.session().query(text, Params::new()).and_then(|answer| answer.rows()) {
                Ok(rows) => return rows.iter().map(|row| format!("{row:?}")).collect::<Vec<String>>(),
                Err(error) if world::clock::monotonic_ns() > until => panic!("{text}: {error:?}"),
                Err(_) => world::threads::sleep(Duration::from_millis(50)),
            }
        }
    };
    assert_eq!(patient(WHOLE), before);
    // A gate that begins anew does not give the id of an edge that was deleted.
    let gate = graph::gate(&cluster._small.handle(1), 1, &cluster._small.addresses, None);
    let fresh = Database::of_gate(gate, None, options()).unwrap();
    let next = rows(&fresh, "MATCH (p:P {n: 1})-[:R]->(q:Q) CREATE (p)-[e:LAST]->(q) RETURN elementId(e)");
    assert_ne!(next, last);
    rows(&one, "CREATE (:P {n: 1000})");
    // A replica that begins anew, one that goes on, and the one that was away for too long.
    let second = replica(&cluster.truth, 1, "second");
    for copy in [&first, &second] {
        let copy = copy.caught_up(Duration::from_secs(20), &|| None).unwrap();
        assert_eq!(rows(&copy, WHOLE), rows(&one, WHOLE));
        assert_eq!(rows(&copy, "SHOW INDEXES YIELD name"), rows(&one, "SHOW INDEXES YIELD name"));
        assert_eq!(copy.tenants().keys().collect::<Vec<_>>(), ["t"]);
    }
    drop((first, second));
    for name in ["first", "second"] {
        let again = replica(&cluster.truth, 0, name);
        let copy = again.caught_up(Duration::from_secs(20), &|| None).unwrap();
        assert_eq!(rows(&copy, WHOLE), rows(&one, WHOLE), "{name} is opened again");
    }
    let error =
        replica(&cluster.truth, 7, "lost").caught_up(Duration::from_secs(20), &|| None).err().unwrap();
    assert_eq!(error.code, "Tanglewood.DatabaseError.Cluster.Replica");
    assert!(error.to_string().contains("begins at"), "{error}");
}

/// A sequence that is a list.
struct Listed {
    base: u64,
    commits: Vec<VersionedCommit>,
    routes: Vec<Route>,
    /// It says nothing behind this commit version.
    silent_behind: u64,
}

impl Listed {
    fn new(commits: Vec<VersionedCommit>, routes: Vec<Route>) -> Listed {
        Listed { base: 0, commits, routes, silent_behind: u64::MAX }
    }
}

impl Sequence for Listed {
    fn after(&mut self, after: u64, limit: usize) -> Result<LogPage, Unknown> {
        if after >= self.silent_behind {
            return Err(Unknown);
        }
        let told = self
            .commits
            .iter()
            .filter(|one| one.commit_version > after && one.commit_version <= self.silent_behind);
        Ok(LogPage { base: self.base, commits: told.take(limit).cloned().collect() })
    }
    fn follows(&mut self, _: &str, _: u64) -> Result<(), Unknown> {
        Ok(())
    }
    fn followers(&mut self) -> Result<Vec<Following>, Unknown> {
        Ok(Vec::new())
    }
    fn put_base(&mut self, _: &str, _: u64, _: u64, _: &[(u16, Bytes)]) -> Result<(), Unknown> {
        Err(Unknown)
    }
    fn cut(&mut self, _: &str, _: u64, _: u64) -> Result<LogCut, Unknown> {
        Err(Unknown)
    }
    fn tell_usage(&mut self, _: &str, _: &[u8]) -> Result<ToldUsage, Unknown> {
        Ok(ToldUsage::default())
    }
    fn delete_below_base(&mut self) -> Result<bool, Unknown> {
        Ok(false)
    }
    fn newest(&mut self) -> Result<(u64, Vec<CommitId>), Unknown> {
        Ok((self.commits.last().map_or(0, |last| last.commit_version), Vec::new()))
    }
    fn version_of(&mut self, commits: &[CommitId]) -> Result<Option<u64>, Unknown> {
        Ok(Some(commits.iter().map(|id| id.counter).max().unwrap_or(0)))
    }
    fn routes(&mut self) -> Result<Vec<Route>, Unknown> {
        Ok(self.routes.clone())
    }
}

#[test]
fn a_database_becomes_the_first_commits_of_a_cluster() {
    let folder = TemporaryFolder::new("load").unwrap();
    let source = Database::open(database::MEMORY, options()).unwrap();
    for text in [
        "CREATE INDEX FOR (p:P) ON (p.n)",
        "CREATE CONSTRAINT FOR (q:Q) REQUIRE q.n IS UNIQUE",
        "UNWIND range(1, 9000) AS n CREATE (:P:Odd {n: n, t: toString(n), f: 0.5 * n, l: [n, 1]})",
        "UNWIND range(1, 500) AS n CREATE (:Q {n: n})",
        "CREATE ({no: 'label'})",
        "MATCH (p:P), (q:Q {n: p.n % 500 + 1}) CREATE (p)-[:R {w: p.n}]->(q)-[:S]->(p)",
        "MATCH (q:Q {n: 7}) CREATE (q)-[:SELF]->(q)",
        "MATCH (p:P) WHERE p.n % 10 = 3 DETACH DELETE p",
        "CREATE TENANT t SET SHARE 50",
        "CREATE USER u SET PASSWORD 'secret words' CHANGE NOT REQUIRED",
    ] {
        rows(&source, text);
    }
    let graph = source.snapshot();
    let owners = load::place(&graph, SHARDS).unwrap();
    let mut commits = Vec::new();
    load::records::<database::Error>(&graph, &owners, SHARDS, |parts| {
        let commit_version = commits.len() as u64 + 1;
        let stamp = order::Stamp::from_parts(0, 0, [commit_version].into()).unwrap();
        commits.push(VersionedCommit {
            commit_version,
            at_us: commit_version,
            record: Arc::new(Record { stamp, parts }),
        });
        Ok(())
    })
    .unwrap();
    assert!(commits.len() > 3, "there are records of several kinds");
    for shard in 0..SHARDS {
        assert!(owners.values().any(|owner| *owner == shard), "each shard has its share: {owners:?}");
    }
    let routes =
        owners.iter().map(|(chunk, owner)| Route { chunk: *chunk, owner: *owner, version: 0 }).collect();
    let listed = Mutex::new(Some(Listed::new(commits, routes)));
    let connect = move || {
        // The follower reads it; questions find what it says by itself.
        let again = Listed::new(Vec::new(), Vec::new());
        Ok(Box::new(listed.lock().take().unwrap_or(again)) as Box<dyn Sequence + Send>)
    };
    let replica = GateReplica::new((0, SHARDS), folder.path().join("copy"), options(), Box::new(connect));
    let copy = replica.caught_up(Duration::from_secs(30), &|| None).unwrap();
    let all = "MATCH (a) OPTIONAL MATCH (a)-[e]->(b) RETURN labels(a), elementId(a), properties(a), elementId(e), type(e), properties(e), elementId(b) ORDER BY elementId(a), elementId(e)";
    while rows(&copy, "SHOW USERS").len() < rows(&source, "SHOW USERS").len() {
        world::threads::sleep(Duration::from_millis(5));
    }
    for text in [
        all,
        "SHOW INDEXES YIELD name, properties, type ORDER BY name",
        "SHOW CONSTRAINTS YIELD name, type",
        "SHOW USERS YIELD user",
        "MATCH (p:P {n: 77})-[:R]->(q) RETURN q.n",
    ] {
        assert_eq!(rows(&copy, text), rows(&source, text), "{text}");
    }
    assert_eq!(copy.tenants().keys().collect::<Vec<_>>(), ["t"]);
}

/// A replica that was ended while it read the log's base found itself below that base, and had to be made anew.
#[test]
fn a_replica_that_is_ended_within_a_base_goes_on_with_it() {
    const BASE: u64 = 1_000;
    let folder = TemporaryFolder::new("base").unwrap();
    let source = Database::open(database::MEMORY, options()).unwrap();
    for text in [
        "CREATE INDEX FOR (p:P) ON (p.n)",
        "UNWIND range(1, 300) AS n CREATE (:P {n: n})-[:R {w: n}]->(:Q {n: n})",
        "CREATE TENANT t SET SHARE 50",
    ] {
        rows(&source, text);
    }
    let graph = source.snapshot();
    let owners = load::place(&graph, SHARDS).unwrap();
    let mut records = Vec::new();
    load::records::<database::Error>(&graph, &owners, SHARDS, |parts| {
        records.push(parts);
        Ok(())
    })
    .unwrap();
    let count = records.len() as u64;
    assert!(count > 3, "{count} records");
    let commit = |(number, parts): (u64, &Vec<(u16, Bytes)>)| {
        let commit_version = BASE + 1 - count + number;
        let stamp = order::Stamp::from_parts(0, 0, [commit_version].into()).unwrap();
        VersionedCommit { commit_version, at_us: 7, record: Arc::new(Record { stamp, parts: parts.clone() }) }
    };
    let commits: Vec<VersionedCommit> = (0..).zip(&records).map(commit).collect();
    let routes: Vec<Route> =
        owners.iter().map(|(chunk, owner)| Route { chunk: *chunk, owner: *owner, version: 0 }).collect();
    let begun = |base: u64, silent_behind: u64| {
        let (commits, routes) = (commits.clone(), routes.clone());
        let connect = move || {
            let listed = Listed { base, silent_behind, ..Listed::new(commits.clone(), routes.clone()) };
            Ok(Box::new(listed) as Box<dyn Sequence + Send>)
        };
        GateReplica::new((0, SHARDS), folder.path().join("copy"), options(), Box::new(connect))
    };
    // It is ended behind each of the records, and once more behind the last.
    for silent_behind in BASE + 1 - count..=BASE {
        let replica = begun(BASE, silent_behind);
        let until = world::clock::after_ns(Duration::from_secs(20));
        replica.begin().unwrap();
        while replica.running().is_none_or(|copy| copy.commit_version() < silent_behind) {
            assert!(world::clock::monotonic_ns() < until, "it stands still before {silent_behind}");
            world::threads::sleep(Duration::from_millis(2));
        }
        if silent_behind == BASE - 1 {
            drop(replica);
            let error = begun(BASE + 5, u64::MAX).begin().expect_err("this base is another one");
            assert_eq!(error.code, "Tanglewood.DatabaseError.Cluster.Replica");
        }
    }
    let copy = begun(BASE, u64::MAX).caught_up(Duration::from_secs(20), &|| None).unwrap();
    for text in [WHOLE, "SHOW INDEXES YIELD name"] {
        assert_eq!(rows(&copy, text), rows(&source, text), "{text}");
    }
    assert_eq!(copy.tenants().keys().collect::<Vec<_>>(), ["t"]);
    assert!(!folder.path().join("copy/BASE").exists());
}

#[test]
fn a_replica_of_another_history_is_refused() {
    let folder = TemporaryFolder::new("history").unwrap();
    // Two commits, made at some time; after a restore of the database that is trusted, others have their commit versions, later.
    let sequence = |times: &[u64]| {
        let commit = |(at, at_us): (usize, &u64)| {
            let commit_version = at as u64 + 1;
            let stamp = order::Stamp::from_parts(0, 0, [commit_version].into()).unwrap();
            VersionedCommit {
                commit_version,
                at_us: *at_us,
                record: Arc::new(Record { stamp, parts: Vec::new() }),
            }
        };
        let commits: Vec<VersionedCommit> = times.iter().enumerate().map(commit).collect();
        let connect = move || {
            let listed = Listed::new(commits.clone(), Vec::new());
            Ok(Box::new(listed) as Box<dyn Sequence + Send>)
        };
        GateReplica::new((0, SHARDS), folder.path().join("copy"), options(), Box::new(connect))
    };
    let caught_up = |replica: &GateReplica| replica.caught_up(Duration::from_secs(20), &|| None);
    assert_eq!(caught_up(&sequence(&[1_000, 2_000])).unwrap().commit_version(), 2);
    assert_eq!(caught_up(&sequence(&[1_000, 2_000, 2_500])).unwrap().commit_version(), 3);
    for other in [&[1_000, 2_000, 9_000][..], &[1_000, 2_000]] {
        let error = caught_up(&sequence(other)).err().expect("it is refused");
        assert_eq!(error.code, "Tanglewood.DatabaseError.Cluster.Replica", "{other:?}");
    }
}
