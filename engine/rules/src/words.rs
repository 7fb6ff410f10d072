//! Values as words of 32 bits: equal values, and only those, have one word.
//!
//! Small numbers and vertices are their own words; any other value has a number in a table. `1` and `1.0` are two values. The table only grows:
//! nothing is removed until the evaluation begins anew.

use crate::error::RulesError;
use crate::limits::{VALUE_BYTES, VALUES_MAX};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use model::compare::{hash_value, total_order};
use model::{Value, VertexId};
use std::hash::{BuildHasher, Hasher};

/// A value.
pub type Word = u32;

const SMALL_END: u32 = 1 << 30;
const VERTEX: u32 = 1 << 30;
const TABLE: u32 = 1 << 31;

/// The table of values.
pub struct Words {
    values: Vec<Value>,
    numbers: HashTable<u32>,
    hasher: FixedState,
    /// Behind the values.
    bytes: usize,
    pub(crate) bytes_max: usize,
}

/// The memory of an evaluation is used up.
pub(crate) fn out_of_memory(bytes_max: usize) -> RulesError {
    RulesError::TooLarge { what: "memory of the rules, in bytes,", limit: bytes_max }
}

fn is_same(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b) && total_order(a, b).is_eq()
}

/// The word of a value that needs no table.
pub fn direct(value: &Value) -> Option<Word> {
    match value {
        Value::Int(number) => u32::try_from(*number).ok().filter(|number| *number < SMALL_END),
        Value::Vertex(vertex) => {
            u32::try_from(vertex.0).ok().filter(|id| *id < SMALL_END).map(|id| id | VERTEX)
        }
        _ => None,
    }
}

impl Words {
    /// An empty table of at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Words {
        Words {
            values: Vec::new(),
            numbers: HashTable::new(),
            hasher: FixedState::default(),
            bytes: 0,
            bytes_max,
        }
    }
    /// Bytes of the values, and of the table that finds them.
    pub fn bytes(&self) -> usize {
        self.bytes + self.values.capacity() * size_of::<Value>() + self.numbers.allocation_size()
    }
    fn hash(&self, value: &Value) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hash_value(value, &mut hasher);
        hasher.finish()
    }
    /// The word of a value.
    ///
    /// # Errors
    /// There are too many values.
    pub fn word(&mut self, value: &Value) -> Result<Word, RulesError> {
        if let Some(word) = direct(value) {
            return Ok(word);
        }
        let hash = self.hash(value);
        if let Some(number) = self.numbers.find(hash, |number| is_same(&self.values[*number as usize], value))
        {
            return Ok(*number | TABLE);
        }
        if self.values.len() >= VALUES_MAX {
            return Err(RulesError::TooLarge { what: "the number of different values", limit: VALUES_MAX });
        }
        let behind = value.heap_bytes();
        if self.bytes() + VALUE_BYTES + behind > self.bytes_max {
            return Err(out_of_memory(self.bytes_max));
        }
        self.bytes += behind;
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        let (values, hasher) = (&self.values, &self.hasher);
        self.numbers.insert_unique(hash, number, |number| {
            let mut state = hasher.build_hasher();
            hash_value(&values[*number as usize], &mut state);
            state.finish()
        });
        Ok(number | TABLE)
    }
    /// The word of a vertex.
    ///
    /// # Errors
    /// There are too many values.
    #[inline]
    pub fn vertex(&mut self, vertex: VertexId) -> Result<Word, RulesError> {
        match u32::try_from(vertex.0) {
            Ok(id) if id < SMALL_END => Ok(id | VERTEX),
            _ => self.word(&Value::Vertex(vertex)),
        }
    }
    /// The vertex of a word, if it is a vertex.
    #[inline]
    pub fn as_vertex(&self, word: Word) -> Option<VertexId> {
        if word & (TABLE | VERTEX) == VERTEX {
            return Some(VertexId(u64::from(word & !VERTEX)));
        }
        match self.value(word) {
            Value::Vertex(vertex) => Some(vertex),
            _ => None,
        }
    }
    /// The word of a value, if there is one already.
    pub fn known(&self, value: &Value) -> Option<Word> {
        direct(value).or_else(|| {
            let hash = self.hash(value);
            let found = self.numbers.find(hash, |number| is_same(&self.values[*number as usize], value));
            found.map(|number| *number | TABLE)
        })
    }
    /// The value of a word.
    pub fn value(&self, word: Word) -> Value {
        match word {
            _ if word & TABLE != 0 => self.values[(word & !TABLE) as usize].clone(),
            _ if word & VERTEX != 0 => Value::Vertex(VertexId(u64::from(word & !VERTEX))),
            _ => Value::Int(i64::from(word)),
        }
    }
    /// The number of a word, if it is a small number.
    #[inline]
    pub(crate) fn small(word: Word) -> Option<i64> {
        (word < SMALL_END).then_some(i64::from(word))
    }
}
