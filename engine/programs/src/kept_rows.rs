//! Rows of a cached result, in compact form.
//!
//! Idea: many programs give few different values to many vertices, such as the number of steps in which each is reached. Such rows are grouped by
//! value, and the vertices of a group are a list or a bitmap, whichever is smaller. Invariant: the same rows come out as went in, though not in the
//! same order. Cost: to store them, lists are sorted; to return them, rows are written once.

use crate::vertex_values::{TypedValues, VertexValues};
use model::Value;

/// Vertices, each once in a map of bits.
enum VertexSet {
    List(Box<[u32]>),
    /// The vertex of the first bit, and the bits.
    Bits(u32, Box<[u64]>),
}

/// Bits of a word.
const WORD: u32 = u64::BITS;

impl VertexSet {
    /// In the smaller form; duplicates need a list.
    fn of(mut vertices: Vec<u32>) -> VertexSet {
        if let Some(bits) = VertexSet::as_bits(&vertices) {
            return bits;
        }
        vertices.sort_unstable();
        VertexSet::List(vertices.into())
    }
    /// As bits, if these take less than a list and no vertex is there twice. No order is needed for that.
    fn as_bits(vertices: &[u32]) -> Option<VertexSet> {
        let (least, most) = (vertices.iter().min()?, vertices.iter().max()?);
        let first = least - least % WORD;
        let words = ((most - first) / WORD + 1) as usize;
        if words * size_of::<u64>() >= size_of_val(vertices) {
            return None;
        }
        let mut bits = vec![0_u64; words];
        for vertex in vertices {
            let (word, bit) = (&mut bits[((vertex - first) / WORD) as usize], 1 << ((vertex - first) % WORD));
            if *word & bit != 0 {
                return None;
            }
            *word |= bit;
        }
        Some(VertexSet::Bits(first, bits.into()))
    }
    fn bytes(&self) -> usize {
        match self {
            VertexSet::List(list) => size_of_val(&**list),
            VertexSet::Bits(_, words) => size_of_val(&**words),
        }
    }
    fn write(&self, into: &mut Vec<u32>) {
        into.clear();
        match self {
            VertexSet::List(list) => into.extend_from_slice(list),
            VertexSet::Bits(first, words) => {
                for (at, word) in words.iter().enumerate() {
                    let (from, mut left) = (first + at as u32 * WORD, *word);
                    while left != 0 {
                        into.push(from + left.trailing_zeros());
                        left &= left - 1;
                    }
                }
            }
        }
    }
}

enum KeptForm {
    Rows(VertexValues),
    ByValue(Box<[(Value, VertexSet)]>),
}

/// Rows that are kept.
pub struct KeptRows {
    form: KeptForm,
    bytes: usize,
}

impl KeptRows {
    pub(crate) fn of(rows: VertexValues) -> KeptRows {
        let form = match rows.values {
            TypedValues::Nulls(_) => KeptForm::ByValue([(Value::Null, VertexSet::of(rows.vertices))].into()),
            TypedValues::Ints(values) if values.iter().all(|value| u8::try_from(*value).is_ok()) => {
                let mut groups = vec![Vec::new(); usize::from(u8::MAX) + 1];
                for (vertex, value) in rows.vertices.iter().zip(values) {
                    groups[value as usize].push(*vertex);
                }
                let groups = groups.into_iter().enumerate().filter(|(_, vertices)| !vertices.is_empty());
                let group = |(value, vertices)| (Value::Int(value as i64), VertexSet::of(vertices));
                KeptForm::ByValue(groups.map(group).collect())
            }
            values => KeptForm::Rows(VertexValues { values, ..rows }.compact()),
        };
        let group_bytes = size_of::<(Value, VertexSet)>();
        let bytes = match &form {
            KeptForm::Rows(rows) => rows.all_bytes(),
            KeptForm::ByValue(groups) => groups.iter().map(|(_, set)| group_bytes + set.bytes()).sum(),
        };
        KeptRows { form, bytes }
    }
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    /// All rows.
    pub fn rows(&self) -> VertexValues {
        match &self.form {
            KeptForm::Rows(rows) => rows.clone(),
            KeptForm::ByValue(groups) => {
                let (mut rows, mut vertices) = (VertexValues::default(), Vec::new());
                for (value, set) in groups {
                    set.write(&mut vertices);
                    rows.push_copies(&vertices, value);
                }
                rows
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of few values and of many, of vertices near and far, some twice: the same come out.
    #[test]
    fn the_same_rows_come_out() {
        let mut chance = world::chance::Chance::seeded(29);
        for round in 0..300 {
            let (count, span) = (chance.below(200), [50, 1_000, u64::from(u32::MAX)][round % 3]);
            let values = [1, 3, 400][chance.index(3)];
            let mut rows = VertexValues::default();
            for _ in 0..count {
                let value = match (round % 4, chance.below(values)) {
                    (0, _) => Value::Null,
                    (1, value) => Value::Float(value as f64),
                    (2, value) if value % 7 == 6 => Value::string("six"),
                    (_, value) => Value::Int(value as i64),
                };
                rows.push(chance.below(span) as u32, value);
            }
            let told = |rows: &VertexValues| {
                let mut told: Vec<String> = (0..rows.len()).map(|at| format!("{:?}", rows.get(at))).collect();
                told.sort_unstable();
                told
            };
            let kept = KeptRows::of(rows.clone());
            assert_eq!(told(&kept.rows()), told(&rows));
            assert!(kept.bytes() <= rows.all_bytes() + 256 * size_of::<(Value, VertexSet)>());
        }
        // Some thousand vertices that are near each other, in two groups.
        let mut rows = VertexValues::default();
        (0..8_000_u32).for_each(|vertex| rows.push(vertex, Value::Int(i64::from(vertex % 2))));
        assert!(KeptRows::of(rows).bytes() < 2_200);
    }
}
