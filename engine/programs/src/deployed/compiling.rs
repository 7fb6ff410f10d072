//! Compiling: modules are compiled on threads of their own, since that takes long and nothing ends it halfway.
//!
//! Idea: whoever needs a module waits for it in short pieces, and lets its executor work for others between them. A query that is ended, or whose time is
//! over, waits no longer; the thread goes on to its end, and what it made is there for who asks next.
//! Invariant: a module is compiled once, however many ask for it; at most [`COMPILING_MAX`] are at the same time. Cost: a look every
//! [`COMPILED_LOOK`].

use super::module::Module;
use crate::limits::{COMPILED_LOOK, COMPILING_MAX, MODULES_COMPILED_MAX};
use dataflow::watch::{self, Stopped};
use parking_lot::Mutex;
use std::sync::Arc;
use world::threads::{self, Thread};

/// Why there is no module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileEnd {
    /// What is wrong with it.
    Wrong(String),
    /// Whoever waited for it has ended.
    Stopped(Stopped),
}

/// The bytes of a module, and it.
type CompiledModule = (Arc<[u8]>, Arc<Module>);

/// A module on its way: what became of it, once that is known.
type Underway = (Arc<[u8]>, Arc<Mutex<Option<Result<Arc<Module>, String>>>>);

struct Modules {
    /// The one that was asked for last behind all others.
    compiled: Vec<CompiledModule>,
    underway: Vec<(Underway, Thread<()>)>,
}

static MODULES: Mutex<Modules> = Mutex::new(Modules { compiled: Vec::new(), underway: Vec::new() });

impl Modules {
    fn known(&mut self, bytes: &Arc<[u8]>) -> Option<Arc<Module>> {
        let at = self.compiled.iter().position(|(of, _)| is_same(of, bytes))?;
        let entry = self.compiled.remove(at);
        let module = entry.1.clone();
        self.compiled.push(entry);
        Some(module)
    }
    /// What becomes of a module: begins to compile it, where nobody has; none while there is no room for another one.
    fn begin(&mut self, bytes: &Arc<[u8]>) -> Option<Underway> {
        if let Some((underway, _)) = self.underway.iter().find(|((of, _), _)| is_same(of, bytes)) {
            return Some(underway.clone());
        }
        if self.underway.len() >= COMPILING_MAX {
            return None;
        }
        let begun: Underway = (bytes.clone(), Arc::default());
        let (of, outcome) = begun.clone();
        let work = move || {
            let made = std::panic::catch_unwind(|| Module::compile(&of).map(Arc::new));
            let made = made.unwrap_or_else(|_| Err("the compiler failed on it".to_string()));
            MODULES.lock().end(&of, made.as_ref().ok());
            *outcome.lock() = Some(made);
        };
        match threads::try_spawn("compile", work) {
            Ok(thread) => self.underway.push((begun.clone(), thread)),
            Err(error) => *begun.1.lock() = Some(Err(format!("no thread can be had for it: {error}"))),
        }
        Some(begun)
    }
    fn end(&mut self, bytes: &Arc<[u8]>, made: Option<&Arc<Module>>) {
        // Called by the thread itself, which nobody joins then.
        self.underway.retain(|((of, _), _)| !Arc::ptr_eq(of, bytes));
        if let Some(module) = made {
            if self.compiled.len() >= MODULES_COMPILED_MAX {
                self.compiled.remove(0);
            }
            self.compiled.push((bytes.clone(), module.clone()));
        }
    }
}

fn is_same(one: &Arc<[u8]>, other: &Arc<[u8]>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

/// The module of these bytes, compiled now or before.
///
/// # Errors
/// What is wrong with it, or the work of whoever asks is over.
pub fn compiled(bytes: &Arc<[u8]>) -> Result<Arc<Module>, CompileEnd> {
    let mut begun: Option<Underway> = None;
    loop {
        if let Some((_, outcome)) = &begun {
            if let Some(outcome) = outcome.lock().clone() {
                return outcome.map_err(CompileEnd::Wrong);
            }
        } else {
            let mut modules = MODULES.lock();
            if let Some(module) = modules.known(bytes) {
                return Ok(module);
            }
            begun = modules.begin(bytes);
        }
        // Shorter than a turn: the executor works for others behind it.
        threads::sleep(COMPILED_LOOK);
        watch::spend(watch::UNITS_PER_LOOK).map_err(CompileEnd::Stopped)?;
        watch::give_way();
    }
}
