//! Finding the procedure that `CALL` names.

use plan::procedures::Procedure;

use super::Lowered;
use crate::error::{CypherError, ErrorKind};
use text::Span;
use text::nearest;

/// Families of procedures that tools call and that do not exist here, and alternatives.
const ABSENT: [(&str, &str); 2] = [
    (
        "db.index.vector.",
        "there are no vector indexes; vector.similarity.cosine(n.embedding, $vector) in ORDER BY … DESC LIMIT k compares by a scan",
    ),
    (
        "db.index.fulltext.",
        "there are no full-text indexes; CONTAINS and =~ compare by a scan, and a range index finds equal texts and STARTS WITH",
    ),
];

/// The procedure of a name, in any case. Whether a deployed program exists is known when the call runs.
pub(super) fn find(name: &str, span: Span) -> Lowered<&'static Procedure> {
    if let Some(found) = Procedure::named().find(|procedure| procedure.name.eq_ignore_ascii_case(name)) {
        return Ok(found);
    }
    let error = CypherError::new(ErrorKind::ProcedureNotFound, format!("there is no procedure {name}"), span);
    let lower = name.to_ascii_lowercase();
    if let Some((_, hint)) = ABSENT.iter().find(|(family, _)| lower.starts_with(family)) {
        return Err(Box::new(error.with_hint(*hint)));
    }
    if let Some(calls) = Procedure::called(name) {
        return Ok(calls);
    }
    let known = Procedure::named().map(|procedure| procedure.name);
    Err(Box::new(error.with_suggestion(nearest(name, known))))
}
