//! Arrow's types and values as properties.
//!
//! Times keep their unit's digits; a decimal is refused unless a type is given for its column, since a float would lose digits; a struct gives columns of
//! its own (`address.city`); a list of values of one simple type is a list, and any other list, or a map, is kept as its text of JSON.

use crate::export::tables::ColumnKind;
use crate::staging::{RowColumn, as_text, simple_list};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};
use model::temporal::build::{Kind as Instant, at_instant, duration_from_text, from_text};
use model::temporal::{Date, LocalDateTime, LocalTime, Zone};
use model::{Value, ValueType};
use std::sync::Arc;

/// Nesting of structs whose columns are found.
const DEPTH_MAX: usize = 40;
const DAY_MILLIS: i64 = 86_400_000;

/// A column by the names that lead to it through structs.
pub(super) struct LeafColumn {
    pub path: Vec<usize>,
    pub column: RowColumn,
    pub data_type: DataType,
    pub is_long: bool,
}

/// The value type of a dictionary or of runs.
pub(super) fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        other => other,
    }
}

/// May a column hold whole numbers of 64 bits without a sign?
pub(super) fn is_unsigned(data_type: &DataType) -> bool {
    *plain(data_type) == DataType::UInt64
}

/// Does it hold a value beyond a signed number?
pub(super) fn holds_long(array: &ArrayRef) -> bool {
    (0..array.len()).any(|row| matches!(value(array, row), Ok(Value::String(_))))
}

/// The columns of a schema, those inside structs by the names that lead to them.
pub(super) fn leaves(schema: &Schema, found: &mut Vec<LeafColumn>) {
    for (at, field) in schema.fields().iter().enumerate() {
        add(field, field.name().clone(), vec![at], found);
    }
}

fn add(field: &Field, name: String, path: Vec<usize>, found: &mut Vec<LeafColumn>) {
    match field.data_type() {
        DataType::Struct(fields) if path.len() < DEPTH_MAX => {
            for (at, inner) in fields.iter().enumerate() {
                let path = path.iter().copied().chain([at]).collect();
                add(inner, format!("{name}.{}", inner.name()), path, found);
            }
        }
        data_type => {
            let mut column = RowColumn::new(name, kind_of(data_type));
            column.refused = refusal(data_type);
            found.push(LeafColumn { path, column, data_type: data_type.clone(), is_long: false });
        }
    }
}

fn kind_of(data_type: &DataType) -> ColumnKind {
    ColumnKind::One(match plain(data_type) {
        DataType::Boolean => "boolean",
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64 => "int",
        DataType::Float16 | DataType::Float32 | DataType::Float64 => "float",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Time32(_) | DataType::Time64(_) => "localtime",
        DataType::Timestamp(_, None) => "localdatetime",
        DataType::Timestamp(_, Some(_)) => "datetime",
        DataType::Duration(_) | DataType::Interval(_) => "duration",
        DataType::Null
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => "string",
        _ => return ColumnKind::Any,
    })
}

fn refusal(data_type: &DataType) -> Option<String> {
    let plain = plain(data_type);
    match plain {
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            Some("decimals have no type of their own here; a mapping says what becomes of them: { type = \"string\" } keeps all digits, { type = \"float\" } does not".to_string())
        }
        DataType::Union(..) => Some("values of a union have no type of their own; leave the column out with a mapping".into()),
        _ => None,
    }
}

/// The arrays that lead to a column, from the outermost struct to itself.
pub(super) fn follow(batch: &RecordBatch, path: &[usize]) -> Vec<ArrayRef> {
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(path.len());
    for at in path {
        let next = match arrays.last() {
            None => batch.column(*at).clone(),
            Some(array) => match array.as_any().downcast_ref::<StructArray>() {
                Some(array) => array.column(*at).clone(),
                None => return arrays,
            },
        };
        arrays.push(next);
    }
    arrays
}

/// The value of a row as a property; a text where all of the column must be one.
pub(super) fn property(
    array: &ArrayRef,
    data_type: &DataType,
    row: usize,
    is_long: bool,
) -> Result<Value, String> {
    let found = value(array, row)?;
    if is_long && let Value::Int(int) = found {
        return Ok(Value::from(int.to_string()));
    }
    match plain(data_type) {
        DataType::Union(..) => Ok(Value::Null),
        _ => as_property(found),
    }
}

fn as_property(found: Value) -> Result<Value, String> {
    match &found {
        Value::List(list) => match simple_list(list.as_slice().to_vec()) {
            Some(list) => Ok(list),
            None => as_text(&found).map(Value::from),
        },
        Value::Map(_) => as_text(&found).map(Value::from),
        _ => Ok(found),
    }
}

/// Elements of lists counted between two charges.
const ELEMENTS_PER_LOOK: usize = 4_096;
/// Bytes that a value takes in a list or a map, with its place in the vector that it is collected in.
const ELEMENT_BYTES: u64 = 64;

/// Adds the bytes that the value of a row will take, without making it; `hold` is called now and then.
///
/// # Errors
/// Errors of `hold`.
pub(super) fn count_bytes(
    array: &dyn Array,
    row: usize,
    bytes: &mut u64,
    hold: &mut dyn FnMut(u64) -> Result<(), String>,
) -> Result<(), String> {
    *bytes += ELEMENT_BYTES;
    if array.is_null(row) {
        return Ok(());
    }
    let items = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).len(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).len(),
        DataType::Utf8View => array.as_string_view().value(row).len(),
        DataType::Binary => array.as_binary::<i32>().value(row).len(),
        DataType::LargeBinary => array.as_binary::<i64>().value(row).len(),
        DataType::BinaryView => array.as_binary_view().value(row).len(),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row).len(),
        DataType::List(_) => return count_items(&array.as_list::<i32>().value(row), bytes, hold),
        DataType::LargeList(_) => return count_items(&array.as_list::<i64>().value(row), bytes, hold),
        DataType::FixedSizeList(..) => {
            return count_items(&array.as_fixed_size_list().value(row), bytes, hold);
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            return entries.columns().iter().try_for_each(|column| count_items(column, bytes, hold));
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            return columns.into_iter().try_for_each(|column| count_bytes(column, row, bytes, hold));
        }
        _ => 0,
    };
    *bytes += items as u64;
    Ok(())
}

fn count_items(
    items: &ArrayRef,
    bytes: &mut u64,
    hold: &mut dyn FnMut(u64) -> Result<(), String>,
) -> Result<(), String> {
    for at in 0..items.len() {
        count_bytes(items, at, bytes, hold)?;
        if at % ELEMENTS_PER_LOOK == 0 {
            hold(*bytes)?;
        }
    }
    Ok(())
}

/// The value of a row.
pub(super) fn value(array: &dyn Array, row: usize) -> Result<Value, String> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Value::Int(array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => Value::Int(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => Value::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt8 => Value::Int(array.as_primitive::<UInt8Type>().value(row).into()),
        DataType::UInt16 => Value::Int(array.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt32 => Value::Int(array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt64 => {
            let held = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(held).map_or_else(|_| Value::from(held.to_string()), Value::Int)
        }
        DataType::Float16 => Value::Float(array.as_primitive::<Float16Type>().value(row).to_f64()),
        DataType::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Value::string(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Value::string(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Value::string(array.as_string_view().value(row)),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).into()),
        DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).into()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(row).into()),
        DataType::FixedSizeBinary(_) => Value::Bytes(array.as_fixed_size_binary().value(row).into()),
        DataType::Decimal32(..) => Value::from(array.as_primitive::<Decimal32Type>().value_as_string(row)),
        DataType::Decimal64(..) => Value::from(array.as_primitive::<Decimal64Type>().value_as_string(row)),
        DataType::Decimal128(..) => Value::from(array.as_primitive::<Decimal128Type>().value_as_string(row)),
        DataType::Decimal256(..) => Value::from(array.as_primitive::<Decimal256Type>().value_as_string(row)),
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => return encoded(array, row),
        DataType::List(_) => return list(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => return list(&array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => return list(&array.as_fixed_size_list().value(row)),
        DataType::Map(..) => return map(&array.as_map().value(row)),
        DataType::Struct(fields) => {
            let held = array.as_struct();
            let entries = fields.iter().zip(held.columns());
            let entries =
                entries.map(|(field, column)| Ok((field.name().as_str().into(), value(column, row)?)));
            let entries: Vec<(Arc<str>, Value)> = entries.collect::<Result<_, String>>()?;
            return Value::try_map(entries).map_err(|error| error.to_string());
        }
        DataType::Union(..) => Value::Null,
        _ => return temporal(array, row),
    })
}

/// The value at a row of a dictionary, or of runs.
fn encoded(array: &dyn Array, row: usize) -> Result<Value, String> {
    macro_rules! dictionaries {
        ($($key:ty),*) => {
            $(if let Some(dictionary) = array.as_any().downcast_ref::<arrow_array::DictionaryArray<$key>>() {
                return dictionary.key(row).map_or(Ok(Value::Null), |key| value(dictionary.values(), key));
            })*
        };
    }
    dictionaries!(Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type);
    macro_rules! runs {
        ($($index:ty),*) => {
            $(if let Some(runs) = array.as_any().downcast_ref::<arrow_array::RunArray<$index>>() {
                return value(runs.values(), runs.get_physical_index(row));
            })*
        };
    }
    runs!(Int16Type, Int32Type, Int64Type);
    Err("its encoding is not known".into())
}

fn list(items: &ArrayRef) -> Result<Value, String> {
    let items = (0..items.len()).map(|at| value(items, at)).collect::<Result<Vec<_>, _>>()?;
    Value::try_list(items).map_err(|error| error.to_string())
}

/// Names of a map that are no texts are written as they are shown.
fn map(entries: &StructArray) -> Result<Value, String> {
    let [names, held] = entries.columns() else { return Err("a map has names and values".into()) };
    let name = |at: usize| -> Result<Arc<str>, String> {
        Ok(match value(names, at)? {
            Value::String(text) => text,
            other => as_text(&other)?.into(),
        })
    };
    let entries = (0..entries.len()).map(|at| Ok((name(at)?, value(held, at)?)));
    let entries: Vec<(Arc<str>, Value)> = entries.collect::<Result<_, String>>()?;
    Value::try_map(entries).map_err(|error| error.to_string())
}

/// Parts of a second in a unit, and nanoseconds of one.
fn scale(unit: &TimeUnit) -> (i64, i64) {
    match unit {
        TimeUnit::Second => (1, 1_000_000_000),
        TimeUnit::Millisecond => (1_000, 1_000_000),
        TimeUnit::Microsecond => (1_000_000, 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, 1),
    }
}

/// Whole seconds and nanoseconds of `units` units.
fn split(units: i64, unit: &TimeUnit) -> (i64, u32) {
    let (parts, nanos) = scale(unit);
    (units.div_euclid(parts), (units.rem_euclid(parts) * nanos) as u32)
}

/// The number of a row, in its unit.
fn units(array: &dyn Array, row: usize) -> Result<i64, String> {
    macro_rules! units {
        ($($kind:ty),*) => {
            $(if let Some(array) = array.as_primitive_opt::<$kind>() {
                return Ok(i64::from(array.value(row)));
            })*
        };
    }
    units!(
        Date32Type,
        Date64Type,
        Time32SecondType,
        Time32MillisecondType,
        Time64MicrosecondType,
        Time64NanosecondType
    );
    units!(TimestampSecondType, TimestampMillisecondType, TimestampMicrosecondType, TimestampNanosecondType);
    units!(DurationSecondType, DurationMillisecondType, DurationMicrosecondType, DurationNanosecondType);
    Err(format!("values of the type {} are not read", array.data_type()))
}

/// A value that its text parses back to, so that dates beyond the calendar are refused.
fn checked(value: Value) -> Result<Value, String> {
    let text = model::temporal::text(&value).ok_or("it is no time")?;
    let read = match value.value_type() {
        ValueType::Date => from_text(Instant::Date, &text),
        ValueType::LocalDateTime => from_text(Instant::LocalDateTime, &text),
        ValueType::LocalTime => from_text(Instant::LocalTime, &text),
        ValueType::DateTime => from_text(Instant::DateTime, &text),
        _ => duration_from_text(&text).map(Value::from),
    };
    read.map(|_| value).map_err(|_| format!("`{text}` is beyond the calendar"))
}

fn temporal(array: &dyn Array, row: usize) -> Result<Value, String> {
    if let DataType::Interval(unit) = array.data_type() {
        return interval(array, unit, row);
    }
    let count = units(array, row)?;
    checked(match array.data_type() {
        DataType::Date32 => Value::Date(Date { days: count }),
        DataType::Date64 => Value::Date(Date { days: count.div_euclid(DAY_MILLIS) }),
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let (_, nanos) = scale(unit);
            let nanos = count.checked_mul(nanos).and_then(|nanos| u64::try_from(nanos).ok());
            let nanos = nanos
                .filter(|nanos| *nanos < DAY_MILLIS as u64 * 1_000_000)
                .ok_or("the time is beyond a day")?;
            Value::LocalTime(LocalTime { nanos })
        }
        DataType::Timestamp(unit, None) => {
            let (seconds, nanos) = split(count, unit);
            Value::LocalDateTime(LocalDateTime { seconds, nanos })
        }
        DataType::Timestamp(unit, Some(zone)) => {
            let (seconds, nanos) = split(count, unit);
            let zone = if &**zone == "UTC" { Zone::parse("Z") } else { Zone::parse(zone) };
            let zone = zone.map_err(|error| error.to_string())?;
            at_instant(Instant::DateTime, seconds, nanos, &zone).map_err(|error| error.to_string())?
        }
        DataType::Duration(unit) => {
            let (seconds, nanos) = split(count, unit);
            Value::Duration(Arc::new(model::temporal::Duration { months: 0, days: 0, seconds, nanos }))
        }
        other => return Err(format!("values of the type {other} are not read")),
    })
}

fn interval(array: &dyn Array, unit: &IntervalUnit, row: usize) -> Result<Value, String> {
    let (months, days, nanos) = match unit {
        IntervalUnit::YearMonth => (array.as_primitive::<IntervalYearMonthType>().value(row), 0, 0),
        IntervalUnit::DayTime => {
            let held = array.as_primitive::<IntervalDayTimeType>().value(row);
            (0, held.days, i64::from(held.milliseconds) * 1_000_000)
        }
        IntervalUnit::MonthDayNano => {
            let held = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            (held.months, held.days, held.nanoseconds)
        }
    };
    let (seconds, nanos) = split(nanos, &TimeUnit::Nanosecond);
    let (months, days) = (months.into(), days.into());
    Ok(Value::Duration(Arc::new(model::temporal::Duration { months, days, seconds, nanos })))
}
