//! Values that GraphSON has no form for, in a form of their own that other readers take for a map of one entry.
//!
//! Dates, local times, times with a zone's name, durations of months or days, and points are a map whose only key names the type, such as
//! `{"tanglewood:date": "2024-02-29"}`. Invariant: [`to_value`] is the inverse of [`to_object`].

use crate::answer::stored_value;
use gremlin::{Instant, Object};
use model::Value;
use model::temporal::build::{Kind, duration_from_text, from_text};
use model::value::Point;
use std::sync::Arc;

/// The prefix of the only key of such a map.
const MARK: &str = "tanglewood:";
const INSTANTS: [(&str, Kind); 5] = [
    ("date", Kind::Date),
    ("localtime", Kind::LocalTime),
    ("time", Kind::Time),
    ("localdatetime", Kind::LocalDateTime),
    ("datetime", Kind::DateTime),
];

/// A value as an object; none where its text would be read as another one.
pub(crate) fn to_object(value: &Value, is_wide: bool) -> Option<Object> {
    let name = match value {
        Value::List(list) => {
            let elements = list.iter().map(|element| to_object(element, is_wide));
            return Some(Object::list(elements.collect::<Option<_>>()?));
        }
        Value::Point(point) => {
            let coordinates = [Some(point.x), Some(point.y), point.z].into_iter().flatten();
            let text: String = coordinates.map(|coordinate| format!(" {coordinate:?}")).collect();
            return Some(marked("point", format!("{}{text}", point.srid)));
        }
        Value::DateTime(_) => {
            let object = stored_value::read(value, is_wide);
            let text = model::temporal::text(&stored_value::to_value(&object)?)?;
            let is_read = Instant::parse(&text).is_some_and(|read| same(&read.to_value(), value));
            if is_read {
                return Some(object);
            }
            "datetime"
        }
        Value::Duration(span) if span.months == 0 && span.days == 0 => {
            return Some(stored_value::read(value, is_wide));
        }
        Value::Duration(_) => "duration",
        Value::Date(_) => "date",
        Value::LocalTime(_) => "localtime",
        Value::Time(_) => "time",
        Value::LocalDateTime(_) => "localdatetime",
        value => return Some(stored_value::read(value, is_wide)),
    };
    let object = marked(name, model::temporal::text(value)?);
    to_value(&object).is_some_and(|read| same(&read, value)).then_some(object)
}

/// The value of such an object, or of a list of such objects; none where it is another.
pub(crate) fn to_value(object: &Object) -> Option<Value> {
    match object {
        Object::Map(pairs) => match pairs.as_slice() {
            [(Object::String(name), Object::String(text))] => read(name.strip_prefix(MARK)?, text),
            _ => None,
        },
        Object::List(elements) if elements.iter().any(|element| to_value(element).is_some()) => {
            let held =
                elements.iter().map(|element| to_value(element).or_else(|| stored_value::to_value(element)));
            Value::try_list(held.collect::<Option<Vec<_>>>()?).ok()
        }
        _ => None,
    }
}

fn same(one: &Value, other: &Value) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

fn marked(name: &str, text: String) -> Object {
    Object::map(vec![(Object::string(format!("{MARK}{name}")), Object::string(text))])
}

fn read(name: &str, text: &str) -> Option<Value> {
    if let Some((_, kind)) = INSTANTS.iter().find(|(known, _)| *known == name) {
        return from_text(*kind, text).ok();
    }
    match name {
        "duration" => duration_from_text(text).map(Value::from).ok(),
        "point" => point(text),
        _ => None,
    }
}

fn point(text: &str) -> Option<Value> {
    let (srid, coordinates) = text.split_once(' ')?;
    let srid: u32 = srid.parse().ok()?;
    let coordinates: Option<Vec<f64>> = coordinates.split(' ').map(|text| text.parse().ok()).collect();
    let (x, y, z) = match (srid, coordinates?.as_slice()) {
        (7203 | 4326, [x, y]) => (*x, *y, None),
        (9157 | 4979, [x, y, z]) => (*x, *y, Some(*z)),
        _ => return None,
    };
    Some(Value::Point(Arc::new(Point { srid, x, y, z })))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values with and without a form of their own, alone and in lists of lists.
    #[test]
    fn what_is_written_is_read_as_the_same_value() {
        let instants = [
            (Kind::Date, "2024-02-29"),
            (Kind::LocalTime, "12:31:14.645876123"),
            (Kind::Time, "23:59:59.999999999-12:00"),
            (Kind::LocalDateTime, "-0044-03-15T00:00:00"),
            (Kind::DateTime, "1984-10-11T12:31:14.645876123+01:00[Europe/Stockholm]"),
            (Kind::DateTime, "2024-01-01T00:00:00Z"),
        ];
        let mut values: Vec<Value> =
            instants.iter().map(|(kind, text)| from_text(*kind, text).unwrap()).collect();
        for text in ["P1Y2M3DT4H5M6.789S", "PT5S", "P-3M"] {
            values.push(duration_from_text(text).map(Value::from).unwrap());
        }
        for (srid, z) in [(7203, None), (4326, None), (9157, Some(-0.5)), (4979, Some(1e300))] {
            values.push(Value::Point(Arc::new(Point { srid, x: 0.1, y: -1e-9, z })));
        }
        values.extend([Value::Int(1 << 40), Value::string("tanglewood:date"), Value::Bool(true)]);
        let lists: Vec<Value> = (0..values.len())
            .map(|at| {
                Value::list(vec![
                    values[at].clone(),
                    Value::Int(1 << 40),
                    Value::list(vec![values[at].clone()]),
                ])
            })
            .collect();
        for value in values.iter().chain(&lists) {
            let object = to_object(value, true).unwrap_or_else(|| panic!("{value:?} has a form"));
            let read = to_value(&object).or_else(|| stored_value::to_value(&object)).unwrap();
            assert!(same(&read, value), "{value:?} is read as {read:?}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        let map = |key: &str, text: &str| Object::map(vec![(Object::string(key), Object::string(text))]);
        for (key, text) in [
            ("tanglewood:date", "no date"),
            ("tanglewood:point", "7203 1"),
            ("tanglewood:point", "9157 1 2"),
            ("tanglewood:point", "4326 1 2 3"),
            ("tanglewood:point", "1 1 2"),
            ("tanglewood:duration", "1"),
            ("tanglewood:unheard", "1"),
            ("date", "2024-02-29"),
        ] {
            assert!(to_value(&map(key, text)).is_none(), "{key} of {text}");
        }
        assert!(to_value(&Object::list(vec![Object::Int(1), Object::string("a")])).is_none());
        assert!(to_value(&Object::Null).is_none());
    }
}
