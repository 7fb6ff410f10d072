//! A toy store under a simulated shard: lists and registers in chunks that move, every version kept, one number a snapshot.
//!
//! A chunk that comes here is a new segment, which waits for the content that the source had at its own commit version of the same record.

use std::collections::{BTreeMap, BTreeSet};
use tanglewood_protocol::Bytes;

/// Objects of a chunk: the last one is a register, the others are lists.
pub const CHUNK_OBJECTS: u32 = 4;

/// Is the object a register?
pub fn is_register(object: u32) -> bool {
    object % CHUNK_OBJECTS == CHUNK_OBJECTS - 1
}
/// The chunk that an object is in.
pub fn chunk_of(object: u32) -> u32 {
    object / CHUNK_OBJECTS
}

/// One change of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A new last value of a list or register.
    Put(u32, i64),
    /// The chunk goes from one shard to another, for the n-th time.
    Move {
        /// The chunk.
        chunk: u32,
        /// From where.
        from: u16,
        /// To where.
        to: u16,
        /// Its version from now on.
        version: u64,
    },
}

/// Changes as bytes.
pub fn encode(changes: &[Change]) -> Bytes {
    let mut bytes = Vec::with_capacity(changes.len() * 17);
    for change in changes {
        match change {
            Change::Put(object, value) => {
                bytes.push(0);
                bytes.extend(u64::from(*object).to_le_bytes());
                bytes.extend(value.to_le_bytes());
            }
            Change::Move { chunk, from, to, version } => {
                bytes.push(1);
                let packed = u64::from(*chunk) << 32 | u64::from(*from) << 16 | u64::from(*to);
                bytes.extend(packed.to_le_bytes());
                bytes.extend(version.to_le_bytes());
            }
        }
    }
    bytes.into()
}

/// Changes from bytes.
pub fn decode(bytes: &[u8]) -> Vec<Change> {
    let (records, []) = bytes.as_chunks::<17>() else { panic!("the simulator wrote these bytes") };
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    records
        .iter()
        .map(|one| {
            let (first, second) = (word(&one[1..9]), word(&one[9..17]));
            match one[0] {
                0 => Change::Put(first as u32, second as i64),
                _ => Change::Move {
                    chunk: (first >> 32) as u32,
                    from: (first >> 16) as u16,
                    to: first as u16,
                    version: second,
                },
            }
        })
        .collect()
}

/// What a query found of one object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// The chunk is elsewhere at this snapshot.
    Elsewhere,
    /// Its values, the last one last.
    Values(Vec<i64>),
}

/// A query: objects.
pub fn query(objects: &[u32]) -> Bytes {
    objects.iter().flat_map(|object| object.to_le_bytes()).collect::<Vec<u8>>().into()
}

/// The objects of a query.
pub fn queried(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Answers as bytes: a count or -1, and the values.
pub fn answer(found: &[Found]) -> Bytes {
    let mut bytes = Vec::new();
    for one in found {
        match one {
            Found::Elsewhere => bytes.extend((-1_i64).to_le_bytes()),
            Found::Values(values) => {
                bytes.extend((values.len() as i64).to_le_bytes());
                values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
            }
        }
    }
    bytes.into()
}

/// Answers from bytes.
pub fn answers(bytes: &[u8]) -> Vec<Found> {
    let (words, _) = bytes.as_chunks::<8>();
    let mut words = words.iter().map(|word| i64::from_le_bytes(*word));
    let mut found = Vec::new();
    while let Some(count) = words.next() {
        found.push(match count {
            -1 => Found::Elsewhere,
            count => Found::Values(words.by_ref().take(count as usize).collect()),
        });
    }
    found
}

/// Values of a chunk's objects.
pub type Content = BTreeMap<u32, Vec<i64>>;

/// A time during which a chunk was here.
#[derive(Clone, Debug, Default)]
struct Segment {
    from: u64,
    /// The content that it came with; nothing while that is on its way.
    content: Option<Content>,
    /// Values that were put here, by commit version.
    put: BTreeMap<u32, Vec<(u64, i64)>>,
    until: Option<u64>,
    version: u64,
    source: u16,
}

/// All chunks of one shard.
#[derive(Clone, Debug, Default)]
pub struct Store {
    shard: u16,
    shards: u16,
    chunks_first: u32,
    segments: BTreeMap<u32, Vec<Segment>>,
    /// What left, for shards that ask for it.
    left: BTreeMap<(u32, u64), Content>,
    /// Until its log is read, a shard that lost its content executes the records of all.
    rebuilding: bool,
    owners: BTreeMap<u32, u16>,
}

impl Store {
    /// Of one of so many shards, with chunks that are there from the beginning.
    pub fn new(shard: u16, shards: u16, chunks_first: u32) -> Store {
        Store { shard, shards, chunks_first, ..Store::default() }
    }
    /// Everything is lost; the records of all shards follow.
    pub fn reset(&mut self) {
        *self = Store { rebuilding: true, ..Store::new(self.shard, self.shards, self.chunks_first) };
    }
    /// Is its log read?
    pub fn is_serving(&self) -> bool {
        !self.rebuilding
    }
    /// The log is read: chunks of others are dropped.
    pub fn rebuilt(&mut self) {
        if !std::mem::take(&mut self.rebuilding) {
            return;
        }
        let owners = std::mem::take(&mut self.owners);
        let mine = |chunk: u32| owners.get(&chunk).is_none_or(|owner| *owner == self.shard);
        self.segments.retain(|chunk, _| mine(*chunk));
        let gone = (0..self.chunks_first).filter(|chunk| !mine(*chunk)).collect::<BTreeSet<u32>>();
        for chunk in gone {
            let gone = Segment { until: Some(0), content: Some(Content::new()), ..Segment::default() };
            self.segments.insert(chunk, vec![gone]);
        }
    }
    /// Chunks whose content is on its way: number, version, source.
    pub fn awaited(&self) -> Vec<(u32, u64, u16)> {
        let open = self.segments.iter().flat_map(|(chunk, all)| all.iter().map(|one| (*chunk, one)));
        let open = open.filter(|(_, one)| one.content.is_none());
        open.map(|(chunk, one)| (chunk, one.version, one.source)).collect()
    }
    /// What left with a version of a chunk; nothing while this shard has not come so far.
    pub fn content(&self, chunk: u32, version: u64) -> Option<&Content> {
        self.left.get(&(chunk, version))
    }
    /// The awaited content has come.
    pub fn receive(&mut self, chunk: u32, version: u64, content: &Content) {
        let waiting = self.segments.get_mut(&chunk).into_iter().flatten();
        for segment in waiting.filter(|one| one.version == version && one.content.is_none()) {
            segment.content = Some(content.clone());
        }
    }

    fn born_here(&self, chunk: u32) -> bool {
        chunk < self.chunks_first
            && (self.rebuilding || chunk % u32::from(self.shards) == u32::from(self.shard))
    }
    fn segments(&mut self, chunk: u32, born: bool) -> &mut Vec<Segment> {
        let born = born || self.born_here(chunk);
        let first = || match born {
            true => vec![Segment { content: Some(Content::new()), ..Segment::default() }],
            false => Vec::new(),
        };
        self.segments.entry(chunk).or_insert_with(first)
    }

    /// Executes this shard's part of a record, or that of another while it is rebuilt.
    pub fn apply(&mut self, commit_version: u64, shard: u16, changes: &[Change]) {
        for change in changes {
            match *change {
                Change::Put(object, value) => {
                    self.owners.insert(chunk_of(object), shard);
                    let segments = self.segments(chunk_of(object), true);
                    if let Some(segment) = segments.last_mut() {
                        segment.put.entry(object).or_default().push((commit_version, value));
                    }
                }
                Change::Move { chunk, from, to, version } => {
                    self.owners.insert(chunk, to);
                    if self.rebuilding {
                        let content = self.whole(chunk, commit_version);
                        self.left.insert((chunk, version), content);
                    } else if from == self.shard {
                        self.leave(commit_version, chunk, version);
                    } else if to == self.shard {
                        let segment =
                            Segment { from: commit_version, version, source: from, ..Segment::default() };
                        self.segments(chunk, false).push(segment);
                    }
                }
            }
        }
    }

    fn leave(&mut self, commit_version: u64, chunk: u32, version: u64) {
        let ready = self.segments(chunk, true).last().is_some_and(|one| one.content.is_some());
        if ready {
            let content = self.whole(chunk, commit_version);
            self.left.insert((chunk, version), content);
        }
        if let Some(segment) = self.segments(chunk, true).last_mut() {
            segment.until = Some(commit_version);
        }
    }

    /// Content that left before it had come here can be given on now.
    pub fn pass_on(&mut self, chunk: u32, version: u64) {
        let Some(at) = self.segments.get(&chunk).and_then(|all| {
            all.iter()
                .position(|one| one.version + 1 == version && one.content.is_some() && one.until.is_some())
        }) else {
            return;
        };
        let until = self.segments[&chunk][at].until.unwrap_or(0);
        let content = self.whole(chunk, until);
        self.left.entry((chunk, version)).or_insert(content);
    }

    /// All values of a chunk at a commit version.
    fn whole(&mut self, chunk: u32, commit_version: u64) -> Content {
        let objects = chunk * CHUNK_OBJECTS..(chunk + 1) * CHUNK_OBJECTS;
        objects.filter_map(|object| Some((object, self.values(object, commit_version)?))).collect()
    }

    fn values(&mut self, object: u32, commit_version: u64) -> Option<Vec<i64>> {
        let segments = self.segments(chunk_of(object), false);
        let segment = segments.iter().rev().find(|one| one.from <= commit_version)?;
        let content = segment.content.as_ref()?;
        let mut values = content.get(&object).cloned().unwrap_or_default();
        let put = segment.put.get(&object).into_iter().flatten();
        values.extend(put.filter(|(at, _)| *at <= commit_version).map(|(_, value)| *value));
        Some(values)
    }

    /// Reads objects at a commit version; nothing while content is on its way. Without a look at who owns the chunk, if that is wanted.
    pub fn read(&mut self, commit_version: u64, objects: &[u32], looks: bool) -> Option<Vec<Found>> {
        let mut found = Vec::new();
        for object in objects {
            let segments = self.segments(chunk_of(*object), false);
            let segment = segments.iter().rev().find(|one| one.from <= commit_version);
            found.push(match segment {
                Some(segment) if looks && segment.until.is_some_and(|until| until <= commit_version) => {
                    Found::Elsewhere
                }
                Some(segment) if segment.content.is_none() && looks => return None,
                Some(_) => Found::Values(self.values(*object, commit_version).unwrap_or_default()),
                None if looks => Found::Elsewhere,
                None => Found::Values(Vec::new()),
            });
        }
        Some(found)
    }
}
