//! Lists of shards merge into the transaction again.

use super::*;
use model::schema::IndexId;
use model::{EdgeId, EdgeRef, EdgeTypeId, KeyId, Value, VertexId};

use protocol::{Bytes, CommitId, Following, LogCut, LogPage, MemoryTruth, Record, Route, ToldUsage};
use world::chance::Chance;

const SHARDS: u16 = 3;

fn owner(chunk: ChunkNo) -> Option<u16> {
    (chunk < 100).then_some((chunk % u32::from(SHARDS)) as u16)
}

/// Changes as a transaction may make them, distinguished by the numbers in them: of one vertex, of an edge within a chunk or between two, of the
/// catalogue.
fn changes(chance: &mut Chance, count: u32) -> Vec<Change> {
    let change = |number: u32| {
        let [source, target] = [(); 2].map(|()| VertexId::new(chance.below(7) as u32, 0));
        let key = KeyId(number);
        match chance.below(10) {
            0 => Change::DropIndex(IndexId(number)),
            1..=4 => {
                let edge = EdgeRef { id: EdgeId::new(source.chunk(), EdgeTypeId(0), number), source, target };
                // No number equals itself.
                Change::CreateEdge { edge, properties: vec![(key, Value::Float(f64::NAN))] }
            }
            _ => Change::SetProperty { id: source, key, value: Value::Null },
        }
    };
    (0..count).map(change).collect()
}

/// The lists of the shards, as a gate makes them.
fn lists(changes: &[Change]) -> Vec<(u16, VecDeque<Change>)> {
    let stands_in = |change: &Change, shard: u16| {
        let chunks = change.chunks();
        chunks == [None, None] || chunks.into_iter().flatten().any(|chunk| owner(chunk) == Some(shard))
    };
    let list = |shard| (shard, changes.iter().filter(|change| stands_in(change, shard)).cloned().collect());
    (0..SHARDS).map(list).filter(|(_, list): &(u16, VecDeque<Change>)| !list.is_empty()).collect()
}

fn told<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Vec<String> {
    changes.into_iter().map(|change| format!("{change:?}")).collect()
}

#[test]
fn lists_of_shards_become_the_transaction_again() {
    let mut chance = Chance::seeded(7);
    for count in 0..200 {
        let made = changes(&mut chance, count);
        let lists = lists(&made);
        let all = merged(lists.clone(), owner).unwrap_or_else(|| panic!("{made:?}"));
        let (mut before, mut after) = (told(&made), told(&all));
        before.sort();
        after.sort();
        assert_eq!(before, after, "each change is there once");
        assert_eq!(self::lists(&all).len(), lists.len());
        for ((shard, list), (_, again)) in lists.iter().zip(self::lists(&all)) {
            assert_eq!(told(list), told(&again), "shard {shard} has its changes in their order");
        }
    }
}

#[test]
fn lists_that_do_not_fit_are_refused() {
    let mut chance = Chance::seeded(8);
    let mut refused = 0;
    for _ in 0..100 {
        let mut lists = lists(&changes(&mut chance, 20));
        let at = chance.index(lists.len());
        let gone = chance.index(lists[at].1.len());
        let change = lists[at].1.remove(gone).unwrap();
        let chunks = change.chunks();
        let stands_in_one = chunks[1].is_none() && chunks[0].is_some()
            || chunks[0].and_then(owner) == chunks[1].and_then(owner);
        // A change of one list alone is missed by nobody.
        let is_whole = merged(lists, owner).is_some();
        assert!(!is_whole || stands_in_one || chunks == [None, None], "{change:?}");
        refused += u32::from(!is_whole);
    }
    assert!(refused > 10, "{refused}");
    let far = Change::SetProperty { id: VertexId::new(100, 0), key: KeyId(0), value: Value::Null };
    assert!(merged(vec![(0, [far].into())], owner).is_none(), "nobody has this chunk");
}

/// A log of one record, which is its base.
#[derive(Default)]
struct BaseAlone(MemoryTruth);

impl Sequence for BaseAlone {
    fn after(&mut self, after: u64, _: usize) -> Result<LogPage, Unknown> {
        let stamp = order::Stamp::from_parts(1, 0, [1].into()).ok_or(Unknown)?;
        let record = Arc::new(Record { stamp, parts: Vec::new() });
        let commit = VersionedCommit { commit_version: BASE, at_us: 1, record };
        Ok(LogPage {
            base: BASE,
            commits: [commit].into_iter().filter(|commit| commit.commit_version > after).collect(),
        })
    }
    fn follows(&mut self, name: &str, commit_version: u64) -> Result<(), Unknown> {
        self.0.follows(name, commit_version)
    }
    fn followers(&mut self) -> Result<Vec<Following>, Unknown> {
        self.0.followers()
    }
    fn put_base(&mut self, _: &str, _: u64, _: u64, _: &[(u16, Bytes)]) -> Result<(), Unknown> {
        Err(Unknown)
    }
    fn cut(&mut self, _: &str, _: u64, _: u64) -> Result<LogCut, Unknown> {
        Err(Unknown)
    }
    fn tell_usage(&mut self, _: &str, _: &[u8]) -> Result<ToldUsage, Unknown> {
        Err(Unknown)
    }
    fn delete_below_base(&mut self) -> Result<bool, Unknown> {
        Ok(false)
    }
    fn newest(&mut self) -> Result<(u64, Vec<CommitId>), Unknown> {
        self.0.newest()
    }
    fn version_of(&mut self, commits: &[CommitId]) -> Result<Option<u64>, Unknown> {
        self.0.version_of(commits)
    }
    fn routes(&mut self) -> Result<Vec<Route>, Unknown> {
        self.0.routes()
    }
}

const BASE: u64 = 5;

/// A copy whose first checkpoint fails this often.
#[derive(Default)]
struct Failing {
    commit_version: u64,
    base: Option<u64>,
    failures: u32,
}

impl GraphCopy for Failing {
    fn commit_version(&self) -> u64 {
        self.commit_version
    }
    fn take(&mut self, commits: Vec<Followed>) -> Result<(), NotTaken> {
        self.commit_version = commits.last().map_or(self.commit_version, |commit| commit.commit_version);
        Ok(())
    }
    fn base_begun(&self) -> Option<u64> {
        self.base
    }
    fn begin_base(&mut self, base: u64) -> Result<(), NotTaken> {
        self.base = Some(base);
        Ok(())
    }
    fn has_base(&mut self) -> Result<(), NotTaken> {
        if self.failures > 0 {
            self.failures -= 1;
            return Err(NotTaken::ForNow("the disk is full".into()));
        }
        self.base = None;
        Ok(())
    }
}

/// A past fault: a replica forgot that it had begun a base when its checkpoint failed, and showed a past that was not the cluster's.
#[test]
fn a_copy_whose_first_checkpoint_fails_is_told_again_and_is_not_there_before() {
    let mut copy = Failing { failures: 3, ..Failing::default() };
    let mut state = FollowerState {
        name: "gate-0".into(),
        truth: Box::new(BaseAlone::default()),
        begun: 0,
        said: None,
        is_at_end: false,
        owners: BTreeMap::new(),
        told: None,
        again: AGAIN,
        pause: None,
        progress: Arc::default(),
    };
    for failures in (0..3).rev() {
        assert_eq!(state.step(&mut copy), Ok(Err(Unknown)));
        assert_eq!((copy.failures, copy.commit_version, copy.base), (failures, BASE, Some(BASE)));
        assert_eq!(state.progress.read().0, 0, "whoever waits for it waits on");
    }
    assert_eq!(state.step(&mut copy), Ok(Ok(false)));
    assert_eq!((copy.base, state.progress.read().0), (None, BASE));
}
