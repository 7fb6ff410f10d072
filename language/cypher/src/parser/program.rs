//! `CREATE PROGRAM`, `DROP PROGRAM`: node programs that users deploy.
//!
//! ```text
//! CREATE [OR REPLACE] PROGRAM name [IF NOT EXISTS] FROM $module
//! DROP PROGRAM name [IF EXISTS]
//! ```

use super::{Parsed, Parser};
use crate::ast::ExpressionKind;
use crate::error::CypherError;
use plan::node_programs::ProgramCommand;
use std::sync::Arc;

impl Parser<'_> {
    /// Whether a command about programs begins here.
    pub(super) fn at_program_command(&self) -> bool {
        self.is_word_of(0, &["CREATE", "DROP"]) && self.is_word(1, "PROGRAM")
            || self.at_words(&["CREATE", "OR", "REPLACE", "PROGRAM"])
    }

    pub(super) fn program_command(&mut self) -> Parsed<ProgramCommand> {
        let drops = self.is_word(0, "DROP");
        self.bump();
        let or_replace = self.eat_words(&["OR", "REPLACE"]);
        self.expect_word("PROGRAM")?;
        let name = Arc::from(self.name("the name of the program")?.text);
        if drops {
            return Ok(ProgramCommand::Drop { name, if_exists: self.eat_words(&["IF", "EXISTS"]) });
        }
        let if_not_exists = !or_replace && self.eat_words(&["IF", "NOT", "EXISTS"]);
        self.expect_word("FROM")?;
        let start = self.span();
        let module = self.expression()?;
        let ExpressionKind::Parameter(module) = module.kind else {
            let error = CypherError::syntax("the module of a program is a parameter", start);
            return Err(Box::new(error.with_hint("write FROM $module, and give its bytes as a parameter")));
        };
        Ok(ProgramCommand::Create { name, or_replace, if_not_exists, module: Arc::from(module) })
    }
}
