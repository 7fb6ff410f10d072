//! Distances of vertices from a source.
//!
//! Idea: a byte a vertex, in memory that an earlier search left clean, and what little was touched is cleared one by one. Where too much
//! of that is lent already, or the graph is too large for it, a hash map, which turns into bytes when it would cost as much.
//! Distances that do not fit widen all. Invariant: a stored number is distance + 1, so that clean memory says "not found".
//! Cost: as said; no search notices the change.

use crate::spare::BYTES;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Below this bound a byte a vertex is always cheap.
const DENSE_BOUND_MAX: u32 = 1 << 16;
/// A map entry costs about sixteen bytes.
const SPARSE_SHARE: u32 = 16;
/// Bytes that one search borrows at most.
const LENT_BOUND_MAX: u32 = 1 << 24;
/// Touched bytes are cleared one by one where they are at most one in so many.
const CLEARED_SHARE: usize = 64;

enum Form {
    /// Borrowed bytes, and what was touched of them, unless that is too much.
    Lent {
        bytes: Vec<u8>,
        touched: Vec<u32>,
    },
    Sparse(HashMap<u32, u32, FixedState>),
    Narrow(Vec<u8>),
    Wide(Vec<u32>),
}

/// Distance by vertex.
pub struct Distances {
    bound: u32,
    count: u32,
    form: Form,
}

impl Distances {
    /// Nothing found yet among vertices below `vertex_bound`.
    pub fn new(vertex_bound: u32) -> Distances {
        let fits = vertex_bound <= LENT_BOUND_MAX;
        let form = match fits.then(|| BYTES.take_if_free(vertex_bound as usize)).flatten() {
            Some(bytes) => Form::Lent { bytes, touched: Vec::new() },
            None if vertex_bound <= DENSE_BOUND_MAX => Form::Narrow(vec![0; vertex_bound as usize]),
            None => Form::Sparse(HashMap::default()),
        };
        Distances { bound: vertex_bound, count: 0, form }
    }

    /// The distance of `vertex`, if found.
    #[inline]
    pub fn get(&self, vertex: u32) -> Option<u32> {
        match &self.form {
            Form::Lent { bytes, .. } | Form::Narrow(bytes) => (bytes[vertex as usize] as u32).checked_sub(1),
            Form::Sparse(map) => map.get(&vertex).copied(),
            Form::Wide(words) => words[vertex as usize].checked_sub(1),
        }
    }

    /// How many vertices have a distance.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Notes the distance of a vertex that has none.
    #[inline]
    pub fn insert(&mut self, vertex: u32, distance: u32) {
        debug_assert!(self.get(vertex).is_none());
        self.count += 1;
        match &mut self.form {
            Form::Lent { bytes, touched } if distance < u8::MAX as u32 => {
                bytes[vertex as usize] = distance as u8 + 1;
                if touched.len() * CLEARED_SHARE <= bytes.len() {
                    touched.push(vertex);
                }
            }
            Form::Narrow(bytes) if distance < u8::MAX as u32 => bytes[vertex as usize] = distance as u8 + 1,
            Form::Wide(words) => words[vertex as usize] = distance + 1,
            _ => self.insert_slow(vertex, distance),
        }
    }

    /// Returns the borrowed memory.
    fn give_back(&mut self) {
        if let Form::Lent { bytes, touched } = &mut self.form {
            let mut bytes = std::mem::take(bytes);
            match touched.len() * CLEARED_SHARE <= bytes.len() {
                true => touched.iter().for_each(|vertex| bytes[*vertex as usize] = 0),
                false => bytes.fill(0),
            }
            BYTES.give_lent(bytes);
        }
    }

    #[cold]
    fn insert_slow(&mut self, vertex: u32, distance: u32) {
        match &mut self.form {
            Form::Lent { bytes, .. } => {
                let mut words: Vec<u32> = bytes.iter().map(|&byte| byte as u32).collect();
                words[vertex as usize] = distance + 1;
                self.give_back();
                self.form = Form::Wide(words);
            }
            Form::Sparse(map) => {
                map.insert(vertex, distance);
                if self.count >= self.bound / SPARSE_SHARE {
                    self.densify();
                }
            }
            Form::Narrow(bytes) => {
                let mut words: Vec<u32> = bytes.iter().map(|&byte| byte as u32).collect();
                words[vertex as usize] = distance + 1;
                self.form = Form::Wide(words);
            }
            Form::Wide(_) => unreachable!("the fast path handles wide distances"),
        }
    }

    fn densify(&mut self) {
        let Form::Sparse(map) = &self.form else { return };
        let fits = map.values().all(|&distance| distance < u8::MAX as u32);
        self.form = if fits {
            let mut bytes = vec![0; self.bound as usize];
            map.iter().for_each(|(&vertex, &distance)| bytes[vertex as usize] = distance as u8 + 1);
            Form::Narrow(bytes)
        } else {
            let mut words = vec![0; self.bound as usize];
            map.iter().for_each(|(&vertex, &distance)| words[vertex as usize] = distance + 1);
            Form::Wide(words)
        };
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::Sparse(map) => map.capacity() * 9,
            Form::Lent { bytes, touched } => bytes.capacity() + touched.capacity() * 4,
            Form::Narrow(bytes) => bytes.capacity(),
            Form::Wide(words) => words.capacity() * 4,
        }
    }
}

impl Drop for Distances {
    fn drop(&mut self) {
        self.give_back();
    }
}
