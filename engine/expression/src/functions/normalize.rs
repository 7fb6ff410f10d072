//! `normalize` and `IS NORMALIZED`: the normal forms of Unicode (UAX #15).

use super::text;
use crate::error::{EvalError, takes};
use crate::metered;
use crate::operators::{TEXT_BYTES_MAX, check_size};
use model::Value;
use plan::Function;
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd, is_nfkc, is_nfkd};

/// Looking up the form of a letter takes so many times as long as going through it.
const WEIGHT: usize = 8;

/// The text in a form, `NFC` unless said.
pub(super) fn normalize(arguments: &[Value]) -> Result<Value, EvalError> {
    let function = Function::Normalize;
    let Some(whole) = text::text(function, &arguments[0])? else { return Ok(Value::Null) };
    let Some(form) = form(function, arguments)? else { return Ok(Value::Null) };
    metered::text(WEIGHT * whole.len())?;
    let mut normal = String::with_capacity(whole.len());
    let mut put = |letters: &mut dyn Iterator<Item = char>| -> Result<(), EvalError> {
        for letter in letters {
            // A compatible form may be many times as long.
            check_size("a String", normal.len(), TEXT_BYTES_MAX)?;
            normal.push(letter);
        }
        Ok(())
    };
    match &*form {
        "NFD" => put(&mut whole.nfd())?,
        "NFKC" => put(&mut whole.nfkc())?,
        "NFKD" => put(&mut whole.nfkd())?,
        _ => put(&mut whole.nfc())?,
    }
    Ok(Value::string(normal))
}

/// Is the text in that form? Null for what is no text.
pub(super) fn is_normalized(arguments: &[Value]) -> Result<Value, EvalError> {
    let Value::String(whole) = &arguments[0] else { return Ok(Value::Null) };
    let Some(form) = form(Function::IsNormalized, arguments)? else { return Ok(Value::Null) };
    metered::text(WEIGHT * whole.len())?;
    Ok(Value::Bool(match &*form {
        "NFD" => is_nfd(whole),
        "NFKC" => is_nfkc(whole),
        "NFKD" => is_nfkd(whole),
        _ => is_nfc(whole),
    }))
}

fn form(function: Function, arguments: &[Value]) -> Result<Option<String>, EvalError> {
    match arguments.get(1) {
        None => Ok(Some("NFC".to_string())),
        Some(Value::Null) => Ok(None),
        Some(Value::String(form)) => {
            let form = form.to_uppercase();
            if ["NFC", "NFD", "NFKC", "NFKD"].contains(&form.as_str()) {
                return Ok(Some(form));
            }
            Err(EvalError::argument(format!("a normal form is NFC, NFD, NFKC or NFKD, not {form}")))
        }
        Some(other) => Err(takes(function, "a normal form", other)),
    }
}
