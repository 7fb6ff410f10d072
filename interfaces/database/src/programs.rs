//! Node programs that users deploy, as entries of the catalogue: one module's bytes each.
//!
//! Invariant: a module is compiled and verified before it becomes an entry. The content of an entry is never changed, but replaced by a commit, so a
//! query runs the module of its snapshot from beginning to end.

use crate::entries::set;
use crate::{Database, Error, Params};
use execute::CacheCounts;
use model::Value;
use plan::node_programs::ProgramCommand;
use plan::procedures::Procedure;
use std::sync::Arc;
use store::{Entries, EntryKind};

/// Bytes of a program's name.
const NAME_BYTES_MAX: usize = 128;

fn refuse(message: &str, hint: &str) -> Error {
    Error::new("Neo.ClientError.Statement.ArgumentError", message).hint(hint)
}

/// Bytes of all modules together: users, roles and standing queries need room in the same catalogue.
const PROGRAMS_BYTES_MAX: usize = 16 << 20;

impl Database {
    /// Carries out a command about node programs, durably; false if it changed nothing. `check` compiles a module and returns what is wrong with it.
    /// Running queries go on with the programs of their snapshots.
    ///
    /// # Errors
    /// There is no such program, or there is one already; the module cannot be run; the disk refuses.
    pub(crate) fn change_programs(
        &self,
        command: &ProgramCommand,
        params: &Params,
        check: impl FnOnce(&Arc<[u8]>) -> Result<Option<String>, Error>,
    ) -> Result<bool, Error> {
        match command {
            ProgramCommand::Create { name, or_replace, if_not_exists, module } => {
                check_name(name)?;
                let Some(Value::Bytes(module)) = params.get(&**module) else {
                    let message = format!("the module of the program `{name}` is not there");
                    return Err(refuse(&message, "give the bytes of the file .wasm as a parameter"));
                };
                if let Some(why) = check(module)? {
                    let message = format!("the program `{name}` cannot be deployed: {why}");
                    return Err(refuse(&message, "build it as docs/guide/node-programs.md says"));
                }
                let is_changed = self.put_program(name, module, *or_replace, *if_not_exists)?;
                if is_changed {
                    self.program_cache().forget(name);
                }
                Ok(is_changed)
            }
            ProgramCommand::Drop { name, if_exists } => {
                let mut was_there = false;
                self.change_entries(|entries| {
                    was_there = entries.get(EntryKind::PROGRAM, name).is_some();
                    match was_there {
                        false if *if_exists => Ok(Vec::new()),
                        false => Err(refuse(
                            &format!("there is no program `{name}` to drop"),
                            "SHOW PROGRAMS lists those that were deployed",
                        )),
                        true => Ok(vec![set(EntryKind::PROGRAM, name, None)]),
                    }
                })?;
                self.program_cache().forget(name);
                Ok(was_there)
            }
        }
    }

    fn put_program(
        &self,
        name: &str,
        module: &Arc<[u8]>,
        or_replace: bool,
        if_not_exists: bool,
    ) -> Result<bool, Error> {
        let mut is_changed = false;
        self.change_entries(|entries| {
            let old = entries.get(EntryKind::PROGRAM, name);
            is_changed = old.is_none_or(|old| or_replace && old != module);
            let table = entries.table(EntryKind::PROGRAM).into_iter().flat_map(|table| table.iter());
            let others = table.filter(|(other, _)| ***other != *name).map(|(_, module)| module.len());
            if is_changed && others.sum::<usize>() + module.len() > PROGRAMS_BYTES_MAX {
                let message =
                    format!("all programs together would have more than {PROGRAMS_BYTES_MAX} bytes");
                return Err(refuse(&message, "drop those that nobody calls: SHOW PROGRAMS lists them"));
            }
            match old {
                Some(_) if !or_replace && !if_not_exists => Err(refuse(
                    &format!("there is a program `{name}` already"),
                    "CREATE OR REPLACE PROGRAM puts another one in its place",
                )),
                _ if !is_changed => Ok(Vec::new()),
                _ => Ok(vec![set(EntryKind::PROGRAM, name, Some(module))]),
            }
        })?;
        Ok(is_changed)
    }
}

/// A name that a call can say.
fn check_name(name: &str) -> Result<(), Error> {
    let is_word = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    if !is_word || name.is_empty() || name.len() > NAME_BYTES_MAX {
        let message = "the name of a program is 1 to 128 bytes of letters, digits and _";
        return Err(refuse(message, "it is called as program.NAME"));
    }
    if Procedure::by_name(&format!("program.{name}")).is_some() {
        let message = format!("the program `{name}` is built in");
        return Err(refuse(&message, "give yours another name"));
    }
    Ok(())
}

/// Rows of `SHOW PROGRAMS`.
pub(crate) fn listed(entries: &Entries) -> Vec<Vec<Value>> {
    let table = entries.table(EntryKind::PROGRAM).into_iter().flat_map(|table| table.iter());
    table.map(|(name, module)| vec![name.clone().into(), Value::Int(module.len() as i64)]).collect()
}

/// Rows of `SHOW CACHES`.
pub(crate) fn caches(database: &Database) -> Vec<Vec<Value>> {
    let row = |(program, counts): (Arc<str>, CacheCounts)| {
        let figures = [counts.entries, counts.bytes, counts.hits, counts.misses];
        let given_up = [counts.invalidations, counts.evictions, counts.bypasses];
        let figures = figures.into_iter().chain(given_up).map(|figure| Value::Int(figure as i64));
        std::iter::once(program.into()).chain(figures).collect()
    };
    database.program_cache().counts(&database.snapshot()).into_iter().map(row).collect()
}
