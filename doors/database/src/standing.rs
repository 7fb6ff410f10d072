//! Standing queries: made and dropped by name, kept with the database, read by subscription.
//!
//! They are fed on an executor, as one more root of its scheduling, woken by each commit.

mod attempts;
mod installation;
mod told;

pub(crate) use told::Told;

use crate::accounts::{Accounts, DEFAULT_TENANT, Payer};
use crate::database::shortened;
use crate::entries::{self, SetAside};
use crate::error::in_text;
use crate::job::{self, Ended};
use crate::{Database, Error, Params, Value, datalog};
use ::standing::{
    Begin, Definition as Asked, Installing, Keeper, Mark, Resume, Standing, StandingError, Subscription,
    TurnEnd,
};
use attempts::Attempts;
use execute::watch::Stopped;
use execute::{ExecuteOptions, ResultStream, Root, RootHandle, RootStatus, Runtime};
use installation::Installations;
use parking_lot::Mutex;
use plan::StatementKind;
use plan::expr::Name;
use plan::standing::{RETAIN_DEFAULT, Resume as ResumeFrom, Retain, StandingCommand};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::{Entries, EntryKind, EntryTable, Snapshot};
use transact::{Engine, Retention};
use world::disk::Disk;
use world::panics::caught;

/// How soon a turn that found somebody in its way is tried again.
const TRY_AGAIN_NS: u64 = 100_000;

/// Share of an executor that standing queries have, as a tenant has that was given none.
const SHARE: u32 = 100;

/// Feeds the queries of one place, on the executor of that number.
struct Feeding {
    keeper: Keeper,
    at: usize,
}

impl Root for Feeding {
    fn run(&mut self, _quota_ns: u64) -> RootStatus {
        match self.keeper.turn(self.at) {
            TurnEnd::Done => RootStatus::Idle,
            TurnEnd::More => RootStatus::Busy,
            TurnEnd::InTheWay => RootStatus::WakeAt(world::clock::monotonic_ns() + TRY_AGAIN_NS),
        }
    }
    fn charges(&mut self) -> Vec<(u32, u64)> {
        self.keeper.take_spent(self.at)
    }
}

/// What one database needs to keep its standing queries.
pub(crate) struct StandingQueries {
    keeper: Keeper,
    wake: OnceLock<RootHandle>,
    /// Those that do not run yet.
    installations: Arc<Installations>,
}

impl StandingQueries {
    /// The queries of a catalogue; [`Database::install_waiting`] lets those run that can be read.
    pub fn open(
        keeper: Keeper,
        entries: &Entries,
        accounts: &Accounts,
        place: Option<(Arc<dyn Disk>, PathBuf)>,
    ) -> StandingQueries {
        let attempts = Attempts::read(place);
        let installations = Installations::of(entries, |tenant| accounts.tenant(tenant), attempts);
        let installations = Arc::new(installations);
        StandingQueries { keeper, wake: OnceLock::new(), installations }
    }
    /// Ends all subscriptions and installations.
    pub fn close(&self) {
        self.installations.close();
        self.keeper.close();
    }
    /// Waits until no query of the catalogue waits for its installation any more, or for so long.
    pub fn await_installed(&self, time: Duration) {
        self.installations.await_rest(time);
    }
    /// Those that are set aside.
    pub fn set_aside(&self) -> Vec<SetAside> {
        self.installations.set_aside()
    }
    fn is_kept(&self, name: &str) -> bool {
        self.keeper.has(name)
    }
}

impl Drop for StandingQueries {
    fn drop(&mut self) {
        self.installations.close();
    }
}

/// What an entry of the catalogue says of a query.
#[derive(Clone)]
pub(crate) struct Definition {
    name: Name,
    text: Name,
    /// Who pays for it.
    tenant: Name,
    /// How long its changes can be asked for again, where that is said.
    retain: Option<Retain>,
}

impl Definition {
    fn of(name: Name, text: Name, tenant: Option<Name>, retain: Option<Retain>) -> Definition {
        Definition { name, text, tenant: tenant.unwrap_or_else(|| DEFAULT_TENANT.into()), retain }
    }
    /// The queries of a catalogue by the names of their entries, or why an entry cannot be read.
    pub fn read_all(entries: &Entries) -> Vec<(Arc<str>, Result<Definition, Error>)> {
        let table = entries.table(EntryKind::STANDING).into_iter().flat_map(|table| table.iter());
        table.map(|(name, content)| (name.clone(), Definition::read(name, content))).collect()
    }
    fn read(entry: &str, content: &[u8]) -> Result<Definition, Error> {
        let damaged = |why: &str| Err(Error::new("Tanglewood.DatabaseError.General.Damaged", why));
        match entries::statement(content)? {
            StatementKind::Standing(StandingCommand::Create { name, text, tenant, retain, .. })
                if *name == *entry =>
            {
                Ok(Definition::of(name, text, tenant, retain))
            }
            StatementKind::Standing(StandingCommand::Create { .. }) => {
                damaged("it creates a standing query of another name than its own")
            }
            _ => damaged("it creates no standing query"),
        }
    }
    /// The name of the query that a statement creates.
    pub fn name_of(content: &[u8]) -> Option<String> {
        match entries::statement(content) {
            Ok(StatementKind::Standing(StandingCommand::Create { name, .. })) => Some(name.to_string()),
            _ => None,
        }
    }
    /// The content of its entry.
    fn content(&self) -> String {
        let tenant = Some(self.tenant.clone()).filter(|tenant| **tenant != *DEFAULT_TENANT);
        let (name, text, retain) = (self.name.clone(), self.text.clone(), self.retain);
        StandingCommand::Create { name, if_not_exists: false, tenant, text, retain }.to_string()
    }
    /// What it asks, ready to be kept.
    ///
    /// # Errors
    /// The text is no query.
    pub fn planned(&self, snapshot: &Snapshot) -> Result<Asked, Error> {
        let text = &*self.text;
        match datalog::statement(text) {
            Some(wrapped) => {
                let wrapped = datalog::kept(text, wrapped)?;
                let program = datalog::compile(wrapped.program, text, wrapped.offset, snapshot.catalog())?;
                Ok(Asked::from(program))
            }
            None => {
                let statement = cypher::compile(text).map_err(|error| in_text(error, text))?;
                Ok(Asked::from(plan::normalize(statement)?))
            }
        }
    }
}

/// Makes and reads queries, without keeping the database open.
struct Maker {
    engine: Engine,
    keeper: Keeper,
    handle: RootHandle,
    runtime: Arc<Runtime>,
    bytes_max: u64,
}

/// Who makes or reads a query: on whose account that is done, and who waits for it.
pub(crate) struct Creator<'a> {
    pub payer: Payer,
    /// The first answer, or a subscription until it begins, may take so long.
    pub time: Option<Duration>,
    /// Looks after whoever asks: why they must not wait any longer, if that is so. Asked every few milliseconds, without a lock.
    pub interrupted: &'a dyn Fn() -> Option<&'static str>,
    /// Waits for the end of a job.
    pub wait: &'a dyn Fn(&mut ResultStream) -> Result<(), Error>,
}

impl Creator<'static> {
    /// The database itself, which nobody interrupts.
    fn itself() -> Creator<'static> {
        let wait = &|job: &mut ResultStream| Ok(job.next().transpose().map(drop)?);
        Creator { payer: Payer::default(), time: None, interrupted: &|| None, wait }
    }
}

impl Maker {
    /// Makes a query for which `payer` pays from then on. Its first answer is a job on the executors, on the account of who makes it.
    fn make(
        &self,
        definition: &Definition,
        payer: u32,
        bounds: &Arc<Installing>,
        creator: &Creator<'_>,
    ) -> Result<(), Error> {
        let (snapshot, definition) = (self.engine.snapshot(), definition.clone());
        let name = definition.name.clone();
        let (handle, keeper, bounds) = (self.handle.clone(), self.keeper.clone(), bounds.clone());
        let label = shortened(&definition.content()).to_string();
        let ended = self.job(label, creator, move || {
            let asked = definition.planned(&snapshot)?;
            let wake = Arc::new(move |at| handle.wake(at));
            Ok(keeper.create_within(&definition.name, &definition.text, asked, payer, wake, &bounds)?)
        })?;
        // Who was told to end may have come to its own end first.
        if ended.why.is_some() && matches!(ended.outcome, Some(Ok(_))) {
            let _ = self.keeper.drop_query(&name);
        }
        ended.outcome()?
    }
    /// Reads a query. What the reader has missed is looked up by a job, on the reader's account.
    fn subscribe(
        &self,
        name: &str,
        arguments: Params,
        begin: Begin,
        creator: &Creator<'_>,
    ) -> Result<Subscription, Error> {
        let (keeper, label) = (self.keeper.clone(), format!("SUBSCRIBE {name}"));
        let name = name.to_string();
        let ended = self.job(label, creator, move || {
            keeper.subscribe(&name, &|name| arguments.get(name).cloned(), begin)
        })?;
        Ok(ended.outcome()??)
    }
    /// Does work on the executors, and waits for its end.
    fn job<T: Send + 'static>(
        &self,
        label: String,
        creator: &Creator<'_>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Ended<T>, Error> {
        let options = ExecuteOptions {
            tenant: creator.payer.tenant,
            user: creator.payer.user,
            label,
            deadline: creator.time,
            bytes_max: self.bytes_max,
            ..ExecuteOptions::default()
        };
        job::run(&self.runtime, self.engine.snapshot(), options, work, creator.wait)
    }
}

impl Database {
    /// What a command about standing queries does, in words for people; to be asked before it is carried out.
    pub(crate) fn will_do(&self, command: &StandingCommand) -> Option<String> {
        let is_there = |name: &str| self.standing().iter().any(|query| query.name == name);
        Some(match command {
            StandingCommand::Create { name, .. } if is_there(name) => {
                format!("standing query {name} was there already")
            }
            StandingCommand::Create { name, .. } => {
                format!("standing query {name} made; SUBSCRIBE {name} tells what changes")
            }
            StandingCommand::Drop { name, .. } if is_there(name) => format!("standing query {name} dropped"),
            StandingCommand::Drop { name, .. } => format!("there was no standing query {name}"),
            StandingCommand::Retry { name } => format!("standing query {name} is installed again"),
            StandingCommand::Subscribe { .. } => return None,
        })
    }
    /// Makes a standing query: its first answer is computed now, and kept true from now on, on the account of those who belong to no tenant.
    /// The text may end with how long its changes can be asked for again: `… RETAIN 1h`.
    ///
    /// # Errors
    /// The text is no query, or one that cannot be kept up to date (the reason is said); the name is taken.
    pub fn create_standing(&self, name: &str, text: &str) -> Result<(), Error> {
        self.create_standing_for(DEFAULT_TENANT, name, text)
    }
    /// As [`Database::create_standing`]; this tenant pays for it.
    ///
    /// # Errors
    /// As there.
    pub fn create_standing_for(&self, tenant: &str, name: &str, text: &str) -> Result<(), Error> {
        let definition = Definition::of(name.into(), text.into(), Some(tenant.into()), None);
        self.create_defined(&Creator::itself(), definition)
    }
    fn create_defined(&self, creator: &Creator<'_>, definition: Definition) -> Result<(), Error> {
        let (standing, payer) = (self.standing_queries(), self.accounts().tenant(&definition.tenant));
        // What is written is what is read at the next open, and what runs until then.
        let content = definition.content();
        let name = &*definition.name.clone();
        let definition = Definition::read(name, content.as_bytes()).map_err(|error| {
            // An error of the text itself is told as such, at its place in the text.
            definition.planned(&self.snapshot()).err().unwrap_or(error)
        })?;
        let text = &*definition.text;
        let reserved = standing.installations.reserve(name, text, payer, || standing.is_kept(name))?;
        // The first answer may take its time; nobody else waits for it.
        self.maker().make(&definition, payer, &Arc::default(), creator)?;
        let written = caught(|| {
            self.change_entries(|entries| match entries.get(EntryKind::STANDING, name) {
                Some(_) => Err(StandingError::NameTaken(name.into()).into()),
                None => Ok(vec![entries::set(EntryKind::STANDING, name, Some(content.as_bytes()))]),
            })
        });
        let written = written.unwrap_or_else(|panicked| Err(Error::internal(&panicked)));
        if written.is_err() {
            // What is not written down would be gone after the next open.
            let _ = standing.keeper.drop_query(name);
        }
        drop(reserved);
        written
    }
    /// What makes queries.
    fn maker(&self) -> Maker {
        let standing = self.standing_queries();
        let handle = standing.wake.get_or_init(|| {
            let keeper = standing.keeper.clone();
            self.runtime()
                .add_root(SHARE, move |at| Box::new(Feeding { keeper: keeper.clone(), at }) as Box<dyn Root>)
        });
        Maker {
            engine: self.engine().clone(),
            keeper: standing.keeper.clone(),
            handle: handle.clone(),
            runtime: self.runtime().clone(),
            bytes_max: self.options().query_bytes_max,
        }
    }
    /// Carries out a command of a statement, for good.
    pub(crate) fn carry_out(
        &self,
        command: &StandingCommand,
        params: &Params,
        creator: &Creator<'_>,
    ) -> Result<Option<Told>, Error> {
        match command {
            StandingCommand::Create { name, if_not_exists, .. }
                if *if_not_exists && self.has_standing(name) => {}
            StandingCommand::Create { name, text, tenant, retain, .. } => {
                let own = || self.accounts().names(creator.payer.tenant, 0).0.into();
                let tenant = tenant.clone().unwrap_or_else(own);
                let definition = Definition::of(name.clone(), text.clone(), Some(tenant), *retain);
                self.create_defined(creator, definition)?;
            }
            StandingCommand::Drop { name, if_exists } if *if_exists && !self.has_standing(name) => {}
            StandingCommand::Drop { name, .. } => self.drop_standing(name)?,
            StandingCommand::Retry { name } => self.retry_standing(name)?,
            StandingCommand::Subscribe { name, from, snapshot, key } => {
                let from = from.as_ref().map(|from| resume(from, params)).transpose()?;
                let begin = Begin { from, snapshot: *snapshot, with_base: !key.is_empty() };
                let subscription = self.begin_subscription(name, params, begin, creator)?;
                return Told::new(subscription, key, self.clone()).map(Some);
            }
        }
        Ok(None)
    }
    fn has_standing(&self, name: &str) -> bool {
        let standing = self.standing_queries();
        standing.installations.await_created(name) || standing.is_kept(name)
    }
    /// Ends a standing query and its subscriptions, whatever its state is.
    ///
    /// # Errors
    /// There is none of this name; the disk refuses.
    pub fn drop_standing(&self, name: &str) -> Result<(), Error> {
        let standing = self.standing_queries();
        self.change_entries(|entries| match entries.get(EntryKind::STANDING, name) {
            Some(_) => Ok(vec![entries::set(EntryKind::STANDING, name, None)]),
            None => Err(StandingError::NoSuchQuery(name.into()).into()),
        })?;
        standing.installations.drop_query(name);
        // One that is set aside, or is being installed, is not there.
        let _ = standing.keeper.drop_query(name);
        Ok(())
    }
    /// Tries a standing query again that has failed or was set aside: it is installed in the background.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn retry_standing(&self, name: &str) -> Result<(), Error> {
        let (standing, snapshot) = (self.standing_queries(), self.snapshot());
        let content = snapshot.catalog().entries().get(EntryKind::STANDING, name);
        let content = content.ok_or_else(|| Error::from(StandingError::NoSuchQuery(name.into())))?;
        let listed = standing.keeper.list().into_iter().find(|query| query.name == name);
        if listed.as_ref().is_some_and(|query| query.failure.is_none()) {
            return Ok(());
        }
        let definition = Definition::read(name, content);
        let payer = definition.as_ref().map_or(0, |definition| self.accounts().tenant(&definition.tenant));
        if standing.installations.retry(name, definition, payer) && listed.is_some() {
            let _ = standing.keeper.drop_query(name);
        }
        self.install_waiting();
        Ok(())
    }
    /// All standing queries, in order of their names, also those that do not run yet or are set aside.
    pub fn standing(&self) -> Vec<Standing> {
        let standing = self.standing_queries();
        let (mut all, running) = (standing.installations.list(), standing.keeper.list());
        all.retain(|query| running.iter().all(|other| other.name != query.name));
        all.extend(running);
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }
    /// Reads a standing query, of which these are the arguments: what changes from now on, or after the commit at place `from`; with `snapshot`, its whole answer first.
    ///
    /// # Errors
    /// No such query; it has failed; an argument is missing; what changed since `from` is not kept any more.
    pub fn subscribe(
        &self,
        name: &str,
        arguments: &Params,
        from: Option<u64>,
        snapshot: bool,
    ) -> Result<Subscription, Error> {
        let begin = Begin { from: from.map(Resume::Commit), snapshot, with_base: false };
        self.begin_subscription(name, arguments, begin, &Creator::itself())
    }
    /// Reads a standing query on from a mark that a subscription with the same arguments gave, before or after the database was opened last:
    /// nothing is lost and nothing comes twice.
    ///
    /// # Errors
    /// As [`Database::subscribe`]; the mark is of another answer, or of another database.
    pub fn resume(&self, name: &str, arguments: &Params, mark: &Mark) -> Result<Subscription, Error> {
        let begin = Begin { from: Some(Resume::Mark(*mark)), ..Begin::default() };
        self.begin_subscription(name, arguments, begin, &Creator::itself())
    }
    fn begin_subscription(
        &self,
        name: &str,
        arguments: &Params,
        begin: Begin,
        creator: &Creator<'_>,
    ) -> Result<Subscription, Error> {
        self.standing_queries().installations.await_ready(name, creator)?;
        self.maker().subscribe(name, arguments.clone(), begin, creator)
    }
}

/// What a subscription goes on after.
fn resume(from: &ResumeFrom, params: &Params) -> Result<Resume, Error> {
    let wrong = |message: String| {
        Error::new("Neo.ClientError.Statement.ArgumentError", message)
            .hint("give what the column `mark` of the last row said that has one")
    };
    let mark = |text: &str| text.parse().map(Resume::Mark).map_err(wrong);
    let given = match from {
        ResumeFrom::Place(place) => return Ok(Resume::Commit(*place)),
        ResumeFrom::Mark(text) => return mark(text),
        ResumeFrom::Parameter(name) => params.get(name),
    };
    if let Some(text) = given.and_then(Value::as_str) {
        return mark(text);
    }
    let place = given.and_then(Value::as_int).and_then(|place| u64::try_from(place).ok());
    place.map(Resume::Commit).ok_or_else(|| wrong("FROM takes a mark, or the number of a commit".into()))
}

/// How long the changes of a standing query can be asked for again, if its entry can be read.
pub(crate) fn retained(entries: &Entries, name: &str) -> Option<Retain> {
    let definition = Definition::read(name, entries.get(EntryKind::STANDING, name)?).ok()?;
    Some(definition.retain.unwrap_or(RETAIN_DEFAULT))
}

/// How long commits are to be kept by these entries: as long as the standing query asks that asks longest. An entry that cannot be read
/// asks nothing.
pub(crate) fn retention() -> Retention {
    let known: Mutex<Option<(Arc<EntryTable>, Duration)>> = Mutex::default();
    Arc::new(move |entries| {
        let Some(table) = entries.table(EntryKind::STANDING) else { return Duration::ZERO };
        let mut known = known.lock();
        if let Some((_, retention)) = known.as_ref().filter(|(seen, _)| Arc::ptr_eq(seen, table)) {
            return *retention;
        }
        let read = Definition::read_all(entries).into_iter().filter_map(|(_, read)| read.ok());
        let asked = read.map(|definition| definition.retain.unwrap_or(RETAIN_DEFAULT).duration());
        let retention = asked.max().unwrap_or_default();
        *known = Some((table.clone(), retention));
        retention
    })
}

impl From<StandingError> for Error {
    fn from(error: StandingError) -> Error {
        let code = match &error {
            StandingError::Unsupported { .. } => "Tanglewood.ClientError.Standing.Unsupported",
            StandingError::SetAside(_) => "Tanglewood.ClientError.Standing.SetAside",
            StandingError::Internal(_) => "Tanglewood.DatabaseError.Standing.Internal",
            StandingError::Ended(_) => "Neo.ClientError.Transaction.Terminated",
            StandingError::TimedOut(_) | StandingError::Stopped(Stopped::Time) => {
                "Neo.ClientError.Transaction.TransactionTimedOut"
            }
            StandingError::Stopped(Stopped::Bytes) => "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
            StandingError::Failed(_) => "Tanglewood.ClientError.Standing.Failed",
            StandingError::TooLarge { .. } | StandingError::TooMany | StandingError::TooSlow => {
                "Tanglewood.ClientError.Standing.Limit"
            }
            StandingError::Storage(_) => "Tanglewood.DatabaseError.General.Storage",
            StandingError::NoSuchColumn { .. } => "Neo.ClientError.Statement.ArgumentError",
            StandingError::NoSuchQuery(_) => "Tanglewood.ClientError.Standing.NotFound",
            StandingError::MissingArgument(_) => "Neo.ClientError.Statement.ParameterMissing",
            StandingError::NameTaken(_) => "Tanglewood.ClientError.Standing.NameTaken",
            StandingError::Unreached { .. } | StandingError::Forgotten { .. } => {
                "Tanglewood.ClientError.Standing.NotKept"
            }
            StandingError::ForeignMark => "Tanglewood.ClientError.Standing.ForeignMark",
            StandingError::Busy => "Tanglewood.TransientError.Standing.Busy",
        };
        let found = Error { retryable: error == StandingError::Busy, ..Error::new(code, error.to_string()) };
        match error.hint() {
            Some(hint) => found.hint(hint),
            None => found,
        }
    }
}
