//! Compiling: modules are compiled on threads of their own, since that takes long and nothing ends it halfway.
//!
//! Idea: a call that needs a module waits at a latch, and its executor works for others meanwhile. A query that is ended, or whose time is over,
//! waits no longer; the thread goes on to its end, and the module is there for the next call. Invariant: a module is compiled once, however many
//! calls need it; at most [`COMPILING_MAX`] are compiled at the same time.

use super::module::Module;
use crate::limits::{COMPILING_MAX, MODULES_COMPILED_MAX};
use dataflow::Latch;
use dataflow::watch::Stopped;
use parking_lot::Mutex;
use std::sync::Arc;
use world::threads::{self, Thread};

/// Why there is no module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileEnd {
    /// The fault of the module.
    Wrong(String),
    /// Whoever waited for it has ended.
    Stopped(Stopped),
}

/// The bytes of a module, and it.
type CompiledModule = (Arc<[u8]>, Arc<Module>);

/// A module on its way.
struct Underway {
    outcome: Mutex<Option<Result<Arc<Module>, String>>>,
    /// Opens when the outcome is known.
    is_known: Arc<Latch>,
}

impl Underway {
    fn end(&self, outcome: Result<Arc<Module>, String>) {
        *self.outcome.lock() = Some(outcome);
        self.is_known.open();
    }
}

/// The outcome of requesting a module.
enum CompileBegin {
    Underway(Arc<Underway>),
    /// There is no room for another one until this latch opens.
    NoRoom(Arc<Latch>),
}

/// The bytes of a module, it on its way, and the thread that compiles it.
type Compiling = (Arc<[u8]>, Arc<Underway>, Thread<()>);

struct Modules {
    /// The most recently used at the end.
    compiled: Vec<CompiledModule>,
    underway: Vec<Compiling>,
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
    /// Begins to compile a module, unless that has begun, and if there is room.
    fn begin(&mut self, bytes: &Arc<[u8]>) -> CompileBegin {
        if let Some((_, underway, _)) = self.underway.iter().find(|(of, ..)| is_same(of, bytes)) {
            return CompileBegin::Underway(underway.clone());
        }
        if let Some((_, first, _)) = self.underway.first().filter(|_| self.underway.len() >= COMPILING_MAX) {
            return CompileBegin::NoRoom(first.is_known.clone());
        }
        let begun = Arc::new(Underway { outcome: Mutex::new(None), is_known: Arc::default() });
        let (of, underway) = (bytes.clone(), begun.clone());
        let work = move || {
            let made = std::panic::catch_unwind(|| Module::compile(&of).map(Arc::new));
            let made = made.unwrap_or_else(|_| Err("the compiler failed on it".to_string()));
            MODULES.lock().end(&of, made.as_ref().ok());
            underway.end(made);
        };
        match threads::try_spawn("compile", work) {
            Ok(thread) => self.underway.push((bytes.clone(), begun.clone(), thread)),
            Err(error) => begun.end(Err(format!("no thread can be had for it: {error}"))),
        }
        CompileBegin::Underway(begun)
    }
    fn end(&mut self, bytes: &Arc<[u8]>, made: Option<&Arc<Module>>) {
        // Called by the thread itself, which nobody joins then.
        self.underway.retain(|(of, ..)| !Arc::ptr_eq(of, bytes));
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
/// The fault of the module, or the caller's query is over.
pub fn compiled(bytes: &Arc<[u8]>) -> Result<Arc<Module>, CompileEnd> {
    loop {
        let begun = {
            let mut modules = MODULES.lock();
            if let Some(module) = modules.known(bytes) {
                return Ok(module);
            }
            modules.begin(bytes)
        };
        match begun {
            CompileBegin::NoRoom(latch) => latch.wait().map_err(CompileEnd::Stopped)?,
            CompileBegin::Underway(underway) => {
                underway.is_known.wait().map_err(CompileEnd::Stopped)?;
                if let Some(outcome) = underway.outcome.lock().clone() {
                    return outcome.map_err(CompileEnd::Wrong);
                }
            }
        }
    }
}
