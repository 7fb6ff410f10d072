//! Answers of a sub-query by its imports from the row, so that rows with equal imports are answered once.
//!
//! Idea: a count, a test or a list is a function of the columns that the sub-query imports, as long as the view does not change. Rows of a batch with
//! equal imports share one inner run, and answers are cached for later batches. Only values of types whose equality means that they cannot be told
//! apart are compared: rows that import others (lists, maps, temporal values) are answered one by one.
//! Invariant: `bytes` is the size of the cached answers, and at most about [`BYTES_MAX`]; beyond that all are dropped at once.
//! Cost: one hash for each row. Where few rows repeat ([`REPEATS_MIN`]), it is given up for the rest of the query.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Batch, Value};
use std::sync::Arc;

/// Bytes of cached answers.
const BYTES_MAX: usize = 16 << 20;
/// Rows after which it is decided whether it was worthwhile.
const TRIAL_ROWS: usize = 4_096;
/// One of this many rows must have had its answer already.
const REPEATS_MIN: usize = 16;
/// Bytes of an entry beside its list: key, count, place in the table.
const ENTRY_BYTES: usize = 64;

/// A value that can be compared bit by bit.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(Arc<str>),
    Vertex(u64),
    Edge(u64),
}

impl Key {
    fn of(value: &Value) -> Option<Key> {
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
    fn bytes(&self) -> usize {
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
    /// For each row that runs, its key, if its answer can be cached.
    keys: Vec<Option<Box<[Key]>>>,
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
    is_given_up: bool,
}

impl Memo {
    /// The rows that must run; none where nothing is cached any more.
    pub(super) fn ask(&mut self, outer: &Batch, imports: &[usize]) -> Option<Vec<u32>> {
        if self.is_given_up || outer.is_empty() {
            return None;
        }
        let (mut rows, mut sources, mut keys) = (Vec::new(), Vec::with_capacity(outer.len()), Vec::new());
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
                        keys.push(is_whole.then(|| key[..].into()));
                        rows.push(row as u32);
                        Source::Asked(rows.len() - 1)
                    }
                },
            };
            sources.push(source);
        }
        self.asked.clear();
        self.rows += outer.len();
        self.repeats += outer.len() - rows.len();
        self.pending = Some(Pending { whole: outer.clone(), sources, keys });
        Some(rows)
    }

    /// Does a batch wait for its answers?
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// The whole batch with the answers of all its rows, once those that ran have theirs; none where no batch waits.
    pub(super) fn answered(&mut self, answers: Vec<Answer>) -> Option<(Batch, Vec<Answer>)> {
        let Pending { whole, sources, keys } = self.pending.take()?;
        debug_assert_eq!(keys.len(), answers.len(), "each row that was asked has an answer");
        let source = |source: Source| match source {
            Source::Known(answer) => answer,
            Source::Asked(row) => answers[row].clone(),
        };
        let all = sources.into_iter().map(source).collect();
        for (key, answer) in keys.into_iter().zip(answers) {
            if let Some(key) = key {
                self.keep(key, answer);
            }
        }
        if self.rows >= TRIAL_ROWS && self.repeats * REPEATS_MIN < self.rows {
            self.is_given_up = true;
            self.forget();
        }
        Some((whole, all))
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
    }

    /// Bytes of the cached answers.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
