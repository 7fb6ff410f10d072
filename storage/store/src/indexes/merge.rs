//! Merges a run and a delta into the next run, within a commit that others wait for.
//!
//! Idea: the delta is small and sorted, so it is walked, and the entries between its own are copied in slices. Cost: a gallop for each delta entry,
//! and one copy of the run's arrays (12 bytes an entry where keys are integers). Runs whose keys change their kind are built anew by
//! [`IndexRun::build`], the slow twin of this file.

use crate::chunks::column::TextRun;
use crate::indexes::run::{Entry, IndexKey, IndexRun, RUN_TEXT_BYTES_MAX, RunKeys};
use model::Value;
use std::ops::Range;

/// One step of a merge.
enum Step<'a> {
    Keep(Range<usize>),
    Insert(&'a Entry),
}

/// The run without `removed` and with `added`, both sorted; `None` where the new run is empty or its keys would be of
/// another kind.
pub(crate) fn merged<'a>(
    run: &IndexRun,
    added: impl Iterator<Item = &'a Entry>,
    removed: impl Iterator<Item = &'a Entry>,
) -> Option<IndexRun> {
    let steps = steps(run, added, removed);
    if steps.is_empty() {
        return None;
    }
    let keys = match &run.keys {
        RunKeys::Int(keys) => RunKeys::Int(merged_ints(keys, &steps)?),
        RunKeys::Text(keys) => RunKeys::Text(merged_texts(keys, &steps)?),
        RunKeys::Any(keys) => RunKeys::Any(merged_keys(keys, &steps)?),
    };
    let mut vertices = Vec::with_capacity(length(&steps));
    for step in &steps {
        match step {
            Step::Keep(range) => vertices.extend_from_slice(&run.vertices[range.clone()]),
            Step::Insert(entry) => vertices.push(entry.vertex),
        }
    }
    Some(IndexRun::new(keys, vertices.into()))
}

fn steps<'a>(
    run: &IndexRun,
    added: impl Iterator<Item = &'a Entry>,
    removed: impl Iterator<Item = &'a Entry>,
) -> Vec<Step<'a>> {
    let (mut added, mut removed) = (added.peekable(), removed.peekable());
    let (mut steps, mut done) = (Vec::new(), 0);
    let mut keep = |steps: &mut Vec<Step<'a>>, end: usize, next: usize| {
        if done < end {
            steps.push(Step::Keep(done..end));
        }
        done = next;
    };
    let mut position = 0;
    loop {
        let add_first = match (added.peek(), removed.peek()) {
            (Some(new), Some(gone)) => new < gone,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => break,
        };
        if add_first {
            let entry = added.next().expect("it was peeked at");
            position = gallop(run, position, entry);
            keep(&mut steps, position, position);
            steps.push(Step::Insert(entry));
        } else {
            let entry = removed.next().expect("it was peeked at");
            position = gallop(run, position, entry);
            if position < run.len() && run.order_to(position, entry).is_eq() {
                keep(&mut steps, position, position + 1);
                position += 1;
            }
        }
    }
    keep(&mut steps, run.len(), run.len());
    steps
}

/// First position from `from` on that is not before `entry`: doubling steps, then a binary search in the last one.
fn gallop(run: &IndexRun, from: usize, entry: &Entry) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step <= run.len() && run.order_to(low + step - 1, entry).is_lt() {
        low += step;
        step *= 2;
    }
    let mut high = (low + step - 1).min(run.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if run.order_to(middle, entry).is_lt() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn length(steps: &[Step<'_>]) -> usize {
    let one = |step: &Step<'_>| if let Step::Keep(range) = step { range.len() } else { 1 };
    steps.iter().map(one).sum()
}

fn merged_ints(keys: &[i64], steps: &[Step<'_>]) -> Option<Box<[i64]>> {
    let mut merged = Vec::with_capacity(length(steps));
    for step in steps {
        match step {
            Step::Keep(range) => merged.extend_from_slice(&keys[range.clone()]),
            Step::Insert(Entry { key: IndexKey::One(Value::Int(key)), .. }) => merged.push(*key),
            Step::Insert(_) => return None,
        }
    }
    Some(merged.into())
}

fn merged_texts(keys: &TextRun, steps: &[Step<'_>]) -> Option<TextRun> {
    let (mut bytes, mut ends) = (String::with_capacity(keys.bytes.len()), Vec::with_capacity(length(steps)));
    for step in steps {
        match step {
            Step::Keep(range) => {
                let start = if range.start == 0 { 0 } else { keys.ends[range.start - 1] };
                let new_start = u32::try_from(bytes.len()).ok()?;
                bytes.push_str(&keys.bytes[start as usize..keys.ends[range.end - 1] as usize]);
                if bytes.len() > RUN_TEXT_BYTES_MAX {
                    return None;
                }
                ends.extend(keys.ends[range.clone()].iter().map(|end| end - start + new_start));
            }
            Step::Insert(Entry { key: IndexKey::One(Value::String(text)), .. }) => {
                bytes.push_str(text);
                ends.push(u32::try_from(bytes.len()).ok()?);
            }
            Step::Insert(_) => return None,
        }
    }
    Some(TextRun { ends: ends.into(), bytes: bytes.into() })
}

/// Keys of several values stay as they are; mixed single values may have become all of one type, so they are built anew.
fn merged_keys(keys: &[IndexKey], steps: &[Step<'_>]) -> Option<Box<[IndexKey]>> {
    let mut merged = Vec::with_capacity(length(steps));
    for step in steps {
        match step {
            Step::Keep(range) => merged.extend_from_slice(&keys[range.clone()]),
            Step::Insert(entry) => merged.push(entry.key.clone()),
        }
    }
    let several = |key: &IndexKey| matches!(key, IndexKey::Many(_));
    (!merged.is_empty() && merged.iter().all(several)).then(|| merged.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::disallowed_types)]
    use super::*;
    use std::collections::BTreeSet;

    fn key(kind: u64, number: u64) -> IndexKey {
        let (int, text) = (Value::Int(number as i64 % 40), Value::string(format!("{}ü", number % 40)));
        match kind {
            0 => IndexKey::One(int),
            1 => IndexKey::One(text),
            2 => IndexKey::new(&[int, text]),
            _ => IndexKey::One(if number.is_multiple_of(5) { text } else { int }),
        }
    }

    /// Against the slow twin, for every kind of key and every size of run and delta, the empty ones too.
    #[test]
    fn a_merged_run_is_the_run_built_anew() {
        let mut state = 20261121u64;
        let mut chance = |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % bound
        };
        let (mut merges, mut refusals) = (0, 0);
        for round in 0..2000 {
            let kind = chance(4);
            let size = [0, 1, 10, 200][chance(4) as usize];
            let all: BTreeSet<Entry> = (0..size)
                .map(|_| Entry { key: key(kind, chance(1000)), vertex: chance(50) as u32 })
                .collect();
            let removed: BTreeSet<Entry> = all.iter().filter(|_| chance(6) == 0).cloned().collect();
            let new = (0..[0, 1, 30][chance(3) as usize])
                .map(|_| Entry { key: key(kind, chance(1000)), vertex: chance(50) as u32 });
            let added: BTreeSet<Entry> = new.filter(|entry| !all.contains(entry)).collect();
            let run = IndexRun::build(all.iter().cloned().collect());
            let twin = IndexRun::build(all.difference(&removed).chain(&added).cloned().collect());
            match merged(&run, added.iter(), removed.iter()) {
                None => refusals += 1,
                Some(found) => {
                    merges += 1;
                    assert_eq!(format!("{found:?}"), format!("{twin:?}"), "round {round}");
                }
            }
        }
        assert!(merges > 1000 && refusals > 100, "{merges} merges, {refusals} refusals");
    }
}
