//! Components of instants over a column (`datetime({epochMillis: n.created}).year`, `n.date.month`): the instants are never made, nor are values.

use super::operand::Operand;
use crate::functions::time;
use crate::node::Node;
use model::temporal::{Component, Kind};
use model::{Column, ColumnBuilder, Value};
use plan::Function;

/// An instant that is told as a number of units since the beginning of 1970, in UTC.
pub(super) struct Epoch<'a> {
    pub units: &'a Node,
    units_a_day: i64,
}

/// The number, if the expression makes an instant of it alone.
pub(super) fn epoch(instant: &Node) -> Option<Epoch<'_>> {
    const SECONDS_A_DAY: i64 = 86_400;
    const MILLIS_A_DAY: i64 = 86_400_000;
    let Node::Call(function, arguments) = instant else { return None };
    let (units, units_a_day) = match arguments.as_slice() {
        [Node::Map(fields)] if time::constructor(*function) == Some(Kind::DateTime) => {
            let [(name, units)] = fields.as_slice() else { return None };
            match &**name {
                "epochMillis" => (units, MILLIS_A_DAY),
                "epochSeconds" => (units, SECONDS_A_DAY),
                _ => return None,
            }
        }
        [millis] if *function == Function::DateTimeFromEpochMillis => (millis, MILLIS_A_DAY),
        _ => return None,
    };
    Some(Epoch { units, units_a_day })
}

impl Epoch<'_> {
    /// A component of each instant; none where a row has no number, or one too far away.
    pub(super) fn components(
        &self,
        units: &Operand<'_>,
        component: Component,
        rows: usize,
    ) -> Option<Column> {
        let Column::Int(numbers, nulls) = units.column() else { return None };
        let mut found = ColumnBuilder::new();
        for at in (0..rows).map(|row| units.at(row)) {
            match nulls.contains(at) {
                true => found.push(Value::Null),
                false => found.push_integer(component.of_epoch(numbers[at], self.units_a_day)?),
            }
        }
        Some(found.finish())
    }
}

/// A component of each date of a column; none where it is not one of dates, or dates do not have it.
pub(super) fn of_dates(dates: &Operand<'_>, component: Component, rows: usize) -> Option<Column> {
    let Column::Any(values) = dates.column() else { return None };
    let mut found = ColumnBuilder::new();
    for at in (0..rows).map(|row| dates.at(row)) {
        match &values[at] {
            Value::Null => found.push(Value::Null),
            Value::Date(date) => found.push_integer(component.of_date(*date)?),
            _ => return None,
        }
    }
    Some(found.finish())
}
