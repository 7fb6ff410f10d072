//! A follower: reads the cluster's sequence of commits from truth, and hands each whole commit to a copy of the graph.
//!
//! ```text
//!   truth: commit versions, records by shards ── page after page ──> one list of changes a commit ──> copy
//! ```
//!
//! Idea: a record has a list of changes for each shard, all in the order in which the transaction made them; a change that two shards apply, or all,
//! is in the list of each. Merged again, they are the transaction. Invariant: the copy has all commits up to a version, and none behind it.

use model::ChunkNo;
use parking_lot::{Condvar, Mutex};
use protocol::limits::LOG_PAGE;
use protocol::{Sequence, Unknown, VersionedCommit};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use store::Change;
use transact::Followed;
use world::clock;
use world::threads::{self, Thread};

/// A follower that found nothing new looks again after this long.
const IDLE: Duration = Duration::from_millis(10);
/// Pause before a retry, if truth did not answer, or the copy took nothing.
const AGAIN: Duration = Duration::from_millis(200);
/// The longest time until it tries again.
const AGAIN_MAX: Duration = Duration::from_secs(10);
/// How often it reports its position, so that the log keeps unread commits.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// Why a copy did not take commits, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotTaken {
    /// It may succeed later: its disk was full, perhaps.
    ForNow(String),
    /// It can take none any more.
    ForGood(String),
}

/// A copy of the graph that takes over commits.
pub trait GraphCopy: Send {
    /// The version of the last commit that it has.
    fn commit_version(&self) -> u64;
    /// Applies commits behind the last, in order; they are durable on return.
    ///
    /// # Errors
    /// Why it did not take all of them; those before the first missing one may be there.
    fn take(&mut self, commits: Vec<Followed>) -> Result<(), NotTaken>;
    /// The base that it has begun and not completed: it can continue with its records, whatever happened in between.
    fn base_begun(&self) -> Option<u64> {
        None
    }
    /// It begins with the log's base, which is at this commit version.
    ///
    /// # Errors
    /// It cannot keep that in mind; nothing may be taken.
    fn begin_base(&mut self, base: u64) -> Result<(), NotTaken> {
        let _ = base;
        Ok(())
    }
    /// It began empty, and has the whole base of the log now. Earlier moments are not the cluster's: they must not be readable.
    ///
    /// # Errors
    /// Its past does not begin here yet; it is called again, before it gets more.
    fn has_base(&mut self) -> Result<(), NotTaken> {
        Ok(())
    }
}

/// How far it is.
#[derive(Default)]
struct Reached {
    commit_version: u64,
    /// The base of the log, as it was read last; nothing before it was read.
    base: Option<u64>,
    /// Bytes of the commits that were read so far.
    bytes: u64,
    /// Why it stands still for good, if it does.
    failure: Option<String>,
    is_closed: bool,
}

#[derive(Default)]
pub(crate) struct FollowProgress {
    state: Mutex<Reached>,
    moved: Condvar,
}

impl FollowProgress {
    /// The version of the last commit that the copy has, the base of the log, and bytes of commits that were read by this follower.
    pub(crate) fn read(&self) -> (u64, Option<u64>, u64) {
        let state = self.state.lock();
        (state.commit_version, state.base, state.bytes)
    }
}

/// A thread that follows until this is dropped.
pub struct Follower {
    progress: Arc<FollowProgress>,
    _thread: Thread<()>,
}

impl Follower {
    /// Begins behind the last commit of the copy. The log keeps unread commits for it under its name.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        name: &str,
        truth: Box<dyn Sequence + Send>,
        copy: impl GraphCopy + 'static,
    ) -> std::io::Result<Follower> {
        let progress = Arc::new(FollowProgress::default());
        // One that has all of its base is there only when it has been told so.
        let begun = copy.base_begun().map(|base| base.saturating_sub(1));
        progress.state.lock().commit_version =
            begun.map_or(copy.commit_version(), |before| before.min(copy.commit_version()));
        let following = FollowerState {
            name: name.to_string(),
            truth,
            begun: copy.base_begun().unwrap_or_else(|| copy.commit_version()),
            said: None,
            is_at_end: false,
            owners: BTreeMap::new(),
            told: None,
            again: AGAIN,
            pause: None,
            progress: progress.clone(),
        };
        let thread = threads::try_spawn("cluster-follow", move || following.run(copy))?;
        Ok(Follower { progress, _thread: thread })
    }
    /// Its progress, for other threads.
    pub(crate) fn progress(&self) -> Arc<FollowProgress> {
        self.progress.clone()
    }
    /// The version of the last commit that the copy has; or why it stands still for good.
    ///
    /// # Errors
    /// Why it stands still for good.
    pub fn commit_version(&self) -> Result<u64, String> {
        let state = self.progress.state.lock();
        state.failure.clone().map_or(Ok(state.commit_version), Err)
    }
    /// Waits until the copy has the commit at a version, or for so long; true if it has.
    ///
    /// # Errors
    /// Why it stands still for good.
    pub fn await_version(&self, commit_version: u64, longest: Duration) -> Result<bool, String> {
        let until_ns = clock::after_ns(longest);
        let mut state = self.progress.state.lock();
        loop {
            let left = until_ns.saturating_sub(clock::monotonic_ns());
            match &state.failure {
                Some(failure) => return Err(failure.clone()),
                None if state.commit_version >= commit_version => return Ok(true),
                None if left == 0 => return Ok(false),
                None => drop(self.progress.moved.wait_for(&mut state, Duration::from_nanos(left))),
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.progress.state.lock().is_closed = true;
        self.progress.moved.notify_all();
    }
}

struct FollowerState {
    name: String,
    truth: Box<dyn Sequence + Send>,
    /// The base that its copy began with; or the commit version of the copy when it was opened, which was not below the base.
    begun: u64,
    /// When it last reported its position, and the position.
    said: Option<(u64, u64)>,
    /// There was nothing behind that when it looked last.
    is_at_end: bool,
    /// The shard of each chunk, by truth's last answer. Chunks do not move.
    owners: BTreeMap<u32, u16>,
    /// Why the copy took nothing last, which is logged once.
    told: Option<String>,
    /// So long until it tries again when the copy takes nothing: each time twice as long, up to [`AGAIN_MAX`].
    again: Duration,
    /// Set where the copy took nothing.
    pause: Option<Duration>,
    progress: Arc<FollowProgress>,
}

impl FollowerState {
    fn run(mut self, mut copy: impl GraphCopy) {
        while !self.progress.state.lock().is_closed {
            let pause = match self.step(&mut copy) {
                Ok(Ok(true)) => continue,
                Ok(Ok(false)) => IDLE,
                Ok(Err(Unknown)) => self.pause.take().unwrap_or(AGAIN),
                Err(failure) => {
                    self.progress.state.lock().failure = Some(failure);
                    self.progress.moved.notify_all();
                    return;
                }
            };
            let mut state = self.progress.state.lock();
            if !state.is_closed {
                self.progress.moved.wait_for(&mut state, pause);
            }
        }
    }

    /// Takes over a page of commits; false where there were none. The outer error is for good.
    fn step(&mut self, copy: &mut impl GraphCopy) -> Result<Result<bool, Unknown>, String> {
        if let Err(unknown) = self.say(copy.commit_version()) {
            return Ok(Err(unknown));
        }
        match end_base(copy) {
            Ok(true) => self.reached(copy.commit_version()),
            Ok(false) => {}
            Err(why) => return self.not_taken(why),
        }
        let page = match self.truth.after(copy.commit_version(), LOG_PAGE) {
            Ok(page) => page,
            Err(unknown) => return Ok(Err(unknown)),
        };
        if !page.continues(copy.commit_version(), self.begun) {
            return Err(too_old(copy.commit_version(), page.base));
        }
        if copy.commit_version() < page.base
            && copy.base_begun() != Some(page.base)
            && let Err(why) = copy.begin_base(page.base)
        {
            return self.not_taken(why);
        }
        self.begun = page.base;
        let page_bytes: usize = page.commits.iter().map(|versioned| versioned.record.bytes()).sum();
        let mut state = self.progress.state.lock();
        (state.base, state.bytes) = (Some(page.base), state.bytes + page_bytes as u64);
        drop(state);
        self.is_at_end = page.commits.is_empty();
        if page.commits.is_empty() {
            self.again = AGAIN;
            return Ok(Ok(false));
        }
        let mut commits = Vec::with_capacity(page.commits.len());
        for versioned in &page.commits {
            match self.whole(versioned)? {
                Ok(changes) => {
                    let (commit_version, time_micros) = (versioned.commit_version, versioned.at_us);
                    commits.push(Followed { commit_version, time_micros, changes });
                }
                Err(unknown) => return Ok(Err(unknown)),
            }
        }
        let taken = copy.take(commits);
        // Whoever waits for its commit version may ask for the past at once.
        if let Err(why) = end_base(copy) {
            return self.not_taken(why);
        }
        self.reached(copy.commit_version());
        match taken {
            Ok(()) => {
                self.again = AGAIN;
                Ok(Ok(true))
            }
            Err(why) => self.not_taken(why),
        }
    }
    fn reached(&self, commit_version: u64) {
        self.progress.state.lock().commit_version = commit_version;
        self.progress.moved.notify_all();
    }
    fn not_taken(&mut self, why: NotTaken) -> Result<Result<bool, Unknown>, String> {
        match why {
            NotTaken::ForNow(why) => {
                self.pause = Some(self.again);
                self.again = (2 * self.again).min(AGAIN_MAX);
                Ok(Err(self.tell(why)))
            }
            NotTaken::ForGood(why) => Err(why),
        }
    }
    /// Logs once why nothing was taken.
    fn tell(&mut self, why: String) -> Unknown {
        if self.told.as_ref() != Some(&why) {
            eprintln!("the replica of this gate took no commit, and tries again: {why}");
            self.told = Some(why);
        }
        Unknown
    }

    /// Reports its position, now and then.
    fn say(&mut self, commit_version: u64) -> Result<(), Unknown> {
        let now_ns = clock::monotonic_ns();
        let is_due = |then: u64| now_ns >= then.saturating_add(clock::span_ns(TELL_EVERY));
        // One that stands still, since its disk is full perhaps, does not hold the log for ever.
        let moves = |said: u64| self.is_at_end || commit_version != said;
        if self.said.is_none_or(|(then, said)| is_due(then) && moves(said)) {
            self.truth.follows(&self.name, commit_version)?;
            self.said = Some((now_ns, commit_version));
        }
        Ok(())
    }

    /// The changes of a commit, from the lists of its shards.
    fn whole(&mut self, versioned: &VersionedCommit) -> Result<Result<Vec<Change>, Unknown>, String> {
        let failed = |why: String| format!("commit {} cannot be read: {why}", versioned.commit_version);
        let mut parts = Vec::new();
        for (shard, bytes) in &versioned.record.parts {
            let changes = Change::decode_all(bytes).map_err(|error| failed(error.to_string()))?;
            parts.push((*shard, VecDeque::from(changes)));
        }
        let mut chunks = parts.iter().flat_map(|(_, part)| part).flat_map(Change::chunks).flatten();
        if chunks.any(|chunk| !self.owners.contains_key(&chunk)) {
            match self.truth.routes() {
                Ok(routes) => self.owners = routes.iter().map(|route| (route.chunk, route.owner)).collect(),
                Err(unknown) => return Ok(Err(unknown)),
            }
        }
        let owner = |chunk: ChunkNo| self.owners.get(&chunk).copied();
        merged(parts, owner).map(Ok).ok_or_else(|| failed("its parts do not fit each other".into()))
    }
}

/// Informs a copy that it has the base that it began, if it has.
fn end_base(copy: &mut impl GraphCopy) -> Result<bool, NotTaken> {
    let has_it = copy.base_begun().is_some_and(|base| copy.commit_version() >= base);
    if has_it {
        copy.has_base()?;
    }
    Ok(has_it)
}

/// Why a copy cannot go on: commits that it lacks are cut off from the log.
pub(crate) fn too_old(commit_version: u64, base: u64) -> String {
    format!("it has the commits up to {commit_version}, and the cluster's log begins at {base} by now")
}

/// One list of the lists of all shards, each change once, in an order that agrees with each of them. Nothing where there is none.
fn merged(
    mut parts: Vec<(u16, VecDeque<Change>)>,
    owner: impl Fn(ChunkNo) -> Option<u16>,
) -> Option<Vec<Change>> {
    // Whose lists a change stands in, as positions; those of the catalogue in all.
    let shards: Vec<u16> = parts.iter().map(|(shard, _)| *shard).collect();
    let stands_in = |change: &Change| -> Option<Vec<usize>> {
        let mut owners = Vec::new();
        for chunk in change.chunks().into_iter().flatten() {
            let owner = owner(chunk)?;
            owners.push(shards.iter().position(|shard| *shard == owner)?);
        }
        if change.chunks() == [None, None] {
            owners.extend(0..shards.len());
        }
        owners.sort_unstable();
        owners.dedup();
        Some(owners)
    };
    let mut all = Vec::new();
    loop {
        let mut has_moved = false;
        for at in 0..parts.len() {
            while let Some(first) = parts[at].1.front() {
                let lists = stands_in(first)?;
                if !lists.contains(&at) {
                    return None;
                }
                // Lists that share changes have them in one order, so firsts that stand in the same lists are one.
                let is_next = lists.iter().all(|list| {
                    *list == at || parts[*list].1.front().and_then(&stands_in).as_ref() == Some(&lists)
                });
                if !is_next {
                    break;
                }
                let mut change = None;
                lists.iter().for_each(|list| change = parts[*list].1.pop_front());
                all.extend(change);
                has_moved = true;
            }
        }
        if parts.iter().all(|(_, part)| part.is_empty()) {
            return Some(all);
        }
        if !has_moved {
            return None;
        }
    }
}

#[cfg(test)]
mod tests;
