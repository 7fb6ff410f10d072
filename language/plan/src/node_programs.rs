//! Commands about node programs that users deploy.

use crate::expr::Name;
use crate::quoted::Quoted;
use std::fmt;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramCommand {
    /// `CREATE [OR REPLACE] PROGRAM name [IF NOT EXISTS] FROM $module`
    Create {
        /// Its name.
        name: Name,
        /// OR REPLACE: queries that begin later run this one.
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The parameter that holds the bytes of the module.
        module: Name,
    },
    /// `DROP PROGRAM name [IF EXISTS]`
    Drop {
        /// Its name.
        name: Name,
        /// IF EXISTS.
        if_exists: bool,
    },
}

impl fmt::Display for ProgramCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramCommand::Create { name, or_replace, if_not_exists, module } => {
                let replace = if *or_replace { "OR REPLACE " } else { "" };
                let unless = if *if_not_exists { " IF NOT EXISTS" } else { "" };
                write!(f, "CREATE {replace}PROGRAM {}{unless} FROM ${}", Quoted(name), Quoted(module))
            }
            ProgramCommand::Drop { name, if_exists } => {
                let only = if *if_exists { " IF EXISTS" } else { "" };
                write!(f, "DROP PROGRAM {}{only}", Quoted(name))
            }
        }
    }
}
