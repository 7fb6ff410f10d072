//! Equality, comparability and order of objects, as the language's semantics define them.
//!
//! *Equality* never fails: objects of different types are not equal, numbers are compared by value, NaN equals nothing.
//! *Comparability* (`P.lt` and its kin) is only defined within a type (nothing is less or greater than NaN); across types it is an error that a filter takes
//! for "no" and that stays an error when negated: [`Truth`] is `None` then. *Orderability* is total: types have an order, and so has
//! NaN. *Sameness*, which `dedup`, sets and the keys of maps use, is equality except that NaN is the same as itself.

use crate::extent::{SharedPart, shared};
use crate::number::Number;
use foldhash::HashMap;
use gremlin::{Compare, Object, Predicate, TextTest, Token};
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};

/// True, false, or an error without a value.
pub type Truth = Option<bool>;

/// Are they equal?
pub fn equal(a: &Object, b: &Object) -> bool {
    alike(a, b, false)
}

/// Are they the same, as elements of a set?
pub fn same(a: &Object, b: &Object) -> bool {
    alike(a, b, true)
}

/// Results for pairs of collections that are shared by several places: each pair is compared once, so that values that double at each step are
/// compared as quickly as they were made.
type Verdicts<T> = HashMap<(SharedPart, SharedPart), T>;

/// Pairs that one comparison remembers.
const VERDICTS_MAX: usize = 1 << 16;

/// The result for a pair, computed by `compare` once.
fn once<K, T: Copy>(
    (a, b): (&Object, &Object),
    known: &mut K,
    verdicts: fn(&mut K) -> &mut Verdicts<T>,
    compare: impl FnOnce(&mut K) -> T,
) -> T {
    let pair = shared(a).zip(shared(b));
    if let Some(found) = pair.and_then(|pair| verdicts(known).get(&pair).copied()) {
        return found;
    }
    let found = compare(known);
    if let Some(pair) = pair.filter(|_| verdicts(known).len() < VERDICTS_MAX) {
        verdicts(known).insert(pair, found);
    }
    found
}

fn alike(a: &Object, b: &Object, nan: bool) -> bool {
    alike_within(a, b, nan, &mut Verdicts::default())
}

fn alike_within(a: &Object, b: &Object, nan: bool, known: &mut Verdicts<bool>) -> bool {
    if let (Some(x), Some(y)) = (Number::of(a), Number::of(b)) {
        return (nan && x.is_nan() && y.is_nan()) || x.compare(y) == Some(Ordering::Equal);
    }
    // The very same collection, though not of NaN where that is not equal to itself.
    if nan && shared(a).is_some_and(|place| shared(b) == Some(place)) {
        return true;
    }
    once((a, b), known, |known| known, |known| alike_parts(a, b, nan, known))
}

fn alike_parts(a: &Object, b: &Object, nan: bool, known: &mut Verdicts<bool>) -> bool {
    let mut alike = |a: &Object, b: &Object| alike_within(a, b, nan, known);
    let all = |a: &[Object], b: &[Object], alike: &mut dyn FnMut(&Object, &Object) -> bool| {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| alike(x, y))
    };
    match (a, b) {
        (Object::List(a), Object::List(b)) => all(a, b, &mut alike),
        (Object::Set(a), Object::Set(b)) => are_among(a, b, |x| x, alike),
        (Object::Bulk(a), Object::Bulk(b)) => {
            are_among(a, b, |x| &x.0, |(x, n), (y, m)| n == m && alike(x, y))
        }
        (Object::Map(a) | Object::Tree(a), Object::Map(b) | Object::Tree(b)) => {
            are_among(a, b, |x| &x.0, |x, y| alike(&x.0, &y.0) && alike(&x.1, &y.1))
        }
        (Object::Entry(a), Object::Entry(b)) => alike(&a.0, &b.0) && alike(&a.1, &b.1),
        (Object::VertexProperty(a), Object::VertexProperty(b)) => {
            a.vertex == b.vertex && a.key == b.key && a.place == b.place
        }
        (Object::Property(a), Object::Property(b)) => a.key == b.key && alike(&a.value, &b.value),
        (Object::Path(a), Object::Path(b)) => all(&a.objects, &b.objects, &mut alike),
        (Object::DateTime(a), Object::DateTime(b)) => (a.seconds, a.nanos) == (b.seconds, b.nanos),
        (Object::Edge(a), Object::Edge(b)) => a.id == b.id,
        _ => a == b,
    }
}

/// Collections of so few elements are compared element by element.
const FEW: usize = 8;

/// Do both have the same elements, in any order? Equal elements have keys with equal hashes, so each is compared with few.
fn are_among<T>(a: &[T], b: &[T], key: fn(&T) -> &Object, mut is_alike: impl FnMut(&T, &T) -> bool) -> bool {
    if a.len() != b.len() || must_end() {
        return false;
    }
    if a.len() <= FEW && a.iter().all(|x| is_flat(key(x))) {
        return a.iter().all(|x| b.iter().any(|y| is_alike(x, y)));
    }
    let mut places: HashMap<u64, Vec<&T>> = HashMap::default();
    for y in b {
        places.entry(hash_of(key(y))).or_default().push(y);
    }
    a.iter().all(|x| {
        let some = places.get(&hash_of(key(x)));
        some.is_some_and(|some| some.iter().any(|y| is_alike(x, y)))
    })
}

/// Is it no collection? Collections within one another would be compared by each pair at each level.
fn is_flat(object: &Object) -> bool {
    use Object::{Bulk, Entry, List, Map, Path, Property, Set, Tree};
    !matches!(object, List(_) | Set(_) | Bulk(_) | Map(_) | Entry(_) | Property(_) | Path(_) | Tree(_))
}

fn hash_of(object: &Object) -> u64 {
    hash_within(object, &mut Hashes::default())
}

/// Hashes of collections that are shared by several places of one value: each is visited once.
type Hashes = HashMap<SharedPart, u64>;

fn hash_within(object: &Object, known: &mut Hashes) -> u64 {
    let place = shared(object);
    if let Some(hash) = place.and_then(|place| known.get(&place)) {
        return *hash;
    }
    let mut state = foldhash::fast::FixedState::default().build_hasher();
    hash(object, &mut state, known);
    let hash = state.finish();
    known.extend(place.map(|place| (place, hash)));
    hash
}

/// A part of a collection: a collection by its hash, which is the same wherever it stands.
fn hash_part<H: Hasher>(object: &Object, state: &mut H, known: &mut Hashes) {
    match is_flat(object) {
        true => hash(object, state, known),
        false => hash_within(object, known).hash(state),
    }
}

/// Has the traversal ended, so that the result is not needed? Called once for each collection.
fn must_end() -> bool {
    execute::watch::is_over()
}

/// An object as an element of a set or a key of a map.
#[derive(Clone, Debug)]
pub struct Keyed(pub Object);

impl PartialEq for Keyed {
    fn eq(&self, other: &Keyed) -> bool {
        same(&self.0, &other.0)
    }
}

impl Eq for Keyed {}

impl Hash for Keyed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(&self.0, state, &mut Hashes::default());
    }
}

fn hash<H: Hasher>(object: &Object, state: &mut H, known: &mut Hashes) {
    if let Some(number) = Number::of(object) {
        let number = number.as_f64();
        // -0.0 is 0.0, and all NaN are one
        return (if number == 0.0 {
            0
        } else if number.is_nan() {
            1
        } else {
            number.to_bits()
        })
        .hash(state);
    }
    match object {
        // A tree is the same as a map of the same pairs.
        Object::Map(_) | Object::Tree(_) => b'm'.hash(state),
        object => std::mem::discriminant(object).hash(state),
    }
    match object {
        Object::Bool(truth) => truth.hash(state),
        Object::String(text) => text.hash(state),
        Object::Char(letter) => letter.hash(state),
        Object::Binary(bytes) => bytes.hash(state),
        Object::Duration(seconds, nanos) => (seconds, nanos).hash(state),
        Object::Uuid(uuid) => uuid.hash(state),
        Object::DateTime(instant) => (instant.seconds, instant.nanos).hash(state),
        Object::List(elements) => hash_sequence(elements, state, known),
        Object::Set(elements) => {
            hash_any_order(elements.iter().map(|element| hash_within(element, known)), state)
        }
        Object::Bulk(elements) => {
            hash_any_order(elements.iter().map(|(element, _)| hash_within(element, known)), state)
        }
        Object::Path(path) => hash_sequence(&path.objects, state, known),
        Object::Vertex(vertex) => vertex.hash(state),
        Object::Edge(edge) => edge.id.hash(state),
        Object::VertexProperty(property) => (property.vertex, &property.key, property.place).hash(state),
        Object::Property(property) => {
            property.key.hash(state);
            hash_part(&property.value, state, known);
        }
        Object::Token(token) => token.hash(state),
        Object::Entry(entry) => {
            hash_part(&entry.0, state, known);
            hash_part(&entry.1, state, known);
        }
        Object::Map(pairs) | Object::Tree(pairs) => {
            let mut of = |part: &Object| hash_within(part, known);
            let one = |(key, value): &(Object, Object)| of(key).rotate_left(1) ^ of(value);
            hash_any_order(pairs.iter().map(one), state);
        }
        _ => {}
    }
}

fn hash_sequence<H: Hasher>(elements: &[Object], state: &mut H, known: &mut Hashes) {
    for (at, element) in elements.iter().enumerate() {
        if at % PIECE == 0 && must_end() {
            return;
        }
        hash_part(element, state, known);
    }
}

/// Elements are processed in pieces of this size.
const PIECE: usize = 1_024;

fn hash_any_order<H: Hasher>(hashes: impl Iterator<Item = u64>, state: &mut H) {
    let (mut sum, mut count) = (0_u64, 0_usize);
    for hash in hashes {
        if count % PIECE == 0 && must_end() {
            return;
        }
        sum = sum.wrapping_add(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        count += 1;
    }
    (sum, count).hash(state);
}

/// Compares two objects of one type; none where that is not defined.
pub fn comparable(a: &Object, b: &Object) -> Option<Ordering> {
    Orders::default().comparable(a, b)
}

/// The total order; elements by the numbers that the database gave them.
pub fn order(a: &Object, b: &Object) -> Ordering {
    Orders::default().order(a, b)
}

/// The ids by which elements are in order: those that `id()` yields, which clients may have given.
pub trait IdOrder {
    /// The id of a vertex or an edge; none for anything else, or where it cannot be read.
    fn id(&self, element: &Object) -> Option<Object>;
}

/// The total order; elements by their ids.
pub fn order_by_ids(a: &Object, b: &Object, ids: &dyn IdOrder) -> Ordering {
    Orders { ids: Some(ids), ..Orders::default() }.order(a, b)
}

/// One comparison.
#[derive(Default)]
struct Orders<'i> {
    ids: Option<&'i dyn IdOrder>,
    total: Verdicts<Ordering>,
    defined: Verdicts<Option<Ordering>>,
}

/// The order.
#[derive(Clone, Copy)]
enum By {
    /// That of all objects.
    Total,
    /// That within one type.
    Defined,
}

impl Orders<'_> {
    fn by(&mut self, by: By, a: &Object, b: &Object) -> Option<Ordering> {
        match by {
            By::Total => Some(self.order(a, b)),
            By::Defined => self.comparable(a, b),
        }
    }
    fn comparable(&mut self, a: &Object, b: &Object) -> Option<Ordering> {
        if let (Some(x), Some(y)) = (Number::of(a), Number::of(b)) {
            return x.compare(y);
        }
        once((a, b), self, |orders| &mut orders.defined, |orders| orders.comparable_parts(a, b))
    }
    fn comparable_parts(&mut self, a: &Object, b: &Object) -> Option<Ordering> {
        match (a, b) {
            (Object::Null, Object::Null) => Some(Ordering::Equal),
            (Object::Bool(a), Object::Bool(b)) => Some(a.cmp(b)),
            (Object::String(a), Object::String(b)) => Some(a.cmp(b)),
            (Object::Char(a), Object::Char(b)) => Some(a.cmp(b)),
            (Object::Uuid(a), Object::Uuid(b)) => Some(a.cmp(b)),
            (Object::DateTime(a), Object::DateTime(b)) => {
                Some((a.seconds, a.nanos).cmp(&(b.seconds, b.nanos)))
            }
            (Object::Duration(a, n), Object::Duration(b, m)) => Some((a, n).cmp(&(b, m))),
            (Object::Token(a), Object::Token(b)) if a.class() == b.class() => Some(a.cmp(b)),
            (Object::List(a), Object::List(b)) => self.sequences(By::Defined, a, b),
            (Object::Path(a), Object::Path(b)) => self.sequences(By::Defined, &a.objects, &b.objects),
            (Object::Set(a), Object::Set(b)) => self.sets(By::Defined, a, b),
            (Object::Map(a), Object::Map(b)) => self.maps(By::Defined, a, b),
            (Object::Vertex(x), Object::Vertex(y)) => Some(self.elements(a, b).then_with(|| x.cmp(y))),
            (Object::Edge(x), Object::Edge(y)) => Some(self.elements(a, b).then_with(|| x.id.cmp(&y.id))),
            (Object::VertexProperty(a), Object::VertexProperty(b)) => {
                let vertices = self.elements(&Object::Vertex(a.vertex), &Object::Vertex(b.vertex));
                let rest = || (a.vertex, &a.key, a.place).cmp(&(b.vertex, &b.key, b.place));
                Some(vertices.then_with(rest))
            }
            (Object::Property(a), Object::Property(b)) => match a.key.cmp(&b.key) {
                Ordering::Equal => self.comparable(&a.value, &b.value),
                order => Some(order),
            },
            (Object::Entry(a), Object::Entry(b)) => match self.comparable(&a.0, &b.0)? {
                Ordering::Equal => self.comparable(&a.1, &b.1),
                order => Some(order),
            },
            _ => None,
        }
    }
    /// Two elements by their ids; equal where ids are not compared.
    fn elements(&mut self, a: &Object, b: &Object) -> Ordering {
        match self.ids.and_then(|ids| Some((ids.id(a)?, ids.id(b)?))) {
            Some((a, b)) => self.order(&a, &b),
            None => Ordering::Equal,
        }
    }
    fn sequences(&mut self, by: By, a: &[Object], b: &[Object]) -> Option<Ordering> {
        for (at, (x, y)) in a.iter().zip(b).enumerate() {
            if at % PIECE == 0 && must_end() {
                return None;
            }
            match self.by(by, x, y)? {
                Ordering::Equal => {}
                order => return Some(order),
            }
        }
        Some(a.len().cmp(&b.len()))
    }
    fn sets(&mut self, by: By, a: &[Object], b: &[Object]) -> Option<Ordering> {
        let mut sorted = |elements: &[Object]| {
            let mut sorted = elements.to_vec();
            sorted.sort_by(|x, y| self.order(x, y));
            sorted
        };
        let (a, b) = (sorted(a), sorted(b));
        self.sequences(by, &a, &b)
    }
    fn maps(&mut self, by: By, a: &[(Object, Object)], b: &[(Object, Object)]) -> Option<Ordering> {
        let mut flat = |pairs: &[(Object, Object)]| {
            let mut pairs = pairs.to_vec();
            pairs.sort_by(|x, y| self.order(&x.0, &y.0).then_with(|| self.order(&x.1, &y.1)));
            pairs.into_iter().flat_map(|(key, value)| [key, value]).collect::<Vec<_>>()
        };
        let (a, b) = (flat(a), flat(b));
        self.sequences(by, &a, &b)
    }
    fn order(&mut self, a: &Object, b: &Object) -> Ordering {
        let (x, y) = (rank(a), rank(b));
        if x != y {
            return x.cmp(&y);
        }
        if let (Some(x), Some(y)) = (Number::of(a), Number::of(b)) {
            return x.compare(y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()));
        }
        once((a, b), self, |orders| &mut orders.total, |orders| orders.order_parts(a, b))
    }
    fn order_parts(&mut self, a: &Object, b: &Object) -> Ordering {
        let found = match (a, b) {
            (Object::List(a), Object::List(b)) => self.sequences(By::Total, a, b),
            (Object::Set(a), Object::Set(b)) => self.sets(By::Total, a, b),
            (Object::Map(a) | Object::Tree(a), Object::Map(b) | Object::Tree(b)) => {
                self.maps(By::Total, a, b)
            }
            (Object::Path(a), Object::Path(b)) => self.sequences(By::Total, &a.objects, &b.objects),
            (Object::Property(a), Object::Property(b)) => {
                Some(a.key.cmp(&b.key).then_with(|| self.order(&a.value, &b.value)))
            }
            (Object::Entry(a), Object::Entry(b)) => {
                Some(self.order(&a.0, &b.0).then_with(|| self.order(&a.1, &b.1)))
            }
            (Object::Token(a), Object::Token(b)) => Some(token_order(*a, *b)),
            _ => self.comparable(a, b),
        };
        found.unwrap_or(Ordering::Equal)
    }
}

/// Words are ordered by their class, and within it as declared there.
fn token_order(a: Token, b: Token) -> Ordering {
    let place = |token: Token| match token {
        Token::TLabel | Token::Out => 0,
        Token::TId | Token::In => 1,
        Token::TKey | Token::Both => 2,
        Token::TValue => 3,
        _ => 4,
    };
    let key = |token: Token| (token.class(), place(token), token.name());
    key(a).cmp(&key(b))
}

/// Rank of a type in the order of types.
fn rank(object: &Object) -> u8 {
    match object {
        Object::Null => 0,
        Object::Bool(_) => 1,
        object if Number::of(object).is_some() => 2,
        Object::DateTime(_) | Object::Duration(..) => 3,
        Object::String(_) | Object::Char(_) => 4,
        Object::Uuid(_) => 5,
        Object::Vertex(_) => 6,
        Object::Edge(_) => 7,
        Object::VertexProperty(_) => 8,
        Object::Property(_) => 9,
        Object::Path(_) => 10,
        Object::Set(_) => 11,
        Object::List(_) | Object::Bulk(_) => 12,
        Object::Map(_) => 13,
        _ => 14,
    }
}

fn both(a: Truth, b: impl FnOnce() -> Truth) -> Truth {
    match a {
        Some(false) => Some(false),
        Some(true) => b(),
        None => b().filter(|truth| !truth),
    }
}

fn either(a: Truth, b: impl FnOnce() -> Truth) -> Truth {
    match a {
        Some(true) => Some(true),
        Some(false) => b(),
        None => b().filter(|truth| *truth),
    }
}

/// Whether a predicate holds for an object.
pub fn holds(predicate: &Predicate, object: &Object) -> Truth {
    match predicate {
        Predicate::Compare(how, value) => compare(*how, object, value),
        Predicate::Within(values) => Some(values.iter().any(|value| equal(object, value))),
        Predicate::Without(values) => Some(!values.iter().any(|value| equal(object, value))),
        Predicate::Between(low, high) => {
            both(compare(Compare::Gte, object, low), || compare(Compare::Lt, object, high))
        }
        Predicate::Inside(low, high) => {
            both(compare(Compare::Gt, object, low), || compare(Compare::Lt, object, high))
        }
        Predicate::Outside(low, high) => {
            either(compare(Compare::Lt, object, low), || compare(Compare::Gt, object, high))
        }
        Predicate::Text(test, value, negated) => text(*test, object, value).map(|truth| truth != *negated),
        Predicate::TypeOf(kind) => Some(is_of_type(object, kind)),
        Predicate::And(left, right) => both(holds(left, object), || holds(right, object)),
        Predicate::Or(left, right) => either(holds(left, object), || holds(right, object)),
        Predicate::Not(inner) => holds(inner, object).map(|truth| !truth),
    }
}

/// Compares two objects as a predicate does.
pub fn compare(how: Compare, a: &Object, b: &Object) -> Truth {
    match how {
        Compare::Eq => return Some(equal(a, b)),
        Compare::Neq => return Some(!equal(a, b)),
        _ => {}
    }
    let is_nan = |object: &Object| Number::of(object).is_some_and(Number::is_nan);
    if Number::of(a).is_some() && Number::of(b).is_some() && (is_nan(a) || is_nan(b)) {
        return Some(false);
    }
    let order = comparable(a, b)?;
    Some(match how {
        Compare::Lt => order.is_lt(),
        Compare::Lte => order.is_le(),
        Compare::Gt => order.is_gt(),
        _ => order.is_ge(),
    })
}

fn text(test: TextTest, object: &Object, value: &Object) -> Truth {
    let (object, value) = (object.as_str(), value.as_str());
    let (Some(object), Some(value)) = (object, value) else { return Some(false) };
    Some(match test {
        TextTest::StartingWith => object.starts_with(value),
        TextTest::EndingWith => object.ends_with(value),
        TextTest::Containing => object.contains(value),
        TextTest::Regex => regex::Regex::new(value).ok()?.is_match(object),
    })
}

/// Is the object of the type a `GType` token or a name stands for?
pub fn is_of_type(object: &Object, kind: &Object) -> bool {
    let Object::Token(kind) = kind else { return kind.as_str() == Some(object.type_name()) };
    match kind {
        Token::GNumber => Number::of(object).is_some(),
        Token::GNull => matches!(object, Object::Null),
        Token::GBoolean => matches!(object, Object::Bool(_)),
        Token::GByte => matches!(object, Object::Byte(_)),
        Token::GShort => matches!(object, Object::Short(_)),
        Token::GInt => matches!(object, Object::Int(_)),
        Token::GLong => matches!(object, Object::Long(_)),
        Token::GBigInt => matches!(object, Object::BigInt(_)),
        Token::GFloat => matches!(object, Object::Float(_)),
        Token::GDouble => matches!(object, Object::Double(_)),
        Token::GBigDecimal => matches!(object, Object::BigDecimal(_)),
        Token::GChar => matches!(object, Object::Char(_)),
        Token::GString => matches!(object, Object::String(_)),
        Token::GBinary => matches!(object, Object::Binary(_)),
        Token::GUuid => matches!(object, Object::Uuid(_)),
        Token::GDateTime => matches!(object, Object::DateTime(_)),
        Token::GDuration => matches!(object, Object::Duration(..)),
        Token::GList => matches!(object, Object::List(_)),
        Token::GSet => matches!(object, Object::Set(_) | Object::Bulk(_)),
        Token::GMap => matches!(object, Object::Map(_)),
        Token::GVertex => matches!(object, Object::Vertex(_)),
        Token::GEdge => matches!(object, Object::Edge(_)),
        Token::GVertexProperty => matches!(object, Object::VertexProperty(_)),
        Token::GProperty => matches!(object, Object::Property(_) | Object::VertexProperty(_)),
        Token::GPath => matches!(object, Object::Path(_)),
        Token::GTree => matches!(object, Object::Tree(_)),
        Token::GGraph => matches!(object, Object::Graph(_)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
