//! Finding the procedure that `CALL` names.

use plan::procedures::Procedure;

use super::Lowered;
use crate::error::{CypherError, ErrorKind};
use text::Span;
use text::nearest;

/// The procedure of a name, whatever its case.
pub(super) fn find(name: &str, span: Span) -> Lowered<&'static Procedure> {
    if let Some(found) = Procedure::named().find(|procedure| procedure.name.eq_ignore_ascii_case(name)) {
        return Ok(found);
    }
    let error = CypherError::new(ErrorKind::ProcedureNotFound, format!("there is no procedure {name}"), span);
    let known = Procedure::named().map(|procedure| procedure.name);
    Err(Box::new(error.with_suggestion(nearest(name, known))))
}
