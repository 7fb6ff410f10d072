//! Plain values of a type, by its name alone: the return value of a function without effect.

use syn::{GenericArgument, PathArguments, Type, TypeParamBound};

/// Depth of types within types, at most: beyond it plain values add nothing.
const INNER_MAX: usize = 2;

/// Values of this type, as texts. Those that do not build are found out later.
pub fn of(kind: &Type) -> Vec<String> {
    let texts = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
    match kind {
        Type::Never(_) => Vec::new(),
        Type::Paren(inner) => of(&inner.elem),
        Type::Group(inner) => of(&inner.elem),
        Type::Tuple(tuple) if tuple.elems.is_empty() => texts(&["()"]),
        Type::Tuple(tuple) => tuple_of(tuple),
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => texts(&["\"\"", "\"xyzzy\""]),
            Type::Slice(_) if reference.mutability.is_none() => texts(&["&[]"]),
            inner if reference.mutability.is_some() => {
                inner_of(inner, |value| format!("Box::leak(Box::new({value}))"))
            }
            inner => inner_of(inner, |value| format!("&*Box::leak(Box::new({value}))")),
        },
        Type::ImplTrait(bounds) => match bounds.bounds.first() {
            Some(TypeParamBound::Trait(bound)) if is_iterator(&bound.path) => {
                texts(&["::std::iter::empty()"])
            }
            _ => Vec::new(),
        },
        Type::Path(path) => named(&path.path),
        _ => texts(&["Default::default()"]),
    }
}

fn is_iterator(path: &syn::Path) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident.to_string().ends_with("Iterator"))
}

/// Each value once, with the first of the others.
fn tuple_of(tuple: &syn::TypeTuple) -> Vec<String> {
    let all: Vec<Vec<String>> = tuple.elems.iter().map(of).collect();
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    if all.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let at = |n: usize| all.iter().map(|values| values[n % values.len()].clone()).collect::<Vec<_>>();
    (0..longest.min(INNER_MAX)).map(|n| format!("({},)", at(n).join(", "))).collect()
}

fn inner_of(kind: &Type, wrap: impl Fn(String) -> String) -> Vec<String> {
    of(kind).into_iter().take(INNER_MAX).map(wrap).collect()
}

fn named(path: &syn::Path) -> Vec<String> {
    let Some(last) = path.segments.last() else { return Vec::new() };
    let (name, inner) = (last.ident.to_string(), first_argument(&last.arguments));
    let texts = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
    let within = |wrap: &dyn Fn(String) -> String| inner.map_or(Vec::new(), |kind| inner_of(kind, wrap));
    match name.as_str() {
        "bool" => texts(&["true", "false"]),
        "String" => texts(&["String::new()", "\"xyzzy\".into()"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => texts(&["0", "1"]),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => texts(&["0", "1", "-1"]),
        "f32" | "f64" => texts(&["0.0", "1.0", "-1.0"]),
        "Option" => [texts(&["None"]), within(&|value| format!("Some({value})"))].concat(),
        "Vec" => [texts(&["Vec::new()"]), within(&|value| format!("vec![{value}]"))].concat(),
        "Box" | "Arc" | "Rc" => within(&|value| format!("::std::{}({value})", made(&name))),
        name if name == "Result" || name.ends_with("Result") => match inner {
            Some(_) => within(&|value| format!("Ok({value})")),
            None => texts(&["Ok(Default::default())"]),
        },
        _ => texts(&["Default::default()"]),
    }
}

fn made(name: &str) -> &'static str {
    match name {
        "Box" => "boxed::Box::new",
        "Arc" => "sync::Arc::new",
        _ => "rc::Rc::new",
    }
}

fn first_argument(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(kind) => Some(kind),
        _ => None,
    })
}
