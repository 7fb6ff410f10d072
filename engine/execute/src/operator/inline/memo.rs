//! Answers of a sub-query by its imports from the row, so that rows with equal imports are answered once.
//!
//! Idea: a count, a test or a list is a function of the columns that the sub-query imports, as long as the view does not change. Rows of a batch with
//! equal imports share one inner run, and answers are cached for later batches. Only values of types whose equality means that they cannot be told
//! apart are compared: rows that import others (lists, maps, temporal values) are answered one by one.
//! Invariant: `bytes` is the size of the cached answers, and at most about [`BYTES_MAX`]; beyond that all are dropped at once.
//! Cost: one hash for each row until rows repeat; only from then on, keys and answers. Where few rows repeat ([`REPEATS_MIN`]), it is given up for the
//! rest of the query.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use model::{Batch, Value};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

/// Bytes of cached answers.
const BYTES_MAX: usize = 16 << 20;
/// Rows after which it is decided whether it was worthwhile.
const TRIAL_ROWS: usize = 4_096;
/// One of this many rows must repeat an earlier one: an answer that is cached costs as much as some that are computed.
const REPEATS_MIN: usize = 4;
/// Bytes of an entry beside its list: key, count, place in the table.
const ENTRY_BYTES: usize = 64;

/// A value that can be compared bit by bit.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(Arc<str>),
    Vertex(u64),
    Edge(u64),
}

impl Key {
    pub(super) fn of(value: &Value) -> Option<Key> {
        Some(match value {
            Value::Null => Key::Null,
            Value::Bool(truth) => Key::Bool(*truth),
            Value::Int(number) => Key::Int(*number),
            Value::Float(number) => Key::Float(number.to_bits()),
            Value::String(text) => Key::Text(text.clone()),
            Value::Vertex(vertex) => Key::Vertex(vertex.0),
            Value::Edge(edge) => Key::Edge(edge.id.0),
            _ => return None,
        })
    }
    pub(super) fn bytes(&self) -> usize {
        size_of::<Key>() + if let Key::Text(text) = self { text.len() } else { 0 }
    }
}

/// The answer of a sub-query for a row: the number of its inner rows, and if they are collected, the list.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) count: i64,
    pub(super) list: Option<Value>,
}

/// Where the answer for a row comes from.
enum Source {
    /// The inner run with this index.
    Asked(usize),
    Known(Answer),
}

/// A batch of outer rows for some of which the sub-query runs.
struct Pending {
    whole: Batch,
    sources: Vec<Source>,
    /// Rows that run.
    rows: usize,
}

/// See the module's head.
#[derive(Default)]
pub(super) struct Memo {
    answers: HashMap<Box<[Key]>, Answer, FixedState>,
    /// Keys of the present batch, by the row that runs.
    asked: HashMap<Box<[Key]>, usize, FixedState>,
    pending: Option<Pending>,
    bytes: usize,
    rows: usize,
    repeats: usize,
    caching: Caching,
    /// Hashes of the imports of earlier rows, while it only watches.
    seen: HashSet<u64, FixedState>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Caching {
    /// No answers are cached: it is not known whether rows repeat.
    #[default]
    Watches,
    On,
    GivenUp,
}

impl Memo {
    /// Does a batch have rows that repeat earlier ones?
    fn watch(&mut self, outer: &Batch, imports: &[usize]) -> bool {
        let mut repeats = 0;
        for row in 0..outer.len() {
            let mut hasher = FixedState::default().build_hasher();
            let is_whole = imports.iter().all(|at| {
                let column = outer.column(*at);
                let key = match (column.vertex(row), column.edge(row)) {
                    (Some(vertex), _) => Some(Key::Vertex(vertex.0)),
                    (_, Some(edge)) => Some(Key::Edge(edge.id.0)),
                    _ => Key::of(&column.get(row)),
                };
                key.inspect(|key| key.hash(&mut hasher)).is_some()
            });
            repeats += usize::from(is_whole && !self.seen.insert(hasher.finish()));
        }
        self.rows += outer.len();
        self.repeats += repeats;
        repeats * REPEATS_MIN >= outer.len()
    }
    /// The rows that must run; none where no answers are cached.
    pub(super) fn ask(&mut self, outer: &Batch, imports: &[usize]) -> Option<Vec<u32>> {
        if self.caching == Caching::GivenUp || outer.is_empty() {
            return None;
        }
        if self.caching == Caching::Watches {
            if !self.watch(outer, imports) {
                self.give_up_maybe();
                return None;
            }
            (self.caching, self.seen, self.rows, self.repeats) = (Caching::On, HashSet::default(), 0, 0);
        }
        let (mut rows, mut sources) = (Vec::new(), Vec::with_capacity(outer.len()));
        let mut key: Vec<Key> = Vec::with_capacity(imports.len());
        for row in 0..outer.len() {
            key.clear();
            key.extend(imports.iter().map_while(|at| Key::of(&outer.get(row, *at))));
            let is_whole = key.len() == imports.len();
            let known = self.answers.get(&key[..]).filter(|_| is_whole);
            let source = match known {
                Some(answer) => Source::Known(answer.clone()),
                None => match self.asked.get(&key[..]).filter(|_| is_whole) {
                    Some(asked) => Source::Asked(*asked),
                    None => {
                        if is_whole {
                            self.asked.insert(key[..].into(), rows.len());
                        }
                        rows.push(row as u32);
                        Source::Asked(rows.len() - 1)
                    }
                },
            };
            sources.push(source);
        }
        self.rows += outer.len();
        self.repeats += outer.len() - rows.len();
        self.pending = Some(Pending { whole: outer.clone(), sources, rows: rows.len() });
        Some(rows)
    }

    /// Does a batch wait for its answers?
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// The whole batch with the answers of all its rows, once those that ran have theirs; none where no batch waits.
    pub(super) fn answered(&mut self, answers: Vec<Answer>) -> Option<(Batch, Vec<Answer>)> {
        let Pending { whole, sources, rows } = self.pending.take()?;
        debug_assert_eq!(rows, answers.len(), "each row that was asked has an answer");
        let source = |source: Source| match source {
            Source::Known(answer) => answer,
            Source::Asked(row) => answers[row].clone(),
        };
        let all = sources.into_iter().map(source).collect();
        let mut asked = std::mem::take(&mut self.asked);
        for (key, row) in asked.drain() {
            self.keep(key, answers[row].clone());
        }
        // With its room, for the next batch.
        self.asked = asked;
        self.give_up_maybe();
        Some((whole, all))
    }

    /// Gives up if few of many rows repeat.
    fn give_up_maybe(&mut self) {
        if self.rows >= TRIAL_ROWS && self.repeats * REPEATS_MIN < self.rows {
            (self.caching, self.seen) = (Caching::GivenUp, HashSet::default());
            self.forget();
        }
    }

    fn keep(&mut self, key: Box<[Key]>, answer: Answer) {
        let list = answer.list.as_ref().map_or(0, Value::heap_bytes);
        let bytes = ENTRY_BYTES + key.iter().map(Key::bytes).sum::<usize>() + list;
        if bytes > BYTES_MAX {
            return;
        }
        if self.bytes + bytes > BYTES_MAX {
            self.forget();
        }
        self.bytes += bytes;
        self.answers.insert(key, answer);
    }

    /// Forgets all answers, and the batch at work.
    pub(super) fn forget(&mut self) {
        (self.answers, self.bytes, self.pending) = (HashMap::default(), 0, None);
        self.asked.clear();
    }

    /// Bytes of the cached answers.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
