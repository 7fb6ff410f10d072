//! Standing queries: made and dropped by name, kept with the database, read by subscription.
//!
//! They are fed on an executor, as one more root of its scheduling, woken by each commit.

mod attempts;
pub(crate) mod definition;
mod installation;
mod maker;
pub(crate) mod queries;
mod restricted;
mod subscription_rows;

pub(crate) use definition::retained;
pub(crate) use maker::Creator;
pub(crate) use subscription_rows::SubscriptionRows;

use crate::accounts::DEFAULT_TENANT;
use crate::roles::RestrictedView;
use crate::{Database, Error, Params, Value, entries};
use ::standing::{Begin, Mark, Resume, Standing, StandingError, Subscription};
use definition::Definition;
use execute::Root;
use execute::watch::Stopped;
use maker::{Feeding, LOOK_EVERY, Maker, SHARE};
use parking_lot::MutexGuard;
use plan::standing::{Resume as ResumeFrom, StandingCommand};
use std::sync::Arc;
use store::{Entries, EntryKind};
use world::clock::{after_ns, monotonic_ns};
use world::panics::caught;

impl Database {
    /// What a command about standing queries will do, in words for people; to be called before it is carried out.
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
    /// Creates a standing query: its first answer is computed now, and maintained from now on, on the account of the default tenant. The text may end
    /// with how long its changes are retained for readers that resume: `… RETAIN 1h`.
    ///
    /// # Errors
    /// The text is no query, or one that cannot be maintained (with the reason); the name is taken.
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
    /// Installs, in the background, the queries that wait for it.
    pub(crate) fn install_waiting(&self) {
        let installations = &self.standing_queries().installations;
        if let Err(error) = installations.begin(|| self.maker(), self.notes()) {
            self.note(&format!(
                "standing queries wait for their installation: no thread is to be had: {error}"
            ));
        }
    }
    /// The maker of standing queries.
    fn maker(&self) -> Maker {
        let standing = self.standing_queries();
        let handle = standing.wake.get_or_init(|| {
            let (keeper, restricted) = (standing.keeper.clone(), standing.restricted.clone());
            self.runtime().add_root(SHARE, move |at| {
                Box::new(Feeding { keeper: keeper.clone(), restricted: restricted.clone(), at })
                    as Box<dyn Root>
            })
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
    ) -> Result<Option<SubscriptionRows>, Error> {
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
                return Ok(Some(
                    SubscriptionRows::new(subscription, key, self.clone())?
                        .seen_with(creator.restricted_view.clone()),
                ));
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
        standing.restricted.drop_query(name);
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
        if self.engine().is_gate() {
            return self.standing_at_gate();
        }
        let standing = self.standing_queries();
        let (mut all, running) = (standing.installations.list(), standing.keeper.list());
        all.retain(|query| running.iter().all(|other| other.name != query.name));
        all.extend(running);
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }
    /// Subscribes to a standing query with these arguments: its changes from now on, or after commit version `from`; with `snapshot`, its whole
    /// answer first.
    ///
    /// # Errors
    /// No such query; it has failed; an argument is missing; the changes since `from` are no longer retained.
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
    /// Learns which standing queries there are: those that are new are installed in the background, those that are gone end.
    pub(crate) fn hear_standing(&self, entries: &Entries) {
        let standing = self.standing_queries();
        let Some(before) = standing.hear(entries) else { return };
        let told = Definition::read_all(entries);
        for known in self.standing() {
            let now = told.iter().find(|(name, _)| **name == *known.name);
            // One that was dropped and made again is another.
            let content = entries.get(EntryKind::STANDING, &known.name);
            if now.is_none() || content != before.get(&*known.name) {
                standing.installations.drop_query(&known.name);
                standing.restricted.drop_query(&known.name);
                let _ = standing.keeper.drop_query(&known.name);
            }
        }
        for (name, read) in told {
            if !standing.is_kept(&name) && !standing.installations.has(&name) {
                let payer = read.as_ref().map_or(0, |definition| self.accounts().tenant(&definition.tenant));
                standing.installations.retry(&name, read, payer);
            }
        }
        self.install_waiting();
    }
    /// Waits until a query runs, or for a bounded time.
    ///
    /// # Errors
    /// As [`Installations::await_ready`](installation::Installations::await_ready).
    pub(crate) fn await_standing(&self, name: &str, asks: &Creator<'_>) -> Result<(), Error> {
        self.standing_queries().installations.await_ready(name, asks)
    }
    /// Why a query was set aside, if it was.
    pub(crate) fn refusal(&self, name: &str) -> Option<Error> {
        self.standing_queries().installations.refusal(name)
    }
    fn begin_subscription(
        &self,
        name: &str,
        arguments: &Params,
        begin: Begin,
        creator: &Creator<'_>,
    ) -> Result<Subscription, Error> {
        self.standing_queries().installations.await_ready(name, creator)?;
        if let Some(restricted_view) =
            creator.restricted_view.as_ref().filter(|restricted_view| restricted_view.hides())
        {
            return self.subscribe_restricted(name, arguments, begin, (creator, restricted_view));
        }
        self.maker().subscribe(name, arguments.clone(), begin, creator)
    }
    /// Subscribes to a standing query under restricted rights.
    fn subscribe_restricted(
        &self,
        name: &str,
        params: &Params,
        begin: Begin,
        (creator, restricted_view): (&Creator<'_>, &Arc<RestrictedView>),
    ) -> Result<Subscription, Error> {
        let restricted = &self.standing_queries().restricted;
        let (keeper, making) = restricted.keeper(restricted_view, &self.standing_queries().keeper)?;
        let _making = await_turn(&making, creator)?;
        let maker = Maker { keeper: keeper.clone(), ..self.maker() };
        let snapshot = self.snapshot();
        let content = snapshot.catalog().entries().get(EntryKind::STANDING, name);
        let content = content.ok_or_else(|| Error::from(StandingError::NoSuchQuery(name.into())))?;
        let definition = Definition::read(name, content)?;
        // Marks of other rights are of another answer.
        let text = format!("{}\n-- as seen with {}", definition.text, restricted_view.rights.told());
        let is_kept = || {
            keeper
                .list()
                .iter()
                .any(|query| query.name == name && query.text == text && query.failure.is_none())
        };
        if !is_kept() {
            // What has failed, or was of a query of the same name, goes.
            let _ = keeper.drop_query(name);
            let made =
                maker.make_as((&definition, &text), Some(restricted_view), creator.payer.tenant, creator);
            match made {
                Err(error) if error.code.ends_with("NameTaken") => {}
                made => made?,
            }
            // What was dropped meanwhile, or made anew, was not there yet to be ended with it.
            let now = self.snapshot();
            if now.catalog().entries().get(EntryKind::STANDING, name) != Some(content) {
                let _ = keeper.drop_query(name);
                return Err(StandingError::NoSuchQuery(name.into()).into());
            }
        }
        maker.subscribe(name, params.clone(), begin, creator)
    }
}

/// Waits until no other session makes an answer for the same rights.
fn await_turn<'m>(
    making: &'m restricted::AnswerTurn,
    creator: &Creator<'_>,
) -> Result<MutexGuard<'m, ()>, Error> {
    let until_ns = creator.time.map(after_ns);
    loop {
        if let Some(turn) = making.try_lock_for(LOOK_EVERY) {
            return Ok(turn);
        }
        if let Some(reason) = (creator.interrupted)() {
            return Err(Error::new("Neo.TransientError.Transaction.Terminated", reason));
        }
        if until_ns.is_some_and(|until_ns| monotonic_ns() >= until_ns) {
            let message = "somebody with the same rights makes the first answer of a standing query";
            return Err(Error::new("Neo.ClientError.Transaction.TransactionTimedOut", message));
        }
    }
}

/// The point after which a subscription resumes.
fn resume(from: &ResumeFrom, params: &Params) -> Result<Resume, Error> {
    let wrong = |message: String| {
        Error::new("Neo.ClientError.Statement.ArgumentError", message)
            .hint("give what the column `mark` of the last row said that has one")
    };
    let mark = |text: &str| text.parse().map(Resume::Mark).map_err(wrong);
    let given = match from {
        ResumeFrom::CommitVersion(commit_version) => return Ok(Resume::Commit(*commit_version)),
        ResumeFrom::Mark(text) => return mark(text),
        ResumeFrom::Parameter(name) => params.get(name),
    };
    if let Some(text) = given.and_then(Value::as_str) {
        return mark(text);
    }
    let commit_version =
        given.and_then(Value::as_int).and_then(|commit_version| u64::try_from(commit_version).ok());
    commit_version
        .map(Resume::Commit)
        .ok_or_else(|| wrong("FROM takes a mark, or the number of a commit".into()))
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
