//! Comparison of answers: as multisets of rows, numbers across their types.

use serde_json::Value as Json;

/// How far a float may be from another engine's, relative to its size: sums come in different orders.
const TOLERANCE: f64 = 1e-9;
/// Rows that a difference shows.
const ROWS_SHOWN_MAX: usize = 3;

/// Rows of an answer.
pub type Rows = Vec<Vec<Json>>;

/// Are these the same rows, in any order?
///
/// # Errors
/// What differs, in one line.
pub fn compare(found: &Rows, others: &Rows) -> Result<(), String> {
    if found.len() != others.len() {
        return Err(format!("{} rows, not {}", found.len(), others.len()));
    }
    let mut left: Vec<&Vec<Json>> = others.iter().collect();
    for row in found {
        let Some(at) = left.iter().position(|other| is_same_row(row, other)) else {
            left.truncate(ROWS_SHOWN_MAX);
            return Err(format!("{row:?} is not among {left:?}"));
        };
        // Both sides are nearly in the same order, so the first rows must stay first.
        left.remove(at);
    }
    Ok(())
}

fn is_same_row(found: &[Json], other: &[Json]) -> bool {
    found.len() == other.len() && found.iter().zip(other).all(|(found, other)| is_same(found, other))
}

/// Whole numbers are equal or not; a float is nearly equal to a number.
fn is_same(found: &Json, other: &Json) -> bool {
    match (found.as_i64(), other.as_i64(), found.as_f64(), other.as_f64()) {
        (Some(a), Some(b), ..) => a == b,
        (.., Some(a), Some(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()),
        _ => found == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(rows: Json) -> Rows {
        serde_json::from_value(rows).unwrap()
    }

    #[test]
    fn order_is_free_and_every_row_counts() {
        let found = rows(json!([[1, "a"], [1, "a"], [2, "b"]]));
        assert_eq!(compare(&found, &rows(json!([[2, "b"], [1, "a"], [1, "a"]]))), Ok(()));
        assert!(compare(&found, &rows(json!([[2, "b"], [2, "b"], [1, "a"]]))).is_err());
        assert_eq!(compare(&found, &rows(json!([[1, "a"]]))), Err("3 rows, not 1".into()));
    }

    #[test]
    fn floats_are_nearly_equal_and_ids_exactly() {
        assert_eq!(compare(&rows(json!([[0.1 + 0.2, 3]])), &rows(json!([[0.3, 3.0]]))), Ok(()));
        assert!(
            compare(&rows(json!([[32_985_348_834_375_i64]])), &rows(json!([[32_985_348_834_376_i64]])))
                .is_err()
        );
        assert_eq!(compare(&rows(json!([[0.0]])), &rows(json!([[0]]))), Ok(()));
    }
}
