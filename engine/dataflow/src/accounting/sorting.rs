//! Sorting in steps, each short: a run at a time, then two and two merged until one is left. Between the steps other queries run, and a query that is
//! over ends (see [`watch`](super::watch)).

use super::watch::{LoopBytes, Stopped, spend};
use std::cmp::Ordering;

/// Values that are sorted in one go.
const RUN_VALUES: usize = 16 << 10;

/// Values that are merged in one go.
const VALUES_PER_LOOK: usize = 4_096;

/// Sorts values, those that are equal in the order in which they came. Holds them twice.
///
/// # Errors
/// The query is over, or has no bytes left.
pub fn sorted<T>(values: Vec<T>, order: impl Fn(&T, &T) -> Ordering) -> Result<Vec<T>, Stopped> {
    let mut hold = LoopBytes::default();
    hold.grow((values.len() * size_of::<T>()) as u64)?;
    let (mut runs, mut values) = (Vec::new(), values.into_iter().peekable());
    while values.peek().is_some() {
        let mut run: Vec<T> = values.by_ref().take(RUN_VALUES).collect();
        spend(run.len() as u64)?;
        run.sort_by(&order);
        runs.push(run);
    }
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(one) = pairs.next() {
            merged.push(match pairs.next() {
                Some(other) => merge(one, other, &order)?,
                None => one,
            });
        }
        runs = merged;
    }
    Ok(runs.pop().unwrap_or_default())
}

fn merge<T>(one: Vec<T>, other: Vec<T>, order: impl Fn(&T, &T) -> Ordering) -> Result<Vec<T>, Stopped> {
    let mut merged = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    loop {
        if merged.len().is_multiple_of(VALUES_PER_LOOK) {
            spend(VALUES_PER_LOOK as u64)?;
        }
        let next = match (one.peek(), other.peek()) {
            (Some(a), Some(b)) if order(a, b).is_le() => one.next(),
            (Some(_), None) => one.next(),
            _ => other.next(),
        };
        match next {
            Some(next) => merged.push(next),
            None => return Ok(merged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::watch::{Limited, enter};
    use super::*;
    use std::time::Duration;
    use world::chance::Chance;

    /// The obvious twin: the library's own sort.
    #[test]
    fn values_are_sorted_as_the_library_sorts_them() {
        let mut chance = Chance::seeded(7);
        for count in [0, 1, 2, RUN_VALUES - 1, RUN_VALUES, RUN_VALUES + 1, 3 * RUN_VALUES + 5] {
            let values: Vec<(u64, usize)> = (0..count).map(|at| (chance.below(100), at)).collect();
            let mut twin = values.clone();
            twin.sort_by_key(|value| value.0);
            assert_eq!(sorted(values, |a, b| a.0.cmp(&b.0)).unwrap(), twin, "{count}");
        }
    }

    #[test]
    fn sorting_ends_with_the_query() {
        let _entered = enter(Limited::new(Duration::ZERO, u64::MAX));
        assert!(sorted((0..1_000_000).rev().collect(), |a: &i64, b| a.cmp(b)).is_err());
    }
}
