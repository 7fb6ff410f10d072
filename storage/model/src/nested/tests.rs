//! Limits of nested values, below, at and above; and that every walk fits a small stack at the limit.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;
use crate::compare::{equals, hash_value, total_order};

fn nested(
    depth: usize,
    mut wrap: impl FnMut(Value) -> Result<Value, ValueTooLarge>,
) -> Result<Value, ValueTooLarge> {
    (0..depth).try_fold(Value::Int(1), |value, _| wrap(value))
}

#[test]
fn nesting_ends_at_the_limit() {
    let list = |value| Value::try_list(vec![value]);
    let map = |value| Value::try_map([("a", value)]);
    for wrap in [&list as &dyn Fn(Value) -> Result<Value, ValueTooLarge>, &map] {
        assert!(nested(VALUE_DEPTH_MAX, wrap).is_ok());
        assert_eq!(nested(VALUE_DEPTH_MAX + 1, wrap).unwrap_err(), ValueTooLarge::Deep);
    }
}

#[test]
fn doubling_a_value_ends_at_the_limit() {
    let twice = |value: Value| Value::try_list(vec![value.clone(), value]);
    assert!(nested(25, twice).is_ok());
    assert_eq!(nested(60, twice).unwrap_err(), ValueTooLarge::Wide);
}

#[test]
fn a_value_is_equal_to_itself_unless_something_in_it_is_unknown() {
    for (part, expected) in
        [(Value::Int(1), Some(true)), (Value::Null, None), (Value::Float(f64::NAN), Some(false))]
    {
        let value = nested(20, |value| Value::try_list(vec![value.clone(), value, part.clone()])).unwrap();
        assert_eq!(equals(&value, &value), expected);
        assert!(total_order(&value, &value).is_eq());
    }
}

#[test]
fn the_bytes_of_a_list_grow_with_what_it_holds() {
    let text = Value::string("x".repeat(1000));
    let list = Value::list(vec![text.clone(), text]);
    assert!((2000..2200).contains(&list.heap_bytes()), "{}", list.heap_bytes());
}

#[test]
fn every_walk_at_the_limit_fits_a_small_stack() {
    let walk = || {
        let mut at = 0;
        let mut mixed = |value: Value| {
            at += 1;
            if at % 2 == 0 { Value::try_list(vec![value]) } else { Value::try_map([("a", value)]) }
        };
        let (a, b) =
            (nested(VALUE_DEPTH_MAX, &mut mixed).unwrap(), nested(VALUE_DEPTH_MAX, &mut mixed).unwrap());
        assert_eq!(equals(&a, &b), Some(true));
        assert!(total_order(&a, &b).is_eq());
        hash_value(&a, &mut std::collections::hash_map::DefaultHasher::new());
        assert!(!format!("{a:?}").is_empty());
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(walk).unwrap().join().unwrap();
}
