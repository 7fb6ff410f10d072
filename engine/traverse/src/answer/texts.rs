//! Texts that were asked before, with their plans: such a text is neither parsed nor planned again.
//!
//! Idea: what a text asks depends on its bindings only through the constants of its traversal (see [`gremlin::shape`]), if the bindings
//! stand nowhere else. Whether that is so is found out once, by parsing the text a second time with other values of the same kinds: where
//! the two traversals are of one shape, a constant that changed is the binding whose other value it took. From then on the plan's
//! parameters are filled from the bindings. Kept is the text itself, so that a hash that two texts share misleads nobody; and that a text
//! is not worth it with such bindings is kept too. Neither is for good: when bindings are not served for the 1st, 2nd, 4th, 8th, … time,
//! what is kept gives way to what the text is found to be with these. So a text whose kinds of bindings alternate is not found out anew
//! each time, and one that began with a rare kind is served soon. Cost of a look-up: one hash of the text, and a look at each binding that
//! is used.

use super::outcome::Params;
use super::planned::PlannedTraversal;
use execute::{PLAN_TEXT_BYTES_MAX, PLANS_MAX};
use gremlin::shape::{self, Constant};
use gremlin::{Argument, Bindings, Object, Request, Terminal, Traversal};
use hashbrown::HashMap;
use model::Value;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use store::Snapshot;

/// A text with more bindings is not worth keeping.
const BINDINGS_MAX: usize = 64;
/// Nor one that would keep more bytes of its bindings: their names, and the values it is kept for alone.
const BINDING_BYTES_MAX: usize = 4 * 1024;

/// Where a constant comes from.
enum Source {
    Text(Value),
    Binding(String, Kind),
}

/// What must agree of two values for them to be constants of one shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    /// Less than 0: no number of a vertex.
    Negative,
    /// 0 and 1 are part of some shapes.
    Small,
    Whole,
    Double,
    Text,
}

/// A text that is one traversal.
struct KeptText {
    text: Arc<str>,
    /// None where its bindings are more than constants, or the algebra cannot say it.
    known: Option<Arc<Known>>,
    /// How often it was asked with bindings that what is known does not serve.
    missed: AtomicU32,
}

/// What is known of it.
pub struct Known {
    /// The text.
    pub text: Arc<str>,
    /// The plan of its traversal.
    pub plan: PlannedTraversal,
    /// How it ends.
    pub terminal: Terminal,
    /// What `with()` says of its time, in milliseconds.
    pub timeout_ms: Option<i64>,
    sources: Vec<Source>,
    /// Bindings that were not tried with other values: it is this traversal with these alone.
    fixed: Vec<(String, Argument)>,
    /// All bindings: one more could stand for a name of the text.
    names: Vec<String>,
}

/// Texts that were asked; all are forgotten when there are too many.
#[derive(Default)]
pub struct Texts {
    kept: Mutex<HashMap<u64, Arc<KeptText>, foldhash::fast::RandomState>>,
}

/// What is known of a text asked anew.
pub enum TextOutcome {
    /// Its plan, with these parameters.
    Planned(Arc<Known>, Params),
    /// It is better parsed.
    Parsed,
    /// What it is should be found out: it was not asked before, or not with such bindings.
    New,
}

fn hash(text: &str) -> u64 {
    foldhash::fast::FixedState::default().hash_one(text)
}

impl Texts {
    /// Looks for a text.
    pub fn get(&self, text: &str, bindings: &Bindings, snapshot: &Snapshot) -> TextOutcome {
        let Some(kept) = self.kept.lock().get(&hash(text)).cloned().filter(|kept| *kept.text == *text) else {
            return TextOutcome::New;
        };
        let Some(known) = &kept.known else { return kept.misses() };
        if known.fixed.iter().any(|(name, value)| bindings.get(name).is_some_and(|given| given != value)) {
            return kept.misses();
        }
        match known.params(bindings) {
            Some(_) if !known.plan.is_fresh(snapshot) => TextOutcome::New,
            Some(params) => TextOutcome::Planned(known.clone(), params),
            None => kept.misses(),
        }
    }
    /// Keeps what a text was found to be.
    pub fn put(&self, text: &str, known: Option<Known>) {
        if text.len() > PLAN_TEXT_BYTES_MAX {
            return;
        }
        let (mut kept, hash) = (self.kept.lock(), hash(text));
        let before = kept.get(&hash).filter(|before| *before.text == *text);
        let missed = before.map_or(0, |before| before.missed.load(Ordering::Relaxed)).into();
        if kept.len() >= PLANS_MAX {
            kept.clear();
        }
        let known = known.map(Arc::new);
        let text = known.as_ref().map_or_else(|| text.into(), |known| known.text.clone());
        kept.insert(hash, Arc::new(KeptText { text, known, missed }));
    }
}

impl KeptText {
    /// It was asked with bindings that are not served.
    fn misses(&self) -> TextOutcome {
        let times = self.missed.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if times.is_power_of_two() { TextOutcome::New } else { TextOutcome::Parsed }
    }
}

impl Known {
    /// What a traversal, parsed from the text with these bindings, is whatever values of their kinds they have; none where it is not that.
    pub fn of(
        text: &str,
        bindings: &Bindings,
        (traversal, terminal): (&Traversal, Terminal),
        plan: PlannedTraversal,
    ) -> Option<Known> {
        if bindings.len() > BINDINGS_MAX {
            return None;
        }
        let others = others(bindings);
        let is_fixed = |(name, _): &(&String, &Argument)| !others.iter().any(|(known, ..)| known == name);
        let fixed: Vec<_> = bindings.iter().filter(is_fixed).collect();
        let names: usize = bindings.keys().map(String::len).sum();
        if names + fixed.iter().map(|(_, value)| value.weight()).sum::<usize>() > BINDING_BYTES_MAX {
            return None;
        }
        let again: Bindings = bindings
            .iter()
            .map(|(name, given)| {
                let other = others.iter().find(|(known, ..)| *known == name);
                (name.clone(), other.map_or_else(|| given.clone(), |(_, other, _)| other.clone().into()))
            })
            .collect();
        let again = gremlin::parse(text, &again).ok()?;
        let [Request::Traversal(second, _)] = again.as_slice() else { return None };
        let (first, second) = ((traversal, shape::constants(traversal)), (second, shape::constants(second)));
        if !shape::is_same(first.0, second.0) || first.1.len() != second.1.len() {
            return None;
        }
        let sources = first.1.iter().zip(&second.1).map(|pair| source(pair, &others));
        Some(Known {
            text: text.into(),
            plan,
            terminal,
            timeout_ms: traversal.option("evaluationTimeout").and_then(Object::as_long),
            sources: sources.collect::<Option<_>>()?,
            fixed: fixed.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            names: bindings.keys().cloned().collect(),
        })
    }
    /// The parameters of the plan; none where a binding is missing or of another kind.
    fn params(&self, bindings: &Bindings) -> Option<Params> {
        if bindings.len() != self.names.len() || !self.names.iter().all(|name| bindings.contains_key(name)) {
            return None;
        }
        let names = self.plan.planned.statement.parameters.iter().cloned();
        let values = self.sources.iter().map(|source| match source {
            Source::Text(value) => Some(value.clone()),
            Source::Binding(name, kind) => match bindings.get(name) {
                Some(Argument::Value(object)) if Kind::of(object) == Some(*kind) => shape::plain(object),
                _ => None,
            },
        });
        names.zip(values).map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Where a constant comes from that is the first of these with the bindings as given, and the second with others.
fn source(pair: (&Constant<'_>, &Constant<'_>), others: &[(&String, Object, Kind)]) -> Option<Source> {
    let (given, other) = (pair.0.value(), pair.1.value());
    if is_identical(&given, &other) {
        return Some(Source::Text(given));
    }
    let mut from = others
        .iter()
        .filter(|(_, object, _)| shape::plain(object).is_some_and(|value| is_identical(&value, &other)));
    let (name, _, kind) = from.next()?;
    from.next().is_none().then(|| Source::Binding((*name).clone(), *kind))
}

/// The same value: not merely one that compares as equal.
fn is_identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_identical(a, b))
        }
        // constants are of no other kind
        _ => false,
    }
}

/// For each binding that may be a constant, another value of its kind, each different from all others.
fn others(bindings: &Bindings) -> Vec<(&String, Object, Kind)> {
    let kinds = bindings.iter().filter_map(|(name, given)| {
        let object = given.value()?;
        Some((name, object, Kind::of(object)?))
    });
    kinds
        .enumerate()
        .filter_map(|(at, (name, given, kind))| Some((name, kind.other(given, at)?, kind)))
        .collect()
}

impl Kind {
    fn of(object: &Object) -> Option<Kind> {
        Some(match object {
            Object::Bool(_) => Kind::Bool,
            Object::Byte(_) | Object::Short(_) | Object::Int(_) | Object::Long(_) => {
                match object.as_long()? {
                    ..0 => Kind::Negative,
                    0 | 1 => Kind::Small,
                    _ => Kind::Whole,
                }
            }
            Object::Double(number) if !number.is_nan() => Kind::Double,
            Object::String(_) => Kind::Text,
            _ => return None,
        })
    }
    /// A value of this kind that is not the one given, and that no text has but by intent.
    fn other(self, given: &Object, place: usize) -> Option<Object> {
        let far = 7_236_154_098_713_000 + place as i64;
        let other = match (self, given) {
            (Kind::Negative, Object::Long(number)) => {
                Object::Long(if *number == -far { 1 - far } else { -far })
            }
            (Kind::Whole, Object::Long(number)) => Object::Long(if *number == far { far + 500 } else { far }),
            (Kind::Negative, Object::Int(number)) => {
                let other = -1_236_154_000 - place as i32;
                Object::Int(if *number == other { other - 500 } else { other })
            }
            (Kind::Whole, Object::Int(number)) => {
                let other = 1_236_154_000 + place as i32;
                Object::Int(if *number == other { other + 500 } else { other })
            }
            (Kind::Double, Object::Double(number)) => {
                let other = 0.723_615_4 + place as f64;
                Object::Double(if *number == other { other + 500.0 } else { other })
            }
            (Kind::Text, Object::String(text)) => {
                let other = format!("\u{1}other{place}");
                Object::string(if **text == *other { other + "\u{1}" } else { other })
            }
            // of these there are too few to tell which binding one is
            _ => return None,
        };
        Some(other)
    }
}
