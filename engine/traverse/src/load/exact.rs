//! Values that GraphSON has no form for, in a form of their own that other readers take for a map of one entry.
//!
//! Dates, local times, times with a zone's name, durations of months or days, and points are a map whose only key names the type, such as
//! `{"tanglewood:date": "2024-02-29"}`. Invariant: what [`to_object`] makes of a value, [`to_value`] makes the same value of.

use crate::answer::kept;
use gremlin::{Instant, Object};
use model::Value;
use model::temporal::build::{Kind, duration_from_text, from_text};
use model::value::Point;
use std::sync::Arc;

/// What the only key of such a map begins with.
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
            let object = kept::read(value, is_wide);
            let text = model::temporal::text(&kept::to_value(&object)?)?;
            let is_read = Instant::parse(&text).is_some_and(|read| same(&read.to_value(), value));
            if is_read {
                return Some(object);
            }
            "datetime"
        }
        Value::Duration(span) if span.months == 0 && span.days == 0 => {
            return Some(kept::read(value, is_wide));
        }
        Value::Duration(_) => "duration",
        Value::Date(_) => "date",
        Value::LocalTime(_) => "localtime",
        Value::Time(_) => "time",
        Value::LocalDateTime(_) => "localdatetime",
        value => return Some(kept::read(value, is_wide)),
    };
    let object = marked(name, model::temporal::text(value)?);
    to_value(&object).is_some_and(|read| same(&read, value)).then_some(object)
}

/// The value of such an object, or of a list with such objects in it; none where it is another.
pub(crate) fn to_value(object: &Object) -> Option<Value> {
    match object {
        Object::Map(pairs) => match pairs.as_slice() {
            [(Object::String(name), Object::String(text))] => read(name.strip_prefix(MARK)?, text),
            _ => None,
        },
        Object::List(elements) if elements.iter().any(|element| to_value(element).is_some()) => {
            let held = elements.iter().map(|element| to_value(element).or_else(|| kept::to_value(element)));
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
