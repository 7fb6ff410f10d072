//! The database handle. Joins the transaction engine with the executors that run queries.

use crate::accounts::{Accounts, Tenant};
use crate::cache::{KnownProgram, OldBases, PlanCache, Planned, TextCache};
use crate::clients::Transactions;
use crate::drain::Drain;
use crate::entries::SetAside;
use crate::error::in_text;
use crate::guesses::PasswordGuesses;
use crate::housekeeping::Housekeeping;
use crate::interface_settings::InterfaceSettings;
use crate::notes::Notes;
use crate::query_log::{QueryFigures, QueryLog};
use crate::query_trace::TraceListener;
use crate::replica::ReplicaHost;
use crate::roles::{RestrictedView, RestrictedViews};
use crate::running::{OWN_QUERY, REPLICA_QUERY, Running, RunningQuery, shortened};
use crate::standing::definition;
use crate::standing::queries::StandingQueries;
use crate::{Error, History, Moment, Options, Point, drain, entries, migrate};
use ::standing::Keeper;
use execute::planning::{Samples, SnapshotPlanning};
use execute::{AccountOptions, Credit, ExecuteOptions, Imports, ProgramCache, Runtime, SpillFolder};
use model::pace;
use rules::PreparedProgram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use store::{Catalog, Change, Entries, PagingReport, Snapshot, StoreOptions};
use transact::{BackupReport, Engine, OpenOptions, RecoveryReport};
use traverse::answer::own_ids::OwnIds;
use world::disk::{Disk, RealDisk};
use world::failpoint;
use world::panics::caught;

/// The name under which a database lives in memory and dies with the process.
pub const MEMORY: &str = ":memory:";

/// Longer Datalog programs are read anew each time, and always run on executors: reading takes little of their time, and much memory.
const PROGRAM_TEXT_BYTES_MAX: usize = 4 << 10;

/// The folder inside of a database for rows that its queries spill.
const SPILL_FOLDER: &str = "spill";

/// An open database. Cheap to clone; the last clone closes it.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    runtime: Arc<Runtime>,
    plans: PlanCache,
    programs: TextCache<KnownProgram>,
    restricted_views: RestrictedViews,
    samples: Arc<Samples>,
    traversals: traverse::answer::planned::Plans,
    options: Options,
    imports: Imports,
    /// Where queries put rows aside.
    spill: Option<Arc<SpillFolder>>,
    program_cache: Arc<ProgramCache>,
    path: Option<PathBuf>,
    disk: Arc<dyn Disk>,
    recovery: RecoveryReport,
    accounts: Accounts,
    transactions: Arc<Transactions>,
    notes: Arc<Notes>,
    housekeeping: Housekeeping,
    standing: StandingQueries,
    query_log: Arc<QueryLog>,
    drain: Drain,
    /// Wrong old passwords in `ALTER CURRENT USER`, by user.
    password_guesses: PasswordGuesses<String>,
    interface_settings: InterfaceSettings,
    own_ids: Arc<OwnIds>,
    /// Of a gate.
    replica: Option<Arc<dyn ReplicaHost>>,
    /// Sessions begun so far.
    sessions: AtomicUsize,
}

/// A handle that does not keep the database open.
#[derive(Clone)]
pub(crate) struct WeakDatabase(Weak<Inner>);

impl WeakDatabase {
    pub fn upgrade(&self) -> Option<Database> {
        self.0.upgrade().map(|inner| Database { inner })
    }
}

impl Database {
    /// Opens the database in the folder `path`, or one in memory for [`MEMORY`].
    ///
    /// # Errors
    /// The folder is not a database, was written by a newer version, is open already, or is damaged.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Database, Error> {
        Database::open_on(Arc::new(RealDisk), path, options)
    }
    /// Opens the database in the folder `path` of the given disk, which may be a simulated one; in memory for [`MEMORY`].
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn open_on(disk: Arc<dyn Disk>, path: impl AsRef<Path>, options: Options) -> Result<Database, Error> {
        model::walk::ended_by(execute::watch::is_over);
        pace::counted_by(|units, bytes| {
            execute::watch::spend_and_keep(units, bytes).map_err(|_| pace::Stopped)
        });
        let path = path.as_ref();
        let folder = (path.as_os_str() != MEMORY).then(|| path.to_path_buf());
        let (create, gatekeepers) = (options.create, options.gatekeepers);
        let store = StoreOptions { memory_bytes: options.memory_bytes, ..StoreOptions::default() };
        let retention = Some(definition::retention());
        let open = OpenOptions { create, gatekeepers, store, retention, ..OpenOptions::default() };
        let (engine, recovery) = transact::open(folder.as_deref().map(|path| (disk.clone(), path)), &open)?;
        Database::over((engine, recovery), (disk, folder), None, options)
    }
    /// The database as a gate of a cluster serves it: the graph lies with the shards. Features that need the sequence of commits use its replica;
    /// without a replica they are refused.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn of_gate(
        gate: transact::GateParts,
        replica: Option<Arc<dyn ReplicaHost>>,
        options: Options,
    ) -> Result<Database, Error> {
        model::walk::ended_by(execute::watch::is_over);
        pace::counted_by(|units, bytes| {
            execute::watch::spend_and_keep(units, bytes).map_err(|_| pace::Stopped)
        });
        let engine = transact::open_gate(gate, &OpenOptions::default());
        let place = (Arc::new(RealDisk) as Arc<dyn Disk>, None);
        Database::over((engine, RecoveryReport::default()), place, replica, options)
    }
    fn over(
        (engine, recovery): (Engine, RecoveryReport),
        (disk, folder): (Arc<dyn Disk>, Option<PathBuf>),
        replica: Option<Arc<dyn ReplicaHost>>,
        options: Options,
    ) -> Result<Database, Error> {
        let imports = imports(&options)?;
        let spill = spill(&disk, folder.as_deref(), &options)?;
        if let Some(history) = options.history {
            engine.set_history(history)?;
        }
        let runtime = execute::runtime_within(options.executors, machine(&options)).map_err(|error| {
            Error::new(
                "Tanglewood.DatabaseError.General.Threads",
                format!("executor threads cannot be started: {error}"),
            )
        })?;
        if let Some(folder) = &folder {
            migrate::migrate(&engine, &*disk, folder)?;
        }
        let snapshot = engine.snapshot();
        let entries = snapshot.catalog().entries();
        let accounts = Accounts::open(entries, &runtime);
        let keeper = Keeper::new(engine.clone(), runtime.executors())
            .charging(Arc::new(runtime.ledger()))
            .serving(Arc::new(runtime.services()));
        let place = folder.as_ref().map(|folder| (disk.clone(), folder.clone()));
        let standing = StandingQueries::open(keeper, entries, &accounts, place);
        let housekeeping = Housekeeping::of(&engine, folder.is_some());
        let query_log = QueryLog::new(None, runtime.executors());
        log_opening(folder.as_deref(), &recovery);
        let program_cache = Arc::new(ProgramCache::new(engine.watcher(), Arc::new(runtime.ledger())));
        let inner = Inner {
            engine,
            runtime: Arc::new(runtime),
            plans: PlanCache::default(),
            programs: TextCache::default(),
            restricted_views: RestrictedViews::default(),
            samples: Arc::default(),
            traversals: Default::default(),
            options,
            imports,
            spill,
            program_cache,
            path: folder,
            disk,
            recovery,
            accounts,
            transactions: Arc::default(),
            notes: Arc::default(),
            housekeeping,
            standing,
            query_log,
            drain: Drain::default(),
            password_guesses: PasswordGuesses::default(),
            interface_settings: InterfaceSettings::default(),
            own_ids: Arc::default(),
            replica,
            sessions: AtomicUsize::new(0),
        };
        let database = Database { inner: Arc::new(inner) };
        database.set_aside().iter().for_each(|aside| database.note(&aside.to_string()));
        database.install_waiting();
        Ok(database)
    }
    /// The graph as of the last commit; at a gate of a cluster see [`Engine::snapshot`].
    pub fn snapshot(&self) -> Snapshot {
        self.engine().snapshot()
    }
    /// The graph as of the last commit, wherever it lies.
    ///
    /// # Errors
    /// The shards of a cluster do not answer.
    pub fn latest(&self) -> Result<Snapshot, Error> {
        let snapshot = self.engine().latest()?;
        if self.engine().is_gate() {
            self.inner.accounts.hear(snapshot.catalog().entries(), &self.inner.runtime);
        }
        Ok(snapshot)
    }
    /// As [`Database::latest`], but commits of this time may be missing, if any time is given, where to have them would mean to wait.
    pub(crate) fn latest_within(&self, age: Option<Duration>) -> Result<Snapshot, Error> {
        match age {
            Some(age) => Ok(self.engine().latest_within(age)?),
            None => self.latest(),
        }
    }
    /// At a gate of a cluster, reads changes of the catalogue by other gates; elsewhere does nothing.
    ///
    /// # Errors
    /// The shards do not answer.
    pub(crate) fn hear_catalogue(&self) -> Result<(), Error> {
        self.heard_within(None).map(drop)
    }
    /// As [`Database::hear_catalogue`], and returns the snapshot that it read; none elsewhere.
    pub(crate) fn heard_within(&self, age: Option<Duration>) -> Result<Option<Snapshot>, Error> {
        self.engine().is_gate().then(|| self.latest_within(age)).transpose()
    }
    /// The graph at a moment of the retained past.
    ///
    /// # Errors
    /// The moment is before the horizon, or has not come yet.
    pub fn snapshot_at(&self, moment: Moment) -> Result<Snapshot, Error> {
        if self.engine().is_gate() {
            return self.replica(None, &|| None, "the graph of an earlier moment")?.snapshot_at(moment);
        }
        Ok(self.engine().snapshot_at(moment)?)
    }
    /// How much history is kept.
    pub fn history(&self) -> History {
        self.sequence().engine().history()
    }
    /// Sets how much history is kept, durably; history beyond it is given up at once.
    pub fn set_history(&self, history: History) -> Result<(), Error> {
        if self.engine().is_gate() {
            return self.replica(None, &|| None, "the graph of an earlier moment")?.set_history(history);
        }
        Ok(self.engine().set_history(history)?)
    }
    /// The oldest and the newest commit that AS OF can read.
    pub fn kept(&self) -> (Point, Point) {
        let sequence = self.sequence();
        (sequence.engine().oldest(), sequence.engine().newest())
    }
    /// The database that has the sequence of commits: itself, or the replica of a gate where it runs.
    fn sequence(&self) -> Database {
        self.own_replica().and_then(|replica| replica.running()).unwrap_or_else(|| self.clone())
    }
    /// The folder, unless it lives in memory.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }
    /// The report of the recovery at opening.
    pub fn recovery(&self) -> RecoveryReport {
        self.inner.recovery
    }
    /// The options it was opened with.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }
    /// Executor threads.
    pub fn executors(&self) -> usize {
        self.inner.runtime.executors()
    }
    /// Writes a checkpoint, so that the next open need not replay the log.
    pub fn checkpoint(&self) -> Result<transact::CheckpointReport, Error> {
        let began_ns = world::clock::monotonic_ns();
        let outcome = self.engine().checkpoint();
        crate::housekeeping::log_checkpoint(began_ns, outcome.as_ref());
        Ok(outcome?)
    }
    /// Copies the database, as of its last commit or one a moment later, into a folder that is missing or empty; commits go on meanwhile. A backup
    /// becomes a database again by [`restore`]; another process can make one too while this one has the database open.
    ///
    /// # Errors
    /// The database lives in memory; the folder is in use; the disk refuses.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<BackupReport, Error> {
        self.backup_watched(folder.as_ref(), Arc::clone)
    }
    /// The same, on the disk that `watch` makes of its own.
    pub(crate) fn backup_watched(
        &self,
        folder: &Path,
        watch: impl FnOnce(&Arc<dyn Disk>) -> Arc<dyn Disk>,
    ) -> Result<BackupReport, Error> {
        if self.engine().is_gate() {
            return self.replica(None, &|| None, "backups")?.backup_watched(folder, watch);
        }
        let Some(path) = self.path() else {
            let code = "Tanglewood.ClientError.Backup.Memory";
            return Err(Error::new(code, "a database in memory has no files").hint("open a folder"));
        };
        Ok(transact::backup(&watch(&self.inner.disk), path, folder)?)
    }
    /// Queries running now.
    pub fn running(&self) -> Vec<RunningQuery> {
        let shown = |query: execute::QueryInfo| {
            let (tenant, user) = self.inner.accounts.names(query.tenant, query.user);
            RunningQuery {
                id: format!("{OWN_QUERY}{}", query.id.0),
                tenant,
                user,
                running: query.running,
                text: query.label,
                elapsed_ms: query.age_ns / 1_000_000,
                cpu_ms: query.cpu_ns / 1_000_000,
                rows: query.rows,
                bytes: query.bytes,
            }
        };
        let mut all: Vec<RunningQuery> = self.inner.runtime.queries().into_iter().map(shown).collect();
        let replica = self.own_replica().and_then(|replica| replica.running());
        for query in replica.iter().flat_map(Database::running) {
            all.push(RunningQuery { id: query.id.replacen(OWN_QUERY, REPLICA_QUERY, 1), ..query });
        }
        all
    }
    /// Ends a running query; false where there is none of that id.
    pub fn kill(&self, id: &str, reason: &str) -> Result<bool, Error> {
        if let Some(number) = id.strip_prefix(REPLICA_QUERY) {
            let replica = self.own_replica().and_then(|replica| replica.running());
            return replica.map_or(Ok(false), |replica| replica.kill(number, reason));
        }
        let number = id.strip_prefix(OWN_QUERY).unwrap_or(id).parse().map_err(|_| {
            Error::new("Neo.ClientError.Statement.ArgumentError", format!("`{id}` is not the id of a query"))
                .hint("SHOW QUERIES lists them; ids look like query-17")
        })?;
        let found = self.inner.runtime.cancel(execute::QueryId(number), reason);
        tracing::info!(target: "tanglewood::query", id = number, reason, found, "kill");
        Ok(found)
    }
    /// Sets a tenant's share of the machine; the default is 100.
    pub fn set_share(&self, tenant: &str, share: u32) {
        self.inner.runtime.set_share(self.inner.accounts.tenant(tenant), share);
    }
    /// Carries out a command about tenants, durably; false if it changed nothing. New limits hold for queries that begin later; a new share holds at
    /// once.
    ///
    /// # Errors
    /// There is no such tenant, or there is one already; the disk refuses.
    pub fn change_tenants(&self, command: &plan::accounts::AccountCommand) -> Result<bool, Error> {
        self.inner.accounts.carry_out(command, self.engine(), &self.inner.runtime)
    }
    /// The tablets that vertices lie in: which executor hosts each, how busy it was, how often it was moved. `SHOW TABLETS` lists them.
    pub fn tablets(&self) -> Vec<execute::TabletInfo> {
        self.inner.runtime.tablets()
    }
    /// Moves tablets, each to an executor, for queries that begin from now on. The balancer moves them again unless it is turned off.
    ///
    /// # Panics
    /// There is no such tablet or executor.
    pub fn move_tablets(&self, moves: impl IntoIterator<Item = (execute::TabletNo, usize)>) {
        self.inner.runtime.move_tablets(moves);
    }
    /// How often tablets were moved since the database was opened, and the latest moves, oldest first.
    pub fn tablet_moves(&self) -> (u64, Vec<execute::TabletMove>) {
        self.inner.runtime.tablet_moves()
    }
    /// Lets the balancer move tablets from busy executors to idle ones, as it does from the beginning, or not.
    pub fn balance_tablets(&self, balances: bool) {
        self.inner.runtime.balance(balances);
    }
    /// The tenants that were declared, by name.
    pub fn tenants(&self) -> std::collections::BTreeMap<String, Tenant> {
        self.inner.accounts.declared()
    }
    /// Entries of the catalogue that cannot be used as they are: users, tenants, standing queries. They have no effect, and can be dropped.
    pub fn set_aside(&self) -> Vec<SetAside> {
        let mut found = self.users().set_aside();
        found.extend(self.inner.accounts.set_aside());
        found.extend(self.inner.standing.set_aside());
        found.extend(self.set_aside_at_gate());
        found
    }
    /// Hands every note for the operator's log to `listener`, those of the past first: entries that are set aside, for instance.
    pub fn on_note(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        self.inner.notes.listen(Arc::new(listener));
    }
    /// As [`entries::change`], on this database.
    pub(crate) fn change_entries(
        &self,
        make: impl FnMut(&Entries) -> Result<Vec<Change>, Error>,
    ) -> Result<(), Error> {
        entries::change(self.engine(), make)?;
        self.after_commit();
        Ok(())
    }
    pub(crate) fn own_replica(&self) -> Option<&Arc<dyn ReplicaHost>> {
        self.inner.replica.as_ref()
    }
    pub(crate) fn own_ids(&self) -> &Arc<OwnIds> {
        &self.inner.own_ids
    }
    pub(crate) fn interface_settings(&self) -> &InterfaceSettings {
        &self.inner.interface_settings
    }
    pub(crate) fn notes(&self) -> Arc<Notes> {
        self.inner.notes.clone()
    }
    pub(crate) fn note(&self, text: &str) {
        self.inner.notes.add(text);
    }
    /// The memory that the graph holds, and its budget; see [`Options::memory_bytes`].
    pub fn memory(&self) -> PagingReport {
        self.engine().store().paging()
    }
    /// The queries since it was opened: how many there were, how they ended and how long they took.
    pub fn query_figures(&self) -> Vec<QueryFigures> {
        self.inner.query_log.figures()
    }
    /// Sets the time from which queries are logged as slow, by `tracing`; none turns the log off, which is the default.
    pub fn set_slow_query(&self, slow: Option<Duration>) {
        self.inner.query_log.set_slow(slow);
    }
    /// From now on, traces one of every `every` queries and passes the trace to `listener` when the query ends; false if there is a listener already.
    /// The listener is called on the thread that ends the query, so it must not block.
    pub fn on_query_trace(&self, every: u64, listener: TraceListener) -> bool {
        self.inner.query_log.tracing().listen(listener, every)
    }
    /// CPU time of executors by tenant, since the database was opened. Work on the calling thread is not in it.
    pub fn tenant_time(&self) -> Vec<(String, Duration)> {
        let spent = self.inner.runtime.spent().into_iter();
        spent.map(|(tenant, ns)| (self.inner.accounts.names(tenant, 0).0, Duration::from_nanos(ns))).collect()
    }
    pub(crate) fn password_guesses(&self) -> &PasswordGuesses<String> {
        &self.inner.password_guesses
    }
    pub(crate) fn draining(&self) -> &Drain {
        &self.inner.drain
    }
    pub(crate) fn query_log(&self) -> &Arc<QueryLog> {
        &self.inner.query_log
    }
    /// Commits, groups and conflicts since it was opened.
    pub fn commit_counts(&self) -> transact::CommitCounts {
        self.engine().counts()
    }
    /// The processes of its cluster (or this one alone), and counts of how commits and reads were ordered.
    pub fn cluster_report(&self) -> transact::ClusterReport {
        self.engine().cluster_report()
    }
    /// Closes the database in order, with a checkpoint. Without it everything acknowledged is safe all the same, in the log.
    pub fn close(self) -> Result<(), Error> {
        self.inner.housekeeping.finish();
        self.inner.standing.close();
        let outcome = self.engine().close();
        tracing::info!(target: "tanglewood::storage", clean = outcome.is_ok(), "database closed");
        Ok(outcome?)
    }
    /// Why the last checkpoint in the background failed, if it did. Nothing is lost by it, but the log grows.
    pub fn checkpoint_failure(&self) -> Option<Error> {
        self.inner.housekeeping.failure().map(Error::from)
    }
    pub(crate) fn downgrade(&self) -> WeakDatabase {
        WeakDatabase(Arc::downgrade(&self.inner))
    }

    /// The gatekeeper of the next session, round-robin.
    pub(crate) fn next_gatekeeper(&self) -> usize {
        self.inner.sessions.fetch_add(1, Ordering::Relaxed) % self.inner.options.gatekeepers.max(1)
    }
    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }
    pub(crate) fn runtime(&self) -> &Arc<Runtime> {
        &self.inner.runtime
    }

    /// The statistics of this snapshot for the planner. Samples of the whole graph tell of hidden data, so each restricted view has its own.
    pub(crate) fn planning(
        &self,
        snapshot: &Snapshot,
        restricted_view: Option<&RestrictedView>,
    ) -> SnapshotPlanning {
        let samples = match restricted_view.filter(|restricted_view| restricted_view.hides()) {
            Some(restricted_view) => &restricted_view.samples,
            None if snapshot.is_restricted() => return SnapshotPlanning::new(snapshot.clone()),
            None => &self.inner.samples,
        };
        SnapshotPlanning::with_samples(snapshot.clone(), samples.clone())
    }

    /// The plan for a text, if it is in the cache.
    pub(crate) fn known_plan(
        &self,
        text: &str,
        snapshot: &Snapshot,
        restricted_view: Option<&RestrictedView>,
    ) -> Option<Arc<Planned>> {
        restricted_view
            .map_or(&self.inner.plans, |restricted_view| &restricted_view.plans)
            .get(text, snapshot)
    }
    /// A plan for a text that has none in the cache.
    pub(crate) fn make_plan(
        &self,
        text: &str,
        snapshot: &Snapshot,
        restricted_view: Option<&RestrictedView>,
    ) -> Result<Arc<Planned>, Error> {
        let planned = Arc::new(planned(text, snapshot, &self.planning(snapshot, restricted_view))?);
        // A password stays nowhere.
        if !matches!(planned.plan.statement.kind, plan::StatementKind::Users(_)) {
            restricted_view
                .map_or(&self.inner.plans, |restricted_view| &restricted_view.plans)
                .put(text, planned.clone());
        }
        Ok(planned)
    }

    /// A Datalog program that begins at `offset` of a text, over a graph with these names: read once, and reduced to its question once.
    pub(crate) fn datalog_program(
        &self,
        program: &str,
        whole: &str,
        offset: usize,
        catalog: &Catalog,
    ) -> Result<Arc<KnownProgram>, Error> {
        if let Some(known) = self.inner.programs.get_if(program, |_| true) {
            crate::datalog::check_names(known.prepared.program(), whole, offset, catalog)?;
            return Ok(known);
        }
        let read = crate::datalog::compile(program, whole, offset, catalog)?;
        let is_short = program.len() <= PROGRAM_TEXT_BYTES_MAX;
        let credit = if is_short { Credit::of_job() } else { Credit::of_long_job() };
        let known = Arc::new(KnownProgram { prepared: PreparedProgram::new(read), credit });
        if is_short {
            self.inner.programs.put(program, known.clone());
        }
        Ok(known)
    }

    /// The restricted views in use.
    pub(crate) fn restricted_views(&self) -> &RestrictedViews {
        &self.inner.restricted_views
    }
    /// Results of node programs.
    pub(crate) fn program_cache(&self) -> &Arc<ProgramCache> {
        &self.inner.program_cache
    }
    /// Plans of traversals.
    pub(crate) fn traversals(&self) -> &traverse::answer::planned::Plans {
        &self.inner.traversals
    }

    pub(crate) fn execute_options(&self, running: &Running<'_>) -> ExecuteOptions {
        ExecuteOptions {
            tenant: running.payer.tenant,
            user: running.payer.user,
            label: shortened(running.text).into(),
            deadline: running.timeout,
            bytes_max: running.bytes_max,
            part_of: running.part_of,
            imports: self.inner.imports.clone(),
            spill: self.inner.spill.clone(),
            program_cache: Some(self.inner.program_cache.clone()),
            ..ExecuteOptions::default()
        }
    }

    /// Bytes that queries have put aside on disk since the database was opened.
    pub fn spilled_bytes(&self) -> u64 {
        self.inner.spill.as_ref().map_or(0, |folder| folder.written())
    }
    pub(crate) fn standing_queries(&self) -> &StandingQueries {
        &self.inner.standing
    }
    /// The error without folders of this machine, for remote clients.
    #[must_use]
    pub fn without_paths(&self, mut error: Error) -> Error {
        error.message = self.without_paths_in(error.message);
        error.hint = error.hint.map(|hint| self.without_paths_in(hint));
        error
    }
    /// A text without folders of this machine, for remote clients.
    #[must_use]
    pub fn without_paths_in(&self, mut text: String) -> String {
        let options = self.options();
        let [imports, backups, spill] =
            [&options.import_folder, &options.backup_folder, &options.spill_folder];
        let folders = [self.path(), imports.as_deref(), backups.as_deref(), spill.as_deref()];
        for folder in folders.into_iter().flatten() {
            let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
            for name in [whole.display().to_string(), folder.display().to_string()] {
                // What is no whole path may stand in any text; below the root is everything.
                if name.starts_with('/') && name.len() > 1 {
                    text = text.replace(&format!("{name}/"), "").replace(&name, "the folder");
                }
            }
        }
        text
    }
    /// The transactions that are open.
    pub(crate) fn transactions(&self) -> &Arc<Transactions> {
        &self.inner.transactions
    }
    pub(crate) fn accounts(&self) -> &Accounts {
        &self.inner.accounts
    }

    /// Starts a checkpoint in the background once the log has grown enough; creates indexes on the keys that Gremlin's clients named.
    pub(crate) fn after_commit(&self) {
        // The commit stands, whatever becomes of this.
        let _ = caught(|| {
            failpoint::visit("commit has been made");
            self.inner.own_ids.index(self.engine(), |error| {
                self.note(&format!("ids of Gremlin's clients are not indexed: {}", Error::from(error)));
            });
            self.inner.housekeeping.after_commit(self.engine(), self.options().checkpoint_log_bytes);
        });
    }
}

impl Database {
    /// From now on no transaction and no auto-commit statement begins; drivers get `DatabaseUnavailable`. Open transactions go on.
    pub fn drain(&self) {
        self.draining().begin();
    }
    /// Does nothing new begin any more?
    pub fn is_draining(&self) -> bool {
        self.draining().has_begun()
    }
    /// Transactions that are open, queries that have not ended, and answers that were not read. Subscriptions do not count.
    pub fn open_work(&self) -> usize {
        self.open_transactions() + self.query_log().open()
    }
    /// Transactions that are open, statements that run on executors among them.
    pub fn open_transactions(&self) -> usize {
        self.transactions().all().len()
    }
    /// Ends running queries; their clients get `DatabaseUnavailable`.
    pub fn end_running(&self) {
        self.draining().end();
        for query in self.running() {
            // One that has ended meanwhile is not there any more.
            let _ = self.kill(&query.id, drain::REASON);
        }
    }
    /// The error for clients while the server ends: a query that the server ended itself may be tried again.
    #[must_use]
    pub fn while_ending(&self, error: Error) -> Error {
        self.draining().told(error)
    }
}

/// Makes a database of a backup, in a folder that is missing or empty. The backup is read and checked whole before.
///
/// # Errors
/// There is no backup, or it is damaged; the folder is in use; the disk refuses.
pub fn restore(backup: impl AsRef<Path>, folder: impl AsRef<Path>) -> Result<BackupReport, Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    Ok(transact::restore(&disk, backup.as_ref(), folder.as_ref())?)
}

/// Limits of all queries together.
fn machine(options: &Options) -> AccountOptions {
    AccountOptions {
        queries_max: options.queries_max,
        bytes_max: options.queries_bytes_max,
        spilled_max: Some(options.spill_bytes_max),
        time_max: options.query_timeout_max,
        ..AccountOptions::default()
    }
}

/// The store for spilled rows; files that an earlier process left there are removed.
fn spill(
    disk: &Arc<dyn Disk>,
    folder: Option<&Path>,
    options: &Options,
) -> Result<Option<Arc<SpillFolder>>, Error> {
    let opened = || {
        // What was left there goes also where rows are put aside elsewhere now, or no more.
        let inside = folder.map(|folder| SpillFolder::inside(disk.clone(), &folder.join(SPILL_FOLDER)));
        let inside = inside.transpose()?;
        match &options.spill_folder {
            _ if options.spill_bytes_max == 0 => Ok(None),
            Some(named) => SpillFolder::alone(disk.clone(), named).map(Some),
            None => Ok(inside),
        }
    };
    opened()
        .map(|folder| folder.map(Arc::new))
        .map_err(|error: world::disk::DiskError| crate::options::spill_folder(&error))
}

/// The sources that LOAD may read, and their readers.
fn imports(options: &Options) -> Result<Imports, Error> {
    let urls = options.import_urls.reader().map_err(|what| {
        let message = format!("URLs cannot be read: {what}");
        Error::new("Tanglewood.ClientError.Database.LeftOut", message)
            .hint("leave the option import_urls out")
    })?;
    let folder = options.import_folder.as_deref().map(Arc::from);
    Ok(Imports { folder, parquet: ingest::parquet(), urls })
}

fn log_opening(folder: Option<&Path>, recovery: &RecoveryReport) {
    tracing::info!(
        target: "tanglewood::storage",
        folder = folder.map(|folder| tracing::field::display(folder.display())),
        checkpoint = recovery.checkpoint,
        replayed_commits = recovery.replayed,
        "database opened"
    );
}

/// The plan for a text, made now.
pub(crate) fn planned(
    text: &str,
    snapshot: &Snapshot,
    planning: &SnapshotPlanning,
) -> Result<Planned, Error> {
    let statement = cypher::compile(text).map_err(|error| in_text(error, text))?;
    let mut notices = crate::notification::Notices::of(&statement, text, snapshot);
    let statement = plan::optimize(statement, planning)?;
    notices.add_hints(&statement);
    let writes = statement.writes();
    let shown = crate::query_log::shown_text(&statement.kind, text);
    Ok(Planned {
        plan: execute::Prepared::new(statement, writes, snapshot).with_samples_of(planning),
        text: shown,
        notices,
        old_bases: OldBases::default(),
    })
}
