//! CASE over many rows: each condition is evaluated on the rows for which no earlier one held, and each value is computed for its own rows alone.

use super::operand::Rows;
use crate::error::EvalError;
use crate::metered;
use crate::node::Node;
use dataflow::watch::LoopBytes;
use model::column::{LONG_TEXT_BYTES, Texts};
use model::{Batch, Column, ColumnBuilder, Nulls, Value};
use std::sync::Arc;

/// Values of some rows, in order.
struct ArmValues {
    rows: Vec<u32>,
    values: Column,
}

/// The values of a CASE without an operand. `narrow` keeps the rows for which a condition is true; `values_of` gives the values of some rows.
pub(super) fn column(
    (arms, otherwise): (&[(Node, Node)], Option<&Node>),
    batch: &Batch,
    rows: Rows<'_>,
    narrow: impl Fn(&Node, &mut Vec<u32>) -> Result<(), EvalError>,
    values_of: impl Fn(&Node, Rows<'_>) -> Result<Column, EvalError>,
) -> Result<Column, EvalError> {
    metered::elements(rows.len())?;
    let mut left: Vec<u32> = (0..rows.len()).map(|row| rows.get(row) as u32).collect();
    let (mut parts, mut hold) = (Vec::with_capacity(arms.len() + 1), LoopBytes::default());
    for (when, then) in arms {
        if left.is_empty() {
            break;
        }
        let mut hits = left.clone();
        narrow(when, &mut hits)?;
        if hits.is_empty() {
            continue;
        }
        let mut found = hits.iter().peekable();
        left.retain(|row| found.next_if(|hit| *hit == row).is_none());
        let values = values_of(then, Rows::Some(&hits))?;
        metered::keep_column(&mut hold, &values)?;
        parts.push(ArmValues { rows: hits, values });
    }
    if !left.is_empty() {
        let values = match otherwise {
            Some(otherwise) => values_of(otherwise, Rows::Some(&left))?,
            None => Column::Constant(Value::Null, left.len()),
        };
        parts.push(ArmValues { rows: left, values });
    }
    // By batch row: which part has it.
    let mut part_of = vec![0; batch.len()];
    for (number, part) in parts.iter().enumerate() {
        part.rows.iter().for_each(|row| part_of[*row as usize] = number);
    }
    let mut next = vec![0; parts.len()];
    let of_row = (0..rows.len()).map(|row| {
        let part = part_of[rows.get(row)];
        next[part] += 1;
        (part, next[part] - 1)
    });
    let of_row: Vec<(usize, usize)> = of_row.collect();
    Ok(few_texts(&parts, &of_row).unwrap_or_else(|| put_together(&parts, &of_row)))
}

/// Where each part is one text, rows are codes.
fn few_texts(parts: &[ArmValues], of_row: &[(usize, usize)]) -> Option<Column> {
    let mut dictionary = Texts::default();
    for part in parts {
        match &part.values {
            Column::Constant(Value::String(text), _) if text.len() <= LONG_TEXT_BYTES => {
                dictionary.push(text)
            }
            _ => return None,
        }
    }
    u16::try_from(parts.len()).ok()?;
    let codes = of_row.iter().map(|(part, _)| *part as u16).collect();
    Some(Column::Text(Texts::from_codes(Arc::new(dictionary), codes), Nulls::none()))
}

fn put_together(parts: &[ArmValues], of_row: &[(usize, usize)]) -> Column {
    let mut column = ColumnBuilder::new();
    for (part, row) in of_row {
        match &parts[*part].values {
            Column::Int(values, nulls) if nulls.is_empty() => column.push_integer(values[*row]),
            Column::Float(values, nulls) if nulls.is_empty() => column.push_float(values[*row]),
            Column::Text(texts, nulls) if nulls.is_empty() => column.push_text(texts.get(*row)),
            Column::Constant(Value::Int(integer), _) => column.push_integer(*integer),
            Column::Constant(Value::Float(float), _) => column.push_float(*float),
            Column::Constant(Value::String(text), _) => column.push_text(text),
            values => column.push(values.get(*row)),
        }
    }
    column.finish()
}
