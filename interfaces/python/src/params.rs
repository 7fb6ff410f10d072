//! Objects of Python as parameters. An object that does not fit is named with its path: `$rows[3].price`.
//!
//! Python's own types are read here. Everything else (numpy, pandas, UUID, …) is converted by the Python side, `tanglewood.plain`, which makes it one
//! of these or says what to do instead.

use crate::errors::{raised, unfit};
use crate::home::ProcessDatabase;
use crate::imported::Imported;
use crate::temporal;
use database::{Error, Params};
use model::nested::VALUE_DEPTH_MAX;
use model::value::Point;
use model::{EdgeId, EdgeRef, Map, MapValue, Value, ValueTooLarge, VertexId};
use pyo3::exceptions::{PyOverflowError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyList, PyString,
    PyTime, PyTuple,
};

static NODE: Imported = Imported::new("tanglewood.graph", "Node");
static RELATIONSHIP: Imported = Imported::new("tanglewood.graph", "Relationship");
static POINT: Imported = Imported::new("tanglewood.values", "Point");
static PLAIN: Imported = Imported::new("tanglewood.plain", "plain");

/// The fault, and its position in the parameter: the innermost step first.
struct Unfit {
    error: Error,
    path: Vec<String>,
}

enum ParamFault {
    Unfit(Box<Unfit>),
    Raised(PyErr),
}

impl From<Error> for ParamFault {
    fn from(error: Error) -> ParamFault {
        ParamFault::Unfit(Box::new(Unfit { error, path: Vec::new() }))
    }
}

impl From<PyErr> for ParamFault {
    fn from(raised: PyErr) -> ParamFault {
        ParamFault::Raised(raised)
    }
}

impl From<ValueTooLarge> for ParamFault {
    fn from(error: ValueTooLarge) -> ParamFault {
        unfit(error.to_string(), Some(error.hint().to_string())).into()
    }
}

impl ParamFault {
    fn under(self, step: impl FnOnce() -> String) -> ParamFault {
        match self {
            ParamFault::Unfit(mut inner) => {
                inner.path.push(step());
                ParamFault::Unfit(inner)
            }
            raised => raised,
        }
    }
}

/// The parameters of a statement: a mapping from names, or nothing.
pub fn params(given: Option<&Bound<'_, PyAny>>, home: ProcessDatabase) -> PyResult<Params> {
    let mut params = Params::new();
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(params) };
    let py = given.py();
    let wrong = |message: &str| {
        let hint = "give a dict: query(\"… $name …\", {\"name\": value})".to_string();
        raised(py, unfit(message.to_string(), Some(hint)))
    };
    let Ok(dict) = given.cast::<PyDict>() else {
        return Err(wrong(&format!("parameters are a dict, not {}", type_name(given))));
    };
    for (key, object) in dict.iter() {
        let Ok(name) = key.cast::<PyString>() else { return Err(wrong("the name of a parameter is a str")) };
        let name = name.to_cow()?;
        let value = value(&object, home, 0).map_err(|fault| told(py, &name, fault))?;
        params.insert((&*name).into(), value);
    }
    Ok(params)
}

fn told(py: Python<'_>, name: &str, fault: ParamFault) -> PyErr {
    match fault {
        ParamFault::Raised(error) => error,
        ParamFault::Unfit(unfit) => {
            let Unfit { mut error, path } = *unfit;
            let steps: String = path.into_iter().rev().collect();
            error.message = format!("parameter ${name}{steps}: {}", error.message);
            raised(py, error)
        }
    }
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().fully_qualified_name().map_or_else(|_| "an object".into(), |name| name.to_string())
}

fn value(object: &Bound<'_, PyAny>, home: ProcessDatabase, depth: usize) -> Result<Value, ParamFault> {
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return text.to_cow().map(|text| Value::String((&*text).into())).map_err(not_unicode);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if let Ok(number) = object.cast::<PyInt>() {
        return number.extract().map(Value::Int).map_err(too_wide);
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(Value::Float(number.value()));
    }
    if depth == VALUE_DEPTH_MAX && is_nested(object) {
        return Err(ValueTooLarge::Deep.into());
    }
    if let Ok(list) = object.cast::<PyList>() {
        return items(list.iter(), home, depth);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return items(tuple.iter(), home, depth);
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        return entries(dict, home, depth);
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Value::Bytes(bytes.as_bytes().into()));
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(Value::Bytes(bytes.to_vec().into()));
    }
    other(object, home, depth)
}

/// An object of none of the plain types.
fn other(object: &Bound<'_, PyAny>, home: ProcessDatabase, depth: usize) -> Result<Value, ParamFault> {
    let py = object.py();
    // Subclasses may know more than their bases: pandas has nanoseconds.
    let is_instant = object.is_exact_instance_of::<PyDateTime>()
        || object.is_exact_instance_of::<PyDate>()
        || object.is_exact_instance_of::<PyTime>()
        || object.is_exact_instance_of::<PyDelta>();
    if is_instant && let Some(instant) = temporal::value(object)? {
        return Ok(instant?);
    }
    if let Some(own) = temporal::own_value(object)? {
        return Ok(own?);
    }
    if let Some(entity) = entity(object, home)? {
        return Ok(entity?);
    }
    let (fits, made, hint): (bool, Bound<'_, PyAny>, Option<String>) =
        PLAIN.get(py)?.call1((object,))?.extract()?;
    if !fits {
        return Err(unfit(made.extract()?, hint).into());
    }
    // What comes back is one of the plain types, or is not asked about again.
    if is_plain(&made) {
        return value(&made, home, depth);
    }
    match temporal::value(&made)? {
        Some(instant) => Ok(instant?),
        None => match temporal::own_value(&made)? {
            Some(own) => Ok(own?),
            None => Err(unfit(format!("{} has no form in the graph", type_name(object)), None).into()),
        },
    }
}

fn is_nested(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyDict>()
}

fn is_plain(object: &Bound<'_, PyAny>) -> bool {
    object.is_none()
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyBytes>()
        || is_nested(object)
}

fn items<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    home: ProcessDatabase,
    depth: usize,
) -> Result<Value, ParamFault> {
    let one = |(at, item): (usize, Bound<'py, PyAny>)| {
        value(&item, home, depth + 1).map_err(|fault| fault.under(|| format!("[{at}]")))
    };
    let values = items.enumerate().map(one).collect::<Result<Vec<_>, ParamFault>>()?;
    Ok(Value::try_list(values)?)
}

fn entries(dict: &Bound<'_, PyDict>, home: ProcessDatabase, depth: usize) -> Result<Value, ParamFault> {
    let mut map = Map::new();
    for (key, item) in dict.iter() {
        let Ok(name) = key.cast::<PyString>() else {
            let hint = "keys of maps are texts: use str(key)".to_string();
            return Err(unfit(format!("a key is {}, not a str", type_name(&key)), Some(hint)).into());
        };
        let name = name.to_cow().map_err(not_unicode)?;
        let item = value(&item, home, depth + 1).map_err(|fault| fault.under(|| format!(".{name}")))?;
        map.insert((&*name).into(), item);
    }
    Ok(Value::Map(MapValue::new(map)?))
}

fn not_unicode(raised: PyErr) -> ParamFault {
    Python::attach(|py| match raised.is_instance_of::<PyUnicodeEncodeError>(py) {
        true => {
            let hint = "encode it as bytes, or replace what is no character".to_string();
            unfit("the text is not Unicode: it has a lone surrogate".into(), Some(hint)).into()
        }
        false => raised.into(),
    })
}

fn too_wide(raised: PyErr) -> ParamFault {
    Python::attach(|py| match raised.is_instance_of::<PyOverflowError>(py) {
        true => {
            let hint = "integers of the graph have 64 bits: use float(x) or str(x)".to_string();
            unfit("the integer is too large".into(), Some(hint)).into()
        }
        false => raised.into(),
    })
}

/// A node, a relationship or a point of this package.
fn entity(object: &Bound<'_, PyAny>, home: ProcessDatabase) -> PyResult<Option<Result<Value, Error>>> {
    let py = object.py();
    if object.is_instance(POINT.get(py)?)? {
        let (srid, x, y, z) = object.call_method0("_parts")?.extract()?;
        return Ok(Some(Ok(Value::Point(Point { srid, x, y, z }.into()))));
    }
    let is_node = object.is_instance(NODE.get(py)?)?;
    if !is_node && !object.is_instance(RELATIONSHIP.get(py)?)? {
        return Ok(None);
    }
    if object.getattr("_home")?.extract::<u64>()? != home.number {
        let hint = "look it up there by a property".to_string();
        return Ok(Some(Err(unfit(
            "it is of another database, or of an earlier connection".into(),
            Some(hint),
        ))));
    }
    let id: u64 = object.getattr("id")?.extract()?;
    if is_node {
        return Ok(Some(Ok(Value::Vertex(VertexId(id)))));
    }
    let (source, target): (u64, u64) = object.getattr("_ends")?.extract()?;
    let edge = EdgeRef { id: EdgeId(id), source: VertexId(source), target: VertexId(target) };
    Ok(Some(Ok(Value::edge(edge))))
}
