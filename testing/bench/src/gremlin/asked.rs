//! Traversals parsed with their bindings, and their answers as numbers or rows.

use crate::banyan::told;
use database::gremlin::{GremlinOptions, Script};
use database::{Params, Session, Value};
use gremlin::{Argument, Bindings, Object, Predicate, Request};
use serde_json::Value as Json;

/// Years in which persons may be born: the parts of a date are no numbers to Gremlin, so a period of each year is asked for.
const BIRTH_YEARS: std::ops::Range<i64> = 1_970..2_006;
const DAY_MS: i64 = 86_400_000;

/// Runs a text, as a server runs scripts.
pub(super) fn ask(session: &mut Session, text: &str, bindings: &Bindings) -> Result<Vec<Object>, String> {
    let options = GremlinOptions::default();
    let answer = match session.gremlin_script(text, bindings, &options).map_err(told)? {
        Script::Answer(ended) => ended.answer,
        Script::Requests(mut requests) => match requests.pop() {
            Some(Request::Traversal(traversal, _)) => session.gremlin(&traversal, &options).map_err(told)?,
            _ => return Err("the text is no traversal".into()),
        },
    };
    answer.all().map_err(told)
}

/// Parameters as bindings.
pub(super) fn bindings(params: &Params) -> Bindings {
    let object = |value: &Value| match value {
        Value::Int(number) => Object::Long(*number),
        Value::String(text) => Object::String(text.clone()),
        _ => Object::Null,
    };
    params.iter().map(|(name, value)| (name.to_string(), Argument::Value(object(value)))).collect()
}

/// Likewise for a query of the interactive workload.
pub(super) fn bound(query: &str, params: &Params) -> Bindings {
    let mut bound = bindings(params);
    if let ("IC10", Some(Value::Int(month))) = (query, params.get("month")) {
        bound.insert("birthdays".into(), Argument::Predicate(birthdays(*month)));
    }
    bound
}

/// From the 21st of a month up to the 22nd of the next, of every year.
fn birthdays(month: i64) -> Predicate {
    let of = |year: i64| {
        let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        Predicate::Between(
            Object::Long(days_from_epoch(year, month, 21) * DAY_MS),
            Object::Long(days_from_epoch(next_year, next, 22) * DAY_MS),
        )
    };
    let years = BIRTH_YEARS.map(of);
    years.reduce(Predicate::or).unwrap_or_else(|| Predicate::Within(Vec::new()))
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// Objects as whole numbers.
pub(super) fn numbers(objects: &[Object]) -> Result<Vec<i64>, String> {
    objects
        .iter()
        .map(|object| object.as_long().ok_or_else(|| format!("{object} is no whole number")))
        .collect()
}

/// Maps as rows, in the order of their keys.
pub(super) fn rows(objects: &[Object]) -> Vec<Vec<Json>> {
    objects
        .iter()
        .map(|object| match plain(object) {
            Json::Array(cells) => cells,
            cell => vec![cell],
        })
        .collect()
}

fn plain(object: &Object) -> Json {
    match object {
        Object::Null => Json::Null,
        Object::Bool(truth) => Json::from(*truth),
        Object::Double(number) if number.fract() == 0.0 => Json::from(*number as i64),
        Object::Double(number) => Json::from(*number),
        Object::String(text) => Json::from(&**text),
        Object::List(elements) | Object::Set(elements) => Json::Array(elements.iter().map(plain).collect()),
        Object::Map(pairs) => Json::Array(pairs.iter().map(|(_, value)| plain(value)).collect()),
        other => other.as_long().map_or_else(|| Json::from(other.to_string()), Json::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text in which a name stands for a number; which one changes nothing of how it is said.
    fn is_lowered(text: &str) -> bool {
        let names = [
            "personId",
            "firstName",
            "countryXName",
            "countryYName",
            "startDate",
            "endDate",
            "minDate",
            "maxDate",
            "tagName",
            "countryName",
            "workFromYear",
            "tagClassName",
        ];
        let mut given: Bindings =
            names.iter().map(|name| (name.to_string(), Argument::Value(Object::Long(7)))).collect();
        given.insert("birthdays".into(), Argument::Predicate(birthdays(3)));
        match gremlin::parse(text, &given).expect("a text of the bench").pop() {
            Some(Request::Traversal(traversal, _)) => gremlin::lower(&traversal).is_some(),
            _ => false,
        }
    }

    #[test]
    fn the_algebra_can_say_every_traversal_of_the_bench() {
        let all = super::super::APPENDIX.iter().chain(super::super::INTERACTIVE);
        let left: Vec<&str> = all.filter(|(_, text)| !is_lowered(text)).map(|(name, _)| *name).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        assert_eq!((days_from_epoch(1970, 1, 1), days_from_epoch(2000, 3, 1)), (0, 11_017));
    }
}
