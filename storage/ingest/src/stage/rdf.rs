//! RDF as N-Triples or Turtle: resources are nodes with the label `Resource` and their IRI as the property `uri`, uniquely indexed.
//!
//! `rdf:type` gives labels, literals become properties, and any other triple a relationship. Names are the last part of an IRI, after `#`, `/` or `:`;
//! where two IRIs of one use end alike, both stand whole. Several values of one property are a list. Blank nodes get a `uri` that begins with
//! `_:` and is met in no other file. Several files of one import are one graph.

use crate::ImportError;
use crate::source::{self, InputFile};
use std::path::Path;

#[cfg(feature = "rdf")]
mod literal;
#[cfg(feature = "rdf")]
mod naming;
#[cfg(feature = "rdf")]
mod reading;

/// How names of such files end.
const ENDINGS: [&str; 3] = [".nt", ".ttl", ".turtle"];

/// Is it RDF, by its name or by how it begins?
pub(crate) fn is_rdf(file: &InputFile) -> Result<bool, ImportError> {
    let head = source::head(file)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(&head);
    if memchr::memmem::find(&head[..head.len().min(4096)], b"<rdf:RDF").is_some() {
        let what = "it is RDF/XML; write it as Turtle or N-Triples (rapper and riot do)".to_string();
        return Err(ImportError::Read { path: file.shown.clone(), what });
    }
    let name = file.name().to_ascii_lowercase();
    Ok(ENDINGS.iter().any(|ending| name.ends_with(ending)) || begins_as_rdf(head))
}

/// A directive of Turtle, or two IRIs: a subject and a predicate.
fn begins_as_rdf(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")) else { return false };
    let lower = line[..line.len().min(16)].to_ascii_lowercase();
    if lower.starts_with(b"@prefix ") || lower.starts_with(b"@base ") {
        return true;
    }
    if lower.starts_with(b"prefix ") || lower.starts_with(b"base ") {
        return line.contains(&b'<');
    }
    let iri = |text: &[u8]| -> Option<usize> {
        let end = text.iter().position(|byte| matches!(byte, b'>' | b' ' | b'\t'))?;
        let is_iri = text.starts_with(b"<") && text[end] == b'>' && text[..end].contains(&b':');
        is_iri.then_some(end + 1)
    };
    iri(line).is_some_and(|end| iri(line[end..].trim_ascii_start()).is_some())
}

/// Makes tables of all such files of an import, in a folder.
#[cfg(feature = "rdf")]
pub(crate) fn tables(files: &[InputFile], folder: &Path) -> Result<Vec<InputFile>, ImportError> {
    let [first, others @ ..] = files else { return Ok(Vec::new()) };
    let mut together = first.clone();
    if !others.is_empty() {
        together.shown = format!("{} and {} more", first.shown.display(), others.len()).into();
    }
    let graph = reading::read(files)?;
    let ids = super::Ids { property: Some("uri"), group: "rdf".into() };
    let made = super::tables(&together, folder, &ids, &|found| graph.each(&together, found));
    made.map_err(|error| error.of_file(&together.shown))
}

#[cfg(not(feature = "rdf"))]
pub(crate) fn tables(files: &[InputFile], _: &Path) -> Result<Vec<InputFile>, ImportError> {
    match files.first() {
        Some(file) => Err(ImportError::left_out(&file.shown, "RDF", "rdf")),
        None => Ok(Vec::new()),
    }
}
