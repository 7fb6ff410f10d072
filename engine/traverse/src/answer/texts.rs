//! The cache of texts, with their plans: a cached text is neither parsed nor planned again.
//!
//! Idea: a text depends on its bindings only through the constants of its traversal (see [`gremlin::shape`]), if the bindings occur nowhere else.
//! Whether that is so is found out once, by parsing the text a second time with other values of the same kinds: if the two traversals have one shape,
//! a constant that changed is the binding whose other value it took. From then on the plan's parameters are filled from the bindings. The text itself
//! is stored, so that a hash collision of two texts does no harm; a text that is not worthwhile with such bindings is cached as such. Neither is for
//! good: after the 1st, 2nd, 4th, 8th, … miss by bindings of other kinds, the entry is replaced by one for these. So a text whose kinds of bindings
//! alternate is not examined each time, and one that began with a rare kind is served soon. Cost of a look-up: one hash of the text, and a look at
//! each binding that is used.

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
/// Nor one that would store more bytes of its bindings: their names, and the values it is valid for alone.
const BINDING_BYTES_MAX: usize = 4 * 1024;

/// Where a constant comes from.
enum Source {
    Text(Value),
    Binding(String, Kind),
}

/// The properties in which two values must agree to be constants of one shape.
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
    /// Number of requests with bindings that the entry does not serve.
    missed: AtomicU32,
}

/// An entry's content.
pub struct Known {
    /// The text.
    pub text: Arc<str>,
    /// The plan of its traversal.
    pub plan: PlannedTraversal,
    /// How it ends.
    pub terminal: Terminal,
    /// The timeout set by `with()`, in milliseconds.
    pub timeout_ms: Option<i64>,
    sources: Vec<Source>,
    /// Bindings that were not tried with other values: the entry is valid for these values alone.
    fixed: Vec<(String, Argument)>,
    /// All bindings: one more could stand for a name of the text.
    names: Vec<String>,
}

/// Cached texts; all are dropped when there are too many.
#[derive(Default)]
pub struct Texts {
    kept: Mutex<HashMap<u64, Arc<KeptText>, foldhash::fast::RandomState>>,
}

/// The result of a look-up.
pub enum TextOutcome {
    /// Its plan, with these parameters.
    Planned(Arc<Known>, Params),
    /// It should be parsed.
    Parsed,
    /// It should be examined: it is new, or has new kinds of bindings.
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
    /// Stores the result of examining a text.
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
    /// Counts a request with bindings that are not served.
    fn misses(&self) -> TextOutcome {
        let times = self.missed.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if times.is_power_of_two() { TextOutcome::New } else { TextOutcome::Parsed }
    }
}

impl Known {
    /// The entry for a traversal, parsed from the text with these bindings, whatever values of their kinds they have; none where that cannot be.
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

/// The source of a constant that is the first of these with the bindings as given, and the second with others.
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
