//! The least or greatest values of many groups: 16 bytes each while they are numbers. Twin: one aggregator a group.

use super::sum::keep_extreme;
use crate::segments::Segments;
use model::batch::Carried;
use model::{Column, ColumnBuilder, Value};
use plan::AggregateFunction;
use std::ops::Range;

/// One group.
#[derive(Clone, Debug, Default)]
enum Extreme {
    /// No value came.
    #[default]
    Nothing,
    Integer(i64),
    /// Not NaN, which is greater than all.
    Float(f64),
    Other(Box<Value>),
}

impl Extreme {
    fn take(&mut self) -> Option<Value> {
        match std::mem::take(self) {
            Extreme::Nothing => None,
            Extreme::Integer(int) => Some(Value::Int(int)),
            Extreme::Float(float) => Some(Value::Float(float)),
            Extreme::Other(value) => Some(*value),
        }
    }
    fn of(value: Option<Value>) -> Extreme {
        match value {
            None => Extreme::Nothing,
            Some(Value::Int(int)) => Extreme::Integer(int),
            Some(Value::Float(float)) if !float.is_nan() => Extreme::Float(float),
            Some(value) => Extreme::Other(Box::new(value)),
        }
    }
    fn heap_bytes(&self) -> usize {
        match self {
            Extreme::Other(value) => size_of::<Value>() + value.heap_bytes(),
            _ => 0,
        }
    }
}

/// The answers of one call of `min` or `max` so far, by group.
#[derive(Clone, Debug)]
pub struct Extremes {
    smallest: bool,
    held: Segments<Extreme>,
    heap_bytes: usize,
}

impl Extremes {
    /// For `min` or `max`, without groups.
    pub fn new(function: AggregateFunction) -> Extremes {
        let smallest = function == AggregateFunction::Min;
        Extremes { smallest, held: Segments::default(), heap_bytes: 0 }
    }
    /// Adds groups, up to `groups` in all.
    pub fn grow_to(&mut self, groups: usize) {
        self.held.grow_to(groups, Extreme::default);
    }
    /// Bytes held, as charged to a query's budget.
    pub fn bytes(&self) -> usize {
        self.held.bytes() + self.heap_bytes
    }
    /// Takes each batch row into its group; all into the first where no groups are given.
    pub fn update(&mut self, argument: &Carried, groups: Option<&[u32]>, rows: usize) {
        let group = |row: usize| groups.map_or(0, |groups| groups[row] as usize);
        let smallest = self.smallest;
        match argument.column() {
            Column::Int(values, nulls) if nulls.is_empty() => {
                for row in 0..rows {
                    let (value, group) = (values[argument.at(row)], group(row));
                    match &mut self.held[group] {
                        Extreme::Integer(held) => {
                            *held = if smallest { value.min(*held) } else { value.max(*held) }
                        }
                        held @ Extreme::Nothing => *held = Extreme::Integer(value),
                        _ => self.add(group, Value::Int(value)),
                    }
                }
            }
            Column::Float(values, nulls) if nulls.is_empty() => {
                for row in 0..rows {
                    let (value, group) = (values[argument.at(row)], group(row));
                    match &mut self.held[group] {
                        Extreme::Float(held) if !value.is_nan() => {
                            if if smallest { value < *held } else { value > *held } {
                                *held = value;
                            }
                        }
                        _ => self.add(group, Value::Float(value)),
                    }
                }
            }
            Column::Constant(value, _) if groups.is_none() => {
                if rows > 0 && !value.is_null() {
                    self.add(0, value.clone());
                }
            }
            _ => {
                for row in (0..rows).filter(|row| !argument.is_null(*row)) {
                    self.add(group(row), argument.get(row));
                }
            }
        }
    }
    fn add(&mut self, group: usize, value: Value) {
        let held = &mut self.held[group];
        let before = held.heap_bytes();
        let mut best = held.take();
        keep_extreme(&mut best, value, self.smallest);
        *held = Extreme::of(best);
        self.heap_bytes = self.heap_bytes + held.heap_bytes() - before;
    }
    /// Moves as many of the other's groups, from its end, as `groups` has numbers for, into this one.
    pub fn merge(&mut self, other: &mut Extremes, groups: &[u32]) {
        for group in groups.iter().rev() {
            let Some(mut theirs) = other.held.pop() else { break };
            other.heap_bytes -= theirs.heap_bytes();
            theirs.take().into_iter().for_each(|value| self.add(*group as usize, value));
        }
    }
    /// The answers of these groups.
    pub fn column(&self, groups: Range<usize>) -> Column {
        let mut column = ColumnBuilder::new();
        for group in groups {
            match &self.held[group] {
                Extreme::Integer(int) => column.push_integer(*int),
                Extreme::Float(float) => column.push_float(*float),
                Extreme::Nothing => column.push(Value::Null),
                Extreme::Other(value) => column.push((**value).clone()),
            }
        }
        column.finish()
    }
}
