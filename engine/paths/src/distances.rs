//! How far each vertex is.
//!
//! Idea: start as a hash map, since most pair searches touch little of a large graph; turn into one byte a vertex when
//! the map would cost as much; widen when a distance does not fit. Invariant: a stored number is distance + 1, so that
//! fresh memory says "not found". Cost: as said; no search notices the change.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Below this bound a byte a vertex is always cheap.
const DENSE_BOUND_MAX: u32 = 1 << 16;
/// A map entry costs about sixteen bytes.
const SPARSE_SHARE: u32 = 16;

enum Form {
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
        let form = if vertex_bound <= DENSE_BOUND_MAX {
            Form::Narrow(vec![0; vertex_bound as usize])
        } else {
            Form::Sparse(HashMap::default())
        };
        Distances { bound: vertex_bound, count: 0, form }
    }

    /// The distance of `vertex`, if found.
    #[inline]
    pub fn get(&self, vertex: u32) -> Option<u32> {
        match &self.form {
            Form::Narrow(bytes) => (bytes[vertex as usize] as u32).checked_sub(1),
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
            Form::Narrow(bytes) if distance < u8::MAX as u32 => bytes[vertex as usize] = distance as u8 + 1,
            Form::Wide(words) => words[vertex as usize] = distance + 1,
            _ => self.insert_slow(vertex, distance),
        }
    }

    #[cold]
    fn insert_slow(&mut self, vertex: u32, distance: u32) {
        match &mut self.form {
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
            Form::Narrow(bytes) => bytes.capacity(),
            Form::Wide(words) => words.capacity() * 4,
        }
    }
}
