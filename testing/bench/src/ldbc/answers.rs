//! Our rows in the form of the expected ones, and their comparison.
//!
//! Some expected rows come from a relational engine, where lists are joined into one text. Which forms differ, and how they are evened out:
//! - IC1: e-mail addresses and languages joined by `;`; universities and companies as `name|year|place` joined by `;`. Their order is
//!   not specified, so both sides are sorted; no university is null there, an empty list here;
//! - IC5: the forum's id, by which ties are ordered, is not among the expected columns;
//! - IC7: `isNew` may be 0 or 1; the latency is specified as whole minutes, but some engines keep the fraction: it is cut off;
//! - IC12: tag names joined by `;` in an order that is not specified;
//! - IC14: the path's persons joined by `;`; paths of equal weight in an order that is not specified.

use database::Value;
use serde_json::Value as Json;

/// Relative difference that two ways of computing one floating-point number may show.
const FLOAT_TOLERANCE: f64 = 1e-9;

/// Compares the rows with the expected ones.
///
/// # Errors
/// The first difference, as text.
pub fn compare(query: &str, found: &[Vec<Value>], expected: &[Vec<Json>]) -> Result<(), String> {
    compare_plain(query, found.iter().map(|row| row.iter().map(plain).collect()).collect(), expected)
}

/// Likewise for rows that are JSON already, as other engines' are.
///
/// # Errors
/// The first difference, for people.
pub fn compare_plain(query: &str, found: Vec<Vec<Json>>, expected: &[Vec<Json>]) -> Result<(), String> {
    let found = normal(query, found);
    let expected = normal(query, expected.to_vec());
    for (at, (ours, right)) in found.iter().zip(&expected).enumerate() {
        if ours.len() != right.len() || !ours.iter().zip(right).all(|(ours, right)| same(ours, right)) {
            return Err(format!("row {}: found {}, expected {}", at + 1, shown(ours), shown(right)));
        }
    }
    match (found.len(), expected.len()) {
        (found, expected) if found != expected => Err(format!("found {found} rows, expected {expected}")),
        _ => Ok(()),
    }
}

fn shown(row: &[Json]) -> String {
    row.iter().map(Json::to_string).collect::<Vec<_>>().join(" | ")
}

fn same(ours: &Json, right: &Json) -> bool {
    match (ours.as_f64(), right.as_f64()) {
        (Some(a), Some(b)) if ours.is_f64() || right.is_f64() => {
            (a - b).abs() <= FLOAT_TOLERANCE * a.abs().max(b.abs())
        }
        _ => ours == right,
    }
}

/// A value as JSON. Entities do not occur in answers of this workload.
pub fn plain(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::String(text) => Json::from(&**text),
        Value::List(items) => Json::Array(items.iter().map(plain).collect()),
        other => Json::String(format!("{other:?}")),
    }
}

/// Brings rows of either side into the one form that is compared.
fn normal(query: &str, mut rows: Vec<Vec<Json>>) -> Vec<Vec<Json>> {
    for row in &mut rows {
        row.iter_mut().for_each(|cell| join_list(cell, ";"));
        match query {
            "IC1" => row.iter_mut().skip(8).filter(|cell| cell.is_string()).for_each(sort_parts),
            "IC5" => row.truncate(2),
            "IC12" => row.iter_mut().skip(3).take(1).for_each(sort_parts),
            "IC7" => {
                row.iter_mut().skip(6).take(1).for_each(whole_number);
                row.iter_mut().skip(7).for_each(truth_as_number);
            }
            _ => {}
        }
    }
    if query == "IC14" {
        let weight = |row: &Vec<Json>| row.get(1).and_then(Json::as_f64).unwrap_or(f64::NAN);
        let path = |row: &Vec<Json>| row.first().map(Json::to_string);
        rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| path(a).cmp(&path(b))));
    }
    rows
}

/// `[["a", 1], ["b", 2]]` becomes `a|1;b|2`; the empty list becomes null.
fn join_list(cell: &mut Json, between: &str) {
    let Json::Array(items) = cell else { return };
    if items.is_empty() {
        *cell = Json::Null;
        return;
    }
    let parts = items.iter_mut().map(|item| {
        join_list(item, "|");
        item.as_str().map_or_else(|| item.to_string(), str::to_string)
    });
    *cell = Json::String(parts.collect::<Vec<_>>().join(between));
}

fn sort_parts(cell: &mut Json) {
    if let Json::String(text) = cell {
        let mut parts: Vec<&str> = text.split(';').collect();
        parts.sort_unstable();
        *cell = Json::String(parts.join(";"));
    }
}

fn whole_number(cell: &mut Json) {
    if let Some(number) = cell.as_f64() {
        *cell = Json::from(number.floor() as i64);
    }
}

fn truth_as_number(cell: &mut Json) {
    if let Json::Bool(truth) = cell {
        *cell = Json::from(i64::from(*truth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(cells: Json) -> Vec<Json> {
        cells.as_array().cloned().expect("an array is given")
    }

    #[test]
    fn lists_are_joined_and_sorted_where_their_order_is_free() {
        let ours = vec![vec![
            Value::Int(1),
            "a".into(),
            "b".into(),
            Value::list(vec!["y".into(), "x".into()]),
            Value::Int(2),
        ]];
        assert_eq!(compare("IC12", &ours, &[row(json!([1, "a", "b", "x;y", 2]))]), Ok(()));
        assert!(compare("IC11", &ours, &[row(json!([1, "a", "b", "x;y", 2]))]).is_err());
    }

    #[test]
    fn nested_lists_get_bars_and_floats_a_tolerance() {
        let mut cell = json!([["West_Air", 2007, "Iceland"], ["Fly", 1, "X"]]);
        join_list(&mut cell, ";");
        assert_eq!(cell, json!("West_Air|2007|Iceland;Fly|1|X"));
        assert!(
            same(&json!(0.1 + 0.2), &json!(0.3))
                && same(&json!(2.0), &json!(2))
                && !same(&json!(2), &json!(3))
        );
        assert!(!same(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64)));
    }

    #[test]
    fn paths_of_equal_weight_come_in_any_order_and_missing_rows_are_told() {
        let path = |ids: &[i64], weight| {
            vec![Value::list(ids.iter().map(|id| Value::Int(*id)).collect()), Value::Float(weight)]
        };
        let right = [row(json!(["1;2;3", 1.5])), row(json!(["1;4;3", 1.5]))];
        assert_eq!(compare("IC14", &[path(&[1, 4, 3], 1.5), path(&[1, 2, 3], 1.5)], &right), Ok(()));
        let short = compare("IC14", &[path(&[1, 2, 3], 1.5)], &right);
        assert_eq!(short, Err("found 1 rows, expected 2".into()));
    }
}
