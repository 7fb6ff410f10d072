//! Deltas as the newest row of each key: the envelope for readers that keep a table of their own.

use crate::StandingError;
use crate::row::Row;
use crate::subscription::Column;
use crate::table::{HashMap, HashSet};

/// The change of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Upsert {
    /// This is its row now.
    Upsert(Row),
    /// It has no row any more. The columns of the key, in their order.
    Delete(Row),
    /// It has more than one row: it is no key. The columns of the key, in their order.
    KeyViolation(Row),
}

/// Turns the events of one subscription into upserts. It keeps the rows it has seen, shared with the query's own answer. For a subscription without
/// snapshot it needs the rows that were there before, see [`crate::Subscription::take_base`]; else it misses that a key has two of them.
pub struct Upserts {
    key: Vec<usize>,
    live: HashMap<Row, HashMap<Row, isize>>,
}

impl Upserts {
    /// Keyed by the columns of these names.
    ///
    /// # Errors
    /// There is no such column, or none is named.
    pub fn new(columns: &[Column], key: &[impl AsRef<str>]) -> Result<Upserts, StandingError> {
        let place = |name: &str| {
            let column = columns.iter().find(|column| &*column.title == name);
            column.map(|column| column.at).ok_or_else(|| StandingError::NoSuchColumn {
                name: name.to_string(),
                known: columns.iter().map(|column| column.title.to_string()).collect(),
            })
        };
        let key = key.iter().map(|name| place(name.as_ref())).collect::<Result<Vec<_>, _>>()?;
        Ok(Upserts { key, live: HashMap::default() })
    }
    /// Where the columns of the key stand in a [`Row`].
    pub fn key(&self) -> &[usize] {
        &self.key
    }
    /// Takes up the rows of one event; each key they speak of comes once.
    pub fn read(&mut self, rows: &[(Row, isize)]) -> Vec<Upsert> {
        let (mut touched, mut seen) = (Vec::new(), HashSet::default());
        for (row, diff) in rows {
            let key = row.pick(&self.key);
            let live = self.live.entry(key.clone()).or_default();
            let count = live.entry(row.clone()).or_insert(0);
            *count += diff;
            if *count <= 0 {
                live.remove(row);
            }
            if seen.insert(key.clone()) {
                touched.push(key);
            }
        }
        let told = touched.into_iter().map(|key| {
            let mut live = self.live.get(&key).into_iter().flatten();
            match (live.next(), live.next()) {
                (None, _) => {
                    self.live.remove(&key);
                    Upsert::Delete(key)
                }
                (Some((row, 1)), None) => Upsert::Upsert(row.clone()),
                _ => Upsert::KeyViolation(key),
            }
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    fn row(key: i64, value: i64) -> Row {
        Row::new([Value::Int(key), Value::Int(value)])
    }

    #[test]
    fn each_key_is_told_once() {
        let column = |title: &str, at| Column { title: title.into(), at, content: None };
        let columns = [column("k", 0), column("v", 1)];
        assert!(Upserts::new(&columns, &["nobody"]).is_err());
        let mut upserts = Upserts::new(&columns, &["k"]).expect("there is such a column");
        let key = |key: i64| Row::new([Value::Int(key)]);
        assert_eq!(upserts.read(&[(row(1, 1), 1)]), [Upsert::Upsert(row(1, 1))]);
        assert_eq!(upserts.read(&[(row(1, 1), -1), (row(1, 2), 1)]), [Upsert::Upsert(row(1, 2))]);
        assert_eq!(upserts.read(&[(row(1, 3), 1)]), [Upsert::KeyViolation(key(1))]);
        assert_eq!(upserts.read(&[(row(1, 2), -1)]), [Upsert::Upsert(row(1, 3))]);
        assert_eq!(
            upserts.read(&[(row(1, 3), -1), (row(2, 0), 2)]),
            [Upsert::Delete(key(1)), Upsert::KeyViolation(key(2))]
        );
        // One that was there before the subscriber came.
        assert_eq!(upserts.read(&[(row(9, 0), -1)]), [Upsert::Delete(key(9))]);
    }
}
